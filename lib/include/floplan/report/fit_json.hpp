// SPDX-License-Identifier: BSD-3-Clause
//
// A fit as JSON: what scripts rely on, and what fit/fit_file.hpp reads back as a law.
//
//   result = fit_json(study, table)
//
// "replicates" holds the refits of the bootstrap ({"columns": ["E", ...], "rows": [[...]]}) and "log_residuals" the noise
// of a run, so that whoever takes the file as a law has its uncertainty. Ends of intervals that are not known are null.
//
// Needs nlohmann-json: not part of the umbrella header.
// Pitfall: "objective" is the sum over rows; divide by "rows.used" before comparing with a mean.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include "floplan/fit/allocation.hpp"
#include "floplan/fit/fit_file.hpp"
#include "floplan/fit/study.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/runs_json.hpp"
#include "floplan/runs/run_table.hpp"

namespace floplan::report {

namespace detail {

[[nodiscard]] inline Json estimator_json(const fit::Estimator& e) {
  return {{"residual", fit::to_text(e.residual)},
          {"loss", fit::to_text(e.loss)},
          {"delta", e.loss == fit::Loss::huber ? Json(e.delta) : Json(nullptr)}};
}

[[nodiscard]] inline Json search_json(const fit::SearchReport& search) {
  return {{"starts", search.starts},
          {"agreeing", search.agreeing},
          {"evaluations", search.evaluations},
          {"converged", search.converged}};
}

// Of a BootstrapReport or a FormBootstrap.
template <class Bootstrap>
[[nodiscard]] Json bootstrap_json(const Bootstrap& boot) {
  return {{"resamples", boot.resamples},
          {"answered", boot.laws.size()},
          {"failed", boot.failed},
          {"available", boot.available},
          {"complete", !boot.stopped}};
}

[[nodiscard]] inline Json unit_json(const runs::RunTable& table) {
  return table.loss_unit.empty() ? "in the unit of the runs" : table.loss_unit;
}

[[nodiscard]] inline Json law_json(const law::Chinchilla<double>& law) {
  Json out;
  for (const law::NamedCoefficient& c : law::chinchilla_coefficients) out[c.name] = law.*c.field;
  return out;
}

[[nodiscard]] inline Json figures_json(const fit::HoldOutFigures& f) {
  return {{"rows", f.rows},
          {"rms_error", f.rms_error},
          {"mean_error", f.mean_error},
          {"largest_error", f.largest_error},
          {"coverage", f.coverage}};
}

[[nodiscard]] inline Json held_json(const fit::HoldOutReport& report) {
  Json rows = Json::array();
  for (const fit::HeldRow& row : report.rows) {
    rows.push_back({{"parameters", count_json(row.observed.parameters)},
                    {"tokens", count_json(row.observed.tokens)},
                    {"loss", row.observed.loss},
                    {"predicted", to_json(row.prediction.loss)},
                    {"new_run", to_json(row.prediction.new_run)},
                    {"error", row.error},
                    {"covered", row.covered ? Json(*row.covered) : Json(nullptr)},
                    {"extrapolation_decades", row.prediction.extrapolation_decades}});
  }
  Json out = figures_json(report.held);
  out["training_rows"] = report.fit.rows_used;
  out["training_rms_error"] = report.training_rms_error;
  out["level"] = report.level;
  out["parameters"] = law_json(report.fit.law);
  out["predictions"] = std::move(rows);
  return out;
}

[[nodiscard]] inline Json groups_json(const fit::GroupsHoldOutReport& report, const runs::RunTable& table) {
  Json groups = Json::array();
  for (const fit::GroupHoldOut& g : report.groups) {
    Json entry = {{"group", g.group}, {"flop", nullptr}};
    const auto index = static_cast<std::size_t>(g.group);
    if (index < table.budgets.size()) entry["flop"] = table.budgets[index].flop;
    if (g.report) {
      entry.update(figures_json(g.report->held));
      entry["parameters"] = law_json(g.report->fit.law);
    }
    entry["reason"] = g.reason;
    groups.push_back(std::move(entry));
  }
  Json out = figures_json(report.held);
  out["training_rms_error"] = report.training_rms_error;
  out["groups"] = std::move(groups);
  return out;
}

[[nodiscard]] inline Json covariance_json(const fit::CovarianceReport& c) {
  if (!c.available) return {{"available", false}, {"reason", c.reason}};
  return {{"available", true},
          {"of", {"ln A", "ln B", "ln E", "alpha", "beta"}},
          {"inverse_hessian", c.inverse_hessian},
          {"sandwich", c.sandwich}};
}

[[nodiscard]] inline Json profile_json(const fit::ProfileReport& report) {
  Json out = {{"available", report.available}, {"reason", report.reason}, {"level", report.level}};
  for (const fit::CoefficientProfile& p : report.coefficients) {
    Json curve = Json::array();
    for (const fit::ProfilePoint& point : p.curve) curve.push_back({point.value, point.objective});
    out["coefficients"][p.name] = {{"value", p.estimate},      {"low", json(p.low)},         {"high", json(p.high)},
                                   {"low_open", p.low_reason}, {"high_open", p.high_reason}, {"reason", p.reason},
                                   {"threshold", p.threshold}, {"curve", std::move(curve)}};
  }
  return out;
}

}  // namespace detail

// The uncertain coefficients of a fit, in the order of the formula.
[[nodiscard]] inline Json coefficients_json(const fit::Study& s) {
  Json out;
  for (const law::NamedCoefficient& c : law::chinchilla_coefficients) {
    const auto field = c.field;
    out[c.name] = to_json(fit::estimate(
        s.boot, [field](const law::Chinchilla<double>& law) { return law.*field; }, s.level));
  }
  return out;
}

[[nodiscard]] inline Json fit_json(const fit::Study& s, const runs::RunTable& table) {
  const fit::ChinchillaReport& fit = s.fit;
  const fit::Allocation split = fit::allocation(fit.law);
  Json optima = Json::array();
  for (const fit::BudgetOptimum& o : s.optima) {
    optima.push_back({{"flop", o.budget.value},
                      {"parameters", to_json(o.prediction.parameters)},
                      {"tokens", to_json(o.prediction.tokens)},
                      {"tokens_per_parameter", to_json(o.prediction.tokens_per_parameter)},
                      {"loss", to_json(o.prediction.loss)},
                      {"extrapolation_decades", o.prediction.extrapolation_decades}});
  }
  Json estimators = Json::array();
  for (const fit::EstimatorAnswer& e : s.estimators) {
    Json entry = {{"estimator", detail::estimator_json(e.estimator)}, {"delta_auto", e.automatic_delta}};
    entry["parameters"] = e.report ? detail::law_json(e.report->law) : Json(nullptr);
    entry["exponent_parameters"] = e.report ? Json(fit::allocation(e.report->law).exponent_parameters) : Json(nullptr);
    entry["reason"] = e.reason;
    estimators.push_back(std::move(entry));
  }
  Json replicates = nullptr;
  if (s.boot.available) {
    Json rows = Json::array();
    for (const law::Chinchilla<double>& law : s.boot.laws) {
      Json row = Json::array();
      for (const law::NamedCoefficient& c : law::chinchilla_coefficients) row.push_back(law.*c.field);
      rows.push_back(std::move(row));
    }
    replicates = {{"columns", Json::array()}, {"rows", std::move(rows)}};
    for (const law::NamedCoefficient& c : law::chinchilla_coefficients) replicates["columns"].push_back(c.name);
  }
  const bool huber = fit.options.estimator.loss == fit::Loss::huber;
  return {{"law", "chinchilla"},
          {"form", "E + A/N^alpha + B/D^beta"},
          {"estimator", detail::estimator_json(fit.options.estimator)},
          {"objective", fit.objective},
          {"parameters", coefficients_json(s)},
          {"allocation",
           {{"exponent_parameters", split.exponent_parameters},
            {"exponent_tokens", split.exponent_tokens},
            {"coefficient", split.coefficient},
            {"exponent_parameters_estimate",
             to_json(fit::estimate(
                 s.boot, [](const law::Chinchilla<double>& l) { return fit::allocation(l).exponent_parameters; },
                 s.level))}}},
          {"rows", rows_json(table)},
          {"search", detail::search_json(fit.search)},
          {"identifiable", fit.identifiability.identifiable},
          {"condition", fit.identifiability.condition},
          {"at_bound", fit.at_bound},
          {"fit_range", range_json(fit.range)},
          {"parameter_convention", law::to_text(table.count)},
          {"loss_unit", detail::unit_json(table)},
          {"degrees_of_freedom", fit.degrees_of_freedom},
          {"residual_sd", fit.residual_sd},
          {"robust_residual_sd", fit.robust_residual_sd},
          {"run_noise_sd", s.noise.standard_deviation()},
          {"delta_over_residual_sd", huber && fit.robust_residual_sd > 0
                                         ? Json(fit.options.estimator.delta / fit.robust_residual_sd)
                                         : Json(nullptr)},
          {"optimum", std::move(optima)},
          {"estimators", std::move(estimators)},
          {"held_out", s.held_out ? detail::held_json(*s.held_out) : Json(nullptr)},
          {"leave_one_budget_out", s.groups ? detail::groups_json(*s.groups, table) : Json(nullptr)},
          {"covariance", detail::covariance_json(s.covariance)},
          {"profile_likelihood", s.profile ? detail::profile_json(*s.profile) : Json(nullptr)},
          {"bootstrap", detail::bootstrap_json(s.boot)},
          {"log_residuals", s.noise.available ? Json(s.noise.log_residuals) : Json(nullptr)},
          {"replicates", std::move(replicates)}};
}

}  // namespace floplan::report
