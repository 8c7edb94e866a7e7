// SPDX-License-Identifier: BSD-3-Clause
//
// What a request must satisfy before it is planned.
//
// Refused as a wrong value (usage, exit 2; from a file data, exit 4): one that is missing, not finite, or out of range. The
// ranges are wide, and narrow enough that nothing computed from them overflows. Refused as infeasible (exit 3), with the
// limit and by how much it is missed: weights that all accelerators together cannot hold, a layout whose TP x CP x PP x DP
// is not the accelerator count, whose TP does not divide the heads or whose PP exceeds the layers, that does not fit in memory
// or cannot be run where its step is predicted (layout_model.hpp), a batch that the data ranks do not divide, an achieved rate
// above the dense peak, a deadline that no draw and no failure-free run meets.
//
// An error's place is the field's path, "plan: stage[2].count"; who read the request from elsewhere passes a PlaceOf that
// knows the option or the file's line instead (request_file.hpp does).
//
// Pitfall: without a layout only the weights' room is checked; optimizer state and activations take many times that.
#pragma once

#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>

#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/layout_model.hpp"
#include "floplan/plan/model_size.hpp"
#include "floplan/plan/nearest_counts.hpp"
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
    const bool ordered = u.low && u.high && u.low->value > 0 && *u.low <= u.central && u.central <= *u.high;
    require(ordered && u.high->value <= high, {path},
            what + ": a range needs 0 < low <= median <= high <= " + print(Q(high), 6) + ", got " +
                (u.low ? print(*u.low) : "none") + ", " + print(u.central) + " and " +
                (u.high ? print(*u.high) : "none"));
    require(
        u.high->value <= 1e6 * u.low->value, {path},
        what + ": the ends of a range must be within a factor of 1e6, got " + print(*u.low) + " and " + print(*u.high));
  }

  // What a stage's models refuse, whose errors name its fields, at the place of the field or of the layout around it.
  template <class Model>
  void of_stage(const std::string& path, const std::string& of, Model model) const {
    try {
      model();
    } catch (const Error& error) {
      const bool of_plan = error.where() == "precision" || error.where() == "accelerator";
      const Place place = blamed({(of_plan ? "" : path) + error.where(), path + "layout", path + "count",
                                  path + "sequence_length", path + "global_batch", "accelerator", "model"});
      const Failure failure = error.failure() == Failure::usage ? place.failure : error.failure();
      throw Error(failure, error.code(), place.where, (of.empty() ? "" : of.substr(4) + ": ") + rule_of(error));
    }
  }

  // The option that set one of these fields, or else where the first stands.
  [[nodiscard]] Place blamed(std::initializer_list<std::string> paths) const {
    for (const std::string& path : paths) {
      if (Place place = place_of_(path); place.failure == Failure::usage) return place;
    }
    return place_of_(*paths.begin());
  }

 private:
  const PlaceOf& place_of_;
};

}  // namespace detail

inline void check_rate(const Request& r, const Stage& stage, const std::string& path, const std::string& of,
                       FlopPerSecond peak, const detail::Rules& rules) {
  const std::string rate = path + (stage.mfu ? "mfu" : "achieved");
  if (stage.achieved) rules.between(*stage.achieved, 1, 1e21, rate, "the achieved rate" + of);
  if (stage.mfu)
    rules.require(stage.mfu->value >= 1e-9 && std::isfinite(stage.mfu->value), {rate},
                  "the MFU" + of + " must be from 1e-9 to 1, got " + print(*stage.mfu));
  const double mfu = stage.mfu ? stage.mfu->value : *stage.achieved / peak;
  rules.require_feasible(
      mfu <= 1, "above_peak", {rate, "peak", "precision", "accelerator"},
      "the achieved rate" + of + " must not exceed the dense " + to_text(r.precision) + " peak of " + print(peak, 4) +
          ", got " + print(stage.achieved ? *stage.achieved : peak * mfu, 4) + ", " + print_number(mfu, 3) +
          " times it" +
          (stage.mfu && mfu >= 2 && mfu <= 100 ? ": a share of the peak is written " + print_number(mfu, 4) + "%"
                                               : ""));
}

