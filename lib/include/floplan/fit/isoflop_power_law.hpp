// SPDX-License-Identifier: BSD-3-Clause
//
// A straight line in logarithms through a few optima: how N* (or D*) grows with the budget, and how surely.
//
//   ln x* = ln k + a ln C     by least squares over the optima, equally or with weights w = 1 / (sd of ln x*)^2
//   se(a)^2 = s^2 / Sxx,   se(ln x*(C))^2 = s^2 (1 / W + (ln C - mean)^2 / Sxx),   s^2 = SUM w r^2 / (n - 2)
//   interval = estimate +- t s.e., t the quantile of Student's t with n - 2 degrees of freedom
//
//   C in FLOP, x* in parameters or tokens; W the sum of weights, Sxx the weighted squares of ln C about its mean
//
// Holds: at least two different budgets. Two leave no degrees of freedom and so no interval; below two there is no
// power law, and Error(no_answer) says so. Weights are relative: their common scale does not matter.
//
// Pitfall: the interval is that of the line, for errors that are independent between budgets; a bias that all budgets
// share (isoflop_bias.hpp) is not in it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/detail/normal.hpp"

namespace floplan::fit {

namespace detail {

// Probability of |T| <= sqrt(n) tan(angle) for Student's t with n degrees of freedom: a finite sum for a whole n
// (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4). Boost's quantile is for any n, and costs its includer 3.5 s.
[[nodiscard]] inline double student_within(double angle, std::size_t degrees_of_freedom) {
  const double cosine = std::cos(angle);
  const bool odd = degrees_of_freedom % 2 == 1;
  double term = odd ? cosine : 1;
  double sum = degrees_of_freedom > 1 ? term : 0;
  for (std::size_t k = odd ? 3 : 2; k + 2 <= degrees_of_freedom; k += 2) {
    term *= cosine * cosine * static_cast<double>(k - 1) / static_cast<double>(k);
    sum += term;
  }
  sum *= std::sin(angle);
  return odd ? (angle + sum) * 0.6366197723675814 : sum;  // 2 / pi
}

// Half the width, in standard errors, of the two-sided interval of this level.
[[nodiscard]] inline double student_reach(double level, std::size_t degrees_of_freedom) {
  const double n = static_cast<double>(degrees_of_freedom);
  if (degrees_of_freedom > 1000) {
    // Fisher and Cornish 1960, to 1 / n^2: 1e-9 here.
    const double z = normal_quantile((1 + level) / 2);
    const double z2 = z * z;
    return z * (1 + (z2 + 1) / (4 * n) + (3 + z2 * (16 + z2 * 5)) / (96 * n * n));
  }
  double low = 0;
  double high = 1.5707963267948966;
  for (double middle = high / 2; middle > low && middle < high; middle = (low + high) / 2) {
    (student_within(middle, degrees_of_freedom) < level ? low : high) = middle;
  }
  return std::sqrt(n) * std::tan(low);
}

inline void check_level(double level, const char* where) {
  if (level > 0 && level < 1) return;
  throw Error(Failure::usage, "out_of_range", where, "level must be between 0 and 1, got " + print_number(level, 6));
}

}  // namespace detail

struct PowerLaw {
  double exponent = 0;
  double coefficient = 0;    // x* = coefficient C^exponent, C in FLOP
  std::size_t profiles = 0;  // optima that it passes through
  double residual_sd = 0;    // of ln x*, per unit weight; 0 with two optima
  double level = 0.9;
  std::optional<Interval> exponent_interval;  // absent with two optima
  std::optional<Interval> noise_interval;     // of the exponent by resampled noise of the losses alone, where it was
  // The line's centre, and what its interval needs; no squares where it is not a regression.
  double log_flop_mean = 0, log_value_mean = 0, log_flop_squares = 0, total_weight = 0;

