// SPDX-License-Identifier: BSD-3-Clause
//
// Down a valley that is too narrow for Newton: Gauss and Newton's method in the two exponents alone.
//
//   minimise over (alpha, beta) the |t - Phi c|^2 that is left when c = (A, B, E) is the best for them:
//   Phi = s (exp(-alpha x), exp(-beta y), 1), t = s L, s = sqrt(w) / L (log residuals) or sqrt(w) (raw)
//
// Where E is a small share of the losses and the exponents are small, the three columns are nearly one: all five
// coefficients must move together along a curve a millionth as wide as it is long, and Newton in five coordinates stops
// on its wall. Projected on the exponents the same problem is smooth. The columns are made orthogonal (Gram and Schmidt,
// twice), never squared, so that the residual is good to rounding; the slope is Kaufman's (1975): P (dPhi c), P the
// projection off the columns.
//
// The answer is a start: of least squares of the relative residual, and only where all three coefficients are positive.
// Cost: some 30 passes over the rows.
// Pitfall: c may be negative on the way; that is why the way is open.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "floplan/fit/detail/chinchilla_kernel.hpp"
#include "floplan/fit/detail/chinchilla_problem.hpp"
#include "floplan/fit/estimator.hpp"

namespace floplan::fit::detail {

class ProjectedProblem {
 public:
  using Column = std::vector<double>;
  struct Point {
    double alpha = 0, beta = 0;
    Triple coefficients{};
    double value = std::numeric_limits<double>::infinity();
    std::array<double, 2> slope{};             // J' r
    std::array<std::array<double, 2>, 2> g{};  // J' J
  };

  explicit ProjectedProblem(const ChinchillaProblem& problem) {
    const KernelRows& rows = problem.rows;
    for (std::size_t i = 0; i < rows.packs * pack_size; ++i) {
      if (!(rows.weight[i] > 0)) continue;
      const bool log = problem.estimator.residual == Residual::log;
      x_.push_back(rows.x[i]);
      y_.push_back(rows.y[i]);
      scale_.push_back(std::sqrt(rows.weight[i]) * (log ? rows.observed[i] : 1));
      // As the kernel sees it: an observed loss of 1 / (1 / L), whose rounding is then the same in both.
      target_.push_back(log ? std::sqrt(rows.weight[i]) : scale_.back() * rows.observed[i]);
    }
  }

  // Infinite where the columns are one to the last digit.
  [[nodiscard]] Point at(double alpha, double beta) const {
    Point out;
    out.alpha = alpha;
    out.beta = beta;
    const std::size_t n = x_.size();
    std::array<Column, 3> q = {Column(n), Column(n), scale_};
    for (std::size_t i = 0; i < n; ++i) {
      q[0][i] = scale_[i] * std::exp(-alpha * x_[i]);
      q[1][i] = scale_[i] * std::exp(-beta * y_[i]);
    }
    Column d_alpha(n), d_beta(n);
    for (std::size_t i = 0; i < n; ++i) {
      d_alpha[i] = x_[i] * q[0][i];
      d_beta[i] = y_[i] * q[1][i];
    }
    std::array<Triple, 3> r{};
    for (std::size_t k = 0; k < 3; ++k) {
      const double before = norm(q[k]);
      for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t j = 0; j < k; ++j) r[j][k] += remove(q[j], q[k]);
      }
      r[k][k] = norm(q[k]);
      if (!(r[k][k] > 1e-15 * before)) return out;
      for (double& value : q[k]) value /= r[k][k];
    }
    Column left = target_;
    Triple h{};
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t k = 0; k < 3; ++k) h[k] += remove(q[k], left);
    }
    for (std::size_t k = 3; k-- > 0;) {
      double sum = h[k];
      for (std::size_t j = k + 1; j < 3; ++j) sum -= r[k][j] * out.coefficients[j];
      out.coefficients[k] = sum / r[k][k];
    }
    out.value = dot(left, left);
    std::array<Column, 2> slopes = {std::move(d_alpha), std::move(d_beta)};
    for (std::size_t k = 0; k < 2; ++k) {
      for (double& value : slopes[k]) value *= out.coefficients[k];
      for (int pass = 0; pass < 2; ++pass) {
        for (const Column& column : q) (void)remove(column, slopes[k]);
      }
    }
    for (std::size_t j = 0; j < 2; ++j) {
      out.slope[j] = dot(slopes[j], left);
      for (std::size_t k = 0; k < 2; ++k) out.g[j][k] = dot(slopes[j], slopes[k]);
    }
    return out;
  }

 private:
  static double dot(const Column& a, const Column& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }
  static double norm(const Column& a) { return std::sqrt(dot(a, a)); }
  // Takes the share of the unit column out of another, and returns it.
  static double remove(const Column& unit, Column& from) {
    const double share = dot(unit, from);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] -= share * unit[i];
    return share;
  }

  Column x_, y_, scale_, target_;
};

// From these exponents to the bottom; nothing where a coefficient is not positive there, or an exponent is fixed.
[[nodiscard]] inline std::optional<Theta> descend_projected(const ChinchillaProblem& problem, double alpha, double beta,
                                                            int& evaluations) {
  const Box& box = problem.box;
  for (std::size_t k = 0; k < 5; ++k) {
    if (box.fixed[k]) return std::nullopt;
  }
  const ProjectedProblem projected(problem);
  ProjectedProblem::Point here = projected.at(alpha, beta);
  double lambda = 1e-3;
  for (int step = 0; step < 60 && lambda < 1e12; ++step) {
    const double g00 = here.g[0][0] * (1 + lambda), g11 = here.g[1][1] * (1 + lambda), g01 = here.g[0][1];
    const double determinant = g00 * g11 - g01 * g01;
    if (!(determinant > 0)) break;
    const double next_alpha =
        std::clamp(here.alpha - (g11 * here.slope[0] - g01 * here.slope[1]) / determinant, box.low[3], box.high[3]);
    const double next_beta =
        std::clamp(here.beta - (g00 * here.slope[1] - g01 * here.slope[0]) / determinant, box.low[4], box.high[4]);
    const ProjectedProblem::Point next = projected.at(next_alpha, next_beta);
    ++evaluations;
    if (next.value < here.value) {
      const bool done = here.value - next.value <= 1e-10 * here.value;
      here = next;
      lambda /= 10;
      if (done) break;
    } else {
      lambda *= 8;
    }
  }
  Theta out = {0, 0, 0, here.alpha, here.beta};
  for (std::size_t k = 0; k < 3; ++k) {
    if (!(here.coefficients[k] > 0)) return std::nullopt;
    out[k] = std::log(here.coefficients[k]);
  }
  return out;
}

}  // namespace floplan::fit::detail
