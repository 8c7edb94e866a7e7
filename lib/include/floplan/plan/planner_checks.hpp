// SPDX-License-Identifier: BSD-3-Clause
//
// What a request must satisfy before it is planned, and what an expert would remark on the plan afterwards.
//
// Refused as a wrong value (usage, exit 2; from a file data, exit 4): one that is missing, not finite, or out of range. The
// ranges are wide, and narrow enough that nothing computed from them overflows. Refused as infeasible (exit 3), with the
// limit and by how much it is missed: a layout whose TP x CP x PP x DP is not the accelerator count, a batch that the data
// ranks do not divide, an achieved rate above the dense peak, a deadline before the failure-free end.
//
// An error's place is the field's path, "plan: stage[2].count"; who read the request from elsewhere passes a PlaceOf that
// knows the option or the file's line instead (request_file.hpp does).
//
// Remarked: extrapolation of the law, a rounded law, a sparse peak, an unverified record, a rate of failures carried over
// to another accelerator or to a much larger cluster, first-order breakdown, stops left out of the model.
//
// Pitfall: a remark never changes a number; a plan with remarks is still computed.
#pragma once

#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/plan.hpp"

namespace floplan::plan {

namespace detail {

[[nodiscard]] inline Place place_in_request(std::string_view path) {
  return {path.empty() ? "plan" : "plan: " + std::string(path), Failure::usage};
}

class Rules {
 public:
  explicit Rules(const PlaceOf& place_of) : place_of_(place_of) {}

  // paths: the fields that the rule is about, the likeliest first. An option is the later word, so it is to blame first.
  void require(bool holds, std::initializer_list<std::string> paths, const std::string& rule,
               const char* code = "out_of_range") const {
    if (holds) return;
    const Place place = blamed(paths);
    throw Error(place.failure, code, place.where, rule);
  }
  void require_feasible(bool holds, const char* code, std::initializer_list<std::string> paths,
                        const std::string& rule) const {
    if (!holds) throw Error(Failure::infeasible, code, blamed(paths).where, rule);
  }
  template <class Q>
  void between(Q q, double low, double high, const std::string& path, const std::string& what) const {
    require(q.value >= low && q.value <= high, {path},
            what + " must be from " + print(Q(low), 6) + " to " + print(Q(high), 6) + ", got " + print(q));
  }
  void between(double x, double low, double high, const std::string& path, const std::string& what) const {
    require(x >= low && x <= high, {path},
            what + " must be from " + print_number(low) + " to " + print_number(high) + ", got " + print_number(x));
  }
  void whole(Count c, const std::string& path, const std::string& what) const {
    require(c.value >= 1 && c.value == std::floor(c.value) && c.value <= 1e9, {path},
            what + " must be a whole number from 1 to 1e9, got " + print(c));
  }
  template <class Q>
  void range(const Uncertain<Q>& u, double high, const std::string& path, const std::string& what) const {
    between(u.central, 0, high, path, what);
    if (!u.low && !u.high) return;
    require(u.low && u.high && u.low->value > 0 && *u.low <= *u.high && u.high->value <= high, {path},
            what + ": a range needs 0 < low <= high <= " + print(Q(high), 6) + ", got " +
                (u.low ? print(*u.low) : "none") + " and " + (u.high ? print(*u.high) : "none"));
    require(
        u.high->value <= 1e6 * u.low->value, {path},
        what + ": the ends of a range must be within a factor of 1e6, got " + print(*u.low) + " and " + print(*u.high));
  }

 private:
  [[nodiscard]] Place blamed(std::initializer_list<std::string> paths) const {
    for (const std::string& path : paths) {
      if (Place place = place_of_(path); place.failure == Failure::usage) return place;
    }
    return place_of_(*paths.begin());
  }

