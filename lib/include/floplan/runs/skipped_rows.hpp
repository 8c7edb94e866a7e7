// SPDX-License-Identifier: BSD-3-Clause
//
// Rows that cannot be used: each with its place and reason, and the reason that most of them share.
//
//   SkippedRows skips(sheet, options, table.rows);
//   skips.skip(row, column, Fault::sign, "must be positive", "-1");      counted, and listed up to options.skipped_listed
//   if (table.observations.empty()) throw skips.nothing_usable();
//
// Pitfall: it writes into the RowCounts that it was given, which must outlive it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "floplan/core/error.hpp"
#include "floplan/runs/cell_number.hpp"
#include "floplan/runs/column_map.hpp"
#include "floplan/runs/run_table.hpp"
#include "floplan/runs/sheet.hpp"

namespace floplan::runs::detail {

enum class Fault { blank, text, range, sign, state, cells };

class SkippedRows {
 public:
  SkippedRows(const Sheet& sheet, const ReadOptions& options, RowCounts& rows)
      : sheet_(sheet), options_(options), rows_(rows) {}

  void skip(std::size_t row, std::optional<std::size_t> column, Fault fault, const std::string& rule,
            const std::string& value = "") {
    ++rows_.skipped_count;
    const std::string title = column ? shown(sheet_.titles()[*column]) : "";
    Tally& tally = tallies_[{column.value_or(sheet_.titles().size()), static_cast<int>(fault)}];
    if (tally.rows++ == 0) {
      tally.first_row = row;
      tally.reason = column ? title + " " + rule : "it " + rule;
    }
    if (rows_.skipped.size() >= options_.skipped_listed) return;
    const std::string reason =
        (column ? title : "the row") + " " + rule + (value.empty() ? "" : ", got \"" + shown(value) + "\"");
    rows_.skipped.push_back(
        {sheet_.name(), sheet_.line(row), column ? sheet_.column_number(*column) : 0, title, reason});
  }

  void skip(std::size_t row, const TermValue& value) {
    const std::string cell(trimmed(sheet_.cell(row, value.at)).substr(0, 80));
    switch (value.number.kind) {
      case CellKind::blank:
        if (cell.empty()) return skip(row, value.at, Fault::blank, "is blank");
        return skip(row, value.at, Fault::blank, "holds no number", cell);
      case CellKind::text: return skip(row, value.at, Fault::text, "must be a number", cell);
      case CellKind::out_of_range: return skip(row, value.at, Fault::range, "must be in the range of a double", cell);
      case CellKind::number: return skip(row, value.at, Fault::sign, "must be positive", cell);
    }
  }

  [[nodiscard]] Error nothing_usable() const {
    if (sheet_.size() == 0)
      return Error(Failure::data, "no_rows", sheet_.name() + ":1", "needs rows below the header, got none");
    const auto worst = std::max_element(tallies_.begin(), tallies_.end(),
                                        [](const auto& a, const auto& b) { return a.second.rows < b.second.rows; });
    const std::string rows = std::to_string(sheet_.size()) + (sheet_.size() == 1 ? " row" : " rows");
    const std::string filtered = std::to_string(rows_.filtered) + " do not meet where " + shown(options_.where, 100);
    if (worst == tallies_.end())
      return Error(Failure::data, "no_usable_rows", sheet_.name(), "none of " + rows + " can be used: " + filtered);
    const auto& [key, tally] = *worst;
    return Error(Failure::data, "no_usable_rows",
                 key.first < sheet_.titles().size()
                     ? sheet_.place(tally.first_row, key.first)
                     : sheet_.name() + ":" + std::to_string(sheet_.line(tally.first_row)),
                 "none of " + rows + " can be used: in " + std::to_string(tally.rows) + " " + tally.reason +
                     (rows_.filtered > 0 ? ", and " + filtered : ""));
  }

 private:
  struct Tally {
    std::size_t rows = 0;
    std::size_t first_row = 0;
    std::string reason;
  };

  const Sheet& sheet_;
  const ReadOptions& options_;
  RowCounts& rows_;
  std::map<std::pair<std::size_t, int>, Tally> tallies_;
};

}  // namespace floplan::runs::detail