inline void check_layout(const Request& r, const Stage& stage, const std::string& path, const std::string& of,
                         const detail::Rules& rules) {
  const StageLayout& cut = *stage.layout;
  const Layout& l = cut.degrees;
  rules.require(l.tensor >= 1 && l.context >= 1 && l.pipeline >= 1 && l.data >= 1 && l.expert >= 1, {path + "layout"},
                "TP, CP, PP, DP and EP" + of + " must be at least 1");
  rules.require(cut.interleave.value_or(1) >= 1 && cut.microbatch.value_or(1) >= 1, {path + "layout"},
                "VP and the microbatch" + of + " must be at least 1");
  const std::int64_t each = cut.microbatch.value_or(1);
  const auto whole_batch = stage.global_batch ? std::optional(stage.global_batch->value) : std::nullopt;
  const double ranks = l.accelerators().value / static_cast<double>(l.data);
  const std::int64_t group = ranks < 1e15 ? static_cast<std::int64_t>(ranks) : 1;
  rules.require_feasible(
      l.accelerators() == stage.accelerators, "layout_does_not_divide", {path + "layout", path + "count"},
      "TP x CP x PP x DP" + of + " must be the accelerator count, got " + std::to_string(l.tensor) + " x " +
          std::to_string(l.context) + " x " + std::to_string(l.pipeline) + " x " + std::to_string(l.data) + " = " +
          print(l.accelerators()) + " for " + print(stage.accelerators) +
          nearest_counts(stage.accelerators.value, group, whole_batch, each).describe());
  if (r.shape) {
    rules.require_feasible(r.shape->heads % l.tensor == 0, "layout_does_not_divide", {path + "layout.tp", "model"},
                           "TP" + of + " must divide the attention heads, got " + std::to_string(l.tensor) + " for " +
                               std::to_string(r.shape->heads) + " heads");
    rules.require_feasible(l.pipeline <= r.shape->layers, "layout_does_not_divide", {path + "layout.pp", "model"},
                           "PP" + of + " must not exceed the layers, got " + std::to_string(l.pipeline) + " for " +
                               std::to_string(r.shape->layers) + " layers, " +
                               std::to_string(l.pipeline - r.shape->layers) + " too many");
  }
  if (stage.global_batch) {
    rules.require_feasible(std::fmod(stage.global_batch->value, static_cast<double>(l.data)) == 0,
                           "batch_does_not_divide", {path + "global_batch", path + "layout", path + "count"},
                           "DP" + of + " must divide the global batch, got " + std::to_string(l.data) + " and " +
                               print(*stage.global_batch) +
                               nearest_counts(stage.accelerators.value, group, whole_batch, each).describe());
  }
  if (r.shape || stage.predicted()) rules.of_stage(path, of, [&] { (void)layout_model(r, stage); });
}

