// SPDX-License-Identifier: BSD-3-Clause
//
// How an uncertain answer is reported: an interval, a value with its standard error, or a distribution.
//
// A Distribution is the summary of draws: mean, sample standard deviation (n - 1), and the quantiles that the command
// line prints. Quantile p of n sorted draws is the linear interpolation at position p (n - 1), R's type 7 (Hyndman and
// Fan 1996).
//
// Range: draws must be finite and at least one. Pitfall: an interval printed without its level means nothing; `level` is
// part of the value.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"

namespace floplan {

struct Interval {
  double low = 0;
  double high = 0;
  double level = 0.9;
};

struct Estimate {
  double value = 0;
  double standard_error = 0;
  Interval interval;
};

struct Distribution {
  double mean = 0;
  double standard_deviation = 0;
  double p05 = 0;
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
};

// sorted: ascending, not empty; p in [0, 1].
[[nodiscard]] inline double quantile_of_sorted(std::span<const double> sorted, double p) {
  if (sorted.empty()) throw Error(Failure::usage, "no_draws", "quantile", "needs at least one draw, got none");
  const double position = std::clamp(p, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

[[nodiscard]] inline Distribution summarise(std::vector<double> draws) {
  if (draws.empty()) throw Error(Failure::usage, "no_draws", "summarise", "needs at least one draw, got none");
  double sum = 0;
  for (const double x : draws) {
    if (!std::isfinite(x)) {
      throw Error(Failure::no_answer, "not_finite", "summarise", "every draw must be finite, got " + std::to_string(x));
    }
    sum += x;
  }
  const double count = static_cast<double>(draws.size());
  Distribution out;
  out.mean = sum / count;
  double squares = 0;
  for (const double x : draws) squares += (x - out.mean) * (x - out.mean);
  out.standard_deviation = draws.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  std::sort(draws.begin(), draws.end());
  out.p05 = quantile_of_sorted(draws, 0.05);
  out.p10 = quantile_of_sorted(draws, 0.10);
  out.p50 = quantile_of_sorted(draws, 0.50);
  out.p90 = quantile_of_sorted(draws, 0.90);
  out.p95 = quantile_of_sorted(draws, 0.95);
  return out;
}

}  // namespace floplan
