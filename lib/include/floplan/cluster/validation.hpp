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
// Pitfall: these are errors of what was fitted; those with a publisher left out are larger.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/cluster/measured_steps.hpp"
#include "floplan/cluster/step_terms.hpp"
#include "floplan/core/distribution.hpp"

namespace floplan::cluster {

struct StepError {
  std::string id;
  std::string group;
  Seconds measured;
  StepTerms predicted;
  double error = 0;  // predicted / measured - 1
};

struct GroupError {
  std::string group;
  std::size_t rows = 0;
  double mean_absolute = 0;
  double percentile90 = 0;  // of |error|
  double bias = 0;          // mean error
};

struct Validation {
  std::vector<StepError> rows;
  std::vector<GroupError> groups;
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

// With the efficiencies of each row's request.
[[nodiscard]] inline Validation validate(const MeasuredSteps& measured) {
  Validation out;
  out.skipped = measured.skipped;
  std::vector<std::pair<std::string, std::vector<double>>> groups;
  std::vector<double> all;
  for (const MeasuredStep& step : measured.steps) {
    StepError row{step.id, step.group, step.measured, step_terms(step.request), 0};
    row.error = row.predicted.step / row.measured.value - 1;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == step.group; });
    if (group == groups.end()) group = groups.insert(groups.end(), {step.group, {}});
    group->second.push_back(row.error);
    all.push_back(row.error);
    out.rows.push_back(std::move(row));
  }
  for (const auto& [name, errors] : groups) out.groups.push_back(group_error(name, errors));
  out.all = group_error("all", all);
  return out;
}

}  // namespace floplan::cluster
