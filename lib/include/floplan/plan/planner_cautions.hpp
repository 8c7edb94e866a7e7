// SPDX-License-Identifier: BSD-3-Clause
//
// What an expert would remark on a plan.
//
// Layouts: a rate that is given and that the step-time model contradicts, what a predicted step assumes of software and layout.
// Sizes: 16 bytes a parameter (BF16 weights and gradients, FP32 master weights and two moments: Rajbhandari et al. 2020,
// arXiv 1910.02054, section 3.1) beyond the memory of all accelerators; TP beyond the key-value heads, which are then held
// twice; fewer tokens than one step, or than a tenth of the parameters (a forgotten T). Stops: more people than failures,
// unexplained stops above 1, planned stops above half the time, a rate of failures carried over to another accelerator or
// to a much larger or smaller cluster, first-order breakdown. Sources: extrapolation of the law, rounded coefficients, a
// sparse peak, an unverified record, a deadline below the failure-free time.
//
// Pitfall: a remark never changes a number; a plan with remarks is still computed. What cannot be is planner_checks.hpp's.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/quantity_text.hpp"
#include "floplan/law/cautions.hpp"
#include "floplan/law/outside.hpp"
#include "floplan/plan/model_size.hpp"
#include "floplan/plan/plan.hpp"
#include "floplan/reliability/completion.hpp"
#include "floplan/reliability/interruption_rate.hpp"

