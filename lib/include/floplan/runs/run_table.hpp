// SPDX-License-Identifier: BSD-3-Clause
//
// Runs as they were read, with everything that was decided on the way: what reading asks for and what it answers.
//
//   ReadOptions options;
//   options.where = "keep==1";
//   options.columns["loss"] = "loss_c4_val";
//   const RunTable table = read(text, "runs.csv", options);   // runs/read_runs.hpp, or read_any of runs/json_runs.hpp
//   table.observations, table.mapping, table.rows.skipped, table.notes, table.describe()
//
// observations, flop, origins and every column of `kept` are aligned: entry i of each is run i. rows.read is the sum of
// used, filtered (by `where`), skipped_count and dropped (duplicates and all but the lowest loss of a cell, if asked).
//
// C is FLOP as the file gives it; where the file has no column of it, 6 N D, and a note says so.
//
// Pitfall: duplicates are kept unless drop_duplicates is set, because they are part of the objective that others
// minimised; an interval computed as if they were independent is too narrow. origins[i].duplicate marks them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/runs/budget_groups.hpp"
#include "floplan/runs/column_map.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::runs {

enum class GroupBy { nothing, budget, column };

// What a law needs of a run: a role's name or another key of law/input.hpp, and where its values can be.
struct Quantity {
  std::string key;
  double low, high;  // inclusive
};

struct ReadOptions {
  // Where given, these are what a run must have, in place of N, D and loss; and where a value lies outside, or is missing,
  // the row is skipped. They fill RunTable::quantities.
  std::vector<Quantity> quantities{};
  // Role (parameters, tokens, flop, loss, weight) to column title or product of titles and numbers
  // (runs/column_map.hpp).
  std::map<std::string, std::string> columns;
  std::string where;           // runs/row_filter.hpp; empty takes every row
  bool derive_tokens = false;  // fill a blank D with C/(6N); given ones are never recomputed
  bool derive_flop = false;    // fill a blank C with 6ND
  bool keep_failed = false;    // also take runs whose State is failed, crashed, killed, running, ...
  bool drop_duplicates = false;
  bool minimum_per_cell = false;          // of the runs with one (N, D), only the one with the lowest loss
  double cell_tolerance = 0;              // N, and D, within this fraction of a neighbour are one
  std::vector<std::string> cell_columns;  // columns whose text tells cells apart, besides N and D
  GroupBy group_by = GroupBy::nothing;    // fills Observation::group
  std::string group_column;               // for GroupBy::column
  double budget_gap = 0.2;                // for GroupBy::budget: group_by_budget's gap
  std::vector<std::string> keep;          // columns to carry along as text
  std::size_t skipped_listed = 1000;      // of skipped rows, so many are listed; all are counted
  bool may_be_empty = false;              // no usable row is an answer, as for one file of many, and no error
};

struct SkippedRow {
  std::string file;
  std::size_t line = 0;
  std::size_t column = 0;  // from 1; 0 when the whole row, or a file without columns (JSON), is meant
  std::string title;       // of the column
  std::string reason;      // "eval/macro_loss is blank"

  [[nodiscard]] std::string place() const {
    return file + ":" + std::to_string(line) + (column > 0 ? ":" + std::to_string(column) : "");
  }
};

// A file of several that holds no runs that can be read.
struct SkippedFile {
  std::string file;
  std::string reason;
};

struct RowCounts {
  std::size_t read = 0;
  std::size_t used = 0;
  std::size_t filtered = 0;
  std::size_t duplicates = 0;  // rows whose N, D and loss an earlier row has
  std::size_t dropped = 0;
  std::size_t skipped_count = 0;
  std::vector<SkippedRow> skipped;
};

struct Origin {
  std::size_t file = 0;  // in RunTable::files
  std::size_t line = 0;
  std::size_t row = 0;       // of the file, from 0: JSON may have many in a line
  bool tokens_given = true;  // false: C/(6N)
  bool flop_given = false;   // false: 6ND, or not known
  bool duplicate = false;    // an earlier run has the same N, D and loss
};

