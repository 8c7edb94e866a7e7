// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/architecture/transformer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "architecture/shapes.hpp"
#include "floplan/core/random.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using architecture::kv_bytes_per_token;
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

TEST_CASE("keys and values of a token take the published bytes") {
  for (const reference::Row& row : reference::rows("kv_bytes.csv")) {
    Transformer t = shapes::named("Llama 2 7B");
    t.layers = static_cast<std::int64_t>(row.number("layers"));
    t.kv_heads = static_cast<std::int64_t>(row.number("kv_heads"));
    t.head_width = static_cast<std::int64_t>(row.number("head_width"));
    reference::check(row, kv_bytes_per_token(t, row.number("bytes_per_value")).value);
  }
  CHECK(kv_bytes_per_token(shapes::named("Llama 3 8B")) == kv_bytes_per_token(shapes::named("Llama 3 8B"), 2));
}

TEST_CASE("a dimension below 1 or beyond 2^31 is refused by its name") {
  struct Dimension {
    const char* name;
    std::int64_t Transformer::*field;
  };
  for (const Dimension& d :
       {Dimension{"layers", &Transformer::layers}, Dimension{"width", &Transformer::width},
        Dimension{"heads", &Transformer::heads}, Dimension{"kv_heads", &Transformer::kv_heads},
        Dimension{"head_width", &Transformer::head_width}, Dimension{"ffn_width", &Transformer::ffn_width},
        Dimension{"vocabulary", &Transformer::vocabulary}}) {
    for (const std::int64_t bad :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{2147483648}, std::numeric_limits<std::int64_t>::max(),
          std::numeric_limits<std::int64_t>::min()}) {
      Transformer t = shapes::named("Llama 3 8B");
      t.*d.field = bad;
      const Error error = thrown::by([&] { (void)parameter_count(t); });
      CHECK(error.failure() == Failure::usage);
      CHECK(thrown::says(error, std::string(d.name) + " must be"));
      CHECK(thrown::says(error, std::to_string(bad)));
      CHECK(thrown::by([&] { (void)kv_bytes_per_token(t); }).failure() == Failure::usage);
    }
  }
}

TEST_CASE("key-value heads that do not divide the heads are refused with both numbers") {
  Transformer t = shapes::named("Llama 3 8B");
  t.kv_heads = 7;
  const Error error = thrown::by([&] { (void)parameter_count(t); });
  CHECK(error.failure() == Failure::usage);
  CHECK(thrown::says(error, "kv_heads must divide heads"));
  CHECK(thrown::says(error, "7"));
  CHECK(thrown::says(error, "32"));
  t.kv_heads = 64;
  CHECK(thrown::by([&] { (void)parameter_count(t); }).code() == "does_not_divide");
}

// Each dimension may be up to 2^31 - 1; their products leave 64 bits and must be taken in doubles.
TEST_CASE("the largest shape that passes the check has finite positive sizes") {
  const std::int64_t most = 2147483647;
  const Transformer t{most, most, most, most, most, most, most, false};
  const double count = parameter_count(t).total.value;
  CHECK(std::isfinite(count));
  CHECK(count > std::pow(2.0, 120));
  const double bytes = kv_bytes_per_token(t).value;
  CHECK(bytes == near(4 * std::pow(static_cast<double>(most), 3), 1e-14));
}
