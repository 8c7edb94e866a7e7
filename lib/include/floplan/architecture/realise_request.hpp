// SPDX-License-Identifier: BSD-3-Clause
//
// What is asked of realise(): how many parameters, what is decided already, and which cuts must come out even.
//
//   RealiseRequest r{.target = Parameters(405e9)};
//   r.given = {.kv_heads = 8, .head_width = 128, .vocabulary = 128256};    a dimension that is not 0 is decided
//   r.ffn_ratio = 3.25;  r.layout.pipeline = 16;  r.embedding_and_head_slots = true;
//
// What is left at 0 is taken from published practice (with_defaults below):
//   aspect        width / layers = 128: GPT-3 128, Llama 3 128 and 102; a loss hardly tells 30 from 200 (Kaplan 2020,
//                 arXiv 2001.08361, section 3.1 and figure 5)
//   ffn_ratio     4 of a plain block; 8/3 of a gated one (Shazeer 2020, 2002.05202: as many weights as the plain one); 3.5 of
//                 a gated one under grouped attention, which saves about as much (Llama 3 8B and 70B)
//   both          of a dense model with grouped attention from 2e11 parameters on as in Llama 3 405B: 130 and 3.25
//   head_width    64 up to a width of 2048, 128 above (GPT-2 and Llama 3.2 1B; Llama 3)
//   kv_heads      8 (Llama 2 70B, Llama 3, Mistral), all heads where there are fewer, 6 where TP is 3 or 6
//   vocabulary    128256 from 1e9 parameters on (Llama 3), 32000 below (Llama 2): a larger one would be most of the model
// With experts, ffn_ratio is of all that one token goes through: (active + shared) x expert width / width. It is 2.57 for
// DeepSeek-V3, 3 for Qwen3's and 7 for Mixtral; 8/3 where it is not given. Their dense layers get a block of that width.
// Pitfall: the parts of `given` (norms, biases, gating, tying) are always as they stand there; only dimensions are sought.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "floplan/architecture/layout.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::architecture {

struct RealiseRequest {
  Parameters target;
  law::ParameterConvention count = law::ParameterConvention::total;  // which count is to meet the target
  Transformer given{};            // experts: count and active must be given, their layers must not
  std::int64_t heads_per_kv = 0;  // instead of a number of kv_heads: 1 is multi-head attention
  double aspect = 0;              // width / layers
  double ffn_ratio = 0;           // feed-forward width / width

  std::int64_t width_multiple = 0;        // 128 up to a width of 4096, 512 above
  std::int64_t ffn_multiple = 0;          // 256, or 128 of an expert; 64 where the width is at most 2048
  std::int64_t vocabulary_multiple = 64;  // the vocabulary is padded up to it, and to a multiple of TP

  std::int64_t shared_experts = 0;      // each as wide as the others
  std::int64_t first_dense_layers = 0;  // before those with experts
  std::int64_t expert_period = 1;       // the last of so many layers has experts

  // TP must divide heads, feed-forward width and vocabulary (and divide or be a multiple of the key-value heads); pipeline
  // ranks x chunks must divide the layers; EP the experts. Context and data are not looked at.
  Layout layout{};
  bool embedding_and_head_slots = false;  // each takes the place of a layer in the pipeline (Llama 3 405B)

  double tolerance = 0.01;  // gaps up to this are as good as none
  double freedom = 0.25;    // how far the feed-forward width may leave its ratio to come near the target
  std::size_t proposals = 5;
};

