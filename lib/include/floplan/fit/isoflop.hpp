// SPDX-License-Identifier: BSD-3-Clause
//
// What runs at a few fixed budgets say about the compute-optimal N and D, without a law of the loss.
//
//   const auto groups = fit::group_by_budget(rows);
//   const auto report = fit::isoflop(groups.budgets);
//   report.parameters.exponent, report.at(Flop(3.8e25)).tokens, report.describe()
//
//   profile     the runs of one budget, its minimum, and whether it is one (isoflop_profile.hpp)
//   power law   ln x* = ln k + a ln C over the profiles that are used, for N and for D (isoflop_power_law.hpp)
//
// isoflop_profiles() never refuses for what the runs say; isoflop() throws Error(no_answer) with fewer than two usable
// profiles and says what is the matter with each. isoflop_surface.hpp gives the same report from a fitted law;
// isoflop_bias.hpp what the method itself gets wrong on this grid.
//
// Sources: Hoffmann et al. 2022 (arXiv 2203.15556), section 3; Porian et al. 2024 (arXiv 2406.19146).
// Pitfall: a few profiles decide an exponent that is then taken four decades further. Llama 3's ten budgets give D* at
// 3.8e25 FLOP as 16.1T tokens, and eight of them 9.8T: leave_one_out and difference() say which profiles do that.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/isoflop_minimum.hpp"
#include "floplan/fit/isoflop_power_law.hpp"
#include "floplan/fit/isoflop_profile.hpp"
#include "floplan/fit/isoflop_runs.hpp"

namespace floplan::fit {

struct IsoflopOptimum {
  Flop flop;
  Parameters parameters;
  Tokens tokens;
  std::optional<Interval> parameters_interval, tokens_interval;  // of the line; absent with two profiles
  double extrapolation_decades = 0;                              // beyond the budgets of the profiles used
};

// The exponents without one profile.
struct LeftOut {
  double flop = 0;
  double parameters_exponent = 0;
  double tokens_exponent = 0;
};

struct IsoflopReport {
  IsoflopOptions options;
  std::vector<Profile> profiles;             // by rising budget
  PowerLaw parameters;                       // N*(C)
  PowerLaw tokens;                           // D*(C)
  double lowest_flop = 0, highest_flop = 0;  // of the profiles used
  std::vector<LeftOut> leave_one_out;        // of the profiles used; empty with two
  std::vector<Warning> warnings;

