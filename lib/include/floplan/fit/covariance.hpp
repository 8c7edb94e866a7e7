// SPDX-License-Identifier: BSD-3-Clause
//
// How far would the law move, from the shape of the objective alone: no resampling, microseconds.
//
// For theta = (ln A, ln B, ln E, alpha, beta), scores s_i = w_i psi(r_i) dr_i/dtheta, H the Hessian of SUM w rho(r):
//   inverse Hessian   tau H^-1,   tau = SUM w psi^2 / (n - p) / mean psi'      right if residuals are alike in all rows
//   sandwich          H^-1 (SUM over units of s s^T) H^-1 * n / (n - p)        right also if they are not
// n distinct rows, p free coefficients. With least squares tau is the residual variance per unit weight. The sums of s are
// over distinct rows or over groups. (Huber 1967; White 1980.)
//
// Standard errors of anything else by the delta method with a central difference; intervals are symmetric in the
// logarithm, since every quantity here is positive.
//
// Holds: a smooth objective with enough rows inside delta. Not available: least absolute deviations (no Hessian), no
// degrees of freedom, fewer than 2 p rows within Huber's delta.
// Pitfall: Huber's delta 1e-3 on noise of 1% leaves few rows inside, and the inverse Hessian is then noisy itself; the
// bootstrap is the better answer there.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/chinchilla_report.hpp"
#include "floplan/fit/detail/chinchilla_problem.hpp"
#include "floplan/fit/detail/chinchilla_rows.hpp"
#include "floplan/fit/detail/chinchilla_setup.hpp"
#include "floplan/fit/detail/normal.hpp"
#include "floplan/fit/detail/robust_scale.hpp"
#include "floplan/fit/detail/row_derivatives.hpp"
#include "floplan/fit/identifiability.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit {

// Of (ln A, ln B, ln E, alpha, beta); rows and columns of coefficients that are fixed or at a bound are zero.
using CovarianceMatrix = std::array<std::array<double, 5>, 5>;

struct CovarianceReport {
  bool available = false;
  std::string reason;  // empty where available
  law::Chinchilla<double> estimate;
  CovarianceMatrix inverse_hessian{};
  CovarianceMatrix sandwich{};
  std::size_t units = 0;  // distinct rows or groups whose scores were summed
};

namespace detail {

[[nodiscard]] inline CovarianceMatrix congruent(const CovarianceMatrix& left, const CovarianceMatrix& middle) {
  CovarianceMatrix half{}, out{};
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t k = 0; k < 5; ++k) half[i][j] += left[i][k] * middle[k][j];
    }
  }
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t k = 0; k < 5; ++k) out[i][j] += half[i][k] * left[j][k];
    }
  }
  return out;
}

}  // namespace detail

// observations and report: what chinchilla() was given and what it gave.
[[nodiscard]] inline CovarianceReport covariance(std::span<const runs::Observation> observations,
                                                 const ChinchillaReport& report,
                                                 ResampleUnit unit = ResampleUnit::rows) {
  CovarianceReport out;
  out.estimate = report.law;
  if (report.options.estimator.loss == Loss::least_absolute_deviations) {
    out.reason = "least absolute deviations have no Hessian; use the bootstrap";
    return out;
  }
  if (report.degrees_of_freedom == 0) {
    out.reason = "as many free coefficients as distinct rows";
    return out;
  }
  const detail::ChinchillaRows rows = detail::prepare_rows(observations, report.options);
  const detail::ChinchillaProblem problem = detail::make_problem(rows, report.options);
  const detail::Theta theta = detail::to_theta(report.law, rows);
  const detail::Mask held = detail::held_at(problem, theta);
  const detail::Units units = detail::units_of(rows, unit);
  out.units = units.count;
  const double clip = problem.clip();
  std::vector<detail::Theta> scores(units.count);
  for (std::size_t i = 0; i < rows.size; ++i) {
    const detail::RowDerivatives row = detail::row_derivatives(problem.rows, problem.estimator.residual, i, theta);
    const double psi = std::clamp(row.residual, -clip, clip);
    for (std::size_t k = 0; k < 5; ++k) scores[units.of_row[i]][k] += rows.weight[i] * psi * row.gradient[k];
  }
  const double freedom = static_cast<double>(report.degrees_of_freedom);
  const detail::RobustScale scale = detail::robust_scale(rows, problem, theta, freedom);
  CovarianceMatrix inverse{};
  if (scale.rows_inside < 2 * report.free_coefficients) {
    out.reason =
        "only " + std::to_string(scale.rows_inside) + " rows lie within delta; use the bootstrap or a wider delta";
    return out;
  }
  if (!detail::invert(problem.derivatives(theta, clip).hessian, held, inverse)) {
    out.reason = "the Hessian is not positive definite";
    return out;
  }
  CovarianceMatrix meat{};
  for (const detail::Theta& score : scores) {
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t k = 0; k < 5; ++k) meat[j][k] += held[j] || held[k] ? 0 : score[j] * score[k];
    }
  }
  const double n = static_cast<double>(report.distinct_rows);
  // From the centred coordinates to ln A = a + alpha ln N0, ln B = b + beta ln D0.
  CovarianceMatrix shift{};
  for (std::size_t k = 0; k < 5; ++k) shift[k][k] = 1;
  shift[0][3] = rows.log_parameters_shift;
  shift[1][4] = rows.log_tokens_shift;
  const CovarianceMatrix centred = detail::congruent(inverse, meat);
  out.inverse_hessian = detail::congruent(shift, inverse);
  out.sandwich = detail::congruent(shift, centred);
  for (std::size_t j = 0; j < 5; ++j) {
    for (std::size_t k = 0; k < 5; ++k) {
      out.inverse_hessian[j][k] *= scale.tau;
      out.sandwich[j][k] *= n / freedom;
    }
  }
  out.available = true;
  return out;
}

// quantity(law) -> positive double. nan ends where no covariance is available.
template <class Quantity>
[[nodiscard]] Estimate estimate(const CovarianceReport& report, const CovarianceMatrix& matrix,
                                const Quantity& quantity, double level = 0.9) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Estimate out{quantity(report.estimate), nan, {nan, nan, level}};
  if (!report.available) return out;
  const auto at = [&](std::size_t k, double step) {
    law::Chinchilla<double> law = report.estimate;
    if (k == 0) law.parameter_coefficient *= std::exp(step);
    if (k == 1) law.token_coefficient *= std::exp(step);
    if (k == 2) law.irreducible_loss *= std::exp(step);
    if (k == 3) law.parameter_exponent += step;
    if (k == 4) law.token_exponent += step;
    return quantity(law);
  };
  std::array<double, 5> slope{};
  for (std::size_t k = 0; k < 5; ++k) {
    constexpr double step = 1e-6;
    if (matrix[k][k] > 0) slope[k] = (at(k, step) - at(k, -step)) / (2 * step);
  }
  double variance = 0;
  for (std::size_t j = 0; j < 5; ++j) {
    for (std::size_t k = 0; k < 5; ++k) variance += slope[j] * matrix[j][k] * slope[k];
  }
  out.standard_error = std::sqrt(std::max(0.0, variance));
  const double reach = detail::normal_quantile((1 + level) / 2) * out.standard_error / out.value;
  out.interval = {out.value * std::exp(-reach), out.value * std::exp(reach), level};
  return out;
}

}  // namespace floplan::fit