namespace detail {

inline constexpr std::int64_t narrow_width = 2048;

[[nodiscard]] inline Error realise_refusal(Failure failure, const char* code, const std::string& rule) {
  return Error(failure, code, "realise", rule);
}

inline void require_number(double value, double low, double high, const char* what) {
  if (!(value >= low && value <= high)) {
    throw realise_refusal(Failure::usage, "out_of_range",
                          std::string(what) + " must be from " + print_number(low) + " to " + print_number(high) +
                              ", got " + print_number(value));
  }
}
inline void require_whole(std::int64_t value, std::int64_t low, const char* what) {
  if (value < low || value > 1'000'000) {
    throw realise_refusal(
        Failure::usage, "out_of_range",
        std::string(what) + " must be from " + std::to_string(low) + " to 1000000, got " + std::to_string(value));
  }
}

inline void require_given(const RealiseRequest& r) {
  const Transformer& t = r.given;
  const auto refuse = [](const char* code, const std::string& rule) {
    throw realise_refusal(Failure::usage, code, rule);
  };
  const struct {
    std::int64_t value;
    const char* name;
  } dimensions[] = {{t.layers, "layers"},        {t.width, "width"},           {t.heads, "heads"},
                    {t.kv_heads, "kv_heads"},    {t.head_width, "head_width"}, {t.ffn_width, "ffn_width"},
                    {t.vocabulary, "vocabulary"}};
  for (const auto& d : dimensions) require_dimension(d.value, d.name, 0);
  if (t.layers > 100'000) refuse("out_of_range", "layers must be at most 100000, got " + std::to_string(t.layers));
  if (t.local)
    refuse("local_attention", "a target says nothing of local attention, which has no weights: add it later");
  if (t.latent && t.heads == 0) refuse("missing", "heads must be given with latent attention, got 0");
  if (t.latent && r.heads_per_kv > 0)
    refuse("contradiction",
           "heads_per_kv must not be given with latent attention, got " + std::to_string(r.heads_per_kv));
  if (!t.experts) {
    if (r.shared_experts > 0 || r.first_dense_layers > 0 || r.expert_period > 1)
      refuse("contradiction",
             "shared experts, first dense layers and an expert period must come with experts, got none");
    return;
  }
  require_dimension(t.experts->count, "experts");
  require_dimension(t.experts->active, "experts_active");
  require_dimension(t.experts->width, "expert_width", 0);
  require_dimension(t.experts->shared_width, "shared_width", 0);
  if (t.experts->active > t.experts->count)
    refuse("out_of_range", "experts_active must be at most experts, got " + std::to_string(t.experts->active) + " of " +
                               std::to_string(t.experts->count));
  if (t.experts->layers.size() > 0)
    refuse("contradiction",
           "the layers with experts must be said by first_dense_layers or expert_period, got a pattern");
  if (r.first_dense_layers > 0 && r.expert_period > 1)
    refuse("contradiction", "either first_dense_layers or expert_period must be given, got " +
                                std::to_string(r.first_dense_layers) + " and " + std::to_string(r.expert_period));
  if (r.shared_experts > 0 && t.experts->shared_width > 0)
    refuse("contradiction", "either shared_experts or their shared_width must be given, got both");
}

}  // namespace detail

// The request with every default in its place; head width and key-value heads follow the width and stay open. Throws
// Error(usage) for a number out of range or two that contradict each other.
[[nodiscard]] inline RealiseRequest with_defaults(RealiseRequest r) {
  using detail::require_number;
  using detail::require_whole;
  if (!(r.target.value >= 1 && r.target.value <= 1e15)) {
    throw detail::realise_refusal(Failure::usage, "out_of_range",
                                  "target must be from 1 to 1e15 parameters, got " + print(r.target));
  }
  if (r.aspect != 0) require_number(r.aspect, 0.01, 1e6, "aspect (width / layers)");
  if (r.ffn_ratio != 0) require_number(r.ffn_ratio, 0.01, 1000, "ffn_ratio");
  require_number(r.tolerance, 0, 0.5, "tolerance");
  require_number(r.freedom, 0, 1, "freedom");
  require_whole(r.heads_per_kv, 0, "heads_per_kv");
  require_whole(r.width_multiple, 0, "width_multiple");
  require_whole(r.ffn_multiple, 0, "ffn_multiple");
  require_whole(r.vocabulary_multiple, 1, "vocabulary_multiple");
  require_whole(r.shared_experts, 0, "shared_experts");
  require_whole(r.first_dense_layers, 0, "first_dense_layers");
  require_whole(r.expert_period, 1, "expert_period");
  require_whole(r.layout.tensor, 1, "tensor (TP)");
  require_whole(r.layout.pipeline, 1, "pipeline (PP)");
  require_whole(r.layout.expert, 1, "expert (EP)");
  require_whole(r.layout.interleave, 1, "interleave (VP)");
  if (r.layout.pipeline * r.layout.interleave > 100'000) {
    throw detail::realise_refusal(
        Failure::usage, "out_of_range",
        "pipeline x interleave must be at most 100000, got " + std::to_string(r.layout.pipeline * r.layout.interleave));
  }
  require_whole(static_cast<std::int64_t>(std::min<std::size_t>(r.proposals, 2'000'000)), 1, "proposals");
  detail::require_given(r);

  Transformer& t = r.given;
  const bool every_head_has_its_own = r.heads_per_kv == 1 || (t.heads > 0 && t.heads == t.kv_heads);
  const bool as_llama = t.gated && !t.latent && !t.experts && !every_head_has_its_own;
  const bool large = r.target.value >= 2e11;
  if (r.aspect == 0) r.aspect = as_llama && large ? 130 : 128;
  if (r.ffn_ratio == 0) r.ffn_ratio = !t.gated ? 4 : !as_llama ? 8.0 / 3 : large ? 3.25 : 3.5;
  if (t.vocabulary == 0) t.vocabulary = r.target.value >= 1e9 ? 128256 : 32000;
  return r;
}

}  // namespace floplan::architecture