  [[nodiscard]] IsoflopOptimum at(Flop flop) const {
    if (!(flop.value > 0 && std::isfinite(flop.value))) {
      throw Error(Failure::usage, "out_of_range", "isoflop",
                  "budget must be positive and finite, got " + print_number(flop.value, 6) + " FLOP");
    }
    IsoflopOptimum out{flop,
                       Parameters(parameters.at(flop.value)),
                       Tokens(tokens.at(flop.value)),
                       parameters.interval_at(flop.value),
                       tokens.interval_at(flop.value),
                       0};
    out.extrapolation_decades =
        std::max({0.0, std::log10(flop.value / highest_flop), std::log10(lowest_flop / flop.value)});
    return out;
  }
  [[nodiscard]] std::size_t profiles_used() const {
    return static_cast<std::size_t>(
        std::count_if(profiles.begin(), profiles.end(), [](const Profile& p) { return p.used; }));
  }
  [[nodiscard]] std::string describe() const {
    return to_text(options.method) + ", " + std::to_string(profiles_used()) + " of " + std::to_string(profiles.size()) +
           " budgets: N* = " + parameters.describe() + ", D* = " + tokens.describe();
  }
};

namespace detail {

[[nodiscard]] inline std::optional<Interval> exp_interval(const std::optional<Interval>& log_interval) {
  if (!log_interval) return std::nullopt;
  return Interval{std::exp(log_interval->low), std::exp(log_interval->high), log_interval->level};
}

[[nodiscard]] inline Profile make_profile(const BudgetRuns& budget, const IsoflopOptions& options, std::size_t index) {
  const ProfileRuns runs = prepare_profile(budget, options.same_size);
  Profile out;
  out.flop = budget.flop;
  out.points = runs.rows.size();
  out.sizes = runs.best.size();
  if (!runs.rows.empty()) {
    out.lowest_size = runs.rows.front().parameters;
    out.highest_size = runs.rows.back().parameters;
  }
  const AxisMinimum n = axis_minimum(runs, options, false, index);
  const AxisMinimum d = axis_minimum(runs, options, true, index);
  if (n.parabola) out.residual_sd = n.parabola->residual_sd;
  out.interior_share = n.interior_share;
  for (const runs::Observation& run : runs.best) {
    if (run.loss > runs.best[bracket(runs.best).first].loss && n.found) {
      ++(std::log(run.parameters) < n.log_x ? out.runs_below : out.runs_above);
    }
  }
  out.parameters_draws = n.draws;
  out.tokens_draws = d.draws;
  judge(out, runs.best, n, n.parabola ? n.parabola : parabola_minimum(runs, options, false).parabola, options);
  if (out.status == ProfileStatus::interior && !(d.found && d.inside && d.interior_share >= 0.5)) {
    out.status = ProfileStatus::edge;
    out.reason = "along D the curve has no minimum between the runs, as it has along N: C is not 6 N D in these rows";
  }
  const bool answered = n.found && d.found && std::isfinite(std::exp(n.log_x)) && std::isfinite(std::exp(d.log_x));
  out.used = answered && (!options.quality_control || out.status == ProfileStatus::interior);
  if (!out.used) return out;
  out.parameters_opt = std::exp(n.log_x);
  out.tokens_opt = std::exp(d.log_x);
  out.loss_min = n.loss;
  out.parameters_interval = exp_interval(n.interval);
  out.tokens_interval = exp_interval(d.interval);
  out.parameters_log_sd = n.log_sd;
  out.tokens_log_sd = d.log_sd;
  return out;
}

// The exponents' interval by the noise of the losses alone: a line through the minima of each resample that has one in
// every profile. Absent without resamples, or where fewer than half have.
[[nodiscard]] inline std::optional<Interval> noise_interval(std::span<const Profile> used,
                                                            std::vector<double> Profile::*draws,
                                                            std::span<const double> log_sd, double level) {
  std::size_t resamples = (used.front().*draws).size();
  for (const Profile& profile : used) resamples = std::min(resamples, (profile.*draws).size());
  std::vector<double> flop, value(used.size()), exponents;
  for (const Profile& profile : used) flop.push_back(profile.flop);
  for (std::size_t r = 0; r < resamples; ++r) {
    bool complete = true;
    for (std::size_t i = 0; i < used.size(); ++i) {
      value[i] = std::exp((used[i].*draws)[r]);
      complete = complete && std::isfinite(value[i]);
    }
    if (complete) exponents.push_back(fit_power_law(flop, value, log_sd, level).exponent);
  }
  if (exponents.empty() || 2 * exponents.size() < resamples) return std::nullopt;
  std::sort(exponents.begin(), exponents.end());
  return Interval{quantile_of_sorted(exponents, (1 - level) / 2), quantile_of_sorted(exponents, (1 + level) / 2),
                  level};
}

[[nodiscard]] inline std::pair<PowerLaw, PowerLaw> power_laws(std::span<const Profile> used,
                                                              const IsoflopOptions& options) {
  std::vector<double> flop, n, d, n_sd, d_sd;
  for (const Profile& profile : used) {
    flop.push_back(profile.flop);
    n.push_back(profile.parameters_opt);
    d.push_back(profile.tokens_opt);
    if (!options.weighted) continue;
    if (!(profile.parameters_log_sd > 0 && profile.tokens_log_sd > 0)) {
      throw Error(Failure::no_answer, "no_weights", "isoflop",
                  "weights need a standard error of every N* and D*, and the profile at " +
                      print(Flop(profile.flop), 3) + " has none");
    }
    n_sd.push_back(profile.parameters_log_sd);
    d_sd.push_back(profile.tokens_log_sd);
  }
  std::pair<PowerLaw, PowerLaw> out = {fit_power_law(flop, n, n_sd, options.level),
                                       fit_power_law(flop, d, d_sd, options.level)};
  out.first.noise_interval = noise_interval(used, &Profile::parameters_draws, n_sd, options.level);
  out.second.noise_interval = noise_interval(used, &Profile::tokens_draws, d_sd, options.level);
  return out;
}

inline void add_isoflop_warnings(IsoflopReport& report) {
  const auto warn = [&](const char* code, const std::string& message) { report.warnings.push_back({code, message}); };
  for (const Profile& profile : report.profiles) {
    const std::string where = "the profile at " + print(Flop(profile.flop), 3) + " FLOP";
    if (profile.status != ProfileStatus::interior) {
      warn("no_interior_minimum", where + " is " + to_text(profile.status) +
                                      (profile.used ? " and is used nevertheless: " : " and is left out: ") +
                                      profile.reason);
    } else if (profile.parameters_interval && (profile.parameters_interval->low < profile.lowest_size ||
                                               profile.parameters_interval->high > profile.highest_size)) {
      warn("loose_minimum", where + " has its N* between " + print_size(profile.parameters_interval->low) + " and " +
                                print_size(profile.parameters_interval->high) + ", which is beyond its runs (" +
                                print_size(profile.lowest_size) + " to " + print_size(profile.highest_size) + ")");
    }
    if (profile.used && std::min(profile.runs_below, profile.runs_above) == 1) {
      warn("one_sided", where + " has a single run on the " + (profile.runs_below == 1 ? "small" : "large") +
                            " side of its minimum");
    }
  }
  if (!report.parameters.exponent_interval) {
    warn("interval_not_available",
         std::string("two profiles leave no degrees of freedom for an interval of the exponents") +
             (report.parameters.noise_interval ? ", but that of the noise, which does not know how straight the line is"
                                               : ""));
  }
  const double sum = report.parameters.exponent + report.tokens.exponent;
  if (std::abs(sum - 1) > 0.005) {
    warn("exponents_do_not_sum", "the exponents of N* and D* add up to " + print_number(sum, 4) +
                                     " and not to 1, since C is not 6 N D in these rows");
  }
}

}  // namespace detail

// One profile a budget, by rising budget.
[[nodiscard]] inline std::vector<Profile> isoflop_profiles(std::span<const BudgetRuns> budgets,
                                                           const IsoflopOptions& options = {}) {
  detail::check_isoflop_options(options);
  std::vector<const BudgetRuns*> order;
  for (const BudgetRuns& budget : budgets) {
    if (!(budget.flop > 0 && std::isfinite(budget.flop))) {
      throw Error(Failure::data, "out_of_range", "isoflop",
                  "budget must be positive and finite, got " + print_number(budget.flop, 6) + " FLOP");
    }
    order.push_back(&budget);
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->flop < b->flop; });
  std::vector<Profile> out;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && order[i]->flop == order[i - 1]->flop) {
      throw Error(Failure::usage, "repeated_budget", "isoflop",
                  "needs one group of runs a budget, got two at " + print(Flop(order[i]->flop), 6));
    }
    out.push_back(detail::make_profile(*order[i], options, i));
  }
  return out;
}

