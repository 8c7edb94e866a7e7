// SPDX-License-Identifier: BSD-3-Clause
//
// How far predictions are from steps that the fit has not seen, and the bands that these errors earn.
//
//   const LeftOut by_publisher = leave_out(measured, options, publisher_of);      errors, each by a fit without its publisher
//   const EarnedBand band = earn_band(measured, options, by_publisher, rows)       quantiles of ln(measured / predicted)
//
//   A row's weight among the quantiles is n^(-1/2), n rows of its publisher, as in the fit: many rows of one publisher do not
//   make the band. The quantiles are skewed where the errors are: a real step is more often slower than predicted.
//   coverage: each publisher's rows against the band of the others alone, by fits without both (nested).
//
// Source: leave-one-group-out cross-validation (Stone 1974), nested for the coverage.
// Cost: a fit for each group, and one for each pair with the coverage.
// Pitfall: the structure of the model was chosen with all publishers in view, so that a new one may be further off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "floplan/cluster/calibration.hpp"
#include "floplan/cluster/measured_steps.hpp"
#include "floplan/core/parallel_for.hpp"

namespace floplan::cluster {

using StepKey = std::string (*)(const MeasuredStep&);

[[nodiscard]] inline std::string publisher_of(const MeasuredStep& s) { return s.group; }

// ln(predicted / measured) of every row, by a fit without the rows that share its key.
struct LeftOut {
  std::vector<std::string> keys;  // of rows
  std::vector<double> log_errors;
  std::size_t fits = 0;
};

namespace detail {

[[nodiscard]] inline double log_error(const MeasuredStep& s, const Efficiencies& e) {
  return std::log(step_terms(s.request, e).step / s.measured.value);
}

[[nodiscard]] inline std::vector<std::size_t> rows_without(const std::vector<std::string>& keys,
                                                           const std::set<std::string>& out) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!out.contains(keys[i])) rows.push_back(i);
  }
  return rows;
}

// Weighted quantile: the least value that has a share of at least p of the weight up to it.
[[nodiscard]] inline double weighted_quantile(std::vector<std::pair<double, double>> values, double p) {
  std::sort(values.begin(), values.end());
  double all = 0;
  for (const auto& [value, weight] : values) all += weight;
  double sum = 0;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (sum >= p * all) return value;
  }
  return values.back().first;
}

inline void require_same_rows(const MeasuredSteps& measured, const MeasuredSteps* errors_of) {
  if (errors_of == nullptr || errors_of->steps.size() == measured.steps.size()) return;
  throw Error(Failure::usage, "other_rows", "left_out",
              "errors must be asked of the rows that are fitted, read with other facts, got " +
                  std::to_string(errors_of->steps.size()) + " for " + std::to_string(measured.steps.size()));
}

}  // namespace detail

// options.start: a fit to all rows makes the others quick. errors_of, where given: rows whose errors are wanted in the place
// of those of measured (the same rows, read with other facts).
[[nodiscard]] inline LeftOut leave_out(const MeasuredSteps& measured, const CalibrationOptions& options, StepKey key,
                                       const MeasuredSteps* errors_of = nullptr) {
  detail::require_same_rows(measured, errors_of);
  LeftOut out;
  for (const MeasuredStep& s : measured.steps) out.keys.push_back(key(s));
  const std::set<std::string> distinct(out.keys.begin(), out.keys.end());
  const std::vector<std::string> groups(distinct.begin(), distinct.end());
  out.fits = groups.size();
  out.log_errors.resize(measured.steps.size());
  parallel_for(groups.size(), options.threads, [&](std::size_t g) {
    const Efficiencies fit = calibrate(measured, options, detail::rows_without(out.keys, {groups[g]})).efficiencies;
    for (std::size_t i = 0; i < out.keys.size(); ++i) {
      if (out.keys[i] == groups[g])
        out.log_errors[i] = detail::log_error((errors_of != nullptr ? *errors_of : measured).steps[i], fit);
    }
  });
  return out;
}

// Factors of the predicted step between which a share of `level` of measured steps lies.
struct EarnedBand {
  double low = 1, high = 1;
  double level = 0.9;
  std::size_t rows = 0;
  double inside = 0;    // share of the rows themselves
  double coverage = 0;  // share of rows inside the band of other groups, nan where there is one group
};

namespace detail {

[[nodiscard]] inline std::pair<double, double> band_of(const std::vector<double>& log_errors,
                                                       const std::vector<std::string>& keys,
                                                       const std::vector<std::size_t>& rows, double level) {
  std::map<std::string, double> sizes;
  for (const std::size_t i : rows) sizes[keys[i]] += 1;
  std::vector<std::pair<double, double>> values;
  for (const std::size_t i : rows) values.emplace_back(-log_errors[i], 1 / std::sqrt(sizes.at(keys[i])));
  return {weighted_quantile(values, 0.5 - level / 2), weighted_quantile(values, 0.5 + level / 2)};
}

}  // namespace detail

// rows: those of the class. `errors_of` as above.
[[nodiscard]] inline EarnedBand earn_band(const MeasuredSteps& measured, const CalibrationOptions& options,
                                          const LeftOut& left, const std::vector<std::size_t>& rows, double level = 0.9,
                                          const MeasuredSteps* errors_of = nullptr) {
  detail::require_same_rows(measured, errors_of);
  EarnedBand out;
  out.level = level;
  out.rows = rows.size();
  if (rows.empty()) return out;
  const auto [low, high] = detail::band_of(left.log_errors, left.keys, rows, level);
  out.low = std::exp(low);
  out.high = std::exp(high);
  const auto share_inside = [](double error, std::pair<double, double> band) {
    return -error >= band.first && -error <= band.second ? 1.0 : 0.0;
  };
  for (const std::size_t i : rows)
    out.inside += share_inside(left.log_errors[i], {low, high}) / static_cast<double>(rows.size());

  std::set<std::string> distinct;
  for (const std::size_t i : rows) distinct.insert(left.keys[i]);
  const std::vector<std::string> groups(distinct.begin(), distinct.end());
  if (groups.size() < 2) {
    out.coverage = std::nan("");
    return out;
  }
  // errors[g][i]: of row i by a fit without group g and without its own.
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < groups.size(); ++a) {
    for (std::size_t b = a + 1; b < groups.size(); ++b) pairs.emplace_back(a, b);
  }
  std::vector<std::vector<double>> errors(groups.size(), std::vector<double>(left.keys.size(), 0.0));
  parallel_for(pairs.size(), options.threads, [&](std::size_t p) {
    const auto [a, b] = pairs[p];
    const Efficiencies fit =
        calibrate(measured, options, detail::rows_without(left.keys, {groups[a], groups[b]})).efficiencies;
    for (const std::size_t i : rows) {
      const MeasuredStep& s = (errors_of != nullptr ? *errors_of : measured).steps[i];
      if (left.keys[i] == groups[b]) errors[a][i] = detail::log_error(s, fit);
      if (left.keys[i] == groups[a]) errors[b][i] = detail::log_error(s, fit);
    }
  });
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<std::size_t> others;
    for (const std::size_t i : rows) {
      if (left.keys[i] != groups[g]) others.push_back(i);
    }
    const auto band = detail::band_of(errors[g], left.keys, others, level);
    for (const std::size_t i : rows) {
      if (left.keys[i] == groups[g])
        out.coverage += share_inside(left.log_errors[i], band) / static_cast<double>(rows.size());
    }
  }
  return out;
}

}  // namespace floplan::cluster
