// SPDX-License-Identifier: BSD-3-Clause
//
// The shape of a decoder-only transformer: what its weights, FLOP and memory follow from.
//
//   Transformer t{.layers = 126, .width = 16384, .heads = 128, .kv_heads = 8, .head_width = 128, .ffn_width = 53248,
//                 .vocabulary = 128256};                                         Llama 3.1 405B
//
// Covered: grouped attention (MHA, GQA, MQA) and latent attention (MLA, with or without query compression); gated and
// plain feed-forward blocks; mixtures of experts in some or all layers, with shared experts; attention within a window or
// a chunk in some layers; biases, norms of queries and keys, one to four norms a layer; rotary (no weights), learned or
// relative positions; tied or untied embeddings. parameter_count.hpp counts, training_flop.hpp and training_memory.hpp follow.
//
// Sources: Llama 3 (arXiv 2407.21783, table 3), DeepSeek-V2 (2405.04434, MLA), Mixtral (2401.04088), Gemma 3 (2503.19786).
// Holds: decoder-only stacks of attention and feed-forward layers. State-space and other hybrid layers are other shapes.
// Pitfall: the vocabulary is the padded one of the stored tables (128256), not the tokenizer's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "floplan/architecture/layer_pattern.hpp"
#include "floplan/core/error.hpp"

namespace floplan::architecture {

// A norm's weights: one vector (RMS, or a layer norm without bias), two (scale and bias), or none.
enum class Norm { rms, layer, layer_without_bias, none };
// Norms of queries and keys: none, a vector of one head's width for each of the two, or one as wide as all their heads.
enum class QueryKeyNorm { none, per_head, whole };

struct Biases {
  bool queries_keys_values = false;
  bool attention_output = false;
  bool feed_forward = false;  // of experts too
  bool head = false;          // of the output head
  friend bool operator==(const Biases&, const Biases&) = default;
};

// Multi-head latent attention (MLA). head_width and kv_heads of the Transformer do not apply.
struct LatentAttention {
  std::int64_t query_rank = 0;   // 0: queries are not compressed
  std::int64_t kv_rank = 0;      // what a token caches, with the rotary part
  std::int64_t plain_width = 0;  // of a head's query and key, without rotation ("nope")
  std::int64_t rotary_width = 0;
  std::int64_t value_width = 0;
  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

struct Experts {
  std::int64_t count = 0;
  std::int64_t active = 0;        // of them, that one token is sent to (top-k)
  std::int64_t width = 0;         // feed-forward width of one
  std::int64_t shared_width = 0;  // of the experts that every token goes through, together
  LayerPattern layers{};          // those with experts; the others have a block of ffn_width
  bool router_bias = false;
  bool shared_gate = false;  // a learned gate on the shared experts (Qwen)
  friend bool operator==(const Experts&, const Experts&) = default;
};

// Layers that attend to near tokens alone: the last `window` of them (sliding), or those of the same chunk.
struct LocalAttention {
  std::int64_t window = 0;
  bool chunked = false;
  LayerPattern layers{};
  friend bool operator==(const LocalAttention&, const LocalAttention&) = default;
};

struct Transformer {
  std::int64_t layers = 0;
  std::int64_t width = 0;        // d_model
  std::int64_t heads = 0;        // query heads
  std::int64_t kv_heads = 0;     // key-value heads
  std::int64_t head_width = 0;   // of one head
  std::int64_t ffn_width = 0;    // of the feed-forward block; 0 where every layer has experts
  std::int64_t vocabulary = 0;   // padded
  bool tied_embeddings = false;  // the output head shares the input embedding's weights
  bool gated = true;             // SwiGLU or GeGLU, three matrices; else two
  Norm norm = Norm::rms;
  std::int64_t norms_a_layer = 2;  // 1 with attention and feed-forward in parallel, 4 with norms on both sides of each
  bool embedding_norm = false;     // one after the input embedding (BLOOM)
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  Biases biases{};
  bool attention_sinks = false;        // one learned score a head (gpt-oss)
  std::int64_t learned_positions = 0;  // vectors of width d
  bool relative_positions = false;     // a d x d matrix a layer (Transformer-XL)
  std::optional<LatentAttention> latent{};
  std::optional<Experts> experts{};
  std::optional<LocalAttention> local{};

