// SPDX-License-Identifier: BSD-3-Clause
//
// How far the step-time model is from measured steps, publisher by publisher.
//
//   const Validation v = validate(read_measured_steps(parse_csv(text, "rows.csv"), catalog));
//   for (const GroupError& g : v.groups) ...        mean |error|, 90th percentile of |error|, bias
//
//   error = predicted / measured - 1                      positive: predicted too slow
//   the 90th percentile lies between order statistics in proportion (numpy's default)
//
// Groups come in the order of their first rows; `all` pools them, and a pooled mean is decided by which publisher gave most
// rows. A row whose request is impossible never gets here: read_measured_steps() skipped it with the reason.
// Holds: in-sample where the efficiencies were fitted on the same rows. Source: as efficiencies.hpp.
// Pitfall: these are errors of what was fitted; those with a publisher left out (left_out.hpp) are larger.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/cluster/measured_steps.hpp"
#include "floplan/cluster/step_band.hpp"
#include "floplan/cluster/step_terms.hpp"
#include "floplan/core/distribution.hpp"

namespace floplan::cluster {

struct StepError {
  std::string id;
  std::string group;
  Seconds measured;
  StepTerms predicted;
  double error = 0;  // predicted / measured - 1
  StepClass of = StepClass::known;
  bool inside = false;  // the measured step lies in the band of its class
};

struct GroupError {
  std::string group;
  std::size_t rows = 0;
  double mean_absolute = 0;
  double percentile90 = 0;  // of |error|
  double bias = 0;          // mean error
};

// Of the rows of one class of bands.
struct ClassError {
  StepClass of = StepClass::known;
  GroupError error;
  double coverage = 0;  // share of rows inside the class's band
};

struct Validation {
  std::vector<StepError> rows;
  std::vector<GroupError> groups;
  std::vector<ClassError> classes;
  GroupError all;
  std::vector<SkippedStep> skipped;
};

// Of the errors of one group; zero rows give zeros.
[[nodiscard]] inline GroupError group_error(std::string group, const std::vector<double>& errors) {
  GroupError out;
  out.group = std::move(group);
  out.rows = errors.size();
  if (errors.empty()) return out;
  std::vector<double> sizes;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
    out.mean_absolute += std::abs(error);
    out.bias += error;
  }
  out.mean_absolute /= static_cast<double>(errors.size());
  out.bias /= static_cast<double>(errors.size());
  std::sort(sizes.begin(), sizes.end());
  out.percentile90 = quantile_of_sorted(sizes, 0.9);
  return out;
}

// log_errors, where given: of each row, in the place of the request's own efficiencies (left_out.hpp).
[[nodiscard]] inline Validation validate(const MeasuredSteps& measured,
                                         const std::vector<double>* log_errors = nullptr) {
  Validation out;
  out.skipped = measured.skipped;
  std::vector<std::pair<std::string, std::vector<double>>> groups;
  std::vector<double> all;
  for (const MeasuredStep& step : measured.steps) {
    StepError row{.id = step.id, .group = step.group, .measured = step.measured, .predicted = step_terms(step.request)};
    if (log_errors != nullptr) row.predicted.step = row.measured.value * std::exp((*log_errors)[out.rows.size()]);
    row.error = row.predicted.step / row.measured.value - 1;
    row.of = step_class(step.request, (step.known_stack || stack_is_given(step.request)) && !step.guessed_layout);
    const StepBand band = step_band(row.of);
    row.inside =
        row.measured.value >= band.low * row.predicted.step && row.measured.value <= band.high * row.predicted.step;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == step.group; });
    if (group == groups.end()) group = groups.insert(groups.end(), {step.group, {}});
    group->second.push_back(row.error);
    all.push_back(row.error);
    out.rows.push_back(std::move(row));
  }
  for (const auto& [name, errors] : groups) out.groups.push_back(group_error(name, errors));
  for (const StepClass of : {StepClass::known, StepClass::guessed, StepClass::experts}) {
    std::vector<double> errors;
    double inside = 0;
    for (const StepError& row : out.rows) {
      if (row.of != of) continue;
      errors.push_back(row.error);
      inside += row.inside ? 1 : 0;
    }
    if (errors.empty()) continue;
    out.classes.push_back({of, group_error(step_band(of).of, errors), inside / static_cast<double>(errors.size())});
  }
  out.all = group_error("all", all);
  return out;
}

}  // namespace floplan::cluster