// 6ND/C over the rows in which the file gives all three. Near 1 unless units or conventions differ.
struct UnitCheck {
  std::size_t rows = 0;
  double median = 0;
  double low = 0;
  double high = 0;
};

struct RunTable {
  std::vector<Observation> observations;
  std::vector<std::optional<double>> flop;
  std::vector<Origin> origins;
  std::vector<std::vector<double>> quantities;           // ReadOptions::quantities of each run, in their order
  std::map<std::string, std::vector<std::string>> kept;  // by title: cell_columns, group_column and keep

  std::vector<std::string> files;
  std::vector<SkippedFile> skipped_files;
  std::vector<Mapping> mapping;  // of the first file with a usable row
  ParameterCount count = ParameterCount::total;
  std::string loss_unit;  // "bits/byte" when the title says so, else empty: not stated, usually nats/token
  RowCounts rows;
  UnitCheck six_nd_over_c;
  std::vector<Budget> budgets;            // for GroupBy::budget, by group; rows without C are in one group more
  std::vector<std::string> group_labels;  // for GroupBy::column, by group
  std::vector<std::string> notes;
  std::vector<std::string> unused_marks;  // filters that would leave out what a column marks: "outlier==0"
  std::vector<Warning> warnings;

  // "runs.csv: 245 rows read, 240 used, 5 filtered out; N from parameter_count, D = C/(6N), ..."
  [[nodiscard]] std::string describe() const {
    std::string out;
    const std::size_t named = files.size() > 4 ? 1 : files.size();
    for (std::size_t i = 0; i < named; ++i) out += (i > 0 ? ", " : "") + files[i];
    if (files.size() > named) out += " and " + std::to_string(files.size() - named) + " files more";
    if (!skipped_files.empty()) out += " (" + std::to_string(skipped_files.size()) + " files skipped)";
    out += ": " + std::to_string(rows.read) + " rows read, " + std::to_string(rows.used) + " used";
    if (rows.filtered > 0) out += ", " + std::to_string(rows.filtered) + " filtered out";
    if (rows.skipped_count > 0) out += ", " + std::to_string(rows.skipped_count) + " skipped";
    if (rows.dropped > 0) out += ", " + std::to_string(rows.dropped) + " dropped";
    if (rows.duplicates > 0) out += ", " + std::to_string(rows.duplicates) + " duplicates";
    std::string_view join = "; ";
    for (const Mapping& m : mapping) {
      out += std::string(join) + m.name() + (m.derived() ? " = " : " from ") + m.title;
      if (!m.unit.empty()) out += " (" + m.unit + ")";
      join = ", ";
    }
    return out;
  }
};

// A kept column as numbers, for a law that needs more than N and D (unique tokens, epochs). Throws Error(data) naming
// file and line of the first cell without a number, and Error(usage) for a column that was not kept.
[[nodiscard]] inline std::vector<double> kept_numbers(const RunTable& table, const std::string& title) {
  const auto column = table.kept.find(title);
  if (column == table.kept.end()) {
    throw Error(Failure::usage, "unknown_column", "kept_numbers",
                "the column must be one that ReadOptions::keep names, got \"" + title + "\"");
  }
  std::vector<double> out;
  out.reserve(column->second.size());
  for (std::size_t i = 0; i < column->second.size(); ++i) {
    const std::string& cell = column->second[i];
    const CellNumber number = read_number(cell);
    if (number.kind != CellKind::number) {
      const Origin& origin = table.origins[i];
      throw Error(Failure::data, "bad_cell", table.files[origin.file] + ":" + std::to_string(origin.line),
                  title + (number.kind == CellKind::blank ? " is blank" : " must be a number, got \"" + cell + "\""));
    }
    out.push_back(number.value);
  }
  return out;
}

}  // namespace floplan::runs
