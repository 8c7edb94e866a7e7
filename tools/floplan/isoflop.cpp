// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include "command.hpp"
#include "estimator_source.hpp"
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

std::optional<Flop> asked_budget(const Options& o) {
  if (!o.at) return std::nullopt;
  const Flop at = parse<Flop>(*o.at, "--at");
  if (at.value > 0) return at;
  throw Error(Failure::usage, "out_of_range", "--at", "must be positive, got " + *o.at);
}

report::Json law_json(const fit::PowerLaw& law) {
  report::Json out = {{"exponent", law.exponent}, {"coefficient", law.coefficient}};
  out["low"] = law.exponent_interval ? report::Json(law.exponent_interval->low) : report::Json(nullptr);
  out["high"] = law.exponent_interval ? report::Json(law.exponent_interval->high) : report::Json(nullptr);
  out["level"] = law.level;
  return out;
}

report::Json at_json(const fit::IsoflopOptimum& at) {
  report::Json out = {{"flop", at.flop.value},
                      {"parameters", at.parameters.value},
                      {"tokens", at.tokens.value},
                      {"extrapolation_decades", at.extrapolation_decades}};
  const auto interval = [](const std::optional<Interval>& i) {
    return i ? report::Json{{"low", i->low}, {"high", i->high}, {"level", i->level}} : report::Json(nullptr);
  };
  out["parameters_interval"] = interval(at.parameters_interval);
  out["tokens_interval"] = interval(at.tokens_interval);
  return out;
}

std::string at_text(const fit::IsoflopOptimum& at) {
  std::string out = "at " + print(at.flop, 4) + " FLOP: N* " + print(at.parameters, 4) + ", D* " + print(at.tokens, 4);
  if (at.tokens_interval) {
    out += " (" + print(Tokens(at.tokens_interval->low), 3) + " to " + print(Tokens(at.tokens_interval->high), 3) +
           " at " + print_number(100 * at.tokens_interval->level, 4) + "%)";
  }
  return out;
}

// Another choice of profiles, or of runs, beside the one that was asked for: its power law, its answer at the budget, and
// why the two differ.
void add_beside(Answer& answer, const std::string& key, const std::string& what, const fit::IsoflopReport& other,
                const fit::IsoflopReport& asked, const std::optional<Flop>& at) {
  report::Json entry = {{"parameters", law_json(other.parameters)},
                        {"tokens", law_json(other.tokens)},
                        {"profiles", other.profiles_used()}};
  if (at) entry["at"] = at_json(other.at(*at));
  answer.result["power_law_" + key] = std::move(entry);
  report::Json& text = answer.result[key == "all_profiles" ? std::string("difference") : "difference_" + key];
  const fit::IsoflopDifference why = fit::difference(other, asked);
  if (why.only_first.empty() && why.only_second.empty() && why.moved.empty()) {
    text = nullptr;
    answer.text += "\nWith " + what + ": the same\n";
    return;
  }
  text = "first analysis: " + what + "; second: the answer above. " + why.describe();
  answer.text += "\nWith " + what + "\n" + other.describe() + "\n";
  if (at) answer.text += at_text(other.at(*at)) + "\n";
  answer.text += "why: " + text.get<std::string>() + "\n";
}

// The law that the runs support, or nothing where they support none.
std::optional<law::Chinchilla<>> surface_of(const runs::RunTable& table) {
  try {
    const fit::ChinchillaReport report = fit::chinchilla(table.observations);
    fit::require_trusted(report);
    return report.law;
  } catch (const Error& error) {
    if (error.failure() != Failure::no_answer) throw;
    return std::nullopt;
  }
}

// An analysis beside the answer, or nothing where it is refused.
std::optional<fit::IsoflopReport> if_any(const std::function<fit::IsoflopReport()>& analysis) {
  try {
    return analysis();
  } catch (const Error& error) {
    if (error.failure() == Failure::internal) throw;
    return std::nullopt;
  }
}

// The analysis of every run, where --where chose some.
std::optional<fit::IsoflopReport> unfiltered(const Options& o, const fit::GroupOptions& grouping,
                                             const fit::IsoflopOptions& options) {
  if (o.runs.where.empty()) return std::nullopt;
  return if_any([&] {
    RunOptions all = o.runs;
    all.where.clear();
    std::vector<Warning> ignored;
    const runs::RunTable table = all.read(ignored, false);
    return fit::isoflop(fit::group_by_budget(table.observations, budgets_of(table), grouping).budgets, options);
  });
}

