// SPDX-License-Identifier: BSD-3-Clause
//
// What a reader of somebody's file would want to be told of it: which count of parameters, rows that the file marks as not to
// be used, titles that stand over several columns.
//
// Pitfall: these are notes, not faults: nothing is left out because of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "floplan/core/names.hpp"
#include "floplan/runs/column_map.hpp"
#include "floplan/runs/row_filter.hpp"
#include "floplan/runs/run_table.hpp"
#include "floplan/runs/sheet.hpp"
#include "floplan/runs/title_meaning.hpp"

namespace floplan::runs::detail {

// Which count of parameters was taken, and which other the file has.
inline void note_count(RunTable& table, const Mapping& n) {
  table.count = n.count;
  const std::string count(name_of(n.count));
  if (n.count != ParameterCount::total)
    table.notes.push_back("parameters are the " + count + " count, from " + n.title);
  for (const std::string& other : n.alternatives) {
    const auto meaning = meaning_of(other, true);
    if (meaning && meaning->count != n.count) {
      table.notes.push_back("parameters are the " + count + " count from " + n.title + "; " + other + " has the " +
                            std::string(name_of(meaning->count)) + " one");
      break;
    }
  }
}

// A file often says itself which rows its author left out.
inline void note_unused_marks(RunTable& table, const Sheet& sheet, const RowFilter& filter) {
  for (std::size_t column = 0; column < sheet.titles().size(); ++column) {
    const std::string& title = sheet.titles()[column];
    if (title.size() > 12 || filter.mentions(column)) continue;
    const std::string word = lower_case(title);
    const bool good = word == "keep" || word == "include";
    if (!good && word != "outlier" && word != "is_outlier" && word != "exclude" && word != "excluded") continue;
    std::size_t marked = 0;
    for (std::size_t row = 0; row < sheet.size(); ++row) {
      const std::string cell = lower_case(trimmed(sheet.cell(row, column)).substr(0, 8));
      const bool yes = cell == "1" || cell == "true" || cell == "yes" || cell == "1.0";
      marked += yes != good ? 1 : 0;
    }
    if (marked == 0) continue;
    table.unused_marks.push_back(title + (good ? "==1" : "==0"));
    table.notes.push_back("column " + title + " marks " + std::to_string(marked) +
                          " rows, which are used all the same; where " + table.unused_marks.back() +
                          " leaves them out");
  }
}

inline void note_repeated_titles(RunTable& table, const Sheet& sheet) {
  for (const Mapping& m : table.mapping) {
    for (const std::size_t column : m.columns) {
      const std::string& title = sheet.titles()[column];
      const auto times = std::count(sheet.titles().begin(), sheet.titles().end(), title);
      if (times > 1)
        table.notes.push_back("the title " + title + " stands over " + std::to_string(times) +
                              " columns, of which the first is read");
    }
  }
}

}  // namespace floplan::runs::detail
