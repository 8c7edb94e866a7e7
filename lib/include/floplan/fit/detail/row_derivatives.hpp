// SPDX-License-Identifier: BSD-3-Clause
//
// One row's residual with its derivatives, in plain arithmetic, and the small dense systems that they go into.
//
//   r = ln(S / L) or S - L,   J = dr/dtheta = (q1, q2, q3, -x q1, -y q2),   second derivatives as in chinchilla_kernel.hpp
//
// For the few rows or the few passes where the kernel's sums over all rows are not what is wanted.
// Pitfall: about ten times slower a row than the kernel; keep it out of loops over iterations.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "floplan/fit/detail/chinchilla_kernel.hpp"
#include "floplan/fit/estimator.hpp"

namespace floplan::fit::detail {

struct RowDerivatives {
  double residual = 0;
  Theta gradient{};
  std::array<std::array<double, 5>, 5> hessian{};
};

// One row, in plain arithmetic.
[[nodiscard]] inline RowDerivatives row_derivatives(const KernelRows& rows, Residual residual, std::size_t i,
                                                    const Theta& theta) {
  const double x = rows.x[i];
  const double y = rows.y[i];
  std::array<double, 3> q = {std::exp(theta[0] - theta[3] * x), std::exp(theta[1] - theta[4] * y), std::exp(theta[2])};
  const double s = q[0] + q[1] + q[2];
  const bool is_log = residual == Residual::log;
  RowDerivatives out;
  out.residual = is_log ? std::log(s * rows.observed[i]) : s - rows.observed[i];
  if (is_log) {
    for (double& share : q) share /= s;
  }
  out.gradient = {q[0], q[1], q[2], -x * q[0], -y * q[1]};
  if (is_log) {
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t k = 0; k < 5; ++k) out.hessian[j][k] = -out.gradient[j] * out.gradient[k];
    }
  }
  out.hessian[0][0] += q[0];
  out.hessian[1][1] += q[1];
  out.hessian[2][2] += q[2];
  out.hessian[0][3] -= x * q[0];
  out.hessian[3][0] -= x * q[0];
  out.hessian[1][4] -= y * q[1];
  out.hessian[4][1] -= y * q[1];
  out.hessian[3][3] += x * x * q[0];
  out.hessian[4][4] += y * y * q[1];
  return out;
}

// Gaussian elimination with partial pivoting, at most 10 unknowns; false where singular.
[[nodiscard]] inline bool solve_dense(std::array<std::array<double, 11>, 10>& m, std::size_t n,
                                      std::array<double, 10>& out) {
  for (std::size_t column = 0; column < n; ++column) {
    std::size_t pivot = column;
    for (std::size_t i = column + 1; i < n; ++i) {
      if (std::abs(m[i][column]) > std::abs(m[pivot][column])) pivot = i;
    }
    if (!(std::abs(m[pivot][column]) > 0) || !std::isfinite(m[pivot][column])) return false;
    std::swap(m[pivot], m[column]);
    for (std::size_t i = column + 1; i < n; ++i) {
      const double factor = m[i][column] / m[column][column];
      for (std::size_t j = column; j < n; ++j) m[i][j] -= factor * m[column][j];
      m[i][10] -= factor * m[column][10];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    double sum = m[i][10];
    for (std::size_t j = i + 1; j < n; ++j) sum -= m[i][j] * out[j];
    out[i] = sum / m[i][i];
  }
  return true;
}

}  // namespace floplan::fit::detail
