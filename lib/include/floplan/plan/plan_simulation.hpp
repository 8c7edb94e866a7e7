// SPDX-License-Identifier: BSD-3-Clause
//
// A plan's runs event by event, where planner.hpp draws them from the closed form.
//
//   SimulationReport r = simulate_plan(plan, options);     wall-clock days, interruptions, ETTR, waste of the whole plan
//
// A run draws the plan's uncertain inputs as the planner does (failure rate from the Gamma of its count, restart, wait,
// stall and rate log-normal, tokens to the loss, unexplained stops exponential), keeps the planned checkpoint intervals,
// and goes through the stages one after the other; each is simulated by reliability/run_simulator.hpp.
// `inputs` false: the medians, so that the scatter is that of the failures alone.
//
// Source: plan/planner.hpp, reliability/process.hpp. Cost: 20 to 40 ns an interruption.
// Pitfall: the closed form lets no planned stop save work in the middle
// of a segment; the simulation does, and is 0.01% shorter at one stop a day.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "floplan/plan/planner.hpp"
#include "floplan/reliability/simulation.hpp"

namespace floplan::plan {

namespace detail {

struct DrawnScenario {
  Scenario inputs;
  double unexplained = 0;
};

[[nodiscard]] inline DrawnScenario draw_scenario(const Plan& plan, RandomStream& stream) {
  const Request& r = plan.request;
  boost::random::normal_distribution<double> normal;
  DrawnScenario out;
  out.inputs.restart = normal(stream);
  out.inputs.wait = normal(stream);
  out.inputs.stall = normal(stream);
  out.inputs.achieved = std::exp(normal(stream) * r.achieved_spread.value);
  if (const auto events = r.reliability.rate.events)
    out.inputs.failure_rate = boost::random::gamma_distribution<double>(*events, 1 / *events)(stream);
  out.unexplained = r.reliability.unexplained_stops * boost::random::exponential_distribution<double>(1)(stream);
  if (!plan.tokens_factors.empty())
    out.inputs.tokens = plan.tokens_factors[stream.below(static_cast<std::uint32_t>(plan.tokens_factors.size()))];
  return out;
}

}  // namespace detail

[[nodiscard]] inline reliability::SimulationReport simulate_plan(const Plan& plan,
                                                                 const reliability::SimulationOptions& options,
                                                                 bool inputs = true) {
  double events = 0;
  for (const StagePlan& stage : plan.stages) {
    events += reliability::detail::events_of(stage.ideal, reliability::process_of(stage.conditions));
  }
  return reliability::detail::simulate_runs(options, events, [&](std::size_t i) {
    RandomStream drawn(options.seed, reliability::detail::input_streams + i);
    detail::DrawnScenario scenario;
    if (inputs) {
      scenario = detail::draw_scenario(plan, drawn);
    } else {
      scenario.unexplained = plan.request.reliability.unexplained_stops;
    }
    RandomStream random(options.seed, i);
    reliability::SimulatedRun run;
    for (const StagePlan& stage : plan.stages) {
      const auto conditions = detail::conditions_of(plan.request, stage, scenario.inputs);
      const Seconds useful = stage.ideal * (scenario.inputs.tokens / scenario.inputs.achieved);
      run += reliability::RunSimulator(reliability::process_of(conditions))(random, useful);
    }
    run.add_unexplained(run.wall_clock * scenario.unexplained);
    return run;
  });
}

}  // namespace floplan::plan
