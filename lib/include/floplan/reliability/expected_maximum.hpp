// SPDX-License-Identifier: BSD-3-Clause
//
// How slow the slowest of n is: a step waits for its last node, a run for its last rack.
//
//   E[max of n N(0,1)] = int x n phi(x) Phi(x)^(n-1) dx                          exact
//   Blom (1958)        Phi^-1((n - 0.375) / (n + 0.25))                       within 1% from n = 8
//   log-normal of mean 1 and coefficient of variation c:  the same integral of exp(s x - s^2/2)
//   a component that all share, of variance share rho:    sigma sqrt(1 - rho) E[max]
//
// The familiar mu + sigma sqrt(2 ln n) is 9 to 23% too big for n from 64 to 131,072 and is not offered.
// Source: order statistics (David and Nagaraja 2003), Blom 1958; integrals by Boost's Gauss-Kronrod rule in panels.
// Cost: some 10 microseconds. Holds: n at least 1, real; c to 3.
// Pitfall: a node that stays slow is one draw of the maximum for the whole run, not one a step: the mean is the same, the
// spread of the run time is not (process.hpp's Slowdown keeps the two apart).
#pragma once

#include <algorithm>
#include <cmath>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>

#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/interruption_rate.hpp"

namespace floplan::reliability {

namespace detail {
// E[g(max of n normals)] = int g(x) d(Phi^n), the density n phi Phi^(n-1) by panels about the mode.
template <class G>
[[nodiscard]] double over_maximum(double n, const G& g) {
  const boost::math::normal normal;
  const auto density = [&](double x) {
    const double log_below = std::log1p(-boost::math::cdf(boost::math::complement(normal, x)));
    return g(x) * n * boost::math::pdf(normal, x) * std::exp((n - 1) * log_below);
  };
  using Kronrod = boost::math::quadrature::gauss_kronrod<double, 31>;
  const double centre =
      n > 1 ? boost::math::quantile(boost::math::complement(normal, -std::expm1(std::log(0.5) / n))) : 0;
  double sum = 0;
  for (double x = centre - 9; x < centre + 12; x += 0.75) sum += Kronrod::integrate(density, x, x + 0.75, 5, 1e-13);
  return sum;
}
}  // namespace detail

// Of n independent standard normals.
[[nodiscard]] inline double expected_normal_maximum(double n) {
  if (!(n >= 1) || !std::isfinite(n)) {
    throw Error(Failure::usage, "out_of_range", "expected_maximum",
                "n must be at least 1 and finite, got " + print_number(n, 6));
  }
  if (n == 1) return 0;
  return detail::over_maximum(n, [](double x) { return x; });
}

[[nodiscard]] inline double blom_normal_maximum(double n) {
  if (!(n >= 1) || !std::isfinite(n)) {
    throw Error(Failure::usage, "out_of_range", "expected_maximum",
                "n must be at least 1 and finite, got " + print_number(n, 6));
  }
  return boost::math::quantile(boost::math::normal(), (n - 0.375) / (n + 0.25));
}

// Of n independent log-normals of mean 1; shared: of the variance of the logarithm, the share that is common to all.
[[nodiscard]] inline double expected_log_normal_maximum(double n, double cv, double shared = 0) {
  if (!(cv >= 0) || !(cv <= 3)) {
    throw Error(Failure::usage, "out_of_range", "expected_maximum",
                "coefficient of variation must be from 0 to 3, got " + print_number(cv, 6));
  }
  if (!(shared >= 0) || !(shared <= 1)) {
    throw Error(Failure::usage, "out_of_range", "expected_maximum",
                "shared part must be from 0 to 1, got " + print_number(shared, 6));
  }
  (void)blom_normal_maximum(n);
  // The shared factor has mean 1 and comes out of the maximum.
  const double variance = std::log1p(cv * cv) * (1 - shared);
  const double sigma = std::sqrt(variance);
  if (n == 1 || sigma == 0) return 1;
  return detail::over_maximum(n, [&](double x) { return std::exp(sigma * x - variance / 2); });
}

}  // namespace floplan::reliability
