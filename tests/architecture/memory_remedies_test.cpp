// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "floplan/architecture/memory_remedies.hpp"
#include "floplan/catalog/catalog.hpp"

using namespace floplan;
using namespace floplan::architecture;

namespace {

const Transformer& shape() {
  static const Transformer t = catalog::Catalog().model("llama-3.1-70b").shape;
  return t;
}

}  // namespace

TEST_CASE("each remedy makes the layout fit, and with all the memory that is needed there is nothing to mend") {
  const Layout layout{.tensor = 4, .pipeline = 2, .data = 8};
  TrainingMemoryOptions options;
  options.microbatches = 8;
  options.activation.microbatch = 2;
  const Bytes needed = training_memory(shape(), layout, options).worst_stage().total();
  const Bytes capacity(0.9 * needed.value);
  const std::vector<MemoryRemedy> remedies = what_would_fit(shape(), layout, options, capacity);
  CHECK(remedies.size() >= 4);
  for (const MemoryRemedy& r : remedies) {
    INFO(r.field << " " << r.value);
    CHECK(r.total <= capacity);
    CHECK(r.total < needed);
    if (r.field == "sharding") {
      TrainingMemoryOptions o = options;
      o.sharding = std::find_if(sharding_words.begin(), sharding_words.end(), [&](const auto& w) {
                     return w.first == r.value;
                   })->second;
      CHECK(training_memory(shape(), layout, o).worst_stage().total() == r.total);
    }
    if (r.field == "microbatch") CHECK(r.value == "1");
  }
  CHECK(what_would_fit(shape(), layout, options, Bytes(1e6)).empty());
  CHECK(to_text(what_would_fit(shape(), layout, options, Bytes(1e6))).empty());
  CHECK(to_text(remedies, "--").starts_with("--sharding zero"));
}

TEST_CASE("layouts, sharding and recomputation have their usual words") {
  CHECK(to_text(Layout{8, 1, 16, 128}) == "TP8 CP1 PP16 DP128");
  CHECK(to_text(Layout{.tensor = 8, .expert = 4, .interleave = 2}) == "TP8 CP1 PP1 DP1 EP4 VP2");
  for (const auto& [word, value] : sharding_words) CHECK(to_text(value) == word);
  for (const auto& [word, value] : recompute_words) CHECK(to_text(value) == word);
}

TEST_CASE("the usual chunks of a stage divide its layers, and there is one without a pipeline") {
  const Transformer large = catalog::Catalog().model("llama-3.1-405b").shape;  // 126 layers and 2 places
  CHECK(usual_interleave(large, 16) == 8);
  CHECK(usual_interleave(large, 1) == 1);
  CHECK(usual_interleave(shape(), 4) == 5);   // 20 layers a stage
  CHECK(usual_interleave(shape(), 80) == 1);  // one layer
  CHECK(usual_interleave(shape(), 32) == 1);  // which do not divide
}
