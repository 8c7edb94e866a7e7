// SPDX-License-Identifier: BSD-3-Clause
//
// From ChinchillaOptions to the minimisation that they ask for, and between a law and its coordinates.
//
//   theta = (ln A - alpha ln N0, ln B - beta ln D0, ln E, alpha, beta)      N0, D0: shifts of the prepared rows
//
// Coefficients are named and ordered A, B, E, alpha, beta inside the fit, as theta is.
//
// Pitfall: bounds on A or B are about N and D in units of one, so they need rows that were prepared without a shift;
// prepare_rows(observations, options) sees to that.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/chinchilla_report.hpp"
#include "floplan/fit/detail/chinchilla_problem.hpp"
#include "floplan/fit/detail/chinchilla_rows.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit::detail {

inline constexpr std::array<const char*, 5> coefficient_names = {"A", "B", "E", "alpha", "beta"};

[[nodiscard]] inline std::array<Bounds, 5> in_order(const ChinchillaBounds& b) {
  return {b.parameter_coefficient, b.token_coefficient, b.irreducible_loss, b.parameter_exponent, b.token_exponent};
}

inline void check(const ChinchillaOptions& options) {
  check(options.estimator, "fit");
  const std::array<Bounds, 5> bounds = in_order(options.bounds);
  for (std::size_t k = 0; k < 5; ++k) {
    const Bounds b = bounds[k];
    const bool exponent = k >= 3;
    if (b.low >= 0 && b.low <= b.high && std::isfinite(b.low) && (!exponent || (b.low > 0 && b.high <= 10))) continue;
    throw Error(Failure::usage, "out_of_range", "fit",
                std::string("bounds of ") + coefficient_names[k] +
                    (exponent ? " must satisfy 0 < low <= high <= 10" : " must satisfy 0 <= low <= high") + ", got " +
                    print_number(b.low, 6) + " to " + print_number(b.high, 6));
  }
}

[[nodiscard]] inline bool is_default(const Bounds& b) { return b == Bounds(); }

[[nodiscard]] inline ChinchillaProblem make_problem(const ChinchillaRows& rows, const ChinchillaOptions& options) {
  ChinchillaProblem out;
  out.rows = rows.kernel();
  out.data = &rows;
  out.estimator = options.estimator;
  const std::array<Bounds, 5> bounds = in_order(options.bounds);
  const auto level = [](double c) { return c > 0 ? std::clamp(std::log(c), zero_level, -zero_level) : zero_level; };
  const auto reach = [&rows](const std::vector<double>& column) {
    double out_value = 0;
    for (std::size_t i = 0; i < rows.size; ++i) out_value = std::max(out_value, std::abs(column[i]));
    return out_value;
  };
  for (std::size_t k = 0; k < 5; ++k) {
    out.box.fixed[k] = bounds[k].low == bounds[k].high;
    if (k < 3) {
      out.box.low[k] = level(bounds[k].low);
      out.box.high[k] = level(bounds[k].high);
      out.low[k] = bounds[k].low;
      out.high[k] = bounds[k].high;
      continue;
    }
    // |a - alpha x| must stay within the kernel's range.
    const double limit = 390 / std::max(1.0, reach(k == 3 ? rows.x : rows.y));
    out.box.low[k] = std::min(bounds[k].low, limit);
    out.box.high[k] = std::min(bounds[k].high, limit);
    // Without its term an exponent is not a coefficient of the law.
    if (bounds[k - 3] == Bounds::fixed(0)) out.box.fixed[k] = true;
  }
  const auto spread = [&rows](const std::vector<double>& column) {
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < rows.size; ++i) mean += column[i] / static_cast<double>(rows.size);
    for (std::size_t i = 0; i < rows.size; ++i) square += (column[i] - mean) * (column[i] - mean);
    return std::sqrt(square / static_cast<double>(rows.size));
  };
  out.scale.step = {1, 1, 1, std::max(spread(rows.x), 1e-3), std::max(spread(rows.y), 1e-3)};
  out.scale.residual_rounding = 4e-16 * (options.estimator.residual == Residual::log ? 1 : rows.mean_loss) *
                                (rows.log_parameters_shift == 0 || rows.log_tokens_shift == 0 ? 10 : 1);
  out.scale.total_weight = rows.total_weight;
  const auto columns = [&rows](const std::vector<double>& column) {
    return *std::min_element(column.begin(), column.begin() + static_cast<std::ptrdiff_t>(rows.size));
  };
  out.lowest_x = columns(rows.x);
  out.lowest_y = columns(rows.y);
  return out;
}

[[nodiscard]] inline ChinchillaRows prepare_rows(std::span<const runs::Observation> observations,
                                                 const ChinchillaOptions& options) {
  return prepare_rows(observations, options.estimator.residual, is_default(options.bounds.parameter_coefficient),
                      is_default(options.bounds.token_coefficient));
}

[[nodiscard]] inline law::Chinchilla<double> to_law(const Theta& theta, const ChinchillaRows& rows) {
  const auto coefficient = [](double level, double shifted) { return level <= zero_level ? 0 : std::exp(shifted); };
  return {coefficient(theta[2], theta[2]), coefficient(theta[0], theta[0] + theta[3] * rows.log_parameters_shift),
          coefficient(theta[1], theta[1] + theta[4] * rows.log_tokens_shift), theta[3], theta[4]};
}

[[nodiscard]] inline Theta to_theta(const law::Chinchilla<double>& law, const ChinchillaRows& rows) {
  const auto level = [](double c, double shift) {
    return c > 0 ? std::clamp(std::log(c) - shift, zero_level, -zero_level) : zero_level;
  };
  return {level(law.parameter_coefficient, law.parameter_exponent * rows.log_parameters_shift),
          level(law.token_coefficient, law.token_exponent * rows.log_tokens_shift), level(law.irreducible_loss, 0),
          law.parameter_exponent, law.token_exponent};
}

// Coordinates that linear algebra leaves out: fixed, at an end of the box, or the exponent of a vanished term.
[[nodiscard]] inline Mask held_at(const ChinchillaProblem& problem, const Theta& theta) {
  Mask held = problem.box.fixed;
  for (std::size_t k = 0; k < 5; ++k) {
    held[k] = held[k] || theta[k] <= problem.box.low[k] || theta[k] >= problem.box.high[k] ||
              (k >= 3 && theta[k - 3] <= zero_level);
  }
  return held;
}

}  // namespace floplan::fit::detail