  // Exact at any C: no power of 1e24 is taken.
  [[nodiscard]] double at(double flop) const {
    return std::exp(log_value_mean + exponent * (std::log(flop) - log_flop_mean));
  }
  [[nodiscard]] std::optional<Interval> interval_at(double flop) const {
    if (!exponent_interval || !(log_flop_squares > 0)) return std::nullopt;
    const double away = std::log(flop) - log_flop_mean;
    const double reach = detail::student_reach(level, profiles - 2) * residual_sd *
                         std::sqrt(1 / total_weight + away * away / log_flop_squares);
    return Interval{at(flop) * std::exp(-reach), at(flop) * std::exp(reach), level};
  }
  // "0.0105 C^0.5 (exponent 0.482 to 0.518 at 90%, 8 budgets)"
  [[nodiscard]] std::string describe() const {
    std::string out = print_number(coefficient, 4) + " C^" + print_number(exponent, 5);
    if (exponent_interval) {
      out += " (exponent " + print_number(exponent_interval->low, 4) + " to " +
             print_number(exponent_interval->high, 4) + " at " + print_number(100 * level, 4) + "%, ";
    } else {
      out += " (no interval, ";
    }
    return out + std::to_string(profiles) + " budgets)";
  }
};

// log_sd: empty for equal weights, else the standard deviation of each ln value.
[[nodiscard]] inline PowerLaw fit_power_law(std::span<const double> flop, std::span<const double> value,
                                            std::span<const double> log_sd = {}, double level = 0.9) {
  detail::check_level(level, "power law");
  if (flop.size() != value.size() || (!log_sd.empty() && log_sd.size() != flop.size())) {
    throw Error(Failure::usage, "wrong_size", "power law",
                "needs one value (and one standard deviation, if any) for each of " + std::to_string(flop.size()) +
                    " budgets, got " + std::to_string(value.size()) + " and " + std::to_string(log_sd.size()));
  }
  const auto positive = [](double x, const char* what) {
    if (x > 0 && std::isfinite(x)) return;
    throw Error(Failure::usage, "out_of_range", "power law",
                std::string(what) + " must be positive and finite, got " + print_number(x, 6));
  };
  // Relative to the smallest, so that weights neither overflow nor depend on the unit.
  const double smallest = log_sd.empty() ? 1 : *std::min_element(log_sd.begin(), log_sd.end());
  const auto weight = [&](std::size_t i) { return log_sd.empty() ? 1 : std::pow(smallest / log_sd[i], 2); };
  PowerLaw out;
  out.level = level;
  out.profiles = flop.size();
  for (std::size_t i = 0; i < flop.size(); ++i) {
    positive(flop[i], "budget");
    positive(value[i], "value");
    if (!log_sd.empty()) positive(log_sd[i], "standard deviation");
    out.total_weight += weight(i);
    out.log_flop_mean += weight(i) * std::log(flop[i]);
    out.log_value_mean += weight(i) * std::log(value[i]);
  }
  const auto [low, high] = std::minmax_element(flop.begin(), flop.end());
  if (flop.size() < 2 || !(*high > *low)) {
    throw Error(Failure::no_answer, "too_few_profiles", "power law",
                "needs optima at two different budgets or more, got " + std::to_string(flop.empty() ? 0 : 1));
  }
  out.log_flop_mean /= out.total_weight;
  out.log_value_mean /= out.total_weight;
  double product = 0;
  for (std::size_t i = 0; i < flop.size(); ++i) {
    const double x = std::log(flop[i]) - out.log_flop_mean;
    out.log_flop_squares += weight(i) * x * x;
    product += weight(i) * x * (std::log(value[i]) - out.log_value_mean);
  }
  out.exponent = product / out.log_flop_squares;
  out.coefficient = std::exp(out.log_value_mean - out.exponent * out.log_flop_mean);
  if (flop.size() == 2) return out;
  double squares = 0;
  for (std::size_t i = 0; i < flop.size(); ++i) {
    const double r = std::log(value[i]) - out.log_value_mean - out.exponent * (std::log(flop[i]) - out.log_flop_mean);
    squares += weight(i) * r * r;
  }
  out.residual_sd = std::sqrt(squares / static_cast<double>(flop.size() - 2));
  const double reach =
      detail::student_reach(level, flop.size() - 2) * out.residual_sd / std::sqrt(out.log_flop_squares);
  out.exponent_interval = Interval{out.exponent - reach, out.exponent + reach, level};
  return out;
}

}  // namespace floplan::fit
