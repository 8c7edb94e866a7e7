// SPDX-License-Identifier: BSD-3-Clause
//
// What the fuzzers demand of every reader: a sound table, or an Error of data or usage. Anything else ends the program.
//
//   cmake --preset fuzz && cmake --build --preset fuzz                   (needs clang-14 and libclang-rt-14-dev)
//   mkdir -p new && build/fuzz/tests/fuzz/csv_runs_fuzz -max_total_time=600 -max_len=4096 -timeout=5
//     new tests/fuzz/corpus/csv
//
// New inputs go to the first folder; only one that found a fault is worth adding to the corpus, as a test case too.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "floplan/core/error.hpp"
#include "runs/sound.hpp"

namespace fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

template <class Read>
void read_or_refuse(const Read& read) {
  try {
    const std::string problem = run_text::unsound(read());
    require(problem.empty(), problem.c_str());
  } catch (const floplan::Error& error) {
    require(error.failure() == floplan::Failure::data || error.failure() == floplan::Failure::usage,
            "errors are of data or usage");
  }
}

}  // namespace fuzz
