// SPDX-License-Identifier: BSD-3-Clause
//
// What an isoFLOP analysis gets wrong by itself, with perfect runs, on this grid of budgets and sizes.
//
//   const auto bias = fit::isoflop_bias(law, groups.budgets, Flop(3.8e25));
//   bias.tokens_error      D*(3.8e25) of the analysis over that of the law, less one
//
// The losses of the grid are replaced by the law's own, noise-free, and the analysis is done again under its options.
// Its minima and power laws are then compared with the closed form (allocation.hpp). For the parabola: zero where the
// loss is symmetric in ln N about N* (alpha = beta) and the grid is centred on it; else the vertex is off by percents
// that grow with the width of the grid. A shift that is alike at all budgets moves the coefficient only; centres that
// drift with the budget bend the exponent too.
//
// Source: arXiv 2603.22339 (five budgets 1e17 to 1e21, 15 sizes within a factor f of N*, taken to 1e24 FLOP).
// Holds: a law with a positive A, B, alpha, beta.
// Pitfall: the bias is that of the law it is given; where the fitted law is uncertain, so is its bias. It is a size to
// compare with the interval, not a correction to apply.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/allocation.hpp"
#include "floplan/fit/isoflop.hpp"
#include "floplan/law/chinchilla.hpp"

namespace floplan::fit {

struct ProfileBias {
  double flop = 0;
  double parameters_error = 0;  // N* of the profile over the law's, less one
  double tokens_error = 0;
};

struct IsoflopBias {
  Flop flop;                                                        // the budget it is asked at
  double parameters_error = 0, tokens_error = 0;                    // there, of the power laws
  double parameters_exponent = 0, tokens_exponent = 0;              // that the analysis finds
  double parameters_exponent_error = 0, tokens_exponent_error = 0;  // less the law's
  std::vector<ProfileBias> profiles;                                // of those that are used
  IsoflopMethod method = IsoflopMethod::parabola;

  [[nodiscard]] std::string describe() const {
    return "on this grid the " + to_text(method) + " alone puts N* at " + print(flop, 3) + " off by " +
           print_number(100 * parameters_error, 3) + "% and D* by " + print_number(100 * tokens_error, 3) +
           "%, and the exponent of D* by " + print_number(tokens_exponent_error, 2);
  }
};

// Only N, D and weights of the rows are read, not their losses.
[[nodiscard]] inline IsoflopBias isoflop_bias(const law::Chinchilla<double>& law, std::span<const BudgetRuns> budgets,
                                              Flop flop, IsoflopOptions options = {}) {
  for (const double value :
       {law.parameter_coefficient, law.token_coefficient, law.parameter_exponent, law.token_exponent}) {
    if (value > 0 && std::isfinite(value)) continue;
    throw Error(Failure::usage, "out_of_range", "isoflop bias",
                "A, B, alpha and beta must be positive and finite, got " + print_number(value, 6));
  }
  std::vector<BudgetRuns> perfect(budgets.begin(), budgets.end());
  for (BudgetRuns& budget : perfect) {
    for (runs::Observation& row : budget.rows) row.loss = law.loss(row.parameters, row.tokens);
  }
  // Noise that is not there must neither blur the minima nor weight them.
  options.noise_sd = 0;
  options.weighted = false;
  const IsoflopReport report = isoflop(perfect, options);
  const Allocation truth = allocation(law);
  const IsoflopOptimum found = report.at(flop);
  IsoflopBias out;
  out.flop = flop;
  out.method = options.method;
  out.parameters_error = found.parameters / truth.parameters(flop) - 1;
  out.tokens_error = found.tokens / truth.tokens(flop) - 1;
  out.parameters_exponent = report.parameters.exponent;
  out.tokens_exponent = report.tokens.exponent;
  out.parameters_exponent_error = report.parameters.exponent - truth.exponent_parameters;
  out.tokens_exponent_error = report.tokens.exponent - truth.exponent_tokens;
  for (const Profile& profile : report.profiles) {
    if (!profile.used) continue;
    out.profiles.push_back({profile.flop, profile.parameters_opt / truth.parameters(Flop(profile.flop)).value - 1,
                            profile.tokens_opt / truth.tokens(Flop(profile.flop)).value - 1});
  }
  return out;
}

// For the profiles that an analysis used, under its options: the bias of that very analysis.
[[nodiscard]] inline IsoflopBias isoflop_bias(const law::Chinchilla<double>& law, std::span<const BudgetRuns> budgets,
                                              Flop flop, const IsoflopReport& analysis) {
  std::vector<BudgetRuns> used;
  for (const BudgetRuns& budget : budgets) {
    if (std::any_of(analysis.profiles.begin(), analysis.profiles.end(),
                    [&](const Profile& p) { return p.used && p.flop == budget.flop; })) {
      used.push_back(budget);
    }
  }
  IsoflopOptions options = analysis.options;
  // Perfect runs of a profile that the analysis used are used, whatever their own status.
  options.quality_control = false;
  return isoflop_bias(law, used, flop, options);
}

}  // namespace floplan::fit