// The exponents without one profile, and which profile moves them most.
void add_leave_one_out(Answer& answer, const fit::IsoflopReport& report) {
  report::Json out = report::Json::array();
  const fit::LeftOut* most = nullptr;
  const auto moved = [&report](const fit::LeftOut& l) { return std::abs(l.tokens_exponent - report.tokens.exponent); };
  for (const fit::LeftOut& left : report.leave_one_out) {
    out.push_back({{"flop", left.flop},
                   {"parameters_exponent", left.parameters_exponent},
                   {"tokens_exponent", left.tokens_exponent}});
    if (most == nullptr || moved(left) > moved(*most)) most = &left;
  }
  answer.result["leave_one_out"] = std::move(out);
  if (most == nullptr) return;
  answer.text += "the profile that moves the exponents most is that at " + print(Flop(most->flop), 3) +
                 " FLOP: without it N* grows as C^" + print_number(most->parameters_exponent, 5) + " and D* as C^" +
                 print_number(most->tokens_exponent, 5) + "\n";
}

Answer answer_isoflop(const Session&, const Options& o) {
  fit::GroupOptions grouping;
  grouping.tolerance = parse_between<Fraction>(o.jitter, "--jitter", Fraction(0), Fraction(1)).value;
  const std::optional<Flop> asked_at = asked_budget(o);
  const double level = level_of(o.level);
  Answer answer;
  const runs::RunTable table = o.runs.read(answer.warnings, false);
  const fit::BudgetGroups groups = fit::group_by_budget(table.observations, budgets_of(table), grouping);

  fit::IsoflopOptions options;
  options.method = o.method == "akima"    ? fit::IsoflopMethod::akima
                   : o.method == "lowest" ? fit::IsoflopMethod::lowest
                                          : fit::IsoflopMethod::parabola;
  options.quality_control = !o.all_profiles;
  options.level = level;
  fit::IsoflopReport report = [&] {
    if (o.method != "surface") return naming_skipped_rows(table, [&] { return fit::isoflop(groups.budgets, options); });
    std::vector<double> budgets;
    for (const fit::BudgetRuns& budget : groups.budgets) budgets.push_back(budget.flop);
    return naming_skipped_rows(table, [&] {
      const fit::ChinchillaReport surface = fit::chinchilla(table.observations);
      fit::require_trusted(surface);
      answer.warnings.insert(answer.warnings.end(), surface.warnings.begin(), surface.warnings.end());
      return fit::isoflop_surface(surface.law, budgets, options.level);
    });
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
  }
  answer.inputs = o.runs.inputs();
  answer.inputs["method"] = o.method;
  answer.inputs["quality_control"] = options.quality_control;
  answer.result = {{"profiles", std::move(profiles)},
                   {"power_law", {{"parameters", law_json(report.parameters)}, {"tokens", law_json(report.tokens)}}},
                   {"rows", report::rows_json(table)}};
  answer.text = table.describe() + "\n" + groups.describe() + "\n\n" + rows.text() + "\n" + report.describe() + "\n";
  if (asked_at) {
    const fit::IsoflopOptimum at = report.at(*asked_at);
    answer.inputs["at"] = at.flop.value;
    answer.result["at"] = at_json(at);
    answer.text += at_text(at) + "\n";
    if (at.extrapolation_decades > 0.01) {
      answer.warnings.push_back({"extrapolation", print(at.flop, 3) + " FLOP is " +
                                                      print_number(at.extrapolation_decades, 2) +
                                                      " powers of ten beyond the budgets of the runs"});
    }
  }
  add_leave_one_out(answer, report);
  if (o.method != "surface") {
    fit::IsoflopOptions every = options;
    every.quality_control = false;
    add_beside(answer, "all_profiles", "every profile that has a minimum", fit::isoflop(groups.budgets, every), report,
               asked_at);
    if (o.all_profiles) {
      fit::IsoflopOptions interior = options;
      interior.quality_control = true;
      if (const auto only = if_any([&] { return fit::isoflop(groups.budgets, interior); }))
        add_beside(answer, "interior", "profiles with an interior minimum only", *only, report, asked_at);
    }
    if (const auto all = unfiltered(o, grouping, every)) {
      add_beside(answer, "all_runs", "every run of the file, and every profile that has a minimum", *all, report,
                 asked_at);
    }
  }
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
    const Flop where = asked_at.value_or(Flop(report.highest_flop));
    const fit::IsoflopBias bias = fit::isoflop_bias(*surface, groups.budgets, where, report);
    answer.result["bias"] = {{"flop", where.value},
                             {"parameters_error", bias.parameters_error},
                             {"tokens_error", bias.tokens_error},
                             {"tokens_exponent_error", bias.tokens_exponent_error}};
    answer.text += bias.describe() + "\n";
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