inline void check_stage(const Request& r, std::size_t index, FlopPerSecond peak, Parameters parameters,
                        const detail::Rules& rules) {
  const Stage& stage = r.stages[index];
  const std::string path = "stage[" + std::to_string(index + 1) + "].";
  const std::string of = r.stages.size() > 1 && !stage.name.empty() ? " of stage \"" + stage.name + "\"" : "";
  rules.between(stage.tokens, 1, 1e24, path + "tokens", "tokens" + of);
  rules.whole(stage.accelerators, path + "count", "the accelerators" + of);
  rules.between(stage.sequence_length, 1, 1e9, path + "sequence_length", "the sequence length" + of);
  rules.require(!stage.achieved || !stage.mfu, {path + "achieved"},
                "needs either an achieved rate or an MFU, and not both");
  rules.require(!stage.predicted() || stage.layout || stage.search, {path + "achieved"},
                "needs an achieved rate or an MFU, or a layout whose step time is predicted");
  rules.require(stage.predicted() || !stage.search, {path + "layout"},
                "a layout that is searched predicts the rate, which is not given beside it");
  if (stage.global_batch) rules.whole(*stage.global_batch, path + "global_batch", "the global batch" + of);
  rules.require(stage.tokens >= stage.sequence_length, {path + "tokens", path + "sequence_length"},
                "the tokens" + of + " must be at least one sequence, " + print(stage.sequence_length) +
                    " tokens, got " + print_short(stage.tokens));
  if (!stage.predicted()) check_rate(r, stage, path, of, peak, rules);
  if (r.accelerator.memory) {
    const Bytes held = *r.accelerator.memory * stage.accelerators.value;
    const Bytes weights(parameters.value * catalog::bytes_per_value(r.precision));
    rules.require_feasible(
        weights <= held, "weights_do_not_fit", {path + "count", "parameters", "model", "accelerator", "precision"},
        "the weights alone must fit in the memory of all accelerators" + of + ", " + print(held, 3) + " on " +
            print(stage.accelerators) + " of " + r.accelerator.name + ", got " + print(weights, 3) + " of " +
            to_text(r.precision) + " weights, " + print_number(weights / held, 3) + " times it");
  }
  if (stage.predicted()) rules.of_stage(path, of, [&] { detail::require_predictable(r, stage); });
  if (stage.layout) check_layout(r, stage, path, of, rules);
}

inline void check_memory_tier(const Checkpoint& checkpoint, const detail::Rules& rules) {
  constexpr double century = 36500 * seconds_per_day;
  const MemoryCheckpoint& memory = *checkpoint.memory;
  rules.range(memory.stall, century, "checkpoint.memory.stall", "the memory checkpoint's stall");
  rules.require(memory.stall.central.value > 0 || memory.interval,
                {"checkpoint.memory.stall", "checkpoint.memory.interval"},
                "a memory checkpoint that stalls nothing has no best interval: give both intervals");
  rules.range(memory.restart, century, "checkpoint.memory.restart", "the restart from memory");
  rules.range(memory.wait, century, "checkpoint.memory.wait", "the wait before it");
  rules.require(memory.share.value > 0 && memory.share.value <= 1, {"checkpoint.memory.share"},
                "the share of failures that memory mends must be above 0 and at most 1, got " + print(memory.share));
  rules.require(checkpoint.interval.has_value() == memory.interval.has_value(),
                {"checkpoint.memory.interval", "checkpoint.interval"},
                "with two tiers both intervals are given, checkpoint.interval and checkpoint.memory.interval, or "
                "neither: their optima depend on each other");
  if (!memory.interval) return;
  rules.between(*memory.interval, 1e-3, century, "checkpoint.memory.interval", "the memory checkpoints' interval");
  const double every = *checkpoint.interval / *memory.interval;
  rules.require(
      every >= 1 - 1e-9 && every <= 1e6 && std::abs(every - std::round(every)) <= 1e-9 * every,
      {"checkpoint.memory.interval", "checkpoint.interval"},
      "the interval of checkpoints to the store must be a whole number of the memory tier's, up to a million, "
      "got " +
          print(*checkpoint.interval) + " and " + print(*memory.interval) + ", " + print_number(every, 6) + " of them");
}

