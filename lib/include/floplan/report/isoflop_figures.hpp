// SPDX-License-Identifier: BSD-3-Clause
//
// Figures of training runs at a few budgets: the profiles, their minima by four methods, the power laws through them, and
// what the parabola gets wrong by itself.
//
//   for (const Figure& f : isoflop_figures()) f.make(context).csv()    context.runs: one's own, or the simulated example
//
//   parabola  of L in ln N;   lowest  the run with the lowest loss;   akima  of ln L in ln N;   surface  the fitted law
//
// Intervals: the parabola's is Fieller's; akima's comes from resampled noise with the refit's residual sd; the surface's
// from bootstrapped refits; the lowest run has none. Where the runs support no law there is no surface and no such noise,
// and the rows that need one are absent.
//
// Sources: fit/isoflop*.hpp; the simulated table of arXiv 2603.22339 in parabola_bias.
// Pitfall: a profile without an interior minimum has no optimum here, only a bound; its curve's minimum stands in columns
// of its own so that published analyses, which used such minima, can be redrawn.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/fit/allocation.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/isoflop.hpp"
#include "floplan/fit/isoflop_bias.hpp"
#include "floplan/fit/isoflop_study.hpp"
#include "floplan/fit/isoflop_surface.hpp"
#include "floplan/fit/prediction.hpp"
#include "floplan/report/figure.hpp"
#include "floplan/report/fit_figures.hpp"
#include "floplan/report/table.hpp"

namespace floplan::report {

namespace detail {

struct IsoflopSetting {
  std::vector<fit::BudgetRuns> budgets;
  std::optional<fit::ChinchillaReport> refit;  // absent where the runs support none
  fit::IsoflopOptions options;
  double noise_sd = std::numeric_limits<double>::quiet_NaN();  // of a loss; nan where it is not known

  explicit IsoflopSetting(const FigureRuns& runs) {
    std::vector<double> flop;
    for (std::size_t i = 0; i < runs.rows.size(); ++i) flop.push_back(runs.flop_of(i));
    fit::GroupOptions grouping;
    grouping.tolerance = runs.jitter;
    budgets = fit::group_by_budget(runs.rows, flop, grouping).budgets;
    options.level = runs.level;
    try {
      refit = fit::chinchilla(runs.rows);
      noise_sd = fit::noise_of_losses(*refit, runs.rows);
    } catch (const Error& error) {
      if (error.failure() != Failure::no_answer) throw;
    }
  }

