// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of readers ask of a table again and again.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <string_view>

#include "floplan/runs/run_table.hpp"

namespace run_text {

inline const floplan::runs::Mapping& mapped(const floplan::runs::RunTable& table, floplan::runs::Role role) {
  const floplan::runs::Mapping* found = floplan::runs::find_role(table.mapping, role);
  REQUIRE(found != nullptr);
  return *found;
}

inline bool notes(const floplan::runs::RunTable& table, std::string_view words) {
  for (const std::string& note : table.notes) {
    if (note.find(words) != std::string::npos) return true;
  }
  return false;
}

inline bool warns(const floplan::runs::RunTable& table, std::string_view code) {
  for (const floplan::Warning& warning : table.warnings) {
    if (warning.code == code) return true;
  }
  return false;
}

// What holds of every table, whatever was read.
inline void check_sound(const floplan::runs::RunTable& table) {
  const auto& rows = table.rows;
  CHECK(rows.used == table.observations.size());
  CHECK(rows.used > 0);
  CHECK(rows.read == rows.used + rows.filtered + rows.skipped_count + rows.dropped);
  CHECK(table.flop.size() == rows.used);
  CHECK(table.origins.size() == rows.used);
  for (const auto& [title, cells] : table.kept) CHECK(cells.size() == rows.used);
  for (std::size_t i = 0; i < rows.used; ++i) {
    const auto& run = table.observations[i];
    const bool good = run.parameters > 0 && std::isfinite(run.parameters) && run.tokens > 0 &&
                      std::isfinite(run.tokens) && run.loss > 0 && std::isfinite(run.loss) && run.weight >= 0 &&
                      std::isfinite(run.weight) &&
                      (!table.flop[i] || (*table.flop[i] > 0 && std::isfinite(*table.flop[i])));
    CHECK(good);
  }
}

}  // namespace run_text
