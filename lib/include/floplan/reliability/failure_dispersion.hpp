// SPDX-License-Identifier: BSD-3-Clause
//
// Do failures come one by one, or in bursts?
//
//   FailureDispersion d = failure_dispersion(times, exposure, 0.9);      d.index, d.p, d.overdispersed, d.shape
//
// The watch is cut into k windows of equal exposure, with at least 5 events each on average (2 to 50 windows).
// index D = sum (x - m)^2 / (m (k - 1)); under a Poisson process D (k - 1) is chi-squared with k - 1 degrees of freedom.
// If it is improbably large (p < 1 - level), counts are negative binomial: variance m + m^2 / r, r by maximum likelihood,
// and the interval of the rate is that of Gamma((n + 1/2) / D, E / D): its width grows by sqrt(D).
//
// Source: Fisher's index of dispersion; Cameron and Trivedi 2013, sections 3.3 and 3.4. Holds: at least 10 events.
// Pitfall: a trend also spreads the windows; a fault that strikes many nodes at once is one event only if the log says so.
#pragma once

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/rate_posterior.hpp"

namespace floplan::reliability {

inline constexpr std::size_t fewest_dispersion_events = 10;

struct FailureDispersion {
  bool tested = false;
  std::size_t windows = 0;
  double window_exposure = 0;
  double mean = 0;   // events a window
  double index = 1;  // variance / mean
  double p = 1;      // of an index at least so large
  bool overdispersed = false;
  std::optional<double> shape;  // r of the negative binomial, where it is one

  [[nodiscard]] std::string describe() const {
    if (!tested)
      return "bursts: not tested, fewer than " + std::to_string(fewest_dispersion_events) + " events with times";
    return std::string(overdispersed ? "failures come in bursts" : "no bursts are seen") + " (variance / mean " +
           print_number(index, 3) + " in " + std::to_string(windows) + " windows, p " + print_number(p, 2) + ")";
  }
};

namespace detail {

// The shape that makes counts most probable as negative binomial of their mean; none if the Poisson limit does.
[[nodiscard]] inline std::optional<double> negative_binomial_shape(std::span<const double> counts, double mean) {
  const auto likelihood = [&](double log_r) {
    const double r = std::exp(log_r);
    double sum = 0;
    for (const double x : counts)
      sum += std::lgamma(x + r) - std::lgamma(r) + r * std::log(r / (r + mean)) + x * std::log(mean / (r + mean));
    return sum;
  };
  // One maximum in log r (Anscombe 1950) where the variance exceeds the mean: golden section between wide ends.
  double low = std::log(1e-3);
  double high = std::log(1e6);
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double a = high - golden * (high - low);
  double b = low + golden * (high - low);
  double at_a = likelihood(a);
  double at_b = likelihood(b);
  for (int i = 0; i < 80; ++i) {
    if (at_a < at_b) {
      low = a;
      a = b;
      at_a = at_b;
      b = low + golden * (high - low);
      at_b = likelihood(b);
    } else {
      high = b;
      b = a;
      at_b = at_a;
      a = high - golden * (high - low);
      at_a = likelihood(a);
    }
  }
  const double r = std::exp((low + high) / 2);
  if (r > 9e5) return std::nullopt;
  return r;
}

}  // namespace detail

// times: from 0 to total, in cumulative exposure.
[[nodiscard]] inline FailureDispersion failure_dispersion(std::span<const double> times, double total,
                                                          double level = 0.9) {
  detail::require_level(level, "failure_dispersion");
  if (!(total > 0) || !std::isfinite(total))
    throw Error(Failure::usage, "out_of_range", "failure_dispersion",
                "the exposure must be positive and finite, got " + print_number(total, 6));
  FailureDispersion out;
  if (times.size() < fewest_dispersion_events) return out;
  out.tested = true;
  out.windows = std::clamp<std::size_t>(times.size() / 5, 2, 50);
  const double k = static_cast<double>(out.windows);
  out.window_exposure = total / k;
  std::vector<double> counts(out.windows, 0);
  for (const double t : times) {
    const double at = std::clamp(t / out.window_exposure, 0.0, k - 1);
    ++counts[static_cast<std::size_t>(at)];
  }
  out.mean = static_cast<double>(times.size()) / k;
  double squares = 0;
  for (const double x : counts) squares += (x - out.mean) * (x - out.mean);
  out.index = squares / out.mean / (k - 1);
  const boost::math::chi_squared_distribution<double> chi(k - 1);
  out.p = boost::math::cdf(boost::math::complement(chi, out.index * (k - 1)));
  out.overdispersed = out.p < 1 - level && out.index > 1;
  if (out.overdispersed) out.shape = detail::negative_binomial_shape(counts, out.mean);
  return out;
}

// The rate with an interval for failures that come in bursts.
[[nodiscard]] inline RatePosterior widened(RatePosterior rate, const FailureDispersion& d) {
  if (!d.overdispersed) return rate;
  rate.standard_error *= std::sqrt(d.index);
  rate.interval = detail::gamma_interval((rate.events + 0.5) / d.index, rate.exposure / d.index, rate.interval.level,
                                         rate.events == 0);
  return rate;
}

}  // namespace floplan::reliability
