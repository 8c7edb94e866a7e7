// SPDX-License-Identifier: BSD-3-Clause
#include "layout_source.hpp"

#include <algorithm>
#include <cmath>

#include "floplan/architecture/layout_words.hpp"
#include "floplan/architecture/memory_remedies.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::cli {

namespace {

using architecture::recompute_words;
using architecture::sharding_words;
using architecture::to_text;

// What --count leaves for data parallelism.
std::int64_t data_parallel(const LayoutOptions& o, const architecture::Layout& layout) {
  const std::int64_t given = whole_number(o.dp, "--dp", 1);
  if (!o.count) return given;
  const Count count(static_cast<double>(whole_number(o.count, "--count", 1)));
  const double rest = count / layout.accelerators();
  if (rest >= 1 && rest == std::floor(rest) && (!o.dp || rest == static_cast<double>(given)))
    return static_cast<std::int64_t>(rest);
  throw Error(Failure::infeasible, "layout_does_not_divide", "--count",
              "must be TP x CP x PP x DP, got " + print(count) + " for " + std::to_string(layout.tensor) + " x " +
                  std::to_string(layout.context) + " x " + std::to_string(layout.pipeline) + " x " +
                  (o.dp ? std::to_string(given) : print_number(rest, 6)));
}

std::int64_t microbatches(const LayoutOptions& o, const TrainingLayout& out, std::vector<Warning>& warnings) {
  if (!o.global_batch) {
    const std::int64_t filled = out.layout.pipeline * out.layout.interleave;
    if (filled > 1) {
      warnings.push_back(
          {"assumed_batch", "no --global-batch is given, so as many microbatches as fill the pipeline, " +
                                std::to_string(filled) + ", are assumed"});
    }
    return filled;
  }
  const double batch = static_cast<double>(whole_number(o.global_batch, "--global-batch", 1));
  const double each = static_cast<double>(out.memory.activation.microbatch) * static_cast<double>(out.layout.data);
  const double m = batch / each;
  if (m >= 1 && m == std::floor(m)) return static_cast<std::int64_t>(m);
  throw Error(Failure::infeasible, "batch_does_not_divide", "--global-batch",
              "must be a multiple of DP x microbatch, " + print_number(each, 9) + ", got " + print_number(batch, 9) +
                  ", which is " + print_number(m, 6) + " microbatches");
}

}  // namespace

std::optional<std::string> LayoutOptions::given() const {
  for (const auto& [text, option] :
       {std::pair(&tp, "--tp"), std::pair(&cp, "--cp"), std::pair(&pp, "--pp"), std::pair(&vp, "--vp"),
        std::pair(&dp, "--dp"), std::pair(&ep, "--ep"), std::pair(&etp, "--etp"), std::pair(&count, "--count"),
        std::pair(&microbatch, "--microbatch"), std::pair(&global_batch, "--global-batch")}) {
    if (*text) return option;
  }
  if (!sharding.empty()) return "--sharding";
  if (!recompute.empty()) return "--recompute";
  if (!attention.empty()) return "--attention-kernel";
  if (no_sequence_parallel) return "--no-sequence-parallel";
  if (dropout) return "--dropout";
  return std::nullopt;
}

void LayoutOptions::complete_from(const architecture::ModelFile& file) {
  const auto take = [](Text& text, std::int64_t value) {
    if (!text && value > 1) text = std::to_string(value);
  };
  if (file.layout) {
    take(tp, file.layout->tensor);
    take(cp, file.layout->context);
    take(pp, file.layout->pipeline);
    take(vp, file.layout->interleave);
    take(ep, file.layout->expert);
    take(etp, file.layout->expert_tensor);
  }
  if (file.microbatch) take(microbatch, static_cast<std::int64_t>(file.microbatch->value));
  if (file.global_batch) take(global_batch, static_cast<std::int64_t>(file.global_batch->value));
  if (file.sharding && sharding.empty()) sharding = to_text(*file.sharding);
  if (file.recompute && recompute.empty()) recompute = to_text(*file.recompute);
  if (file.sequence_parallel && !*file.sequence_parallel) no_sequence_parallel = true;
}

void add_layout(Subcommand& sub, LayoutOptions& o, const std::string& title) {
  sub.group(title);
  sub.option("--tp", o.tp, "Tensor-parallel degree");
  sub.option("--cp", o.cp, "Context-parallel degree");
  sub.option("--pp", o.pp, "Pipeline-parallel degree");
  sub.option("--vp", o.vp, "Chunks of layers a pipeline rank (interleaving)");
  sub.option("--dp", o.dp, "Data-parallel degree");
  sub.option("--ep", o.ep, "Expert-parallel degree, within TP x CP x DP");
  sub.option("--etp", o.etp, "Ranks that cut an expert's matrices; TP if --ep is 1, else 1, if not given");
  sub.option("--count", o.count, "Accelerators in all, from which the data-parallel degree follows");
  sub.option("--microbatch", o.microbatch, "Sequences a microbatch; 1 if not given");
  sub.option("--global-batch", o.global_batch, "Sequences a step");
  sub.option(
      "--sharding", o.sharding,
      "What data-parallel ranks share: nothing, optimizer, gradients too, weights too (gathered twice a microbatch, or "
      "once and kept); zero1 if not given",
      {"none", "zero1", "zero2", "zero3", "zero3_no_reshard"});
  sub.option("--recompute", o.recompute, "What the backward pass computes again; none if not given",
             {"none", "selective", "full"});
  sub.group("");
}