  const PlaceOf& place_of_;
};

}  // namespace detail

inline void check_stage(const Request& r, std::size_t index, FlopPerSecond peak, const detail::Rules& rules) {
  const Stage& stage = r.stages[index];
  const std::string path = "stage[" + std::to_string(index + 1) + "].";
  const std::string of = r.stages.size() > 1 && !stage.name.empty() ? " of stage \"" + stage.name + "\"" : "";
  rules.between(stage.tokens, 1, 1e24, path + "tokens", "tokens" + of);
  rules.whole(stage.accelerators, path + "count", "the accelerators" + of);
  rules.between(stage.sequence_length, 1, 1e9, path + "sequence_length", "the sequence length" + of);
  rules.require(stage.achieved.has_value() != stage.mfu.has_value(), {path + "achieved"},
                "needs either an achieved rate or an MFU, and not both");
  const std::string rate = path + (stage.mfu ? "mfu" : "achieved");
  if (stage.achieved) rules.between(*stage.achieved, 1, 1e21, rate, "the achieved rate" + of);
  if (stage.mfu)
    rules.require(stage.mfu->value >= 1e-9 && std::isfinite(stage.mfu->value), {rate},
                  "the MFU" + of + " must be from 1e-9 to 1, got " + print(*stage.mfu));
  const double mfu = stage.mfu ? stage.mfu->value : *stage.achieved / peak;
  rules.require_feasible(mfu <= 1, "above_peak", {rate, "peak", "precision", "accelerator"},
                         "the achieved rate" + of + " must not exceed the dense " + to_text(r.precision) + " peak of " +
                             print(peak, 4) + ", got " + print(stage.achieved ? *stage.achieved : peak * mfu, 4) +
                             ", " + print_number(mfu, 3) + " times it");
  if (stage.global_batch) rules.whole(*stage.global_batch, path + "global_batch", "the global batch" + of);
  if (!stage.layout) return;
  const Layout& l = *stage.layout;
  rules.require(l.tensor >= 1 && l.context >= 1 && l.pipeline >= 1 && l.data >= 1, {path + "layout"},
                "TP, CP, PP and DP" + of + " must be at least 1");
  rules.require_feasible(
      l.accelerators() == stage.accelerators, "layout_does_not_divide", {path + "layout", path + "count"},
      "TP x CP x PP x DP" + of + " must be the accelerator count, got " + std::to_string(l.tensor) + " x " +
          std::to_string(l.context) + " x " + std::to_string(l.pipeline) + " x " + std::to_string(l.data) + " = " +
          print(l.accelerators()) + " for " + print(stage.accelerators));
  if (stage.global_batch) {
    rules.require_feasible(std::fmod(stage.global_batch->value, static_cast<double>(l.data)) == 0,
                           "batch_does_not_divide", {path + "global_batch", path + "layout"},
                           "DP" + of + " must divide the global batch, got " + std::to_string(l.data) + " and " +
                               print(*stage.global_batch));
  }
}

inline void check(const Request& r, const PlaceOf& place_of = detail::place_in_request) {
  const detail::Rules rules(place_of);
  constexpr double century = 36500 * seconds_per_day;
  rules.require(r.shape || r.parameters, {""}, "needs a model or a number of parameters");
  if (!r.shape) rules.between(*r.parameters, 1, 1e24, "parameters", "the number of parameters");
  rules.require(r.peak || r.accelerator.dense_peak(r.precision), {"precision", "accelerator"},
                "the catalog has no dense " + to_text(r.precision) + " peak for " + r.accelerator.name +
                    ": needs another precision, or a peak");
  const FlopPerSecond peak = r.peak ? *r.peak : *r.accelerator.dense_peak(r.precision);
  rules.between(peak, 1, 1e21, "peak", "the peak");
  rules.require(!r.stages.empty(), {""}, "needs at least one stage");
  for (std::size_t i = 0; i < r.stages.size(); ++i) check_stage(r, i, peak, rules);
  rules.require(!r.law || r.shape || r.law->parameter_convention != law::ParameterConvention::non_embedding,
                {"law", "parameters"},
                "the law counts non-embedding parameters: needs a model, not a bare number of parameters",
                "parameter_convention");
  rules.between(r.achieved_spread, 0, 2, "achieved_spread", "the spread of the achieved rate");
  const reliability::InterruptionRate& rate = r.reliability.rate;
  rules.require(rate.per_accelerator_hour > 0 && rate.per_accelerator_hour <= 1e6, {"reliability"},
                "the rate of interruptions must be positive and at most 1e6 an accelerator-hour, got " +
                    print_number(rate.per_accelerator_hour, 6));
  rules.range(r.reliability.restart, century, "reliability.restart", "the restart");
  rules.range(r.reliability.wait, century, "reliability.wait", "the wait");
  rules.range(r.checkpoint.stall, century, "checkpoint.stall", "the checkpoint stall");
  rules.require(r.checkpoint.stall.central.value > 0 || r.checkpoint.interval,
                {"checkpoint.stall", "checkpoint.interval"},
                "a checkpoint that stalls nothing has no best interval: give an interval");
  if (r.checkpoint.interval)
    rules.between(*r.checkpoint.interval, 1e-3, century, "checkpoint.interval", "the checkpoint interval");
  rules.between(r.reliability.manual_per_day, 0, 1e6, "reliability.manual_per_day", "manual_per_day");
  rules.between(r.reliability.manual_wait, 0, century, "reliability.manual_wait", "manual_wait");
  rules.between(r.reliability.planned_per_day, 0, 1e6, "reliability.planned_per_day", "planned_per_day");
  rules.between(r.reliability.planned_duration, 0, century, "reliability.planned_duration", "planned_duration");
  rules.between(r.reliability.unexplained_stops, 0, 100, "reliability.unexplained_stops", "unexplained_stops");
  if (r.price) rules.range(r.price->accelerator_hour, 1e6, "price.accelerator_hour", "the price");
  if (r.power) {
    rules.between(r.power->accelerator, 1, 1e6, "power.accelerator", "the accelerator's power");
    rules.between(r.power->node, 1, 1e6, "power.node", "an accelerator's share of the node's power");
    rules.between(r.power->pue, 1, 10, "power.pue", "the PUE");
    rules.between(r.power->grid, 0, 100, "power.carbon", "the carbon intensity");
  }
  if (r.deadline)
    rules.require(r.deadline->value > 0 && std::isfinite(r.deadline->value), {"deadline"},
                  "the deadline must be positive and finite, got " + print(*r.deadline));
  rules.require(r.draws >= 100 && r.draws <= 10000000, {"draws"},
                "draws must be from 100 to 10M, got " + std::to_string(r.draws));
}

inline void require_deadline_possible(const Plan& plan) {
  const Seconds limit = *plan.request.deadline;
  if (plan.ideal <= limit) return;
  throw Error(Failure::infeasible, "deadline_impossible", "plan: deadline",
              "the deadline must leave time for the work: " + print_number(in_days(plan.ideal), 4) +
                  " days without a single stop, got " + print_number(in_days(limit), 4) + " days, " +
                  print_number(in_days(plan.ideal - limit), 3) + " too few");
}

// The parameter count that the request's law was fitted with.
[[nodiscard]] inline Parameters counted_parameters(const Request& r, Parameters total) {
  if (r.law->parameter_convention != law::ParameterConvention::non_embedding) return total;
  return architecture::parameter_count(r.shape.value()).non_embedding;  // check() has seen to it that there is one
}

[[nodiscard]] inline std::vector<Warning> cautions(const Plan& plan) {
  const Request& r = plan.request;
  std::vector<Warning> out = r.assumptions;
  if (plan.extrapolation_decades > 0.01) {
    out.push_back({"extrapolation", "the loss extrapolates " + r.law->name + " by " +
                                        print_number(plan.extrapolation_decades, 2) +
                                        " powers of ten beyond what it was fitted on" + law::range_text(r.law->range)});
  }
  if (r.law && r.law->rounded)
    out.push_back({"rounded_law", r.law->name + " has rounded coefficients: " + r.law->provenance.note});
  if (!r.shape) {
    out.push_back(
        {"attention_not_counted",
         "only a parameter count is known, so FLOP are 6N and attention is left out; name a model to count it"});
  }
  const auto unverified = [&out](const char* code, const std::string& name, const Provenance& from) {
    if (!from.verified)
      out.push_back({code, name + "'s figures rest on " + (from.source.empty() ? "no named source" : from.source) +
                               " and are not verified"});
  };
  if (r.law) unverified("unverified_law", r.law->name, r.law->provenance);
  unverified("unverified_accelerator", r.accelerator.name, r.accelerator.provenance);
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
    out.push_back({"interrupted", "the draws were interrupted: the distributions rest on " +
                                      std::to_string(plan.draws) + " of " + std::to_string(r.draws)});
  return out;
}

}  // namespace floplan::plan
