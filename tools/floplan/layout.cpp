// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "cluster_source.hpp"
#include "command.hpp"
#include "floplan/catalog/find_model.hpp"
#include "floplan/cluster/layout_search.hpp"
#include "floplan/report/layout_text.hpp"
#include "layout_source.hpp"

namespace floplan::cli {
namespace {

struct LayoutCommandOptions {
  Text model, accelerator, seq, top, reserve, threads;
  std::string precision = "bf16";
  std::string attention_flop = "causal";
  LayoutOptions layout;
  ClusterOptions cluster;
};

cluster::LayoutChoice fixed_choice(const LayoutOptions& o) {
  cluster::LayoutChoice out;
  const auto take = [](const Text& text, const char* option, std::optional<std::int64_t>& target) {
    if (text) target = whole_number(text, option, 1);
  };
  take(o.tp, "--tp", out.tensor);
  take(o.cp, "--cp", out.context);
  take(o.pp, "--pp", out.pipeline);
  take(o.dp, "--dp", out.data);
  take(o.ep, "--ep", out.expert);
  take(o.etp, "--etp", out.expert_tensor);
  take(o.vp, "--vp", out.interleave);
  take(o.microbatch, "--microbatch", out.microbatch);
  for (const auto& [word, sharding] : architecture::sharding_words) {
    if (o.sharding == word) out.sharding = sharding;
  }
  for (const auto& [word, recompute] : architecture::recompute_words) {
    if (o.recompute == word) out.recompute = recompute;
  }
  return out;
}

Answer answer_layout(const Session& session, const LayoutCommandOptions& o) {
  const auto needed = [](const Text& text, const char* option) -> const std::string& {
    if (!text) throw Error(Failure::usage, "missing_option", option, "is needed");
    return *text;
  };
  Answer answer;
  catalog::FoundModel found = catalog::find_model(needed(o.model, "--model"), "--model", session.catalog);
  for (Warning& w : found.warnings) answer.warnings.push_back(std::move(w));
  const catalog::Accelerator on = session.catalog.accelerator(needed(o.accelerator, "--accelerator"), "--accelerator");
  const Tokens sequence = o.seq ? parse_between(*o.seq, "--seq", Tokens(1), Tokens(1e9))
                                : found.model.sequence_length.value_or(Tokens(8192));
  if (sequence.value != std::floor(sequence.value))
    throw Error(Failure::usage, "out_of_range", "--seq", "must be whole for a layout, got " + print(sequence));

  cluster::LayoutSearch search;
  search.accelerators = Count(static_cast<double>(whole_number(needed(o.layout.count, "--count"), "--count", 1)));
  search.fixed = fixed_choice(o.layout);
  search.top = static_cast<std::size_t>(parse_between(o.top.value_or("10"), "--top", Count(1), Count(1e5)).value);
  search.threads =
      o.threads ? static_cast<unsigned>(parse_between(*o.threads, "--threads", Count(1), Count(1024)).value) : 0;
  cluster::StepRequest& r = search.step;
  r.shape = std::move(found.model.shape);
  r.sequence_length = static_cast<std::int64_t>(sequence.value);
  r.global_batch = whole_number(needed(o.layout.global_batch, "--global-batch"), "--global-batch", 1);
  r.precision = catalog::precision_named(o.precision, "--precision");
  const bool known = take_cluster(session, o.cluster, on, r);
  r.convention = attention_convention(o.attention_flop);
  if (!(r.machine.peak(r.precision).value > 0))
    throw Error(Failure::infeasible, "precision", "--precision", on.name + " has no peak in " + o.precision);
  const Bytes reserve = o.reserve ? parse<Bytes>(*o.reserve, "--memory-reserve") : Bytes(0);
  if (on.memory) {
    if (!(reserve >= Bytes(0)) || reserve >= *on.memory)
      throw Error(Failure::usage, "out_of_range", "--memory-reserve",
                  "must be from 0 to less than the memory, " + print_short(*on.memory) + ", got " + print(reserve));
    search.capacity = *on.memory - reserve;
  } else {
    answer.warnings.push_back(
        {"memory_not_known", "the catalog has no memory of " + on.name + ", so every layout is taken to fit"});
  }
  const cluster::LayoutSearchReport report = cluster::search_layouts(search);

  const cluster::RankedLayout& best = report.best.front();
  const cluster::StepRequest request = cluster::request_of(search, best);
  const cluster::StepReport step = cluster::step_time(request);
  const cluster::StepBand band = cluster::step_band(request, known);
  for (const auto* list : {&step.warnings, &step.assumptions})
    answer.warnings.insert(answer.warnings.end(), list->begin(), list->end());
  if (on.memory) {
    if (auto w = cluster::memory_caution(best.memory, *on.memory)) {
      w->message += "; --memory-reserve keeps some free";
      answer.warnings.push_back(std::move(*w));
    }
  }
  if (report.alike > 0) {
    answer.warnings.push_back(
        {"flat_optimum", std::to_string(report.alike) + " of the " + std::to_string(report.best.size() - 1) +
                             " next layouts are at most 5% slower than the first, which is less than the model can "
                             "tell apart: measure a few of them"});
  }
  answer.inputs = {{"model", found.model.name},
                   {"accelerator", on.name},
                   {"count", search.accelerators.value},
                   {"global_batch", r.global_batch},
                   {"sequence_length", r.sequence_length},
                   {"precision", o.precision},
                   {"memory_reserve_bytes", reserve.value},
                   {"fixed", search.fixed.describe()}};
  answer.result = report::layouts_json(search, report, known);
  answer.table = report::layout_table(search, report);
  answer.text = report.describe() + "\nmeasured steps of its class (" + band.of + ") lie from " +
                print(step.step * band.low, 3) + " to " + print(step.step * band.high, 3) + " in nine of ten cases";
  if (search.capacity)
    answer.text += "; " + print_short(*search.capacity) + " of memory, " + print_short(reserve) + " kept free";
  answer.text += "\n\n" + answer.table->text() +
                 "\nWhat memory buys in time, of all that can be run and are at most twice as slow:\n\n" +
                 report::frontier_table(report).text();
  return answer;
}

}  // namespace

void add_layout_search(Program& program) {
  const auto o = std::make_shared<LayoutCommandOptions>();
  Subcommand sub = program.add("layout", "The parallel layouts that train fastest on a cluster and fit in its memory",
                               [o](const Session& s) { return answer_layout(s, *o); });
  sub.option("--model", o->model, "A model of the catalog, as llama-3.1-405b, or a config.json");
  sub.option("--accelerator", o->accelerator, "An accelerator of the catalog, as h100-sxm");
  sub.option("--seq", o->seq, "Sequence length in tokens; the model's own, or 8192");
  sub.option("--precision", o->precision, "Of the layers' matrix products", {"bf16", "fp8", "fp4"});
  sub.option("--attention-flop", o->attention_flop, "Attention FLOP that TFLOP/s and MFU count",
             {"none", "causal", "full"});
  sub.option("--top", o->top, "How many of the best are shown; 10 if not given");
  sub.option("--memory-reserve", o->reserve, "Memory of each accelerator to keep free, as 4GB; none if not given");
  sub.option("--threads", o->threads, "All cores if not given; the answer is the same");
  sub.option("--count", o->layout.count, "Accelerators, all of which are used");
  sub.option("--global-batch", o->layout.global_batch, "Sequences a step");
  sub.group("What is fixed of the layout: every value of the rest is tried");
  sub.option("--tp", o->layout.tp, "Tensor-parallel degree");
  sub.option("--cp", o->layout.cp, "Context-parallel degree");
  sub.option("--pp", o->layout.pp, "Pipeline-parallel degree");
  sub.option("--vp", o->layout.vp, "Chunks of layers a pipeline rank (interleaving)");
  sub.option("--dp", o->layout.dp, "Data-parallel degree");
  sub.option("--ep", o->layout.ep, "Expert-parallel degree");
  sub.option("--etp", o->layout.etp, "Ranks that cut an expert's matrices; TP if EP is 1, else 1, if not given");
  sub.option("--microbatch", o->layout.microbatch, "Sequences a microbatch");
  sub.option("--sharding", o->layout.sharding, "What data-parallel ranks share",
             {"none", "zero1", "zero2", "zero3", "zero3_no_reshard"});
  sub.option("--recompute", o->layout.recompute, "What the backward pass computes again",
             {"none", "selective", "full"});
  sub.group("");
  add_cluster(sub, o->cluster);
}

}  // namespace floplan::cli
