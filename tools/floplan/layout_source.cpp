// SPDX-License-Identifier: BSD-3-Clause
#include "layout_source.hpp"

#include <algorithm>
#include <cmath>

#include "floplan/core/quantity_text.hpp"

namespace floplan::cli {

namespace {

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

bool LayoutOptions::given() const {
  return std::ranges::any_of(std::vector{count, tp, cp, pp, dp, ep, vp, microbatch, global_batch},
                             [](const Text& text) { return text.has_value(); });
}

void add_layout(Subcommand& sub, LayoutOptions& o, const std::string& title) {
  sub.group(title);
  sub.option("--tp", o.tp, "Tensor-parallel degree");
  sub.option("--cp", o.cp, "Context-parallel degree");
  sub.option("--pp", o.pp, "Pipeline-parallel degree");
  sub.option("--vp", o.vp, "Chunks of layers a pipeline rank (interleaving)");
  sub.option("--dp", o.dp, "Data-parallel degree");
  sub.option("--ep", o.ep, "Expert-parallel degree, within TP x CP x DP");
  sub.option("--count", o.count, "Accelerators in all, from which the data-parallel degree follows");
  sub.option("--microbatch", o.microbatch, "Sequences a microbatch; 1 if not given");
  sub.option("--global-batch", o.global_batch, "Sequences a step");
  sub.option("--sharding", o.sharding, "What data-parallel ranks share: nothing, optimizer, gradients too, weights too",
             {"none", "zero1", "zero2", "zero3"});
  sub.option("--recompute", o.recompute, "What the backward pass computes again", {"none", "selective", "full"});
  sub.group("");
}

void add_activations(Subcommand& sub, LayoutOptions& o) {
  sub.group("What its activations depend on");
  sub.option("--attention-kernel", o.attention, "Whether scores are stored", {"fused", "materialised"});
  sub.flag("--no-sequence-parallel", o.no_sequence_parallel, "Norms and dropout whole on each tensor-parallel rank");
  sub.flag("--dropout", o.dropout, "Dropout, whose masks are stored");
  sub.group("");
}

TrainingLayout layout_of(const LayoutOptions& o, Tokens sequence, std::vector<Warning>& warnings) {
  using architecture::Recompute;
  using architecture::Sharding;
  TrainingLayout out;
  out.layout.tensor = whole_number(o.tp, "--tp", 1);
  out.layout.context = whole_number(o.cp, "--cp", 1);
  out.layout.pipeline = whole_number(o.pp, "--pp", 1);
  out.layout.interleave = whole_number(o.vp, "--vp", 1);
  out.layout.expert = whole_number(o.ep, "--ep", 1);
  out.layout.data = data_parallel(o, out.layout);
  architecture::ActivationOptions& a = out.memory.activation;
  if (sequence.value != std::floor(sequence.value))
    throw Error(Failure::usage, "out_of_range", "--seq", "must be whole for a layout, got " + print(sequence));
  a.sequence_length = static_cast<std::int64_t>(sequence.value);
  a.microbatch = whole_number(o.microbatch, "--microbatch", 1);
  a.sequence_parallel = !o.no_sequence_parallel;
  a.dropout = o.dropout;
  a.attention =
      o.attention == "fused" ? architecture::AttentionKernel::fused : architecture::AttentionKernel::materialised;
  a.recompute = o.recompute == "none"        ? Recompute::none
                : o.recompute == "selective" ? Recompute::selective
                                             : Recompute::full;
  out.memory.sharding = o.sharding == "none"    ? Sharding::none
                        : o.sharding == "zero1" ? Sharding::zero1
                        : o.sharding == "zero2" ? Sharding::zero2
                                                : Sharding::zero3;
  out.memory.microbatches = microbatches(o, out, warnings);
  return out;
}

}  // namespace floplan::cli
