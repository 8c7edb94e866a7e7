// SPDX-License-Identifier: BSD-3-Clause
//
// What each uncertain input is worth in days: the expected wall clock with one of them low or high, the others at their median.
//
//   for (const Sensitivity& s : detail::sensitivities(plan)) ...     s.input, s.low, s.high
//
//   low and high are the 10th and 90th percentiles of the input; the checkpoint interval is halved and doubled. Where rates
//   are given the row is "achieved rate", where steps are predicted "predicted step", by the band of the step-time model.
//
// Source: reliability/completion.hpp, exact at each value. Cost: two expected plans a row.
// Pitfall: inputs that act together (a long restart on a bad failure rate) cost more than the sum of their rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/plan.hpp"
#include "floplan/plan/plan_draw.hpp"

namespace floplan::plan::detail {

[[nodiscard]] inline std::vector<Sensitivity> sensitivities(const Plan& plan) {
  const Request& r = plan.request;
  std::vector<Sensitivity> out;
  const auto days_at = [&plan](const Scenario& s) -> std::optional<double> {
    try {
      return in_days(expected_wall_clock(plan, s));
    } catch (const Error& error) {
      if (error.failure() == Failure::infeasible) return std::nullopt;
      throw;
    }
  };
  const auto add = [&](std::string input, std::string low, std::string high, const Scenario& at_low,
                       const Scenario& at_high) {
    out.push_back({std::move(input), std::move(low), std::move(high), days_at(at_low), days_at(at_high)});
  };
  const auto add_uncertain = [&](const char* input, const Uncertain<Seconds>& u, double Scenario::*score) {
    if (!u.spreads()) return;
    Scenario low, high;
    low.*score = -normal_p90;
    high.*score = normal_p90;
    add(input, print(*u.low, 3), print(*u.high, 3), low, high);
  };
  const auto given =
      std::find_if(plan.stages.begin(), plan.stages.end(), [](const StagePlan& s) { return !s.request.predicted(); });
  if (r.achieved_spread.value > 0 && given != plan.stages.end()) {
    Scenario low, high;
    low.achieved = std::exp(-normal_p90 * r.achieved_spread.value);
    high.achieved = 1 / low.achieved;
    const FlopPerSecond rate = (plan.main().request.predicted() ? *given : plan.main()).achieved;
    add("achieved rate", print(rate * low.achieved, 3), print(rate * high.achieved, 3), low, high);
  }
  if (predicts_steps(r)) {
    const auto predicted =
        std::find_if(plan.stages.begin(), plan.stages.end(), [](const StagePlan& s) { return s.request.predicted(); });
    const StagePlan& stage = plan.main().request.predicted() ? plan.main() : *predicted;
    Scenario low, high;
    low.step = -normal_p90;
    high.step = normal_p90;
    add("predicted step", print(*stage.step_time * stage.model->band.factor(low.step), 3),
        print(*stage.step_time * stage.model->band.factor(high.step), 3), low, high);
  }
  if (const auto events = r.reliability.rate.events) {
    Scenario low, high;
    low.failure_rate = std::max(0.01, 1 - normal_p90 / std::sqrt(*events));
    high.failure_rate = 1 + normal_p90 / std::sqrt(*events);
    const double rate = r.reliability.rate.per_node_day(plan.main().request.accelerators);
    add("failure rate, per node-day", print_number(rate * low.failure_rate, 3),
        print_number(rate * high.failure_rate, 3), low, high);
  }
  if (plan.tokens_to_loss) {
    Scenario low, high;
    low.tokens = plan.tokens_to_loss->p10 / plan.tokens.value;
    high.tokens = plan.tokens_to_loss->p90 / plan.tokens.value;
    add("tokens to the loss", print(Tokens(plan.tokens_to_loss->p10), 3), print(Tokens(plan.tokens_to_loss->p90), 3),
        low, high);
  }
  // One score for both tiers; the printed ends are the store's, or memory's where only that spreads.
  const auto add_both = [&](const char* one, const char* both, const Uncertain<Seconds>& store,
                            Uncertain<Seconds> MemoryCheckpoint::*memory, double Scenario::*score) {
    const auto& tier = r.checkpoint.memory;
    add_uncertain(tier ? both : one, store.spreads() || !tier ? store : (*tier).*memory, score);
  };
  add_both("restart", "restart, both tiers", r.reliability.restart, &MemoryCheckpoint::restart, &Scenario::restart);
  add_both("wait before restart", "wait before restart, both tiers", r.reliability.wait, &MemoryCheckpoint::wait,
           &Scenario::wait);
  add_both("checkpoint stall", "checkpoint stall, both tiers", r.checkpoint.stall, &MemoryCheckpoint::stall,
           &Scenario::stall);
  if (r.reliability.team) {
    const reliability::UnexplainedLoss loss = reliability::unexplained_loss(*r.reliability.team);
    Scenario low, high;
    low.team = -normal_p90;
    high.team = normal_p90;
    add("unexplained, team " + std::string(reliability::to_text(*r.reliability.team)),
        print_number(loss.at(low.team), 3) + " times", print_number(loss.at(high.team), 3) + " times", low, high);
  }
  Scenario half, twice;
  half.interval = 0.5;
  twice.interval = 2;
  const reliability::Conditions& main = plan.main().conditions;
  const Seconds interval = main.memory ? main.memory->interval : main.interval;
  add(main.memory ? "checkpoint intervals, memory's shown" : "checkpoint interval", print(interval * 0.5, 3),
      print(interval * 2, 3), half, twice);
  return out;
}

}  // namespace floplan::plan::detail
