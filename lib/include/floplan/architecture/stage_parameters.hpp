// SPDX-License-Identifier: BSD-3-Clause
//
// How many parameters one accelerator holds of each pipeline stage, before data parallel ranks share anything.
//
//   layer   (d h w + 2 d k' w t + h w d + m d f) / t + norms          k' = k / t key-value heads, or 1 where t > k
//   expert  E / EP experts / ETP + d E router + shared experts / t
//   first   ceil(V / t) d + positions            last   ceil(V / t) d + the last norm
//
//   The symbols of parameter_count.hpp, t tensor parallel ranks. Norms, biases of row-parallel matrices, routers, learned
//   positions and the two down-projections of latent attention are whole on each rank. Tied embeddings are on the first
//   stage and, where that is another, on the last.
//
// Experts follow Megatron-LM's folded parallelism: EP x ETP divides tensor x context x data, and each part of an expert has
// tensor x context x data / (EP ETP) replicas ("expert data parallel"); all other parameters have context x data. ETP is TP
// without expert parallelism, and 1 with it, unless the layout says otherwise.
// Sources: Shoeybi 2019 (arXiv 1909.08053, section 3); Narayanan 2021 (2104.04473); Megatron-LM's parallel_state.
// Pitfall: tensor parallelism beyond the key-value heads no longer cuts keys and values: the sum over ranks then exceeds
// the model.
#pragma once

#include <cstdint>
#include <numeric>
#include <string>

#include "floplan/architecture/layout.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "floplan/architecture/pipeline_stages.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/error.hpp"

namespace floplan::architecture {

// Throws Error(usage) for a degree below 1 and Error(infeasible) where the layout cannot cut the transformer: tensor must
// divide heads and feed-forward widths and divide, or be a multiple of, kv_heads; expert must divide the experts and
// tensor x context x data. The pipeline's own rule is PipelineStages'. t must have passed check().
inline void check_layout(const Transformer& t, const Layout& layout) {
  const auto require = [](std::int64_t degree, const char* what) {
    if (degree >= 1 && degree <= 10'000'000) return;
    throw Error(Failure::usage, "out_of_range", "layout",
                std::string(what) + " must be from 1 to 10000000, got " + std::to_string(degree));
  };
  require(layout.tensor, "tensor");
  require(layout.context, "context");
  require(layout.pipeline, "pipeline");
  require(layout.data, "data");
  require(layout.expert, "expert");
  require(layout.interleave, "interleave");
  if (layout.expert_tensor != 0) require(layout.expert_tensor, "expert_tensor");
  const auto cannot = [](const std::string& rule) {
    throw Error(Failure::infeasible, "does_not_divide", "layout", rule);
  };
  const auto divides = [&](const char* degree, std::int64_t divisor, const char* what, std::int64_t value) {
    if (value % divisor == 0) return;
    cannot(std::string(degree) + " must divide " + what + ", got " + std::to_string(divisor) + " and " +
           std::to_string(value));
  };
  divides("tensor", layout.tensor, "heads", t.heads);
  if (!t.latent && t.kv_heads % layout.tensor != 0 && layout.tensor % t.kv_heads != 0) {
    cannot("tensor must divide kv_heads or be a multiple of them, got " + std::to_string(layout.tensor) + " and " +
           std::to_string(t.kv_heads));
  }
  if (t.ffn_width > 0) divides("tensor", layout.tensor, "ffn_width", t.ffn_width);
  if (!t.experts) {
    if (layout.expert > 1) cannot("expert must be 1 for a model without experts, got " + std::to_string(layout.expert));
    return;
  }
  divides("tensor", layout.tensor, "shared_width", t.experts->shared_width);
  divides("expert", layout.expert, "experts", t.experts->count);
  divides("expert_tensor", layout.expert_tensor_ranks(), "the expert width", t.experts->width);
  // Factor by factor, as the product of all degrees may leave 64 bits.
  std::int64_t left = layout.expert * layout.expert_tensor_ranks();
  for (const std::int64_t degree : {layout.tensor, layout.context, layout.data}) left /= std::gcd(left, degree);
  if (left != 1) {
    const std::int64_t each = layout.expert_tensor_ranks();
    cannot((each == 1
                ? "expert must divide tensor x context x data, got "
                : "expert x expert_tensor must divide tensor x context x data, got " + std::to_string(each) + " x ") +
           std::to_string(layout.expert) + " and " + std::to_string(layout.tensor) + " x " +
           std::to_string(layout.context) + " x " + std::to_string(layout.data));
  }
}

// Kept apart, as their replicas differ in number.
struct ParameterShare {
  double common = 0;   // all but routed experts
  double experts = 0;  // routed experts
  [[nodiscard]] double total() const { return common + experts; }
};

// Of one accelerator.
struct StageParameters {
  ParameterShare layers;
  double embedding = 0;  // table, positions and the norm behind them
  double head = 0;       // last norm, and the table where it is not the embedding's
  [[nodiscard]] ParameterShare all() const { return {layers.common + embedding + head, layers.experts}; }
};

// Key-value heads of one tensor parallel rank.
[[nodiscard]] inline double kv_heads_per_rank(const Transformer& t, std::int64_t tensor) {
  return t.kv_heads > tensor ? static_cast<double>(t.kv_heads / tensor) : 1;
}

class ParameterShards {
 public:
  // t and layout must have passed check() and check_layout().
  ParameterShards(const Transformer& t, const Layout& layout) : tensor_(static_cast<double>(layout.tensor)) {
    double common = attention(t, layout.tensor) + static_cast<double>(t.norms_a_layer) * detail::norm_size(t);
    if (t.dense_layers() > 0) dense_layer_.common = common + block(t, t.ffn_width, tensor_);
    if (t.experts) {
      const Experts& e = *t.experts;
      common += static_cast<double>(t.width) * static_cast<double>(e.count);
      if (e.router_bias) common += static_cast<double>(e.count);
      if (e.shared_width > 0) {
        common += block(t, e.shared_width, tensor_);
        if (e.shared_gate) common += static_cast<double>(t.width);
      }
      expert_layer_ = {common, static_cast<double>(e.count / layout.expert) *
                                   block(t, e.width, static_cast<double>(layout.expert_tensor_ranks()))};
    }
    const std::int64_t rows = (t.vocabulary + layout.tensor - 1) / layout.tensor;
    table_ = static_cast<double>(rows) * static_cast<double>(t.width);
    embedding_ = table_ + static_cast<double>(t.learned_positions) * static_cast<double>(t.width) +
                 (t.embedding_norm ? detail::norm_size(t) : 0);
    head_ = detail::norm_size(t) + (t.biases.head ? static_cast<double>(rows) : 0);
    tied_ = t.tied_embeddings;
  }

