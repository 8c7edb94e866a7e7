// SPDX-License-Identifier: BSD-3-Clause
//
// Figures of laws, from the catalog alone: what each would buy, how its loss surface lies, what it costs to be off the best
// split, what serving and repeated data change, and what a loss means on a task.
//
//   for (const Figure& f : law_figures()) f.make(context).csv()
//
// N as each law counts it, D in tokens, C = 6 N D in FLOP; losses in each law's unit.
//
// Sources: optimum/, law/; coefficients from data/laws, runs from data/catalog.
// Pitfall: curves run far beyond the runs behind each law; the column decades_beyond_data says how far.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/law/any_form.hpp"
#include "floplan/optimum/allocation_law.hpp"
#include "floplan/optimum/choose.hpp"
#include "floplan/optimum/contours.hpp"
#include "floplan/optimum/lifetime.hpp"
#include "floplan/optimum/off_optimum.hpp"
#include "floplan/optimum/repetition.hpp"
#include "floplan/optimum/surface.hpp"
#include "floplan/report/figure.hpp"
#include "floplan/report/table.hpp"

namespace floplan::report {

namespace detail {

// From 10^low to 10^high, `per_decade` to a decade.
[[nodiscard]] inline std::vector<double> decades(int low, int high, int per_decade) {
  std::vector<double> out;
  for (int i = 0; i <= (high - low) * per_decade; ++i) out.push_back(std::pow(10.0, low + double(i) / per_decade));
  return out;
}

// The laws of a dense model's loss in nats a token, each with the optimum of its own; Chinchilla's form, but muennighoff's.
inline constexpr std::array surface_laws = {"hoffmann-2022",        "hoffmann-2022-rounded", "besiroglu-2024",
                                            "besiroglu-2024-huber", "sardana-2024",          "gadre-2024",
                                            "muennighoff-2023"};

[[nodiscard]] inline Table optima_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  for (const law::AnyLaw& law : catalog::any_laws(context.catalog)) {
    const bool surface_law = std::find(surface_laws.begin(), surface_laws.end(), law.name) != surface_laws.end();
    const bool allocation = optimum::is_allocation(law.form);
    if (!surface_law && !allocation) continue;
    const auto surface = allocation ? std::nullopt : std::optional(optimum::surface(law));
    const bool known_budgets = law.range.flop_low || law.range.flop_high;
    for (const double budget : decades(18, 28, 2)) {
      const Flop flop(budget);
      const optimum::Split split = surface ? optimum::for_budget(*surface, flop) : optimum::allocate(law.form, flop);
      const double beyond = law::decades_outside(budget, law.range.flop_low, law.range.flop_high);
      out.add({law.name,
               {budget, 4},
               {split.parameters.value, 6},
               {split.tokens.value, 6},
               {split.tokens.value / split.parameters.value, 4},
               surface ? Cell(optimum::loss_of(*surface, split), 6) : Cell(),
               law::to_text(law.parameter_convention),
               known_budgets ? Cell(beyond, 3) : Cell()});
    }
  }
  return out;
}

[[nodiscard]] inline Table published_models_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  for (const catalog::Run& run : context.catalog.runs()) {
    if (!run.parameters || !run.tokens) continue;
    const Parameters active = run.active_parameters.value_or(*run.parameters);
    out.add({run.title,
             {run.parameters->value, 6},
             {active.value, 6},
             {run.tokens->value, 6},
             {training_flop(active, *run.tokens).value, 4},
             {run.tokens->value / active.value, 4},
             run.provenance.date});
  }
  return out;
}

[[nodiscard]] inline Table contour_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  for (const char* name : {"besiroglu-2024", "hoffmann-2022"}) {
    const optimum::Surface s = optimum::surface(catalog::any_law(context.catalog, name));
    const auto add = [&](const char* line, double level, const optimum::ContourPoint& p) {
      out.add({name,
               line,
               known(level, 6),
               {p.split.parameters.value, 6},
               {p.split.tokens.value, 6},
               {p.training_flop.value, 6},
               {p.loss, 6}});
    };
    for (const optimum::ContourPoint& p : optimum::frontier(s, Flop(1e18), Flop(1e27), 37)) add("frontier", NAN, p);
    for (const double budget : decades(19, 26, 1)) {
      const optimum::Contour flop = optimum::iso_flop(s, Flop(budget));
      for (const optimum::ContourPoint& p : flop.points) add("iso_flop", budget, p);
      for (const optimum::ContourPoint& p : optimum::iso_loss(s, flop.best.loss).points)
        add("iso_loss", flop.best.loss, p);
    }
  }
  return out;
}

