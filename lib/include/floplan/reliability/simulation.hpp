// SPDX-License-Identifier: BSD-3-Clause
//
// What many simulated runs say of a run: when it ends as a distribution, what interrupts it, and where the time goes.
//
//   SimulationReport r = simulate(useful, process, {.runs = 20000, .seed = 1});
//   r.wall_clock_days.quantile(0.9), r.mean_days(), r.ettr, r.waste, r.probability_by(days(90)), r.describe()
//
// Run i takes RandomStream(seed, i) and is worked out by run_simulator.hpp; results are added in the order of the runs, so
// that the bits are the same at any thread count. An InputSpread draws the inputs of each run as well: the failure rate from
// the Gamma posterior of its count (M = observed time / Gamma(events, 1)), the rest log-normal about their medians, from
// streams of their own. simulate_with() takes any other way to draw a run's inputs.
//
// `progress` is told (done, of) after each batch; a stop request ends the simulation there, and the report of the runs done
// says `complete = false`. Cost: 20 ns an interruption in the plain case, 30 to 60 ns with two tiers, 110 ns with drawn
// times; memory is flat in the number of runs (run_summary.hpp says how exact the quantiles are then).
// Source: process.hpp; checked against an independent simulator (tests/reference/simulation_goldens.csv).
// Pitfall: without an InputSpread the distribution is the scatter of failures alone: 0.7% for Llama 3.1 405B, where the
// inputs are uncertain by 3% and the unexplained losses of published runs are 0 to 43% (unexplained_loss.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/parallel_for.hpp"
#include "floplan/reliability/control_variates.hpp"
#include "floplan/reliability/run_simulator.hpp"
#include "floplan/reliability/run_summary.hpp"

namespace floplan::reliability {

struct SimulationOptions {
  std::size_t runs = 10000;
  std::uint64_t seed = 1;
  unsigned threads = 0;  // 0: all cores; results do not depend on it
  std::stop_token stop = {};
  std::function<void(std::size_t, std::size_t)> progress = {};
};

// Uncertainty of the inputs, one draw a run. Zeros leave an input as it is.
struct InputSpread {
  double failure_events = 0;  // the failures that the rate was counted from
  double work = 0;            // standard deviation of ln(useful time), the steady rate's
  double restart = 0;         // of ln(all restarts), one factor for the classes
  double wait = 0;            // of ln(automatic waits)
  double stall = 0;           // of ln(stalls)
};

struct SimulationReport {
  std::size_t asked = 0;
  std::size_t runs = 0;
  bool complete = true;
  RunSummary wall_clock_days;
  RunSummary interruptions;
  RunSummary failures, planned_stops, lost_hours, down_hours;
  std::array<double, 3> failures_by_class{};  // means, by FailureClass
  double restart_failures = 0;                // mean
  double ettr = 0;                            // useful time over time, of all runs together
  Waste waste;
  double unmended = 0;     // share of the time that waits for nodes in repair; within no other
  double stragglers = 0;   // share of the time that slow steps take
  double unexplained = 0;  // share of the time that no failure rate explains
  ControlVariates<5> days_controlled;

  // The best estimate of the mean, and its standard error.
  [[nodiscard]] double mean_days() const { return days_controlled.mean(); }
  [[nodiscard]] double mean_days_error() const { return days_controlled.standard_error(); }
  [[nodiscard]] double probability_by(Seconds deadline) const { return wall_clock_days.at_most(in_days(deadline)); }

