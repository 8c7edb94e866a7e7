// SPDX-License-Identifier: BSD-3-Clause
//
// What the lowest point is worth: the report on it, the remarks, and the refusals.
//
// Refused before a search: fewer distinct rows than free coefficients; one N or one D throughout. Refused after it: a
// design whose scaled information is singular (identifiability.hpp). Everything else is reported.
//
//   residual_sd = sqrt(SUM w r^2 / SUM w * n / (n - p))      n distinct rows, p free coefficients
//
// Pitfall: copies of a row count in the objective (as their weight) but not in n.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/chinchilla_report.hpp"
#include "floplan/fit/detail/chinchilla_problem.hpp"
#include "floplan/fit/detail/chinchilla_rows.hpp"
#include "floplan/fit/detail/chinchilla_search.hpp"
#include "floplan/fit/detail/chinchilla_setup.hpp"
#include "floplan/fit/identifiability.hpp"
#include "floplan/law/scaling_law.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit::detail {

[[nodiscard]] inline Error not_identified(const std::string& which, const std::string& cure) {
  return Error(Failure::no_answer, "not_identified", "fit", which + "; " + cure);
}

// Standard deviation of ln D about its straight line in ln N, over rows of positive weight; infinite where D falls as N
// rises (one budget): there one term rises and the other falls, which tells them apart.
[[nodiscard]] inline double scatter_about_rising_line(const ChinchillaRows& rows) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (std::size_t i = 0; i < rows.size; ++i) {
    if (!(rows.weight[i] > 0)) continue;
    n += 1;
    x += rows.x[i];
    y += rows.y[i];
  }
  x /= n;
  y /= n;
  for (std::size_t i = 0; i < rows.size; ++i) {
    if (!(rows.weight[i] > 0)) continue;
    const double dx = rows.x[i] - x, dy = rows.y[i] - y;
    xx += dx * dx;
    xy += dx * dy;
    yy += dy * dy;
  }
  if (!(xy > 0)) return std::numeric_limits<double>::infinity();
  return std::sqrt(std::max(0.0, yy - xy * xy / xx) / n);
}

// What can be seen before any search.
inline void check_design(const ChinchillaRows& rows, const ChinchillaProblem& problem, std::size_t free) {
  if (rows.units < free) {
    throw Error(Failure::no_answer, "too_few_rows", "fit",
                "needs at least as many distinct rows as free coefficients (" + std::to_string(free) + "), got " +
                    std::to_string(rows.units) + "; add runs, or fix coefficients");
  }
  if (!problem.box.fixed[4] && rows.distinct_tokens < 2) {
    throw not_identified("B, beta and E cannot be told apart when every row has the same tokens",
                         "add runs with other D (at least three distinct ones), or fix B = 0");
  }
  if (!problem.box.fixed[3] && rows.distinct_parameters < 2) {
    throw not_identified(
        "A, alpha and E cannot be told apart when every row has the same "
        "parameters",
        "add runs with other N (at least three distinct ones), or fix A = 0");
  }
  if (!problem.box.fixed[3] && !problem.box.fixed[4] && scatter_about_rising_line(rows) < 0.01) {
    throw not_identified(
        "ln D is a straight line in ln N to 1% (as D = 20 N is), so the two terms cannot be told apart",
        "add runs that are off the line, with more or fewer tokens for their size, or fix an exponent");
  }
}

[[nodiscard]] inline law::FitRange range_of(std::span<const runs::Observation> observations) {
  law::FitRange out;
  const auto extend = [](std::optional<double>& low, std::optional<double>& high, double value) {
    low = low ? std::min(*low, value) : value;
    high = high ? std::max(*high, value) : value;
  };
  for (const runs::Observation& row : observations) {
    if (!(row.weight > 0)) continue;
    extend(out.parameters_low, out.parameters_high, row.parameters);
    extend(out.tokens_low, out.tokens_high, row.tokens);
    extend(out.flop_low, out.flop_high, training_flop(Parameters(row.parameters), Tokens(row.tokens)).value);
  }
  return out;
}