  [[nodiscard]] fit::IsoflopOptions with(fit::IsoflopMethod method, bool quality_control) const {
    fit::IsoflopOptions out = options;
    out.method = method;
    out.quality_control = quality_control;
    if (method == fit::IsoflopMethod::akima && std::isfinite(noise_sd)) out.noise_sd = noise_sd;
    return out;
  }
  [[nodiscard]] std::vector<double> flop() const {
    std::vector<double> out;
    for (const fit::BudgetRuns& budget : budgets) out.push_back(budget.flop);
    return out;
  }
};

inline constexpr fit::IsoflopMethod curve_methods[] = {fit::IsoflopMethod::parabola, fit::IsoflopMethod::lowest,
                                                       fit::IsoflopMethod::akima};

[[nodiscard]] inline Table curve_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const IsoflopSetting study(context.runs);
  const fit::IsoflopOptions options = study.with(fit::IsoflopMethod::parabola, true);
  const std::vector<fit::Profile> profiles = fit::isoflop_profiles(study.budgets, options);
  constexpr int steps = 40;
  for (std::size_t k = 0; k < profiles.size(); ++k) {
    const fit::Profile& profile = profiles[k];
    const auto add = [&](const char* series, double n, double d, double loss) {
      out.add({{profile.flop, 6},
               series,
               {n, 6},
               {d, 6},
               known(loss),
               fit::to_text(profile.status),
               profile.used ? "yes" : "no"});
    };
    const fit::detail::ProfileRuns runs = fit::detail::prepare_profile(study.budgets[k], options.same_size);
    for (const runs::Observation& run : runs.rows) add("run", run.parameters, run.tokens, run.loss);
    if (runs.best.size() < 2) continue;
    const std::optional<fit::Parabola> parabola = fit::detail::parabola_minimum(runs, options, false).parabola;
    const double low = std::log(profile.lowest_size), high = std::log(profile.highest_size);
    for (int i = 0; i <= steps; ++i) {
      const double x = low + (high - low) * i / steps;
      const double n = std::exp(x), d = profile.flop / (6 * n);
      if (parabola) add("parabola", n, d, (*parabola)(x));
      if (study.refit) add("surface", n, d, study.refit->law.loss(n, d));
    }
  }
  return out;
}

[[nodiscard]] inline Table minimum_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const IsoflopSetting study(context.runs);
  const auto add = [&](const fit::IsoflopOptions& options, const fit::Profile& p, const fit::Profile& unchecked,
                       std::size_t runs) {
    const auto end = [](const std::optional<Interval>& i, bool high) {
      return i ? known(high ? i->high : i->low) : Cell();
    };
    out.add({{p.flop, 6},
             fit::to_text(options.method),
             {static_cast<double>(runs), 6},
             fit::to_text(p.status),
             p.reason,
             p.used ? "yes" : "no",
             known(p.parameters_opt),
             end(p.parameters_interval, false),
             end(p.parameters_interval, true),
             known(p.tokens_opt),
             end(p.tokens_interval, false),
             end(p.tokens_interval, true),
             {options.level, 3},
             known(p.loss_min),
             p.bound ? Cell(p.bound->at_most ? "at most" : "at least") : Cell(),
             p.bound ? known(p.bound->parameters) : Cell(),
             known(unchecked.parameters_opt),
             known(unchecked.tokens_opt)});
  };
  for (const fit::IsoflopMethod method : curve_methods) {
    const fit::IsoflopOptions options = study.with(method, true);
    const std::vector<fit::Profile> checked = fit::isoflop_profiles(study.budgets, options);
    const std::vector<fit::Profile> unchecked = fit::isoflop_profiles(study.budgets, study.with(method, false));
    for (std::size_t k = 0; k < checked.size(); ++k) add(options, checked[k], unchecked[k], checked[k].points);
  }
  if (!study.refit || !fit::has_optimum(study.refit->law)) return out;
  const fit::IsoflopReport surface =
      fit::isoflop_surface(resampled(context.runs, *study.refit), study.flop(), study.options.level);
  for (std::size_t k = 0; k < surface.profiles.size(); ++k) {
    add(surface.options, surface.profiles[k], surface.profiles[k], study.budgets[k].rows.size());
  }
  return out;
}

[[nodiscard]] inline Table power_law_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const IsoflopSetting study(context.runs);
  const double level = study.options.level;
  const auto add = [&](const char* method, const char* selection, std::size_t profiles, const char* quantity,
                       std::optional<double> flop, double value, const std::optional<Interval>& interval,
                       double beyond) {
    const bool given = interval && std::isfinite(interval->low);
    out.add({method,
             selection,
             {static_cast<double>(profiles), 6},
             quantity,
             {flop, 4},
             known(value, 7),
             given ? known(interval->low) : Cell(),
             given ? known(interval->high) : Cell(),
             given ? Cell(level, 3) : Cell(),
             flop ? Cell(beyond, 3) : Cell()});
  };
  const auto add_report = [&](const char* selection, const fit::IsoflopReport& r) {
    const std::string method = fit::to_text(r.options.method);
    const std::size_t profiles = r.profiles_used();
    add(method.c_str(), selection, profiles, "exponent_parameters", std::nullopt, r.parameters.exponent,
        r.parameters.exponent_interval, 0);
    add(method.c_str(), selection, profiles, "exponent_tokens", std::nullopt, r.tokens.exponent,
        r.tokens.exponent_interval, 0);
    for (const double flop : asked_budgets) {
      const fit::IsoflopOptimum at = r.at(Flop(flop));
      add(method.c_str(), selection, profiles, "parameters", flop, at.parameters.value, at.parameters_interval,
          at.extrapolation_decades);
      add(method.c_str(), selection, profiles, "tokens", flop, at.tokens.value, at.tokens_interval,
          at.extrapolation_decades);
    }
  };
  std::optional<Error> refused;
  for (const bool control : {false, true}) {
    for (const fit::IsoflopMethod method : curve_methods) {
      try {
        add_report(control ? "interior" : "every", fit::isoflop(study.budgets, study.with(method, control)));
      } catch (const Error& error) {
        if (error.failure() != Failure::no_answer) throw;
        refused = error;
      }
    }
  }
  if (study.refit && fit::has_optimum(study.refit->law)) {
    const fit::BootstrapReport boot = resampled(context.runs, *study.refit);
    const fit::IsoflopReport surface = fit::isoflop_surface(boot, study.flop(), level);
    const std::size_t profiles = surface.profiles.size();
    add("surface", "every", profiles, "exponent_parameters", std::nullopt, surface.parameters.exponent,
        surface.parameters.exponent_interval, 0);
    add("surface", "every", profiles, "exponent_tokens", std::nullopt, surface.tokens.exponent,
        surface.tokens.exponent_interval, 0);
    for (const double flop : asked_budgets) {
      const fit::OptimumPrediction best = fit::compute_optimal(boot, study.refit->range, Flop(flop), level);
      const double beyond = best.extrapolation_decades;
      add("surface", "every", profiles, "parameters", flop, best.parameters.value, best.parameters.interval, beyond);
      add("surface", "every", profiles, "tokens", flop, best.tokens.value, best.tokens.interval, beyond);
    }
  }
  if (out.size() == 0 && refused) throw Error(*refused);
  return out;
}

