// SPDX-License-Identifier: BSD-3-Clause
//
// From an optimum outwards along one coefficient, to where the root of the objective's rise crosses a reach.
//
//   root(v) = sqrt(2 (F(v) - F_min) / tau)        straight in v where F is quadratic, so secants find the crossing
//
// The first step is the standard error times the reach; the next ones go where a straight root would cross, and regula
// falsi with Illinois' halving closes in to 1e-9 of the reach: 4 to 8 minimisations a side.
//
// Pitfall: a side that is walked to the end of its room has no crossing, and an end there would be the bound's, not the
// data's; Side::end is then absent.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/fit/detail/chinchilla_kernel.hpp"
#include "floplan/fit/detail/chinchilla_setup.hpp"
#include "floplan/fit/detail/profile_path.hpp"
#include "floplan/fit/identifiability.hpp"

namespace floplan::fit::detail {

class ProfileWalk {
 public:
  ProfileWalk(const ProfilePath& path, double tau, double quantile, double step)
      : path_(path), tau_(tau), reach_(std::sqrt(quantile)), step_(step) {
    centre_ = path.coordinate(path.optimum());
    minimum_ = path.kernel_value(path.optimum());
  }

  struct Point {
    double distance = 0;
    double root = 0;  // sqrt(2 (F - F_min) / tau)
    ProfileFit fit;
  };
  struct Side {
    std::optional<double> end;  // in the walk's coordinate
    std::string reason;
    double farthest = 0;  // distance walked
  };

  [[nodiscard]] double centre() const { return centre_; }
  [[nodiscard]] int evaluations() const { return evaluations_; }
  [[nodiscard]] double lowest() const { return lowest_; }  // kernel value that was met

  // direction: -1 or 1.
  [[nodiscard]] Side side(double direction) {
    Side out;
    const double room = direction < 0 ? centre_ - path_.lowest() : path_.highest() - centre_;
    Point inner;
    inner.fit.theta = path_.optimum();
    double distance = step_ * reach_;
    for (int round = 0; round < 60; ++round) {
      const bool last = distance >= room;
      const Point outer = point(direction, std::min(distance, room), inner.fit.theta);
      if (outer.root >= reach_) {
        const Point end = refine(direction, inner, outer);
        out.farthest = end.distance;
        if (end.fit.exponent_at_bound) {
          out.reason = "an exponent meets its bound before the objective has risen enough";
        } else {
          out.end = centre_ + direction * end.distance;
        }
        return out;
      }
      out.farthest = outer.distance;
      if (last || outer.fit.exponent_at_bound) {
        out.reason = last ? "the objective does not rise enough as far as the coefficient can go"
                          : "an exponent meets its bound before the objective has risen enough";
        return out;
      }
      // A straight root would be there at the next step.
      const double slope = (outer.root - inner.root) / (outer.distance - inner.distance);
      const double guess = slope > 0 ? outer.distance + 1.05 * (reach_ - outer.root) / slope : HUGE_VAL;
      distance = std::clamp(guess, 1.1 * outer.distance, 2.5 * outer.distance);
      inner = outer;
    }
    out.reason = "the objective does not rise enough within 60 steps";
    return out;
  }

  // Points at even distances up to `distance`, outwards, each from the last.
  void trace(double direction, double distance, std::size_t points, std::vector<std::pair<double, double>>& out) {
    if (!(distance > 0)) return;
    Theta start = path_.optimum();
    const double room = direction < 0 ? centre_ - path_.lowest() : path_.highest() - centre_;
    for (std::size_t i = 1; i <= points; ++i) {
      const double at = std::min(room, distance * static_cast<double>(i) / static_cast<double>(points));
      const Point p = point(direction, at, start);
      start = p.fit.theta;
      out.emplace_back(centre_ + direction * at, p.fit.kernel_value);
    }
  }