[[nodiscard]] inline Table off_optimum_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  for (const char* name : {"besiroglu-2024", "hoffmann-2022", "hoffmann-2022-rounded", "sardana-2024"}) {
    const law::Chinchilla<> law = context.catalog.law(name).form;
    const double floor = optimum::size_floor(law);
    for (int i = -60; i <= 30; ++i) {
      const double size = std::exp2(i / 15.0);
      if (size <= 1.01 * floor) continue;
      out.add({name, {size, 5}, {optimum::tokens_factor(law, size), 5}, {optimum::overhead(law, size), 5}, {floor, 5}});
    }
  }
  return out;
}

[[nodiscard]] inline Table lifetime_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  for (const char* name : {"besiroglu-2024", "hoffmann-2022", "hoffmann-2022-rounded"}) {
    const law::Chinchilla<> law = context.catalog.law(name).form;
    for (const double quality : {1e9, 3e9, 7e9, 13e9, 30e9, 70e9, 200e9, 400e9}) {
      const double loss = optimum::loss_at_optimum(law, Parameters(quality));
      const optimum::Split alone = optimum::for_loss(law, loss);
      for (const double served : decades(10, 15, 4)) {
        optimum::Demand demand;
        demand.output = Tokens(served);
        const optimum::Split split = optimum::for_lifetime(law, loss, demand);
        const double cost = demand.training_cost(split) + demand.serving_cost(split);
        const double cost_alone = demand.training_cost(alone) + demand.serving_cost(alone);
        out.add({name,
                 {quality, 4},
                 {loss, 6},
                 {served, 4},
                 {split.parameters.value, 6},
                 {split.tokens.value, 6},
                 {split.parameters / alone.parameters, 5},
                 {split.tokens / alone.tokens, 5},
                 {cost, 6},
                 {1 - cost / cost_alone, 5}});
      }
    }
  }
  return out;
}

[[nodiscard]] inline Table repetition_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const law::AnyLaw law = catalog::any_law(context.catalog, "muennighoff-2023");
  for (const double unique : {1e11, 1e12, 15e12}) {
    optimum::Setting setting;
    setting.set(law::Input::unique_tokens, unique);
    const optimum::Surface repeated = optimum::surface(law, setting);
    const optimum::Surface fresh = optimum::surface(law);
    // The best model for one epoch: with alpha = beta, D* / N* is the same at every budget.
    const optimum::Split any = optimum::for_budget(fresh, Flop(1e24));
    const Parameters n = any.parameters * (unique / any.tokens.value);
    for (int i = 0; i <= 32; ++i) {
      const double epochs = std::exp2(i / 5.0);
      const Tokens d(unique * epochs);
      out.add({{unique, 4},
               {epochs, 5},
               {d.value, 6},
               {n.value, 6},
               {optimum::repetition(d, Tokens(unique)).effective.value, 6},
               {optimum::loss_of(repeated, {n, d}), 6},
               {optimum::loss_of(fresh, {n, d}), 6}});
    }
  }
  return out;
}

[[nodiscard]] inline Table data_limited_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const law::AnyLaw law = catalog::any_law(context.catalog, "muennighoff-2023");
  for (const double unique : {1e11, 1e12, 15e12}) {
    optimum::Setting setting;
    setting.set(law::Input::unique_tokens, unique);
    const optimum::Surface limited = optimum::surface(law, setting);
    const optimum::Surface fresh = optimum::surface(law);
    for (const double budget : decades(21, 27, 2)) {
      const optimum::Split best = optimum::for_budget(limited, Flop(budget));
      const optimum::Split ample = optimum::for_budget(fresh, Flop(budget));
      out.add({{unique, 4},
               {budget, 4},
               {best.parameters.value, 6},
               {best.tokens.value, 6},
               {std::max(1.0, best.tokens.value / unique), 5},
               {optimum::loss_of(limited, best), 6},
               {ample.parameters.value, 6},
               {ample.tokens.value, 6},
               {optimum::loss_of(fresh, ample), 6}});
    }
  }
  return out;
}

[[nodiscard]] inline Table accuracy_table(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const std::vector<law::AnyLaw> laws = catalog::any_laws(context.catalog);
  for (const law::AnyLaw& law : laws) {
    const auto accuracy = catalog::companion(laws, law, "accuracy");
    if (!accuracy) continue;
    const auto add = [&](const std::string& kind, double loss, std::optional<double> n, std::optional<double> d) {
      const std::array at = {loss};
      const std::array run = {n.value_or(0), d.value_or(0)};
      out.add({law.name,
               kind,
               {n, 6},
               {d, 6},
               {loss, 6},
               law.loss_unit,
               {law::evaluate(accuracy->form, at), 6},
               !n                                                            ? Cell()
               : law::outside(law.range, law::inputs(law.form), run).empty() ? Cell("no")
                                                                             : Cell("yes")});
    };
    for (int i = 0; i <= 60; ++i) add("curve", 0.3 + i * 0.025, std::nullopt, std::nullopt);
    for (const auto& [n, d] : {std::pair(1e9, 1e11), {7e9, 4e12}, {13e9, 5e12}, {70e9, 15e12}, {405e9, 15.6e12}}) {
      const std::array run = {n, d};
      add("run", law::evaluate(law.form, run), n, d);
    }
  }
  return out;
}

}  // namespace detail

