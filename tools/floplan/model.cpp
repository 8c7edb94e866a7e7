// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "command.hpp"
#include "floplan/architecture/inference_memory.hpp"
#include "floplan/architecture/training_memory.hpp"
#include "floplan/catalog/find_model.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/report/memory_text.hpp"
#include "floplan/report/model_json.hpp"
#include "floplan/report/model_text.hpp"
#include "layout_source.hpp"
#include "realise_source.hpp"

namespace floplan::cli {
namespace {

struct ModelCommandOptions {
  std::vector<std::string> names;
  Text seq, context, accelerator;
  std::string precision = "bf16";
  LayoutOptions layout;
  RealiseOptions realise;
};

void add_count_warnings(const catalog::Model& model, std::vector<Warning>& out) {
  const architecture::ParameterCount count = architecture::parameter_count(model.shape);
  if (model.published_parameters && *model.published_parameters != count.total) {
    out.push_back({"count_differs", model.name + ": the published count is " + print(*model.published_parameters) +
                                        ", this shape has " + print(count.total) +
                                        (model.difference.empty() ? "" : ": " + model.difference)});
  }
  if (!model.provenance.verified && !model.provenance.source.empty())
    out.push_back({"unverified_model", model.name + " is not verified: its shape rests on " + model.provenance.source});
}

report::ModelQuestion question_of(const ModelCommandOptions& o, const std::vector<catalog::Model>& models) {
  report::ModelQuestion q;
  q.precision = catalog::precision_named(o.precision, "--precision");
  // Several models are compared at one length.
  const Tokens own = models.size() == 1 ? models[0].sequence_length.value_or(Tokens(8192)) : Tokens(8192);
  q.sequence_length = o.seq ? parse_between(*o.seq, "--seq", Tokens(1), Tokens(1e9)) : own;
  q.context = o.context ? parse_between(*o.context, "--context", Tokens(1), Tokens(1e9)) : q.sequence_length;
  return q;
}

// How many accelerators hold the weights, by precision, and whether a node does.
void add_holding(const catalog::Accelerator& on, const catalog::Model& model, Answer& answer) {
  if (!on.memory) throw Error(Failure::usage, "no_memory", "--accelerator", "the catalog has no memory of " + on.name);
  const Parameters n = architecture::parameter_count(model.shape).total;
  report::Json counts = report::Json::object();
  report::Table table({"weights in", "GB",
                       on.name + " (" + print_number(on.memory->value / 1e9, 4) + " GB) to hold them", "fit a node"});
  for (const auto precision : {catalog::Precision::bf16, catalog::Precision::fp8, catalog::Precision::fp4}) {
    const double bytes = catalog::bytes_per_value(precision);
    const Count needed = architecture::accelerators_to_hold(n, bytes, *on.memory);
    const std::string name = catalog::to_text(precision);
    counts[name] = report::count_json(needed);
    const auto node = on.accelerators_per_node;
    table.add({name,
               {n.value * bytes / 1e9, 5},
               {needed.value, 9},
               node ? report::Cell((needed <= *node ? "yes, of " : "no, of ") + print(*node)) : report::Cell()});
  }
  answer.result["accelerators_to_hold"] = std::move(counts);
  answer.text += "\nWeights alone; the cache, activations and the runtime come on top\n\n" + table.text();
}

void add_memory(const TrainingLayout& cut, const std::optional<catalog::Accelerator>& on, const catalog::Model& model,
                Answer& answer) {
  const auto memory = memory_of(model.shape, cut);
  const std::optional<Bytes> capacity = on ? on->memory : std::nullopt;
  answer.inputs.update(layout_inputs(cut));
  answer.result["layout"] = report::to_json(cut.layout);
  answer.result.update(report::memory_json(memory, capacity));
  answer.table = report::memory_table(memory);
  answer.text += "\nTraining memory of one accelerator, by pipeline stage: " + layout_text(cut) + "\n\n" +
                 answer.table->text() + "\n";
  if (!capacity) {
    answer.text += memory.describe() + "\n";
    return;
  }
  const architecture::MemoryFit fit = memory.fits(*capacity);
  answer.text += fit.text + "\n";
  if (!fit.fits) {
    const std::string help = what_would_fit(model.shape, cut, *capacity);
    answer.result["would_fit"] = help;
    answer.text += help.empty() ? "no single change of sharding, recomputation or degree makes it fit\n"
                                : "one of these would make it fit: " + help + "\n";
  } else if (fit.spare.value < 0.1 * capacity->value) {
    answer.warnings.push_back({"tight_memory", print(fit.spare, 3) + " of " + print(*capacity) +
                                                   " is left for the runtime, communication buffers and fragmentation, "
                                                   "which are not counted and take several GB"});
  }
}

// What the lengths that are asked about may not be.
void add_length_warnings(const ModelCommandOptions& o, const catalog::Model& model, const report::ModelQuestion& q,
                         std::vector<Warning>& out) {
  if (!o.seq && !model.sequence_length)
    out.push_back(
        {"assumed_sequence", model.name + " does not say what length it is trained at: 8192 tokens are taken"});
  const Tokens positions(static_cast<double>(model.shape.learned_positions));
  const Tokens longest = std::max(q.sequence_length, q.context);
  if (positions.value > 0 && longest > positions) {
    out.push_back({"beyond_positions", model.name + " has learned positions for " + print(positions) +
                                           " tokens and none for " + print(longest)});
  }
}

Answer show(const Session& session, const ModelCommandOptions& o) {
  if (o.realise.target) {
    const LayoutOptions& l = o.layout;
    for (const auto& [given, option] :
         {std::pair(!o.names.empty(), "model"), std::pair(o.seq.has_value(), "--seq"),
          std::pair(o.context.has_value(), "--context"), std::pair(o.accelerator.has_value(), "--accelerator"),
          std::pair(l.count.has_value(), "--count"), std::pair(l.cp.has_value(), "--cp"),
          std::pair(l.dp.has_value(), "--dp"), std::pair(l.etp.has_value(), "--etp"),
          std::pair(l.microbatch.has_value(), "--microbatch"), std::pair(l.global_batch.has_value(), "--global-batch"),
          std::pair(!l.sharding.empty(), "--sharding"), std::pair(!l.recompute.empty(), "--recompute")}) {
      if (!given) continue;
      throw Error(Failure::usage, "bad_question", option,
                  "is nothing that --realise asks: it proposes shapes" +
                      std::string(option == std::string("model") ? "; a known model is named by --like" : ""));
    }
    return answer_realise(session, o.realise, o.layout);
  }
  if (o.names.empty())
    throw Error(Failure::usage, "missing_option", "model", "needs a model of the catalog or a file, or --realise");
  if (o.realise.refined())
    throw Error(Failure::usage, "missing_option", "--realise", "is needed by the options of proposed shapes");
  Answer answer;
  std::vector<catalog::Model> models;
  std::optional<architecture::ModelFile> training;
  for (const std::string& name : o.names) {
    catalog::FoundModel found = catalog::find_model(name, "model", session.catalog);
    for (Warning& w : found.warnings) answer.warnings.push_back(std::move(w));
    add_count_warnings(found.model, answer.warnings);
    models.push_back(std::move(found.model));
    training = std::move(found.file);
  }
  const report::ModelQuestion q = question_of(o, models);
  if (models.size() == 1) add_length_warnings(o, models[0], q, answer.warnings);
  answer.inputs = {{"model", models.size() == 1 ? report::Json(models[0].name) : report::Json(o.names)},
                   {"sequence_length", report::count_json(q.sequence_length)},
                   {"context", report::count_json(q.context)},
                   {"precision", o.precision}};
  if (models.size() == 1) {
    answer.result = report::model_json(models[0], q);
    answer.text = report::model_text(models[0], q);
    answer.table = report::model_table(models[0], q);
    std::optional<catalog::Accelerator> on;
    if (o.accelerator) {
      on = session.catalog.accelerator(*o.accelerator, "--accelerator");
      answer.inputs["accelerator"] = on->name;
      add_holding(*on, models[0], answer);
    }
    LayoutOptions layout = o.layout;
    if (training) layout.complete_from(*training);
    if (o.layout.given()) {
      add_memory(layout_of(layout, q.sequence_length, answer.warnings), on, models[0], answer);
    } else if (layout.given()) {
      // The file's own layout was not asked about, so one that cannot be cut is no error.
      try {
        add_memory(layout_of(layout, q.sequence_length, answer.warnings), on, models[0], answer);
      } catch (const Error& error) {
        answer.warnings.push_back(
            {"layout_not_shown", "the memory of " + models[0].name + "'s own layout is left out: " + error.what()});
      }
    }
    return answer;
  }
  if (o.layout.given() || o.accelerator)
    throw Error(Failure::usage, "bad_question", "model", "a layout or an accelerator is asked of one model at a time");
  report::Json list = report::Json::array();
  for (const catalog::Model& model : models) list.push_back(report::model_json(model, q));
  answer.result = {{"models", std::move(list)}};
  answer.table = report::model_comparison(models, q);
  answer.text = answer.table->text();
  return answer;
}

}  // namespace

void add_model(Program& program) {
  const auto o = std::make_shared<ModelCommandOptions>();
  Subcommand sub = program.add("model", "Parameters, FLOP a token and bytes of a model, or of several side by side",
                               [o](const Session& s) { return show(s, *o); });
  sub.positional(
      "model", o->names,
      "Models of the catalog, as llama-3.1-405b, or files: a Hugging Face config.json, Megatron arguments, a "
      "model of calculon or llm-analysis",
      false);
  sub.option("--seq", o->seq,
             "Sequence length for attention FLOP, as 8192 or 128Ki, which is 131072; the model's own, or 8192");
  sub.option("--context", o->context, "Context length for the cache; the sequence length if not given");
  sub.option("--precision", o->precision, "For bytes", {"bf16", "fp8", "fp4"});
  sub.option("--accelerator", o->accelerator, "An accelerator of the catalog, as h100-sxm: how many hold the model");
  add_layout(sub, o->layout, "A parallel layout, for training memory");
  add_activations(sub, o->layout);
  add_realise(sub, o->realise);
}

}  // namespace floplan::cli
