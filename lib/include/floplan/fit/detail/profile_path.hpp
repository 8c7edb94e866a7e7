// SPDX-License-Identifier: BSD-3-Clause
//
// The lowest objective with one coefficient held at a value, from a nearby fit: one point of a profile.
//
//   held coordinate     ln A, ln B (rows not shifted, so that the coordinate is the coefficient), E, alpha, beta
//   held ratio          a = beta / (alpha + beta): beta = c alpha with c = a / (1 - a), so the chain rule folds beta into
//                       alpha: g_alpha + c g_beta, H_aa + 2 c H_ab + c^2 H_bb, H_ja + c H_jb
//
// at(): Newton from the neighbour's minimum, 3 to 6 evaluations; it follows the basin that it starts in. lowest_at(): a map
// of exponents and Newton from all of its minima (chinchilla_search.hpp), a hundred times as dear: the proof of an end.
//
// Pitfall: few rows and much noise make several basins, and the lowest one changes along a profile without a warning in
// the one followed; of 3,800 ends of such data 1% moved when they were proved.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "floplan/fit/chinchilla_report.hpp"
#include "floplan/fit/detail/chinchilla_problem.hpp"
#include "floplan/fit/detail/chinchilla_rows.hpp"
#include "floplan/fit/detail/chinchilla_search.hpp"
#include "floplan/fit/detail/chinchilla_setup.hpp"
#include "floplan/fit/detail/newton.hpp"
#include "floplan/fit/detail/profile_grid.hpp"
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

  // From a nearby fit.
  [[nodiscard]] ProfileFit at(double coordinate, const Theta& start) const {
    if (held_ == Held::optimum_exponent) return Tied(problem_, coordinate / (1 - coordinate)).from(start);
    const ChinchillaProblem problem = with_held(coordinate);
    Theta moved = start;
    const double move = problem.box.low[index()] - start[index()];
    moved[index()] += move;
    // A term whose exponent or coefficient moves turns about the middle of the rows.
    if (held_ == Held::alpha) moved[0] += move * middle(rows_.x);
    if (held_ == Held::beta) moved[1] += move * middle(rows_.y);
    if (held_ == Held::A) moved[3] += move / middle(rows_.x);
    if (held_ == Held::B) moved[4] += move / middle(rows_.y);
    const NewtonReport near = minimise_at(problem, moved, problem.clip(), 100);
    if (near.converged) return finish(problem, near.theta, near.at.value, near.evaluations, true);
    const LocalMinimum again = minimise_from(problem, moved, 400);
    const int evaluations = near.evaluations + again.evaluations;
    if (again.at.value > near.at.value) return finish(problem, near.theta, near.at.value, evaluations, false);
    return finish(problem, again.theta, again.at.value, evaluations, again.converged);
  }

  // Of all basins that a map of exponents shows.
  [[nodiscard]] ProfileFit lowest_at(double coordinate) const {
    if (held_ == Held::optimum_exponent) return Tied(problem_, coordinate / (1 - coordinate)).lowest();
    const ChinchillaProblem problem = with_held(coordinate);
    const SearchOutcome found = search(problem, {});
    return finish(problem, found.best.theta, found.best.at.value, found.evaluations, found.best.converged);
  }

 private:
  // The problem in alpha alone of the two exponents, beta = c alpha.
  class Tied {
   public:
    Tied(const ChinchillaProblem& problem, double c) : problem_(problem), c_(c), box_(problem.box) {
      box_.low[3] = std::max(box_.low[3], problem.box.low[4] / c);
      box_.high[3] = std::max(box_.low[3], std::min(box_.high[3], problem.box.high[4] / c));
      box_.fixed[3] = problem.box.fixed[3] || problem.box.fixed[4];
      box_.fixed[4] = true;
      box_.low[4] = box_.high[4] = 0;
      scale_ = problem.scale;
      scale_.delta = problem.clip();
      scale_.step[3] = std::max(scale_.step[3], c * scale_.step[4]);
    }

    [[nodiscard]] ProfileFit from(Theta start) const {
      start[3] = (start[3] + start[4]) / (1 + c_);
      int evaluations = 0;
      NewtonReport best = descend(start, box_, evaluations);
      // E at zero has no way back, and near zero a slow one there: the other side of it is tried.
      const auto try_level = [&](double level) {
        Theta theta = best.theta;
        theta[2] = level;
        Box other = box_;
        other.fixed[2] = level <= zero_level;
        const NewtonReport found = descend(theta, other, evaluations);
        const double rounding = scale_.objective_rounding(best.at.value);
        if (found.at.value < best.at.value - (best.converged ? rounding : -rounding)) best = found;
      };
      if (!best.converged && problem_.may_vanish(2)) try_level(zero_level);
      if (best.theta[2] <= zero_level && !problem_.box.fixed[2]) try_level(std::log(0.1 * problem_.data->mean_loss));
      ProfileFit out;
      out.theta = tied(best.theta);
      out.kernel_value = best.at.value;
      out.evaluations = evaluations;
      out.converged = best.converged;
      out.exponent_at_bound = !box_.fixed[3] && (best.theta[3] <= box_.low[3] || best.theta[3] >= box_.high[3]);
      return out;
    }

    [[nodiscard]] ProfileFit lowest() const {
      const SearchSettings settings;
      std::vector<double> alphas = {box_.low[3]};
      if (!box_.fixed[3]) {
        alphas = log_spaced(
            std::clamp(std::min(settings.exponent_low, settings.exponent_low / c_), box_.low[3], box_.high[3]),
            std::clamp(std::max(settings.exponent_high, settings.exponent_high / c_), box_.low[3], box_.high[3]),
            2 * settings.points);
      }
      std::vector<GridNode> line;
      for (const double alpha : alphas) {
        line.push_back(
            map_grid(problem_.rows, problem_.estimator.residual, {{alpha}, {c_ * alpha}}, problem_.low, problem_.high)
                .front());
      }
      ProfileFit best;
      int evaluations = 0;
      for (const Theta& start : starts_of(line, 1)) {
        const ProfileFit found = from(start);
        evaluations += found.evaluations;
        if (found.kernel_value < best.kernel_value) best = found;
      }
      best.evaluations = evaluations;
      return best;
    }

   private:
    [[nodiscard]] Theta tied(Theta theta) const {
      theta[4] = c_ * theta[3];
      return theta;
    }
    [[nodiscard]] NewtonReport descend(const Theta& start, const Box& box, int& evaluations) const {
      const auto objective = [this](const Theta& theta) {
        Derivatives d = problem_.derivatives(tied(theta), problem_.clip());
        d.gradient[3] += c_ * d.gradient[4];
        d.hessian[3][3] += 2 * c_ * d.hessian[3][4] + c_ * c_ * d.hessian[4][4];
        for (std::size_t j = 0; j < 3; ++j) {
          d.hessian[j][3] += c_ * d.hessian[j][4];
          d.hessian[3][j] = d.hessian[j][3];
        }
        return d;
      };
      const auto vanishing = [this](const Theta& theta, const Theta& gradient) {
        return problem_.may_vanish(2) && theta[2] > zero_level && gradient[2] > 0 &&
               problem_.largest_share(2, tied(theta)) < 1e-6;
      };
      NewtonReport found = newton(objective, box, scale_, start, 200, vanishing);
      evaluations += found.evaluations;
      return found;
    }

    const ChinchillaProblem& problem_;
    double c_;
    Box box_;
    NewtonScale scale_;
  };

  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(held_); }

  [[nodiscard]] ChinchillaProblem with_held(double coordinate) const {
    ChinchillaProblem out = problem_;
    const std::size_t k = index();
    double value = coordinate;
    if (held_ == Held::E) value = coordinate > 0 ? std::log(coordinate) : zero_level;
    out.box.fixed[k] = true;
    out.box.low[k] = out.box.high[k] = value;
    if (k < 3) out.low[k] = out.high[k] = value > zero_level ? std::exp(value) : 0;
    return out;
  }
  [[nodiscard]] double middle(const std::vector<double>& column) const {
    double sum = 0;
    for (std::size_t i = 0; i < rows_.size; ++i) sum += column[i];
    return sum / static_cast<double>(rows_.size);
  }
  [[nodiscard]] static ProfileFit finish(const ChinchillaProblem& problem, const Theta& theta, double value,
                                         int evaluations, bool converged) {
    ProfileFit out;
    out.theta = theta;
    out.kernel_value = value;
    out.evaluations = evaluations;
    out.converged = converged;
    for (const std::size_t k : {std::size_t{3}, std::size_t{4}}) {
      const bool free = !problem.box.fixed[k] && theta[k - 3] > zero_level;
      const bool at_end = theta[k] <= problem.box.low[k] || theta[k] >= problem.box.high[k];
      out.exponent_at_bound = out.exponent_at_bound || (free && at_end);
    }
    return out;
  }

  ChinchillaRows rows_;
  ChinchillaProblem problem_;
  Held held_;
  Theta optimum_;
};

}  // namespace floplan::fit::detail
