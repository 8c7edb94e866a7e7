// SPDX-License-Identifier: BSD-3-Clause
//
// The band of a class whose measured rows come from too few clusters for quantiles: mixtures of experts on three parts.
//
//   const EarnedBand band = predictive_band(measured, options, rows, accelerator_of, ScalePrior{});
//
//   y_g  mean of ln(measured / predicted) of the rows of key g, by a fit without them;  k keys, their mean m
//   s2   = (w s0^2 + sum (y_g - m)^2 + k c / (k + c) m^2) / (w + k)        normal-inverse-gamma: the prior's s0 counts as w keys
//   band = k m / (k + c) +- t(w + k) sqrt(s2 (1 + 1 / (k + c)) + v)         v the variance of rows about their key's mean
//
//   coverage: each key's rows against the band of the other keys, by fits without both (nested).
//
// Source: Gelman 2013, Bayesian Data Analysis, 3.3 (posterior predictive of a normal mean and variance); the prior's scale is
// that of dense rows whose software was guessed (step_band.hpp).
// Cost: a fit for each key and for each pair.
// Pitfall: few keys say little of a new one, and the band says so by being wide; the prior's weight hardly moves it.
#pragma once

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "floplan/cluster/calibration.hpp"
#include "floplan/cluster/left_out.hpp"
#include "floplan/cluster/measured_steps.hpp"

namespace floplan::cluster {

[[nodiscard]] inline std::string accelerator_of(const MeasuredStep& s) { return s.request.machine.accelerator; }

// Of ln(measured / predicted), before any row of the class is seen.
struct ScalePrior {
  double deviation = 0.265;  // (ln 1.908 - ln 0.797) / (2 x 1.645), of StepClass::guessed
  double weight = 1;         // keys that it counts as: the least that leaves a spread with one key
  double centre_weight = 1;  // keys that a centre of 0 counts as
};

namespace detail {

// Logarithms of the ends, from ln(measured / predicted) by key.
[[nodiscard]] inline std::pair<double, double> predictive_ends(const std::map<std::string, std::vector<double>>& by_key,
                                                               const ScalePrior& prior, double level) {
  std::vector<double> means;
  double within = 0, freedom = 0;
  for (const auto& [key, values] : by_key) {
    double mean = 0;
    for (const double y : values) mean += y / static_cast<double>(values.size());
    for (const double y : values) within += (y - mean) * (y - mean);
    freedom += static_cast<double>(values.size()) - 1;
    means.push_back(mean);
  }
  const double k = static_cast<double>(means.size());
  const double c = prior.centre_weight;
  double mean = 0, squares = prior.weight * prior.deviation * prior.deviation;
  for (const double y : means) mean += y / k;
  for (const double y : means) squares += (y - mean) * (y - mean);
  squares += k * c / (k + c) * mean * mean;
  const double variance = squares / (prior.weight + k) * (1 + 1 / (k + c)) + (freedom > 0 ? within / freedom : 0);
  const double t = boost::math::quantile(boost::math::students_t(prior.weight + k), 0.5 + level / 2);
  const double centre = k * mean / (k + c);
  return {centre - t * std::sqrt(variance), centre + t * std::sqrt(variance)};
}

}  // namespace detail

// rows: those of the class, of at least two keys for a coverage. Rows outside the class stay in every fit.
[[nodiscard]] inline EarnedBand predictive_band(const MeasuredSteps& measured, const CalibrationOptions& options,
                                                const std::vector<std::size_t>& rows, StepKey key,
                                                const ScalePrior& prior = {}, double level = 0.9) {
  EarnedBand out;
  out.level = level;
  out.rows = rows.size();
  if (rows.empty()) return out;
  std::vector<std::string> keys(measured.steps.size());  // empty: outside the class
  std::set<std::string> distinct;
  for (const std::size_t i : rows) distinct.insert(keys[i] = key(measured.steps[i]));
  // ln(measured / predicted) of the rows of `of`, by a fit without the keys `without`.
  const auto errors = [&](const std::string& of, const std::set<std::string>& without) {
    const Efficiencies fit = calibrate(measured, options, detail::rows_without(keys, without)).efficiencies;
    std::vector<double> values;
    for (const std::size_t i : rows) {
      if (keys[i] == of) values.push_back(-detail::log_error(measured.steps[i], fit));
    }
    return values;
  };
  std::map<std::string, std::vector<double>> all;
  for (const std::string& g : distinct) all[g] = errors(g, {g});
  const std::pair<double, double> ends = detail::predictive_ends(all, prior, level);
  out.low = std::exp(ends.first);
  out.high = std::exp(ends.second);
  out.coverage = distinct.size() < 2 ? std::nan("") : 0;
  const double each = 1 / static_cast<double>(rows.size());
  for (const std::string& g : distinct) {
    std::map<std::string, std::vector<double>> others;
    for (const std::string& other : distinct) {
      if (other != g) others[other] = errors(other, {g, other});
    }
    for (const double y : all[g]) out.inside += each * (y >= ends.first && y <= ends.second);
    if (others.empty()) continue;
    const std::pair<double, double> band = detail::predictive_ends(others, prior, level);
    for (const double y : all[g]) out.coverage += each * (y >= band.first && y <= band.second);
  }
  return out;
}

}  // namespace floplan::cluster