  [[nodiscard]] bool has_experts(std::int64_t layer) const { return experts && experts->layers[layer]; }
  // Layers with a dense feed-forward block.
  [[nodiscard]] std::int64_t dense_layers() const { return layers - (experts ? experts->layers.count() : 0); }

  // Of all heads together: what a query, a value and the output projection's input are wide.
  [[nodiscard]] std::int64_t query_width() const {
    return heads * (latent ? latent->plain_width + latent->rotary_width : head_width);
  }
  [[nodiscard]] std::int64_t output_width() const { return heads * (latent ? latent->value_width : head_width); }
  // Values that one token keeps in one layer's cache.
  [[nodiscard]] std::int64_t cache_width() const {
    return latent ? latent->kv_rank + latent->rotary_width : 2 * kv_heads * head_width;
  }
  friend bool operator==(const Transformer&, const Transformer&) = default;
};

namespace detail {

inline void require_dimension(std::int64_t value, const char* what, std::int64_t least = 1) {
  if (value < least || value > 2147483647) {
    throw Error(
        Failure::usage, "out_of_range", "transformer",
        std::string(what) + " must be from " + std::to_string(least) + " to 2147483647, got " + std::to_string(value));
  }
}

inline void require_pattern(const LayerPattern& pattern, std::int64_t layers, const char* what) {
  if (pattern.size() != layers || pattern.count() == 0) {
    throw Error(Failure::usage, "bad_pattern", "transformer",
                std::string(what) + " must have one flag a layer, " + std::to_string(layers) +
                    ", and at least one that is set, got " + std::to_string(pattern.size()) + " with " +
                    std::to_string(pattern.count()) + " set");
  }
}

}  // namespace detail

// Throws Error(usage) unless every dimension is positive and below 2^31, there are at most 100,000 layers, kv_heads divides
// heads, patterns have a flag for each layer, and no more experts are active than there are.
inline void check(const Transformer& t) {
  using detail::require_dimension;
  require_dimension(t.layers, "layers");
  require_dimension(t.width, "width");
  require_dimension(t.heads, "heads");
  if (!t.latent) {
    require_dimension(t.kv_heads, "kv_heads");
    require_dimension(t.head_width, "head_width");
    if (t.heads % t.kv_heads != 0) {
      throw Error(Failure::usage, "does_not_divide", "transformer",
                  "kv_heads must divide heads, got " + std::to_string(t.kv_heads) + " and " + std::to_string(t.heads));
    }
  }
  require_dimension(t.ffn_width, "ffn_width", t.dense_layers() > 0 ? 1 : 0);
  require_dimension(t.vocabulary, "vocabulary");
  require_dimension(t.learned_positions, "learned_positions", 0);
  if (t.norms_a_layer < 0 || t.norms_a_layer > 8) {
    throw Error(Failure::usage, "out_of_range", "transformer",
                "norms_a_layer must be from 0 to 8, got " + std::to_string(t.norms_a_layer));
  }
  if (t.latent) {
    require_dimension(t.latent->query_rank, "query_rank", 0);
    require_dimension(t.latent->kv_rank, "kv_rank");
    require_dimension(t.latent->plain_width, "plain_width", 0);
    require_dimension(t.latent->rotary_width, "rotary_width", 0);
    require_dimension(t.latent->value_width, "value_width");
    require_dimension(t.latent->plain_width + t.latent->rotary_width, "plain_width + rotary_width");
  }
  if (t.experts) {
    require_dimension(t.experts->count, "experts");
    require_dimension(t.experts->active, "experts_active");
    require_dimension(t.experts->width, "expert_width");
    require_dimension(t.experts->shared_width, "shared_width", 0);
    if (t.experts->active > t.experts->count) {
      throw Error(Failure::usage, "out_of_range", "transformer",
                  "experts_active must be at most experts, got " + std::to_string(t.experts->active) + " of " +
                      std::to_string(t.experts->count));
    }
    detail::require_pattern(t.experts->layers, t.layers, "the layers with experts");
  }
  if (t.local) {
    require_dimension(t.local->window, "window");
    detail::require_pattern(t.local->layers, t.layers, "the layers with local attention");
  }
}

}  // namespace floplan::architecture
