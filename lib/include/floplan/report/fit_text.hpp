// SPDX-License-Identifier: BSD-3-Clause
//
// A fit as people read it: the law with its intervals, what it says to buy, and how far it is to be trusted.
//
//   fit_text(study, table)        everything that the study holds, as aligned tables with units
//   coefficient_table(study)      the table that --csv prints: one row a coefficient
//
// Numbers are rounded to what a reader can use; --json and --csv carry every digit.
// Pitfall: E, A, alpha and B, beta are correlated to .999: coefficients copied from the rounded table are another law.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/allocation.hpp"
#include "floplan/fit/fit_file.hpp"
#include "floplan/fit/study.hpp"
#include "floplan/report/table.hpp"
#include "floplan/runs/run_table.hpp"

namespace floplan::report {

namespace detail {

[[nodiscard]] inline std::string estimator_text(const fit::EstimatorAnswer& e) {
  std::string out = fit::to_text(e.estimator.loss);
  if (e.estimator.loss == fit::Loss::huber) {
    out += " " + print_number(e.estimator.delta, 3);
    if (e.automatic_delta) out += " (auto)";
  }
  return out + ", " + fit::to_text(e.estimator.residual);
}

[[nodiscard]] inline std::string held_text(const fit::HoldOutReport& held) {
  Table rows({"N", "D", "loss", "predicted", "low", "high", "of one run: low", "high", "error (%)", "inside",
              "decades beyond"});
  for (const fit::HeldRow& row : held.rows) {
    const fit::Prediction& p = row.prediction;
    rows.add({print(Parameters(row.observed.parameters), 4), print(Tokens(row.observed.tokens), 4),
              Cell(row.observed.loss, 5), known(p.loss.value, 5), known(p.loss.interval.low, 5),
              known(p.loss.interval.high, 5), known(p.new_run.low, 5), known(p.new_run.high, 5),
              known(100 * row.error, 3), row.covered ? Cell(*row.covered ? "yes" : "no") : Cell(),
              Cell(p.extrapolation_decades, 2)});
  }
  return "\nRuns held out, predicted from the other " + std::to_string(held.fit.rows_used) + "\n" + rows.text() +
         held.describe() + "\n";
}

[[nodiscard]] inline std::string groups_text(const fit::GroupsHoldOutReport& report, const runs::RunTable& table) {
  Table rows({"budget left out (FLOP)", "runs", "rms error (%)", "mean (%)", "largest (%)", "inside (%)", "why not"});
  for (const fit::GroupHoldOut& g : report.groups) {
    const auto index = static_cast<std::size_t>(g.group);
    const fit::HoldOutFigures f = g.report ? g.report->held : fit::HoldOutFigures{};
    rows.add({index < table.budgets.size() ? print_number(table.budgets[index].flop, 3) : std::to_string(g.group),
              g.report ? Cell(static_cast<double>(f.rows), 6) : Cell(), known(100 * f.rms_error, 3),
              known(100 * f.mean_error, 3), known(100 * f.largest_error, 3), known(100 * f.coverage, 3), g.reason});
  }
  return "\nEach budget predicted from the others\n" + rows.text() + "in all: rms error " +
         print_number(100 * report.held.rms_error, 3) + "% (" + print_number(100 * report.training_rms_error, 3) +
         "% of the rows fitted)" +
         (std::isfinite(report.held.coverage)
              ? ", " + print_number(100 * report.held.coverage, 3) + "% of runs inside their intervals"
              : "") +
         "\n";
}

[[nodiscard]] inline std::string profile_text(const fit::ProfileReport& report) {
  std::string out = "\nProfile likelihood, " + print_number(100 * report.level) + "% intervals\n";
  if (!report.available) return out + "not available: " + report.reason + "\n";
  Table rows({"coefficient", "value", "low", "high", "why open"});
  const auto side = [](const std::optional<double>& end) { return end ? Cell(*end, 5) : Cell("open"); };
  for (const fit::CoefficientProfile& p : report.coefficients) {
    const std::string name = p.name == "a" ? "exponent of N*(C)" : p.name;
    if (!p.available()) {
      rows.add({name, known(p.estimate, 7), {}, {}, p.reason});
      continue;
    }
    const std::string both = p.low_reason.empty() || p.high_reason.empty() ? "" : "; ";
    rows.add({name, known(p.estimate, 7), side(p.low), side(p.high), p.low_reason + both + p.high_reason});
  }
  return out + rows.text();
}

}  // namespace detail

[[nodiscard]] inline Table coefficient_table(const fit::Study& s) {
  Table out({"coefficient", "value", "standard error", "low", "high"});
  const auto add = [&](const std::string& name, const auto& quantity) {
    const Estimate e = fit::estimate(s.boot, quantity, s.level);
    out.add({name, known(e.value, 7), known(e.standard_error, 3), known(e.interval.low, 5), known(e.interval.high, 5)});
  };
  for (const law::NamedCoefficient& c : law::chinchilla_coefficients) {
    const auto field = c.field;
    add(c.name, [field](const law::Chinchilla<double>& law) { return law.*field; });
  }
  if (fit::has_optimum(s.fit.law)) {
    add("exponent of N*(C)",
        [](const law::Chinchilla<double>& law) { return fit::allocation(law).exponent_parameters; });
  }
  return out;
}

[[nodiscard]] inline std::string fit_text(const fit::Study& s, const runs::RunTable& table) {
  const std::string percent = print_number(100 * s.level) + "%";
  std::string out = table.describe() + "\n";
  for (const std::string& note : table.notes) out += "  " + note + "\n";
  out += s.fit.describe() + "\n\n" + coefficient_table(s).text();
  out += s.boot.available
             ? percent + " intervals from " + std::to_string(s.boot.laws.size()) + " resamples, bias-corrected\n"
             : "no interval is available\n";
  if (s.profile) out += detail::profile_text(*s.profile);
  if (fit::has_optimum(s.fit.law)) {
    const fit::Allocation split = fit::allocation(s.fit.law);
    out += "\nWhat it says to buy: N* = " + print_number(split.coefficient, 5) + " (C/6)^" +
           print_number(split.exponent_parameters, 5) + ", D* = (C/6)^" + print_number(split.exponent_tokens, 5) +
           " / " + print_number(split.coefficient, 5) + "\n";
  } else {
    out += "\nIt says nothing of what to buy: without A, B, alpha and beta there is no best split\n";
  }
  Table optima(
      {"budget (FLOP)", "decades beyond", "N*", "low", "high", "D*", "low", "high", "D*/N*", "loss", "low", "high"});
  for (const fit::BudgetOptimum& o : s.optima) {
    const fit::OptimumPrediction& p = o.prediction;
    const auto count = [](double x) { return std::isfinite(x) ? Cell(print(Parameters(x), 4)) : Cell(); };
    optima.add({print_number(o.budget.value, 3), Cell(p.extrapolation_decades, 2), count(p.parameters.value),
                count(p.parameters.interval.low), count(p.parameters.interval.high), count(p.tokens.value),
                count(p.tokens.interval.low), count(p.tokens.interval.high), known(p.tokens_per_parameter.value, 3),
                known(p.loss.value, 4), known(p.loss.interval.low, 4), known(p.loss.interval.high, 4)});
  }
  if (optima.size() > 0) out += optima.text();
  if (!s.estimators.empty()) {
    Table estimators({"estimator", "E", "A", "B", "alpha", "beta", "exponent of N*(C)", "why not"});
    for (const fit::EstimatorAnswer& e : s.estimators) {
      if (!e.report) {
        estimators.add({detail::estimator_text(e), {}, {}, {}, {}, {}, {}, e.reason});
        continue;
      }
      const law::Chinchilla<double>& law = e.report->law;
      estimators.add({detail::estimator_text(e), Cell(law.irreducible_loss, 5), Cell(law.parameter_coefficient, 4),
                      Cell(law.token_coefficient, 4), Cell(law.parameter_exponent, 4), Cell(law.token_exponent, 4),
                      Cell(fit::allocation(law).exponent_parameters, 4)});
    }
    out += "\nThe same rows by other estimators\n" + estimators.text();
  }
  if (s.held_out) out += detail::held_text(*s.held_out);
  if (s.groups) out += detail::groups_text(*s.groups, table);
  return out;
}

}  // namespace floplan::report
