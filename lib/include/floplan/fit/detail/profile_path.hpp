// SPDX-License-Identifier: BSD-3-Clause
//
// The lowest objective with one coefficient held at a value, from a nearby fit: one point of a profile.
//
//   held coordinate     ln A, ln B (rows not shifted, so that the coordinate is the coefficient), E, alpha, beta
//   held ratio          a = beta / (alpha + beta): beta = c alpha with c = a / (1 - a), so the chain rule folds beta into
//                       alpha: g_alpha + c g_beta, H_aa + 2 c H_ab + c^2 H_bb, H_ja + c H_jb
//
// Newton from the neighbour's minimum takes 3 to 6 evaluations. Where it does not converge, the ladder of
// chinchilla_search.hpp is tried.
//
// Pitfall: it follows the basin that it starts in; a jump to a lower one shows only where a path leads there.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "floplan/fit/chinchilla_report.hpp"
#include "floplan/fit/detail/chinchilla_problem.hpp"
#include "floplan/fit/detail/chinchilla_rows.hpp"
#include "floplan/fit/detail/chinchilla_search.hpp"
#include "floplan/fit/detail/chinchilla_setup.hpp"
#include "floplan/fit/detail/newton.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit::detail {

// What is held: the five of theta's order, and the exponent of N_opt.
enum class Held : std::size_t { A, B, E, alpha, beta, optimum_exponent };

struct ProfileFit {
  Theta theta{};
  double kernel_value = std::numeric_limits<double>::infinity();  // of the objective, with r^2 / 2 for least squares
  int evaluations = 0;
  bool converged = false;
  bool exponent_at_bound = false;  // one that was free to move and could not
};

class ProfilePath {
 public:
  ProfilePath(std::span<const runs::Observation> observations, const ChinchillaReport& report, Held held)
      : rows_(prepare_rows(observations, report.options.estimator.residual,
                           held != Held::A && is_default(report.options.bounds.parameter_coefficient),
                           held != Held::B && is_default(report.options.bounds.token_coefficient))),
        problem_(make_problem(rows_, report.options)),
        held_(held),
        optimum_(to_theta(report.law, rows_)) {}
  ProfilePath(const ProfilePath&) = delete;
  ProfilePath& operator=(const ProfilePath&) = delete;

  [[nodiscard]] const ChinchillaRows& rows() const { return rows_; }
  [[nodiscard]] const ChinchillaProblem& problem() const { return problem_; }
  [[nodiscard]] const Theta& optimum() const { return optimum_; }
  [[nodiscard]] double kernel_value(const Theta& theta) const {
    return evaluate<false>(problem_.rows, problem_.estimator.residual, theta, problem_.clip()).value;
  }

  // The held quantity in the coordinate of the walk: a logarithm for A and B.
  [[nodiscard]] double coordinate(const Theta& theta) const {
    switch (held_) {
      case Held::E: return theta[2] <= zero_level ? 0 : std::exp(theta[2]);
      case Held::optimum_exponent: return theta[4] / (theta[3] + theta[4]);
      default: return theta[index()];
    }
  }
  // The ends that the coordinate can have.
  [[nodiscard]] double lowest() const {
    if (held_ == Held::E) return problem_.box.low[2] <= zero_level ? 0 : std::exp(problem_.box.low[2]);
    if (held_ != Held::optimum_exponent) return problem_.box.low[index()];
    return problem_.box.low[4] / (problem_.box.high[3] + problem_.box.low[4]);
  }
  [[nodiscard]] double highest() const {
    if (held_ == Held::E) return std::exp(problem_.box.high[2]);
    if (held_ != Held::optimum_exponent) return problem_.box.high[index()];
    return problem_.box.high[4] / (problem_.box.low[3] + problem_.box.high[4]);
  }

  [[nodiscard]] ProfileFit at(double coordinate, const Theta& start) const {
    return held_ == Held::optimum_exponent ? at_ratio(coordinate, start) : at_value(coordinate, start);
  }

