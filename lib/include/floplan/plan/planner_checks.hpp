// SPDX-License-Identifier: BSD-3-Clause
//
// What a request must satisfy before it is planned, and what an expert would remark on the plan afterwards.
//
// Refused as usage (exit 2): a value that is missing, out of range or not finite. Refused as infeasible (exit 3), with the
// limit and by how much it is missed: a layout whose TP x CP x PP x DP is not the accelerator count, a batch that the data
// ranks do not divide, an achieved rate above the dense peak, a deadline before the failure-free end.
//
// Remarked: extrapolation of the law, a rounded law, a sparse peak, an unverified record, a rate of failures carried over
// to another accelerator or to a much larger cluster, first-order breakdown, stops left out of the model.
//
// Pitfall: a remark never changes a number; a plan with remarks is still computed.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/plan.hpp"

namespace floplan::plan {

namespace detail {

inline void require(bool holds, const std::string& where, const std::string& rule) {
  if (!holds) throw Error(Failure::usage, "out_of_range", where, rule);
}
inline void require_feasible(bool holds, const char* code, const std::string& where, const std::string& rule) {
  if (!holds) throw Error(Failure::infeasible, code, where, rule);
}
template <class Q>
void require_positive(Q q, const std::string& where, const char* what) {
  require(q.value > 0 && std::isfinite(q.value), where,
          std::string(what) + " must be positive and finite, got " + print(q));
}
inline void require_count(Count c, const std::string& where, const char* what) {
  require(c.value >= 1 && c.value == std::floor(c.value) && c.value <= 1e9, where,
          std::string(what) + " must be a whole number from 1 to 1e9, got " + print(c));
}
template <class Q>
void require_range(const Uncertain<Q>& u, const std::string& where, const char* what) {
  require(u.central.value >= 0 && std::isfinite(u.central.value), where,
          std::string(what) + " must be at least zero and finite, got " + print(u.central));
  if (!u.low && !u.high) return;
  require(u.low && u.high && u.low->value > 0 && *u.low <= *u.high, where,
          std::string(what) + ": a range needs 0 < low <= high, got " + (u.low ? print(*u.low) : "none") + " and " +
              (u.high ? print(*u.high) : "none"));
}

}  // namespace detail

inline void check_stage(const Request& r, const Stage& stage, const std::string& where, FlopPerSecond peak) {
  using namespace detail;
  require_positive(stage.tokens, where, "tokens");
  require_count(stage.accelerators, where, "accelerators");
  require(stage.sequence_length.value >= 1 && stage.sequence_length.value <= 1e9, where,
          "sequence length must be from 1 to 1e9 tokens, got " + print(stage.sequence_length));
  require(stage.achieved.has_value() != stage.mfu.has_value(), where,
          "needs either an achieved rate or an MFU, and not both");
  if (stage.achieved) require_positive(*stage.achieved, where, "achieved rate");
  if (stage.mfu) require_positive(*stage.mfu, where, "MFU");
  const double mfu = stage.mfu ? stage.mfu->value : *stage.achieved / peak;
  require_feasible(mfu <= 1, "above_peak", where,
                   "the achieved rate must not exceed the dense " + to_text(r.precision) + " peak of " +
                       print(peak, 4) + ", got " + print(stage.achieved ? *stage.achieved : peak * mfu, 4) + ", " +
                       print_number(mfu, 3) + " times it");
  if (stage.global_batch) require_count(*stage.global_batch, where, "global batch");
  if (!stage.layout) return;
  const Layout& l = *stage.layout;
  require(l.tensor >= 1 && l.context >= 1 && l.pipeline >= 1 && l.data >= 1, where,
          "TP, CP, PP and DP must be at least 1");
  require_feasible(static_cast<double>(l.accelerators()) == stage.accelerators.value, "layout_does_not_divide", where,
                   "TP x CP x PP x DP must be the accelerator count, got " + std::to_string(l.tensor) + " x " +
                       std::to_string(l.context) + " x " + std::to_string(l.pipeline) + " x " + std::to_string(l.data) +
                       " = " + std::to_string(l.accelerators()) + " for " + print(stage.accelerators));
  if (stage.global_batch) {
    require_feasible(
        std::fmod(stage.global_batch->value, static_cast<double>(l.data)) == 0, "batch_does_not_divide", where,
        "DP must divide the global batch, got " + std::to_string(l.data) + " and " + print(*stage.global_batch));
  }
}

inline void check(const Request& r) {
  using namespace detail;
  const std::string here = "plan";
  require(r.shape || r.parameters, here, "needs a model or a number of parameters");
  if (!r.shape) require_positive(*r.parameters, here, "parameters");
  require(r.peak || r.accelerator.dense_peak(r.precision), here,
          "needs a dense " + to_text(r.precision) + " peak, and the catalog has none for " + r.accelerator.name);
  const FlopPerSecond peak = r.peak ? *r.peak : *r.accelerator.dense_peak(r.precision);
  require_positive(peak, here, "peak");
  require(!r.stages.empty(), here, "needs at least one stage");
  for (std::size_t i = 0; i < r.stages.size(); ++i) {
    const Stage& stage = r.stages[i];
    check_stage(r, stage,
                here + ": stage " + std::to_string(i + 1) + (stage.name.empty() ? "" : " (" + stage.name + ")"), peak);
  }
  require(r.achieved_spread.value >= 0 && r.achieved_spread.value <= 2, here,
          "achieved_spread must be from 0 to 2, got " + print(r.achieved_spread));
  require(r.reliability.rate.per_accelerator_hour > 0 && std::isfinite(r.reliability.rate.per_accelerator_hour), here,
          "needs a positive interruption rate");
  require_range(r.reliability.restart, here, "restart");
  require_range(r.reliability.wait, here, "wait");
  require_range(r.checkpoint.stall, here, "checkpoint stall");
  require(r.checkpoint.stall.central.value > 0 || r.checkpoint.interval, here,
          "a checkpoint that stalls nothing has no best interval: give one");
  if (r.checkpoint.interval) require_positive(*r.checkpoint.interval, here, "checkpoint interval");
  const auto at_least_zero = [&here](double x, const char* what) {
    require(x >= 0 && std::isfinite(x), here,
            std::string(what) + " must be at least zero and finite, got " + print_number(x));
  };
  at_least_zero(r.reliability.manual_per_day, "manual_per_day");
  at_least_zero(r.reliability.manual_wait.value, "manual_wait");
  at_least_zero(r.reliability.planned_per_day, "planned_per_day");
  at_least_zero(r.reliability.planned_duration.value, "planned_duration");
  at_least_zero(r.reliability.unexplained_stops, "unexplained_stops");
  if (r.price) require_range(r.price->accelerator_hour, here, "price");
  if (r.power) {
    require_positive(r.power->accelerator, here, "accelerator power");
    require_positive(r.power->node, here, "node power");
    require(r.power->pue >= 1 && r.power->pue <= 10, here,
            "PUE must be from 1 to 10, got " + print_number(r.power->pue));
    at_least_zero(r.power->grid.value, "carbon intensity");
  }
  if (r.deadline) require_positive(*r.deadline, here, "deadline");
  require(r.draws >= 100 && r.draws <= 10000000, here, "draws must be from 100 to 10M, got " + std::to_string(r.draws));
}

inline void require_deadline_possible(const Plan& plan) {
  const Seconds limit = *plan.request.deadline;
  detail::require_feasible(plan.ideal <= limit, "deadline_impossible", "plan",
                           "the deadline must leave time for the work: " + print_number(in_days(plan.ideal), 4) +
                               " days without a single stop, got " + print_number(in_days(limit), 4) + " days, " +
                               print_number(in_days(plan.ideal - limit), 3) + " too few");
}

// The parameter count that the request's law was fitted with.
[[nodiscard]] inline Parameters counted_parameters(const Request& r, Parameters total) {
  if (r.law->parameter_convention != law::ParameterConvention::non_embedding) return total;
  if (r.shape) return architecture::parameter_count(*r.shape).non_embedding;
  throw Error(Failure::usage, "parameter_convention", "plan",
              r.law->name + " counts non-embedding parameters: it needs a model, not a bare total of " + print(total));
}

[[nodiscard]] inline std::vector<Warning> cautions(const Plan& plan) {
  const Request& r = plan.request;
  std::vector<Warning> out = r.assumptions;
  if (plan.extrapolation_decades > 0.01) {
    out.push_back({"extrapolation", r.law->name + " was fitted up to " +
                                        print(Parameters(r.law->range.parameters_high.value_or(0)), 3) +
                                        " parameters and " + print(Tokens(r.law->range.tokens_high.value_or(0)), 3) +
                                        " tokens; the loss extrapolates by " +
                                        print_number(plan.extrapolation_decades, 2) + " powers of ten"});
  }
  if (r.law && r.law->rounded)
    out.push_back({"rounded_law", r.law->name + " has rounded coefficients: " + r.law->provenance.note});
  if (!r.shape) {
    out.push_back(
        {"attention_not_counted",
         "only a parameter count is known, so FLOP are 6N and attention is left out; name a model to count it"});
  }
  if (!r.accelerator.provenance.verified) {
    out.push_back({"unverified_accelerator", r.accelerator.name + "'s figures rest on " +
                                                 r.accelerator.provenance.source + " and are not verified"});
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
  const StagePlan& main = plan.main();
  for (const Warning& w : reliability::cautions(main.conditions)) out.push_back(w);
  if (r.reliability.observed_on && main.request.accelerators.value > 1.5 * r.reliability.observed_on->value) {
    out.push_back({"rate_extrapolated", "the failure rate was counted on " + print(*r.reliability.observed_on) +
                                            " accelerators and is carried to " + print(main.request.accelerators) +
                                            " in proportion"});
  }
  if (r.reliability.unexplained_stops == 0) {
    out.push_back({"unexplained_stops",
                   "stops that no failure rate explains (people, data, bugs) are left out; published runs took 0.95 to "
                   "1.43 times a failure "
                   "model's hours, practised teams 0.97 to 1.10: give reliability.unexplained_stops, such as 0.05 or "
                   "0.18, to put them in"});
  }
  if (!plan.complete)
    out.push_back({"interrupted", "the draws were interrupted: the distributions rest on fewer than asked for"});
  return out;
}

}  // namespace floplan::plan
