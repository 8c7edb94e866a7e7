// SPDX-License-Identifier: BSD-3-Clause
//
// All that an expert asks of a fit, in one call: the law, how sure it is, what it says to buy, whether it would have
// predicted runs it had not seen, and how much of it is the estimator's choice.
//
//   const fit::Study study = fit::study(rows, {.bootstrap = {.resamples = 4000}});
//   study.fit.law, study.optima, study.estimators, study.held_out
//
// The parts are those of chinchilla.hpp, bootstrap.hpp, covariance.hpp, prediction.hpp, profile_likelihood.hpp and
// hold_out.hpp; nothing is computed here. What is not asked for is absent.
//
// Throws what chinchilla() throws. An estimator beside the chosen one that has no answer is listed with its reason.
// Cost: 240 rows and 1,000 resamples, 20 ms; the estimators side by side are four more fits.
// Pitfall: the spread between estimators is not an interval, and often as wide as one: report both.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/covariance.hpp"
#include "floplan/fit/hold_out.hpp"
#include "floplan/fit/prediction.hpp"
#include "floplan/fit/profile_likelihood.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit {

struct StudyOptions {
  ChinchillaOptions estimator;
  BootstrapOptions bootstrap;  // resamples 0: no interval
  double level = 0.9;
  std::vector<Flop> budgets;   // where the best N and D are wanted; empty: 1, 10, 100 and 1,000 times the largest run
  std::vector<bool> held_out;  // one a row; empty: none
  bool leave_one_group_out = false;     // Observation::group
  std::optional<ProfileScale> profile;  // absent: no profile likelihood
  bool compare_estimators = true;
};

struct BudgetOptimum {
  Flop budget;
  OptimumPrediction prediction;
};

struct EstimatorAnswer {
  Estimator estimator;  // delta as resolved
  bool automatic_delta = false;
  std::string reason;  // why there is no report; empty where there is
  std::optional<ChinchillaReport> report;
};

struct Study {
  ChinchillaReport fit;
  BootstrapReport boot;  // not available without resamples
  RunNoise noise;
  CovarianceReport covariance;
  std::optional<ProfileReport> profile;
  std::vector<BudgetOptimum> optima;  // empty where the law has no interior optimum
  std::vector<EstimatorAnswer> estimators;
  std::optional<HoldOutReport> held_out;
  std::optional<GroupsHoldOutReport> groups;
  double level = 0.9;
  double fit_seconds = 0;        // of chinchilla() alone, wall clock
  double bootstrap_seconds = 0;  // of all resamples
  std::vector<Warning> warnings;
};

namespace detail {

// The field's estimators, for their answers beside the chosen one's.
[[nodiscard]] inline std::vector<ChinchillaOptions> usual_estimators(const ChinchillaOptions& chosen) {
  std::vector<ChinchillaOptions> out;
  const auto add = [&](Loss loss, bool automatic) {
    ChinchillaOptions options = chosen;
    options.start = StartPolicy::global;
    options.estimator.loss = loss;
    options.estimator.delta = Estimator().delta;
    options.automatic_delta = automatic;
    out.push_back(std::move(options));
  };
  add(Loss::huber, false);
  add(Loss::huber, true);
  add(Loss::least_absolute_deviations, false);
  add(Loss::least_squares, false);
  return out;
}

[[nodiscard]] inline bool alike(const ChinchillaOptions& a, const ChinchillaOptions& b) {
  return a.estimator.loss == b.estimator.loss &&
         (a.estimator.loss != Loss::huber ||
          (a.automatic_delta == b.automatic_delta && (a.automatic_delta || a.estimator.delta == b.estimator.delta)));
}

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace detail

[[nodiscard]] inline Study study(std::span<const runs::Observation> observations, const StudyOptions& options = {}) {
  Study out;
  out.level = options.level;
  const auto start = std::chrono::steady_clock::now();
  out.fit = chinchilla(observations, options.estimator);
  out.fit_seconds = detail::seconds_since(start);
  out.warnings = out.fit.warnings;
  out.noise = run_noise(observations, out.fit);
  out.covariance = covariance(observations, out.fit, options.bootstrap.unit);
  if (options.profile) {
    out.profile = profile_likelihood(observations, out.fit, {.level = options.level, .scale = *options.profile});
    out.warnings.insert(out.warnings.end(), out.profile->warnings.begin(), out.profile->warnings.end());
  }
  out.boot.estimate = out.fit.law;
  if (options.bootstrap.resamples > 0) {
    const auto before = std::chrono::steady_clock::now();
    out.boot = bootstrap(observations, out.fit, options.bootstrap);
    out.bootstrap_seconds = detail::seconds_since(before);
    out.warnings.insert(out.warnings.end(), out.boot.warnings.begin(), out.boot.warnings.end());
  }
  std::vector<Flop> budgets = options.budgets;
  if (budgets.empty() && out.fit.range.flop_high) {
    for (const double times : {1.0, 10.0, 100.0, 1000.0}) budgets.emplace_back(*out.fit.range.flop_high * times);
  }
  if (has_optimum(out.fit.law)) {
    for (const Flop budget : budgets)
      out.optima.push_back({budget, compute_optimal(out.boot, out.fit.range, budget, options.level)});
  }
  if (options.compare_estimators) {
    out.estimators.push_back({out.fit.options.estimator, out.fit.options.automatic_delta, "", out.fit});
    for (const ChinchillaOptions& other : detail::usual_estimators(options.estimator)) {
      if (detail::alike(other, options.estimator)) continue;
      EstimatorAnswer answer{other.estimator, other.automatic_delta, "", std::nullopt};
      try {
        answer.report = chinchilla(observations, other);
        answer.estimator = answer.report->options.estimator;
      } catch (const Error& error) {
        if (error.failure() != Failure::no_answer) throw;
        answer.reason = error.what();
      }
      out.estimators.push_back(std::move(answer));
    }
  }
  if (!options.held_out.empty()) {
    out.held_out = hold_out(observations, options.held_out, options.estimator, options.bootstrap, options.level);
    out.warnings.insert(out.warnings.end(), out.held_out->warnings.begin(), out.held_out->warnings.end());
  }
  if (options.leave_one_group_out) {
    out.groups = leave_one_group_out(observations, options.estimator, options.bootstrap, options.level);
    out.warnings.insert(out.warnings.end(), out.groups->warnings.begin(), out.groups->warnings.end());
  }
  return out;
}

}  // namespace floplan::fit
