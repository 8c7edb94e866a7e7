// SPDX-License-Identifier: BSD-3-Clause
//
// One minimisation: rows under given weights, an estimator, and the box that the coefficients may move in.
//
// A coefficient of zero has no logarithm. It is represented by zero_level = -300, where the term is 5e-131 and no sum
// notices it, while the sign of its derivative survives. So "E -> 0" is an end of the box like any other, reached in one
// jump: a term that has become negligible everywhere and still wants to shrink is set to zero, and one at zero that
// wants to grow is set free.
//
// Pitfall: with a term at zero its exponent is meaningless; it is held, and the fit reports the coefficient at a bound.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "floplan/fit/detail/chinchilla_kernel.hpp"
#include "floplan/fit/detail/chinchilla_rows.hpp"
#include "floplan/fit/detail/newton.hpp"
#include "floplan/fit/detail/profile_grid.hpp"
#include "floplan/fit/estimator.hpp"

namespace floplan::fit::detail {

inline constexpr double zero_level = -300;
// A huge clip makes Huber least squares; a tiny one, divided out again, least absolute deviations.
inline constexpr double no_clip = 1e150;
inline constexpr double sign_clip = 1e-150;

struct ChinchillaProblem {
  KernelRows rows;
  const ChinchillaRows* data = nullptr;  // for what does not change with the weights
  Estimator estimator;
  Box box;
  Triple low{0, 0, 0};  // of (A, B, E) as the grid sees them
  Triple high{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
              std::numeric_limits<double>::infinity()};
  NewtonScale scale;
  double lowest_x = 0, lowest_y = 0;

  [[nodiscard]] Derivatives derivatives(const Theta& theta, double delta) const {
    return evaluate<true>(rows, estimator.residual, theta, delta);
  }
  [[nodiscard]] double clip() const {
    return estimator.loss == Loss::huber           ? estimator.delta
           : estimator.loss == Loss::least_squares ? no_clip
                                                   : sign_clip;
  }
  // F as estimator.hpp defines it, from the kernel's value at clip().
  [[nodiscard]] double objective(double kernel_value) const {
    switch (estimator.loss) {
      case Loss::least_squares: return 2 * kernel_value;
      case Loss::least_absolute_deviations: return kernel_value / sign_clip;
      case Loss::huber: break;
    }
    return kernel_value;
  }
  [[nodiscard]] double objective(const Theta& theta) const {
    return objective(evaluate<false>(rows, estimator.residual, theta, clip()).value);
  }
  // SUM w |r|.
  [[nodiscard]] double sum_of_sizes(const Theta& theta) const {
    return evaluate<false>(rows, estimator.residual, theta, sign_clip).value / sign_clip;
  }
  [[nodiscard]] double objective_rounding(double objective_value) const {
    NewtonScale s = scale;
    switch (estimator.loss) {
      case Loss::least_squares: s.delta = no_clip; return 2 * s.objective_rounding(objective_value / 2);
      case Loss::least_absolute_deviations: return s.residual_rounding * s.total_weight;
      case Loss::huber: s.delta = estimator.delta; break;
    }
    return s.objective_rounding(objective_value);
  }
  // A bound on the share of term k (0 A, 1 B, 2 E) in any row's loss.
  [[nodiscard]] double largest_share(std::size_t k, const Theta& theta) const {
    const double log_term = k == 0   ? theta[0] - theta[3] * lowest_x
                            : k == 1 ? theta[1] - theta[4] * lowest_y
                                     : theta[2];
    return std::exp(log_term) / data->lowest_loss;
  }
  [[nodiscard]] bool may_vanish(std::size_t k) const { return !box.fixed[k] && box.low[k] <= zero_level; }
  // A term below a millionth of every loss that still wants to shrink.
  [[nodiscard]] bool vanishing(const Theta& theta, const Theta& gradient) const {
    for (std::size_t k = 0; k < 3; ++k) {
      if (may_vanish(k) && theta[k] > zero_level && gradient[k] > 0 && largest_share(k, theta) < 1e-6) return true;
    }
    return false;
  }
};

struct LocalMinimum {
  Theta theta{};
  double objective = std::numeric_limits<double>::infinity();
  Derivatives at;  // of the kernel, at the last delta used
  int evaluations = 0;
  bool converged = false;
};

// Newton at one delta, with terms leaving for zero and coming back. Towards E = 0 the valley is narrow and curved and
// Newton is slow in it, so a search that has not converged in 60 evaluations tries the end of the valley itself.
[[nodiscard]] inline NewtonReport minimise_at(const ChinchillaProblem& problem, const Theta& start, double delta,
                                              int max_evaluations) {
  NewtonScale scale = problem.scale;
  scale.delta = delta;
  int evaluations = 0;
  const auto objective = [&problem, delta](const Theta& theta) { return problem.derivatives(theta, delta); };
  const auto stop = [&problem](const Theta& theta, const Theta& gradient) {
    return problem.vanishing(theta, gradient);
  };
  const auto descend = [&](const Theta& theta, int most) {
    Box box = problem.box;
    // The exponent of a term at zero does nothing.
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) {
      if (theta[k] <= zero_level) box.fixed[k + 3] = true;
    }
    NewtonReport found = newton(objective, box, scale, theta, most, stop);
    evaluations += found.evaluations;
    return found;
  };
  NewtonReport found = descend(start, std::min(60, max_evaluations));
  for (int round = 0; round < 8; ++round) {
    const double rounding = scale.objective_rounding(found.at.value);
    bool moved = false;
    for (std::size_t k = 0; k < 3 && !moved; ++k) {
      if (!problem.may_vanish(k)) continue;
      Theta theta = found.theta;
      if (theta[k] > zero_level && found.at.gradient[k] > 0 && !found.converged) {
        const double share = problem.largest_share(k, theta);
        if (share > 0.5) continue;
        theta[k] = zero_level;
        const NewtonReport without = descend(theta, 60);
        moved = without.at.value <= found.at.value + (share < 1e-6 ? rounding : -rounding);
        if (!moved) continue;
        // The valley may have a bottom on the way to its end.
        if (share >= 1e-6) found = descend(found.theta, max_evaluations);
        if (without.at.value <= found.at.value + rounding) found = without;
      } else if (theta[k] <= zero_level && found.at.gradient[k] < 0) {
        for (const double share : {1e-1, 1e-2, 1e-3, 1e-4, 1e-5}) {
          theta[k] = std::log(share * problem.data->mean_loss);
          ++evaluations;
          moved =
              evaluate<false>(problem.rows, problem.estimator.residual, theta, delta).value < found.at.value - rounding;
          if (!moved) continue;
          found = descend(theta, max_evaluations);
          break;
        }
      }
    }
    if (moved) continue;
    if (found.converged || evaluations >= max_evaluations) break;
    found = descend(found.theta, max_evaluations - evaluations);
  }
  found.evaluations = evaluations;
  return found;
}

}  // namespace floplan::fit::detail
