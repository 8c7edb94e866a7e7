// SPDX-License-Identifier: BSD-3-Clause
//
// What a bigger cluster makes of its failures: goodput by size, the size beyond which more accelerators do not help, and
// the restart that an effective training time ratio (ETTR) allows.
//
//   process_at(process, from, to)      M falls as 1/n; manual and planned stops stay as many a day; times stay
//   goodput_by_size(...)               ETTR and waste at the best checkpoints of each size
//   most_useful_size(...)              the n at which n ETTR(n) peaks
//   longest_restart(process, 0.90)     the restart (of every class) at which ETTR is the target, or none
//
// Source: Daly 2006 and two_tiers.hpp at M = M_0 n_0/n, as Kokolis et al. 2025 scale it.
// Cost: 20 microseconds a size with one tier, 5 ms with two.
// Holds: failures in proportion to accelerators; stalls and restarts that do not grow with the job (give a process of the
// size in question where they do). Pitfall: steps slow down with size as well (cluster/step_time.hpp), which is not in here:
// the size that this finds is a bound.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include <boost/math/tools/minima.hpp>

#include "floplan/reliability/best_checkpoints.hpp"

namespace floplan::reliability {

[[nodiscard]] inline RunProcess process_at(RunProcess p, Count from, Count to) {
  detail::require_positive(from.value, "process_at", "accelerators", print(from));
  detail::require_positive(to.value, "process_at", "accelerators", print(to));
  const double ratio = from / to;
  p.failures.mtbf = p.failures.mtbf * ratio;
  p.manual_share = std::min(1.0, p.manual_share * ratio);
  return p;
}

struct SizePoint {
  Count accelerators;
  Seconds mtbf;
  bool ends = true;  // false: no interval lets the run end, and the rest is zero
  CheckpointTiers tiers;
  double ettr = 0;
  double ettr_first_order = 0;
  Waste waste;
  [[nodiscard]] double effective_accelerators() const { return accelerators.value * ettr; }
};

[[nodiscard]] inline SizePoint goodput_at(const RunProcess& process, Count from, Count size) {
  const RunProcess p = process_at(process, from, size);
  SizePoint out;
  out.accelerators = size;
  out.mtbf = p.failures.mtbf;
  try {
    const BestCheckpoints best = best_checkpoints(p);
    out.tiers = best.tiers;
    out.ettr = best.ettr;
    out.ettr_first_order = best.completion.ettr_first_order;
    out.waste = best.completion.waste;
  } catch (const Error& e) {
    if (e.failure() != Failure::infeasible) throw;
    out.ends = false;
  }
  return out;
}

[[nodiscard]] inline std::vector<SizePoint> goodput_by_size(const RunProcess& process, Count from,
                                                            const std::vector<Count>& sizes) {
  std::vector<SizePoint> out;
  for (const Count size : sizes) out.push_back(goodput_at(process, from, size));
  return out;
}

// From a tenth of `from` to 1e9 accelerators.
[[nodiscard]] inline SizePoint most_useful_size(const RunProcess& process, Count from) {
  const auto cost = [&](double log_size) {
    return -goodput_at(process, from, Count(std::exp(log_size))).effective_accelerators();
  };
  const double peak = boost::math::tools::brent_find_minima(cost, std::log(from.value / 10), std::log(1e9), 20).first;
  return goodput_at(process, from, Count(std::round(std::exp(peak))));
}

// The same fixed restart for every class; waits stay. None: not even an immediate restart reaches the target.
[[nodiscard]] inline std::optional<Seconds> longest_restart(RunProcess p, double target) {
  if (!(target > 0) || !(target < 1)) {
    throw Error(Failure::usage, "out_of_range", "longest_restart",
                "ETTR must be between 0 and 1, got " + print_number(target, 6));
  }
  const double m = p.failures.mtbf.value;
  const auto over = [&](double restart) {
    p.memory.restart = p.storage.restart = TimeLaw::fixed(Seconds(restart));
    const SizePoint at = goodput_at(p, Count(1), Count(1));
    return at.ettr - target;
  };
  if (over(0) < 0) return std::nullopt;
  std::uintmax_t steps = 200;
  // R above 40 M would multiply the time by e^40.
  const auto [low, high] =
      boost::math::tools::toms748_solve(over, 0.0, 40 * m, boost::math::tools::eps_tolerance<double>(40), steps);
  return Seconds((low + high) / 2);
}

}  // namespace floplan::reliability
