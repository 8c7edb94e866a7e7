// SPDX-License-Identifier: BSD-3-Clause
//
// What holds of every table of runs, whatever was read: asked by the tests of readers and by their fuzzers.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>

#include "floplan/runs/run_table.hpp"

namespace run_text {

// What does not hold; empty where all does.
[[nodiscard]] inline std::string unsound(const floplan::runs::RunTable& table) {
  const auto& rows = table.rows;
  if (rows.used == 0 || rows.used != table.observations.size()) return "some rows are used";
  if (rows.read != rows.used + rows.filtered + rows.skipped_count + rows.dropped) return "counts add up";
  if (table.flop.size() != rows.used || table.origins.size() != rows.used) return "columns are aligned";
  for (const auto& [title, cells] : table.kept) {
    if (cells.size() != rows.used) return "kept columns are aligned";
  }
  for (std::size_t i = 0; i < rows.used; ++i) {
    const auto& run = table.observations[i];
    for (const double value : {run.parameters, run.tokens, run.loss, table.flop[i].value_or(1)}) {
      if (!(value > 0 && std::isfinite(value))) return "N, D, C and the loss are positive and finite";
    }
    if (!(run.weight >= 0 && std::isfinite(run.weight))) return "weights are finite and not negative";
    if (run.group < 0) return "groups are numbered";
  }
  for (const auto& skipped : rows.skipped) {
    if (skipped.line == 0 || skipped.reason.empty()) return "skipped rows have lines and reasons";
  }
  return "";
}

}  // namespace run_text
