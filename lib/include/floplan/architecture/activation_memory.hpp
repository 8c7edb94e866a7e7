// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of activations that one microbatch leaves on one accelerator in one layer, in the embedding and in the head.
//
//   GPT with dropout, attention scores stored:   s b h (10 + 24/t + 5 a s / (h t));  with sequence parallelism all of it / t
//   scores recomputed, or never stored (fused):  s b h 34 / t
//   layers recomputed:                           2 s b h;  with sequence parallelism / t
//
//   s tokens of b sequences, h width, a heads, t tensor parallel ranks; at 2 bytes a value and 1 a dropout mask. Each term
//   is taken from the real widths: a token keeps the inputs of attention, feed-forward block and norms (h each, whole on
//   each rank unless sequence parallel), queries, keys, values and the output projection's input, 2 f of a plain and 3 f of
//   a gated block (all / t), and dropout's masks. Context parallelism keeps s / cp. Latent attention adds its compressed
//   queries, keys and values before and after their norms. With experts a token keeps k copies on the way in and out, k
//   expert blocks, the shared ones and the router's E probabilities (4 bytes); expert_imbalance times for the copies.
//
// Source: Korthikanti 2022 (arXiv 2205.05198, equations 1-6 and section 4.3); sequence parallelism of latents as Megatron's.
// Holds: what autograd keeps between forward and backward. Not: workspaces, communication buffers, fragmentation, the log-
// sum-exp of a fused kernel (4 a bytes a token). A materialised kernel stores the whole square, within a window too.
// Pitfall: fused attention makes selective recomputation free of memory effect; and full recomputation still needs one
// layer's activations at a time (recomputed below).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "floplan/architecture/layout.hpp"
#include "floplan/architecture/stage_parameters.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/error.hpp"

namespace floplan::architecture {

// Whether attention stores its scores (softmax, dropout and its mask) or computes them again tile by tile.
enum class AttentionKernel { fused, materialised };

struct ActivationOptions {
  std::int64_t sequence_length = 8192;
  std::int64_t microbatch = 1;    // sequences
  bool sequence_parallel = true;  // no effect without tensor parallelism
  Recompute recompute = Recompute::none;
  AttentionKernel attention = AttentionKernel::fused;
  bool dropout = false;         // behind attention, feed-forward block and embedding; of scores where they are stored
  double bytes_per_value = 2;   // BF16; normed, projected and stored values
  double expert_imbalance = 1;  // token copies on the busiest rank over the mean
};

// Bytes, of one layer and one microbatch.
struct LayerActivations {
  double attention = 0;     // its input, queries, keys, values, and the output projection's input
  double scores = 0;        // softmax, its dropout and mask; of a materialised kernel
  double feed_forward = 0;  // input and inner values of the dense block or of shared experts; the router
  double routed = 0;        // of copies that go to routed experts
  double norms = 0;         // their inputs
  double dropout = 0;       // masks behind attention and feed-forward block
  double layer_input = 0;   // where the whole layer is recomputed, all that it keeps
  [[nodiscard]] double total() const {
    return attention + scores + feed_forward + routed + norms + dropout + layer_input;
  }
  LayerActivations& add(const LayerActivations& other, double times) {
    attention += times * other.attention;
    scores += times * other.scores;
    feed_forward += times * other.feed_forward;
    routed += times * other.routed;
    norms += times * other.norms;
    dropout += times * other.dropout;
    layer_input += times * other.layer_input;
    return *this;
  }
};

class ActivationMemory {
 public:
  // Throws Error(usage) for a number out of range, Error(infeasible) where the sequence cannot be cut. t and layout must
  // have passed check() and check_layout().
  ActivationMemory(const Transformer& t, const Layout& layout, const ActivationOptions& options) {
    check_options(t, layout, options);
    const double tensor = static_cast<double>(layout.tensor);
    const double value = options.bytes_per_value;
    const double width = static_cast<double>(t.width);
    const double tokens =
        static_cast<double>(options.microbatch) * static_cast<double>(options.sequence_length / layout.context);
    const double whole = options.sequence_parallel ? tokens / tensor : tokens;  // of values as wide as the model
    const double mask = options.dropout ? whole * width : 0;
    embedding_ = mask + (t.embedding_norm ? whole * width * value : 0);
    head_ = whole * width * value * (t.norm == Norm::none ? 1 : 2) +
            4 * tokens * static_cast<double>((t.vocabulary + layout.tensor - 1) / layout.tensor);

    LayerActivations every;
    every.attention = whole * (width + latents(t)) * value + tokens * heads_width(t, layout.tensor) * value;
    if (options.attention == AttentionKernel::materialised) {
      const double cell = value + (options.dropout ? value + 1 : 0);
      every.scores =
          cell * tokens * static_cast<double>(options.sequence_length) * static_cast<double>(t.heads) / tensor;
    }
    every.norms = t.norm == Norm::none ? 0 : static_cast<double>(t.norms_a_layer) * whole * width * value;
    every.dropout = 2 * mask;
    // With one norm a layer, attention and block read the same input, which is counted above.
    const double input = t.norms_a_layer == 1 ? 0 : whole * width * value;
    const double inner = t.gated ? 3 : 2;
    LayerActivations dense = every;
    dense.feed_forward = input + tokens * inner * static_cast<double>(t.ffn_width) / tensor * value;
    settle(dense, options.recompute, whole * width * value, dense_, dense_recomputed_);
    if (!t.experts) return;
    const Experts& e = *t.experts;
    LayerActivations expert = every;
    expert.feed_forward = input + tokens * inner * static_cast<double>(e.shared_width) / tensor * value +
                          4 * whole * static_cast<double>(e.count);
    const double copies = whole * static_cast<double>(e.active) * options.expert_imbalance;
    expert.routed = copies * (2 * width + inner * static_cast<double>(e.width)) * value;
    settle(expert, options.recompute, whole * width * value, expert_, expert_recomputed_);
  }

