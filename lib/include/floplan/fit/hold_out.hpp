// SPDX-License-Identifier: BSD-3-Clause
//
// Would the fit have predicted runs that it had not seen?
//
//   fit::hold_out(rows, fit::largest_runs(rows, 5))      fit on the small runs, predict the five largest
//   fit::leave_one_group_out(rows)                       each budget in turn, from all the others
//
// For each held row: the curve's loss with its interval, the interval for one run (prediction.hpp), and
//   error = ln(L_predicted / L_observed)                 positive: the law promises too high a loss
// Pooled, with the rows' weights: rms and mean of the errors, the largest, and the share of runs inside their intervals.
// The yardstick is the rms error of the rows that were fitted (not scaled by degrees of freedom): a law that holds
// predicts held rows about as well as those.
//
// A group without which there is no answer is recorded with its reason; bad rows, masks and options throw.
//
// Source: Gadre et al. 2024 (arXiv 2403.08540) hold out by scale; groups in turn, Geisser 1975.
// Cost: one fit and one bootstrap for each training set.
// Pitfall: a random row held out is predicted by its neighbours and says nothing of extrapolation: hold out the largest
// runs. Checkpoints of one run, or copies of a row, must not be on both sides.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/chinchilla_report.hpp"
#include "floplan/fit/detail/chinchilla_rows.hpp"
#include "floplan/fit/prediction.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit {

struct HeldRow {
  std::size_t row = 0;  // of the caller's observations
  runs::Observation observed;
  Prediction prediction;
  double error = 0;             // ln(L_predicted / L_observed)
  std::optional<bool> covered;  // the observed loss lies in prediction.new_run; absent where there is no interval
};

struct HoldOutFigures {
  std::size_t rows = 0;
  double rms_error = std::numeric_limits<double>::quiet_NaN();
  double mean_error = std::numeric_limits<double>::quiet_NaN();     // the bias
  double largest_error = std::numeric_limits<double>::quiet_NaN();  // the one of largest size, with its sign
  double coverage = std::numeric_limits<double>::quiet_NaN();       // of the rows that have an interval
  std::size_t judged = 0, inside = 0;                               // rows with an interval, and within it
};

struct HoldOutReport {
  ChinchillaReport fit;  // of the rows that were not held
  std::vector<HeldRow> rows;
  HoldOutFigures held;
  double training_rms_error = 0;
  double level = 0.9;
  std::size_t resamples = 0;      // with an answer
  std::vector<Warning> warnings;  // of the bootstrap, and of too few runs inside their intervals

  [[nodiscard]] std::string describe() const {
    const auto percent = [](double x) { return print_number(100 * x, 3) + "%"; };
    return std::to_string(held.rows) + " held rows: rms error " + percent(held.rms_error) + " (" +
           percent(training_rms_error) + " of the rows fitted), mean " + percent(held.mean_error) + ", largest " +
           percent(held.largest_error) + "; " +
           (std::isfinite(held.coverage) ? percent(held.coverage) + " inside their " + percent(level) + " intervals"
                                         : "no intervals");
  }
};

struct GroupHoldOut {
  int group = 0;
  std::string reason;  // why there is no report; empty where there is
  std::optional<HoldOutReport> report;
};

struct GroupsHoldOutReport {
  std::vector<GroupHoldOut> groups;  // by their number, ascending
  HoldOutFigures held;               // of all the rows that were predicted
  double training_rms_error = 0;     // root of the mean square over the fits
  std::size_t without_answer = 0;    // groups
  std::vector<Warning> warnings;
};

namespace detail {

[[nodiscard]] inline HoldOutFigures figures_of(std::span<const HeldRow> rows) {
  HoldOutFigures out;
  double weight = 0, sum = 0, squares = 0, judged = 0, inside = 0, largest = 0;
  for (const HeldRow& row : rows) {
    const double w = row.observed.weight;
    weight += w;
    sum += w * row.error;
    squares += w * row.error * row.error;
    if (std::abs(row.error) > std::abs(largest)) largest = row.error;
    judged += row.covered ? w : 0;
    inside += row.covered.value_or(false) ? w : 0;
    out.judged += row.covered ? 1 : 0;
    out.inside += row.covered.value_or(false) ? 1 : 0;
  }
  out.rows = rows.size();
  if (rows.empty()) return out;
  out.rms_error = std::sqrt(squares / weight);
  out.mean_error = sum / weight;
  out.largest_error = largest;
  if (judged > 0) out.coverage = inside / judged;
  return out;
}

// The probability that at most `inside` of `judged` independent intervals of this level hold.
[[nodiscard]] inline double at_most_inside(std::size_t inside, std::size_t judged, double level) {
  const double n = static_cast<double>(judged);
  double sum = 0;
  for (std::size_t k = 0; k <= inside; ++k) {
    const double j = static_cast<double>(k);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(j + 1) - std::lgamma(n - j + 1) + j * std::log(level) +
                    (n - j) * std::log1p(-level));
  }
  return std::min(1.0, sum);
}

inline void warn_of_coverage(const HoldOutFigures& held, double level, std::vector<Warning>& warnings) {
  const double chance = at_most_inside(held.inside, held.judged, level);
  if (held.judged == 0 || !(chance < 0.01)) return;
  warnings.push_back({"held_out_coverage",
                      std::to_string(held.inside) + " of " + std::to_string(held.judged) + " held runs lie in their " +
                          print_number(100 * level) + "% intervals, which happens by chance " +
                          (chance < 1e-6 ? "less than once in a million" : "once in " + print_number(1 / chance, 2)) +
                          ": the law bends there, or the noise grows, and the intervals know neither"});
}

}  // namespace detail

