// SPDX-License-Identifier: BSD-3-Clause
//
// One run, event by event: the process that completion.hpp has in closed form, with none of its formulas.
//
// Every tau useful seconds a write of w seconds; exponential failures while working, writing or restarting; after each a
// wait in which nothing can fail, then a restart from the beginning. No planned stops.
#pragma once

#include <cmath>

#include "floplan/core/random.hpp"
#include "floplan/reliability/completion.hpp"

struct EventRun {
  double seconds = 0;
  double failures = 0;
  double lost = 0;  // work and writes begun and not finished
  double down = 0;  // waits and restarts
};

[[nodiscard]] inline EventRun simulate_events(floplan::RandomStream& random, int segments,
                                              const floplan::reliability::Conditions& c) {
  const auto next_failure = [&] { return -c.mtbf.value * std::log(random.uniform()); };
  const double segment = c.interval.value + c.stall.value;
  EventRun run;
  double useful = 0;
  for (int done = 0; done < segments;) {
    const double failure = next_failure();
    if (failure >= segment) {
      useful += segment;
      ++done;
      continue;
    }
    run.lost += failure;
    for (bool running = false; !running;) {
      ++run.failures;
      run.down += random.uniform() < c.manual_share ? c.manual_wait.value : c.wait.value;
      const double again = next_failure();
      running = again >= c.restart.value;
      run.down += running ? c.restart.value : again;
    }
  }
  run.seconds = useful + run.lost + run.down;
  return run;
}
