// SPDX-License-Identifier: BSD-3-Clause
//
// Figures of training runs: the law that they support beside published ones, what it leaves over, how the estimator
// moves it, and what it predicts of runs that it has not seen.
//
//   for (const Figure& f : fit_figures()) f.make(context).csv()        context.runs: one's own, or the simulated example
//
// The refit is fit::chinchilla with its defaults (sum of Huber losses of log residuals, delta 1e-3); intervals are
// bias-corrected bootstraps over rows (seed 1). Budgets of optima are 6 N D. N, D in ones, C in FLOP; losses in the unit of
// the runs; logarithms are natural.
//
// Sources: fit/chinchilla.hpp, fit/prediction.hpp, fit/hold_out.hpp; published coefficients from data/laws.
// Pitfall: published laws speak of nats a token and of total parameters. Their losses mean nothing beside runs in another
// unit (per character, per byte); their optima do not depend on that unit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/core/distribution.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/fit/allocation.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/hold_out.hpp"
#include "floplan/fit/prediction.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/law/scaling_law.hpp"
#include "floplan/report/example_sweep.hpp"
#include "floplan/report/figure.hpp"
#include "floplan/report/table.hpp"

namespace floplan::report {

namespace detail {

using ChinchillaLaw = law::Chinchilla<double>;

// 1e18 to 1e27, two to a decade, and the budgets of Chinchilla and of Llama 3.1 405B.
inline constexpr double asked_budgets[] = {1e18, 3e18,    1e19, 3e19, 1e20, 3e20, 1e21,   3e21, 1e22, 3e22, 1e23,
                                           3e23, 5.76e23, 1e24, 3e24, 1e25, 3e25, 3.8e25, 1e26, 3e26, 1e27};

[[nodiscard]] inline fit::BootstrapReport resampled(const FigureRuns& runs, const fit::ChinchillaReport& report) {
  fit::BootstrapOptions options;
  options.resamples = runs.resamples;
  return fit::bootstrap(runs.rows, report, options);
}

[[nodiscard]] inline Table example_table(const Figure& figure, const FigureContext&) {
  Table out(figure.header());
  for (const runs::Observation& run : example_sweep()) {
    out.add({{run.parameters, 6}, {run.tokens, 6}, {run.loss, 5}, {example_budget(run), 3}});
  }
  return out;
}

[[nodiscard]] inline Table law_comparison_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const double level = context.runs.level;
  const auto add = [&](const std::string& law, const char* kind, const char* quantity, std::optional<double> flop,
                       const Estimate& e, const law::FitRange& range) {
    const bool interval = std::isfinite(e.interval.low);
    const double beyond = flop ? law::decades_outside(*flop, range.flop_low, range.flop_high) : 0;
    out.add({law,
             kind,
             quantity,
             {flop, 4},
             known(e.value, 7),
             known(e.interval.low),
             known(e.interval.high),
             interval ? Cell(level, 3) : Cell(),
             flop ? Cell(beyond > 0 ? "yes" : "no") : Cell(),
             flop ? Cell(beyond, 3) : Cell()});
  };
  const auto add_law = [&](const std::string& name, const char* kind, const fit::BootstrapReport& boot,
                           const law::FitRange& range) {
    for (const law::NamedCoefficient& c : law::chinchilla_coefficients) {
      const auto value = [&c](const ChinchillaLaw& l) { return l.*c.field; };
      add(name, kind, c.name, std::nullopt, fit::estimate(boot, value, level), range);
    }
    const auto exponent = [](const ChinchillaLaw& l) { return fit::allocation(l).exponent_parameters; };
    const auto rest = [&exponent](const ChinchillaLaw& l) { return 1 - exponent(l); };
    add(name, kind, "exponent_parameters", std::nullopt, fit::estimate(boot, exponent, level), range);
    add(name, kind, "exponent_tokens", std::nullopt, fit::estimate(boot, rest, level), range);
    for (const double flop : asked_budgets) {
      const fit::OptimumPrediction best = fit::compute_optimal(boot, range, Flop(flop), level);
      add(name, kind, "parameters", flop, best.parameters, range);
      add(name, kind, "tokens", flop, best.tokens, range);
      add(name, kind, "tokens_per_parameter", flop, best.tokens_per_parameter, range);
      add(name, kind, "loss", flop, best.loss, range);
    }
  };
  for (const char* name : {"hoffmann-2022", "hoffmann-2022-rounded", "besiroglu-2024", "besiroglu-2024-huber"}) {
    const catalog::Law published = context.catalog.law(name);
    fit::BootstrapReport certain;  // the coefficients alone are published here, so no interval
    certain.estimate = published.form;
    add_law(name, "published", certain, published.range);
  }
  const fit::ChinchillaReport refit = fit::chinchilla(context.runs.rows);
  add_law("refit", "refit", resampled(context.runs, refit), refit.range);
  return out;
}

[[nodiscard]] inline Table residual_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const FigureRuns& runs = context.runs;
  const fit::ChinchillaReport refit = fit::chinchilla(runs.rows);
  const ChinchillaLaw hoffmann = context.catalog.law("hoffmann-2022").form;
  for (std::size_t i = 0; i < runs.rows.size(); ++i) {
    const runs::Observation& run = runs.rows[i];
    const double predicted = refit.law.loss(run.parameters, run.tokens);
    const double published = hoffmann.loss(run.parameters, run.tokens);
    const double residual = std::log(run.loss / predicted);
    out.add({{static_cast<double>(i + 1), 6},
             {run.parameters, 6},
             {run.tokens, 6},
             {runs.flop_of(i), 6},
             {run.tokens / run.parameters, 4},
             {run.loss, 6},
             {predicted, 6},
             {residual, 4},
             refit.robust_residual_sd > 0 ? known(residual / refit.robust_residual_sd, 3) : Cell(),
             {published, 6},
             {std::log(run.loss / published), 4}});
  }
  return out;
}

