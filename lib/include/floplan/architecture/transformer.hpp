// SPDX-License-Identifier: BSD-3-Clause
//
// The shape of a dense decoder-only transformer, and how many parameters that is, exactly.
//
//   total = V d (1 if tied, else 2) + L (2 d (h w) + 2 d (k w) + 3 d f + 2 d) + d
//
//   L layers, d width, h query heads and k key-value heads of width w, f feed-forward width of the gated (SwiGLU) block,
//   V vocabulary; two RMS norms a layer and one at the end; no biases, rotary positions (no parameters).
//
// Source: Llama 2 (arXiv 2307.09288) and Llama 3 (arXiv 2407.21783, table 3); the formula gives the stored checkpoints'
// counts to the last digit (8,030,261,248 for Llama 3 8B).
// Holds: MHA, GQA and MQA with gated feed-forward blocks. Mixture of experts, MLA and biased layers are other shapes.
// Pitfall: V is the padded vocabulary of the checkpoint (128256), not the tokenizer's.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::architecture {

struct Transformer {
  std::int64_t layers = 0;
  std::int64_t width = 0;        // d_model
  std::int64_t heads = 0;        // query heads
  std::int64_t kv_heads = 0;     // key-value heads
  std::int64_t head_width = 0;   // of one head
  std::int64_t ffn_width = 0;    // of the gated feed-forward block
  std::int64_t vocabulary = 0;   // padded
  bool tied_embeddings = false;  // the output head shares the input embedding's weights
};

struct ParameterCount {
  Parameters total;
  Parameters active;         // used by one token; equal to total for a dense model
  Parameters embedding;      // input embedding, and the output head when it has weights of its own
  Parameters non_embedding;  // total - embedding
  Parameters input_embedding;

  // As a law counts them.
  [[nodiscard]] Parameters as(law::ParameterConvention convention) const {
    switch (convention) {
      case law::ParameterConvention::active: return active;
      case law::ParameterConvention::non_embedding: return non_embedding;
      case law::ParameterConvention::without_input_embedding: return total - input_embedding;
      case law::ParameterConvention::total: break;
    }
    return total;
  }
};

// Throws Error(usage) unless every dimension is positive, below 2^31, and kv_heads divides heads.
inline void check(const Transformer& t) {
  const auto dimension = [](std::int64_t value, const char* what) {
    if (value <= 0 || value > 2147483647) {
      throw Error(Failure::usage, "out_of_range", "transformer",
                  std::string(what) + " must be from 1 to 2147483647, got " + std::to_string(value));
    }
  };
  dimension(t.layers, "layers");
  dimension(t.width, "width");
  dimension(t.heads, "heads");
  dimension(t.kv_heads, "kv_heads");
  dimension(t.head_width, "head_width");
  dimension(t.ffn_width, "ffn_width");
  dimension(t.vocabulary, "vocabulary");
  if (t.heads % t.kv_heads != 0) {
    throw Error(Failure::usage, "does_not_divide", "transformer",
                "kv_heads must divide heads, got " + std::to_string(t.kv_heads) + " and " + std::to_string(t.heads));
  }
}

// Exact while the total stays below 2^53 (9e15).
[[nodiscard]] inline ParameterCount parameter_count(const Transformer& t) {
  check(t);
  const double layers = static_cast<double>(t.layers);
  const double width = static_cast<double>(t.width);
  const double queries = static_cast<double>(t.heads * t.head_width);
  const double keys = static_cast<double>(t.kv_heads * t.head_width);
  const double layer =
      2 * width * queries + 2 * width * keys + 3 * width * static_cast<double>(t.ffn_width) + 2 * width;
  const double table = static_cast<double>(t.vocabulary) * width;
  const double embedding = table * (t.tied_embeddings ? 1 : 2);
  const double body = layers * layer + width;
  return {Parameters(body + embedding), Parameters(body + embedding), Parameters(embedding), Parameters(body),
          Parameters(table)};
}

// Keys and values of one token over all layers, `bytes_per_value` each (2 for BF16, 1 for FP8).
[[nodiscard]] inline Bytes kv_bytes_per_token(const Transformer& t, double bytes_per_value = 2) {
  check(t);
  return Bytes(2 * static_cast<double>(t.layers) * static_cast<double>(t.kv_heads * t.head_width) * bytes_per_value);
}

}  // namespace floplan::architecture
