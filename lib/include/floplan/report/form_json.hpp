// SPDX-License-Identifier: BSD-3-Clause
//
// A fit of any form as JSON: what scripts rely on, and what fit/fit_file.hpp reads back as a law.
//
//   result = form_json(study, table)
//
// Keys are those of a Chinchilla fit (fit_json.hpp) where they mean the same; "inputs" and "output" name the quantities, and
// "parameters" has the form's own coefficients. Fixed coefficients have a value and a standard error of zero.
//
// Needs nlohmann-json: not part of the umbrella header.
// Pitfall: "objective" is the sum over rows; divide by "rows.used" before comparing with a mean.
#pragma once

#include <string>
#include <utility>

#include "floplan/fit/form_study.hpp"
#include "floplan/report/fit_json.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/runs_json.hpp"
#include "floplan/runs/run_table.hpp"

namespace floplan::report {

[[nodiscard]] inline Json form_json(const fit::FormStudy& s, const runs::RunTable& table) {
  const fit::FormReport& fit = s.fit;
  Json inputs = Json::array();
  for (const law::Input input : fit.model.inputs) inputs.push_back(law::info(input).key);
  Json parameters = Json::object();
  Json names = Json::array();
  for (std::size_t k = 0; k < fit.coefficients.size(); ++k) {
    names.push_back(fit.model.coefficients[k].name);
    parameters[fit.model.coefficients[k].name] = to_json(fit::coefficient_of(s, k));
  }
  Json covariance = {{"available", s.covariance.available}, {"reason", s.covariance.reason}};
  if (s.covariance.available) {
    covariance = {{"available", true},
                  {"of", s.covariance.of},
                  {"inverse_hessian", s.covariance.inverse_hessian},
                  {"sandwich", s.covariance.sandwich}};
  }
  return {
      {"law", fit.model.name},
      {"form", fit.model.formula},
      {"inputs", std::move(inputs)},
      {"output", law::info(fit.model.output).key},
      {"estimator", detail::estimator_json(fit.options.estimator)},
      {"objective", fit.objective},
      {"parameters", std::move(parameters)},
      {"rows", rows_json(table)},
      {"search", detail::search_json(fit.search)},
      {"identifiable", fit.identifiability.identifiable && fit.at_end.empty()},
      {"unidentified", fit.unidentified},
      {"condition", fit.identifiability.condition},
      {"at_bound", fit.at_bound},
      {"fit_range", range_json(fit.range)},
      {"parameter_convention", law::to_text(table.count)},
      {"loss_unit", detail::unit_json(table)},
      {"degrees_of_freedom", fit.degrees_of_freedom},
      {"residual_sd", fit.residual_sd},
      {"robust_residual_sd", fit.robust_residual_sd},
      {"covariance", std::move(covariance)},
      {"bootstrap", detail::bootstrap_json(s.boot)},
      {"log_residuals", s.log_residuals.empty() ? Json(nullptr) : Json(s.log_residuals)},
      {"replicates", s.boot.available ? Json{{"columns", std::move(names)}, {"rows", s.boot.laws}} : Json(nullptr)}};
}

}  // namespace floplan::report
