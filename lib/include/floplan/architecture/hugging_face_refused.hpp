// SPDX-License-Identifier: BSD-3-Clause
//
// Model types of Hugging Face that are known and are no stack of attention and feed-forward layers, each with the reason.
//
//   const char* why = refusal("jamba");      null for a type that is not listed
//
// A type stands here so that its refusal says why, and does not suggest a type with a similar name.
// Source: the modelling classes of Hugging Face transformers and the models' own reports.
// Pitfall: layers of linear attention or state space have no cache that grows and no scores: a count of their weights alone
// would still give wrong FLOP and memory, so nothing of them is read.
#pragma once

#include <array>
#include <string_view>

namespace floplan::architecture::detail {

struct RefusedType {
  const char* model_type;
  const char* reason;
};
inline constexpr const char* state_space = "it has state-space or other recurrent layers, which are no attention";
inline constexpr const char* linear_attention = "some of its layers have linear attention";
inline constexpr const char* token_indexer = "its attention chooses tokens by an indexer with weights of its own";
inline constexpr const char* has_encoder = "it is not decoder-only";
inline constexpr std::array refused_types = {
    RefusedType{"mamba", state_space},
    RefusedType{"mamba2", state_space},
    RefusedType{"falcon_mamba", state_space},
    RefusedType{"jamba", state_space},
    RefusedType{"zamba", state_space},
    RefusedType{"zamba2", state_space},
    RefusedType{"bamba", state_space},
    RefusedType{"falcon_h1", state_space},
    RefusedType{"granitemoehybrid", state_space},
    RefusedType{"nemotron_h", state_space},
    RefusedType{"recurrent_gemma", state_space},
    RefusedType{"rwkv", state_space},
    RefusedType{"lfm2", "some of its layers are short convolutions"},
    RefusedType{"qwen3_next", linear_attention},
    RefusedType{"qwen3_5", linear_attention},
    RefusedType{"qwen3_5_moe", linear_attention},
    RefusedType{"kimi_linear", linear_attention},
    RefusedType{"minimax", linear_attention},
    RefusedType{"minimax_text_01", linear_attention},
    RefusedType{"deepseek_v32", token_indexer},
    RefusedType{"deepseek_v4", token_indexer},
    RefusedType{"glm_moe_dsa", token_indexer},
    RefusedType{"gemma3n_text", "it has an embedding a layer and alternating updates"},
    RefusedType{"gemma3n", "it has an embedding a layer and alternating updates"},
    RefusedType{"mllama", "it has layers of cross-attention"},
    RefusedType{"mllama_text_model", "it has layers of cross-attention"},
    RefusedType{"nemotron-nas", "its layers differ in shape from each other"},
    RefusedType{"openelm", "its layers differ in shape from each other"},
    RefusedType{"bert", has_encoder},
    RefusedType{"roberta", has_encoder},
    RefusedType{"t5", has_encoder},
    RefusedType{"bart", has_encoder},
    RefusedType{"whisper", has_encoder},
    RefusedType{"distilbert", has_encoder},
    RefusedType{"albert", has_encoder},
    RefusedType{"electra", has_encoder},
    RefusedType{"deberta", has_encoder},
    RefusedType{"deberta-v2", has_encoder},
    RefusedType{"xlm-roberta", has_encoder},
    RefusedType{"modernbert", has_encoder},
    RefusedType{"mt5", has_encoder},
    RefusedType{"umt5", has_encoder},
    RefusedType{"longt5", has_encoder},
    RefusedType{"switch_transformers", has_encoder},
    RefusedType{"mbart", has_encoder},
    RefusedType{"pegasus", has_encoder},
    RefusedType{"marian", has_encoder},
    RefusedType{"m2m_100", has_encoder},
    RefusedType{"encoder-decoder", has_encoder},
    RefusedType{"vision-encoder-decoder", has_encoder},
    RefusedType{"speech-encoder-decoder", has_encoder},
};

[[nodiscard]] inline const char* refusal(std::string_view model_type) {
  for (const RefusedType& refused : refused_types) {
    if (refused.model_type == model_type) return refused.reason;
  }
  return nullptr;
}

}  // namespace floplan::architecture::detail
