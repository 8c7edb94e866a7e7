// SPDX-License-Identifier: BSD-3-Clause
//
// What turns a rise of the objective into evidence.
//
//   tau = SUM w psi^2 / (n - p) / mean psi'        n distinct rows, p free coefficients, means by weight
//
// The covariance is tau H^-1, and 2 (F - F_min) / tau of a coefficient held off its optimum is a square of one standard
// normal, H and F those of SUM w rho with rho = r^2 / 2 near zero (Huber 1981, chapter 7). With least squares tau is the
// residual variance per unit weight.
//
// Pitfall: mean psi' is the share of rows within delta; with few of them tau is a guess, and callers refuse below 2 p.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "floplan/fit/detail/chinchilla_problem.hpp"
#include "floplan/fit/detail/chinchilla_rows.hpp"
#include "floplan/fit/detail/row_derivatives.hpp"

namespace floplan::fit::detail {

struct RobustScale {
  double tau = 0;
  std::size_t rows_inside = 0;
};

[[nodiscard]] inline RobustScale robust_scale(const ChinchillaRows& rows, const ChinchillaProblem& problem,
                                              const Theta& theta, double degrees_of_freedom) {
  const double clip = problem.clip();
  RobustScale out;
  double squares = 0;
  double inside = 0;
  for (std::size_t i = 0; i < rows.size; ++i) {
    const double r = row_derivatives(problem.rows, problem.estimator.residual, i, theta).residual;
    const double psi = std::clamp(r, -clip, clip);
    squares += rows.weight[i] * psi * psi;
    if (std::abs(r) <= clip) {
      inside += rows.weight[i];
      ++out.rows_inside;
    }
  }
  out.tau = squares / degrees_of_freedom / (inside / rows.total_weight);
  return out;
}

}  // namespace floplan::fit::detail
