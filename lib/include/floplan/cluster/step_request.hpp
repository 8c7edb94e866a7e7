// SPDX-License-Identifier: BSD-3-Clause
//
// A training step that is asked about: model, machine, layout, batch, precision, software; and whether it is possible.
//
//   StepRequest r{.shape = catalog.model("llama-3.1-405b").shape, .machine = machine_of(catalog.accelerator("h100-sxm")),
//                 .layout = {.tensor = 8, .pipeline = 16, .data = 64, .interleave = 8},
//                 .global_batch = 2048, .sequence_length = 8192};
//   microbatches = global_batch / (DP x microbatch), and must be whole
//
// check() throws Error(infeasible) with the rule and the numbers: 31.25 microbatches, layers that do not divide into stages,
// TP that does not divide heads, EP that does not divide experts, degrees whose product is not the accelerators at hand.
// What is possible but slow is a warning (cautions() in step_time.hpp).
//
// Stages: PP divides the layers, or layers + 2 where embedding and head take a layer's place each (Llama 3: 126 + 2 over 16).
// Where neither holds, uneven_stages takes each stage as (layers + 2) / PP of an average layer.
// Pitfall: the batch is in sequences, and DP counts expert parallel ranks too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "floplan/architecture/layout.hpp"
#include "floplan/architecture/layout_words.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/catalog/records.hpp"
#include "floplan/cluster/efficiencies.hpp"
#include "floplan/cluster/machine.hpp"
#include "floplan/cluster/software_stack.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::cluster {

struct StepRequest {
  architecture::Transformer shape{};
  Machine machine{};
  architecture::Layout layout{};
  std::int64_t microbatch = 1;    // sequences
  std::int64_t global_batch = 1;  // sequences
  std::int64_t sequence_length = 0;
  // Of the layers' products; attention and head stay at 16 bits.
  catalog::Precision precision = catalog::Precision::bf16;
  bool block_scaled = false;  // MXFP8, NVFP4: a scale for each block of values, and so two copies of each cast
  architecture::Sharding sharding = architecture::Sharding::zero1;
  architecture::Recompute recompute = architecture::Recompute::none;
  bool uneven_stages = false;
  SoftwareStack stack{};
  Efficiencies efficiencies{};
  law::FlopConvention convention = law::FlopConvention::causal;  // of TFLOP/s and MFU in the report
  std::optional<Count> accelerators{};                           // at hand, if the layout is to use them all
};

namespace detail {

[[noreturn]] inline void infeasible(const char* code, const std::string& rule) {
  throw Error(Failure::infeasible, code, "step_time", rule);
}

[[noreturn]] inline void not_dividing(const char* divisor, std::int64_t by, const char* what, std::int64_t value) {
  infeasible("does_not_divide", std::string(divisor) + " must divide " + what + ", got " + std::to_string(by) +
                                    " and " + std::to_string(value));
}

inline void require_degree(std::int64_t value, const char* what) {
  if (value < 1 || value > 100000000) {
    throw Error(Failure::usage, "out_of_range", "step_time",
                std::string(what) + " must be from 1 to 1e8, got " + std::to_string(value));
  }
}

inline void check_stages(const StepRequest& r) {
  const std::int64_t stages = r.layout.pipeline;
  const std::int64_t layers = r.shape.layers;
  if (stages > layers) {
    infeasible("too_many_stages",
               "PP must be at most the layers, got " + std::to_string(stages) + " and " + std::to_string(layers));
  }
  if (r.layout.interleave > 1 && stages == 1)
    infeasible("interleave", "an interleaved schedule must have PP of at least 2, got 1");
  if (!r.stack.interleaves() && r.layout.interleave > 1) {
    infeasible("schedule", "a zero-bubble schedule must have VP of 1, got " + std::to_string(r.layout.interleave));
  }
  const std::int64_t each = architecture::layers_a_stage(r.shape, stages);
  if (each == 0) {
    if (r.uneven_stages) return;
    infeasible("does_not_divide", "PP must divide the layers, or layers + 2 with embedding and head as one each, got " +
                                      std::to_string(stages) + " and " + std::to_string(layers));
  }
  if (each % r.layout.interleave != 0 && !r.uneven_stages)
    not_dividing("VP", r.layout.interleave, "the layers of a stage", each);
}

inline void check_experts(const StepRequest& r) {
  const std::int64_t ep = r.layout.expert;
  if (ep == 1) return;
  if (!r.shape.experts) infeasible("no_experts", "EP must be 1 in a dense model, got " + std::to_string(ep));
  if (r.shape.experts->count % ep != 0) not_dividing("EP", ep, "the experts", r.shape.experts->count);
  const std::int64_t ranks = r.layout.tensor * r.layout.context * r.layout.data;
  if (ranks % ep != 0) not_dividing("EP", ep, "TP x CP x DP", ranks);
}

[[noreturn]] inline void bad_efficiency(std::string_view name, const char* rule, double value) {
  throw Error(Failure::usage, "out_of_range", "step_time",
              "the efficiency \"" + std::string(name) + "\" must be " + rule + ", got " + print_number(value, 6));
}

inline void check_efficiencies(const Efficiencies& e) {
  for (const FittedEfficiency& f : fitted_efficiencies()) {
    const double value = e.*f.member;
    if (!(value > 0) || value > 1e3) bad_efficiency(f.name, "positive and at most 1000", value);
  }
  struct Named {
    const char* name;
    double value;
  };
  for (const Named& n : {Named{"scale_up", e.scale_up}, Named{"attention_early_on_later", e.attention_early_on_later},
                         Named{"unfused_attention", e.unfused_attention}, Named{"straggler_unit", e.straggler_unit},
                         Named{"measured_factor", e.measured_factor}}) {
    if (!(n.value > 0) || n.value > 1e3) bad_efficiency(n.name, "positive and at most 1000", n.value);
  }
  for (const Named& n :
       {Named{"straggler", e.straggler}, Named{"exposed_overlapped", e.exposed_overlapped},
        Named{"exposed_overlapped_experts", e.exposed_overlapped_experts}, Named{"hides_data", e.hides_data},
        Named{"hidden_data_cost", e.hidden_data_cost}, Named{"kernel_seconds", e.kernel_seconds},
        Named{"fast_host", e.fast_host}, Named{"backward_host", e.backward_host},
        Named{"ring_hop_seconds", e.ring_hop_seconds}, Named{"collective_seconds", e.collective_seconds},
        Named{"data_hop_seconds", e.data_hop_seconds}, Named{"block_casts", e.block_casts},
        Named{"regather", e.regather}, Named{"host_tensor", e.host_tensor}, Named{"host_sockets", e.host_sockets},
        Named{"host_microbatch", e.host_microbatch}, Named{"send_seconds", e.send_seconds},
        Named{"optimizer_bytes", e.optimizer_bytes}, Named{"update_bytes", e.update_bytes}}) {
    if (!(n.value >= 0) || n.value > 1e3) bad_efficiency(n.name, "from 0 to 1000", n.value);
  }
}

}  // namespace detail

