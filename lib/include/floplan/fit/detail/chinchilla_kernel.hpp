// SPDX-License-Identifier: BSD-3-Clause
//
// Value, gradient and exact Hessian of a Chinchilla fit's objective, eight rows at a time.
//
//   S_i = exp(a - alpha x_i) + exp(b - beta y_i) + exp(e)     x, y: ln N, ln D less a common shift
//   r_i = ln(S_i / L_i)   or   S_i - L_i
//   F   = SUM w_i rho(r_i),   rho = r^2 / 2 within delta, delta (|r| - delta / 2) beyond it
//
// theta = (a, b, e, alpha, beta). With t = the three terms of S, q = t / S (log) or t (raw), and
// J = (q1, q2, q3, -x q1, -y q2), the derivatives are
//   gradient = SUM w psi J
//   Hessian  = SUM w (psi' - kappa psi) J J^T + SUM w psi M^T diag(q) M        kappa = 1 (log) or 0 (raw)
// where M is dz/dtheta of the three exponents z. psi = r clipped to [-delta, delta]; a huge delta is least squares.
//
// Cost: 240 rows with AVX-512, 1.2 us, with the Hessian 2.1 us (tools/bench/fit_bench.cpp). The lane width is fixed and
// lanes are added in a fixed order, so the bits do not depend on the machine.
//
// Pitfall: |a - alpha x|, |b - beta y| and |e| must stay below 700; the box of chinchilla_setup.hpp sees to that. rho
// here is r^2 / 2 for least squares; reports print the SSR, its double.
#pragma once

#include <array>
#include <cstddef>
#include <limits>

#include "floplan/fit/detail/pack.hpp"
#include "floplan/fit/estimator.hpp"

namespace floplan::fit::detail {

using Theta = std::array<double, 5>;  // a, b, e, alpha, beta

// Columns padded to a whole number of packs with rows of weight 0.
struct KernelRows {
  const double* x = nullptr;         // ln N - shift
  const double* y = nullptr;         // ln D - shift
  const double* observed = nullptr;  // 1 / L for log residuals, L for raw ones
  const double* weight = nullptr;
  std::size_t packs = 0;
};

struct Derivatives {
  double value = 0;
  Theta gradient{};
  std::array<std::array<double, 5>, 5> hessian{};
};

template <bool is_log, bool with_hessian>
[[nodiscard]] Derivatives evaluate(const KernelRows& rows, const Theta& theta, double delta) {
  constexpr std::size_t sums = with_hessian ? 23 : 6;
  constexpr std::size_t block = 512;  // packs; partial sums of 4,096 rows keep rounding from growing with the row count
  Pack total[sums] = {};
  Pack shift{};
  Pack irreducible{};
  shift += theta[2];
  exp_pack(shift, irreducible);
  for (std::size_t begin = 0; begin < rows.packs; begin += block) {
    const std::size_t end = begin + block < rows.packs ? begin + block : rows.packs;
    Pack acc[sums] = {};
    for (std::size_t i = begin; i < end; ++i) {
      Pack x, y, observed, weight, t1, t2;
      load_pack(rows.x + i * pack_size, x);
      load_pack(rows.y + i * pack_size, y);
      load_pack(rows.observed + i * pack_size, observed);
      load_pack(rows.weight + i * pack_size, weight);
      exp_pack(theta[0] - theta[3] * x, t1);
      exp_pack(theta[1] - theta[4] * y, t2);
      const Pack s = t1 + t2 + irreducible;
      Pack r, q3 = irreducible;
      if constexpr (is_log) {
        log_pack(s * observed, r);
        const Pack inverse = 1.0 / s;
        t1 *= inverse;
        t2 *= inverse;
        q3 *= inverse;
      } else {
        r = s - observed;
      }
      Pack psi = r > delta ? Pack{} + delta : r;
      psi = psi < -delta ? Pack{} - delta : psi;
      const Pack d = weight * psi;
      const Pack xq = x * t1;
      const Pack yq = y * t2;
      acc[0] += d * (r - 0.5 * psi);
      const Pack dq1 = d * t1;
      const Pack dq2 = d * t2;
      const Pack dxq = d * xq;
      const Pack dyq = d * yq;
      acc[1] += dq1;
      acc[2] += dq2;
      acc[3] += d * q3;
      acc[4] += dxq;
      acc[5] += dyq;
      if constexpr (with_hessian) {
        Pack c = r == psi ? weight : Pack{};
        if constexpr (is_log) c -= d;
        acc[6] += x * dxq;
        acc[7] += y * dyq;
        const Pack c1 = c * t1;
        const Pack c2 = c * t2;
        const Pack c3 = c * q3;
        const Pack cx = c * xq;
        const Pack cy = c * yq;
        acc[8] += c1 * t1;
        acc[9] += c1 * t2;
        acc[10] += c1 * q3;
        acc[11] += c1 * xq;
        acc[12] += c1 * yq;
        acc[13] += c2 * t2;
        acc[14] += c2 * q3;
        acc[15] += c2 * xq;
        acc[16] += c2 * yq;
        acc[17] += c3 * q3;
        acc[18] += c3 * xq;
        acc[19] += c3 * yq;
        acc[20] += cx * xq;
        acc[21] += cx * yq;
        acc[22] += cy * yq;
      }
    }
    for (std::size_t k = 0; k < sums; ++k) total[k] += acc[k];
  }
  std::array<double, sums> sum{};
  for (std::size_t k = 0; k < sums; ++k) sum[k] = sum_of_pack(total[k]);
  Derivatives out;
  out.value = sum[0];
  out.gradient = {sum[1], sum[2], sum[3], -sum[4], -sum[5]};
  if constexpr (with_hessian) {
    // The upper triangle, row by row; columns 3 and 4 of J carry a minus sign.
    const std::array<std::array<double, 5>, 5> upper = {{
        {sum[8] + sum[1], sum[9], sum[10], -(sum[11] + sum[4]), -sum[12]},
        {0, sum[13] + sum[2], sum[14], -sum[15], -(sum[16] + sum[5])},
        {0, 0, sum[17] + sum[3], -sum[18], -sum[19]},
        {0, 0, 0, sum[20] + sum[6], sum[21]},
        {0, 0, 0, 0, sum[22] + sum[7]},
    }};
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = i; j < 5; ++j) out.hessian[i][j] = out.hessian[j][i] = upper[i][j];
    }
  }
  return out;
}

template <bool with_hessian>
[[nodiscard]] Derivatives evaluate(const KernelRows& rows, Residual residual, const Theta& theta, double delta) {
  return residual == Residual::log ? evaluate<true, with_hessian>(rows, theta, delta)
                                   : evaluate<false, with_hessian>(rows, theta, delta);
}

// Residual of every row, in the rows' order; `out` has room for packs * pack_size values.
inline void residuals(const KernelRows& rows, Residual residual, const Theta& theta, double* out) {
  Pack level{};
  Pack irreducible{};
  level += theta[2];
  exp_pack(level, irreducible);
  for (std::size_t i = 0; i < rows.packs; ++i) {
    Pack x, y, observed, t1, t2, r;
    load_pack(rows.x + i * pack_size, x);
    load_pack(rows.y + i * pack_size, y);
    load_pack(rows.observed + i * pack_size, observed);
    exp_pack(theta[0] - theta[3] * x, t1);
    exp_pack(theta[1] - theta[4] * y, t2);
    const Pack s = t1 + t2 + irreducible;
    if (residual == Residual::log) {
      log_pack(s * observed, r);
    } else {
      r = s - observed;
    }
    store_pack(r, out + i * pack_size);
  }
}

}  // namespace floplan::fit::detail