[[nodiscard]] inline Table estimator_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const auto add = [&](const std::string& name, const fit::ChinchillaOptions& options) {
    const fit::ChinchillaReport report = fit::chinchilla(context.runs.rows, options);
    const fit::Estimator& used = report.options.estimator;
    const fit::Allocation split = fit::allocation(report.law);
    const bool huber = used.loss == fit::Loss::huber;
    std::vector<Cell> row = {
        name,
        fit::to_text(used.residual),
        fit::to_text(used.loss),
        huber ? Cell(used.delta, 3) : Cell(),
        huber && report.robust_residual_sd > 0 ? known(used.delta / report.robust_residual_sd, 3) : Cell(),
        {report.objective, 8}};
    for (const law::NamedCoefficient& c : law::chinchilla_coefficients) row.push_back(known(report.law.*c.field, 7));
    row.push_back(known(split.exponent_parameters));
    row.push_back(known(split.exponent_tokens));
    for (const double flop : {5.76e23, 3.8e25}) {
      row.push_back(known(split.parameters(Flop(flop)).value));
      row.push_back(known(split.tokens(Flop(flop)).value));
    }
    row.emplace_back(report.search.converged && report.at_bound.empty() ? "yes" : "no");
    out.add(std::move(row));
  };
  fit::ChinchillaOptions options;
  for (const char* delta : {"1e-4", "3e-4", "1e-3", "3e-3", "1e-2", "3e-2", "1e-1"}) {
    options.estimator.delta = parse_number(delta);
    add(std::string("huber ") + delta, options);
  }
  options.automatic_delta = true;
  add("huber 1.345 sd", options);
  options.automatic_delta = false;
  options.estimator.loss = fit::Loss::least_absolute_deviations;
  add("least absolute deviations", options);
  options.estimator.loss = fit::Loss::least_squares;
  add("least squares", options);
  options.estimator.residual = fit::Residual::raw;
  add("least squares of raw losses", options);
  return out;
}

// The runs above this are held out.
[[nodiscard]] inline double hold_out_cut(const FigureRuns& runs) {
  if (runs.hold_out) return runs.hold_out->value;
  double highest = 0;
  for (std::size_t i = 0; i < runs.rows.size(); ++i) highest = std::max(highest, runs.flop_of(i));
  return highest / 10;
}

[[nodiscard]] inline Table held_out_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const FigureRuns& runs = context.runs;
  const double cut = hold_out_cut(runs);
  std::vector<bool> held(runs.rows.size());
  double highest_fitted = 0;
  for (std::size_t i = 0; i < held.size(); ++i) {
    held[i] = runs.flop_of(i) > cut * (1 + 1e-9);  // a tenth that rounding made is not above it
    if (!held[i]) highest_fitted = std::max(highest_fitted, runs.flop_of(i));
  }
  fit::BootstrapOptions resampling;
  resampling.resamples = runs.resamples;
  const fit::HoldOutReport report = fit::hold_out(runs.rows, held, {}, resampling, runs.level);
  std::vector<const fit::HeldRow*> of(held.size());
  for (const fit::HeldRow& row : report.rows) of[row.row] = &row;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const runs::Observation& run = runs.rows[i];
    const double predicted = report.fit.law.loss(run.parameters, run.tokens);
    const fit::HeldRow* row = of[i];
    out.add({{static_cast<double>(i + 1), 6},
             {run.parameters, 6},
             {run.tokens, 6},
             {runs.flop_of(i), 6},
             {cut, 6},
             held[i] ? "held out" : "fitted",
             {run.loss, 6},
             {predicted, 6},
             row != nullptr ? known(row->prediction.loss.interval.low) : Cell(),
             row != nullptr ? known(row->prediction.loss.interval.high) : Cell(),
             row != nullptr ? known(row->prediction.new_run.low) : Cell(),
             row != nullptr ? known(row->prediction.new_run.high) : Cell(),
             row != nullptr && row->covered ? Cell(*row->covered ? "yes" : "no") : Cell(),
             {runs.level, 3},
             {std::log(run.loss / predicted), 4},
             {held[i] ? std::log10(runs.flop_of(i) / highest_fitted) : 0.0, 3}});
  }
  return out;
}

}  // namespace detail

