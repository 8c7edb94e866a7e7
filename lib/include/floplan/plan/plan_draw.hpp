// SPDX-License-Identifier: BSD-3-Clause
//
// One draw of a plan's inputs and of its failures, and the expected time at any value of the inputs.
//
//   const Draw d = detail::draw(plan, 17);                 d.days, d.hours, d.interruptions, d.dollars
//   expected_wall_clock(plan, {.restart = normal_p90})     with the restart at its 90th percentile, the rest at their medians
//
//   drawn: the failure rate (Gamma of its event count), each Uncertain input (log-normal), the rates that are given
//   (log-normal, one factor for all), the error of the step-time model (its band, one score for all stages that it predicts),
//   the tokens to a loss (a resampled law), the failures themselves, and what no failure rate explains (by team, or stops)
//
// Source: reliability/expected_run.hpp, completion.hpp and completion_draw.hpp; cluster/step_band.hpp.
// Cost: about 2 microseconds a draw and stage. Draw i is a pure function of the seed and i.
// Pitfall: checkpoint intervals are chosen at the median inputs and kept in every draw, as a real run would.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <boost/random/exponential_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <boost/random/normal_distribution.hpp>

#include "floplan/core/random.hpp"
#include "floplan/plan/plan.hpp"
#include "floplan/reliability/expected_run.hpp"

namespace floplan::plan::detail {

// One value of every uncertain input: standard normal scores for the log-normal ones, factors for the rest.
struct Scenario {
  double restart = 0, wait = 0, stall = 0, price = 0;  // scores; of the first three one for both checkpoint tiers
  double achieved = 1;                                 // factor on the achieved rates that are given
  double step = 0;                                     // score of the step-time model's error, positive: slower
  double failure_rate = 1;                             // factor on the failure rate
  double interval = 1;                                 // factor on the planned intervals
  double tokens = 1;                                   // factor on the tokens
  double team = 0;                                     // score of what the team loses beyond failures
  double stops = 1;                                    // unexplained stops over their mean
};

// What unexplained losses multiply the run time by.
[[nodiscard]] inline double unexplained_factor(const Reliability& r, const Scenario& s) {
  return r.team ? reliability::unexplained_loss(*r.team).at(s.team) : 1 + r.unexplained_stops * s.stops;
}

// Without intervals.
[[nodiscard]] inline reliability::Conditions conditions_of(const Request& r, Count accelerators, const Scenario& s) {
  const Reliability& from = r.reliability;
  reliability::Conditions c;
  c.mtbf = from.rate.mtbf(accelerators) / s.failure_rate;
  c.stall = r.checkpoint.stall.at(s.stall);
  c.restart = from.restart.at(s.restart);
  c.wait = from.wait.at(s.wait);
  // Manual stops come at a fixed rate a day, so their share of the failures falls as the cluster grows.
  c.manual_share = std::min(1.0, from.manual_per_day * in_days(c.mtbf));
  c.manual_wait = from.manual_wait;
  c.planned_per_day = from.planned_per_day;
  c.planned_duration = from.planned_duration;
  if (const auto& memory = r.checkpoint.memory) {
    c.memory = reliability::MemoryCheckpoints{
        {}, memory->stall.at(s.stall), memory->share.value, memory->restart.at(s.restart), memory->wait.at(s.wait)};
  }
  return c;
}

// Of a stage, with its planned intervals.
[[nodiscard]] inline reliability::Conditions conditions_of(const Request& r, const StagePlan& stage,
                                                           const Scenario& s) {
  reliability::Conditions c = conditions_of(r, stage.request.accelerators, s);
  c.interval = stage.conditions.interval * s.interval;
  if (c.memory) c.memory->interval = stage.conditions.memory->interval * s.interval;
  return c;
}

// What a stage's failure-free time is multiplied by. One error of the step-time model is common to all that it predicts.
[[nodiscard]] inline double stretch(const StagePlan& stage, const Scenario& s) {
  return stage.request.predicted() ? s.tokens * stage.model->band.factor(s.step) : s.tokens / s.achieved;
}

[[nodiscard]] inline bool predicts_steps(const Request& r) {
  return std::any_of(r.stages.begin(), r.stages.end(), [](const Stage& s) { return s.predicted(); });
}

[[nodiscard]] inline Seconds expected_wall_clock(const Plan& plan, const Scenario& s) {
  double total = 0;
  for (const StagePlan& stage : plan.stages) {
    const auto conditions = conditions_of(plan.request, stage, s);
    total += reliability::expected_run(stage.ideal * stretch(stage, s), conditions).wall_clock.value;
  }
  return Seconds(total * unexplained_factor(plan.request.reliability, s));
}

// Streams of their own, beyond any number of draws, so that the other draws are the same with and without them.
inline constexpr std::uint64_t law_streams = std::uint64_t{1} << 40;
inline constexpr std::uint64_t step_streams = std::uint64_t{1} << 41;
inline constexpr std::uint64_t team_streams = std::uint64_t{1} << 42;

struct Draw {
  double days = -1;  // not drawn
  double hours = 0;
  double interruptions = 0;
  double dollars = 0;
};

// One value of every input. `index` and the seed tell the streams of those inputs that have their own.
[[nodiscard]] inline Scenario draw_scenario(const Plan& plan, RandomStream& stream, std::uint64_t seed,
                                            std::size_t index) {
  const Request& r = plan.request;
  boost::random::normal_distribution<double> normal;
  Scenario s;
  // Every input draws its variate whether it spreads or not, so that narrowing one leaves the others' draws alone.
  s.restart = normal(stream);
  s.wait = normal(stream);
  s.stall = normal(stream);
  s.price = normal(stream);
  s.achieved = std::exp(normal(stream) * r.achieved_spread.value);
  if (r.reliability.rate.events) {
    s.failure_rate =
        boost::random::gamma_distribution<double>(*r.reliability.rate.events, 1 / *r.reliability.rate.events)(stream);
  }
  s.stops = boost::random::exponential_distribution<double>(1)(stream);
  if (!plan.tokens_factors.empty()) {
    RandomStream law(seed, law_streams + index);
    s.tokens = plan.tokens_factors[law.below(static_cast<std::uint32_t>(plan.tokens_factors.size()))];
  }
  if (predicts_steps(r)) {
    RandomStream model(seed, step_streams + index);
    s.step = boost::random::normal_distribution<double>()(model);
  }
  if (r.reliability.team) {
    RandomStream team(seed, team_streams + index);
    s.team = boost::random::normal_distribution<double>()(team);
  }
  return s;
}

[[nodiscard]] inline Draw draw(const Plan& plan, std::size_t index) {
  const Request& r = plan.request;
  RandomStream stream(r.seed, index);
  const Scenario s = draw_scenario(plan, stream, r.seed, index);
  const double longer = unexplained_factor(r.reliability, s);
  Draw out;
  double seconds = 0;
  for (const StagePlan& stage : plan.stages) {
    const Count accelerators = stage.request.accelerators;
    const auto run = reliability::draw_run(stream, stage.ideal * stretch(stage, s), conditions_of(r, stage, s));
    const Seconds wall = run.wall_clock * longer;
    seconds += wall.value;
    out.hours += accelerator_hours(accelerators, wall).value;
    out.interruptions += run.failures + run.planned_stops;
  }
  out.days = in_days(Seconds(seconds));
  if (r.price) out.dollars = cost(AcceleratorHours(out.hours), r.price->accelerator_hour.at(s.price)).value;
  return out;
}

}  // namespace floplan::plan::detail
