// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/architecture/kv_cache.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "architecture/shapes.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using architecture::kv_bytes_per_token;
using architecture::Transformer;

}  // namespace

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
