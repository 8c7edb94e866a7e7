// SPDX-License-Identifier: BSD-3-Clause
//
// What a Hugging Face config.json leaves to its model's class: norms, biases, and the defaults of keys that are absent.
//
//   const HuggingFaceClass* c = find_class("qwen3");     null when there is none; hugging_face_types() lists them all
//
// One row a model_type. A row holds what the class's modelling code builds whatever the file says (gated or plain blocks,
// norms a layer), which keys decide on biases, and the class's own default where a file may leave a dimension out.
//
// Source: the configuration and modelling classes of Hugging Face transformers 4.4x to 4.57, as facts; each row with a
// published total is held against it in the tests.
// Holds: for the classes' own weights. A checkpoint with code of its own (auto_map) may differ under the same model_type.
// Pitfall: LayerNorm of Cohere and DBRX has a scale and no bias; OLMo 1 has norms without any weights.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/architecture/transformer.hpp"

namespace floplan::architecture::detail {

// Where a block of experts stands and by which keys.
enum class ExpertKeys { none, every_layer, sparse_step, after_first, interleaved };
// Which layers attend locally, when no layer_types says it. pattern: all but the last of each window_period.
enum class LocalKeys { none, every_layer, upper_layers, pattern, chunked };
// How the feed-forward width is given.
enum class WidthKeys { given, four_times, four_times_if_absent };
// Classes that need more than their row.
enum class Special { none, falcon, mpt, dbrx, latent, phi, stablelm, opt, gpt_neo, one_key_head };
struct HuggingFaceClass {
  const char* model_type = "";
  const char* as = nullptr;  // another row that it shares everything with
  Norm norm = Norm::rms;
  std::int64_t norms = 2;
  bool gated = true;
  bool tied = false;  // when tie_word_embeddings is absent
  QueryKeyNorm query_key_norm = QueryKeyNorm::none;
  const char* query_key_norm_if = nullptr;  // only if this key is true
  const char* attention_bias = nullptr;     // the key of the biases of queries, keys and values; none: the default
  bool attention_bias_default = false;
  const char* output_bias = nullptr;  // the same of the attention's output
  bool output_bias_default = false;
  const char* mlp_bias = nullptr;
  bool mlp_bias_default = false;
  bool head_bias = false;
  std::int64_t kv_heads = 0;         // when num_key_value_heads is absent; 0: as many as heads, by definition
  std::int64_t head_width = 0;       // when head_dim is absent; 0: hidden size / heads, by definition
  bool head_width_published = true;  // false: released models have another head_dim than hidden size / heads
  WidthKeys width = WidthKeys::given;
  std::int64_t positions_beyond = -1;  // learned positions: the key's number and so many more; -1: none are learned
  ExpertKeys experts = ExpertKeys::none;
  bool router_bias = false;
  std::int64_t shared_experts = -1;      // when n_shared_experts is absent; -1: it must be given
  std::int64_t shared_expert_width = 0;  // when shared_expert_intermediate_size is absent; 0: the class has none
  std::int64_t query_rank = 0;           // when q_lora_rank is absent; null means none
  LocalKeys local = LocalKeys::none;
  std::int64_t window = 0;  // when sliding_window is absent; 0: no window then
  std::int64_t window_period = 0;
  bool attention_sinks = false;
  bool embedding_norm = false;
  std::int64_t default_heads = 0, default_vocabulary = 0;  // of a class whose released files leave them out
  Special special = Special::none;
};

inline constexpr Norm with_bias = Norm::layer;
inline constexpr QueryKeyNorm per_head = QueryKeyNorm::per_head;

inline constexpr std::array hugging_face_classes = {
    HuggingFaceClass{.model_type = "llama",
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .mlp_bias = "mlp_bias"},
    HuggingFaceClass{.model_type = "mistral", .kv_heads = 8, .local = LocalKeys::every_layer, .window = 4096},
    HuggingFaceClass{
        .model_type = "mixtral", .kv_heads = 8, .experts = ExpertKeys::every_layer, .local = LocalKeys::every_layer},
    HuggingFaceClass{.model_type = "qwen2",
                     .attention_bias_default = true,
                     .kv_heads = 32,
                     .local = LocalKeys::upper_layers,
                     .window = 4096},
    HuggingFaceClass{.model_type = "qwen2_moe",
                     .attention_bias = "qkv_bias",
                     .attention_bias_default = true,
                     .kv_heads = 16,
                     .experts = ExpertKeys::sparse_step,
                     .shared_expert_width = 5632,
                     .local = LocalKeys::upper_layers,
                     .window = 4096},
    HuggingFaceClass{.model_type = "qwen3",
                     .query_key_norm = per_head,
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .kv_heads = 32,
                     .head_width = 128,
                     .local = LocalKeys::upper_layers,
                     .window = 4096},
    HuggingFaceClass{.model_type = "qwen3_moe",
                     .query_key_norm = per_head,
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .kv_heads = 4,
                     .head_width_published = false,
                     .experts = ExpertKeys::sparse_step,
                     .local = LocalKeys::upper_layers,
                     .window = 4096},
    HuggingFaceClass{.model_type = "gemma",
                     .tied = true,
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .kv_heads = 16,
                     .head_width = 256},
    HuggingFaceClass{.model_type = "gemma2",
                     .norms = 4,
                     .tied = true,
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .kv_heads = 4,
                     .head_width = 256,
                     .local = LocalKeys::pattern,
                     .window = 4096,
                     .window_period = 2},
    HuggingFaceClass{.model_type = "gemma3_text",
                     .norms = 4,
                     .tied = true,
                     .query_key_norm = per_head,
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .kv_heads = 4,
                     .head_width = 256,
                     .local = LocalKeys::pattern,
                     .window = 4096,
                     .window_period = 6,
                     .default_heads = 8,
                     .default_vocabulary = 262208},
    HuggingFaceClass{.model_type = "gpt2",
                     .norm = with_bias,
                     .gated = false,
                     .tied = true,
                     .attention_bias_default = true,
                     .output_bias_default = true,
                     .mlp_bias_default = true,
                     .width = WidthKeys::four_times_if_absent,
                     .positions_beyond = 0},
    HuggingFaceClass{.model_type = "gpt_bigcode",
                     .norm = with_bias,
                     .gated = false,
                     .tied = true,
                     .attention_bias_default = true,
                     .output_bias_default = true,
                     .mlp_bias_default = true,
                     .width = WidthKeys::four_times_if_absent,
                     .positions_beyond = 0,
                     .special = Special::one_key_head},
    HuggingFaceClass{.model_type = "gpt_neo",
                     .norm = with_bias,
                     .gated = false,
                     .tied = true,
                     .output_bias_default = true,
                     .mlp_bias_default = true,
                     .width = WidthKeys::four_times_if_absent,
                     .positions_beyond = 0,
                     .special = Special::gpt_neo},
    HuggingFaceClass{.model_type = "gpt_neox",
                     .norm = with_bias,
                     .gated = false,
                     .attention_bias = "attention_bias",
                     .attention_bias_default = true,
                     .output_bias = "attention_bias",
                     .output_bias_default = true,
                     .mlp_bias_default = true},
    HuggingFaceClass{.model_type = "gptj",
                     .norm = with_bias,
                     .norms = 1,
                     .gated = false,
                     .mlp_bias_default = true,
                     .head_bias = true,
                     .width = WidthKeys::four_times_if_absent},
    HuggingFaceClass{.model_type = "codegen", .as = "gptj"},
    HuggingFaceClass{.model_type = "opt",
                     .norm = with_bias,
                     .gated = false,
                     .tied = true,
                     .attention_bias = "enable_bias",
                     .attention_bias_default = true,
                     .output_bias = "enable_bias",
                     .output_bias_default = true,
                     .mlp_bias = "enable_bias",
                     .mlp_bias_default = true,
                     .positions_beyond = 2,
                     .special = Special::opt},
    HuggingFaceClass{.model_type = "bloom",
                     .norm = with_bias,
                     .gated = false,
                     .tied = true,
                     .attention_bias_default = true,
                     .output_bias_default = true,
                     .mlp_bias_default = true,
                     .width = WidthKeys::four_times,
                     .embedding_norm = true},
    HuggingFaceClass{.model_type = "falcon",
                     .norm = with_bias,
                     .gated = false,
                     .tied = true,
                     .attention_bias = "bias",
                     .output_bias = "bias",
                     .mlp_bias = "bias",
                     .width = WidthKeys::four_times_if_absent,
                     .special = Special::falcon},
    HuggingFaceClass{.model_type = "mpt", .gated = false, .tied = true, .special = Special::mpt},
    HuggingFaceClass{.model_type = "phi",
                     .norm = with_bias,
                     .norms = 1,
                     .gated = false,
                     .attention_bias_default = true,
                     .output_bias_default = true,
                     .mlp_bias_default = true,
                     .head_bias = true,
                     .special = Special::phi},
    HuggingFaceClass{.model_type = "phi3", .local = LocalKeys::every_layer},
    HuggingFaceClass{.model_type = "phimoe",
                     .norm = with_bias,
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .kv_heads = 8,
                     .experts = ExpertKeys::every_layer,
                     .local = LocalKeys::every_layer,
                     .special = Special::phi},
    HuggingFaceClass{
        .model_type = "olmo", .norm = Norm::none, .attention_bias = "attention_bias", .output_bias = "attention_bias"},
    HuggingFaceClass{.model_type = "olmo2",
                     .query_key_norm = QueryKeyNorm::whole,
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias"},
    HuggingFaceClass{.model_type = "olmo3",
                     .query_key_norm = QueryKeyNorm::whole,
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .local = LocalKeys::pattern,
                     .window = 4096,
                     .window_period = 4},
    HuggingFaceClass{.model_type = "olmoe",
                     .query_key_norm = QueryKeyNorm::whole,
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .experts = ExpertKeys::every_layer},
    HuggingFaceClass{.model_type = "starcoder2",
                     .norm = with_bias,
                     .gated = false,
                     .tied = true,
                     .attention_bias = "use_bias",
                     .attention_bias_default = true,
                     .output_bias = "use_bias",
                     .output_bias_default = true,
                     .mlp_bias = "use_bias",
                     .mlp_bias_default = true,
                     .kv_heads = 2,
                     .local = LocalKeys::every_layer},
    HuggingFaceClass{.model_type = "cohere",
                     .norm = Norm::layer_without_bias,
                     .norms = 1,
                     .tied = true,
                     .query_key_norm = QueryKeyNorm::whole,
                     .query_key_norm_if = "use_qk_norm",
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias"},
    HuggingFaceClass{.model_type = "cohere2",
                     .norm = Norm::layer_without_bias,
                     .norms = 1,
                     .tied = true,
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .local = LocalKeys::pattern,
                     .window = 4096,
                     .window_period = 4},
    HuggingFaceClass{.model_type = "stablelm",
                     .norm = with_bias,
                     .attention_bias = "use_qkv_bias",
                     .kv_heads = 32,
                     .special = Special::stablelm},
    HuggingFaceClass{.model_type = "granite", .as = "llama"},
    HuggingFaceClass{.model_type = "granitemoe",
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .experts = ExpertKeys::every_layer},
    HuggingFaceClass{.model_type = "smollm3",
                     .tied = true,
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .mlp_bias = "mlp_bias",
                     .kv_heads = 4},
    HuggingFaceClass{.model_type = "nemotron",
                     .norm = with_bias,
                     .gated = false,
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .mlp_bias = "mlp_bias"},
    HuggingFaceClass{.model_type = "seed_oss",
                     .attention_bias = "attention_bias",
                     .attention_bias_default = true,
                     .output_bias = "attention_out_bias",
                     .mlp_bias = "mlp_bias",
                     .kv_heads = 8,
                     .head_width = 128},
    HuggingFaceClass{.model_type = "internlm2",
                     .attention_bias = "bias",
                     .attention_bias_default = true,
                     .output_bias = "bias",
                     .output_bias_default = true},
    HuggingFaceClass{.model_type = "exaone", .tied = true},
    HuggingFaceClass{.model_type = "exaone4",
                     .query_key_norm = per_head,
                     .kv_heads = 32,
                     .local = LocalKeys::pattern,
                     .window = 4096,
                     .window_period = 4},
    HuggingFaceClass{.model_type = "glm", .attention_bias = "attention_bias", .kv_heads = 2, .head_width = 128},
    HuggingFaceClass{
        .model_type = "glm4", .norms = 4, .attention_bias = "attention_bias", .kv_heads = 2, .head_width = 128},
    HuggingFaceClass{.model_type = "glm4_moe",
                     .query_key_norm = per_head,
                     .query_key_norm_if = "use_qk_norm",
                     .attention_bias = "attention_bias",
                     .kv_heads = 8,
                     .head_width_published = false,
                     .experts = ExpertKeys::after_first,
                     .router_bias = true,
                     .shared_experts = 1},
    HuggingFaceClass{.model_type = "deepseek_v2",
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .experts = ExpertKeys::after_first,
                     .query_rank = 1536,
                     .special = Special::latent},
    HuggingFaceClass{.model_type = "deepseek_v3",
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .experts = ExpertKeys::after_first,
                     .router_bias = true,
                     .shared_experts = 1,
                     .query_rank = 1536,
                     .special = Special::latent},
    HuggingFaceClass{.model_type = "kimi_k2", .as = "deepseek_v3"},
    HuggingFaceClass{.model_type = "gpt_oss",
                     .attention_bias = "attention_bias",
                     .attention_bias_default = true,
                     .output_bias = "attention_bias",
                     .output_bias_default = true,
                     .mlp_bias_default = true,
                     .kv_heads = 8,
                     .head_width = 64,
                     .experts = ExpertKeys::every_layer,
                     .router_bias = true,
                     .local = LocalKeys::pattern,
                     .window = 128,
                     .window_period = 2,
                     .attention_sinks = true},
    HuggingFaceClass{.model_type = "llama4_text",
                     .attention_bias = "attention_bias",
                     .output_bias = "attention_bias",
                     .kv_heads = 8,
                     .experts = ExpertKeys::interleaved,
                     .local = LocalKeys::chunked,
                     .window = 8192},
    HuggingFaceClass{.model_type = "dbrx", .norm = Norm::layer_without_bias, .special = Special::dbrx},
    HuggingFaceClass{
        .model_type = "grok-1", .norms = 4, .tied = true, .kv_heads = 8, .experts = ExpertKeys::every_layer},
    // Text parts of models that also see or hear, where they are a class of their own.
    HuggingFaceClass{.model_type = "gemma3", .as = "gemma3_text"},
    HuggingFaceClass{.model_type = "llama4", .as = "llama4_text"},
    HuggingFaceClass{.model_type = "mistral3", .as = "mistral"},
    HuggingFaceClass{.model_type = "qwen2_vl", .as = "qwen2"},
    HuggingFaceClass{.model_type = "qwen2_vl_text", .as = "qwen2"},
    HuggingFaceClass{.model_type = "qwen2_5_vl", .as = "qwen2"},
    HuggingFaceClass{.model_type = "qwen2_5_vl_text", .as = "qwen2"},
    HuggingFaceClass{.model_type = "qwen3_vl_text", .as = "qwen3"},
    HuggingFaceClass{.model_type = "qwen3_vl_moe_text", .as = "qwen3_moe"},
};

[[nodiscard]] inline const HuggingFaceClass* find_class(std::string_view model_type) {
  for (const HuggingFaceClass& c : hugging_face_classes) {
    if (c.model_type == model_type) return c.as != nullptr ? find_class(c.as) : &c;
  }
  return nullptr;
}

[[nodiscard]] inline std::vector<std::string> hugging_face_types() {
  std::vector<std::string> out;
  for (const HuggingFaceClass& c : hugging_face_classes) out.emplace_back(c.model_type);
  return out;
}

}  // namespace floplan::architecture::detail
