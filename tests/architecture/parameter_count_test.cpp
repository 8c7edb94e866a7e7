// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/architecture/parameter_count.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "architecture/shapes.hpp"
#include "floplan/core/random.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using architecture::parameter_count;
using architecture::Transformer;

// The same count matrix by matrix, in integers.
std::int64_t counted(const Transformer& t) {
  std::int64_t total = t.vocabulary * t.width;              // input embedding
  if (!t.tied_embeddings) total += t.vocabulary * t.width;  // output head
  for (std::int64_t layer = 0; layer < t.layers; ++layer) {
    total += t.width * t.heads * t.head_width;     // queries
    total += t.width * t.kv_heads * t.head_width;  // keys
    total += t.width * t.kv_heads * t.head_width;  // values
    total += t.heads * t.head_width * t.width;     // output projection
    total += 3 * t.width * t.ffn_width;            // gate, up, down
    total += 2 * t.width;                          // norms
  }
  return total + t.width;  // the last norm
}

}  // namespace

TEST_CASE("counts are those of the stored checkpoints, to the last parameter") {
  for (const reference::Row& row : reference::rows("parameter_counts.csv")) {
    reference::check(row, parameter_count(shapes::of(row)).total.value);
  }
}

TEST_CASE("embeddings are counted once if tied and twice if not, and the rest is what remains") {
  for (const reference::Row& row : reference::rows("embedding_parameters.csv")) {
    Transformer t = shapes::named("Llama 3 8B");
    t.width = static_cast<std::int64_t>(row.number("width"));
    t.vocabulary = static_cast<std::int64_t>(row.number("vocabulary"));
    t.tied_embeddings = row.number("tied") == 1;
    const auto count = parameter_count(t);
    reference::check(row, count.embedding.value);
    CHECK(count.embedding + count.non_embedding == count.total);
    CHECK(count.active == count.total);
  }
}

TEST_CASE("the count is that of its matrices one by one, for any shape") {
  RandomStream random(51);
  for (int i = 0; i < 500; ++i) {
    Transformer t;
    t.layers = 1 + random.below(130);
    t.width = 1 + random.below(20000);
    t.kv_heads = 1 + random.below(16);
    t.heads = t.kv_heads * (1 + random.below(16));
    t.head_width = 1 + random.below(256);
    t.ffn_width = 1 + random.below(60000);
    t.vocabulary = 1 + random.below(300000);
    t.tied_embeddings = random.below(2) == 1;
    CHECK(parameter_count(t).total == Parameters(static_cast<double>(counted(t))));
  }
}

TEST_CASE("layers cost the same each, and tying saves one vocabulary of vectors") {
  Transformer t = shapes::named("Llama 3 8B");
  const double base = parameter_count(t).total.value;
  t.layers += 1;
  const double layer = parameter_count(t).total.value - base;
  t.layers += 1;
  CHECK(parameter_count(t).total.value - base == 2 * layer);
  t.layers -= 2;
  t.tied_embeddings = true;
  CHECK(base - parameter_count(t).total.value == static_cast<double>(t.vocabulary * t.width));
  CHECK(parameter_count(t).non_embedding == parameter_count(shapes::named("Llama 3 8B")).non_embedding);
}
