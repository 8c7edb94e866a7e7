// SPDX-License-Identifier: BSD-3-Clause
//
// All that runs at a few budgets say, in one report: the minima and power laws that were asked for, what another choice
// of profiles or of runs would have given, all methods side by side, and what the method alone gets wrong on this grid.
//
//   fit::IsoflopStudyOptions options;
//   options.at = Flop(3.8e25);
//   const fit::IsoflopStudy study = fit::isoflop_study(rows, flop, options);
//   study.report, study.beside, study.methods, study.bias, study.warnings
//
// Each part is a function of its own (isoflop*.hpp, chinchilla.hpp); here is only what belongs side by side. The surface
// is the law that the runs support, if they support one; automatic noise is its robust residual sd times the median loss.
//
// Throws as isoflop() does, and Error(no_answer) where the surface or automatic noise is asked for and the runs support
// no law. An analysis beside the answer that is refused is left out.
// Pitfall: noise that is known makes more profiles flat; noise that is too small makes their intervals too narrow.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/isoflop.hpp"
#include "floplan/fit/isoflop_bias.hpp"
#include "floplan/fit/isoflop_surface.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit {

struct IsoflopStudyOptions {
  GroupOptions grouping;
  IsoflopOptions isoflop;        // the method may be the surface
  bool automatic_noise = false;  // instead of isoflop.noise_sd
  std::optional<Flop> at;        // also the answer there
};

// Another choice of profiles, or of runs.
struct IsoflopBeside {
  std::string name;  // all_profiles, interior, all_runs, unmarked_runs
  std::string what;  // in words
  IsoflopReport report;
  IsoflopDifference why;  // from this to the answer

  [[nodiscard]] bool same() const { return why.only_first.empty() && why.only_second.empty() && why.moved.empty(); }
  [[nodiscard]] std::string describe() const {
    return "first analysis: " + what + "; second: the answer above. " + why.describe();
  }
};

struct IsoflopStudy {
  IsoflopStudyOptions options;  // as used: noise resolved
  BudgetGroups groups;
  IsoflopReport report;
  std::optional<ChinchillaReport> surface;  // where the runs support a law
  std::vector<IsoflopBeside> beside;
  MethodComparison methods;
  std::optional<IsoflopBias> bias;  // of a method that is no surface, where there is one
  std::vector<Warning> warnings;
};

// The noise of one loss, in its own unit, as the residuals of a law of these runs have it.
[[nodiscard]] inline double noise_of_losses(const ChinchillaReport& law, std::span<const runs::Observation> rows) {
  std::vector<double> losses;
  for (const runs::Observation& run : rows) {
    if (run.weight > 0) losses.push_back(run.loss);
  }
  std::sort(losses.begin(), losses.end());
  return law.robust_residual_sd * quantile_of_sorted(losses, 0.5);
}

namespace detail {

// What is not asked for, but shown beside: nothing where it is refused.
template <class Result>
[[nodiscard]] std::optional<Result> if_any(const std::function<Result()>& analysis) {
  try {
    return analysis();
  } catch (const Error& error) {
    if (error.failure() == Failure::internal) throw;
    return std::nullopt;
  }
}

// The fit of the runs where a decision may rest on it.
[[nodiscard]] inline ChinchillaReport trusted_fit(std::span<const runs::Observation> rows) {
  ChinchillaReport out = chinchilla(rows);
  require_trusted(out);
  return out;
}

}  // namespace detail

// Other runs of the same files, to be set beside: those before some were chosen, or those that the file itself does not
// mark as outliers.
struct OtherRuns {
  std::vector<runs::Observation> rows;  // empty: none
  std::vector<double> flop;
  bool unmarked = false;
};

// flop: C of each row.
[[nodiscard]] inline IsoflopStudy isoflop_study(std::span<const runs::Observation> rows, std::span<const double> flop,
                                                const IsoflopStudyOptions& options = {}, const OtherRuns& others = {}) {
  IsoflopStudy out;
  out.options = options;
  out.groups = group_by_budget(rows, flop, options.grouping);
  IsoflopOptions& chosen = out.options.isoflop;
  const bool of_surface = chosen.method == IsoflopMethod::surface;
  if (of_surface || options.automatic_noise) {
    out.surface = detail::trusted_fit(rows);
  } else {
    out.surface = detail::if_any<ChinchillaReport>([&] { return detail::trusted_fit(rows); });
  }
  if (options.automatic_noise) {
    chosen.noise_sd = noise_of_losses(*out.surface, rows);
    if (!std::isfinite(chosen.noise_sd)) {
      throw Error(
          Failure::no_answer, "no_degrees_of_freedom", "isoflop",
          "the runs are as few as the law's coefficients, so that their noise is not known: give it as a number");
    }
  }
  if (of_surface) {
    std::vector<double> budgets;
    for (const BudgetRuns& budget : out.groups.budgets) budgets.push_back(budget.flop);
    out.warnings = out.surface->warnings;
    out.report = isoflop_surface(out.surface->law, budgets, chosen.level);
  } else {
    out.report = isoflop(out.groups.budgets, chosen);
  }
  out.warnings.insert(out.warnings.end(), out.report.warnings.begin(), out.report.warnings.end());
  if (options.at) {
    const IsoflopOptimum at = out.report.at(*options.at);
    if (at.extrapolation_decades > 0.01) {
      out.warnings.push_back({"extrapolation", print(at.flop, 3) + " FLOP is " +
                                                   print_number(at.extrapolation_decades, 2) +
                                                   " powers of ten beyond the budgets of the runs"});
    }
  }
  if (!of_surface) {
    const auto add = [&](const char* name, const char* what, std::optional<IsoflopReport> other) {
      if (!other) return;
      IsoflopDifference why = difference(*other, out.report);
      out.beside.push_back({name, what, std::move(*other), std::move(why)});
    };
    const auto with_control = [&](bool control, std::span<const BudgetRuns> budgets) {
      IsoflopOptions other = chosen;
      other.quality_control = control;
      return detail::if_any<IsoflopReport>([&] { return isoflop(budgets, other); });
    };
    add("all_profiles", "every profile that has a minimum", with_control(false, out.groups.budgets));
    if (!chosen.quality_control)
      add("interior", "profiles with an interior minimum only", with_control(true, out.groups.budgets));
    if (!others.rows.empty()) {
      const BudgetGroups groups = group_by_budget(others.rows, others.flop, options.grouping);
      if (others.unmarked) {
        add("unmarked_runs", "the runs that the file does not mark as outliers",
            with_control(chosen.quality_control, groups.budgets));
      } else {
        add("all_runs", "every run of the file, and every profile that has a minimum",
            with_control(false, groups.budgets));
      }
    }
  }
  out.methods = compare_methods(out.groups.budgets, chosen, out.surface ? &out.surface->law : nullptr);
  if (out.surface && !of_surface) {
    out.bias = isoflop_bias(out.surface->law, out.groups.budgets, options.at.value_or(Flop(out.report.highest_flop)),
                            out.report);
  }
  return out;
}

}  // namespace floplan::fit
