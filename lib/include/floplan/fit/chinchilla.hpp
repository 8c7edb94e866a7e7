// SPDX-License-Identifier: BSD-3-Clause
//
// Which Chinchilla law do these runs support, and how far is the answer to be trusted?
//
//   minimise over E, A, B >= 0, alpha, beta:   F = SUM over rows of weight * rho(r),   L = E + A / N^alpha + B / D^beta
//
//   const fit::ChinchillaReport report = fit::chinchilla(rows);
//   report.law, report.objective, report.describe()
//
// Estimators: estimator.hpp. The answer is the lowest point of all basins (detail/chinchilla_search.hpp), to the last
// digits: it does not depend on starts, on the order of rows (to the bit) or on the unit of N and D (to 1e-10). The
// mode hoffmann_grid shows how many of the 4,500 published starts would have got there.
//
// Throws Error(data) for rows that cannot be used, and Error(no_answer) where there is no answer: fewer rows than free
// coefficients, or coefficients that the design cannot tell apart. A fit at a bound, in a flat valley, or not converged
// is a value with warnings.
//
// Source: Hoffmann et al. 2022 (arXiv 2203.15556), approach 3; Besiroglu et al. 2024 (arXiv 2404.10102).
// Pitfall: the published Besiroglu coefficients are not the Huber optimum but that of least absolute deviations (their
// scale parameter was fitted too, which shrank delta to 5e-9); compare like with like.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "floplan/core/parallel_for.hpp"
#include "floplan/fit/chinchilla_report.hpp"
#include "floplan/fit/detail/chinchilla_problem.hpp"
#include "floplan/fit/detail/chinchilla_rows.hpp"
#include "floplan/fit/detail/chinchilla_search.hpp"
#include "floplan/fit/detail/chinchilla_setup.hpp"
#include "floplan/fit/detail/chinchilla_verdict.hpp"
#include "floplan/fit/detail/hoffmann_grid.hpp"
#include "floplan/fit/estimator.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit {

namespace detail {

// Goes down from all of Hoffmann's starts, `threads` at a time; their minima take the place of the map's.
inline void descend_grid(const ChinchillaProblem& problem, const ChinchillaRows& rows, unsigned threads,
                         SearchOutcome& outcome, SearchReport& report) {
  std::vector<Theta> starts = hoffmann_grid();
  for (Theta& start : starts) {
    start[0] -= start[3] * rows.log_parameters_shift;
    start[1] -= start[4] * rows.log_tokens_shift;
  }
  std::vector<LocalMinimum> minima(starts.size());
  parallel_for(starts.size(), threads, [&](std::size_t i) { minima[i] = minimise_from(problem, starts[i], 400); });
  report.best_of_grid = std::numeric_limits<double>::infinity();
  for (const LocalMinimum& found : minima) {
    outcome.evaluations += found.evaluations;
    report.best_of_grid = std::min(report.best_of_grid, found.objective);
    if (found.objective < outcome.best.objective - problem.objective_rounding(found.objective)) outcome.best = found;
  }
  outcome.minima = std::move(minima);
}

}  // namespace detail

[[nodiscard]] inline ChinchillaReport chinchilla(std::span<const runs::Observation> observations,
                                                 const ChinchillaOptions& options = {}) {
  detail::check(options);
  ChinchillaReport report;
  report.options = options;
  const detail::ChinchillaRows rows = detail::prepare_rows(observations, options);
  detail::ChinchillaProblem problem = detail::make_problem(rows, options);
  report.free_coefficients =
      static_cast<std::size_t>(std::count(problem.box.fixed.begin(), problem.box.fixed.end(), false));
  detail::check_design(rows, problem, report.free_coefficients);
  report.range = detail::range_of(observations);
  const detail::SearchSettings settings;
  std::vector<detail::Theta> given;
  if (options.given_start) given.push_back(detail::to_theta(*options.given_start, rows));
  if (options.automatic_delta && options.estimator.loss == Loss::huber) {
    problem.estimator.loss = Loss::least_absolute_deviations;
    const detail::SearchOutcome pilot = detail::search(problem, settings, given);
    std::vector<double> residual(problem.rows.packs * detail::pack_size);
    detail::residuals(problem.rows, problem.estimator.residual, pilot.best.theta, residual.data());
    const double sd = detail::robust_sd(residual, problem.rows.weight, report.free_coefficients);
    // Rows without noise have no scale; any delta above rounding fits them alike.
    problem.estimator.delta = std::max(1.345 * sd, 1e4 * problem.scale.residual_rounding);
    problem.estimator.loss = Loss::huber;
    report.options.estimator.delta = problem.estimator.delta;
    given.push_back(pilot.best.theta);
    report.search.evaluations += pilot.evaluations;
  }
  detail::SearchOutcome outcome = detail::search(problem, settings, given);
  if (options.start == StartPolicy::hoffmann_grid) {
    detail::descend_grid(problem, rows, options.threads, outcome, report.search);
  }
  report.search.starts = outcome.minima.size();
  report.search.evaluations += outcome.evaluations;
  const double close = outcome.best.objective * (1 + 1e-6) + problem.objective_rounding(outcome.best.objective);
  for (const detail::LocalMinimum& found : outcome.minima) report.search.agreeing += found.objective <= close ? 1 : 0;
  detail::fill_report(report, observations, rows, problem, outcome.best);
  return report;
}

// F of any law on these rows, by definition and in plain arithmetic: what `chinchilla` minimises.
[[nodiscard]] inline double objective(std::span<const runs::Observation> observations,
                                      const law::Chinchilla<double>& law, const Estimator& estimator) {
  check(estimator, "objective");
  double sum = 0;
  for (std::size_t i = 0; i < observations.size(); ++i) {
    const runs::Observation& row = observations[i];
    detail::check(row, i);
    sum += row.weight * rho(estimator, residual(estimator, law.loss(row.parameters, row.tokens), row.loss));
  }
  return sum;
}

}  // namespace floplan::fit