inline void add_warnings(ChinchillaReport& report, const Theta& standard_error) {
  const auto warn = [&report](const char* code, const std::string& message) {
    report.warnings.push_back({code, message});
  };
  const auto text = [](double x) { return print_number(x, 3); };
  if (!report.search.converged) {
    warn("not_converged",
         "the search stopped before the gradient vanished (" + text(report.search.gradient) + " of the objective)");
  }
  for (const std::string& name : report.at_bound) {
    warn("parameter_at_bound", name + " ended at a bound; the others were fitted given that");
  }
  if (report.duplicates() > 0) {
    warn("duplicates", std::to_string(report.duplicates()) +
                           " rows repeat another's N, D and loss exactly; they "
                           "count in the fit and not as evidence");
  }
  if (report.degrees_of_freedom == 0) {
    warn("no_degrees_of_freedom", "as many coefficients as distinct rows: no residual, no interval");
    return;
  }
  if (!report.identifiability.identifiable) warn("flat_valley", report.identifiability.reason);
  if (!report.far_rows.empty()) {
    warn("outlier_row",
         "far from the law, in residual sd: " + far_rows_text(report) + "; diverged runs and wrong cells look so");
  }
  if (report.law.irreducible_loss > 0 && 1.645 * standard_error[2] > 1) {
    warn("unidentified_asymptote", "E is " + text(report.law.irreducible_loss) + " with a standard error of about " +
                                       text(standard_error[2] * report.law.irreducible_loss) +
                                       ": these runs do not show an asymptote");
  }
  const Estimator& estimator = report.options.estimator;
  if (estimator.loss == Loss::huber && report.robust_residual_sd > 3 * estimator.delta) {
    warn("delta_below_noise", "delta " + text(estimator.delta) + " is " +
                                  text(estimator.delta / report.robust_residual_sd) +
                                  " of the residual sd: close to least absolute deviations; 1.345 "
                                  "sd would be " +
                                  text(1.345 * report.robust_residual_sd));
  }
}

// The rows beyond far_residual robust sd, the furthest first, as the caller numbers them.
[[nodiscard]] inline std::vector<FarRow> far_rows(std::span<const runs::Observation> observations,
                                                  const ChinchillaRows& rows, const std::vector<double>& residual,
                                                  double robust_sd, double rounding) {
  std::vector<std::size_t> far;
  for (std::size_t i = 0; i < rows.size; ++i) {
    if (std::abs(residual[i]) > far_residual * std::max(robust_sd, 1e4 * rounding)) far.push_back(i);
  }
  const std::size_t most = std::min<std::size_t>(3, far.size());
  std::partial_sort(far.begin(), far.begin() + static_cast<std::ptrdiff_t>(most), far.end(),
                    [&residual](std::size_t a, std::size_t b) {
                      return std::pair(-std::abs(residual[a]), a) < std::pair(-std::abs(residual[b]), b);
                    });
  std::vector<FarRow> out;
  for (std::size_t k = 0; k < most; ++k) {
    const auto first = std::find(rows.row_of.begin(), rows.row_of.end(), static_cast<std::uint32_t>(far[k]));
    const auto row = static_cast<std::size_t>(first - rows.row_of.begin());
    out.push_back({row, residual[far[k]], observations[row]});
  }
  return out;
}

