// SPDX-License-Identifier: BSD-3-Clause
//
// The options by which a command is given training runs: files, a filter, and what each column is.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "command.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/runs/run_table.hpp"

namespace floplan::cli {

// An option that is a whole number from 0 to `most`.
template <class Whole>
[[nodiscard]] Whole whole_option(const std::string& text, const char* option, double most) {
  const Count count = parse<Count>(text, option);
  if (count.value != std::floor(count.value) || count.value > most) {
    throw Error(Failure::usage, "out_of_range", option,
                "must be a whole number up to " + print_number(most) + ", got " + text);
  }
  return static_cast<Whole>(count.value);
}

inline constexpr const char* runs_help =
    "Files of runs (CSV, JSON or JSON lines), or folders with a file a run; several are read as one";

struct RunOptions {
  std::vector<std::string> files;  // or folders of them
  std::string where, columns;
  bool minimum_per_cell = false;
  bool derive_tokens = false;

  void add_to(Subcommand& sub);       // the files, of which one must be given, and the options
  void add_options(Subcommand& sub);  // the options alone
  // Warnings of the reading are added to `warnings`. Groups are the nominal budgets when they are asked for. quantities:
  // what a run must have instead of N, D and a loss.
  [[nodiscard]] runs::RunTable read(std::vector<Warning>& warnings, bool group_by_budget,
                                    std::vector<runs::Quantity> quantities = {}) const;
  // Which runs of `table` to hold out of a fit: those for which a filter holds, or "largest=K", those of most FLOP.
  [[nodiscard]] std::vector<bool> held_out(const runs::RunTable& table, const std::string& text) const;
  [[nodiscard]] report::Json inputs() const;
  [[nodiscard]] std::string name() const;  // "runs.csv", or "a.csv and 2 more"
};

// The runs with a budget each: C as given, or 6ND.
[[nodiscard]] std::vector<double> budgets_of(const runs::RunTable& table);

// " (1 of 3 rows skipped: runs.csv:4:5: loss is blank)"; empty where no row was.
[[nodiscard]] std::string skipped_text(const runs::RunTable& table);

// The text with "row 8" of the observations as the place in its file, "runs.csv:12".
[[nodiscard]] std::string with_places(const std::string& text, const runs::RunTable& table);
void name_places(std::vector<Warning>& warnings, const runs::RunTable& table);

// What `answer` returns. A refusal for what the runs say names rows by their place in the file, and says which rows were
// not among them.
template <class Answering>
[[nodiscard]] auto naming_rows(const runs::RunTable& table, const Answering& answer) {
  try {
    return answer();
  } catch (const Error& error) {
    if (error.failure() != Failure::no_answer && error.failure() != Failure::data) throw;
    const std::string rule = std::string(error.what()).substr(error.where().empty() ? 0 : error.where().size() + 2);
    throw Error(error.failure(), error.code(), with_places(error.where(), table),
                with_places(rule, table) + skipped_text(table));
  }
}

}  // namespace floplan::cli
