// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "command.hpp"
#include "floplan/architecture/layout_words.hpp"
#include "floplan/catalog/find_model.hpp"
#include "floplan/cluster/stack_words.hpp"
#include "floplan/cluster/step_band.hpp"
#include "floplan/cluster/step_time.hpp"
#include "floplan/cluster/validation.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/report/memory_text.hpp"
#include "floplan/report/step_text.hpp"
#include "layout_source.hpp"

namespace floplan::cli {
namespace {

struct StepOptions {
  Text model, accelerator, seq, validate;
  std::string precision = "bf16";
  std::string attention_flop = "causal";
  LayoutOptions layout;
  Text attention, elementwise, host, sequence_parallel, overlap, scatter_gather, gradient_bytes;
};

cluster::SoftwareStack stack_of(const StepOptions& o) {
  cluster::SoftwareStack s;
  const auto take = [&s](const Text& word, const char* fact, const char* option) {
    if (word) cluster::give(s, fact, *word, option);
  };
  take(o.attention, "attention", "--attention");
  take(o.elementwise, "elementwise", "--elementwise");
  take(o.host, "host", "--host");
  take(o.sequence_parallel, "sequence_parallel", "--sequence-parallel");
  take(o.overlap, "overlap", "--overlap");
  take(o.scatter_gather, "scatter_gather", "--scatter-gather");
  take(o.gradient_bytes, "gradient_bytes", "--gradient-bytes");
  return s;
}

Answer validate(const Session& session, const StepOptions& o) {
  const cluster::Validation v = cluster::validate(
      cluster::read_measured_steps(parse_csv(read_text_file(*o.validate), *o.validate), session.catalog));
  if (v.rows.empty()) {
    throw Error(Failure::data, "no_usable_rows", *o.validate,
                "has no row that can be asked" +
                    (v.skipped.empty() ? "" : ": " + v.skipped.front().place + ": " + v.skipped.front().reason));
  }
  Answer answer;
  answer.inputs = {{"validate", *o.validate}};
  answer.result = report::validation_json(v);
  answer.table = report::validation_table(v);
  answer.text = "Predicted against measured steps, " + std::to_string(v.rows.size()) + " rows, " +
                std::to_string(v.skipped.size()) + " skipped; the efficiencies were fitted to published rows\n\n" +
                answer.table->text();
  for (const cluster::SkippedStep& s : v.skipped) answer.text += "skipped: " + s.place + ": " + s.reason + "\n";
  return answer;
}

Answer answer_step(const Session& session, const StepOptions& o) {
  if (o.validate) return validate(session, o);
  if (!o.model) throw Error(Failure::usage, "missing_option", "--model", "is needed");
  if (!o.accelerator) throw Error(Failure::usage, "missing_option", "--accelerator", "is needed");
  Answer answer;
  catalog::FoundModel found = catalog::find_model(*o.model, "--model", session.catalog);
  for (Warning& w : found.warnings) answer.warnings.push_back(std::move(w));
  const catalog::Accelerator on = session.catalog.accelerator(*o.accelerator, "--accelerator");
  const Tokens sequence = o.seq ? parse_between(*o.seq, "--seq", Tokens(1), Tokens(1e9))
                                : found.model.sequence_length.value_or(Tokens(8192));
  LayoutOptions options = o.layout;
  if (found.file) options.complete_from(*found.file);
  if (!options.global_batch) throw Error(Failure::usage, "missing_option", "--global-batch", "is needed");
  cluster::StepRequest r;
  r.shape = std::move(found.model.shape);
  if (!options.vp) {
    const std::int64_t chunks = architecture::usual_interleave(r.shape, whole_number(options.pp, "--pp", 1));
    options.vp = std::to_string(chunks);
    if (chunks > 1) {
      answer.warnings.push_back({"assumed_interleaving", "no --vp is given, so each pipeline rank is taken to work " +
                                                             *options.vp +
                                                             " chunks of layers in turn: without them "
                                                             "the bubble would be " +
                                                             *options.vp + " times as long"});
    }
  }
  TrainingLayout cut = layout_of(options, sequence, answer.warnings);
  r.machine = cluster::machine_of(on);
  r.layout = cut.layout;
  r.microbatch = cut.memory.activation.microbatch;
  r.global_batch = whole_number(options.global_batch, "--global-batch", 1);
  r.sequence_length = cut.memory.activation.sequence_length;
  r.precision = catalog::precision_named(o.precision, "--precision");
  r.sharding = cut.memory.sharding;
  r.recompute = cut.memory.activation.recompute;
  r.stack = stack_of(o);
  r.convention = o.attention_flop == "causal" ? law::FlopConvention::causal
                 : o.attention_flop == "full" ? law::FlopConvention::full
                                              : law::FlopConvention::six_n;
  const cluster::StepReport step = cluster::step_time(r);

  cut.memory.activation.sequence_parallel = r.stack.sequence_parallel.value;
  cut.memory.activation.attention = r.stack.attention.value == cluster::AttentionKernel::unfused
                                        ? architecture::AttentionKernel::materialised
                                        : architecture::AttentionKernel::fused;
  const auto memory = memory_of(r.shape, cut);
  for (const auto* list : {&step.warnings, &step.assumptions}) {
    answer.warnings.insert(answer.warnings.end(), list->begin(), list->end());
  }
  const cluster::StepBand band = cluster::step_band(step, r.shape.experts.has_value());
  answer.inputs = {{"model", found.model.name},
                   {"accelerator", on.name},
                   {"global_batch", r.global_batch},
                   {"sequence_length", r.sequence_length},
                   {"precision", o.precision}};
  answer.inputs.update(layout_inputs(cut));
  answer.result = report::step_json(step, band);
  answer.result.update(report::memory_json(memory, on.memory));
  answer.table = report::step_table(step);
  answer.text = report::step_text(step, band) + "\n";
  if (on.memory) {
    const architecture::MemoryFit fit = memory.fits(*on.memory);
    answer.text += fit.text + "\n";
    if (!fit.fits) answer.warnings.push_back({"does_not_fit", "the layout " + fit.text});
  } else {
    answer.text += memory.describe() + "\n";
  }
  return answer;
}

}  // namespace

void add_step(Program& program) {
  const auto o = std::make_shared<StepOptions>();
  Subcommand sub = program.add("step", "Time of a training step on a cluster and layout, term by term, and its memory",
                               [o](const Session& s) { return answer_step(s, *o); });
  sub.option("--model", o->model, "A model of the catalog, as llama-3.1-405b, or a config.json");
  sub.option("--accelerator", o->accelerator, "An accelerator of the catalog, as h100-sxm");
  sub.option("--seq", o->seq, "Sequence length in tokens; the model's own, or 8192");
  sub.option("--precision", o->precision, "Of the layers' matrix products", {"bf16", "fp8", "fp4"});
  sub.option("--attention-flop", o->attention_flop, "Attention FLOP that TFLOP/s and MFU count",
             {"none", "causal", "full"});
  sub.option("--validate", o->validate, "Instead: a CSV of measured steps, and how far predictions are from them");
  add_layout(sub, o->layout, "The parallel layout");
  sub.group("The software, where it is known: what is not given is assumed, and widens the band");
  sub.option("--attention", o->attention, "Attention kernels: current, early (the first fused ones) or unfused");
  sub.option("--elementwise", o->elementwise, "Elementwise kernels: fused or eager");
  sub.option("--host", o->host, "How long a layer keeps the host: graphs, fast or slow");
  sub.option("--sequence-parallel", o->sequence_parallel, "yes or no");
  sub.option("--overlap", o->overlap, "Whether communication overlaps with products: yes or no");
  sub.option("--scatter-gather", o->scatter_gather, "Whether pipeline sends are cut over tensor ranks: yes or no");
  sub.option("--gradient-bytes", o->gradient_bytes, "Of a gradient value in the reduction: 2 or 4");
  sub.group("");
}

}  // namespace floplan::cli
