// SPDX-License-Identifier: BSD-3-Clause
//
// What would make a layout fit into memory, one change at a time.
//
//   for (const MemoryRemedy& r : what_would_fit(shape, layout, options, capacity)) ...     {"sharding", "zero2", 70.7GB}
//
// Tried: every stronger sharding, every stronger recomputation, half the microbatch, and twice TP, PP or CP at the same
// number of accelerators, taken from data parallelism. Each that fits is named with what the fullest stage then needs.
//
// Source: training_memory.hpp, once for each change: some microseconds and a stage's vectors.
// Pitfall: a change that fits need not be fast; and where none fits alone, two together still may.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "floplan/architecture/layout.hpp"
#include "floplan/architecture/layout_words.hpp"
#include "floplan/architecture/training_memory.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::architecture {

struct MemoryRemedy {
  std::string field;  // as options and plan files call it: "sharding", "recompute", "microbatch", "tp", "pp", "cp"
  std::string value;
  Bytes total;  // of the stage that then needs most
};

[[nodiscard]] inline std::vector<MemoryRemedy> what_would_fit(const Transformer& t, const Layout& layout,
                                                              const TrainingMemoryOptions& options, Bytes capacity) {
  std::vector<MemoryRemedy> out;
  const auto consider = [&](const char* field, std::string value, const Layout& l, const TrainingMemoryOptions& o) {
    try {
      const Bytes total = training_memory(t, l, o).worst_stage().total();
      if (total <= capacity) out.push_back({field, std::move(value), total});
    } catch (const Error&) {  // a change that cannot be made is no help
    }
  };
  if (layout.data * layout.context > 1) {
    for (const auto& [word, sharding] : sharding_words) {
      TrainingMemoryOptions o = options;
      o.sharding = sharding;
      if (sharding > options.sharding) consider("sharding", word, layout, o);
    }
  }
  for (const auto& [word, recompute] : recompute_words) {
    TrainingMemoryOptions o = options;
    o.activation.recompute = recompute;
    if (recompute > options.activation.recompute) consider("recompute", word, layout, o);
  }
  if (options.activation.microbatch % 2 == 0) {
    TrainingMemoryOptions o = options;
    o.activation.microbatch /= 2;
    o.microbatches *= 2;
    consider("microbatch", std::to_string(o.activation.microbatch), layout, o);
  }
  if (layout.data % 2 != 0) return out;
  for (const auto& [field, degree] :
       {std::pair("tp", &Layout::tensor), std::pair("pp", &Layout::pipeline), std::pair("cp", &Layout::context)}) {
    Layout l = layout;
    TrainingMemoryOptions o = options;
    l.*degree *= 2;
    l.data /= 2;
    o.microbatches *= 2;  // the same batch over half the data ranks
    consider(field, std::to_string(l.*degree), l, o);
  }
  return out;
}

// "sharding zero2 (70.7GB), recompute full (24GB)"; empty where nothing helps.
[[nodiscard]] inline std::string to_text(const std::vector<MemoryRemedy>& remedies, const std::string& before = "") {
  std::string out;
  for (const MemoryRemedy& r : remedies) {
    out += (out.empty() ? "" : ", ") + before + r.field + " " + r.value + " (" + print_short(r.total, 3) + ")";
  }
  return out;
}

}  // namespace floplan::architecture
