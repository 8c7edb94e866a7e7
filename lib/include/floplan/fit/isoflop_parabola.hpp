// SPDX-License-Identifier: BSD-3-Clause
//
// The parabola of approach 2, its vertex, and how surely the vertex is known.
//
//   y = c0 + c1 u + c2 u^2,   u = x - mean(x),   by weighted least squares;   vertex = mean(x) - c1 / (2 c2)
//
//   x = ln N (or ln D), y a loss or its logarithm; s^2 = (SUM w r^2 / mean w) / (n - 3) over n distinct runs
//
// The interval of the vertex is Fieller's (1954): all v with |c1 + 2 c2 v| <= t se(c1 + 2 c2 v), t the quantile of
// Student's t. It is exact for normal noise, reaches further on the side where the curve is less known, and is bounded
// exactly where the curvature itself differs from zero at that level. The delta method's standard error, for weights:
// se^2 = (V11 + 4 v^2 V22 + 4 v V12) / (2 c2)^2 with v the vertex in u and V the covariance of c1 and c2.
//
// Source of the method: Hoffmann et al. 2022 (arXiv 2203.15556), section 3.2. Holds: at least three different x.
// Pitfall: s^2 also holds what is not noise: a loss that is no parabola over the sampled range widens the interval and
// biases the vertex (isoflop_bias.hpp).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>

#include "floplan/core/distribution.hpp"
#include "floplan/fit/isoflop_power_law.hpp"

namespace floplan::fit {

struct Parabola {
  double mean = 0;  // of x
  double c0 = 0, c1 = 0, c2 = 0;
  std::size_t degrees_of_freedom = 0;  // distinct runs less three
  double residual_sd = 0;              // nan without degrees of freedom
  double variance_c1 = 0, variance_c2 = 0, covariance_c1_c2 = 0;
  double rounding = 0;  // a curvature that the digits of y could have made

  [[nodiscard]] double vertex() const { return mean - c1 / (2 * c2); }
  [[nodiscard]] double operator()(double x) const {
    const double u = x - mean;
    return c0 + u * (c1 + u * c2);
  }
  // nan without degrees of freedom.
  [[nodiscard]] double curvature_error() const { return std::sqrt(variance_c2); }
  [[nodiscard]] double vertex_error() const {
    if (degrees_of_freedom == 0) return residual_sd;
    const double v = -c1 / (2 * c2);
    const double variance = variance_c1 + 4 * v * v * variance_c2 + 4 * v * covariance_c1_c2;
    return std::sqrt(std::max(0.0, variance)) / (2 * std::abs(c2));
  }
  // Whether c2 differs from zero at this level; true without degrees of freedom, where nothing can be said.
  [[nodiscard]] bool curved(double level) const {
    if (!(std::abs(c2) > rounding)) return false;
    return degrees_of_freedom == 0 ||
           std::abs(c2) > detail::student_reach(level, degrees_of_freedom) * curvature_error();
  }
  // Of the vertex, in units of x; absent without degrees of freedom and where the curvature may be zero.
  [[nodiscard]] std::optional<Interval> vertex_interval(double level) const {
    if (degrees_of_freedom == 0 || !curved(level)) return std::nullopt;
    const double reach = detail::student_reach(level, degrees_of_freedom);
    const double t2 = reach * reach;
    // a u^2 + 2 b u + c <= 0
    const double a = 4 * (c2 * c2 - t2 * variance_c2);
    const double b = 2 * (c1 * c2 - t2 * covariance_c1_c2);
    const double c = c1 * c1 - t2 * variance_c1;
    const double root = std::sqrt(std::max(0.0, b * b - a * c));
    return Interval{mean + (-b - root) / a, mean + (-b + root) / a, level};
  }
};

// weight: one a point; distinct: how many points are runs of their own. Absent with fewer than three different x.
[[nodiscard]] inline std::optional<Parabola> fit_parabola(std::span<const double> x, std::span<const double> y,
                                                          std::span<const double> weight, std::size_t distinct) {
  Parabola p;
  double total = 0;
  double level = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    total += weight[i];
    p.mean += weight[i] * x[i];
    level += weight[i] * y[i];
  }
  p.mean /= total;
  level /= total;
  double s2 = 0, s3 = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = x[i] - p.mean;
    s2 += weight[i] * u * u;
    s3 += weight[i] * u * u * u;
  }
  if (!(s2 > 0)) return std::nullopt;
  // q = u^2 - (s3 / s2) u - s2 / total is orthogonal to 1 and to u on these points.
  const double slope = s3 / s2;
  double qq = 0, qy = 0, uy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double u = x[i] - p.mean;
    const double q = u * u - slope * u - s2 / total;
    qq += weight[i] * q * q;
    qy += weight[i] * q * (y[i] - level);
    uy += weight[i] * u * (y[i] - level);
  }
  if (!(qq * total > 1e-14 * s2 * s2)) return std::nullopt;
  p.c2 = qy / qq;
  p.c1 = uy / s2 - slope * p.c2;
  p.c0 = level - p.c2 * s2 / total;
  p.rounding = 1e-14 * std::abs(level) * total / s2;
  p.degrees_of_freedom = distinct > 3 ? distinct - 3 : 0;
  if (p.degrees_of_freedom == 0) {
    p.residual_sd = p.variance_c1 = p.variance_c2 = p.covariance_c1_c2 = std::numeric_limits<double>::quiet_NaN();
    return p;
  }
  double squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double r = y[i] - p(x[i]);
    squares += weight[i] * r * r;
  }
  const double mean_weight = total / static_cast<double>(distinct);
  const double variance = squares / static_cast<double>(p.degrees_of_freedom);  // of a run of weight one
  p.residual_sd = std::sqrt(variance / mean_weight);
  p.variance_c2 = variance / qq;
  p.variance_c1 = variance / s2 + slope * slope * p.variance_c2;
  p.covariance_c1_c2 = -slope * p.variance_c2;
  return p;
}

}  // namespace floplan::fit
