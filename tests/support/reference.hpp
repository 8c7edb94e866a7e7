// SPDX-License-Identifier: BSD-3-Clause
//
// The reference numbers of tests/reference: one row a number, with where it was published and how far it can be trusted.
//
//   for (const reference::Row& row : reference::rows("ettr.csv")) reference::check(row, ettr(row.number("stall_s")));
//
// Columns are name, inputs..., value, tolerance, source. The tolerance is absolute and in the unit of the value: half of
// the last digit that the source prints, or a stated number of standard errors of a simulation. Files whose rows are only
// inputs, which several values share, are named *_cases.csv and have no value.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "floplan/core/csv.hpp"
#include "floplan/core/file.hpp"

namespace reference {

inline std::filesystem::path folder() { return std::filesystem::path(FLOPLAN_SOURCE_DIR) / "tests" / "reference"; }

class Row {
 public:
  Row(std::shared_ptr<const floplan::CsvTable> table, std::size_t index) : table_(std::move(table)), index_(index) {}

  [[nodiscard]] std::string text(std::string_view column) const {
    return std::string(table_->row(index_)[table_->column(column)]);
  }
  [[nodiscard]] bool has(std::string_view column) const { return !text(column).empty(); }
  [[nodiscard]] double number(std::string_view column) const {
    const std::string cell = text(column);
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    INFO(place() << ": column " << std::string(column) << " holds \"" << cell << "\"");
    REQUIRE(error == std::errc());
    REQUIRE(end == cell.data() + cell.size());
    return value;
  }
  [[nodiscard]] double number_or(std::string_view column, double otherwise) const {
    return has(column) ? number(column) : otherwise;
  }
  [[nodiscard]] std::string name() const { return text("name"); }
  [[nodiscard]] double value() const { return number("value"); }
  [[nodiscard]] double tolerance() const { return number("tolerance"); }
  [[nodiscard]] std::string place() const { return table_->place(table_->row(index_), 0); }

 private:
  std::shared_ptr<const floplan::CsvTable> table_;
  std::size_t index_;
};

inline std::vector<Row> rows(const std::string& file) {
  const auto table = std::make_shared<const floplan::CsvTable>(
      floplan::parse_csv(floplan::read_text_file(folder() / file), "tests/reference/" + file));
  REQUIRE(table->size() > 0);
  std::vector<Row> out;
  for (std::size_t i = 0; i < table->size(); ++i) out.emplace_back(table, i);
  return out;
}

inline Row row(const std::string& file, std::string_view name) {
  const std::vector<Row> all = rows(file);
  const auto found = std::find_if(all.begin(), all.end(), [name](const Row& r) { return r.name() == name; });
  INFO("tests/reference/" << file << " has no row named " << std::string(name));
  REQUIRE(found != all.end());
  return *found;
}

// more: what the found value adds of its own, such as four standard errors of a sample.
inline void check(const Row& row, double found, double more = 0) {
  INFO(row.place() << ": " << row.name() << ", " << row.text("source"));
  const double value = row.value();
  const double allowed = row.tolerance() + more;
  CAPTURE(found);
  CAPTURE(value);
  CAPTURE(allowed);
  CHECK(std::abs(found - value) <= allowed);
}

}  // namespace reference
