// SPDX-License-Identifier: BSD-3-Clause
//
// When to write checkpoints, to memory and to storage, and how little it matters near the best.
//
//   BestCheckpoints b = best_checkpoints(process);   b.tiers.interval, b.tiers.storage_every, b.ettr, b.flat (within 1%)
//
//   one tier   the minimum of one_tier.hpp: checkpoint_interval.hpp's exact root for exponential failures, else Brent's
//   two tiers  the minimum of two_tiers.hpp over t1 (Brent) and whole m (falling steps), from the first-order t1, t2
//   flat       the intervals t1 at the best m, and the m at the best t1, that lengthen the run by at most 1% of it
//
// Source: Young 1974, Daly 2006, Vaidya 1995, Di et al. 2014. Cost: 10 microseconds with one tier, 5 ms with two.
// Holds: where a closed form does; stalls positive. A time to persist P bounds the interval from below (tau + w at least P).
// Pitfall: the flat region is wide (at Llama 3's rate 1% allows half to 2.4 times the best): the interval is seldom what to
// improve. A process without a stall has no best interval and is refused.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/toms748_solve.hpp>

#include "floplan/core/distribution.hpp"
#include "floplan/reliability/checkpoint_interval.hpp"
#include "floplan/reliability/closed_form.hpp"

namespace floplan::reliability {

struct BestCheckpoints {
  CheckpointTiers tiers;
  Completion completion;  // of a day's work
  double ettr = 0;
  Interval flat_interval;       // seconds; level: the share of the run time that it may cost
  Interval flat_storage_every;  // memory checkpoints; both 1 with one tier
};

namespace detail {

// Run time over useful time; infinite where the run would not end.
[[nodiscard]] inline double stretch_at(RunProcess p, double interval, int storage_every) {
  p.checkpoints.interval = Seconds(interval);
  p.checkpoints.storage_every = storage_every;
  try {
    return 1 / (p.one_tier() ? one_tier(days(1), p) : two_tiers(days(1), p)).ettr;
  } catch (const Error& e) {
    if (e.failure() != Failure::infeasible) throw;
    return std::numeric_limits<double>::infinity();
  }
}

[[nodiscard]] inline std::pair<double, double> best_interval(const RunProcess& p, double start, int storage_every) {
  // Infinite ends would mislead the parabolas; a large number does not.
  const auto cost = [&](double log_interval) {
    return std::min(1e30, stretch_at(p, std::exp(log_interval), storage_every));
  };
  const auto [at, best] = boost::math::tools::brent_find_minima(cost, std::log(start / 50), std::log(start * 50), 40);
  return {std::exp(at), best};
}

// Where a cost that grows from its minimum at `best` passes `limit`, between there and `end`; `end` if it does not.
template <class Cost>
[[nodiscard]] double passes(const Cost& cost, double best, double end, double limit) {
  const auto over = [&](double log_x) { return std::min(1e30, cost(std::exp(log_x))) - limit; };
  if (over(std::log(end)) <= 0) return end;
  std::uintmax_t steps = 200;
  double a = std::log(best), b = std::log(end);
  if (a > b) std::swap(a, b);
  const auto [low, high] =
      boost::math::tools::toms748_solve(over, a, b, boost::math::tools::eps_tolerance<double>(30), steps);
  return std::exp((low + high) / 2);
}

}  // namespace detail

// excess: of the run time, what the flat region may cost.
[[nodiscard]] inline BestCheckpoints best_checkpoints(RunProcess p, double excess = 0.01) {
  if (!(excess > 0) || !(excess <= 1)) {
    throw Error(Failure::usage, "out_of_range", "best_checkpoints",
                "excess must be above 0 and at most 1, got " + print_number(excess, 6));
  }
  // Stragglers stretch work and interval alike, and waiting for nodes in repair stretches everything.
  p.slowdown = {};
  p.spares.reset();
  const bool two = p.share_of_memory() > 0;
  const Seconds persist = p.checkpoints.persist;
  p.checkpoints.persist = Seconds(0);
  if (!two) {
    p.checkpoints.memory_stall = Seconds(0);
    p.checkpoints.storage_every = 1;
  }
  if (!(p.checkpoints.interval.value > 0)) p.checkpoints.interval = Seconds(1);
  check(p);
  const CheckpointTiers& t = p.checkpoints;
  if (!(t.storage_stall.value > 0) || (two && !(t.memory_stall.value > 0))) {
    throw Error(Failure::usage, "out_of_range", "best_checkpoints",
                "every stall must be positive, or there is no best interval, got " +
                    print(two && t.storage_stall.value > 0 ? t.memory_stall : t.storage_stall));
  }
  double interval = 0, best = 0;
  int every = 1;
  const double most = 1e6;
  if (!two) {
    const double start = exact_interval(t.storage_stall, p.failures.mtbf).value;
    std::tie(interval, best) = p.failures.kind == FailureLaw::Kind::exponential
                                   ? std::pair(start, detail::stretch_at(p, start, 1))
                                   : detail::best_interval(p, start, 1);
    interval = std::max(interval, persist.value - t.storage_stall.value);
  } else {
    const FirstOrderTiers first = first_order_tiers(p.failures.mtbf, p.share_of_memory(), t.memory_stall,
                                                    t.storage_stall, Seconds(0), Seconds(0));
    const auto at = [&](int m) { return detail::best_interval(p, first.memory.value, m); };
    const double ratio = p.share_of_memory() < 1 ? first.storage / first.memory : most;
    every = static_cast<int>(std::clamp(std::round(ratio), 1.0, most));
    std::tie(interval, best) = at(every);
    for (int step = std::max(1, every / 2); step >= 1;) {
      bool moved = false;
      for (const int m : {every - step, every + step}) {
        if (m < 1 || m > most) continue;
        const auto [i, b] = at(m);
        if (b < best) {
          std::tie(interval, best, every) = std::tuple(i, b, m);
          moved = true;
          break;
        }
      }
      if (!moved) step /= 2;
    }
  }
  BestCheckpoints out;
  p.checkpoints.persist = persist;
  p.checkpoints.interval = Seconds(interval);
  p.checkpoints.storage_every = every;
  out.tiers = p.checkpoints;
  RunProcess synchronous = p;
  if (two) synchronous.checkpoints.persist = Seconds(0);
  out.completion = two ? two_tiers(days(1), synchronous) : one_tier(days(1), synchronous);
  out.ettr = out.completion.ettr;
  const double limit = best * (1 + excess);
  const auto by_interval = [&](double x) { return detail::stretch_at(synchronous, x, every); };
  synchronous.checkpoints.persist = Seconds(0);
  const double floor = std::max(interval * 1e-3, persist.value - t.storage_stall.value);
  out.flat_interval = {std::min(interval, detail::passes(by_interval, interval, floor, limit)),
                       detail::passes(by_interval, interval, interval * 1e3, limit), excess};
  out.flat_storage_every = {static_cast<double>(every), static_cast<double>(every), excess};
  if (two) {
    int low = every, high = every;
    while (low > 1 && detail::stretch_at(synchronous, interval, low - 1) <= limit) --low;
    for (int step = std::max(1, every / 8); step >= 1; step /= 2) {
      while (high + step <= most && detail::stretch_at(synchronous, interval, high + step) <= limit) high += step;
    }
    out.flat_storage_every = {static_cast<double>(low), static_cast<double>(high), excess};
  }
  return out;
}

}  // namespace floplan::reliability