inline void check(const Request& r, const PlaceOf& place_of = detail::place_in_request) {
  const detail::Rules rules(place_of);
  constexpr double century = 36500 * seconds_per_day;
  rules.require(r.shape || r.parameters, {""}, "needs a model or a number of parameters");
  if (!r.shape) rules.between(*r.parameters, 1, 1e24, "parameters", "the number of parameters");
  if (r.active_parameters) {
    rules.require(!r.shape, {"active_parameters"},
                  "the active parameters follow from the model, and are not given beside it");
    rules.require(r.active_parameters->value >= 1 && *r.active_parameters <= *r.parameters,
                  {"active_parameters", "parameters"},
                  "the active parameters must be from 1 to all of the " + print_short(*r.parameters) +
                      " parameters, got " + print_short(*r.active_parameters));
  }
  const Parameters parameters = model_size(r).total;
  rules.require(r.peak || r.accelerator.dense_peak(r.precision), {"precision", "accelerator"},
                "the catalog has no dense " + to_text(r.precision) + " peak for " + r.accelerator.name +
                    ": needs another precision, or a peak");
  const FlopPerSecond peak = r.peak ? *r.peak : *r.accelerator.dense_peak(r.precision);
  rules.between(peak, 1, 1e21, "peak", "the peak");
  rules.require(!r.stages.empty(), {""}, "needs at least one stage");
  for (std::size_t i = 0; i < r.stages.size(); ++i) check_stage(r, i, peak, parameters, rules);
  rules.require(!r.law || r.shape || !law::leaves_out_embeddings(r.law->parameter_convention), {"law", "parameters"},
                "the law counts " + (r.law ? law::to_text(r.law->parameter_convention) : "") +
                    " parameters: needs a model, not a bare number of parameters",
                "parameter_convention");
  const double spread = r.achieved_spread.value;
  rules.require(spread >= 0 && spread <= 2, {"achieved_spread"},
                "the spread of the achieved rate must be from 0 to 2, got " + print(r.achieved_spread) +
                    (spread > 2 && spread <= 100
                         ? ": " + print_number(spread, 4) + " in a hundred is written " + print_number(spread, 4) + "%"
                         : ""));
  const reliability::InterruptionRate& rate = r.reliability.rate;
  const double hourly = rate.per_accelerator_hour + rate.per_job_hour;
  rules.require(rate.per_accelerator_hour >= 0 && rate.per_job_hour >= 0 && hourly > 0 && hourly <= 1e6,
                {"reliability"},
                "the rate of interruptions must be positive and at most 1e6 an accelerator-hour, got " +
                    print_number(rate.per_job_hour == 0 ? rate.per_accelerator_hour : hourly, 6));
  rules.range(r.reliability.restart, century, "reliability.restart", "the restart");
  rules.range(r.reliability.wait, century, "reliability.wait", "the wait");
  rules.range(r.checkpoint.stall, century, "checkpoint.stall", "the checkpoint stall");
  rules.require(r.checkpoint.stall.central.value > 0 || r.checkpoint.interval,
                {"checkpoint.stall", "checkpoint.interval"},
                "a checkpoint that stalls nothing has no best interval: give an interval");
  if (r.checkpoint.interval)
    rules.between(*r.checkpoint.interval, 1e-3, century, "checkpoint.interval", "the checkpoint interval");
  if (r.checkpoint.memory) check_memory_tier(r.checkpoint, rules);
  rules.between(r.reliability.manual_per_day, 0, 1e6, "reliability.manual_per_day", "manual_per_day");
  rules.between(r.reliability.manual_wait, 0, century, "reliability.manual_wait", "manual_wait");
  rules.between(r.reliability.planned_per_day, 0, 1e6, "reliability.planned_per_day", "planned_per_day");
  rules.between(r.reliability.planned_duration, 0, century, "reliability.planned_duration", "planned_duration");
  rules.between(r.reliability.unexplained_stops, 0, 100, "reliability.unexplained_stops", "unexplained_stops");
  rules.require(!r.reliability.team || r.reliability.unexplained_stops == 0,
                {"reliability.team", "reliability.unexplained_stops"},
                "what no failure rate explains is given by the kind of team or by unexplained_stops, and not by both");
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

// To be called when none of the draws meets the deadline: some may where the achieved rate spreads.
inline void require_deadline_possible(const Plan& plan) {
  const Seconds limit = *plan.request.deadline;
  if (plan.ideal <= limit) return;
  throw Error(Failure::infeasible, "deadline_impossible", "plan: deadline",
              "the deadline must leave time for the work: " + print_number(in_days(plan.ideal), 4) +
                  " days without a single stop at the rate that is given, got " + print_number(in_days(limit), 4) +
                  " days, " + print_number(in_days(plan.ideal - limit), 3) + " too few, and none of " +
                  std::to_string(plan.draws) + " draws is that fast");
}

}  // namespace floplan::plan
