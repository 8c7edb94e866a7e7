// SPDX-License-Identifier: BSD-3-Clause
//
// Reading one row of a catalog's CSV file, cell by cell, with errors that name file, line, column and title.
//
// A RecordReader knows the columns that its kind of record may have: an unknown title is refused with the nearest known
// ones, so that a mistyped column is not silently lost; a column that is missing reads as blank. A blank cell is "not
// known" (nullopt); a cell that must be there says so.
//
// Pitfall: cells hold plain numbers in the unit that the title names (memory_gb is 1e9 bytes), not quantities with units.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "floplan/core/csv.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"
#include "floplan/core/provenance.hpp"

namespace floplan::catalog {

class RecordReader {
 public:
  RecordReader(const CsvTable& table, std::vector<std::string> known) : table_(table) {
    known.insert(known.end(), {"source", "date", "verified", "note"});
    for (std::size_t i = 0; i < table.header().size(); ++i) {
      const std::string& title = table.header()[i];
      const auto refuse = [&](const char* code, const std::string& rule, const std::string& hint) {
        return Error(Failure::data, code,
                     table.name() + ":" + std::to_string(table.header_line()) + ":" + std::to_string(i + 1),
                     "column must be " + rule + ", got \"" + title + "\"" + hint);
      };
      if (std::find(known.begin(), known.end(), title) == known.end())
        throw refuse("unknown_column", "one that this catalog has", nearest_names_text(title, known));
      if (table.find_column(title) != i) throw refuse("repeated_column", "named once", " again");
    }
  }

  // The row that the calls below read.
  void at(const CsvRow& row) {
    row_ = row;
    if (row.size() > table_.header().size()) {
      throw Error(Failure::data, "bad_row", table_.place(row, table_.header().size()),
                  "a row has at most as many cells as the header (" + std::to_string(table_.header().size()) +
                      "), got " + std::to_string(row.size()));
    }
  }

  [[nodiscard]] std::string text(std::string_view title) const {
    const auto column = table_.find_column(title);
    return std::string(trimmed(column ? row_[*column] : std::string_view()));
  }
  [[nodiscard]] std::string required_text(std::string_view title) const {
    std::string out = text(title);
    if (out.empty()) throw fail(title, "must not be blank");
    return out;
  }
  [[nodiscard]] std::vector<std::string> list(std::string_view title) const {
    std::vector<std::string> out;
    const std::string whole = text(title);
    for (std::size_t begin = 0; begin < whole.size();) {
      const std::size_t end = std::min(whole.find(';', begin), whole.size());
      const std::string_view entry = trimmed(std::string_view(whole).substr(begin, end - begin));
      if (!entry.empty()) out.emplace_back(entry);
      begin = end + 1;
    }
    return out;
  }
  // Finite, or the cell is refused. Negative values are for the caller to judge.
  [[nodiscard]] std::optional<double> number(std::string_view title) const {
    const std::string cell = text(title);
    if (cell.empty()) return std::nullopt;
    double value = 0;
    const auto result = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (result.ec != std::errc() || result.ptr != cell.data() + cell.size() || !std::isfinite(value)) {
      throw fail(title, "must be a plain finite number, got \"" + cell + "\"");
    }
    return value;
  }
  [[nodiscard]] std::optional<double> positive(std::string_view title) const {
    const auto value = number(title);
    if (value && !(*value > 0)) throw fail(title, "must be positive, got \"" + text(title) + "\"");
    return value;
  }
  [[nodiscard]] double required_positive(std::string_view title) const {
    if (const auto value = positive(title)) return *value;
    throw fail(title, "must not be blank");
  }
  [[nodiscard]] std::int64_t required_integer(std::string_view title) const {
    static_cast<void>(required_positive(title));
    return integer(title).value();
  }
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view title) const {
    const auto value = positive(title);
    if (!value) return std::nullopt;
    if (*value != std::floor(*value) || *value > 9e15)
      throw fail(title, "must be a whole number, got \"" + text(title) + "\"");
    return static_cast<std::int64_t>(*value);
  }
  // A quantity Q whose unit is `unit` times the number in the cell.
  template <class Q>
  [[nodiscard]] std::optional<Q> quantity(std::string_view title, double unit = 1) const {
    const auto value = positive(title);
    return value ? std::optional<Q>(Q(*value * unit)) : std::nullopt;
  }
  [[nodiscard]] bool yes_no(std::string_view title) const {
    const std::string cell = lower_case(text(title));
    if (cell == "yes" || cell == "true" || cell == "1") return true;
    if (cell == "no" || cell == "false" || cell == "0" || cell.empty()) return false;
    throw fail(title, "must be yes or no, got \"" + cell + "\"");
  }
  template <class Choice>
  [[nodiscard]] Choice one_of(std::string_view title,
                              const std::vector<std::pair<std::string, Choice>>& choices) const {
    const std::string cell = text(title);
    std::string names;
    for (const auto& [name, value] : choices) {
      if (cell == name) return value;
      names += (names.empty() ? "" : ", ") + name;
    }
    throw fail(title, "must be one of " + names + ", got \"" + cell + "\"");
  }
  [[nodiscard]] Provenance provenance() const {
    return {text("source"), text("date"), yes_no("verified"), text("note")};
  }

  [[nodiscard]] Error fail(std::string_view title, const std::string& rule) const {
    const auto column = table_.find_column(title);
    return Error(Failure::data, "bad_cell", table_.place(row_, column.value_or(table_.header().size())),
                 std::string(title) + " " + rule);
  }

 private:
  [[nodiscard]] static std::string_view trimmed(std::string_view cell) {
    while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
    while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
    return cell;
  }

  const CsvTable& table_;
  CsvRow row_{{}, 0};
};

}  // namespace floplan::catalog