  [[nodiscard]] const ParameterShare& dense_layer() const { return dense_layer_; }
  [[nodiscard]] const ParameterShare& expert_layer() const { return expert_layer_; }

  [[nodiscard]] StageParameters of(const PipelineStage& stage) const {
    const double dense = static_cast<double>(stage.dense_layers);
    const double expert = static_cast<double>(stage.expert_layers);
    StageParameters out;
    out.layers = {dense * dense_layer_.common + expert * expert_layer_.common, expert * expert_layer_.experts};
    if (stage.embedding) out.embedding = embedding_;
    if (stage.head) out.head = head_ + (tied_ && stage.embedding ? 0 : table_);
    return out;
  }

 private:
  [[nodiscard]] static double attention(const Transformer& t, std::int64_t tensor) {
    const double ranks = static_cast<double>(tensor);
    const double width = static_cast<double>(t.width);
    const double queries = static_cast<double>(t.query_width()) / ranks;
    double out = static_cast<double>(t.output_width()) / ranks * width;
    if (t.latent) {
      const double query_rank = static_cast<double>(t.latent->query_rank);
      const double kv_rank = static_cast<double>(t.latent->kv_rank);
      const double rotary = static_cast<double>(t.latent->rotary_width);
      const double heads = static_cast<double>(t.heads) / ranks;
      out += query_rank > 0 ? width * query_rank + query_rank * queries : width * queries;
      out += width * (kv_rank + rotary);
      out += kv_rank * heads * static_cast<double>(t.latent->plain_width + t.latent->value_width);
      out += query_rank + kv_rank;  // a norm of each
      if (t.biases.queries_keys_values) out += (query_rank > 0 ? query_rank : queries) + kv_rank + rotary;
    } else {
      const double keys = kv_heads_per_rank(t, tensor) * static_cast<double>(t.head_width);
      out += width * (queries + 2 * keys);
      if (t.biases.queries_keys_values) out += queries + 2 * keys;
      if (t.query_key_norm == QueryKeyNorm::per_head) out += 2 * static_cast<double>(t.head_width);
      if (t.query_key_norm == QueryKeyNorm::whole) out += queries + keys;
    }
    if (t.biases.attention_output) out += width;
    if (t.relative_positions) out += width * width / ranks;
    if (t.attention_sinks) out += static_cast<double>(t.heads) / ranks;
    return out;
  }

  // A feed-forward block over `ranks`; the bias of its output is whole on each.
  [[nodiscard]] static double block(const Transformer& t, std::int64_t ffn, double ranks) {
    const double width = static_cast<double>(t.width);
    const double inner = t.gated ? 2 : 1;
    const double cut = static_cast<double>(ffn) / ranks;
    return (inner + 1) * width * cut + (t.biases.feed_forward ? inner * cut + width : 0);
  }

  double tensor_ = 1;
  ParameterShare dense_layer_, expert_layer_;
  double table_ = 0, embedding_ = 0, head_ = 0;
  bool tied_ = false;
};

}  // namespace floplan::architecture