  [[nodiscard]] const LayerActivations& dense_layer() const { return dense_; }
  [[nodiscard]] const LayerActivations& expert_layer() const { return expert_; }
  // What the backward pass of one layer computes again, held beside what was kept.
  [[nodiscard]] double dense_layer_recomputed() const { return dense_recomputed_; }
  [[nodiscard]] double expert_layer_recomputed() const { return expert_recomputed_; }
  // Dropout's mask, and the input of a norm behind the embedding.
  [[nodiscard]] double embedding() const { return embedding_; }
  // Inputs of the last norm and of the head, and its logits in FP32.
  [[nodiscard]] double head() const { return head_; }

 private:
  static void check_options(const Transformer& t, const Layout& layout, const ActivationOptions& o) {
    const auto whole = [](std::int64_t value, const char* what) {
      if (value >= 1 && value <= 2147483647) return;
      throw Error(Failure::usage, "out_of_range", "activation_memory",
                  std::string(what) + " must be from 1 to 2147483647, got " + std::to_string(value));
    };
    const auto positive = [](double value, double least, const char* rule) {
      if (value >= least && value <= 1e6) return;
      throw Error(Failure::usage, "out_of_range", "activation_memory",
                  std::string(rule) + ", got " + std::to_string(value));
    };
    whole(o.sequence_length, "sequence length");
    whole(o.microbatch, "microbatch");
    positive(o.bytes_per_value, 1e-6, "bytes per value must be positive and at most 1e6");
    positive(o.expert_imbalance, 1, "expert imbalance must be from 1 to 1e6");
    const bool cut = o.sequence_parallel && layout.tensor > 1;
    const std::int64_t parts = layout.context * (cut ? layout.tensor : 1);
    if (o.sequence_length % parts != 0) {
      throw Error(Failure::infeasible, "does_not_divide", "activation_memory",
                  std::string(cut ? "context x tensor, with sequence parallelism," : "context") +
                      " must divide the sequence length, got " + std::to_string(parts) + " and " +
                      std::to_string(o.sequence_length));
    }
    if (t.experts && layout.tensor > 1 && !o.sequence_parallel) {
      throw Error(Failure::infeasible, "needs_sequence_parallelism", "activation_memory",
                  "experts with tensor parallelism must have sequence parallelism, got tensor " +
                      std::to_string(layout.tensor) + " without it");
    }
  }

  // Values a token that lie between the projections, whose width the heads of one rank make.
  [[nodiscard]] static double heads_width(const Transformer& t, std::int64_t tensor) {
    const double ranks = static_cast<double>(tensor);
    const double queries = static_cast<double>(t.query_width()) / ranks;
    const double output = static_cast<double>(t.output_width()) / ranks;
    if (t.latent) return 2 * queries + 2 * output;  // queries and keys, values and what attention makes of them
    const double keys = kv_heads_per_rank(t, tensor) * static_cast<double>(t.head_width);
    const double normed = t.query_key_norm == QueryKeyNorm::none ? 0 : queries + keys;
    return queries + 2 * keys + output + normed;
  }
  // Values a token of compressed queries, keys and values, before their norms and after.
  [[nodiscard]] static double latents(const Transformer& t) {
    if (!t.latent) return 0;
    return static_cast<double>(2 * t.latent->query_rank + 2 * t.latent->kv_rank + t.latent->rotary_width);
  }

  static void settle(const LayerActivations& all, Recompute recompute, double input, LayerActivations& kept,
                     double& recomputed) {
    kept = all;
    if (recompute == Recompute::selective) {
      kept.scores = 0;
      recomputed = all.scores;
    } else if (recompute == Recompute::full) {
      kept = {};
      kept.layer_input = input;
      recomputed = std::max(0.0, all.total() - input);
    }
  }

  LayerActivations dense_, expert_;
  double dense_recomputed_ = 0, expert_recomputed_ = 0;
  double embedding_ = 0, head_ = 0;
};

}  // namespace floplan::architecture
