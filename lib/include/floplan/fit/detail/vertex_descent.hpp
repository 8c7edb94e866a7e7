// SPDX-License-Identifier: BSD-3-Clause
//
// From vertex to vertex down SUM w |r|, until the multipliers prove the optimum.
//
// A vertex is a law that passes exactly through as many rows Z as there are free coefficients. With g the gradient of the
// other rows' sum, J_Z' lambda = -g: the vertex is optimal if |lambda_i| <= w_i for all of Z. If not, the row with the
// largest |lambda| / w leaves, and along the edge that keeps the others at zero the sum falls until enough rows have
// changed sign: a weighted median of -r_i / (J_i d) finds the row that enters. Newton on r_Z = 0 then corrects for the
// curvature of the law. For linear models this is the classical simplex method (Barrodale and Roberts 1973).
//
// Gives nothing where the way down does not end in a vertex: where curvature rather than a row decides one direction, the
// optimum has fewer rows at zero, and least_absolute.hpp's other ending applies.
// Pitfall: rows of equal derivatives (copies that were not merged) cannot share a vertex; the choice of Z skips them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "floplan/fit/detail/chinchilla_kernel.hpp"
#include "floplan/fit/detail/chinchilla_problem.hpp"
#include "floplan/fit/detail/row_derivatives.hpp"

namespace floplan::fit::detail {

// Up to as many rows as there are free coefficients, taken in order of |r|, whose gradients are independent.
[[nodiscard]] inline std::vector<std::size_t> rows_of_vertex(const ChinchillaProblem& problem, const Theta& theta,
                                                             const std::vector<std::size_t>& free,
                                                             const std::vector<double>& residual) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < residual.size(); ++i) {
    if (problem.rows.weight[i] > 0) order.push_back(i);
  }
  const std::size_t look = std::min(order.size(), 8 * free.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(look), order.end(),
                    [&residual](std::size_t a, std::size_t b) {
                      const double left = std::abs(residual[a]);
                      const double right = std::abs(residual[b]);
                      return left != right ? left < right : a < b;
                    });
  order.resize(look);
  std::vector<std::size_t> out;
  std::vector<Theta> basis;
  for (const std::size_t i : order) {
    if (out.size() == free.size()) break;
    const RowDerivatives row = row_derivatives(problem.rows, problem.estimator.residual, i, theta);
    Theta direction{};
    double before = 0;
    for (const std::size_t k : free) {
      direction[k] = row.gradient[k] / problem.scale.step[k];
      before += direction[k] * direction[k];
    }
    for (const Theta& b : basis) {
      double dot = 0;
      for (const std::size_t k : free) dot += direction[k] * b[k];
      for (const std::size_t k : free) direction[k] -= dot * b[k];
    }
    double after = 0;
    for (const std::size_t k : free) after += direction[k] * direction[k];
    if (!(after > 1e-10 * before)) continue;
    for (const std::size_t k : free) direction[k] /= std::sqrt(after);
    basis.push_back(direction);
    out.push_back(i);
  }
  return out;
}

class VertexDescent {
 public:
  VertexDescent(const ChinchillaProblem& problem, std::vector<std::size_t> free)
      : problem_(problem), free_(std::move(free)), residual_(problem.rows.packs * pack_size) {}

  // residual: of the start. Adds what it cost to `evaluations`.
  [[nodiscard]] std::optional<Theta> descend(Theta theta, const std::vector<double>& residual, int& evaluations) {
    rows_ = rows_of_vertex(problem_, theta, free_, residual);
    if (rows_.size() < free_.size() || !settle(theta)) return std::nullopt;
    double objective = weigh(theta, evaluations);
    for (int pivot = 0; pivot < 100; ++pivot) {
      std::array<double, 10> lambda{};
      if (!multipliers(lambda)) return std::nullopt;
      std::size_t leaving = 0;
      double excess = 0;
      for (std::size_t z = 0; z < rows_.size(); ++z) {
        const double over = std::abs(lambda[z]) / problem_.rows.weight[rows_[z]];
        if (over > excess) {
          excess = over;
          leaving = z;
        }
      }
      if (excess <= 1 + 1e-9) return inside(theta) ? std::optional(theta) : std::nullopt;
      Theta next = theta;
      const std::size_t left = rows_[leaving];
      if (!move_along_edge(next, leaving, lambda[leaving])) return std::nullopt;
      if (!settle(next)) return std::nullopt;
      const double lower = weigh(next, evaluations);
      if (!(lower < objective)) return std::nullopt;
      // A row that left cannot be at zero by chance; what it weighs is in the sum again.
      if (rows_[leaving] == left) return std::nullopt;
      theta = next;
      objective = lower;
    }
    return std::nullopt;
  }

 private:
  using System = std::array<std::array<double, 11>, 10>;

