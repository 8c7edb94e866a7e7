// SPDX-License-Identifier: BSD-3-Clause
//
// The rule for reference numbers (CONTRIBUTING.md): a value has a tolerance, and both have a source.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <string>

#include "floplan/core/csv.hpp"
#include "floplan/core/file.hpp"
#include "support/reference.hpp"

TEST_CASE("every reference value has a tolerance and a source, in rows as long as their header") {
  std::size_t values = 0;
  for (const auto& entry : std::filesystem::directory_iterator(reference::folder())) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(".csv")) continue;
    CAPTURE(file);
    const floplan::CsvTable table = floplan::parse_csv(floplan::read_text_file(entry.path()), file);
    for (const floplan::CsvRow row : table.rows()) {
      CAPTURE(row.line());
      CHECK(row.size() == table.header().size());
    }
    if (!table.find_column("value") || !table.find_column("tolerance")) continue;
    for (const reference::Row& row : reference::rows(file)) {
      CAPTURE(row.place());
      CHECK(row.has("source"));
      CHECK(row.tolerance() >= 0);
      CHECK(std::isfinite(row.tolerance()));
      CHECK(row.has("value"));
      ++values;
    }
  }
  CHECK(values > 200);
}
