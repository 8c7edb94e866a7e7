// SPDX-License-Identifier: BSD-3-Clause
#include "realise_source.hpp"

#include <algorithm>
#include <cmath>

#include "floplan/architecture/realise.hpp"
#include "floplan/catalog/find_model.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/report/realise_text.hpp"

namespace floplan::cli {

namespace {

// A known model's parts and ratios; its dimensions stay open, but for those of a head and the vocabulary.
void take_ratios(const Session& session, const std::string& name, architecture::RealiseRequest& r,
                 std::vector<Warning>& warnings) {
  catalog::FoundModel found = catalog::find_model(name, "--like", session.catalog);
  warnings.insert(warnings.end(), found.warnings.begin(), found.warnings.end());
  architecture::Transformer t = std::move(found.model.shape);
  const double width = static_cast<double>(t.width);
  r.aspect = width / static_cast<double>(t.layers);
  r.ffn_ratio =
      static_cast<double>(t.experts ? t.experts->active * t.experts->width + t.experts->shared_width : t.ffn_width) /
      width;
  if (t.local) {
    warnings.push_back(
        {"windows_left_out", "the windows of " + found.model.name + " have no weights and are left out"});
    t.local.reset();
  }
  if (t.experts) {
    r.first_dense_layers = 0;
    while (r.first_dense_layers < t.layers && !t.experts->layers[r.first_dense_layers]) ++r.first_dense_layers;
    if (t.experts->layers != architecture::LayerPattern::from(r.first_dense_layers, t.layers)) {
      r.expert_period = t.layers / t.experts->layers.count();
      r.first_dense_layers = 0;
    }
    // A shared expert is as wide as the others, or a width of its own that cannot be scaled.
    if (t.experts->shared_width % t.experts->width == 0) {
      r.shared_experts = t.experts->shared_width / t.experts->width;
      t.experts->shared_width = 0;
    }
    t.experts->width = 0;
    t.experts->layers = {};
  }
  t.layers = t.width = t.ffn_width = 0;
  if (!t.latent) t.heads = 0;
  r.given = std::move(t);
}

}  // namespace

bool RealiseOptions::refined() const {
  return slots || plain || tied ||
         std::ranges::any_of(std::vector{like, layers, width, heads, kv_heads, gqa, head_width, ffn, vocabulary, aspect,
                                         ffn_ratio, experts, active_experts, shared_experts, dense_layers, proposals},
                             [](const Text& text) { return text.has_value(); });
}

void add_realise(Subcommand& sub, RealiseOptions& o) {
  sub.group("Shapes for a number of parameters, instead of a model");
  sub.option("--realise", o.target, "Propose shapes of about so many parameters, as 405B");
  sub.option("--like", o.like, "Parts and ratios of a known model, as llama-3.1-405b");
  sub.option("--count-as", o.count, "Which count is to meet the target",
             {"total", "active", "non_embedding", "without_input_embedding"});
  sub.option("--vocab", o.vocabulary, "Vocabulary; 128256 from 1B on, else 32000, if not given");
  sub.option("--layers", o.layers, "A number of layers that is decided");
  sub.option("--width", o.width, "A width that is decided");
  sub.option("--heads", o.heads, "A number of query heads that is decided");
  sub.option("--kv-heads", o.kv_heads, "A number of key-value heads that is decided; 8 if not given");
  sub.option("--gqa", o.gqa, "Query heads a key-value head instead; 1 is multi-head attention");
  sub.option("--head-width", o.head_width, "Width of a head; 64 up to a width of 2048, else 128, if not given");
  sub.option("--ffn", o.ffn, "A feed-forward width that is decided; of an expert, where there are experts");
  sub.option("--aspect", o.aspect, "Width / layers; 128 if not given, or 130, as of Llama 3 405B");
  sub.option("--ffn-ratio", o.ffn_ratio,
             "Feed-forward width / width; 3.5, 3.25, 8/3 or 4 by the kind of block if not given");
  sub.option("--experts", o.experts, "A mixture of so many experts");
  sub.option("--active-experts", o.active_experts, "Of which a token uses so many");
  sub.option("--shared-experts", o.shared_experts, "Beside so many that all tokens use");
  sub.option("--dense-layers", o.dense_layers, "So many first layers without experts");
  sub.option("--proposals", o.proposals, "How many to show; 5 if not given");
  sub.flag("--slots", o.slots, "Embedding and head take a layer's place each in the pipeline, as in Llama 3 405B");
  sub.flag("--plain", o.plain, "A plain feed-forward block of two matrices");
  sub.flag("--tied", o.tied, "One table for embedding and head");
  sub.group("");
}

Answer answer_realise(const Session& session, const RealiseOptions& o, const LayoutOptions& cut) {
  Answer answer;
  architecture::RealiseRequest r;
  if (o.like) take_ratios(session, *o.like, r, answer.warnings);
  r.target = parse_between(*o.target, "--realise", Parameters(1), Parameters(1e15));
  r.count = *std::ranges::find(law::parameter_conventions, o.count, [](auto c) { return law::to_text(c); });
  architecture::Transformer& t = r.given;
  t.layers = whole_number(o.layers, "--layers", t.layers);
  t.width = whole_number(o.width, "--width", t.width);
  t.heads = whole_number(o.heads, "--heads", t.heads);
  if (o.gqa) t.kv_heads = 0;
  t.kv_heads = whole_number(o.kv_heads, "--kv-heads", t.kv_heads);
  r.heads_per_kv = whole_number(o.gqa, "--gqa", 0);
  t.head_width = whole_number(o.head_width, "--head-width", t.head_width);
  t.vocabulary = whole_number(o.vocabulary, "--vocab", t.vocabulary);
  t.gated = t.gated && !o.plain;
  t.tied_embeddings = t.tied_embeddings || o.tied;
  if (o.experts) {
    if (!t.experts) t.experts.emplace();
    t.experts->count = whole_number(o.experts, "--experts", 0);
    if (!o.active_experts && t.experts->active == 0)
      throw Error(Failure::usage, "missing_option", "--active-experts", "is needed with --experts");
  }
  for (const auto& [text, option] :
       {std::pair(&o.active_experts, "--active-experts"), std::pair(&o.shared_experts, "--shared-experts"),
        std::pair(&o.dense_layers, "--dense-layers")}) {
    if (*text && !t.experts)
      throw Error(Failure::usage, "missing_option", option, "is of a mixture: give --experts too");
  }
  if (t.experts) t.experts->active = whole_number(o.active_experts, "--active-experts", t.experts->active);
  r.shared_experts = whole_number(o.shared_experts, "--shared-experts", r.shared_experts);
  r.first_dense_layers = whole_number(o.dense_layers, "--dense-layers", r.first_dense_layers);
  (t.experts ? t.experts->width : t.ffn_width) = whole_number(o.ffn, "--ffn", 0);
  if (o.aspect) r.aspect = parse_number(*o.aspect, "--aspect");
  if (o.ffn_ratio) r.ffn_ratio = parse_number(*o.ffn_ratio, "--ffn-ratio");
  r.layout.tensor = whole_number(cut.tp, "--tp", 1);
  r.layout.pipeline = whole_number(cut.pp, "--pp", 1);
  r.layout.interleave = whole_number(cut.vp, "--vp", 1);
  r.layout.expert = whole_number(cut.ep, "--ep", 1);
  r.embedding_and_head_slots = o.slots;
  r.proposals = static_cast<std::size_t>(whole_number(o.proposals, "--proposals", 5));
  architecture::RealiseReport report = architecture::realise(r);
  const double gap = report.proposals[0].relative_gap;
  if (std::abs(gap) > 0.1) {
    throw Error(Failure::infeasible, "far_from_target", "--realise",
                "no shape with what was given comes within 10% of " + print(r.target) + ": the nearest has " +
                    print(report.proposals[0].count.as(r.count), 4) + ", " + print_number(100 * std::abs(gap), 3) +
                    "% " + (gap > 0 ? "above" : "below"));
  }
  // Beyond four times the ratios that were asked for, a shape is no answer unless it is the only one.
  const double first = report.proposals[0].distance;
  std::erase_if(report.proposals, [first](const auto& p) { return p.distance > std::max(first, std::log(4.0)); });
  answer.inputs = {{"target", report::count_json(r.target)},
                   {"count_as", law::to_text(r.count)},
                   {"like", o.like ? report::Json(*o.like) : report::Json(nullptr)},
                   {"aspect", report.request.aspect},
                   {"ffn_ratio", report.request.ffn_ratio},
                   {"vocabulary", report.request.given.vocabulary},
                   {"layout", report::to_json(r.layout)},
                   {"embedding_and_head_slots", r.embedding_and_head_slots}};
  answer.result = report::realise_json(report);
  answer.text = report::realise_text(report);
  answer.table = report::realise_table(report);
  for (const Warning& w : report.proposals[0].warnings) answer.warnings.push_back(w);
  return answer;
}

}  // namespace floplan::cli
