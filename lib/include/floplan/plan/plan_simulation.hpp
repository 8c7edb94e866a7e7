// SPDX-License-Identifier: BSD-3-Clause
//
// A plan's runs event by event, where planner.hpp draws them from the closed form.
//
//   SimulationReport r = simulate_plan(plan, options);     wall-clock days, interruptions, ETTR, waste of the whole plan
//
// A run draws the plan's uncertain inputs as the planner does (plan_draw.hpp), keeps the planned checkpoint intervals, and goes
// through the stages one after the other; each is simulated by reliability/run_simulator.hpp.
// `inputs` false: the medians, so that the scatter is that of the failures alone.
//
// Source: plan/planner.hpp, reliability/process.hpp. Cost: 20 to 40 ns an interruption.
// Pitfall: the closed form lets no planned stop save work in the middle of a segment; the simulation does, and is 0.01%
// shorter at one stop a day.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "floplan/plan/planner.hpp"
#include "floplan/reliability/simulation.hpp"

namespace floplan::plan {

[[nodiscard]] inline reliability::SimulationReport simulate_plan(const Plan& plan,
                                                                 const reliability::SimulationOptions& options,
                                                                 bool inputs = true) {
  double events = 0;
  for (const StagePlan& stage : plan.stages) {
    events += reliability::detail::events_of(stage.ideal, reliability::process_of(stage.conditions));
  }
  return reliability::detail::simulate_runs(options, events, [&](std::size_t i) {
    RandomStream drawn(options.seed, reliability::detail::input_streams + i);
    const detail::Scenario scenario = inputs ? detail::draw_scenario(plan, drawn, options.seed, i) : detail::Scenario();
    RandomStream random(options.seed, i);
    reliability::SimulatedRun run;
    for (const StagePlan& stage : plan.stages) {
      const auto conditions = detail::conditions_of(plan.request, stage, scenario);
      const Seconds useful = stage.ideal * detail::stretch(stage, scenario);
      run += reliability::RunSimulator(reliability::process_of(conditions))(random, useful);
    }
    run.add_unexplained(run.wall_clock * (detail::unexplained_factor(plan.request.reliability, scenario) - 1));
    return run;
  });
}

}  // namespace floplan::plan
