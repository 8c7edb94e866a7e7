// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of keys and values that generation keeps.
//
//   a token:     2 L k w bytes a value     (MHA, GQA, MQA)      L (c + r) bytes a value     (MLA)
//   a context:   the same for each of its tokens, but no more than a window's in a layer of local attention
//
//   L layers, k key-value heads of width w; c the rank of MLA's cache and r its rotary width.
//
// Sources: DeepSeek-V2 (arXiv 2405.04434, table 1); Gemma 3 (2503.19786).
// Pitfall: tensor parallelism beyond the key-value heads copies them, and MLA's latent is copied on every rank.
#pragma once

#include <algorithm>
#include <cstdint>

#include "floplan/architecture/transformer.hpp"
#include "floplan/core/quantity.hpp"

namespace floplan::architecture {

// Of one token over all layers, before any window is full; bytes_per_value: 2 for BF16, 1 for FP8.
[[nodiscard]] inline Bytes kv_bytes_per_token(const Transformer& t, double bytes_per_value = 2) {
  check(t);
  return Bytes(static_cast<double>(t.layers) * static_cast<double>(t.cache_width()) * bytes_per_value);
}

// Of one sequence of `context` tokens. A chunk is kept whole; the most that it holds is its length.
[[nodiscard]] inline Bytes kv_bytes(const Transformer& t, Tokens context, double bytes_per_value = 2) {
  check(t);
  const double local = static_cast<double>(t.local ? t.local->layers.count() : 0);
  const double window = t.local ? std::min(context.value, static_cast<double>(t.local->window)) : 0;
  const double kept = (static_cast<double>(t.layers) - local) * context.value + local * window;
  return Bytes(kept * static_cast<double>(t.cache_width()) * bytes_per_value);
}

}  // namespace floplan::architecture