 private:
  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(held_); }

  [[nodiscard]] ProfileFit at_value(double coordinate, Theta start) const {
    ChinchillaProblem problem = problem_;
    double value = coordinate;
    if (held_ == Held::E) value = coordinate > 0 ? std::log(coordinate) : zero_level;
    problem.box.fixed[index()] = true;
    problem.box.low[index()] = problem.box.high[index()] = value;
    // A term whose exponent or coefficient moves turns about the middle of the rows.
    const double move = value - start[index()];
    if (held_ == Held::alpha) start[0] += move * middle(rows_.x);
    if (held_ == Held::beta) start[1] += move * middle(rows_.y);
    if (held_ == Held::A) start[3] += move / middle(rows_.x);
    if (held_ == Held::B) start[4] += move / middle(rows_.y);
    start[index()] = value;
    const NewtonReport near = minimise_at(problem, start, problem.clip(), 100);
    ProfileFit out = finish(near.theta, near.at.value, near.evaluations, near.converged);
    if (!near.converged) {
      const LocalMinimum again = minimise_from(problem, start, 400);
      out.evaluations += again.evaluations;
      if (again.at.value < out.kernel_value || again.converged) {
        out = finish(again.theta, again.at.value, out.evaluations, again.converged);
      }
    }
    for (const std::size_t k : {std::size_t{3}, std::size_t{4}}) {
      const bool free = !problem.box.fixed[k] && out.theta[k - 3] > zero_level;
      const bool at_end = out.theta[k] <= problem.box.low[k] || out.theta[k] >= problem.box.high[k];
      out.exponent_at_bound = out.exponent_at_bound || (free && at_end);
    }
    return out;
  }

  [[nodiscard]] ProfileFit at_ratio(double exponent, Theta start) const {
    const double c = exponent / (1 - exponent);
    Box box = problem_.box;
    box.low[3] = std::max(box.low[3], problem_.box.low[4] / c);
    box.high[3] = std::min(box.high[3], problem_.box.high[4] / c);
    box.fixed[3] = problem_.box.fixed[3] || problem_.box.fixed[4];
    box.high[3] = std::max(box.low[3], box.high[3]);
    box.fixed[4] = true;
    box.low[4] = -1e9;
    box.high[4] = 1e9;
    NewtonScale scale = problem_.scale;
    scale.delta = problem_.clip();
    scale.step[3] = std::max(scale.step[3], c * scale.step[4]);
    const auto tied = [c](Theta theta) {
      theta[4] = c * theta[3];
      return theta;
    };
    const auto objective = [&](const Theta& theta) {
      Derivatives d = problem_.derivatives(tied(theta), problem_.clip());
      d.gradient[3] += c * d.gradient[4];
      d.hessian[3][3] += 2 * c * d.hessian[3][4] + c * c * d.hessian[4][4];
      for (std::size_t j = 0; j < 3; ++j) d.hessian[j][3] = d.hessian[3][j] = d.hessian[j][3] + c * d.hessian[j][4];
      d.gradient[4] = 0;
      return d;
    };
    const auto vanishing = [&](const Theta& theta, const Theta& gradient) {
      return problem_.may_vanish(2) && theta[2] > zero_level && gradient[2] > 0 &&
             problem_.largest_share(2, tied(theta)) < 1e-6;
    };
    const double sum = start[3] + start[4];
    start[3] = sum * (1 - exponent);
    start[4] = 0;
    NewtonReport best = newton(objective, box, scale, start, 200, vanishing);
    int evaluations = best.evaluations;
    // E at zero has no way back, and near zero a slow one there: the other side of it is tried.
    const auto try_level = [&](double level) {
      Theta theta = best.theta;
      theta[2] = level;
      Box other = box;
      other.fixed[2] = level <= zero_level;
      const NewtonReport found = newton(objective, other, scale, theta, 200, vanishing);
      evaluations += found.evaluations;
      const double rounding = scale.objective_rounding(best.at.value);
      if (found.at.value < best.at.value - (best.converged ? rounding : -rounding)) best = found;
    };
    if (!best.converged && problem_.may_vanish(2)) try_level(zero_level);
    if (best.theta[2] <= zero_level && !problem_.box.fixed[2]) try_level(std::log(0.1 * rows_.mean_loss));
    ProfileFit out = finish(tied(best.theta), best.at.value, evaluations, best.converged);
    out.exponent_at_bound = !box.fixed[3] && (best.theta[3] <= box.low[3] || best.theta[3] >= box.high[3]);
    return out;
  }

  [[nodiscard]] double middle(const std::vector<double>& column) const {
    double sum = 0;
    for (std::size_t i = 0; i < rows_.size; ++i) sum += column[i];
    return sum / static_cast<double>(rows_.size);
  }
  [[nodiscard]] static ProfileFit finish(const Theta& theta, double value, int evaluations, bool converged) {
    ProfileFit out;
    out.theta = theta;
    out.kernel_value = value;
    out.evaluations = evaluations;
    out.converged = converged;
    return out;
  }

  ChinchillaRows rows_;
  ChinchillaProblem problem_;
  Held held_;
  Theta optimum_;
};

}  // namespace floplan::fit::detail
