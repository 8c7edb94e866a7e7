// SPDX-License-Identifier: BSD-3-Clause
//
// How far the serving model is from measured throughputs, by model and part, as shipped and with groups left out of the fit.
//
//   const ServingValidation v = validate(measured);      v.groups, v.dense_model_out, v.coverage
//
//   error = ln(predicted / measured)                     positive: predicted too fast
//
// `groups` are by the efficiencies that are given. Left out: dense rows by the fit to the dense rows of other models, or other
// parts; rows of a mixture of experts by the fit to all rows of other models. Coverage is of the printed 90% bands.
//
// Source: ours. Holds: left-out errors say what a new model or part may expect only where the rest resemble it. Cost: seven
// calibrations for four models on two parts, a few seconds.
// Pitfall: errors by the shipped efficiencies are in-sample on the rows that they were fitted to.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "floplan/serving/calibration.hpp"
#include "floplan/serving/confidence.hpp"

namespace floplan::serving {

struct RateError {
  const MeasuredRate* row = nullptr;
  double predicted = 0;
  double error = 0;
  Confidence confidence;
  [[nodiscard]] bool within_band() const {
    return row->measured >= predicted / confidence.factor_low && row->measured <= predicted * confidence.factor_high;
  }
};

struct BandCoverage {
  std::string of;  // the class
  std::size_t rows = 0;
  std::size_t within = 0;
};

struct ServingValidation {
  std::vector<RateError> rows;
  std::vector<ErrorsOf> groups;  // model and part
  ErrorsOf all;
  std::vector<BandCoverage> coverage;
  std::vector<ErrorsOf> model_out;  // dense rows first, then mixtures of experts
  std::vector<ErrorsOf> part_out;   // dense rows
};

namespace detail {

[[nodiscard]] inline std::vector<const MeasuredRate*> dense_of(const std::vector<MeasuredRate>& rows) {
  std::vector<const MeasuredRate*> out;
  for (const MeasuredRate& row : rows) {
    if (!row.shape.has_experts()) out.push_back(&row);
  }
  return out;
}

}  // namespace detail

[[nodiscard]] inline std::string by_model_and_part(const MeasuredRate& row) {
  return row.model + " on " + row.accelerator;
}

// The rows must outlive the answer. with_left_out: calibrates once for each group.
[[nodiscard]] inline ServingValidation validate(const std::vector<MeasuredRate>& rows, bool with_left_out,
                                                const Efficiencies& e = {}) {
  ServingValidation out;
  std::vector<const MeasuredRate*> all;
  for (const MeasuredRate& row : rows) {
    all.push_back(&row);
    RateError error{&row, rate_of(row, e), 0, confidence_of(row.shape, row.device, row.cut, row.formats)};
    error.error = std::log(error.predicted / row.measured);
    auto found = std::find_if(out.coverage.begin(), out.coverage.end(),
                              [&error](const BandCoverage& c) { return c.of == error.confidence.of; });
    if (found == out.coverage.end()) found = out.coverage.insert(out.coverage.end(), {error.confidence.of, 0, 0});
    ++found->rows;
    if (error.within_band()) ++found->within;
    out.rows.push_back(std::move(error));
  }
  out.groups = errors_by(all, by_model_and_part, [&e](const MeasuredRate& row) { return log_error(row, e); });
  out.all = pooled(out.groups);
  if (!with_left_out) return out;
  const std::vector<const MeasuredRate*> dense = detail::dense_of(rows);
  out.model_out = left_out(dense, by_model);
  out.part_out = left_out(dense, by_accelerator);
  if (dense.size() < all.size()) {
    for (ErrorsOf& g : left_out(all, by_model)) {
      const bool experts =
          std::none_of(dense.begin(), dense.end(), [&g](const auto* row) { return row->model == g.group; });
      if (experts) out.model_out.push_back(std::move(g));
    }
  }
  return out;
}

}  // namespace floplan::serving