struct BiasCase {
  const char* name;
  ChinchillaLaw law;
  double offset, drift;
};
// The laws and grids of arXiv 2603.22339.
inline constexpr BiasCase bias_cases[] = {
    {"chinchilla rounded, centred", {1.69, 406.4, 410.7, 0.34, 0.28}, 1, 1},
    {"asymmetric, centred", {1.69, 406.4, 410.7, 0.465, 0.155}, 1, 1},
    {"symmetric, centred", {1.69, 400, 400, 0.31, 0.31}, 1, 1},
    {"symmetric, offset", {1.69, 400, 400, 0.31, 0.31}, 3, 1},
    {"symmetric, drifting", {1.69, 400, 400, 0.31, 0.31}, 1, 3},
};

// Five budgets from 1e17 to 1e21, 15 sizes within a factor of a centre that lies below the law's N*: by the offset at all
// budgets, and by the drift more at the last than at the first.
[[nodiscard]] inline std::vector<fit::BudgetRuns> bias_grid(const BiasCase& which, double factor) {
  std::vector<fit::BudgetRuns> out;
  for (int k = 0; k < 5; ++k) {
    const double flop = std::pow(10.0, 17 + k);
    const double centre =
        fit::allocation(which.law).parameters(Flop(flop)).value / (which.offset * std::pow(which.drift, k / 4.0));
    fit::BudgetRuns& budget = out.emplace_back();
    budget.flop = flop;
    for (int i = 0; i < 15; ++i) {
      const double n = centre * std::pow(factor, -1 + i / 7.0);
      budget.rows.push_back({n, flop / (6 * n), which.law.loss(n, flop / (6 * n)), 1, 0});
    }
  }
  return out;
}

[[nodiscard]] inline Table bias_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const auto add = [&](const std::string& grid, const ChinchillaLaw& law, std::optional<double> factor,
                       const fit::IsoflopBias& bias, double beyond) {
    out.add({grid,
             {factor, 3},
             {law.parameter_exponent, 6},
             {law.token_exponent, 6},
             {bias.flop.value, 4},
             {beyond, 3},
             {100 * bias.parameters_error, 10},
             {100 * bias.tokens_error, 10},
             {bias.tokens_exponent, 9},
             {bias.tokens_exponent_error, 6}});
  };
  const IsoflopSetting study(context.runs);
  const fit::IsoflopReport analysis = fit::isoflop(study.budgets, study.with(fit::IsoflopMethod::parabola, true));
  // Without a law of these runs there is no bias of their grid: the same refusal as the fit's.
  const ChinchillaLaw law = study.refit ? study.refit->law : fit::chinchilla(context.runs.rows).law;
  for (const double flop : asked_budgets) {
    add("these runs", law, std::nullopt, fit::isoflop_bias(law, study.budgets, Flop(flop), analysis),
        analysis.at(Flop(flop)).extrapolation_decades);
  }
  fit::IsoflopOptions every;
  every.quality_control = false;
  for (const BiasCase& which : bias_cases) {
    for (const double factor : {2.0, 4.0, 8.0, 16.0}) {
      add(which.name, which.law, factor, fit::isoflop_bias(which.law, bias_grid(which, factor), Flop(1e24), every), 3);
    }
  }
  return out;
}

}  // namespace detail

