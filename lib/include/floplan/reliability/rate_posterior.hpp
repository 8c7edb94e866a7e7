// SPDX-License-Identifier: BSD-3-Clause
//
// How well does a count of failures know their rate?
//
//   RatePosterior rate = rate_posterior(419, 110592, 0.9);      events, exposure (node-days), level
//   rate.value = events / exposure;   rate.interval of the posterior;   rate.exact of the chi-squared distribution
//
// Events in an exposure E are Poisson(rate E). With Jeffreys' prior, rate^(-1/2), the posterior is Gamma(events + 1/2, E),
// whose equal tails are the interval. exact is Garwood's: [chi2(a/2; 2n) / 2E, chi2(1 - a/2; 2n + 2) / 2E], which covers at
// least the level. No event gives a bound: low is 0, and high has the whole level below it (exact: -ln(1 - level) / E).
//
// Source: Jeffreys 1946; Garwood 1936; Brown, Cai and DasGupta 2003 for the coverage of the Jeffreys interval.
// Holds: independent events at a steady rate; failure_dispersion.hpp widens it where they come in bursts.
// Pitfall: the interval is of the rate, not of the number of failures to come, which scatters by itself besides.
#pragma once

#include <boost/math/distributions/gamma.hpp>
#include <cmath>
#include <string>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::reliability {

struct RatePosterior {
  double events = 0;
  double exposure = 0;
  double value = 0;           // events / exposure
  double standard_error = 0;  // standard deviation of the posterior
  Interval interval;
  Interval exact;

  [[nodiscard]] Estimate estimate() const { return {value, standard_error, interval}; }
  // The same in another unit of exposure: scaled(24) is a day where this is an hour.
  [[nodiscard]] RatePosterior scaled(double factor) const {
    RatePosterior out = *this;
    out.exposure /= factor;
    for (double* x :
         {&out.value, &out.standard_error, &out.interval.low, &out.interval.high, &out.exact.low, &out.exact.high})
      *x *= factor;
    return out;
  }
};

namespace detail {

[[nodiscard]] inline double gamma_quantile(double shape, double exposure, double p) {
  return boost::math::quantile(boost::math::gamma_distribution<double>(shape, 1.0), p) / exposure;
}

inline void require_level(double level, const char* function) {
  if (!(level >= 0.01 && level <= 0.9999))
    throw Error(Failure::usage, "out_of_range", function,
                "level must be from 0.01 to 0.9999, got " + print_number(level, 6));
}

// Equal tails of Gamma(shape, exposure); no event has an upper bound alone.
[[nodiscard]] inline Interval gamma_interval(double shape, double exposure, double level, bool bound) {
  if (bound) return {0, gamma_quantile(shape, exposure, level), level};
  const double tail = (1 - level) / 2;
  return {gamma_quantile(shape, exposure, tail), gamma_quantile(shape, exposure, 1 - tail), level};
}

}  // namespace detail

[[nodiscard]] inline RatePosterior rate_posterior(double events, double exposure, double level = 0.9) {
  if (!(events >= 0 && events <= 1e15))
    throw Error(Failure::usage, "out_of_range", "rate_posterior",
                "events must be from 0 to 1e15, got " + print_number(events, 6));
  if (!(exposure > 0) || !std::isfinite(exposure))
    throw Error(Failure::usage, "out_of_range", "rate_posterior",
                "exposure must be positive and finite, got " + print_number(exposure, 6));
  detail::require_level(level, "rate_posterior");
  RatePosterior out;
  out.events = events;
  out.exposure = exposure;
  out.value = events / exposure;
  out.standard_error = std::sqrt(events + 0.5) / exposure;
  out.interval = detail::gamma_interval(events + 0.5, exposure, level, events == 0);
  const double tail = (1 - level) / 2;
  if (events == 0) {
    out.exact = {0, -std::log1p(-level) / exposure, level};
  } else {
    out.exact = {detail::gamma_quantile(events, exposure, tail), detail::gamma_quantile(events + 1, exposure, 1 - tail),
                 level};
  }
  return out;
}

}  // namespace floplan::reliability
