// SPDX-License-Identifier: BSD-3-Clause
//
// What does a fit predict for a run that was not made, and for a budget that was not spent?
//
//   const fit::RunNoise noise = fit::run_noise(rows, report);
//   fit::predict(boot, noise, report.range, Parameters(70e9), Tokens(1.4e12))      .loss, .new_run
//   fit::compute_optimal(boot, report.range, Flop(1e24))                           .parameters, .tokens, .loss, ...
//
//   curve    L(N, D): estimate and bias-corrected bootstrap interval (bootstrap.hpp)
//   new run  ln L_run = ln L(N, D) + u,   u one of the residuals ln(L_observed / L_fit) sqrt(n / (n - p))
//
// The interval of a new run is that of the sum over all pairs of a replicate's ln L and a residual: the exact convolution
// of both, no draws. The replicates enter with the weights of the bias correction, so that without noise it is the
// curve's interval. A tail of p is read at the share p - v (1/2 - p) / n of the pairs. Where the law is certain v is 1,
// and one more of n alike runs falls outside with probability p (Weibull's plotting positions; Hyndman and Fan 1996, type
// 6); v shrinks to 0 as the law's own uncertainty smooths the residuals. Nominal 90% cover 89 to 92% (coverage.hpp).
//
// Source: prediction by resampled residuals, Stine 1985; Davison and Hinkley 1997, chapter 6.
// Holds: noise is a factor of the loss that is alike at all scales, also for a fit of raw residuals; rows count once
// however large their weight. Interval ends: nan without degrees of freedom or without enough replicates.
// Cost: 1,000 resamples of 240 rows, 1 ms for a new run and 2 ms for an optimum.
// Pitfall: an interval knows how far the coefficients may be off, not whether the form holds at 10 times the scale; read
// extrapolation_decades with it, and hold_out.hpp for what such intervals were worth on runs that were made.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/allocation.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/chinchilla_report.hpp"
#include "floplan/fit/detail/chinchilla_rows.hpp"
#include "floplan/fit/detail/chinchilla_setup.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/law/scaling_law.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit {

// How far single runs lie from the law, as a factor: exp(log_residuals).
struct RunNoise {
  bool available = false;
  std::string reason;                 // empty where available
  std::vector<double> log_residuals;  // ln(L_observed / L_fit) sqrt(n / (n - p)) of each distinct row, ascending

  // About zero, so sqrt(SUM of ln(L_observed / L_fit)^2 / (n - p)); nan where not available.
  [[nodiscard]] double standard_deviation() const {
    double squares = 0;
    for (const double u : log_residuals) squares += u * u;
    return available ? std::sqrt(squares / static_cast<double>(log_residuals.size()))
                     : std::numeric_limits<double>::quiet_NaN();
  }
};

// observations and report: what chinchilla() was given and what it gave.
[[nodiscard]] inline RunNoise run_noise(std::span<const runs::Observation> observations,
                                        const ChinchillaReport& report) {
  RunNoise out;
  if (report.degrees_of_freedom == 0) {
    out.reason = "as many free coefficients as distinct rows";
    return out;
  }
  const detail::ChinchillaRows rows = detail::prepare_rows(observations, report.options);
  const double scale =
      std::sqrt(static_cast<double>(report.distinct_rows) / static_cast<double>(report.degrees_of_freedom));
  std::vector<bool> seen(rows.units);
  for (std::size_t i = 0; i < observations.size(); ++i) {
    if (rows.row_of[i] == detail::no_row) continue;
    const std::uint32_t unit = rows.unit[rows.row_of[i]];
    if (seen[unit]) continue;
    seen[unit] = true;
    const runs::Observation& row = observations[i];
    out.log_residuals.push_back(std::log(row.loss / report.law.loss(row.parameters, row.tokens)) * scale);
  }
  std::sort(out.log_residuals.begin(), out.log_residuals.end());
  out.available = true;
  return out;
}

struct Prediction {
  Estimate loss;                     // of the curve
  Interval new_run;                  // of the loss that one further run reaches
  double extrapolation_decades = 0;  // of N or D beyond the fitted rows, whichever is farther
};

struct OptimumPrediction {
  Estimate parameters;               // N_opt
  Estimate tokens;                   // D_opt
  Estimate loss;                     // of the curve at its own optimum
  Estimate tokens_per_parameter;     // D_opt / N_opt
  double extrapolation_decades = 0;  // of the budget beyond the fitted FLOP
  std::size_t without_optimum = 0;   // replicates that have none (A, B or an exponent is zero); they are left out
};

namespace detail {

// The smallest t that at least `rank` of the sums x_i + u_j do not exceed, to 1e-14. Both ascending and not empty.
[[nodiscard]] inline double sum_of_rank(std::span<const double> x, std::span<const double> u, double rank) {
  const auto reaches = [&](double t) {
    std::size_t count = 0;
    std::size_t j = u.size();
    for (const double value : x) {
      while (j > 0 && value + u[j - 1] > t) --j;
      if (j == 0) break;
      count += j;
    }
    return static_cast<double>(count) >= rank;
  };
  double low = x.front() + u.front();
  double high = x.back() + u.back();
  if (reaches(low)) return low;
  while (high - low > 1e-14) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (reaches(middle) ? high : low) = middle;
  }
  return high;
}

