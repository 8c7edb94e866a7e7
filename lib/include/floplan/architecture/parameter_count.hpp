// SPDX-License-Identifier: BSD-3-Clause
//
// How many parameters a transformer has, exactly, and which of them one token uses.
//
//   dense:  V d (1 if tied, else 2) + L (d h w + 2 d k w + h w d + m d f + norms) + d
//   MoE:    m d f becomes E m d f_e + d E + m d f_shared; a token uses k of the E
//   MLA:    the first three become d q + q + q h (n + r) + d (c + r) + c + c h (n + v), and h v d
//
//   L layers, d width, h heads of width w, k key-value heads, f feed-forward width, m = 3 gated or 2 plain, V vocabulary,
//   E experts; q and c the ranks of queries and cache, n, r, v the plain, rotary and value widths of a head.
//   Biases, norms of queries and keys, learned and relative positions, attention sinks are added where the shape has them.
//
// Sources: as transformer.hpp; the counts equal the stored checkpoints of tests/reference/model_totals.csv to the last digit.
// Pitfall: "active" counts in print differ on whether the input embedding is in (DeepSeek) or not (gpt-oss): both are here.
#pragma once

#include <cstdint>

#include "floplan/architecture/transformer.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::architecture {

struct ParameterCount {
  Parameters total;
  Parameters active;         // used by one token, with all embeddings; equal to total for a dense model
  Parameters embedding;      // input embedding and positions, and the output head when it has weights of its own
  Parameters non_embedding;  // total - embedding
  // What only looks up: positions, and the input embedding unless it is the output head too.
  Parameters input_embedding;

  [[nodiscard]] Parameters active_without_input_embedding() const { return active - input_embedding; }

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
  // Of what a law counts, the part that one token uses, which makes its FLOP; the same as as() for a dense model.
  [[nodiscard]] Parameters used(law::ParameterConvention convention) const {
    switch (convention) {
      case law::ParameterConvention::non_embedding: return active - embedding;
      case law::ParameterConvention::without_input_embedding: return active_without_input_embedding();
      case law::ParameterConvention::active:
      case law::ParameterConvention::total: break;
    }
    return active;
  }
};

// One layer's weights. Matrices multiply every token's vector; vectors (norms, biases, sinks) are added or scale.
struct LayerParameters {
  double attention = 0;     // matrices of queries, keys, values and output, relative positions
  double feed_forward = 0;  // matrices that one token uses: the dense block, or its experts and the shared ones
  double router = 0;        // matrix of the router and of the shared experts' gate
  double vectors = 0;       // norms, biases and sinks that one token uses
  double idle = 0;          // of experts that it is not sent to
  [[nodiscard]] double matrices() const { return attention + feed_forward + router; }
  [[nodiscard]] double active() const { return matrices() + vectors; }
  [[nodiscard]] double total() const { return active() + idle; }
};