[[nodiscard]] inline std::vector<Figure> fit_figures() {
  std::vector<Figure> out;
  out.push_back(
      make_figure("example_runs", FigureInput::catalog,
                  "A simulated sweep to try fit and isoflop on: losses of a planted law with noise, never measured",
                  {{"parameters", "N"},
                   {"tokens", "D = C / (6 N)"},
                   {"loss", "simulated: (1.72 + 480 / N^0.35 + 2100 / D^0.37) times log-normal noise of 0.4%"},
                   {"flop", "budget C of the run"}},
                  detail::example_table));
  out.push_back(make_figure(
      "fit_law_comparison", FigureInput::runs,
      "Published Chinchilla laws and the refit of the runs: coefficients, and the best N and D of budgets",
      {{"law", "name in the catalog, or refit"},
       {"kind", "published or refit"},
       {"quantity",
        "E, A, B, alpha, beta; exponent_parameters (a of N* ~ C^a), exponent_tokens; parameters (N*), tokens "
        "(D*), tokens_per_parameter and loss at the budget"},
       {"flop", "budget; blank for what does not depend on it"},
       {"value", "of the quantity; a loss in the unit of the law's runs"},
       {"low", "of the refit's interval; blank for published laws"},
       {"high", "likewise; blank for published laws"},
       {"level", "of the interval; blank where there is none"},
       {"beyond_data", "yes where the budget lies outside those of the law's own runs; blank without a budget"},
       {"decades_beyond_data", "powers of ten from there to the budget; blank without a budget"}},
      detail::law_comparison_table));
  out.push_back(make_figure(
      "fit_residuals", FigureInput::runs, "What the refit, and Hoffmann's precise law, leave over of every run",
      {{"run", "number of the run, in the order of the file"},
       {"parameters", "N"},
       {"tokens", "D"},
       {"flop", "C as given, or 6 N D"},
       {"tokens_per_parameter", "D / N"},
       {"loss", "observed"},
       {"predicted", "by the refit"},
       {"log_residual", "ln(loss / predicted): positive where the run is worse than the law"},
       {"residual_in_sd", "the same over the robust residual sd of the refit; blank where that is zero"},
       {"hoffmann_predicted", "by hoffmann-2022, in nats a token"},
       {"hoffmann_log_residual", "ln(loss / hoffmann_predicted); means something for runs in nats a token only"}},
      detail::residual_table));
  out.push_back(
      make_figure("fit_by_estimator", FigureInput::runs,
                  "The law of the same runs by other estimators: Huber's delta and its limits",
                  {{"estimator", "name"},
                   {"residual", "log: of ln L; raw: of L"},
                   {"loss", "huber, least_squares or least_absolute_deviations"},
                   {"delta", "Huber's threshold; blank for the others"},
                   {"delta_over_sd", "delta over the robust residual sd; blank for the others"},
                   {"objective", "the sum over runs"},
                   {"E", "irreducible loss"},
                   {"A", "coefficient of N"},
                   {"B", "coefficient of D"},
                   {"alpha", "exponent of N"},
                   {"beta", "exponent of D"},
                   {"exponent_parameters", "a of N* ~ C^a; blank where there is no optimum"},
                   {"exponent_tokens", "1 - a; blank where there is no optimum"},
                   {"parameters_at_5.76e23", "N* at Chinchilla's budget; blank where there is no optimum"},
                   {"tokens_at_5.76e23", "D* there; blank where there is no optimum"},
                   {"parameters_at_3.8e25", "N* at the budget of Llama 3.1 405B; blank where there is no optimum"},
                   {"tokens_at_3.8e25", "D* there; blank where there is no optimum"},
                   {"trusted", "yes where the search converged with no coefficient at a bound"}},
                  detail::estimator_table));
  out.push_back(
      make_figure("held_out_extrapolation", FigureInput::runs,
                  "A law fitted on the runs up to a budget, and what it predicts of the runs above it",
                  {{"run", "number of the run, in the order of the file"},
                   {"parameters", "N"},
                   {"tokens", "D"},
                   {"flop", "C as given, or 6 N D"},
                   {"cut_flop", "runs above it are held out"},
                   {"role", "fitted or held out"},
                   {"loss", "observed"},
                   {"predicted", "by the law of the fitted runs"},
                   {"curve_low", "interval of the law's loss; blank for fitted runs"},
                   {"curve_high", "likewise; blank for fitted runs"},
                   {"run_low", "interval for the loss of one run; blank for fitted runs"},
                   {"run_high", "likewise; blank for fitted runs"},
                   {"inside", "yes where the observed loss lies in the run's interval; blank for fitted runs"},
                   {"level", "of the intervals"},
                   {"log_error", "ln(loss / predicted)"},
                   {"decades_beyond", "powers of ten of C beyond the largest fitted run"}},
                  detail::held_out_table));
  return out;
}

}  // namespace floplan::report
