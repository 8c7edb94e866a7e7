// SPDX-License-Identifier: BSD-3-Clause
//
// What one simulated run was: when it ended, what interrupted it, and where the time went.
//
//   wall_clock = useful + stalled + lost_work + slowed + restarting + waiting + starved + maintenance + unexplained
//
// Times are in seconds. Runs add up, as the stages of a plan or the runs of a simulation.
// `martingales` are sums whose expectation is zero (run_simulator.hpp), the control variates of simulation.hpp.
// Pitfall: lost work is useful work thrown away; the stalls that it held are under `stalled`, kept or not.
#pragma once

#include <array>
#include <cstddef>

namespace floplan::reliability {

enum class FailureClass { memory, storage, manual };

struct SimulatedRun {
  double useful = 0;      // seconds, as all times
  double wall_clock = 0;  // = useful and all the times below
  double stalled = 0;     // checkpoints, cut short or redone ones too
  double lost_work = 0;   // useful work thrown away
  double slowed = 0;      // stragglers, and steps of a job that shrank
  double restarting = 0;
  double waiting = 0;
  double starved = 0;  // waits for a node to be mended
  double maintenance = 0;
  double unexplained = 0;            // what no failure rate explains: the caller's to add, with add_unexplained()
  std::array<double, 3> failures{};  // by FailureClass
  double restart_failures = 0;       // those of them that came in a restart
  double planned_stops = 0;
  std::array<double, 5> martingales{};

  [[nodiscard]] double failure_count() const { return failures[0] + failures[1] + failures[2]; }
  [[nodiscard]] double interruptions() const { return failure_count() + planned_stops; }
  void add_unexplained(double seconds) {
    unexplained += seconds;
    wall_clock += seconds;
  }
  // One run after the other, as the stages of a plan.
  SimulatedRun& operator+=(const SimulatedRun& next);

  [[nodiscard]] double down() const { return restarting + waiting + starved + maintenance; }
};

inline SimulatedRun& SimulatedRun::operator+=(const SimulatedRun& next) {
  for (double SimulatedRun::*part :
       {&SimulatedRun::useful, &SimulatedRun::wall_clock, &SimulatedRun::stalled, &SimulatedRun::lost_work,
        &SimulatedRun::slowed, &SimulatedRun::restarting, &SimulatedRun::waiting, &SimulatedRun::starved,
        &SimulatedRun::maintenance, &SimulatedRun::unexplained, &SimulatedRun::restart_failures,
        &SimulatedRun::planned_stops}) {
    this->*part += next.*part;
  }
  for (std::size_t i = 0; i < failures.size(); ++i) failures[i] += next.failures[i];
  for (std::size_t i = 0; i < martingales.size(); ++i) martingales[i] += next.martingales[i];
  return *this;
}

}  // namespace floplan::reliability
