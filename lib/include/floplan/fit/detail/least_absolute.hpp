// SPDX-License-Identifier: BSD-3-Clause
//
// The exact optimum of SUM w |r|: down a ladder of Huber fits, then onto the vertex.
//
// Huber's objective over delta tends to SUM w |r| as delta -> 0, so a fit at a tenth of the delta starts at the last one.
// When no more rows than free coefficients lie within delta, those are the rows that the optimum passes through (Z).
// It is then the solution of a smooth system, solved by Newton to rounding:
//
//   SUM over rows not in Z of w sign(r) dr/dtheta + SUM over Z of lambda dr/dtheta = 0,    r_i = 0 for i in Z
//
// and proved by its multipliers: |lambda_i| <= w_i and no other row changed sign (the first-order conditions of nonlinear
// l1 fitting, Murray and Overton 1981). Without proof the ladder goes on, to 1e-12 of the mean residual.
//
// Pitfall: at such an optimum some residuals are exactly zero, and the objective has no Hessian: no covariance.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "floplan/fit/detail/chinchilla_kernel.hpp"
#include "floplan/fit/detail/chinchilla_problem.hpp"
#include "floplan/fit/detail/row_derivatives.hpp"
#include "floplan/fit/detail/vertex_descent.hpp"

namespace floplan::fit::detail {

// Coordinates that a vertex may move in.
[[nodiscard]] inline std::vector<std::size_t> free_coordinates(const ChinchillaProblem& problem, const Theta& theta) {
  std::vector<std::size_t> free;
  for (std::size_t k = 0; k < 5; ++k) {
    const bool at_end = theta[k] <= problem.box.low[k] || theta[k] >= problem.box.high[k];
    const bool idle = k >= 3 && theta[k - 3] <= zero_level;
    if (!problem.box.fixed[k] && !at_end && !idle) free.push_back(k);
  }
  return free;
}

// Newton on the vertex's system from a Huber fit at delta; nothing where the point it finds does not prove optimal.
[[nodiscard]] inline std::optional<Theta> polish_vertex(const ChinchillaProblem& problem, const Theta& start,
                                                        const std::vector<std::size_t>& free,
                                                        const std::vector<double>& residual, double delta,
                                                        int& evaluations) {
  std::vector<std::size_t> active;
  for (std::size_t i = 0; i < residual.size(); ++i) {
    if (problem.rows.weight[i] > 0 && std::abs(residual[i]) < delta) active.push_back(i);
    if (active.size() > free.size()) return std::nullopt;
  }
  std::vector<double> weights(problem.rows.weight, problem.rows.weight + problem.rows.packs * pack_size);
  std::vector<double> multiplier;
  for (const std::size_t i : active) {
    multiplier.push_back(weights[i] * residual[i] / delta);
    weights[i] = 0;
  }
  KernelRows others = problem.rows;
  others.weight = weights.data();
  const std::size_t unknowns = free.size() + active.size();
  Theta theta = start;
  for (int round = 0; round < 12; ++round) {
    const Derivatives at = evaluate<true>(others, problem.estimator.residual, theta, sign_clip);
    ++evaluations;
    std::array<std::array<double, 11>, 10> m{};
    for (std::size_t j = 0; j < free.size(); ++j) {
      m[j][10] = -at.gradient[free[j]] / sign_clip;
      for (std::size_t k = 0; k < free.size(); ++k) m[j][k] = at.hessian[free[j]][free[k]] / sign_clip;
    }
    for (std::size_t z = 0; z < active.size(); ++z) {
      const RowDerivatives row = row_derivatives(problem.rows, problem.estimator.residual, active[z], theta);
      const std::size_t line = free.size() + z;
      m[line][10] = -row.residual;
      for (std::size_t j = 0; j < free.size(); ++j) {
        m[j][line] = m[line][j] = row.gradient[free[j]];
        m[j][10] -= multiplier[z] * row.gradient[free[j]];
        for (std::size_t k = 0; k < free.size(); ++k) m[j][k] += multiplier[z] * row.hessian[free[j]][free[k]];
      }
    }
    std::array<double, 10> step{};
    if (!solve_dense(m, unknowns, step)) return std::nullopt;
    double size = 0;
    for (std::size_t j = 0; j < free.size(); ++j) {
      theta[free[j]] += step[j];
      size = std::max(size, std::abs(step[j]) * problem.scale.step[free[j]]);
    }
    for (std::size_t z = 0; z < active.size(); ++z) multiplier[z] += step[free.size() + z];
    if (!(size < 1)) return std::nullopt;
    if (size > 1e-11) continue;
    for (std::size_t k = 0; k < 5; ++k) {
      if (theta[k] < problem.box.low[k] || theta[k] > problem.box.high[k]) return std::nullopt;
    }
    for (std::size_t z = 0; z < active.size(); ++z) {
      if (!(std::abs(multiplier[z]) <= problem.rows.weight[active[z]] * (1 + 1e-9))) return std::nullopt;
    }
    std::vector<double> now(residual.size());
    residuals(problem.rows, problem.estimator.residual, theta, now.data());
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (weights[i] > 0 && (now[i] > 0) != (residual[i] > 0)) return std::nullopt;
    }
    return theta;
  }
  return std::nullopt;
}

// The ladder goes on for `further` rungs below the first proof: the sum has several proved minima within 1e-3 of each
// other where rows are few, and each rung may lead to another.
[[nodiscard]] inline LocalMinimum minimise_absolute(const ChinchillaProblem& problem, const Theta& start,
                                                    int max_evaluations, int further) {
  LocalMinimum out;
  const double mean = problem.sum_of_sizes(start) / problem.scale.total_weight;
  const double rounding = problem.scale.residual_rounding * problem.scale.total_weight;
  std::vector<double> residual(problem.rows.packs * pack_size);
  NewtonReport found;
  found.theta = start;
  int evaluations = 0;
  for (double delta = mean; delta > 1e-12 * mean; delta /= 4) {
    found = minimise_at(problem, found.theta, delta, max_evaluations);
    evaluations += found.evaluations;
    const double value = problem.objective(found.theta);
    if (value <= rounding || (!out.converged && value < out.objective)) {
      out.theta = found.theta;
      out.objective = value;
      out.converged = value <= rounding;
      if (out.converged) break;
    }
    residuals(problem.rows, problem.estimator.residual, found.theta, residual.data());
    const std::vector<std::size_t> free = free_coordinates(problem, found.theta);
    auto vertex = polish_vertex(problem, found.theta, free, residual, delta, evaluations);
    if (!vertex && delta < mean / 3) {
      vertex = VertexDescent(problem, free).descend(found.theta, residual, evaluations);
    }
    if (vertex) {
      const double proved = problem.objective(*vertex);
      if (out.converged ? proved < out.objective - rounding : proved <= value + rounding) {
        out.theta = *vertex;
        out.objective = proved;
        out.converged = true;
      }
    }
    if (out.converged && further-- == 0) break;
  }
  if (!out.converged) {
    out.theta = found.theta;
    out.objective = problem.objective(found.theta);
    out.converged = found.converged;
  }
  out.at = found.at;
  out.evaluations = evaluations;
  return out;
}

}  // namespace floplan::fit::detail
