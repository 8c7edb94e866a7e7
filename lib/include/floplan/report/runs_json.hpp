// SPDX-License-Identifier: BSD-3-Clause
//
// How a file of runs was read, as JSON: what each column was taken for and why, how many rows count, and for each that does
// not its line, column and reason.
//
// Needs nlohmann-json: not part of the umbrella header.
// Pitfall: "skipped" lists at most ReadOptions::skipped_listed rows; "skipped_count" counts them all.
#pragma once

#include <string>
#include <utility>

#include "floplan/report/json.hpp"
#include "floplan/runs/run_table.hpp"

namespace floplan::report {

[[nodiscard]] inline Json rows_json(const runs::RunTable& table) {
  Json skipped = Json::array();
  for (const runs::SkippedRow& row : table.rows.skipped) {
    skipped.push_back(
        {{"file", row.file}, {"line", row.line}, {"column", row.column}, {"title", row.title}, {"reason", row.reason}});
  }
  Json skipped_files = Json::array();
  for (const runs::SkippedFile& file : table.skipped_files)
    skipped_files.push_back({{"file", file.file}, {"reason", file.reason}});
  Json mapping = Json::array();
  for (const runs::Mapping& m : table.mapping) {
    mapping.push_back(
        {{"role", m.name()}, {"column", m.title}, {"unit", m.unit}, {"why", m.why}, {"alternatives", m.alternatives}});
  }
  return {{"files", table.files},
          {"skipped_files", std::move(skipped_files)},
          {"read", table.rows.read},
          {"used", table.rows.used},
          {"filtered", table.rows.filtered},
          {"duplicates", table.rows.duplicates},
          {"skipped_count", table.rows.skipped_count},
          {"skipped", std::move(skipped)},
          {"mapping", std::move(mapping)},
          {"parameter_convention", runs::name_of(table.count)},
          {"loss_unit", table.loss_unit},
          {"notes", table.notes}};
}

}  // namespace floplan::report
