// SPDX-License-Identifier: BSD-3-Clause
//
// FLOP that training spends on one token, forward and backward, by the convention that counts it.
//
//   six_n     6 N                              Kaplan 2020; attention scores not counted
//   causal    6 N + 6 sum(a k)                 only the scores that a causal mask keeps (Llama 3, NVIDIA, MaxText)
//   full      6 N + 12 sum(a K)                the whole square: the MFU of PaLM (arXiv 2204.02311, appendix B)
//   megatron  6 M + 6 sum(a k)                 matrix products alone, as Megatron-LM counts them
//
//   N parameters that a token uses (all embeddings in), M those of them that multiply (layers' matrices and output head:
//   no input embedding, norm, bias or router), the sums over layers, a = heads x head_width (MLA: the mean of key and value
//   widths), K the tokens that a layer attends to (the sequence, or its window or chunk), k = K, or 2K - K^2/s in a sliding
//   window, so that a layer of global attention adds 6 a s or 12 a s. A forward pass is a third of each.
//
// Recomputation is work of the hardware and never of the model: recomputed_flop_per_token adds it (HFU).
// Pitfall: an MFU means nothing without its convention: at 32,768 tokens a 7B model's differ by a factor of 2.2.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "floplan/architecture/layout.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::architecture {

using law::FlopConvention;

struct TrainingFlopPerToken {
  FlopPerToken six_n;
  FlopPerToken causal;
  FlopPerToken full;
  FlopPerToken megatron;

  [[nodiscard]] FlopPerToken by(FlopConvention convention) const {
    switch (convention) {
      case FlopConvention::causal: return causal;
      case FlopConvention::full: return full;
      case FlopConvention::six_n: break;
    }
    return six_n;
  }
};

namespace detail {

inline void require_sequence(Tokens sequence_length) {
  if (!(sequence_length.value >= 1) || !std::isfinite(sequence_length.value)) {
    throw Error(Failure::usage, "out_of_range", "training_flop_per_token",
                "sequence length must be at least 1 token and finite, got " + print(sequence_length));
  }
}

// Score multiplications a token, forward: 2 for the scores and 2 for the values of each attended token and unit of width.
struct ScoreFlop {
  double causal = 0;
  double full = 0;
};

[[nodiscard]] inline ScoreFlop forward_scores(const Transformer& t, double sequence) {
  const double local = static_cast<double>(t.local ? t.local->layers.count() : 0);
  const double global = static_cast<double>(t.layers) - local;
  const double window = t.local ? std::min(sequence, static_cast<double>(t.local->window)) : 0;
  // Under the mask a token sees half its sequence or chunk; of a sliding window, all but what the beginning lacks.
  const bool chunked = t.local && t.local->chunked;
  const double seen = chunked ? window / 2 : window - window * window / (2 * sequence);
  const double per_token = 2 * static_cast<double>(t.query_width() + t.output_width());
  return {per_token * (global * sequence / 2 + local * seen), per_token * (global * sequence + local * window)};
}

}  // namespace detail

// sequence_length: tokens, finite and at least 1; it may be an average over stages and so need not be whole.
[[nodiscard]] inline TrainingFlopPerToken training_flop_per_token(const Transformer& t, Tokens sequence_length) {
  detail::require_sequence(sequence_length);
  const double six_n = 6 * parameter_count(t).active.value;
  const detail::ScoreFlop scores = detail::forward_scores(t, sequence_length.value);
  const LayerParameters layers = all_layers(t);
  const double multiplied = layers.attention + layers.feed_forward + vocabulary_table(t);
  return {FlopPerToken(six_n), FlopPerToken(six_n + 3 * scores.causal), FlopPerToken(six_n + 3 * scores.full),
          FlopPerToken(6 * multiplied + 3 * scores.causal)};
}

// As a law counts: 6 times the parameters of its kind that a token uses, and the scores of its convention. Where a law
// leaves out embeddings and counts scores it counts matrix products alone, without norms and biases: 72 L d^2 + 12 L d s for
// d x d attention and feed-forward blocks of 8 d^2, the M of DeepSeek LLM 2024 (arXiv 2401.02954, equation 2).
[[nodiscard]] inline FlopPerToken training_flop_per_token(const Transformer& t, Tokens sequence_length,
                                                          law::ParameterConvention counted, FlopConvention convention) {
  detail::require_sequence(sequence_length);
  const double used = parameter_count(t).used(counted).value;
  if (convention == FlopConvention::six_n) return FlopPerToken(6 * used);
  const detail::ScoreFlop scores = detail::forward_scores(t, sequence_length.value);
  const double multiplied = counted == law::ParameterConvention::non_embedding ? all_layers(t).matrices() : used;
  return FlopPerToken(6 * multiplied + 3 * (convention == FlopConvention::full ? scores.full : scores.causal));
}

// What recomputation adds to a token's FLOP, its scores counted causal or full (six_n counts none).
// Korthikanti 2022 (arXiv 2205.05198) prints hardware FLOP that double the whole core under selective recomputation, forward
// and backward; only its forward pass is done again, a third of that, and no more is added here.
[[nodiscard]] inline FlopPerToken recomputed_flop_per_token(const Transformer& t, Tokens sequence_length,
                                                            Recompute recompute, FlopConvention convention) {
  check(t);
  detail::require_sequence(sequence_length);
  if (recompute == Recompute::none) return FlopPerToken(0);
  const detail::ScoreFlop scores = detail::forward_scores(t, sequence_length.value);
  const double core = convention == FlopConvention::causal ? scores.causal
                      : convention == FlopConvention::full ? scores.full
                                                           : 0;
  return FlopPerToken(core + (recompute == Recompute::full ? 2 * all_layers(t).matrices() : 0));
}

}  // namespace floplan::architecture
