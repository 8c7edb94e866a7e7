// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the rows can tell the coefficients apart.
//
//   information  M = SUM w J J^T over all rows, J = dr/d(a, b, e, alpha, beta)
//   scaled       M_jk / sqrt(M_jj M_kk), whose eigenvalues are those of a correlation matrix: they sum to the number of
//                free coefficients, and the smallest says how nearly one direction leaves every residual alone
//
// M depends on which N and D were run, on the law, and not on the noise or the loss function. Its condition number
// (largest over smallest eigenvalue) is 1e3 to 1e6 for designs that people run; above 1e12 the direction is lost in
// rounding: the coefficients are not identified (one D throughout: B, beta and E only enter together).
//
// With a residual sd, sd sqrt(M^-1_kk) is the standard error that least squares would have; an exponent within 1.645 of
// those of zero lies in a flat valley: the fit is a number, and no evidence for it.
//
// Pitfall: identified is not accurate. Intervals are the bootstrap's business.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "floplan/fit/detail/chinchilla_kernel.hpp"
#include "floplan/fit/detail/newton.hpp"

namespace floplan::fit {

struct Identifiability {
  bool identifiable = true;
  double condition = 1;             // of the scaled information
  std::vector<double> eigenvalues;  // of the same, ascending, one a free coefficient
  std::string reason;               // empty where identifiable
};

namespace detail {

using Matrix5 = std::array<std::array<double, 5>, 5>;

// SUM over rows of factor_i J J^T; factor(i, r) is given the row and its residual.
template <class Factor>
[[nodiscard]] Matrix5 outer_products(const KernelRows& rows, Residual residual, const Theta& theta,
                                     const Factor& factor) {
  Matrix5 out{};
  for (std::size_t i = 0; i < rows.packs * pack_size; ++i) {
    if (!(rows.weight[i] > 0)) continue;
    const double q1 = std::exp(theta[0] - theta[3] * rows.x[i]);
    const double q2 = std::exp(theta[1] - theta[4] * rows.y[i]);
    const double q3 = std::exp(theta[2]);
    const double s = q1 + q2 + q3;
    const bool is_log = residual == Residual::log;
    const double r = is_log ? std::log(s * rows.observed[i]) : s - rows.observed[i];
    const double c = factor(i, r) / (is_log ? s * s : 1);
    const Theta j = {q1, q2, q3, -rows.x[i] * q1, -rows.y[i] * q2};
    for (std::size_t m = 0; m < 5; ++m) {
      for (std::size_t n = m; n < 5; ++n) out[m][n] += c * j[m] * j[n];
    }
  }
  for (std::size_t m = 0; m < 5; ++m) {
    for (std::size_t n = 0; n < m; ++n) out[m][n] = out[n][m];
  }
  return out;
}

// Eigenvalues of a small symmetric matrix, ascending, by cyclic Jacobi rotations.
[[nodiscard]] inline std::vector<double> symmetric_eigenvalues(Matrix5 m, std::size_t n) {
  for (int sweep = 0; sweep < 50; ++sweep) {
    double off = 0;
    for (std::size_t p = 0; p < n; ++p) {
      for (std::size_t q = p + 1; q < n; ++q) {
        off = std::max(off, std::abs(m[p][q]));
        if (m[p][q] == 0) continue;
        const double tau = (m[q][q] - m[p][p]) / (2 * m[p][q]);
        const double t = (tau >= 0 ? 1 : -1) / (std::abs(tau) + std::sqrt(1 + tau * tau));
        const double c = 1 / std::sqrt(1 + t * t);
        const double s = t * c;
        for (std::size_t k = 0; k < n; ++k) {
          const double kp = m[k][p];
          const double kq = m[k][q];
          m[k][p] = c * kp - s * kq;
          m[k][q] = s * kp + c * kq;
        }
        for (std::size_t k = 0; k < n; ++k) {
          const double pk = m[p][k];
          const double qk = m[q][k];
          m[p][k] = c * pk - s * qk;
          m[q][k] = s * pk + c * qk;
        }
      }
    }
    if (off < 1e-17) break;
  }
  std::vector<double> out;
  for (std::size_t k = 0; k < n; ++k) out.push_back(m[k][k]);
  std::sort(out.begin(), out.end());
  return out;
}

// Inverse over the coordinates not held (zero elsewhere); false where not positive definite.
[[nodiscard]] inline bool invert(const Matrix5& m, const Mask& held, Matrix5& out) {
  Derivatives system;
  system.hessian = m;
  for (std::size_t k = 0; k < 5; ++k) {
    out[k] = {};
    if (held[k]) continue;
    system.gradient = {};
    system.gradient[k] = -1;
    if (!newton_step(system, held, 0, {}, out[k])) return false;
  }
  return true;
}

[[nodiscard]] inline Identifiability identifiability(const Matrix5& information, const Mask& held) {
  std::vector<std::size_t> free;
  for (std::size_t k = 0; k < 5; ++k) {
    if (!held[k]) free.push_back(k);
  }
  Matrix5 scaled{};
  for (std::size_t j = 0; j < free.size(); ++j) {
    for (std::size_t k = 0; k < free.size(); ++k) {
      const double size = std::sqrt(information[free[j]][free[j]] * information[free[k]][free[k]]);
      scaled[j][k] = size > 0 ? information[free[j]][free[k]] / size : 0;
    }
  }
  Identifiability out;
  out.eigenvalues = symmetric_eigenvalues(scaled, free.size());
  if (free.empty()) return out;
  const double smallest = std::max(out.eigenvalues.front(), 1e-300);
  out.condition = out.eigenvalues.back() / smallest;
  out.identifiable = out.condition < 1e12;
  return out;
}

}  // namespace detail
}  // namespace floplan::fit
