// SPDX-License-Identifier: BSD-3-Clause
//
// Which values of one coefficient can the others make up for?
//
//   for (const fit::CoefficientProfile& p : fit::profile_likelihood(rows, report).coefficients) p.low, p.high, p.curve
//
// Holds E, A, B, alpha, beta and a = beta / (alpha + beta) at values away from the optimum, minimises over all others, and
// finds where the rise of the objective is as large as noise would make it in a share `level` of data sets:
//   least squares   (SSR(v) - SSR_min) / s^2       = F_{1, n-p}(level),   s^2 = SSR_min / (n - p)
//   huber           2 (F(v) - F_min) / tau         = F_{1, n-p}(level),   tau as covariance.hpp has it
// n distinct rows, p free coefficients; the square root of F_{1, n-p} is Student's t, two-sided. With the scale `sandwich`
// the right side is times (sandwich variance / inverse-Hessian variance) of the coefficient (covariance.hpp), which holds
// also where rows differ in their noise (Kent 1982).
//
// Such an interval follows a bent valley where the covariance's is straight, does not depend on the coordinate (that of
// A is exp of that of ln A), and says what no other does: that a side has no end. A side is open where the rise stays
// below the threshold as far as the coefficient can go (E to zero), or until an exponent meets its bound.
//
// Sources: Bates and Watts 1988, chapter 6 (profile t); Heritier and Ronchetti 1994 (robust likelihood ratio).
// Holds: residuals alike in all rows, except under `sandwich`. Not available: least absolute deviations (no scale), no
// degrees of freedom, a fit that did not converge, fewer than 2 p rows within Huber's delta.
// Cost: about 35 minimisations of 5 evaluations for each coefficient: 240 rows, 2 to 3 ms for all six with their curves.
// Pitfall: on the Chinchilla points of the replication the plain intervals are 35 to 75% as wide as the bootstrap's: the
// rows that hold the law lie farther from it than the others. `sandwich` agrees with the bootstrap. With delta far below
// the noise few rows are left to take tau from; prefer the bootstrap there.
#pragma once

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/chinchilla_report.hpp"
#include "floplan/fit/covariance.hpp"
#include "floplan/fit/detail/chinchilla_setup.hpp"
#include "floplan/fit/detail/profile_path.hpp"
#include "floplan/fit/detail/profile_walk.hpp"
#include "floplan/fit/detail/robust_scale.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit {

enum class ProfileScale { alike, sandwich };

struct ProfileOptions {
  double level = 0.9;
  ProfileScale scale = ProfileScale::alike;
  std::size_t points = 12;  // of the curve on each side; 0: no curve
};

struct ProfilePoint {
  double value = 0;      // of the coefficient
  double objective = 0;  // the lowest with the coefficient held there: F as estimator.hpp defines it
};

struct CoefficientProfile {
  std::string name;    // E, A, B, alpha, beta, or a
  std::string reason;  // why there is none (fixed, or its term vanished); empty where available
  double estimate = 0;
  double threshold = 0;                 // the objective at the ends of the interval
  std::optional<double> low, high;      // absent: open
  std::string low_reason, high_reason;  // why a side is open; empty where it is not
  std::vector<ProfilePoint> curve;      // by value, the estimate among them

  [[nodiscard]] bool available() const { return reason.empty(); }
};

struct ProfileReport {
  bool available = false;
  std::string reason;  // empty where available
  double level = 0.9;
  double quantile = 0;   // F_{1, n-p}(level)
  double objective = 0;  // F_min
  std::vector<CoefficientProfile> coefficients;
  int evaluations = 0;  // of the objective with its derivatives
  std::vector<Warning> warnings;
};

