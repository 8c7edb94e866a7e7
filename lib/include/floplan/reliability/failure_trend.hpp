// SPDX-License-Identifier: BSD-3-Clause
//
// Does the rate of failures fall (burn-in), rise (wear), or stay?
//
//   FailureTrend t = failure_trend(times, exposure, ends_at_event, 0.9);      t.verdict, t.power, t.laplace_p
//
// times are in cumulative exposure (accelerator-hours watched until the event), so that a growing job is no trend.
// Laplace: U = (mean of times - T/2) / (T sqrt(1 / 12n)), normal under a steady rate; below 0 the rate falls.
// Power-law process (Crow 1974, AMSAA): N(t) = a t^b; b = n / sum ln(T / t_i); 2n b / b_hat is chi-squared with 2n degrees of
// freedom, 2(n - 1) where the watch ended with the last event, which is then left out of Laplace's mean. b below 1 falls.
//
// A trend is said only if b's interval at the level leaves out 1 and both tests have p below 1 - level.
// Source: Laplace; Crow 1974 and MIL-HDBK-189C, which also has the test of b = 1. Holds: at least 5 events.
// Pitfall: bursts look like trends; read the dispersion beside it.
#pragma once

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/rate_posterior.hpp"

namespace floplan::reliability {

inline constexpr std::size_t fewest_trend_events = 5;

struct FailureTrend {
  enum class Verdict { too_few, steady, falling, rising };
  Verdict verdict = Verdict::too_few;
  std::size_t events = 0;
  double laplace = 0;    // U
  double laplace_p = 1;  // two-sided
  Estimate power;        // b
  double power_p = 1;    // of b = 1, two-sided

  // The rate at the end of the watch over the mean rate: b.
  [[nodiscard]] double last_over_mean() const { return power.value; }
  [[nodiscard]] std::string describe() const;
};

[[nodiscard]] constexpr std::string_view to_text(FailureTrend::Verdict v) {
  switch (v) {
    case FailureTrend::Verdict::too_few: return "too_few";
    case FailureTrend::Verdict::steady: return "steady";
    case FailureTrend::Verdict::falling: return "falling";
    case FailureTrend::Verdict::rising: return "rising";
  }
  return "";
}

// times: ascending, from 0 to total.
[[nodiscard]] inline FailureTrend failure_trend(std::span<const double> times, double total, bool ends_at_event,
                                                double level = 0.9) {
  detail::require_level(level, "failure_trend");
  if (!(total > 0) || !std::isfinite(total))
    throw Error(Failure::usage, "out_of_range", "failure_trend",
                "the exposure must be positive and finite, got " + print_number(total, 6));
  FailureTrend out;
  double logs = 0;
  double sum = 0;
  std::size_t counted = 0;
  for (const double t : times) {
    if (!(t >= 0 && t <= total))
      throw Error(Failure::usage, "out_of_range", "failure_trend",
                  "a time must be from 0 to the exposure, got " + print_number(t, 9));
    sum += t;
    ++out.events;
    // An event at the very beginning has no finite logarithm: its time was rounded.
    if (t > 0) {
      logs += std::log(total / t);
      ++counted;
    }
  }
  if (out.events < fewest_trend_events || counted < fewest_trend_events || !(logs > 0)) return out;
  const std::size_t inner = out.events - (ends_at_event ? 1 : 0);
  const double n = static_cast<double>(inner);
  const double mean = (sum - (ends_at_event ? times.back() : 0)) / n;
  out.laplace = (mean - total / 2) / (total * std::sqrt(1 / (12 * n)));
  out.laplace_p = std::erfc(std::abs(out.laplace) / std::sqrt(2.0));
  const double m = static_cast<double>(counted);
  const boost::math::chi_squared_distribution<double> chi(2 * (m - (ends_at_event ? 1 : 0)));
  const double tail = (1 - level) / 2;
  out.power.value = m / logs;
  out.power.standard_error = out.power.value / std::sqrt(m);
  out.power.interval = {out.power.value * boost::math::quantile(chi, tail) / (2 * m),
                        out.power.value * boost::math::quantile(boost::math::complement(chi, tail)) / (2 * m), level};
  const double statistic = 2 * logs;  // 2 n / b under b = 1
  out.power_p =
      2 * std::fmin(boost::math::cdf(chi, statistic), boost::math::cdf(boost::math::complement(chi, statistic)));
  out.power_p = std::fmin(out.power_p, 1.0);
  out.verdict = FailureTrend::Verdict::steady;
  if (out.laplace_p < 1 - level && out.power_p < 1 - level) {
    if (out.power.interval.high < 1 && out.laplace < 0) out.verdict = FailureTrend::Verdict::falling;
    if (out.power.interval.low > 1 && out.laplace > 0) out.verdict = FailureTrend::Verdict::rising;
  }
  return out;
}

inline std::string FailureTrend::describe() const {
  if (verdict == Verdict::too_few)
    return "trend: not tested, fewer than " + std::to_string(fewest_trend_events) + " events with times";
  const std::string numbers = " (Laplace U " + print_number(laplace, 3) + ", p " + print_number(laplace_p, 2) +
                              "; power " + print_number(power.value, 3) + ", " + print_number(power.interval.low, 3) +
                              " to " + print_number(power.interval.high, 3) + ")";
  if (verdict == Verdict::falling) return "the rate falls, as in burn-in" + numbers;
  if (verdict == Verdict::rising) return "the rate rises" + numbers;
  return "no trend is seen" + numbers;
}

}  // namespace floplan::reliability
