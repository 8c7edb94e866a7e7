// SPDX-License-Identifier: BSD-3-Clause
//
// Data files that are not part of the repository: read from the folder that FLOPLAN_DATA names, ../shared/data beside the
// checkout by default. A test without them says so and passes.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "floplan/core/csv.hpp"
#include "floplan/core/file.hpp"

namespace shared_data {

inline std::filesystem::path folder() {
  const char* named = std::getenv("FLOPLAN_DATA");
  if (named != nullptr && *named != '\0') return named;
  return std::filesystem::path(FLOPLAN_SOURCE_DIR) / ".." / "shared" / "data";
}

inline std::optional<floplan::CsvTable> table(const std::string& file) {
  const std::filesystem::path path = folder() / file;
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no " << file << " in " << folder().string() << " (see FLOPLAN_DATA in data/README.md)");
    return std::nullopt;
  }
  return floplan::parse_csv(floplan::read_text_file(path), file);
}

// An input of a known fault, from the folder `known` beside the data.
inline std::optional<std::string> known(const std::string& file) {
  const std::filesystem::path path = (folder() / ".." / "known" / file).lexically_normal();
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no " << path.string());
    return std::nullopt;
  }
  return path.string();
}

}  // namespace shared_data