namespace detail {

// Products of dimensions leave 64 bits, so they are taken as doubles, exact below 2^53.
[[nodiscard]] inline double norm_size(const Transformer& t) {
  const double width = static_cast<double>(t.width);
  return t.norm == Norm::none ? 0 : t.norm == Norm::layer ? 2 * width : width;
}

inline void add_attention(const Transformer& t, LayerParameters& out) {
  const double width = static_cast<double>(t.width);
  const double queries = static_cast<double>(t.query_width());
  const double output = static_cast<double>(t.output_width());
  const double keys = static_cast<double>(t.kv_heads * t.head_width);
  if (t.latent) {
    const double query_rank = static_cast<double>(t.latent->query_rank);
    const double kv_rank = static_cast<double>(t.latent->kv_rank);
    const double heads = static_cast<double>(t.heads);
    out.attention += query_rank > 0 ? width * query_rank + query_rank * queries : width * queries;
    out.attention += width * (kv_rank + static_cast<double>(t.latent->rotary_width));
    out.attention += kv_rank * heads * static_cast<double>(t.latent->plain_width + t.latent->value_width);
    out.vectors += query_rank + kv_rank;  // a norm of each
    if (t.biases.queries_keys_values)
      out.vectors += (query_rank > 0 ? query_rank : queries) + kv_rank + static_cast<double>(t.latent->rotary_width);
  } else {
    out.attention += width * (queries + 2 * keys);
    if (t.biases.queries_keys_values) out.vectors += queries + 2 * keys;
    if (t.query_key_norm == QueryKeyNorm::per_head) out.vectors += 2 * static_cast<double>(t.head_width);
    if (t.query_key_norm == QueryKeyNorm::whole) out.vectors += queries + keys;
  }
  out.attention += output * width;
  if (t.biases.attention_output) out.vectors += width;
  if (t.relative_positions) out.attention += width * width;
  if (t.attention_sinks) out.vectors += static_cast<double>(t.heads);
}

inline void add_feed_forward(const Transformer& t, bool with_experts, LayerParameters& out) {
  const double width = static_cast<double>(t.width);
  const double inner = t.gated ? 2 : 1;  // matrices into the block, one leads out
  const auto matrices = [&](std::int64_t ffn) { return (inner + 1) * width * static_cast<double>(ffn); };
  const auto vectors = [&](std::int64_t ffn) {
    return t.biases.feed_forward ? inner * static_cast<double>(ffn) + width : 0.0;
  };
  if (!with_experts) {
    out.feed_forward += matrices(t.ffn_width);
    out.vectors += vectors(t.ffn_width);
    return;
  }
  const Experts& e = *t.experts;
  const double active = static_cast<double>(e.active);
  out.feed_forward += active * matrices(e.width);
  out.vectors += active * vectors(e.width);
  out.idle += static_cast<double>(e.count - e.active) * (matrices(e.width) + vectors(e.width));
  if (e.shared_width > 0) {
    out.feed_forward += matrices(e.shared_width);
    out.vectors += vectors(e.shared_width);
    if (e.shared_gate) out.router += width;
  }
  out.router += width * static_cast<double>(e.count);
  if (e.router_bias) out.vectors += static_cast<double>(e.count);
}

}  // namespace detail

// Of a layer with experts, or with a dense block. t must have passed check().
[[nodiscard]] inline LayerParameters layer_parameters(const Transformer& t, bool with_experts) {
  LayerParameters out;
  detail::add_attention(t, out);
  detail::add_feed_forward(t, with_experts, out);
  out.vectors += static_cast<double>(t.norms_a_layer) * detail::norm_size(t);
  return out;
}

// Of all layers together.
[[nodiscard]] inline LayerParameters all_layers(const Transformer& t) {
  LayerParameters out;
  const auto add = [&](bool with_experts, std::int64_t times) {
    if (times == 0) return;
    const LayerParameters one = layer_parameters(t, with_experts);
    const double n = static_cast<double>(times);
    out.attention += n * one.attention;
    out.feed_forward += n * one.feed_forward;
    out.router += n * one.router;
    out.vectors += n * one.vectors;
    out.idle += n * one.idle;
  };
  add(false, t.dense_layers());
  add(true, t.layers - t.dense_layers());
  return out;
}

// One table of the vocabulary: the input embedding, and the weights of the output head.
[[nodiscard]] inline double vocabulary_table(const Transformer& t) {
  return static_cast<double>(t.vocabulary) * static_cast<double>(t.width);
}

// Exact while the total stays below 2^53 (9e15). Throws as check() does.
[[nodiscard]] inline ParameterCount parameter_count(const Transformer& t) {
  check(t);
  const LayerParameters layers = all_layers(t);
  const double table = vocabulary_table(t);
  const double positions = static_cast<double>(t.learned_positions) * static_cast<double>(t.width);
  const double embedding = table * (t.tied_embeddings ? 1 : 2) + positions;
  double around = detail::norm_size(t) * (t.embedding_norm ? 2 : 1);
  if (t.biases.head) around += static_cast<double>(t.vocabulary);
  return {Parameters(layers.total() + around + embedding), Parameters(layers.active() + around + embedding),
          Parameters(embedding), Parameters(layers.total() + around),
          Parameters(positions + (t.tied_embeddings ? 0 : table))};
}

}  // namespace floplan::architecture
