// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of readers ask of a table again and again.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "floplan/runs/run_table.hpp"
#include "runs/sound.hpp"
#include "support/warned.hpp"

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

inline bool warns(const floplan::runs::RunTable& table, std::string_view code) { return warned(table.warnings, code); }

inline void check_sound(const floplan::runs::RunTable& table) { CHECK(unsound(table) == ""); }

}  // namespace run_text
