// SPDX-License-Identifier: BSD-3-Clause
//
// Shapes for the architecture tests: from a reference row, by a name to start variations from, and GPTs.
#pragma once

#include <cstdint>
#include <string>

#include "floplan/architecture/transformer.hpp"
#include "support/reference.hpp"

namespace shapes {

inline floplan::architecture::Transformer of(const reference::Row& row) {
  const auto whole = [&row](const char* column) { return static_cast<std::int64_t>(row.number(column)); };
  return {whole("layers"),     whole("width"),     whole("heads"),      whole("kv_heads"),
          whole("head_width"), whole("ffn_width"), whole("vocabulary"), row.number("tied") == 1};
}

inline floplan::architecture::Transformer named(const std::string& name) {
  return of(reference::row("parameter_counts.csv", name));
}

// As Megatron-LM trained it: plain blocks of 4 x width, biases, layer norms, learned positions, tied embeddings.
inline floplan::architecture::Transformer gpt(std::int64_t layers, std::int64_t width, std::int64_t heads,
                                              std::int64_t vocabulary, std::int64_t positions) {
  return {.layers = layers,
          .width = width,
          .heads = heads,
          .kv_heads = heads,
          .head_width = width / heads,
          .ffn_width = 4 * width,
          .vocabulary = vocabulary,
          .tied_embeddings = true,
          .gated = false,
          .norm = floplan::architecture::Norm::layer,
          .biases = {.queries_keys_values = true, .attention_output = true, .feed_forward = true},
          .learned_positions = positions};
}
inline floplan::architecture::Transformer gpt(const reference::Row& row) {
  const auto whole = [&row](const char* column) { return static_cast<std::int64_t>(row.number(column)); };
  return gpt(whole("layers"), whole("width"), whole("heads"), whole("vocabulary"), whole("sequence_length"));
}

}  // namespace shapes
