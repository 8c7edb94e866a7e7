// SPDX-License-Identifier: BSD-3-Clause
//
// All that is asked of a fit of any form in one call: the law, how sure it is, and the noise of a run.
//
//   const std::vector<FormRow> rows = form_rows(table);      of runs that were read with quantities_of(model)
//   const FormStudy study = study_form(model, rows, {.bootstrap = {.resamples = 1000}});
//
// The parts are those of form_fit.hpp and form_uncertainty.hpp. log_residuals are ln(observed / fitted) sqrt(n / (n - p)) of
// the distinct rows, ascending, as prediction.hpp wants them; empty where an output is not positive.
//
// Throws what fit_form throws. Pitfall: the intervals know nothing of whether the form is the right one.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/fit/form_fit.hpp"
#include "floplan/fit/form_model.hpp"
#include "floplan/fit/form_uncertainty.hpp"
#include "floplan/law/input.hpp"
#include "floplan/runs/run_table.hpp"

namespace floplan::fit {

struct FormStudyOptions {
  FormOptions estimator;
  FormBootstrapOptions bootstrap;  // resamples 0: no interval
  double level = 0.9;
};

struct FormStudy {
  FormReport fit;
  FormBootstrap boot;
  FormCovariance covariance;
  std::vector<double> log_residuals;
  double level = 0.9;
  double fit_seconds = 0;        // wall clock
  double bootstrap_seconds = 0;  // of all resamples
  std::vector<Warning> warnings;
};

// What runs must have to be fitted by a model: its inputs, then its output.
[[nodiscard]] inline std::vector<runs::Quantity> quantities_of(const FormModel& model) {
  std::vector<runs::Quantity> out;
  for (const law::Input input : model.inputs)
    out.push_back({law::info(input).key, law::info(input).low, law::info(input).high});
  const std::string output = law::info(model.output).key;
  const auto counted = law::find_input(output);
  const bool share = law::is_share(model.output);
  out.push_back({output,
                 counted ? law::info(*counted).low
                 : share ? 0
                         : -1e99,
                 counted ? law::info(*counted).high
                 : share ? 1
                         : 1e99});
  return out;
}

[[nodiscard]] inline std::vector<FormRow> form_rows(const runs::RunTable& table) {
  std::vector<FormRow> out;
  for (std::size_t i = 0; i < table.quantities.size(); ++i) {
    FormRow row{table.quantities[i], 0, table.observations[i].weight};
    row.output = row.inputs.back();
    row.inputs.pop_back();
    out.push_back(std::move(row));
  }
  return out;
}

namespace detail {

// Rows beyond far_residual robust sd of the law, the furthest three.
inline void name_far_rows(FormStudy& study, const FormModel& model, const std::vector<FormRow>& rows) {
  std::vector<std::pair<double, std::size_t>> far;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double fitted = model.value(study.fit.coefficients.data(), rows[i].inputs.data(), nullptr);
    const double r = std::abs(residual(study.fit.options.estimator, fitted, rows[i].output));
    if (rows[i].weight > 0 && r > far_residual * std::max(study.fit.robust_residual_sd, 1e-9)) far.emplace_back(-r, i);
  }
  if (far.empty()) return;
  std::sort(far.begin(), far.end());
  std::string text;
  for (std::size_t k = 0; k < std::min<std::size_t>(3, far.size()); ++k) {
    text += (text.empty() ? "" : ", ") + std::string("row ") + std::to_string(far[k].second + 1) + " (" +
            law::info(model.output).key + " " + print_number(rows[far[k].second].output, 5) + ") by " +
            print_number(-far[k].first / study.fit.robust_residual_sd, 3);
  }
  study.warnings.push_back(
      {"outlier_row", "far from the law, in residual sd: " + text +
                          (far.size() > 3 ? " and " + std::to_string(far.size() - 3) + " more" : "") +
                          "; diverged runs and wrong cells look so"});
}

}  // namespace detail

