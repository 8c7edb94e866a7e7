// SPDX-License-Identifier: BSD-3-Clause
//
// Rows for the fits of any form: columns of data sets, and the rows of a Chinchilla sweep.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fit/fit_data.hpp"
#include "floplan/fit/form_fit.hpp"
#include "floplan/runs/observation.hpp"

namespace form_data {

using Rows = std::vector<floplan::fit::FormRow>;

inline Rows rows(const std::vector<floplan::runs::Observation>& observations) {
  Rows out;
  for (const floplan::runs::Observation& run : observations)
    out.push_back({{run.parameters, run.tokens}, run.loss, run.weight});
  return out;
}

// The rows of a table for which `take` holds; nothing where the data set is not there.
template <class Take>
std::optional<Rows> columns(const std::string& file, const std::vector<std::string>& inputs, const std::string& output,
                            const Take& take) {
  const auto table = fit_data::table(file);
  if (!table) return std::nullopt;
  Rows out;
  for (const floplan::CsvRow row : table->rows()) {
    const auto cell = [&](const std::string& title) { return std::string(row[table->column(title)]); };
    if (!take(cell)) continue;
    floplan::fit::FormRow added;
    for (const std::string& input : inputs) added.inputs.push_back(fit_data::number(cell(input)));
    added.output = fit_data::number(cell(output));
    out.push_back(std::move(added));
  }
  return out;
}

inline floplan::fit::FormOptions squares(floplan::fit::Residual residual) {
  floplan::fit::FormOptions out;
  out.estimator = {residual, floplan::fit::Loss::least_squares, 1e-3};
  return out;
}

}  // namespace form_data
