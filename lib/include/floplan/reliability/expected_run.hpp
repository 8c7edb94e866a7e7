// SPDX-License-Identifier: BSD-3-Clause
//
// A run under Conditions with one checkpoint tier or two: expected, drawn at random, and at its best intervals.
//
//   Completion c = expected_run(useful, conditions);               completion.hpp's form, or two_tiers.hpp's
//   CompletionDraw d = draw_run(stream, useful, conditions);       completion_draw.hpp's, or what follows
//   Conditions best = at_best_intervals(conditions);               the intervals of the least run time
//
// Two tiers, drawn: the failures of work K are a negative binomial count of mean E/M and of the variance of renewals,
//   Var(K) / E[K] = (M^2 + Var(L)) / (M - E[L])^2,   L the work lost at one of them
// each is of a kind (memory, escalated, storage, manual: two_tiers.hpp) by multinomial shares, and the time that they cost is
// normal with the exact mean and variance of its parts. The failures that wait for a person are binomial, planned stops
// Poisson in the working time.
//
// Source: two_tiers.hpp; Cox 1962, 4.5, for the variance of a count of renewals. Mean that of two_tiers.hpp, deviation
// within 5%; tests compare both, and the quantiles with the simulation's. Cost: about a microsecond a draw.
// Holds: from about ten failures a run; a1 and a2 well below M and M/S. Pitfall: it draws the scatter of failures under fixed
// inputs; uncertainty of the inputs is the caller's to draw.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "floplan/reliability/best_checkpoints.hpp"
#include "floplan/reliability/completion_draw.hpp"
#include "floplan/reliability/two_tiers.hpp"

namespace floplan::reliability {

[[nodiscard]] inline Completion expected_run(Seconds useful, const Conditions& c) {
  return c.memory ? two_tiers(useful, process_of(c)) : completion(useful, c);
}

namespace detail {

[[nodiscard]] inline CompletionDraw draw_two_tiers(RandomStream& stream, Seconds useful, RunProcess p) {
  // Waits for a person are few and long, no normal sum: they are counted, and the rest is drawn without them.
  const double manual_wait = p.manual_wait.mean();
  p.manual_wait = TimeLaw();
  const TierCosts costs = tier_costs(p);
  const double m = p.failures.mtbf.value;
  const double worked = working_time(useful, p, costs);
  const double loss = costs.mean_loss();
  double loss_square = 0;
  for (const FailureCost* kind : costs.kinds())
    loss_square += kind->share * (kind->loss.variance + kind->loss.mean * kind->loss.mean);
  const double expected = worked / m;
  const double over = std::max(1e-9, (m * m + loss_square - loss * loss) / ((m - loss) * (m - loss)) - 1);
  const double failures = draw_retries(stream, expected / over, over);

  std::array<double, 4> counts{};
  double left = failures, share_left = 1;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const double share = costs.kinds()[k]->share;
    counts[k] = share_left > 0 ? draw_binomial(stream, left, std::min(1.0, share / share_left)) : 0;
    left -= counts[k];
    share_left -= share;
  }
  double lost = 0, down = 0, variance = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const FailureCost& kind = *costs.kinds()[k];
    lost += counts[k] * kind.loss.mean;
    down += counts[k] * kind.recovery.mean;
    variance += counts[k] * (kind.loss.variance + kind.recovery.variance);
  }
  const double without = useful.value * costs.stretch;
  boost::random::normal_distribution<double> normal;
  const double cost = std::max(0.0, lost + down + std::sqrt(variance) * normal(stream));
  const double cuts =
      draw_poisson(stream, (counts[0] + counts[1]) * costs.memory_cuts + (counts[2] + counts[3]) * costs.storage_cuts);
  const double waits = draw_binomial(stream, failures + cuts, p.manual_share) * manual_wait;
  const double stops = draw_poisson(stream, p.planned.per_day * (without + lost) / seconds_per_day);
  const double stop = p.checkpoints.storage_stall.value + p.planned.duration.value;
  return {Seconds(without + cost + waits + stops * stop), failures + cuts, stops};
}

}  // namespace detail

// The conditions must have passed expected_run().
[[nodiscard]] inline CompletionDraw draw_run(RandomStream& stream, Seconds useful, const Conditions& c) {
  return c.memory ? detail::draw_two_tiers(stream, useful, process_of(c)) : draw_completion(stream, useful, c);
}

// With the intervals that its stalls, restarts and failures make the best; stalls must be positive.
[[nodiscard]] inline Conditions at_best_intervals(Conditions c) {
  if (!c.memory) {
    c.interval = exact_interval(c.stall, c.mtbf);
    return c;
  }
  c.interval = c.memory->interval = Seconds(1);  // to start from
  const CheckpointTiers best = best_checkpoints(process_of(c)).tiers;
  c.memory->interval = best.interval;
  c.interval = best.interval * static_cast<double>(best.storage_every);
  return c;
}

}  // namespace floplan::reliability