  [[nodiscard]] std::string describe() const {
    return std::to_string(runs) + (complete ? " runs: " : " of " + std::to_string(asked) + " runs (stopped early): ") +
           print_number(mean_days(), 6) + " days on average (+-" + print_number(mean_days_error(), 2) + "), " +
           print_number(wall_clock_days.quantile(0.1), 5) + " to " + print_number(wall_clock_days.quantile(0.9), 5) +
           " in 80%, " + print_number(interruptions.mean(), 4) + " interruptions, ETTR " + print_number(ettr, 4);
  }
};

struct RunInputs {
  Seconds useful;
  RunProcess process;
};

namespace detail {

// Simulations and their inputs take different streams of one seed.
inline constexpr std::uint64_t input_streams = std::uint64_t{1} << 48;

template <class RunOf>
[[nodiscard]] SimulationReport simulate_runs(const SimulationOptions& options, double events_a_run,
                                             const RunOf& run_of) {
  if (options.runs < 1 || options.runs > 1000000000) {
    throw Error(Failure::usage, "out_of_range", "simulation",
                "runs must be from 1 to 1e9, got " + std::to_string(options.runs));
  }
  SimulationReport out;
  out.asked = options.runs;
  // Some tenths of a second a batch and thread, so that progress and stop requests are not kept waiting.
  const auto batch = static_cast<std::size_t>(std::clamp(1e7 / (events_a_run + 10), 16.0, 8192.0));
  std::vector<SimulatedRun> runs(std::min(batch, options.runs));
  SimulatedRun total;
  while (out.runs < options.runs) {
    const std::size_t count = std::min(runs.size(), options.runs - out.runs);
    const std::size_t first = out.runs;
    const bool done = parallel_for(
        count, options.threads, [&](std::size_t i) { runs[i] = run_of(first + i); }, options.stop);
    if (!done) {
      out.complete = false;
      break;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const SimulatedRun& r = runs[i];
      const double wall = r.wall_clock / seconds_per_day;
      out.wall_clock_days.add(wall);
      out.interruptions.add(r.interruptions());
      out.failures.add(r.failure_count());
      out.planned_stops.add(r.planned_stops);
      out.lost_hours.add(r.lost_work / 3600);
      out.down_hours.add(r.down() / 3600);
      out.days_controlled.add(wall, r.martingales);
      total += r;
    }
    out.runs += count;
    if (options.progress) options.progress(out.runs, options.runs);
  }
  if (out.runs == 0)
    throw Error(Failure::no_answer, "interrupted", "simulation", "was interrupted before the first batch of runs");
  const double n = static_cast<double>(out.runs);
  for (std::size_t k = 0; k < 3; ++k) out.failures_by_class[k] = total.failures[k] / n;
  out.restart_failures = total.restart_failures / n;
  const double wall = total.wall_clock;
  out.ettr = total.useful / wall;
  out.waste = {total.stalled / wall, total.lost_work / wall, (total.restarting + total.waiting) / wall,
               total.maintenance / wall};
  out.unmended = total.starved / wall;
  out.stragglers = total.slowed / wall;
  out.unexplained = total.unexplained / wall;
  return out;
}

[[nodiscard]] inline double events_of(Seconds useful, const RunProcess& p) {
  return useful / p.failures.mtbf + useful.value * p.planned.per_day / seconds_per_day;
}

}  // namespace detail

[[nodiscard]] inline SimulationReport simulate(Seconds useful, const RunProcess& process,
                                               const SimulationOptions& options = {}) {
  detail::require_positive(useful.value, "simulation", "useful time", print(useful));
  const RunSimulator simulator(process);
  return detail::simulate_runs(options, detail::events_of(useful, process), [&](std::size_t i) {
    RandomStream random(options.seed, i);
    return simulator(random, useful);
  });
}

// inputs_of(RandomStream&) -> RunInputs, a pure function of the stream.
template <class InputsOf>
[[nodiscard]] SimulationReport simulate_with(const InputsOf& inputs_of, const SimulationOptions& options = {}) {
  RandomStream first(options.seed, detail::input_streams);
  const RunInputs typical = inputs_of(first);
  return detail::simulate_runs(options, detail::events_of(typical.useful, typical.process), [&](std::size_t i) {
    RandomStream drawn(options.seed, detail::input_streams + i);
    const RunInputs inputs = inputs_of(drawn);
    detail::require_positive(inputs.useful.value, "simulation", "useful time", print(inputs.useful));
    RandomStream random(options.seed, i);
    return RunSimulator(inputs.process)(random, inputs.useful);
  });
}

// One run's inputs. Every input draws its variate whether it spreads or not, so that narrowing one leaves the others alone.
[[nodiscard]] inline RunInputs draw_inputs(RandomStream& random, Seconds useful, const RunProcess& process,
                                           const InputSpread& spread) {
  boost::random::normal_distribution<double> normal;
  const double work = std::exp(spread.work * normal(random));
  const double restart = std::exp(spread.restart * normal(random));
  const double wait = std::exp(spread.wait * normal(random));
  const double stall = std::exp(spread.stall * normal(random));
  RunInputs out{useful * work, process};
  RunProcess& p = out.process;
  if (spread.failure_events > 0)
    p.failures.mtbf = p.failures.mtbf * (spread.failure_events /
                                         boost::random::gamma_distribution<double>(spread.failure_events, 1)(random));
  if (spread.restart > 0) {
    p.memory.restart = p.memory.restart.times(restart);
    p.storage.restart = p.storage.restart.times(restart);
  }
  if (spread.wait > 0) {
    p.memory.wait = p.memory.wait.times(wait);
    p.storage.wait = p.storage.wait.times(wait);
  }
  p.checkpoints.memory_stall = p.checkpoints.memory_stall * stall;
  p.checkpoints.storage_stall = p.checkpoints.storage_stall * stall;
  return out;
}

[[nodiscard]] inline SimulationReport simulate(Seconds useful, const RunProcess& process, const InputSpread& spread,
                                               const SimulationOptions& options = {}) {
  for (const double s : {spread.work, spread.restart, spread.wait, spread.stall, spread.failure_events}) {
    detail::require_not_negative(s, "simulation", "spread of an input", print_number(s, 6));
  }
  check(process);
  return simulate_with([&](RandomStream& random) { return draw_inputs(random, useful, process, spread); }, options);
}

}  // namespace floplan::reliability