 private:
  [[nodiscard]] Point point(double direction, double distance, const Theta& start) {
    Point out;
    out.distance = distance;
    out.fit = path_.at(centre_ + direction * distance, start);
    evaluations_ += out.fit.evaluations;
    lowest_ = std::min(lowest_, out.fit.kernel_value);
    out.root = std::sqrt(2 * std::max(0.0, out.fit.kernel_value - minimum_) / tau_);
    return out;
  }

  // Regula falsi on the root, which is nearly straight, with Illinois' halving.
  [[nodiscard]] Point refine(double direction, Point inner, Point outer) {
    double inner_gap = inner.root - reach_;
    double outer_gap = outer.root - reach_;
    int kept = 0;
    for (int round = 0; round < 60; ++round) {
      if (std::abs(outer.root - reach_) <= 1e-9 * reach_) return outer;
      if (outer.distance - inner.distance <= 1e-10 * outer.distance) return outer;
      double distance = outer.distance - outer_gap * (outer.distance - inner.distance) / (outer_gap - inner_gap);
      if (!(distance > inner.distance && distance < outer.distance)) distance = (inner.distance + outer.distance) / 2;
      const Point middle = point(direction, distance, inner.fit.theta);
      if (std::abs(middle.root - reach_) <= 1e-9 * reach_) return middle;
      if (middle.root >= reach_) {
        outer = middle;
        outer_gap = middle.root - reach_;
        if (kept == 1) inner_gap /= 2;
        kept = 1;
      } else {
        inner = middle;
        inner_gap = middle.root - reach_;
        if (kept == -1) outer_gap /= 2;
        kept = -1;
      }
    }
    return outer;
  }

  const ProfilePath& path_;
  double tau_;
  double reach_;
  double step_;
  double centre_ = 0;
  double minimum_ = 0;
  double lowest_ = std::numeric_limits<double>::infinity();
  int evaluations_ = 0;
};

// The standard error in the walk's coordinate where the Hessian has one, else a guess that the walk corrects.
[[nodiscard]] inline double first_step(const ProfilePath& path, Held held, double tau) {
  const ChinchillaProblem& problem = path.problem();
  const Theta& theta = path.optimum();
  Matrix5 inverse{};
  const bool regular = invert(problem.derivatives(theta, problem.clip()).hessian, held_at(problem, theta), inverse);
  double variance = 0;
  if (held == Held::optimum_exponent) {
    const double sum = theta[3] + theta[4];
    const double by_alpha = -theta[4] / (sum * sum);
    const double by_beta = theta[3] / (sum * sum);
    variance = by_alpha * by_alpha * inverse[3][3] + 2 * by_alpha * by_beta * inverse[3][4] +
               by_beta * by_beta * inverse[4][4];
  } else {
    const auto k = static_cast<std::size_t>(held);
    variance = inverse[k][k] * (held == Held::E ? std::exp(2 * theta[2]) : 1);
  }
  const double step = std::sqrt(tau * variance);
  if (regular && step > 0 && std::isfinite(step)) return step;
  switch (held) {
    case Held::E: return 0.02 * path.rows().mean_loss;
    case Held::A:
    case Held::B: return 0.5;
    default: return 0.02;
  }
}

// Why a coefficient has no profile; empty where it has.
[[nodiscard]] inline std::string no_profile(const ProfilePath& path, Held held) {
  const Mask& fixed = path.problem().box.fixed;
  const Theta& theta = path.optimum();
  const auto gone = [&](std::size_t term) { return theta[term] <= zero_level; };
  if (held == Held::optimum_exponent) {
    if (gone(0) || gone(1)) return "a term vanished";
    return fixed[3] && fixed[4] ? "fixed by the bounds of alpha and beta" : "";
  }
  const auto k = static_cast<std::size_t>(held);
  if (fixed[k]) return "fixed by its bounds";
  if (held != Held::E && gone(k % 3)) return "its term vanished";
  return "";
}

}  // namespace floplan::fit::detail
