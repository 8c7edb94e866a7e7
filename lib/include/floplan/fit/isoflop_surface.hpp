// SPDX-License-Identifier: BSD-3-Clause
//
// The optimum of a fitted surface at the same budgets, as an isoFLOP report, and all methods side by side.
//
//   N*(C) = G (C / 6)^a,   D*(C) = (C / 6)^b / G        the closed form of allocation.hpp; L* = L(N*, D*)
//
// The power law of a Chinchilla surface is exact, so its report has no residual, and intervals come from refits only:
// give a BootstrapReport and every N*, D* and exponent has a bias-corrected interval.
//
// Source: Hoffmann et al. 2022 (arXiv 2203.15556), equation 4.
// Holds: A, B, alpha, beta positive; else Error(no_answer).
// Pitfall: the surface uses every run, also those far from the optimum; where the law's form is wrong there, so is its
// optimum, and no interval of it says so. Compare it with the parabola's and akima's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/fit/allocation.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/isoflop.hpp"
#include "floplan/law/chinchilla.hpp"

namespace floplan::fit {

// The surface's answer at these budgets (in FLOP).
[[nodiscard]] inline IsoflopReport isoflop_surface(const law::Chinchilla<double>& law, std::span<const double> budgets,
                                                   double level = 0.9) {
  detail::check_level(level, "isoflop surface");
  for (const double value :
       {law.parameter_coefficient, law.token_coefficient, law.parameter_exponent, law.token_exponent}) {
    if (value > 0 && std::isfinite(value)) continue;
    throw Error(Failure::no_answer, "no_interior_optimum", "isoflop surface",
                "A, B, alpha and beta must be positive and finite for an optimum between the ends, got " +
                    print_number(value, 6));
  }
  std::vector<double> sorted(budgets.begin(), budgets.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  if (sorted.empty() || !(sorted.front() > 0 && std::isfinite(sorted.back()))) {
    throw Error(Failure::usage, "out_of_range", "isoflop surface",
                "needs budgets that are positive and finite, got " +
                    (sorted.empty() ? std::string("none") : print_number(sorted.front(), 6) + " FLOP"));
  }
  const Allocation split = allocation(law);
  IsoflopReport out;
  out.options.method = IsoflopMethod::surface;
  out.options.level = level;
  for (const double flop : sorted) {
    Profile& profile = out.profiles.emplace_back();
    profile.flop = flop;
    profile.parameters_opt = split.parameters(Flop(flop)).value;
    profile.tokens_opt = split.tokens(Flop(flop)).value;
    profile.loss_min = law.loss(profile.parameters_opt, profile.tokens_opt);
    profile.status = ProfileStatus::interior;
    profile.used = true;
  }
  out.lowest_flop = sorted.front();
  out.highest_flop = sorted.back();
  const auto line = [&](double exponent, double value) {
    PowerLaw power;
    power.exponent = exponent;
    power.log_flop_mean = std::log(out.lowest_flop);
    power.log_value_mean = std::log(value);
    power.coefficient = std::exp(power.log_value_mean - exponent * power.log_flop_mean);
    power.profiles = sorted.size();
    power.level = level;
    return power;
  };
  out.parameters = line(split.exponent_parameters, out.profiles.front().parameters_opt);
  out.tokens = line(split.exponent_tokens, out.profiles.front().tokens_opt);
  return out;
}

// The same with the intervals of its refits. The power laws' intervals at other budgets: estimate(boot, ...) there.
[[nodiscard]] inline IsoflopReport isoflop_surface(const BootstrapReport& boot, std::span<const double> budgets,
                                                   double level = 0.9) {
  IsoflopReport out = isoflop_surface(boot.estimate, budgets, level);
  if (!boot.available) return out;
  using Law = law::Chinchilla<double>;
  for (Profile& profile : out.profiles) {
    const Flop flop(profile.flop);
    const Estimate n = estimate(
        boot, [flop](const Law& l) { return allocation(l).parameters(flop).value; }, level);
    const Estimate d = estimate(
        boot, [flop](const Law& l) { return allocation(l).tokens(flop).value; }, level);
    profile.parameters_interval = n.interval;
    profile.tokens_interval = d.interval;
    profile.parameters_log_sd = n.standard_error / n.value;
    profile.tokens_log_sd = d.standard_error / d.value;
  }
  out.parameters.exponent_interval = estimate(
                                         boot, [](const Law& l) { return allocation(l).exponent_parameters; }, level)
                                         .interval;
  out.tokens.exponent_interval = estimate(
                                     boot, [](const Law& l) { return allocation(l).exponent_tokens; }, level)
                                     .interval;
  return out;
}

struct MethodComparison {
  std::vector<IsoflopReport> reports;                          // of the methods that have an answer
  std::vector<std::pair<IsoflopMethod, std::string>> refused;  // the others, and why

  // One line a method.
  [[nodiscard]] std::string describe() const {
    std::string out;
    for (const IsoflopReport& report : reports) out += (out.empty() ? "" : "\n") + report.describe();
    for (const auto& [method, reason] : refused) out += (out.empty() ? "" : "\n") + to_text(method) + ": " + reason;
    return out;
  }
};

// parabola, lowest, akima and, where a law is given, the surface. options.method is not read; weights are taken only
// where there are standard errors for them.
[[nodiscard]] inline MethodComparison compare_methods(std::span<const BudgetRuns> budgets, IsoflopOptions options = {},
                                                      const law::Chinchilla<double>* law = nullptr) {
  MethodComparison out;
  const bool weighted = options.weighted;
  std::vector<double> flop;
  for (const BudgetRuns& budget : budgets) flop.push_back(budget.flop);
  for (const IsoflopMethod method :
       {IsoflopMethod::parabola, IsoflopMethod::lowest, IsoflopMethod::akima, IsoflopMethod::surface}) {
    if (method == IsoflopMethod::surface && law == nullptr) continue;
    options.method = method;
    options.weighted =
        weighted && (method == IsoflopMethod::parabola || (method == IsoflopMethod::akima && options.noise_sd > 0));
    try {
      out.reports.push_back(method == IsoflopMethod::surface ? isoflop_surface(*law, flop, options.level)
                                                             : isoflop(budgets, options));
    } catch (const Error& error) {
      if (error.failure() != Failure::no_answer) throw;
      out.refused.emplace_back(method, error.what());
    }
  }
  return out;
}

}  // namespace floplan::fit
