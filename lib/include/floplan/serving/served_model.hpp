// SPDX-License-Identifier: BSD-3-Clause
//
// A model as an inference engine meets it: how many elements of each kind of weight, how wide its cache, its attention.
//
//   const ServedModel m = served_model(catalog.model("llama-3.1-405b").shape);       once; evaluations read it
//
//   attention     projections of queries, keys, values and output, over all layers
//   feed_forward  dense blocks, and what one token always uses of layers with experts (shared experts, router)
//   experts       all experts of all layers: memory holds every one, a step reads those that its tokens are sent to
//   tables        embeddings and output head, and other: norms and biases; both stay in 16 bits in 8-bit checkpoints
//
// Source: parameter_count.hpp, whose total these add up to. MLA is served in its absorbed form: decoding multiplies each
// head's query with the latent cache itself, 2 h (2 c + r) FLOP a layer and cached token (DeepSeek-V2, arXiv 2405.04434).
// Pitfall: grouped queries shrink the cache and never the scores: their FLOP follow the query heads.
#pragma once

#include "floplan/architecture/parameter_count.hpp"
#include "floplan/architecture/transformer.hpp"

namespace floplan::serving {

struct ServedModel {
  double layers = 0;
  double width = 0;
  double heads = 0;
  double kv_heads = 0;  // 1 where the cache is one latent
  double vocabulary = 0;

  double attention = 0, feed_forward = 0, experts = 0, tables = 0, other = 0;  // elements
  double head = 0;                                                             // of the output head, tied or not

  double expert_layers = 0;
  double expert_count = 0;
  double expert_active = 0;  // a token
  double expert_width = 0;
  double expert_elements = 0;  // of one expert

  double inner_width = 0;         // of dense blocks, summed over their layers
  double inner_traffic = 11;      // values a token and unit of inner width that separate kernels read and write
  double projection_width = 0;    // of queries and keys: each is turned, written and read
  double score_width = 0;         // query and output width: 2 FLOP each for a token and attended token
  double cache_width = 0;         // values a token and layer
  double latent_width = 0;        // of a query against the latent cache and back; 0 without one
  double global_layers = 0;       // that attend to the whole context
  double window = 0;              // of the others
  double reductions_a_layer = 2;  // all-reduces that tensor parallelism needs

  [[nodiscard]] double local_layers() const { return layers - global_layers; }
  [[nodiscard]] bool has_experts() const { return expert_layers > 0; }
  [[nodiscard]] bool latent() const { return latent_width > 0; }
  [[nodiscard]] double total() const { return attention + feed_forward + experts + tables + other; }
};

// Throws as check(Transformer) does.
[[nodiscard]] inline ServedModel served_model(const architecture::Transformer& t) {
  const architecture::ParameterCount count = architecture::parameter_count(t);
  const architecture::LayerParameters all = architecture::all_layers(t);
  ServedModel m;
  m.layers = static_cast<double>(t.layers);
  m.width = static_cast<double>(t.width);
  m.heads = static_cast<double>(t.heads);
  m.kv_heads = t.latent ? 1 : static_cast<double>(t.kv_heads);
  m.vocabulary = static_cast<double>(t.vocabulary);
  m.attention = all.attention;
  m.tables = count.embedding.value;
  m.head = architecture::vocabulary_table(t);
  m.feed_forward = all.feed_forward + all.router;
  if (t.experts) {
    const double matrices = t.gated ? 3 : 2;
    m.expert_layers = static_cast<double>(t.experts->layers.count());
    m.expert_count = static_cast<double>(t.experts->count);
    m.expert_active = static_cast<double>(t.experts->active);
    m.expert_width = static_cast<double>(t.experts->width);
    m.expert_elements = matrices * m.width * m.expert_width;
    m.experts = m.expert_layers * m.expert_count * m.expert_elements;
    m.feed_forward -= m.expert_layers * m.expert_active * m.expert_elements;
    m.inner_width = m.expert_layers * static_cast<double>(t.experts->shared_width);
  }
  m.other = count.total.value - m.attention - m.feed_forward - m.experts - m.tables;
  m.inner_width += static_cast<double>(t.dense_layers()) * static_cast<double>(t.ffn_width);
  m.inner_traffic = t.gated ? 11 : 6;
  m.score_width = static_cast<double>(t.query_width() + t.output_width());
  m.cache_width = static_cast<double>(t.cache_width());
  m.projection_width = static_cast<double>(t.query_width()) + m.cache_width / 2;
  if (t.latent) {
    m.latent_width = m.heads * static_cast<double>(2 * t.latent->kv_rank + t.latent->rotary_width);
  }
  m.global_layers = m.layers - static_cast<double>(t.local ? t.local->layers.count() : 0);
  m.window = t.local ? static_cast<double>(t.local->window) : 0;
  m.reductions_a_layer = t.norms_a_layer == 1 ? 1 : 2;
  return m;
}

}  // namespace floplan::serving