namespace detail {

// What the sandwich's variance of the held quantity is to the inverse Hessian's; nan where there is none.
[[nodiscard]] inline double sandwich_ratio(const CovarianceReport& covariance, Held held) {
  if (held != Held::optimum_exponent) {
    const auto k = static_cast<std::size_t>(held);
    return covariance.sandwich[k][k] / covariance.inverse_hessian[k][k];
  }
  // da is proportional to alpha dbeta - beta dalpha.
  const double alpha = covariance.estimate.parameter_exponent;
  const double beta = covariance.estimate.token_exponent;
  const auto variance = [&](const CovarianceMatrix& m) {
    return beta * beta * m[3][3] - 2 * alpha * beta * m[3][4] + alpha * alpha * m[4][4];
  };
  return variance(covariance.sandwich) / variance(covariance.inverse_hessian);
}

// tau: 2 (F - F_min) / tau is compared with the quantile.
inline void walk_profile(CoefficientProfile& one, ProfileReport& report, const ProfilePath& path, Held held, double tau,
                         std::size_t points) {
  const bool logarithmic = held == Held::A || held == Held::B;
  const auto value = [logarithmic](double coordinate) { return logarithmic ? std::exp(coordinate) : coordinate; };
  ProfileWalk walk(path, tau, report.quantile, first_step(path, held, tau));
  const ProfileWalk::Side low = walk.side(-1);
  const ProfileWalk::Side high = walk.side(1);
  if (low.end) one.low = value(*low.end);
  if (high.end) one.high = value(*high.end);
  one.low_reason = low.reason;
  one.high_reason = high.reason;
  if (points > 0) {
    // A little beyond the end where there is one, so that a plot shows the crossing.
    std::vector<std::pair<double, double>> curve = {{walk.centre(), path.kernel_value(path.optimum())}};
    walk.trace(-1, low.farthest * (low.end ? 1.25 : 1), points, curve);
    walk.trace(1, high.farthest * (high.end ? 1.25 : 1), points, curve);
    std::sort(curve.begin(), curve.end());
    for (const auto& [at, kernel] : curve) one.curve.push_back({value(at), path.problem().objective(kernel)});
  }
  report.evaluations += walk.evaluations();
  const double found = path.problem().objective(walk.lowest());
  if (found < report.objective * (1 - 1e-6) - path.problem().objective_rounding(report.objective)) {
    report.warnings.push_back({"lower_minimum", "the profile of " + one.name + " met an objective of " +
                                                    print_number(found, 8) + ", below the fit's " +
                                                    print_number(report.objective, 8)});
  }
}

}  // namespace detail

// observations and report: what chinchilla() was given and what it gave.
[[nodiscard]] inline ProfileReport profile_likelihood(std::span<const runs::Observation> observations,
                                                      const ChinchillaReport& report,
                                                      const ProfileOptions& options = {}) {
  if (!(options.level > 0 && options.level < 1)) {
    throw Error(Failure::usage, "out_of_range", "profile_likelihood",
                "level must be between 0 and 1, got " + print_number(options.level, 6));
  }
  using detail::Held;
  ProfileReport out;
  out.level = options.level;
  out.objective = report.objective;
  const Loss loss = report.options.estimator.loss;
  if (loss == Loss::least_absolute_deviations) {
    out.reason = "least absolute deviations have no scale for the rise of their sum; use the bootstrap";
  } else if (report.degrees_of_freedom == 0) {
    out.reason = "as many free coefficients as distinct rows";
  } else if (!report.search.converged) {
    out.reason = "the fit did not converge";
  }
  if (!out.reason.empty()) return out;
  const double freedom = static_cast<double>(report.degrees_of_freedom);
  const double t = boost::math::quantile(boost::math::students_t(freedom), (1 + options.level) / 2);
  out.quantile = t * t;
  const detail::ProfilePath any(observations, report, Held::E);
  const detail::RobustScale scale = detail::robust_scale(any.rows(), any.problem(), any.optimum(), freedom);
  if (scale.rows_inside < 2 * report.free_coefficients) {
    out.reason =
        "only " + std::to_string(scale.rows_inside) + " rows lie within delta; use the bootstrap or a wider delta";
    return out;
  }
  if (!(std::sqrt(scale.tau * any.rows().total_weight / static_cast<double>(report.distinct_rows)) >
        1e4 * any.problem().scale.residual_rounding)) {
    out.reason = "the residuals are rounding";
    return out;
  }
  CovarianceReport covariance_report;
  if (options.scale == ProfileScale::sandwich) {
    covariance_report = covariance(observations, report);
    out.reason = covariance_report.reason;
    if (!covariance_report.available) return out;
  }
  out.available = true;
  for (const auto& [held, name] : {std::pair{Held::E, "E"},
                                   {Held::A, "A"},
                                   {Held::B, "B"},
                                   {Held::alpha, "alpha"},
                                   {Held::beta, "beta"},
                                   {Held::optimum_exponent, "a"}}) {
    const detail::ProfilePath path(observations, report, held);
    CoefficientProfile& one = out.coefficients.emplace_back();
    one.name = name;
    const double centre = path.coordinate(path.optimum());
    one.estimate = held == Held::A || held == Held::B ? std::exp(centre) : centre;
    one.reason = detail::no_profile(path, held);
    double tau = scale.tau;
    if (one.available() && options.scale == ProfileScale::sandwich) {
      tau *= detail::sandwich_ratio(covariance_report, held);
      if (!(tau > 0 && std::isfinite(tau))) one.reason = "the sandwich covariance does not have it";
    }
    if (!one.available()) continue;
    one.threshold = report.objective + out.quantile * tau / (loss == Loss::least_squares ? 1 : 2);
    detail::walk_profile(one, out, path, held, tau, options.points);
  }
  return out;
}

}  // namespace floplan::fit