[[nodiscard]] inline std::vector<Figure> isoflop_figures() {
  std::vector<Figure> out;
  out.push_back(
      make_figure("isoflop_curves", FigureInput::runs,
                  "The runs of every budget, with the parabola through them and the refitted surface",
                  {{"flop", "budget of the profile"},
                   {"series", "run: a run; parabola, surface: points of the curve over the sizes that were run"},
                   {"parameters", "N"},
                   {"tokens", "D; of curves C / (6 N)"},
                   {"loss", "observed, or of the curve"},
                   {"status", "of the profile by the parabola: interior, edge, concave, flat or too_few"},
                   {"in_power_law", "whether the parabola's minimum enters the power law"}},
                  detail::curve_table));
  out.push_back(make_figure(
      "isoflop_minima", FigureInput::runs, "The best size at every budget by parabola, lowest run, Akima and surface",
      {{"flop", "budget"},
       {"method", "parabola, lowest, akima or surface"},
       {"runs", "of the budget"},
       {"status", "interior, edge, concave, flat or too_few"},
       {"reason", "for a status that is not interior; else blank"},
       {"in_power_law", "yes for interior minima"},
       {"parameters", "N*; blank without an interior minimum, like the columns that belong to it"},
       {"parameters_low", "of its interval; blank where the method gives none"},
       {"parameters_high", "likewise; blank where the method gives none"},
       {"tokens", "D*; blank without an interior minimum"},
       {"tokens_low", "of its interval; blank where the method gives none"},
       {"tokens_high", "likewise; blank where the method gives none"},
       {"level", "of the intervals"},
       {"loss", "at the minimum; blank without an interior one"},
       {"bound", "at most or at least: what a minimum at the edge says of N*; else blank"},
       {"bound_parameters", "that bound; else blank"},
       {"curve_parameters", "where the curve has its minimum, trusted or not; blank where it has none"},
       {"curve_tokens", "likewise for D; blank where it has none"}},
      detail::minimum_table));
  out.push_back(
      make_figure("isoflop_power_laws", FigureInput::runs,
                  "How the best N and D grow with the budget: through every profile, and through interior ones only",
                  {{"method", "parabola, lowest, akima or surface; one that has no answer is absent"},
                   {"profiles", "every: all with a minimum; interior: those that pass quality control"},
                   {"profiles_used", "their number"},
                   {"quantity", "exponent_parameters, exponent_tokens; parameters (N*) and tokens (D*) at the budget"},
                   {"flop", "budget; blank for exponents"},
                   {"value", "of the quantity"},
                   {"low", "of its interval; blank where there is none"},
                   {"high", "likewise; blank where there is none"},
                   {"level", "of the interval; blank where there is none"},
                   {"decades_beyond", "powers of ten from the profiles used to the budget; blank for exponents"}},
                  detail::power_law_table));
  out.push_back(make_figure(
      "parabola_bias", FigureInput::runs,
      "What the parabola alone, with perfect runs, gets wrong: on the grid of these runs and on published grids",
      {{"grid", "these runs (their N and D, losses of their refit without noise), or a grid of arXiv 2603.22339"},
       {"factor", "sizes reach from the centre over this to the centre times this; blank for these runs"},
       {"alpha", "exponent of N of the law"},
       {"beta", "exponent of D of the law"},
       {"flop", "budget that is asked for"},
       {"decades_beyond", "powers of ten from the grid to it"},
       {"parameters_error_percent", "N* of the analysis over that of the law, less one"},
       {"tokens_error_percent", "D* likewise"},
       {"tokens_exponent", "that the analysis finds"},
       {"tokens_exponent_error", "less that of the law"}},
      detail::bias_table));
  return out;
}

}  // namespace floplan::report