void add_activations(Subcommand& sub, LayoutOptions& o) {
  sub.group("What its activations depend on");
  sub.option("--attention-kernel", o.attention, "Whether scores are stored; fused if not given",
             {"fused", "materialised"});
  sub.flag("--no-sequence-parallel", o.no_sequence_parallel, "Norms and dropout whole on each tensor-parallel rank");
  sub.flag("--dropout", o.dropout, "Dropout, whose masks are stored");
  sub.group("");
}

TrainingLayout layout_of(const LayoutOptions& o, Tokens sequence, std::vector<Warning>& warnings) {
  TrainingLayout out;
  out.layout.tensor = whole_number(o.tp, "--tp", 1);
  out.layout.context = whole_number(o.cp, "--cp", 1);
  out.layout.pipeline = whole_number(o.pp, "--pp", 1);
  out.layout.interleave = whole_number(o.vp, "--vp", 1);
  out.layout.expert = whole_number(o.ep, "--ep", 1);
  if (o.etp) out.layout.expert_tensor = whole_number(o.etp, "--etp", 1);
  out.layout.data = data_parallel(o, out.layout);
  architecture::ActivationOptions& a = out.memory.activation;
  if (sequence.value != std::floor(sequence.value))
    throw Error(Failure::usage, "out_of_range", "--seq", "must be whole for a layout, got " + print(sequence));
  a.sequence_length = static_cast<std::int64_t>(sequence.value);
  a.microbatch = whole_number(o.microbatch, "--microbatch", 1);
  a.sequence_parallel = !o.no_sequence_parallel;
  a.dropout = o.dropout;
  if (o.attention == "materialised") a.attention = architecture::AttentionKernel::materialised;
  for (const auto& [word, recompute] : recompute_words) {
    if (o.recompute == word) a.recompute = recompute;
  }
  for (const auto& [word, sharding] : sharding_words) {
    if (o.sharding == word) out.memory.sharding = sharding;
  }
  out.memory.microbatches = microbatches(o, out, warnings);
  return out;
}

report::Json layout_inputs(const TrainingLayout& cut) {
  const architecture::ActivationOptions& a = cut.memory.activation;
  return {{"layout", report::to_json(cut.layout)},
          {"microbatch", a.microbatch},
          {"microbatches", cut.memory.microbatches},
          {"sharding", to_text(cut.memory.sharding)},
          {"recompute", to_text(a.recompute)},
          {"sequence_parallel", a.sequence_parallel},
          {"attention_kernel", a.attention == architecture::AttentionKernel::fused ? "fused" : "materialised"},
          {"dropout", a.dropout}};
}

std::string layout_text(const TrainingLayout& cut) {
  const architecture::Layout& l = cut.layout;
  std::string out = "TP " + std::to_string(l.tensor);
  const auto add = [&out](const char* name, std::int64_t degree, std::int64_t usual) {
    if (degree != usual) out += std::string(", ") + name + " " + std::to_string(degree);
  };
  add("CP", l.context, 1);
  add("PP", l.pipeline, 0);
  add("VP", l.interleave, 1);
  add("DP", l.data, 0);
  add("EP", l.expert, 1);
  add("ETP", l.expert_tensor, 0);
  const std::int64_t m = cut.memory.microbatches;
  return out + ", " + to_text(cut.memory.sharding) + ", " + std::to_string(m) +
         (m == 1 ? " microbatch of " : " microbatches of ") + std::to_string(cut.memory.activation.microbatch) +
         ", recomputation " + to_text(cut.memory.activation.recompute);
}

architecture::TrainingMemoryReport memory_of(const architecture::Transformer& t, const TrainingLayout& cut) {
  try {
    return architecture::training_memory(t, cut.layout, cut.memory);
  } catch (const Error& error) {
    // The rule names the degree as the library does; the option is what a user can change.
    const std::string text = error.what();
    const std::string rule = text.substr(error.where().empty() ? 0 : error.where().size() + 2);
    for (const auto& [word, option] :
         {std::pair("tensor", "--tp"), std::pair("context", "--cp"), std::pair("expert_tensor", "--etp"),
          std::pair("expert", "--ep"), std::pair("interleave", "--vp"), std::pair("pipeline", "--pp"),
          std::pair("layers", "--pp"), std::pair("microbatch", "--microbatch"), std::pair("sequence", "--seq")}) {
      const std::string name = word;
      if (!rule.starts_with(name)) continue;
      throw Error(error.failure(), error.code(), option,
                  rule.starts_with(name + " must") ? rule.substr(name.size() + 1) : rule);
    }
    throw;
  }
}

std::string what_would_fit(const architecture::Transformer& t, const TrainingLayout& cut, Bytes capacity) {
  return to_text(architecture::what_would_fit(t, cut.layout, cut.memory, capacity), "--");
}

}  // namespace floplan::cli
