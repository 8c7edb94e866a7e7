// SPDX-License-Identifier: BSD-3-Clause
//
// What the models of step time and memory say of a stage that has a layout.
//
//   const LayoutModel m = layout_model(request, stage);      m.step->step, m.band, m.memory->total(), m.fits
//
// Of a stage whose rate is given the layout is a description: its memory is checked, its step is predicted beside the given
// one where the request says enough, and what cannot be checked is a remark. Of a stage without a rate the prediction is the
// rate: then a layout that cannot be run, or does not fit, is Error(infeasible), and Error(usage) where something is missing.
// `where` of these errors is the stage's field: "global_batch", "layout.tp".
//
//   does not fit: the fullest pipeline stage needs more than one accelerator has. Where the rate is given and the layout
//   leaves open what is sharded or recomputed, only if it does not fit with everything sharded and recomputed.
//
// Sources: cluster/step_time.hpp, architecture/training_memory.hpp. Cost: some microseconds, more with many stages.
// Pitfall: what runtime and communication buffers take is not counted; a layout that fits by a hair may not run.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/architecture/memory_remedies.hpp"
#include "floplan/architecture/training_memory.hpp"
#include "floplan/cluster/step_band.hpp"
#include "floplan/cluster/step_time.hpp"
#include "floplan/plan/request.hpp"
#include "floplan/plan/stage_layout.hpp"