// Of the spread of a rank among sums at t, the part that comes from having drawn only these u: the variance over u of the
// share of x with x + u <= t, over that of a single yes or no. 1 where x is one value, 0 where x is far wider than u.
[[nodiscard]] inline double part_of_noise(std::span<const double> x, std::span<const double> u, double t) {
  double sum = 0, squares = 0;
  std::size_t below = x.size();
  for (const double value : u) {
    while (below > 0 && x[below - 1] + value > t) --below;
    const double share = static_cast<double>(below) / static_cast<double>(x.size());
    sum += share;
    squares += share * share;
  }
  const double n = static_cast<double>(u.size());
  const double p = sum / n;
  return p > 0 && p < 1 ? std::max(0.0, squares / n - p * p) / (p * (1 - p)) : 1;
}

// The central interval of the sum of both: level of it within, tails alike.
[[nodiscard]] inline Interval interval_of_sums(const std::vector<double>& x, const std::vector<double>& u,
                                               double level) {
  const double n = static_cast<double>(u.size());
  const double pairs = n * static_cast<double>(x.size());
  const double tail = (1 - level) / 2;
  const auto interval = [&](double share) {
    const double rank = std::clamp(std::floor(std::max(0.0, share) * pairs) + 1, 1.0, pairs);
    return Interval{sum_of_rank(x, u, rank), sum_of_rank(x, u, pairs + 1 - rank), level};
  };
  const Interval plain = interval(tail);
  const double part = (part_of_noise(x, u, plain.low) + part_of_noise(x, u, plain.high)) / 2;
  return interval(tail - part * (0.5 - tail) / n);
}

inline void check_positive(double value, const char* where, const char* what, const std::string& text) {
  if (value > 0 && std::isfinite(value)) return;
  throw Error(Failure::usage, "out_of_range", where, std::string(what) + " must be positive and finite, got " + text);
}

}  // namespace detail

// range: of the rows that were fitted. boot and noise: of the same fit.
[[nodiscard]] inline Prediction predict(const BootstrapReport& boot, const RunNoise& noise, const law::FitRange& range,
                                        Parameters n, Tokens d, double level = 0.9) {
  detail::check_positive(n.value, "predict", "parameters", print(n));
  detail::check_positive(d.value, "predict", "tokens", print(d));
  const auto loss = [&](const law::Chinchilla<double>& law) { return law.loss(n.value, d.value); };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Prediction out{estimate(boot, loss, level), {nan, nan, level}, law::extrapolation_decades(range, n, d)};
  if (!boot.available || !noise.available) return out;
  std::vector<double> draws;
  draws.reserve(boot.laws.size());
  for (const law::Chinchilla<double>& law : boot.laws) draws.push_back(std::log(loss(law)));
  draws = bias_corrected_draws(std::move(draws), std::log(out.loss.value));
  const Interval log_loss = detail::interval_of_sums(draws, noise.log_residuals, level);
  out.new_run = {std::exp(log_loss.low), std::exp(log_loss.high), level};
  return out;
}

// Interval by interval, what the law says about spending `budget` = 6 N D best. Throws Error(no_answer) where the estimate
// has no optimum between all parameters and all tokens.
[[nodiscard]] inline OptimumPrediction compute_optimal(const BootstrapReport& boot, const law::FitRange& range,
                                                       Flop budget, double level = 0.9) {
  detail::check_positive(budget.value, "compute_optimal", "budget", print(budget));
  if (!has_optimum(boot.estimate)) {
    throw Error(Failure::no_answer, "no_optimum", "compute_optimal",
                "the optimum is interior only where A, B, alpha and beta are positive, got A " +
                    print_number(boot.estimate.parameter_coefficient, 6) + " and B " +
                    print_number(boot.estimate.token_coefficient, 6));
  }
  const auto of_optimum = [&](const auto& quantity) {
    return estimate(
        boot,
        [&](const law::Chinchilla<double>& law) {
          if (!has_optimum(law)) return std::numeric_limits<double>::quiet_NaN();
          const Allocation split = allocation(law);
          return quantity(law, split.parameters(budget).value, split.tokens(budget).value);
        },
        level);
  };
  using Law = law::Chinchilla<double>;
  OptimumPrediction out;
  out.parameters = of_optimum([](const Law&, double n, double) { return n; });
  out.tokens = of_optimum([](const Law&, double, double d) { return d; });
  out.loss = of_optimum([](const Law& law, double n, double d) { return law.loss(n, d); });
  out.tokens_per_parameter = of_optimum([](const Law&, double n, double d) { return d / n; });
  out.extrapolation_decades = law::decades_outside(budget.value, range.flop_low, range.flop_high);
  for (const Law& law : boot.laws) out.without_optimum += has_optimum(law) ? 0 : 1;
  return out;
}

}  // namespace floplan::fit
