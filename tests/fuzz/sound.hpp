// SPDX-License-Identifier: BSD-3-Clause
//
// What the fuzzers demand of every reader: a sound table, or an Error of data or usage. Anything else ends the program.
//
//   clang++-14 -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all
//     -I lib/include -I tests tests/fuzz/csv_runs_fuzz.cpp -o csv_fuzz     (needs libclang-rt-14-dev)
//   ./csv_fuzz -max_total_time=600 -max_len=4096 -timeout=5 new_inputs tests/fuzz/corpus/csv
//
// New inputs go to the first folder; only one that found a fault is worth adding to the corpus, as a test case too.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "floplan/core/error.hpp"
#include "floplan/runs/run_table.hpp"

namespace fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

inline void require_sound(const floplan::runs::RunTable& table) {
  const auto& rows = table.rows;
  require(rows.used > 0 && rows.used == table.observations.size(), "some rows are used");
  require(rows.read == rows.used + rows.filtered + rows.skipped_count + rows.dropped, "counts add up");
  require(table.flop.size() == rows.used && table.origins.size() == rows.used, "columns are aligned");
  for (const auto& [title, cells] : table.kept) require(cells.size() == rows.used, "kept columns are aligned");
  for (std::size_t i = 0; i < rows.used; ++i) {
    const auto& run = table.observations[i];
    for (const double value : {run.parameters, run.tokens, run.loss, table.flop[i].value_or(1)})
      require(value > 0 && std::isfinite(value), "N, D, C and the loss are positive and finite");
    require(run.weight >= 0 && std::isfinite(run.weight), "weights are finite and not negative");
    require(run.group >= 0, "groups are numbered");
  }
  for (const auto& skipped : rows.skipped)
    require(skipped.line > 0 && !skipped.reason.empty(), "skipped rows have reasons");
}

template <class Read>
void read_or_refuse(const Read& read) {
  try {
    require_sound(read());
  } catch (const floplan::Error& error) {
    require(error.failure() == floplan::Failure::data || error.failure() == floplan::Failure::usage,
            "errors are of data or usage");
  }
}

}  // namespace fuzz