[[nodiscard]] inline std::vector<Figure> law_figures() {
  std::vector<Figure> out;
  const auto add = [&out](std::string name, std::string title, std::vector<FigureColumn> columns,
                          Table (*make)(const Figure&, const FigureContext&)) {
    out.push_back(make_figure(std::move(name), FigureInput::catalog, std::move(title), std::move(columns), make));
  };
  const FigureColumn law = {"law", "name in the catalog"};
  add("law_optima", "What each published law would buy: compute-optimal N and D against the budget",
      {law,
       {"flop", "budget C"},
       {"parameters", "N*, as the law counts"},
       {"tokens", "D*"},
       {"tokens_per_parameter", "D* / N*"},
       {"loss", "at the optimum, in the law's unit; blank for a law of N*(C) or D*(C), which knows none"},
       {"parameter_convention", "what N counts"},
       {"decades_beyond_data",
        "powers of ten from the law's own budgets to this one; blank where these are not known"}},
      detail::optima_table);
  add("published_models", "Published runs, to be drawn over the optima",
      {{"model", "title"},
       {"parameters", "total"},
       {"active_parameters", "that one token uses"},
       {"tokens", "trained on"},
       {"flop", "6 times active parameters times tokens"},
       {"tokens_per_parameter", "tokens / active parameters"},
       {"date", "of the source"}},
      detail::published_models_table);
  add("law_contours", "The loss surface from above: lines of equal loss, of equal FLOP, and the efficient frontier",
      {law,
       {"line", "frontier, iso_flop or iso_loss"},
       {"level", "FLOP of an iso_flop line, loss of an iso_loss line; blank on the frontier"},
       {"parameters", "N"},
       {"tokens", "D"},
       {"flop", "6 N D"},
       {"loss", "there"}},
      detail::contour_table);
  add("off_optimum", "What a smaller or larger model costs to the same loss (de Vries 2023), whatever the budget",
      {law,
       {"size", "N / N*"},
       {"tokens_factor", "D / D*"},
       {"overhead", "training FLOP beyond the best, as a share of it"},
       {"floor", "the size below which no number of tokens suffices"}},
      detail::off_optimum_table);
  add("lifetime", "The best model for a quality and a lifetime of serving (Sardana 2024, figure 1)",
      {law,
       {"quality_parameters", "N of the compute-optimal model of the same loss"},
       {"loss", "of both"},
       {"served_tokens", "in a lifetime, in and out"},
       {"parameters", "N of least training and serving FLOP"},
       {"tokens", "D of it"},
       {"parameters_ratio", "N over the compute-optimal one"},
       {"tokens_ratio", "D over the compute-optimal one"},
       {"total_flop", "6 N D + 2 N T"},
       {"saving", "share of the compute-optimal model's total that is saved"}},
      detail::lifetime_table);
  add("repeated_data", "What epochs over the same data are worth (Muennighoff 2023)",
      {{"unique_tokens", "U"},
       {"epochs", "D / U"},
       {"tokens", "D"},
       {"parameters", "N, held: compute-optimal for one epoch"},
       {"effective_tokens", "fresh tokens worth the same"},
       {"loss", "with repetition"},
       {"loss_if_fresh", "if all D were fresh"}},
      detail::repetition_table);
  add("data_limited", "What to buy when data runs out: N, D and epochs for a budget and U unique tokens",
      {{"unique_tokens", "U"},
       {"flop", "budget C"},
       {"parameters", "best N"},
       {"tokens", "best D"},
       {"epochs", "D / U, at least 1"},
       {"loss", "at the best"},
       {"parameters_if_fresh", "best N with ample data"},
       {"tokens_if_fresh", "best D with ample data"},
       {"loss_if_fresh", "at that"}},
      detail::data_limited_table);
  add("task_accuracy", "From a loss to a task's accuracy: the ladders of Bhagia et al. 2024, and what they say of runs",
      {{"law", "the task's law of bits a byte"},
       {"kind", "curve, or run: a model of N on D by the law"},
       {"parameters", "N of a run; blank on the curve"},
       {"tokens", "D of a run; blank on the curve"},
       {"loss", "of the task, in its unit"},
       {"loss_unit", "of loss"},
       {"accuracy", "at that loss"},
       {"outside_fit", "yes for a run outside those of the ladder; blank on the curve"}},
      detail::accuracy_table);
  return out;
}

}  // namespace floplan::report
