// SPDX-License-Identifier: BSD-3-Clause
//
// The bottom of a basin: Newton's method with an exact Hessian, a box, and Levenberg damping that falls to zero.
//
//   (H + lambda T) s = -g,   theta <- clip(theta + s),   T_k = max(|H_kk|, F c_k^2), c_k what makes steps comparable
//
// Coordinates that are fixed, or at an end of the box with the gradient pointing out of it, are held. Their number is that
// of the derivatives' gradient: five in arrays for the Chinchilla form, any number in vectors for the others. With a
// Gauss-Newton Hessian the same steps are Levenberg and Marquardt's.
// lambda grows while a step fails or the Hessian is not positive definite, and shrinks to exactly 0 where steps keep
// their promise, so the end is quadratic: the last step is smaller than rounding.
//
// The stopping rule knows no scale. Converged means: the undamped step is below 1e-10 in coordinates that are logarithms
// or exponents times the spread of the data; or no step can lower F by more than F's own rounding error, which is
//   eps (min(sqrt(2 W F), W delta) + W min(eps, delta))     eps the rounding of one residual, W the total weight
// Sources: Marquardt 1963 (damping), Bertsekas 1982 (projected Newton).
//
// Pitfall: it finds the bottom of the basin it starts in. Which basin is the lowest is profile_grid.hpp's question.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "floplan/fit/detail/chinchilla_kernel.hpp"

namespace floplan::fit::detail {

using Mask = std::array<bool, 5>;

template <class Vector, class Flags>
struct BoxOf {
  Vector low{};
  Vector high{};
  Flags fixed{};
};
using Box = BoxOf<Theta, Mask>;

template <class Vector>
struct NewtonScaleOf {
  Vector step{};               // what makes a step in each coordinate comparable: 1, or the spread of x or y
  double residual_rounding{};  // eps: 4e-16 for log residuals, times the typical loss for raw ones
  double total_weight{};
  double delta{};

  // SUM w |psi| eps, with |psi| <= delta and SUM w psi^2 <= 2 F.
  [[nodiscard]] double objective_rounding(double value) const {
    return residual_rounding * (std::min(std::sqrt(2 * total_weight * std::abs(value)), total_weight * delta) +
                                total_weight * std::min(residual_rounding, delta));
  }
};
using NewtonScale = NewtonScaleOf<Theta>;

template <class D>
struct NewtonReportOf {
  decltype(D::gradient) theta{};
  D at;
  int evaluations = 0;
  bool converged = false;
};
using NewtonReport = NewtonReportOf<Derivatives>;

// Solves (H + lambda T) s = -g over the coordinates not held; false where the matrix is not positive definite. The floor
// F c^2 of T is there for rows that all lie outside delta, where raw residuals leave E no curvature at all.
template <class D, class Flags, class Vector>
[[nodiscard]] bool newton_step(const D& at, const Flags& held, double lambda, const Vector& comparable, Vector& step) {
  const std::size_t size = at.gradient.size();
  auto l = at.hessian;
  for (auto& row : l) std::fill(row.begin(), row.end(), 0.0);
  for (std::size_t j = 0; j < size; ++j) {
    step[j] = 0;
    if (held[j]) continue;
    const double diagonal = std::max(std::abs(at.hessian[j][j]), at.value * comparable[j] * comparable[j]);
    double pivot = at.hessian[j][j] + lambda * diagonal;
    for (std::size_t k = 0; k < j; ++k) pivot -= l[j][k] * l[j][k];
    // A pivot that cancelled to rounding is no evidence of curvature.
    if (!(pivot > 4e-16 * diagonal) || !(pivot > 0)) return false;
    l[j][j] = std::sqrt(pivot);
    for (std::size_t i = j + 1; i < size; ++i) {
      if (held[i]) continue;
      double sum = at.hessian[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      l[i][j] = sum / l[j][j];
    }
  }
  for (std::size_t j = 0; j < size; ++j) {
    if (held[j]) continue;
    double sum = -at.gradient[j];
    for (std::size_t k = 0; k < j; ++k) sum -= l[j][k] * step[k];
    step[j] = sum / l[j][j];
  }
  for (std::size_t j = size; j-- > 0;) {
    if (held[j]) continue;
    for (std::size_t k = j + 1; k < size; ++k) step[j] -= l[k][j] * step[k];
    step[j] /= l[j][j];
  }
  return true;
}

// objective(theta) -> derivatives with the Hessian. stop(theta, gradient) -> true ends the search early, not converged.
template <class Objective, class Vector, class Flags, class Stop>
[[nodiscard]] auto newton(const Objective& objective, const BoxOf<Vector, Flags>& box,
                          const NewtonScaleOf<Vector>& scale, Vector theta, int max_evaluations, const Stop& stop) {
  NewtonReportOf<decltype(objective(theta))> out;
  const std::size_t count = theta.size();
  for (std::size_t k = 0; k < count; ++k) theta[k] = std::clamp(theta[k], box.low[k], box.high[k]);
  out.theta = theta;
  out.at = objective(theta);
  out.evaluations = 1;
  double lambda = 0;
  int unmeasurable = 0;
  while (out.evaluations < max_evaluations) {
    if (stop(out.theta, out.at.gradient)) return out;
    Flags held = box.fixed;
    for (std::size_t k = 0; k < count; ++k) {
      held[k] = held[k] || (out.theta[k] <= box.low[k] && out.at.gradient[k] >= 0) ||
                (out.theta[k] >= box.high[k] && out.at.gradient[k] <= 0);
    }
    Vector step = theta;
    while (!newton_step(out.at, held, lambda, scale.step, step)) {
      lambda = std::max(10 * lambda, 1e-3);
      if (lambda > 1e12) return out;
    }
    Vector next = out.theta;
    double size = 0;
    double gain = 0;  // that the quadratic model promises
    for (std::size_t k = 0; k < count; ++k) {
      step[k] = std::clamp(step[k], -8.0, 8.0);
      next[k] = std::clamp(out.theta[k] + step[k], box.low[k], box.high[k]);
      step[k] = next[k] - out.theta[k];
      size = std::max(size, std::abs(step[k]) * scale.step[k]);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (held[i]) continue;
      double row = 0;
      for (std::size_t j = 0; j < count; ++j) row += held[j] ? 0 : out.at.hessian[i][j] * step[j];
      gain -= step[i] * (out.at.gradient[i] + row / 2);
    }
    const double rounding = scale.objective_rounding(out.at.value);
    const auto at = objective(next);
    ++out.evaluations;
    const bool last = size <= 1e-10 && lambda == 0;
    if (last || std::abs(gain) <= rounding) {
      if (at.value <= out.at.value + rounding) {
        out.theta = next;
        out.at = at;
      }
      if (last || ++unmeasurable == 3) {
        out.converged = true;
        return out;
      }
      lambda = 0;
      continue;
    }
    unmeasurable = 0;
    const double ratio = (out.at.value - at.value) / gain;
    if (at.value < out.at.value) {
      out.theta = next;
      out.at = at;
      if (ratio > 0.75) lambda = lambda > 1e-6 ? lambda / 10 : 0;
      if (ratio < 0.25) lambda = std::max(4 * lambda, 1e-4);
    } else {
      lambda = std::max(8 * lambda, 1e-4);
      if (lambda > 1e12) return out;
    }
  }
  return out;
}

}  // namespace floplan::fit::detail