[[nodiscard]] inline FormStudy study_form(const FormModel& model, const std::vector<FormRow>& rows,
                                          const FormStudyOptions& options = {}) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  FormStudy out;
  out.level = options.level;
  const auto start = Clock::now();
  out.fit = fit_form(model, rows, options.estimator);
  out.fit_seconds = seconds(start);
  out.warnings = out.fit.warnings;
  out.covariance = covariance_form(rows, out.fit);
  out.boot.estimate = out.fit.coefficients;
  if (options.bootstrap.resamples > 0) {
    const auto before = Clock::now();
    out.boot = bootstrap_form(rows, out.fit, options.bootstrap);
    out.bootstrap_seconds = seconds(before);
    out.warnings.insert(out.warnings.end(), out.boot.warnings.begin(), out.boot.warnings.end());
  }
  detail::name_far_rows(out, model, rows);
  if (out.fit.degrees_of_freedom == 0) return out;
  const double scale =
      std::sqrt(static_cast<double>(out.fit.distinct_rows) / static_cast<double>(out.fit.degrees_of_freedom));
  std::vector<FormRow> distinct = rows;
  const auto key = [](const FormRow& row) { return std::tie(row.inputs, row.output); };
  std::erase_if(distinct, [](const FormRow& row) { return !(row.weight > 0); });
  std::sort(distinct.begin(), distinct.end(), [&](const FormRow& a, const FormRow& b) { return key(a) < key(b); });
  distinct.erase(std::unique(distinct.begin(), distinct.end(),
                             [&](const FormRow& a, const FormRow& b) { return key(a) == key(b); }),
                 distinct.end());
  for (const FormRow& row : distinct) {
    const double fitted = model.value(out.fit.coefficients.data(), row.inputs.data(), nullptr);
    out.log_residuals.push_back(std::log(row.output / fitted) * scale);
  }
  const auto finite = [](double r) { return std::isfinite(r); };
  if (!std::all_of(out.log_residuals.begin(), out.log_residuals.end(), finite)) out.log_residuals.clear();
  std::sort(out.log_residuals.begin(), out.log_residuals.end());
  return out;
}

// The share of the resamples that have no answer, or one at an end of the search, above which the runs do not determine
// the law, whatever the curvature at its estimate says.
inline constexpr double most_lost_resamples = 0.25;

// Throws Error(no_answer) for what the fit itself is not to be trusted for (form_fit.hpp), for a sigmoid of which the runs
// do not reach the middle, so that one of its ends is a guess, and for resamples that go astray too often.
inline void require_trusted(const FormStudy& study) {
  require_trusted(study.fit);
  const FormModel& model = study.fit.model;
  if (model.name == law::Sigmoid<>::name) {
    for (std::size_t k = 0; k < model.coefficients.size(); ++k) {
      if (model.coefficients[k].name != "x0") continue;
      for (const law::InputRange& r : study.fit.range.others) {
        const double middle = study.fit.coefficients[k];
        if (r.input != law::Input::loss || (r.low <= middle && middle <= r.high)) continue;
        throw Error(Failure::no_answer, "unidentified_asymptote", "fit",
                    "an asymptote of the curve is unidentified: its middle, at a loss of " + print_number(middle, 4) +
                        ", lies outside the runs' losses, " + print_number(*r.low, 4) + " to " +
                        print_number(*r.high, 4) +
                        "; run models on both sides of it, or fix b or a; --anyway shows "
                        "what there is");
      }
    }
  }
  const auto lost = static_cast<double>(study.boot.failed + study.boot.at_bound);
  const auto all = static_cast<double>(study.boot.failed + study.boot.laws.size());
  if (all > 0 && lost > most_lost_resamples * all) {
    throw Error(Failure::no_answer, "not_identified", "fit",
                "these runs do not identify the law: of " + print_number(all, 6) + " resamples " +
                    std::to_string(study.boot.failed) + " have no answer and " + std::to_string(study.boot.at_bound) +
                    " end at a bound of the search; run a wider range, or fix a coefficient; --anyway shows what there "
                    "is");
  }
}

// Coefficient k with its bootstrap interval.
[[nodiscard]] inline Estimate coefficient_of(const FormStudy& study, std::size_t k) {
  return estimate(
      study.boot, [k](const std::vector<double>& law) { return law[k]; }, study.level);
}

}  // namespace floplan::fit