// Microbatches of a step, as they come out: whole only if the request is possible.
[[nodiscard]] inline double microbatches(const StepRequest& r) {
  return static_cast<double>(r.global_batch) / (static_cast<double>(r.layout.data) * static_cast<double>(r.microbatch));
}

// Throws Error(usage) for values out of range, Error(infeasible) for a layout that cannot be run. Memory is not looked at.
inline void check(const StepRequest& r) {
  using detail::infeasible;
  using detail::not_dividing;
  architecture::check(r.shape);
  check(r.machine);
  detail::check_efficiencies(r.efficiencies);
  detail::require_degree(r.layout.tensor, "TP");
  detail::require_degree(r.layout.context, "CP");
  detail::require_degree(r.layout.pipeline, "PP");
  detail::require_degree(r.layout.data, "DP");
  detail::require_degree(r.layout.expert, "EP");
  detail::require_degree(r.layout.interleave, "VP");
  detail::require_degree(r.microbatch, "microbatch");
  detail::require_degree(r.global_batch, "global batch");
  detail::require_degree(r.sequence_length, "sequence length");
  const double used = r.layout.accelerators().value;
  if (used > 1e8)
    infeasible("too_many", "TP x CP x PP x DP must be at most 1e8 accelerators, got " + print_number(used, 9));
  if (r.accelerators && r.accelerators->value != used) {
    infeasible("accelerators", "TP x CP x PP x DP must be the " + print(*r.accelerators) + " accelerators, got " +
                                   std::to_string(r.layout.tensor) + " x " + std::to_string(r.layout.context) + " x " +
                                   std::to_string(r.layout.pipeline) + " x " + std::to_string(r.layout.data) + " = " +
                                   print_number(used, 12));
  }
  if (r.shape.heads % r.layout.tensor != 0) not_dividing("TP", r.layout.tensor, "the attention heads", r.shape.heads);
  if (r.shape.dense_layers() > 0 && r.shape.ffn_width % r.layout.tensor != 0)
    not_dividing("TP", r.layout.tensor, "the feed-forward width", r.shape.ffn_width);
  if (r.sequence_length % r.layout.context != 0)
    not_dividing("CP", r.layout.context, "the sequence", r.sequence_length);
  detail::check_stages(r);
  detail::check_experts(r);
  if (r.global_batch % (r.layout.data * r.microbatch) != 0) {
    infeasible("microbatches", "global batch / (DP x microbatch) must be whole, got " + std::to_string(r.global_batch) +
                                   " / (" + std::to_string(r.layout.data) + " x " + std::to_string(r.microbatch) +
                                   ") = " + print_number(microbatches(r), 6));
  }
  const double gradient = r.stack.gradient_bytes.value;
  if (!(gradient >= 1 && gradient <= 8)) {
    throw Error(Failure::usage, "out_of_range", "step_time",
                "gradient bytes must be from 1 to 8, got " + print_number(gradient, 6));
  }
  if (!(r.machine.peak(r.precision).value > 0)) {
    infeasible("precision", "products in " + catalog::to_text(r.precision) + " must be possible on the part, and " +
                                r.machine.accelerator + " has no such peak");
  }
}

}  // namespace floplan::cluster