namespace floplan::plan {

namespace detail {

inline constexpr double training_state_bytes = 16;  // a parameter

inline void add_size_cautions(const Plan& plan, std::vector<Warning>& out) {
  const Request& r = plan.request;
  if (plan.tokens.value < plan.active_parameters.value / 10) {
    out.push_back({"few_tokens", print(plan.tokens, 4) + " tokens for " + print(plan.active_parameters, 4) +
                                     " parameters are fewer than a tenth each: is a T or a B missing?"});
  }
  for (const StagePlan& stage : plan.stages) {
    const Stage& s = stage.request;
    const std::string name = "stage \"" + s.name + "\"";
    if (r.accelerator.memory) {
      const Bytes held = *r.accelerator.memory * s.accelerators.value;
      const Bytes state(plan.parameters.value * training_state_bytes);
      if (state > held) {
        out.push_back({"state_does_not_fit",
                       name + ": weights, gradients and Adam's state at 16 bytes a parameter are " + print(state, 3) +
                           ", " + print_number(state / held, 3) + " times the memory of " +
                           print_short(s.accelerators) + " " + r.accelerator.name + ", " + print(held, 3)});
      }
    }
    if (r.shape && s.layout && s.layout->degrees.tensor > r.shape->kv_heads) {
      out.push_back({"tp_beyond_kv_heads", name + ": TP " + std::to_string(s.layout->degrees.tensor) + " exceeds the " +
                                               std::to_string(r.shape->kv_heads) +
                                               " key-value heads, so ranks hold copies of them"});
    }
    if (s.global_batch && s.tokens < s.sequence_length * s.global_batch->value) {
      out.push_back({"less_than_a_step", name + ": " + print_short(s.tokens) + " tokens are fewer than one step of " +
                                             print(*s.global_batch) + " sequences of " +
                                             print_short(s.sequence_length) + ", " +
                                             print(s.sequence_length * s.global_batch->value, 4)});
    }
  }
}

// What the step-time model says of a given rate that an option carried over to another number of accelerators.
inline void add_size_of_rate(const Plan& plan, const StagePlan& stage, std::vector<Warning>& out) {
  Stage before = stage.request;
  if (!before.rate_of) return;
  Layout& layout = before.layout->degrees;
  layout.data = static_cast<std::int64_t>(
      std::llround(static_cast<double>(layout.data) * (*before.rate_of / before.accelerators)));
  before.accelerators = *before.rate_of;
  if (layout.accelerators() != before.accelerators) return;
  const LayoutModel model = layout_model(plan.request, before);
  if (!model.step) return;
  const FlopPerSecond then = model.step->model_rate;
  const FlopPerSecond now = stage.model->step->model_rate;
  out.push_back(
      {"rate_at_another_size", "stage \"" + before.name + "\": its rate was given for " +
                                   print_short(before.accelerators) + " accelerators, and the step-time model says " +
                                   print(then, 4) + " there (" + model.layout.describe() + ") and " + print(now, 4) +
                                   " on " + print_short(stage.request.accelerators) + " (" +
                                   stage.model->layout.describe() + "), " + print_number(100 * (now / then - 1), 2) +
                                   "%: achieved = \"predicted\" (--achieved predicted) plans with the model's rate"});
}

// What the models remark on the layouts, and what predicted steps assume: each assumption once, whatever the stages.
inline void add_layout_cautions(const Plan& plan, std::vector<Warning>& out) {
  std::vector<std::string> assumed;
  const auto assume = [&assumed](const std::string& what) {
    if (std::find(assumed.begin(), assumed.end(), what) == assumed.end()) assumed.push_back(what);
  };
  for (const StagePlan& stage : plan.stages) {
    if (!stage.model) continue;
    const LayoutModel& m = *stage.model;
    const std::string name = "stage \"" + stage.request.name + "\"";
    out.insert(out.end(), m.remarks.begin(), m.remarks.end());
    if (!m.step) continue;
    const double step = m.step->step.value;
    if (stage.request.predicted()) {
      for (const std::string& what : m.layout.assumed) assume(what);
      for (const Warning& w : m.step->assumptions) assume(w.message);
      for (const Warning& w : m.step->warnings) {
        if (w.code != "kv_heads_copied")
          out.push_back({w.code, name + ": " + w.message});  // said of every layout below
      }
      continue;
    }
    add_size_of_rate(plan, stage, out);
    if (stage.step_time->value < step * m.band.low || stage.step_time->value > step * m.band.high) {
      const FlopPerSecond rate = m.step->model_rate;
      out.push_back({"rate_disagrees", name + ": a rate of " + print(stage.achieved, 4) +
                                           " is given, and the step-time model says " + print(rate, 4) + " of " +
                                           m.layout.describe() + "; nine of ten measured steps of its class (" +
                                           m.band.of + ") lie between " + print(rate / m.band.high, 3) + " and " +
                                           print(rate / m.band.low, 3) +
                                           ": is the rate counted by another convention, or the layout another?"});
    }
  }
  if (assumed.empty()) return;
  std::string all;
  for (const std::string& what : assumed) all += (all.empty() ? "" : "; ") + what;
  out.push_back({"assumed_for_steps", "for the predicted steps: " + all});
}

inline void add_stop_cautions(const Plan& plan, std::vector<Warning>& out) {
  const Reliability& r = plan.request.reliability;
  const auto least = std::min_element(plan.stages.begin(), plan.stages.end(), [](const auto& a, const auto& b) {
    return a.request.accelerators < b.request.accelerators;
  });
  const double failures = r.rate.per_day(least->request.accelerators);
  if (r.manual_per_day > failures) {
    out.push_back({"manual_above_failures", "manual_per_day of " + print_number(r.manual_per_day, 4) +
                                                " is capped at the " + print_number(failures, 3) +
                                                " failures a day on " + print_short(least->request.accelerators) +
                                                " accelerators: every one of them waits for a person"});
  }
  if (r.unexplained_stops > 1) {
    out.push_back({"unexplained_above_one", "unexplained_stops of " + print_number(r.unexplained_stops, 4) + " adds " +
                                                print_number(100 * r.unexplained_stops, 4) + "% of the run time; " +
                                                print_number(r.unexplained_stops, 4) + "% is written " +
                                                print_number(r.unexplained_stops, 4) + "% or " +
                                                print_number(r.unexplained_stops / 100, 4)});
  }
  const Checkpoint& checkpoint = plan.request.checkpoint;
  if (checkpoint.memory && checkpoint.memory->stall.central >= checkpoint.stall.central) {
    out.push_back({"memory_tier_slow", "a checkpoint to memory stalls the job for " +
                                           print(checkpoint.memory->stall.central, 3) + ", and one to the store for " +
                                           print(checkpoint.stall.central, 3) +
                                           ": the second tier is there to be the cheaper one"});
  }
  const double planned = r.planned_per_day * in_days(r.planned_duration);
  if (planned > 0.5) {
    out.push_back({"planned_above_half", print_number(r.planned_per_day, 4) + " planned stops a day of " +
                                             print_short(r.planned_duration) + " take " + print_number(planned, 3) +
                                             " days for a day of work"});
  }
}

}  // namespace detail

[[nodiscard]] inline std::vector<Warning> cautions(const Plan& plan) {
  const Request& r = plan.request;
  std::vector<Warning> out = r.assumptions;
  if (r.law && !law_covers(r)) {
    const auto loss = [&](Parameters n) { return print_number(r.law->form.loss(n.value, plan.tokens.value), 4); };
    out.push_back({"dense_law", r.law->name +
                                    " is a law of dense models and predicts no loss of a mixture of experts: " +
                                    print(plan.active_parameters, 4) + " dense parameters would reach " +
                                    loss(plan.active_parameters) + ", " + print(plan.parameters, 4) + " would reach " +
                                    loss(plan.parameters) + " " + r.law->loss_unit});
  } else if (r.law) {
    using law::Input;
    const std::array inputs = {Input::parameters, Input::tokens};
    const std::array values = {counted_parameters(r).value, plan.tokens.value};
    for (Warning& w : law::cautions(*r.law, law::outside(r.law->range, inputs, values))) out.push_back(std::move(w));
  }
  if (r.target_loss && !plan.tokens_to_loss) {
    out.push_back({"tokens_without_interval", r.law->name + " has no known uncertainty, so the " +
                                                  print(plan.tokens, 4) +
                                                  " tokens to the loss are taken as exact, and the dates with them"});
  }
  if (plan.never_reach_loss > 0) {
    out.push_back(
        {"loss_out_of_reach_in_resamples",
         std::to_string(plan.never_reach_loss) + " of " + std::to_string(r.law->replicates.size()) +
             " resampled laws never reach this loss with these parameters; the distributions leave them out"});
  }
  if (!r.shape) {
    out.push_back(
        {"attention_not_counted",
         "only a parameter count is known, so FLOP are 6N and attention is left out; name a model to count it"});
  }
  if (const Provenance& from = r.accelerator.provenance; !from.verified) {
    out.push_back({"unverified_accelerator", r.accelerator.name + "'s figures rest on " +
                                                 (from.source.empty() ? "no named source" : from.source) +
                                                 " and are not verified"});
  }
  const auto dense = r.accelerator.dense_peak(r.precision);
  if (r.peak && dense && std::abs(*r.peak / *dense - 2) < 0.02) {
    out.push_back({"sparse_peak", print(*r.peak, 4) + " is " + r.accelerator.name +
                                      "'s peak with 2:4 sparsity; the dense " + to_text(r.precision) + " peak is " +
                                      print(*dense, 4) + ", and MFU against it would be twice as high"});
  }
  const auto gemm = r.accelerator.bf16_gemm_measured;
  for (const StagePlan& stage : plan.stages) {
    if (gemm && r.precision == catalog::Precision::bf16 && stage.achieved > *gemm) {
      out.push_back({"above_gemm_ceiling", "stage \"" + stage.request.name + "\" achieves " + print(stage.achieved, 3) +
                                               ", above the best matrix product measured on " + r.accelerator.name +
                                               ", " + print(*gemm, 3)});
    }
  }
  detail::add_layout_cautions(plan, out);
  detail::add_size_cautions(plan, out);
  const StagePlan& main = plan.main();
  for (const Warning& w : reliability::cautions(main.conditions)) out.push_back(w);
  if (r.reliability.observed_on) {
    for (const Warning& w : reliability::scale_cautions(*r.reliability.observed_on, main.request.accelerators))
      out.push_back(w);
  }
  detail::add_stop_cautions(plan, out);
  if (plan.deadline && plan.deadline->limit < plan.ideal) {
    out.push_back({"deadline_below_ideal", "the deadline of " + print_short(plan.deadline->limit) +
                                               " is below the failure-free time at the rate that is given, " +
                                               print(plan.ideal, 4) + ": it is met only where the rate is higher"});
  }
  if (r.reliability.unexplained_stops == 0 && !r.reliability.team) {
    using reliability::Team;
    out.push_back({"unexplained_stops",
                   "stops that no failure rate explains (people, data, bugs) are left out; published runs took " +
                       reliability::unexplained_loss(Team::usual).range_text() +
                       " times a failure model's hours, practised teams " +
                       reliability::unexplained_loss(Team::practised).range_text() +
                       ": give reliability.team (practised, usual or first_run) to put them in, or a mean share as "
                       "reliability.unexplained_stops"});
  }
  if (!plan.complete)
    out.push_back({"interrupted", "the draws were interrupted: the distributions rest on " +
                                      std::to_string(plan.draws) + " of " + std::to_string(r.draws)});
  return out;
}

}  // namespace floplan::plan
