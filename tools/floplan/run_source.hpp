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

struct RunOptions {
  std::string file;
  std::string where, columns;
  bool minimum_per_cell = false;
  bool derive_tokens = false;

  void add_to(Subcommand& sub);
  // Warnings of the reading are added to `warnings`. Groups are the nominal budgets when they are asked for.
  [[nodiscard]] runs::RunTable read(std::vector<Warning>& warnings, bool group_by_budget) const;
  // Which runs of `table` to hold out of a fit: those for which a filter holds, or "largest=K", those of most FLOP.
  [[nodiscard]] std::vector<bool> held_out(const runs::RunTable& table, const std::string& text) const;
  [[nodiscard]] report::Json inputs() const;
};

}  // namespace floplan::cli