inline void fill_report(ChinchillaReport& report, std::span<const runs::Observation> observations,
                        const ChinchillaRows& rows, const ChinchillaProblem& problem, const LocalMinimum& best) {
  const Theta& theta = best.theta;
  const Mask held = held_at(problem, theta);
  report.law = to_law(theta, rows);
  report.objective = best.objective;
  report.search.converged = best.converged;
  report.rows_used = rows.used;
  report.distinct_rows = rows.units;
  report.degrees_of_freedom = rows.units - std::min(rows.units, report.free_coefficients);
  for (const std::size_t k : std::array<std::size_t, 5>{2, 0, 1, 3, 4}) {
    const bool at_end = theta[k] <= problem.box.low[k] || theta[k] >= problem.box.high[k];
    const bool idle = k >= 3 && theta[k - 3] <= zero_level;
    if (!problem.box.fixed[k] && at_end && !idle) report.at_bound.emplace_back(coefficient_names[k]);
  }
  for (std::size_t k = 0; k < 5; ++k) {
    if (held[k] || problem.estimator.loss == Loss::least_absolute_deviations || !(best.at.value > 0)) continue;
    report.search.gradient = std::max(report.search.gradient, std::abs(best.at.gradient[k]) / best.at.value);
  }
  std::vector<double> residual(problem.rows.packs * pack_size);
  residuals(problem.rows, problem.estimator.residual, theta, residual.data());
  double squares = 0;
  for (std::size_t i = 0; i < rows.size; ++i) squares += rows.weight[i] * residual[i] * residual[i];
  report.residual_sd = report.degrees_of_freedom == 0
                           ? std::numeric_limits<double>::quiet_NaN()
                           : std::sqrt(squares / rows.total_weight * static_cast<double>(rows.units) /
                                       static_cast<double>(report.degrees_of_freedom));
  report.robust_residual_sd = robust_sd(residual, problem.rows.weight, report.free_coefficients);
  if (report.degrees_of_freedom > 0) {
    report.far_rows =
        far_rows(observations, rows, residual, report.robust_residual_sd, problem.scale.residual_rounding);
  }

  const Matrix5 information = outer_products(problem.rows, problem.estimator.residual, theta,
                                             [&](std::size_t i, double) { return problem.rows.weight[i]; });
  report.identifiability = identifiability(information, held);
  Matrix5 inverse{};
  if (!report.identifiability.identifiable || !invert(information, held, inverse)) {
    throw not_identified(
        "the N and D of these rows leave a combination of "
        "coefficients free (condition " +
            print_number(report.identifiability.condition, 2) + ")",
        "run at least three distinct N and three distinct D "
        "that do not rise together, or fix coefficients");
  }
  Theta standard_error{};
  if (report.degrees_of_freedom > 0) {
    // Weighted rows: M counts weight, the mean weight makes it count rows.
    const double mean_weight = rows.total_weight / static_cast<double>(rows.units);
    for (std::size_t k = 0; k < 5; ++k) {
      standard_error[k] = report.residual_sd * std::sqrt(std::max(0.0, inverse[k][k]) * mean_weight);
    }
    for (const std::size_t k : {std::size_t{3}, std::size_t{4}}) {
      if (held[k] || !(1.645 * standard_error[k] > theta[k])) continue;
      report.identifiability.identifiable = false;
      report.identifiability.reason += (report.identifiability.reason.empty() ? "" : "; ") +
                                       std::string(coefficient_names[k]) + " is " + print_number(theta[k], 3) +
                                       " with a standard error of about " + print_number(standard_error[k], 3);
    }
  }
  constexpr std::array<const char*, 3> vanished = {
      "the loss does not depend on N", "the loss does not depend on D",
      "E ended at zero, so the asymptote and the slower term cannot be told apart"};
  for (std::size_t k = 0; k < 3; ++k) {
    if (theta[k] > zero_level || problem.box.fixed[k]) continue;
    report.identifiability.identifiable = false;
    report.identifiability.reason += (report.identifiability.reason.empty() ? "" : "; ") + std::string(vanished[k]);
  }
  const Bounds usual = ChinchillaBounds().parameter_exponent;
  for (const std::size_t k : {std::size_t{3}, std::size_t{4}}) {
    const Bounds& bounds = k == 3 ? report.options.bounds.parameter_exponent : report.options.bounds.token_exponent;
    const bool ended =
        std::find(report.at_bound.begin(), report.at_bound.end(), coefficient_names[k]) != report.at_bound.end();
    // A bound that nobody asked for is the end of the search, and no answer.
    if (!ended || bounds != usual) continue;
    report.identifiability.identifiable = false;
    report.identifiability.reason += (report.identifiability.reason.empty() ? "" : "; ") +
                                     std::string(coefficient_names[k]) + " ran to the end of the search, " +
                                     print_number(theta[k], 3);
  }
  add_warnings(report, standard_error);
}

}  // namespace floplan::fit::detail
