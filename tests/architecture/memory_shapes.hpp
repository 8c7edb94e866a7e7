// SPDX-License-Identifier: BSD-3-Clause
//
// Shapes for the memory tests: random ones that a layout can cut.
#pragma once

#include <cstdint>

#include "floplan/architecture/transformer.hpp"
#include "floplan/core/random.hpp"

namespace shapes {

inline std::int64_t one_of(floplan::RandomStream& random, std::int64_t low, std::int64_t high) {
  return low + random.below(static_cast<std::uint32_t>(high - low + 1));
}

// Of `layers` layers; tensor parallelism up to 16 and expert parallelism up to 8 divide it.
inline floplan::architecture::Transformer any(floplan::RandomStream& random, std::int64_t layers) {
  using namespace floplan::architecture;
  const auto flip = [&random] { return random.below(2) == 1; };
  Transformer t;
  t.layers = layers;
  t.width = one_of(random, 8, 512);
  t.heads = 16 * one_of(random, 1, 4);
  t.kv_heads = std::int64_t{1} << random.below(5);
  t.head_width = one_of(random, 4, 64);
  t.ffn_width = 16 * one_of(random, 1, 64);
  t.vocabulary = one_of(random, 100, 5000);
  t.tied_embeddings = flip();
  t.gated = flip();
  t.norm = static_cast<Norm>(random.below(4));
  t.norms_a_layer = one_of(random, 0, 4);
  t.embedding_norm = flip();
  t.query_key_norm = static_cast<QueryKeyNorm>(random.below(3));
  t.biases = {flip(), flip(), flip(), flip()};
  t.attention_sinks = flip();
  t.learned_positions = one_of(random, 0, 100);
  if (flip()) {
    t.query_key_norm = QueryKeyNorm::none;
    t.latent = {.query_rank = flip() ? one_of(random, 8, 64) : 0,
                .kv_rank = one_of(random, 8, 64),
                .plain_width = one_of(random, 8, 64),
                .rotary_width = one_of(random, 4, 32),
                .value_width = one_of(random, 8, 64)};
  }
  if (flip()) {
    t.experts = {.count = 8 * one_of(random, 1, 4),
                 .active = one_of(random, 1, 8),
                 .width = 16 * one_of(random, 1, 16),
                 .shared_width = flip() ? 16 * one_of(random, 1, 16) : 0,
                 .layers = flip() ? LayerPattern::all(layers) : LayerPattern::from(layers / 2, layers),
                 .router_bias = flip(),
                 .shared_gate = flip()};
  }
  return t;
}

}  // namespace shapes