namespace floplan::plan {

struct LayoutModel {
  SettledLayout layout;
  std::optional<architecture::StageMemory> memory;  // of the pipeline stage that needs most
  std::optional<Bytes> capacity;                    // of one accelerator
  std::optional<bool> fits;
  std::optional<cluster::StepReport> step;
  cluster::StepBand band;        // of measured / predicted step
  std::vector<Warning> remarks;  // on what was not checked, or fits only if
};

// Of a pipeline in a step, as they come out.
[[nodiscard]] inline double microbatches_of(const Stage& stage, const SettledLayout& l) {
  const double ranks = static_cast<double>(l.degrees.data) * static_cast<double>(l.microbatch);
  if (stage.global_batch) return stage.global_batch->value / ranks;
  return static_cast<double>(l.degrees.pipeline * l.degrees.interleave);  // as many as fill the pipeline
}

// For architecture::training_memory.
[[nodiscard]] inline architecture::TrainingMemoryOptions memory_options(const Request& r, const Stage& stage,
                                                                        const SettledLayout& l) {
  architecture::TrainingMemoryOptions out;
  out.activation.sequence_length = static_cast<std::int64_t>(std::ceil(stage.sequence_length.value));
  out.activation.microbatch = l.microbatch;
  out.activation.sequence_parallel = r.stack.sequence_parallel.value;
  out.activation.recompute = l.recompute;
  out.activation.attention = r.stack.attention.value == cluster::AttentionKernel::unfused
                                 ? architecture::AttentionKernel::materialised
                                 : architecture::AttentionKernel::fused;
  out.sharding = l.sharding;
  out.microbatches = static_cast<std::int64_t>(microbatches_of(stage, l));
  return out;
}

// Of a stage with a batch and a whole sequence length, for cluster::step_time.
[[nodiscard]] inline cluster::StepRequest step_request(const Request& r, const Stage& stage, const SettledLayout& l) {
  cluster::StepRequest out;
  out.shape = *r.shape;
  out.machine = cluster::machine_of(r.accelerator, r.machine);
  out.layout = l.degrees;
  out.microbatch = l.microbatch;
  out.global_batch = static_cast<std::int64_t>(stage.global_batch->value);
  out.sequence_length = static_cast<std::int64_t>(stage.sequence_length.value);
  out.precision = r.precision;
  out.sharding = l.sharding;
  out.recompute = l.recompute;
  out.uneven_stages = true;  // the memory model has said whether the stages can be cut
  out.stack = r.stack;
  out.efficiencies = r.efficiencies;
  out.convention = r.flop_convention;
  out.accelerators = stage.accelerators;
  return out;
}

namespace detail {

// The field that a rule of the step-time or memory model speaks of, by its first word.
[[nodiscard]] inline std::string field_of_rule(std::string_view rule) {
  for (const auto& [word, field] : {std::pair<std::string_view, const char*>{"TP must", "layout.tp"},
                                    {"TP x", "count"},
                                    {"CP ", "layout.cp"},
                                    {"PP ", "layout.pp"},
                                    {"VP ", "layout.vp"},
                                    {"EP ", "layout.ep"},
                                    {"an interleaved", "layout.vp"},
                                    {"a zero-bubble", "layout.vp"},
                                    {"tensor", "layout.tp"},
                                    {"context", "layout.cp"},
                                    {"pipeline", "layout.pp"},
                                    {"interleave", "layout.vp"},
                                    {"expert", "layout.ep"},
                                    {"the layers", "layout.pp"},
                                    {"global batch", "global_batch"},
                                    {"microbatch", "layout.microbatch"},
                                    {"sequence", "sequence_length"},
                                    {"products in", "precision"}}) {
    if (rule.starts_with(word)) return field;
  }
  return "layout";
}

[[nodiscard]] inline std::string rule_of(const Error& error) {
  const std::string text = error.what();
  return error.where().empty() ? text : text.substr(error.where().size() + 2);
}

inline void require_predictable(const Request& r, const Stage& stage) {
  const auto refuse = [](const char* field, const std::string& rule) {
    throw Error(Failure::usage, "cannot_predict", field, rule);
  };
  if (!r.shape)
    refuse("layout", "a layout's step time needs a model: of a bare number of parameters no layer is known");
  if (!stage.global_batch) refuse("global_batch", "a layout's step time needs global_batch, the sequences of a step");
  if (stage.sequence_length.value != std::floor(stage.sequence_length.value) || stage.sequence_length.value > 1e8)
    refuse("sequence_length",
           "a layout's step time needs a whole sequence length up to 1e8, got " + print(stage.sequence_length));
}

[[nodiscard]] inline Error does_not_fit(const Request& r, const Stage& stage, const LayoutModel& m,
                                        const architecture::TrainingMemoryReport& memory) {
  const architecture::TrainingMemoryOptions options = memory_options(r, stage, m.layout);
  const std::string remedies = to_text(architecture::what_would_fit(*r.shape, m.layout.degrees, options, *m.capacity));
  return {Failure::infeasible, "layout_does_not_fit", "layout",
          "the layout must fit in the memory of " + r.accelerator.name + ", and " + m.layout.describe() + " " +
              memory.fits(*m.capacity).text +
              (remedies.empty() ? "; no single change of it fits" : "; any of these would fit: " + remedies)};
}

inline void add_memory(const Request& r, const Stage& stage, LayoutModel& m) {
  const auto report = [&](const SettledLayout& l) {
    return architecture::training_memory(*r.shape, l.degrees, memory_options(r, stage, l));
  };
  const architecture::TrainingMemoryReport memory = report(m.layout);
  m.memory = memory.worst_stage();
  m.capacity = r.accelerator.memory;
  if (!m.capacity) {
    m.remarks.push_back({"memory_not_known", "stage \"" + stage.name + "\": the catalog has no memory of " +
                                                 r.accelerator.name + ", so whether the layout fits is not known"});
    return;
  }
  m.fits = memory.fits(*m.capacity).fits;
  if (*m.fits) return;
  if (stage.predicted() || !stage.layout->leaves_open()) throw does_not_fit(r, stage, m, memory);
  const SettledLayout least = frugal(*stage.layout, *r.shape, stage.global_batch, r.stack.interleaves());
  const Bytes needed = report(least).worst_stage().total();
  if (needed > *m.capacity) throw does_not_fit(r, stage, m, memory);
  m.remarks.push_back({"layout_may_not_fit", "stage \"" + stage.name + "\": " + m.layout.describe() +
                                                 ", as is taken where nothing is said, " +
                                                 memory.fits(*m.capacity).text + ". With " + to_text(least.sharding) +
                                                 " and recomputation " + to_text(least.recompute) + " it would need " +
                                                 print_short(needed, 3)});
}

}  // namespace detail

// The stage has a layout whose degrees multiply to its accelerators; described ones of a request with a shape.
[[nodiscard]] inline LayoutModel layout_model(const Request& r, const Stage& stage) {
  if (stage.predicted()) detail::require_predictable(r, stage);
  LayoutModel out;
  out.layout = settle(*stage.layout, *r.shape, stage.global_batch, r.stack.interleaves());
  // A description that the models cannot take is no fault of the plan.
  const auto unless_described = [&](const char* what, auto compute) {
    try {
      compute();
      return true;
    } catch (const Error& error) {
      if (error.code() == "layout_does_not_fit") throw;
      const std::string rule = detail::rule_of(error);
      if (stage.predicted()) {
        const std::string field = error.where() == "machine" ? "accelerator" : detail::field_of_rule(rule);
        throw Error(error.failure(), error.code(), field, rule);
      }
      out.remarks.push_back(
          {"layout_not_checked", "stage \"" + stage.name + "\": its " + what + " is not checked: " + rule});
      return false;
    }
  };
  const double microbatches = microbatches_of(stage, out.layout);
  const auto check_batch = [&] {
    if (microbatches >= 1 && microbatches == std::floor(microbatches) && microbatches <= 2147483647) return;
    throw Error(Failure::infeasible, "microbatches", "",
                "global batch / (DP x microbatch) must be whole, got " + print(*stage.global_batch) + " / (" +
                    std::to_string(out.layout.degrees.data) + " x " + std::to_string(out.layout.microbatch) +
                    ") = " + print_number(microbatches, 6));
  };
  const bool memory = unless_described("memory", [&] {
    check_batch();
    detail::add_memory(r, stage, out);
  });
  const bool whole = stage.sequence_length.value == std::floor(stage.sequence_length.value);
  if (!memory || !stage.global_batch || !whole || stage.sequence_length.value > 1e8) return out;
  unless_described("step time", [&] {
    const cluster::StepRequest request = step_request(r, stage, out.layout);
    out.step = cluster::step_time(request);
    out.band = cluster::step_band(request, r.known_stack);
  });
  return out;
}

}  // namespace floplan::plan