  [[nodiscard]] bool inside(const Theta& theta) const {
    for (std::size_t k = 0; k < 5; ++k) {
      if (theta[k] < problem_.box.low[k] || theta[k] > problem_.box.high[k]) return false;
    }
    return true;
  }

  // Newton on r_Z = 0.
  [[nodiscard]] bool settle(Theta& theta) {
    for (int round = 0; round < 12; ++round) {
      System m{};
      for (std::size_t z = 0; z < rows_.size(); ++z) {
        const RowDerivatives row = row_derivatives(problem_.rows, problem_.estimator.residual, rows_[z], theta);
        for (std::size_t k = 0; k < free_.size(); ++k) m[z][k] = row.gradient[free_[k]];
        m[z][10] = -row.residual;
      }
      std::array<double, 10> step{};
      if (!solve_dense(m, free_.size(), step)) return false;
      double size = 0;
      for (std::size_t k = 0; k < free_.size(); ++k) {
        theta[free_[k]] += step[k];
        size = std::max(size, std::abs(step[k]) * problem_.scale.step[free_[k]]);
      }
      if (!(size < 2)) return false;
      if (size < 1e-11) return true;
    }
    return false;
  }

  // SUM w |r| at a vertex; keeps the residuals and the gradient of the rows outside it.
  [[nodiscard]] double weigh(const Theta& theta, int& evaluations) {
    weights_.assign(problem_.rows.weight, problem_.rows.weight + problem_.rows.packs * pack_size);
    for (const std::size_t i : rows_) weights_[i] = 0;
    KernelRows others = problem_.rows;
    others.weight = weights_.data();
    const Derivatives at = evaluate<false>(others, problem_.estimator.residual, theta, sign_clip);
    residuals(others, problem_.estimator.residual, theta, residual_.data());
    ++evaluations;
    for (std::size_t k = 0; k < 5; ++k) gradient_[k] = at.gradient[k] / sign_clip;
    theta_ = theta;
    return at.value / sign_clip;
  }

  [[nodiscard]] bool multipliers(std::array<double, 10>& lambda) const {
    System m{};
    for (std::size_t z = 0; z < rows_.size(); ++z) {
      const RowDerivatives row = row_derivatives(problem_.rows, problem_.estimator.residual, rows_[z], theta_);
      for (std::size_t k = 0; k < free_.size(); ++k) m[k][z] = row.gradient[free_[k]];
    }
    for (std::size_t k = 0; k < free_.size(); ++k) m[k][10] = -gradient_[free_[k]];
    return solve_dense(m, free_.size(), lambda);
  }

  // Moves theta to where the sum stops falling along the edge, by the rows' tangents, and swaps the rows.
  [[nodiscard]] bool move_along_edge(Theta& theta, std::size_t leaving, double multiplier) {
    System m{};
    for (std::size_t z = 0; z < rows_.size(); ++z) {
      const RowDerivatives row = row_derivatives(problem_.rows, problem_.estimator.residual, rows_[z], theta);
      for (std::size_t k = 0; k < free_.size(); ++k) m[z][k] = row.gradient[free_[k]];
    }
    m[leaving][10] = multiplier > 0 ? 1 : -1;
    std::array<double, 10> direction{};
    if (!solve_dense(m, free_.size(), direction)) return false;
    struct Crossing {
      double at, weight;
      std::size_t row;
    };
    std::vector<Crossing> crossings;
    for (std::size_t i = 0; i < residual_.size(); ++i) {
      if (!(weights_[i] > 0)) continue;
      const RowDerivatives row = row_derivatives(problem_.rows, problem_.estimator.residual, i, theta);
      double slope = 0;
      for (std::size_t k = 0; k < free_.size(); ++k) slope += row.gradient[free_[k]] * direction[k];
      if (residual_[i] * slope < 0)
        crossings.push_back({-residual_[i] / slope, problem_.rows.weight[i] * std::abs(slope), i});
    }
    std::sort(crossings.begin(), crossings.end(),
              [](const Crossing& a, const Crossing& b) { return a.at != b.at ? a.at < b.at : a.row < b.row; });
    double slope = problem_.rows.weight[rows_[leaving]] - std::abs(multiplier);
    for (const Crossing& crossing : crossings) {
      slope += 2 * crossing.weight;
      if (slope < 0) continue;
      for (std::size_t k = 0; k < free_.size(); ++k) theta[free_[k]] += crossing.at * direction[k];
      rows_[leaving] = crossing.row;
      return true;
    }
    return false;
  }

  const ChinchillaProblem& problem_;
  std::vector<std::size_t> free_;
  std::vector<std::size_t> rows_;  // Z
  std::vector<double> residual_;
  std::vector<double> weights_;  // with Z left out
  Theta gradient_{};
  Theta theta_{};
};

}  // namespace floplan::fit::detail