[[nodiscard]] inline IsoflopReport isoflop(std::span<const BudgetRuns> budgets, const IsoflopOptions& options = {}) {
  IsoflopReport out;
  out.options = options;
  out.profiles = isoflop_profiles(budgets, options);
  std::vector<Profile> used;
  std::copy_if(out.profiles.begin(), out.profiles.end(), std::back_inserter(used),
               [](const Profile& p) { return p.used; });
  if (used.size() < 2) {
    std::string rule = "needs two budgets with an interior minimum or more, got " + std::to_string(used.size()) +
                       " of " + std::to_string(out.profiles.size());
    for (const Profile& profile : out.profiles) rule += "; " + profile.describe();
    throw Error(Failure::no_answer, "too_few_profiles", "isoflop", rule);
  }
  std::tie(out.parameters, out.tokens) = detail::power_laws(used, options);
  out.lowest_flop = used.front().flop;
  out.highest_flop = used.back().flop;
  for (std::size_t i = 0; i < used.size() && used.size() > 2; ++i) {
    std::vector<Profile> others = used;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const auto [n, d] = detail::power_laws(others, options);
    out.leave_one_out.push_back({used[i].flop, n.exponent, d.exponent});
  }
  detail::add_isoflop_warnings(out);
  return out;
}

// Why two analyses of the same runs differ: other profiles, or other minima.
struct IsoflopDifference {
  double tokens_exponent_first = 0, tokens_exponent_second = 0;
  double common_tokens_exponent = 0;             // of the first analysis over the profiles that both use; nan below two
  std::vector<double> only_first, only_second;   // budgets that one of them uses
  std::vector<std::pair<double, double>> moved;  // budgets that both use, and ln (D*_second / D*_first) beyond 1%

  [[nodiscard]] std::string describe() const {
    const auto list = [](const std::vector<double>& budgets) {
      std::string out;
      for (const double c : budgets) out += (out.empty() ? "" : ", ") + print(Flop(c), 3);
      return out;
    };
    std::string out = "D* grows as C^" + print_number(tokens_exponent_first, 5) + " in the first analysis and as C^" +
                      print_number(tokens_exponent_second, 5) + " in the second";
    if (!only_first.empty()) out += "; only the first uses " + list(only_first);
    if (!only_second.empty()) out += "; only the second uses " + list(only_second);
    if (!only_first.empty() && std::isfinite(common_tokens_exponent)) {
      out += "; without them the first would have C^" + print_number(common_tokens_exponent, 5);
    }
    for (const auto& [flop, change] : moved) {
      out += "; D* at " + print(Flop(flop), 3) + " moves by " + print_number(100 * std::expm1(change), 2) + "%";
    }
    return out;
  }
};

[[nodiscard]] inline IsoflopDifference difference(const IsoflopReport& first, const IsoflopReport& second) {
  IsoflopDifference out{
      first.tokens.exponent, second.tokens.exponent, std::numeric_limits<double>::quiet_NaN(), {}, {}, {}};
  const auto in = [](const IsoflopReport& report, double flop) -> const Profile* {
    const auto found = std::find_if(report.profiles.begin(), report.profiles.end(),
                                    [flop](const Profile& p) { return p.used && std::abs(p.flop / flop - 1) < 1e-6; });
    return found == report.profiles.end() ? nullptr : &*found;
  };
  std::vector<Profile> common;
  for (const Profile& profile : first.profiles) {
    if (!profile.used) continue;
    const Profile* other = in(second, profile.flop);
    if (other == nullptr) {
      out.only_first.push_back(profile.flop);
      continue;
    }
    common.push_back(profile);
    const double change = std::log(other->tokens_opt / profile.tokens_opt);
    if (std::abs(change) > 0.01) out.moved.emplace_back(profile.flop, change);
  }
  for (const Profile& profile : second.profiles) {
    if (profile.used && in(first, profile.flop) == nullptr) out.only_second.push_back(profile.flop);
  }
  if (common.size() >= 2) out.common_tokens_exponent = detail::power_laws(common, first.options).second.exponent;
  return out;
}

}  // namespace floplan::fit