// The `count` runs of most FLOP, 6 N D; runs that tie with the last of them (to 1e-9) all come along. Rows of weight 0 are
// neither counted nor held.
[[nodiscard]] inline std::vector<bool> largest_runs(std::span<const runs::Observation> observations,
                                                    std::size_t count) {
  std::vector<double> flop;
  for (std::size_t i = 0; i < observations.size(); ++i) {
    const runs::Observation& row = observations[i];
    detail::check(row, i);
    if (row.weight > 0) flop.push_back(training_flop(Parameters(row.parameters), Tokens(row.tokens)).value);
  }
  if (count == 0 || count >= flop.size()) {
    throw Error(Failure::usage, "out_of_range", "largest_runs",
                "count must be at least 1 and less than the " + std::to_string(flop.size()) + " rows, got " +
                    std::to_string(count));
  }
  std::vector<double> sorted = flop;
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(count - 1);
  std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
  const double threshold = *last * (1 - 1e-9);
  std::vector<bool> out(observations.size());
  for (std::size_t i = 0, k = 0; i < observations.size(); ++i) {
    if (observations[i].weight > 0) out[i] = flop[k++] >= threshold;
  }
  return out;
}

// held: one a row. resampling.multiplicities, where given, are of the rows that are not held, in their order.
[[nodiscard]] inline HoldOutReport hold_out(std::span<const runs::Observation> observations,
                                            const std::vector<bool>& held, const ChinchillaOptions& options = {},
                                            const BootstrapOptions& resampling = {}, double level = 0.9) {
  if (held.size() != observations.size()) {
    throw Error(Failure::usage, "wrong_size", "hold_out",
                "the mask needs one value for each of the " + std::to_string(observations.size()) + " rows, got " +
                    std::to_string(held.size()));
  }
  HoldOutReport out;
  out.level = level;
  std::vector<runs::Observation> training;
  for (std::size_t i = 0; i < observations.size(); ++i) {
    detail::check(observations[i], i);
    if (!held[i]) training.push_back(observations[i]);
    if (held[i] && observations[i].weight > 0) out.rows.push_back({i, observations[i], {}, 0, std::nullopt});
  }
  if (out.rows.empty()) throw Error(Failure::usage, "nothing_held", "hold_out", "holds no row of positive weight");
  out.fit = chinchilla(training, options);
  const BootstrapReport boot = bootstrap(training, out.fit, resampling);
  const RunNoise noise = run_noise(training, out.fit);
  out.resamples = boot.laws.size();
  out.warnings = boot.warnings;
  for (HeldRow& row : out.rows) {
    const runs::Observation& o = row.observed;
    row.prediction = predict(boot, noise, out.fit.range, Parameters(o.parameters), Tokens(o.tokens), level);
    row.error = std::log(row.prediction.loss.value / o.loss);
    const Interval& interval = row.prediction.new_run;
    if (std::isfinite(interval.low)) row.covered = interval.low <= o.loss && o.loss <= interval.high;
  }
  out.held = detail::figures_of(out.rows);
  detail::warn_of_coverage(out.held, level, out.warnings);
  double weight = 0, squares = 0;
  for (const runs::Observation& o : training) {
    const double error = o.weight > 0 ? std::log(out.fit.law.loss(o.parameters, o.tokens) / o.loss) : 0;
    weight += o.weight;
    squares += o.weight * error * error;
  }
  out.training_rms_error = std::sqrt(squares / weight);
  return out;
}

// Holds out each Observation::group in turn. Throws Error(no_answer) where there is only one.
[[nodiscard]] inline GroupsHoldOutReport leave_one_group_out(std::span<const runs::Observation> observations,
                                                             const ChinchillaOptions& options = {},
                                                             const BootstrapOptions& resampling = {},
                                                             double level = 0.9) {
  if (!resampling.multiplicities.empty()) {
    throw Error(Failure::usage, "wrong_size", "leave_one_group_out",
                "multiplicities cannot fit every training set; leave them empty");
  }
  std::vector<int> groups;
  for (const runs::Observation& row : observations) {
    if (row.weight > 0) groups.push_back(row.group);
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  if (groups.size() < 2) {
    throw Error(Failure::no_answer, "too_few_groups", "leave_one_group_out",
                "needs at least two groups, got " + std::to_string(groups.size()));
  }
  GroupsHoldOutReport out;
  std::vector<HeldRow> all;
  double squares = 0;
  for (const int group : groups) {
    std::vector<bool> held(observations.size());
    for (std::size_t i = 0; i < held.size(); ++i) held[i] = observations[i].group == group;
    GroupHoldOut& one = out.groups.emplace_back();
    one.group = group;
    try {
      one.report = hold_out(observations, held, options, resampling, level);
    } catch (const Error& error) {
      if (error.failure() != Failure::no_answer) throw;
      one.reason = error.what();
      ++out.without_answer;
      continue;
    }
    all.insert(all.end(), one.report->rows.begin(), one.report->rows.end());
    squares += one.report->training_rms_error * one.report->training_rms_error;
  }
  out.held = detail::figures_of(all);
  detail::warn_of_coverage(out.held, level, out.warnings);
  out.training_rms_error = std::sqrt(squares / static_cast<double>(groups.size() - out.without_answer));
  return out;
}

}  // namespace floplan::fit
