// SPDX-License-Identifier: BSD-3-Clause
//
// One random run under the process of completion.hpp, without simulating its events one by one.
//
// A run has n = T_s / tau segments, each repeated a geometric number of times, so the failures of work K are a negative
// binomial count (drawn as Poisson of a Gamma), the cut-short restarts are another given K, and the time that K failures
// cost is normal with the exact mean and variance of its parts. The failures that wait for a person are binomial, the
// planned stops Poisson.
//
//   CompletionDraw d = draw_completion(stream, useful, conditions);     a pure function of the stream's seed and index
//
// Mean and variance are those of completion(); tests compare them. Cost: some ten variates, about half a microsecond.
// Holds: from about ten failures a run; below, the normal sum of losses is rough (the mean stays exact).
// Pitfall: it draws the scatter of failures under fixed inputs; uncertainty of the inputs is the caller's to draw.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <boost/random/binomial_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/poisson_distribution.hpp>

#include "floplan/core/quantity.hpp"
#include "floplan/core/random.hpp"
#include "floplan/reliability/completion.hpp"

namespace floplan::reliability {

struct CompletionDraw {
  Seconds wall_clock;
  double failures = 0;
  double planned_stops = 0;
};

namespace detail {

[[nodiscard]] inline double draw_poisson(RandomStream& stream, double mean) {
  // Boost's sampler counts in a 32-bit integer; beyond a million the normal law is exact to the last event that matters.
  if (mean > 1e6)
    return std::max(0.0, std::round(boost::random::normal_distribution<double>(mean, std::sqrt(mean))(stream)));
  return mean > 0 ? static_cast<double>(boost::random::poisson_distribution<int, double>(mean)(stream)) : 0;
}

// How many of `trials` events are of the kind that has this share.
[[nodiscard]] inline double draw_binomial(RandomStream& stream, double trials, double share) {
  if (!(trials > 0) || !(share > 0)) return 0;
  if (share >= 1) return trials;
  if (!(trials < 1e15)) return trials * share;  // endless: no 64-bit count, and its scatter no longer matters
  return static_cast<double>(
      boost::random::binomial_distribution<std::int64_t, double>(static_cast<std::int64_t>(trials), share)(stream));
}

// The sum of `trials` geometric counts of mean `mean` each.
[[nodiscard]] inline double draw_retries(RandomStream& stream, double trials, double mean) {
  if (!(trials > 0) || !(mean > 0)) return 0;
  return draw_poisson(stream, boost::random::gamma_distribution<double>(trials, mean)(stream));
}

}  // namespace detail

// The conditions must have passed check(); completion() does that.
[[nodiscard]] inline CompletionDraw draw_completion(RandomStream& stream, Seconds useful, const Conditions& c) {
  const double m = c.mtbf.value;
  const double segment = c.interval.value + c.stall.value;
  const double segments = useful.value / c.interval.value;
  const double work_failures = detail::draw_retries(stream, segments, std::expm1(segment / m));
  const double restart_failures = detail::draw_retries(stream, work_failures, std::expm1(c.restart.value / m));
  const double failures = work_failures + restart_failures;

  const TruncatedTime lost = truncated_exponential(m, segment);
  const TruncatedTime cut = c.restart.value > 0 ? truncated_exponential(m, c.restart.value) : TruncatedTime{};
  const double losses = work_failures * (lost.mean + c.restart.value) + restart_failures * cut.mean;
  const double losses_variance = work_failures * lost.variance + restart_failures * cut.variance;
  boost::random::normal_distribution<double> normal;
  const double down = std::max(0.0, losses + std::sqrt(losses_variance) * normal(stream));

  const double manual = detail::draw_binomial(stream, failures, c.manual_share);
  const double waits = manual * c.manual_wait.value + (failures - manual) * c.wait.value;
  const double working = segments * segment + work_failures * lost.mean;
  const double planned = detail::draw_poisson(stream, c.planned_per_day * working / seconds_per_day);
  return {Seconds(segments * segment + down + waits + planned * (c.stall.value + c.planned_duration.value)), failures,
          planned};
}

}  // namespace floplan::reliability
