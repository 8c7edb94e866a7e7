// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <memory>

#include "command.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/isoflop.hpp"
#include "floplan/fit/isoflop_bias.hpp"
#include "floplan/fit/isoflop_surface.hpp"
#include "floplan/report/runs_json.hpp"
#include "run_source.hpp"

namespace floplan::cli {
namespace {

struct Options {
  RunOptions runs;
  Text at;
  std::string method = "parabola";
  std::string level = "0.9";
  std::string jitter = "10%";
  bool all_profiles = false;
};

report::Json number_or_null(double x) { return std::isfinite(x) ? report::Json(x) : report::Json(nullptr); }

report::Json law_json(const fit::PowerLaw& law) {
  report::Json out = {{"exponent", law.exponent}, {"coefficient", law.coefficient}};
  out["low"] = law.exponent_interval ? report::Json(law.exponent_interval->low) : report::Json(nullptr);
  out["high"] = law.exponent_interval ? report::Json(law.exponent_interval->high) : report::Json(nullptr);
  out["level"] = law.level;
  return out;
}

// The runs with a budget each: C as given, or 6ND.
std::vector<double> budgets_of(const runs::RunTable& table) {
  std::vector<double> out;
  for (std::size_t i = 0; i < table.observations.size(); ++i) {
    const runs::Observation& row = table.observations[i];
    out.push_back(table.flop[i].value_or(training_flop(Parameters(row.parameters), Tokens(row.tokens)).value));
  }
  return out;
}

// The law that the runs support, or nothing where they support none.
std::optional<law::Chinchilla<>> surface_of(const runs::RunTable& table) {
  try {
    return fit::chinchilla(table.observations).law;
  } catch (const Error& error) {
    if (error.failure() != Failure::no_answer) throw;
    return std::nullopt;
  }
}

Answer answer_isoflop(const Session&, const Options& o) {
  Answer answer;
  const runs::RunTable table = o.runs.read(answer.warnings, false);
  fit::GroupOptions grouping;
  grouping.tolerance = parse<Fraction>(o.jitter, "--jitter").value;
  const fit::BudgetGroups groups = fit::group_by_budget(table.observations, budgets_of(table), grouping);

  fit::IsoflopOptions options;
  options.method = o.method == "akima"    ? fit::IsoflopMethod::akima
                   : o.method == "lowest" ? fit::IsoflopMethod::lowest
                                          : fit::IsoflopMethod::parabola;
  options.quality_control = !o.all_profiles;
  options.level = parse<Fraction>(o.level, "--level").value;
  fit::IsoflopReport report = [&] {
    if (o.method != "surface") return fit::isoflop(groups.budgets, options);
    std::vector<double> budgets;
    for (const fit::BudgetRuns& budget : groups.budgets) budgets.push_back(budget.flop);
    return fit::isoflop_surface(fit::chinchilla(table.observations).law, budgets, options.level);
  }();
  for (const Warning& w : report.warnings) answer.warnings.push_back(w);

  report::Json profiles = report::Json::array();
  report::Table rows({"budget (FLOP)", "runs", "N*", "low", "high", "D*", "loss", "status", "in the power law"});
  for (const fit::Profile& p : report.profiles) {
    report::Json entry = {{"flop", p.flop},
                          {"points", p.points},
                          {"parameters_opt", number_or_null(p.parameters_opt)},
                          {"tokens_opt", number_or_null(p.tokens_opt)},
                          {"loss_min", number_or_null(p.loss_min)}};
    entry["low"] = p.parameters_interval ? number_or_null(p.parameters_interval->low) : report::Json(nullptr);
    entry["high"] = p.parameters_interval ? number_or_null(p.parameters_interval->high) : report::Json(nullptr);
    entry["status"] = fit::to_text(p.status);
    entry["reason"] = p.reason;
    entry["used"] = p.used;
    if (p.bound)
      entry["bound"] = {
          {"at_most", p.bound->at_most}, {"parameters", p.bound->parameters}, {"tokens", p.bound->tokens}};
    profiles.push_back(std::move(entry));
    const auto known = [](double x, int digits) { return std::isfinite(x) ? report::Cell(x, digits) : report::Cell(); };
    rows.add({{p.flop, 3},
              {static_cast<double>(p.points), 6},
              known(p.parameters_opt, 4),
              p.parameters_interval ? known(p.parameters_interval->low, 4) : report::Cell(),
              p.parameters_interval ? known(p.parameters_interval->high, 4) : report::Cell(),
              known(p.tokens_opt, 4),
              known(p.loss_min, 4),
              fit::to_text(p.status),
              p.used ? "yes" : "no"});
    if (!p.reason.empty() && p.status != fit::ProfileStatus::interior) {
      answer.warnings.push_back({"profile_" + fit::to_text(p.status), print(Flop(p.flop), 3) + " FLOP: " + p.reason});
    }
  }
  answer.inputs = o.runs.inputs();
  answer.inputs["method"] = o.method;
  answer.inputs["quality_control"] = options.quality_control;
  answer.result = {{"profiles", std::move(profiles)},
                   {"power_law", {{"parameters", law_json(report.parameters)}, {"tokens", law_json(report.tokens)}}},
                   {"rows", report::rows_json(table)}};
  answer.text = table.describe() + "\n" + groups.describe() + "\n\n" + rows.text() + "\n" + report.describe() + "\n";
  // The other methods beside it, and what this one's shape alone gets wrong on this grid, if the runs support a surface.
  const std::optional<law::Chinchilla<>> surface = surface_of(table);
  const fit::MethodComparison all = fit::compare_methods(groups.budgets, options, surface ? &*surface : nullptr);
  answer.text += "\nThe methods side by side\n" + all.describe() + "\n";
  answer.result["methods"] = report::Json::array();
  for (const fit::IsoflopReport& other : all.reports) {
    answer.result["methods"].push_back({{"method", fit::to_text(other.options.method)},
                                        {"parameters", law_json(other.parameters)},
                                        {"tokens", law_json(other.tokens)}});
  }
  if (surface && o.method != "surface") {
    const Flop where = o.at ? parse<Flop>(*o.at, "--at") : Flop(report.highest_flop);
    const fit::IsoflopBias bias = fit::isoflop_bias(*surface, groups.budgets, where, report);
    answer.result["bias"] = {{"flop", where.value},
                             {"parameters_error", bias.parameters_error},
                             {"tokens_error", bias.tokens_error},
                             {"tokens_exponent_error", bias.tokens_exponent_error}};
    answer.text += bias.describe() + "\n";
  }
  if (o.at) {
    const fit::IsoflopOptimum at = report.at(parse<Flop>(*o.at, "--at"));
    answer.inputs["at"] = at.flop.value;
    answer.result["at"] = {{"flop", at.flop.value},
                           {"parameters", at.parameters.value},
                           {"tokens", at.tokens.value},
                           {"extrapolation_decades", at.extrapolation_decades}};
    answer.text +=
        "at " + print(at.flop, 4) + " FLOP: N* " + print(at.parameters, 4) + ", D* " + print(at.tokens, 4) + "\n";
    if (at.extrapolation_decades > 0.01) {
      answer.warnings.push_back({"extrapolation", print(at.flop, 3) + " FLOP is " +
                                                      print_number(at.extrapolation_decades, 2) +
                                                      " powers of ten beyond the budgets of the runs"});
    }
  }
  answer.table = std::move(rows);
  return answer;
}

}  // namespace

void add_isoflop(Program& program) {
  const auto o = std::make_shared<Options>();
  Subcommand sub = program.add("isoflop", "The best size at each budget, and how it grows with the budget",
                               [o](const Session& s) { return answer_isoflop(s, *o); });
  o->runs.add_to(sub);
  sub.option("--at", o->at, "Also at this budget, as 3.8e25");
  sub.option("--method", o->method, "How a budget's optimum is found", {"parabola", "lowest", "akima", "surface"});
  sub.option("--jitter", o->jitter, "Runs within this of each other's budget are of one");
  sub.flag("--all-profiles", o->all_profiles,
           "Let every profile with a minimum into the power law, as published analyses do");
  sub.option("--level", o->level, "Level of the intervals");
}

}  // namespace floplan::cli
