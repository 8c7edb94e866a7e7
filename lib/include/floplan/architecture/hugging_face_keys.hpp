// SPDX-License-Identifier: BSD-3-Clause
//
// Which keys of a Hugging Face config.json would change a count if the class read them, and it does not.
//
//   check_keys(keys, c);             keys of a model of class c; Error at the first that would be ignored in silence
//   check_architectures(keys, c);    the modelling class that the file names must be one of c's
//
//   misspelled   a key within two edits of one that is read (n_routed_expert)                   unknown_key
//   foreign      another family's name for what the file does not give otherwise (n_kv_heads)   unknown_key
//   unread       experts, latent attention, an encoder, ... in a class that has none of them    unsupported_model_type
//
// null, false, 0, one expert and empty lists say that there is none, and pass. Source: the configuration classes of Hugging
// Face transformers 4.4x to 4.57, as facts.
// Pitfall: a key that is far from all that are known is passed over, as generation's and quantization's are.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/architecture/hugging_face_class.hpp"
#include "floplan/architecture/hugging_face_refused.hpp"
#include "floplan/architecture/model_file_parts.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/located_json.hpp"
#include "floplan/core/names.hpp"

namespace floplan::architecture::detail {

inline constexpr std::array hugging_face_read = {"model_type",
                                                 "architectures",
                                                 "text_config",
                                                 "hidden_size",
                                                 "n_embd",
                                                 "d_model",
                                                 "n_embed",
                                                 "num_hidden_layers",
                                                 "n_layer",
                                                 "n_layers",
                                                 "num_layers",
                                                 "num_attention_heads",
                                                 "n_head",
                                                 "n_heads",
                                                 "num_heads",
                                                 "vocab_size",
                                                 "num_key_value_heads",
                                                 "n_head_kv",
                                                 "num_kv_heads",
                                                 "kv_n_heads",
                                                 "head_dim",
                                                 "intermediate_size",
                                                 "n_inner",
                                                 "ffn_dim",
                                                 "ffn_hidden_size",
                                                 "intermediate_size_mlp",
                                                 "tie_word_embeddings",
                                                 "attention_bias",
                                                 "mlp_bias",
                                                 "qkv_bias",
                                                 "use_qkv_bias",
                                                 "use_bias",
                                                 "enable_bias",
                                                 "attention_out_bias",
                                                 "lm_head_bias",
                                                 "no_bias",
                                                 "multi_query",
                                                 "new_decoder_architecture",
                                                 "parallel_attn",
                                                 "num_ln_in_parallel_attn",
                                                 "use_parallel_residual",
                                                 "use_qk_norm",
                                                 "qk_layernorm",
                                                 "num_local_experts",
                                                 "num_experts",
                                                 "n_routed_experts",
                                                 "num_experts_per_tok",
                                                 "experts_per_token",
                                                 "moe_intermediate_size",
                                                 "n_shared_experts",
                                                 "shared_expert_intermediate_size",
                                                 "first_k_dense_replace",
                                                 "moe_layer_freq",
                                                 "decoder_sparse_step",
                                                 "mlp_only_layers",
                                                 "interleave_moe_layer_step",
                                                 "moe_layers",
                                                 "moe_num_experts",
                                                 "moe_top_k",
                                                 "topk_method",
                                                 "q_lora_rank",
                                                 "kv_lora_rank",
                                                 "qk_nope_head_dim",
                                                 "qk_rope_head_dim",
                                                 "v_head_dim",
                                                 "num_nextn_predict_layers",
                                                 "sliding_window",
                                                 "use_sliding_window",
                                                 "max_window_layers",
                                                 "sliding_window_pattern",
                                                 "attention_chunk_size",
                                                 "no_rope_layers",
                                                 "no_rope_layer_interval",
                                                 "layer_types",
                                                 "attention_layers",
                                                 "attention_types",
                                                 "window_size",
                                                 "max_position_embeddings",
                                                 "n_positions",
                                                 "max_seq_len",
                                                 "word_embed_proj_dim",
                                                 "do_layer_norm_before",
                                                 "layer_norm_elementwise_affine",
                                                 "expansion_ratio",
                                                 "norm_type",
                                                 "learned_pos_emb",
                                                 "attn_config",
                                                 "ffn_config",
                                                 "is_encoder_decoder",
                                                 "add_cross_attention",
                                                 "attn_type",
                                                 "qk_ln"};

// Keys that are two edits or less from one of those and another thing, or another family's name beside the class's own.
inline constexpr std::array hugging_face_beside = {"num_labels",     "num_beams",
                                                   "qk_head_dim",    "tie_encoder_decoder",
                                                   "attention_type", "_sliding_window_pattern",
                                                   "n_kv_heads",     "n_kv_head",
                                                   "num_kv_head",    "kv_heads",
                                                   "d_inner",        "tie_embeddings",
                                                   "tie_embedding"};

// A thing and the names that other families have for it, which no class here reads.
struct ForeignNames {
  std::vector<const char*> own;
  std::vector<const char*> others;
};
// A key, of whom it is read and what it says of a model whose class does not read it.
struct UnreadKey {
  const char* key;
  std::int64_t none_up_to;  // a number that still says that there is none
  const char* reason;
};
inline constexpr const char* has_experts = "the class has no such experts";
inline constexpr const char* has_latent = "the class has no latent attention";

// The keys of experts that a class reads, by where its experts stand.
[[nodiscard]] inline bool reads_expert_key(const HuggingFaceClass& c, std::string_view key) {
  const auto one_of = [key](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), key) != names.end();
  };
  if (c.experts == ExpertKeys::none) return false;
  if (one_of({"num_local_experts", "num_experts", "n_routed_experts", "num_experts_per_tok", "experts_per_token"}))
    return true;
  switch (c.experts) {
    case ExpertKeys::sparse_step:
      return one_of({"moe_intermediate_size", "decoder_sparse_step", "mlp_only_layers"}) ||
             (key == "shared_expert_intermediate_size" && c.shared_expert_width > 0);
    case ExpertKeys::after_first:
      return one_of({"moe_intermediate_size", "n_shared_experts", "first_k_dense_replace", "moe_layer_freq"});
    case ExpertKeys::interleaved: return one_of({"moe_layers", "interleave_moe_layer_step", "intermediate_size_mlp"});
    case ExpertKeys::none:
    case ExpertKeys::every_layer: break;
  }
  return false;
}

// Whether a value says that there is something: not null, false, an empty list or word, or so small a number.
[[nodiscard]] inline bool says_something(const JsonValue& value, std::int64_t none_up_to) {
  switch (value.kind()) {
    case JsonValue::Kind::null: return false;
    case JsonValue::Kind::boolean: return value.text() == "true";
    case JsonValue::Kind::string: return !value.text().empty();
    case JsonValue::Kind::array:
    case JsonValue::Kind::object: return !value.items().empty();
    case JsonValue::Kind::number: break;
  }
  for (std::int64_t none = 0; none <= none_up_to; ++none) {
    if (value.text() == std::to_string(none)) return false;
  }
  return true;
}

inline void refuse_unread(const FileKeys& keys, const UnreadKey& unread) {
  const auto value = keys.object().find(unread.key);
  if (value && says_something(*value, unread.none_up_to))
    throw value->fail(std::string("is not supported: ") + unread.reason, "unsupported_model_type");
}

// What no class here has, wherever in the file it stands.
inline void check_common_keys(const FileKeys& keys) {
  for (const UnreadKey& unread :
       {UnreadKey{"is_encoder_decoder", 0, has_encoder}, UnreadKey{"add_cross_attention", 0, "it has cross-attention"},
        UnreadKey{"cross_attention_layers", 0, "it has layers of cross-attention"},
        UnreadKey{"encoder_layers", 0, has_encoder}, UnreadKey{"num_encoder_layers", 0, has_encoder},
        UnreadKey{"num_decoder_layers", 0, has_encoder}, UnreadKey{"decoder_layers", 0, has_encoder},
        UnreadKey{"index_topk", 0, token_indexer}, UnreadKey{"index_n_heads", 0, token_indexer},
        UnreadKey{"index_head_dim", 0, token_indexer}}) {
    refuse_unread(keys, unread);
  }
}

inline void check_experts_and_latent(const FileKeys& keys, const HuggingFaceClass& c) {
  if (c.special == Special::dbrx) return;
  for (const UnreadKey& unread :
       {UnreadKey{"num_local_experts", 1, has_experts}, UnreadKey{"num_experts", 1, has_experts},
        UnreadKey{"n_routed_experts", 1, has_experts}, UnreadKey{"num_experts_per_tok", 1, has_experts},
        UnreadKey{"experts_per_token", 1, has_experts}, UnreadKey{"moe_intermediate_size", 0, has_experts},
        UnreadKey{"n_shared_experts", 0, has_experts}, UnreadKey{"shared_expert_intermediate_size", 0, has_experts},
        UnreadKey{"first_k_dense_replace", 0, has_experts}, UnreadKey{"moe_layer_freq", 1, has_experts},
        UnreadKey{"decoder_sparse_step", 1, has_experts}, UnreadKey{"mlp_only_layers", 0, has_experts},
        UnreadKey{"interleave_moe_layer_step", 1, has_experts}, UnreadKey{"moe_layers", 0, has_experts},
        UnreadKey{"intermediate_size_mlp", 0, has_experts}}) {
    if (!reads_expert_key(c, unread.key)) refuse_unread(keys, unread);
  }
  // Names of other families, which no class reads.
  for (const char* name :
       {"moe_num_experts", "moe_top_k", "n_experts", "num_moe_experts", "moe_num_shared_experts", "num_shared_experts",
        "num_shared_expert", "shared_intermediate_size", "moe_shared_expert_intermediate_size", "moe_topk"}) {
    refuse_unread(keys, {name, 0, "no class that is known here reads it"});
  }
  if (c.special == Special::latent) return;
  for (const char* name : {"kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"})
    refuse_unread(keys, {name, 0, has_latent});
}

// Classes of one key and value a head, which read neither of these.
[[nodiscard]] inline bool has_plain_heads(const HuggingFaceClass& c) {
  const std::string_view name = c.model_type;
  return name == "gpt2" || name == "gpt_neo" || name == "gpt_neox" || name == "gptj" || name == "opt" ||
         name == "bloom";
}

// Norms and groups of heads that a class does not build, and biases, which are only warned about: they are a small part,
// and published files carry them.
inline void check_attention_keys(const FileKeys& keys, const HuggingFaceClass& c) {
  // Llama 4 scales queries and keys without weights.
  if (c.experts != ExpertKeys::interleaved) {
    for (const char* name : {"use_qk_norm", "qk_norm", "use_qk_layernorm", "qk_layernorm"}) {
      const bool own = c.query_key_norm_if != nullptr && std::string_view(c.query_key_norm_if) == name;
      const bool special = c.special == Special::phi || c.special == Special::stablelm;
      if (!own && c.query_key_norm == QueryKeyNorm::none && !(special && std::string_view(name) == "qk_layernorm"))
        refuse_unread(keys, {name, 0, "the class has no norms of queries and keys"});
    }
  }
  if (c.special != Special::falcon && c.special != Special::one_key_head) {
    for (const char* name : {"multi_query", "multi_query_attention"})
      refuse_unread(keys, {name, 0, "the class does not read it"});
  }
  for (const char* name :
       {"attention_bias", "qkv_bias", "use_qkv_bias", "mlp_bias", "attn_bias", "add_bias_linear", "add_qkv_bias"}) {
    const auto is = [name](const char* key) { return key != nullptr && std::string_view(key) == name; };
    if (is(c.attention_bias) || is(c.output_bias) || is(c.mlp_bias)) continue;
    const auto value = keys.find({name});
    if (!value || value->kind() != JsonValue::Kind::boolean) continue;
    const bool built = std::string_view(name) == "mlp_bias" ? c.mlp_bias_default : c.attention_bias_default;
    if (value->boolean() != built) {
      keys.warnings().push_back({"not_read", value->path() + " is " + value->text() + " and not read: the class has " +
                                                 (built ? "biases there" : "no biases there") + " whatever it says"});
    }
  }
}

inline void check_foreign_names(const FileKeys& keys, const HuggingFaceClass& c) {
  const std::array groups = {
      ForeignNames{{"num_key_value_heads", "n_head_kv", "num_kv_heads", "kv_n_heads"},
                   {"n_kv_heads", "n_kv_head", "num_kv_head", "kv_heads", "n_heads_kv", "num_heads_kv",
                    "num_query_groups", "num_kv_groups", "num_key_value_groups", "multi_query_group_num",
                    "num_attention_groups", "num_heads_per_kv"}},
      ForeignNames{{"head_dim"},
                   {"d_head", "head_size", "dim_head", "kv_channels", "attention_head_dim", "attention_head_size",
                    "size_per_head", "head_width", "attn_head_dim", "d_kv"}},
      ForeignNames{{"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size", "expansion_ratio"},
                   {"d_ff", "inter_dim", "d_inner", "inner_dim", "ffn_embed_dim", "mlp_dim", "mlp_hidden_size",
                    "ffn_size", "intermediate_dim", "ffn_intermediate_size", "mlp_ratio", "mlp_expansion_factor"}},
      ForeignNames{{"tie_word_embeddings"},
                   {"tie_embeddings", "tied_embeddings", "tie_embedding", "weight_tying", "tie_weights",
                    "share_embeddings", "share_input_output_embed", "untie_embeddings"}}};
  for (const ForeignNames& group : groups) {
    const bool heads = std::string_view(group.own.front()) == "num_key_value_heads";
    if (c.special == Special::latent && (heads || std::string_view(group.own.front()) == "head_dim")) continue;
    std::optional<JsonValue> own;
    for (const char* name : group.own) {
      if (!own) own = keys.find({name});
    }
    for (const char* name : group.others) {
      const auto value = keys.find({name});
      if (!value || own) continue;
      throw value->fail("is not a name that the class " + std::string(c.model_type) +
                            " knows: " + keys.named(group.own.front()) + " must be given",
                        "unknown_key");
    }
  }
}

[[nodiscard]] inline std::string without_separators(std::string_view key) {
  std::string out;
  for (const char c : lower_case(key)) {
    if (c != '_' && c != '-' && c != ' ' && c != '.') out += c;
  }
  return out;
}

// A key that is one or two edits from one that is read, and not itself known. Short names are near to too much.
template <class Read, class Beside>
void check_spelling(const FileKeys& keys, const Read& names, const Beside& beside) {
  const auto is_of = [](const auto& list, std::string_view key) {
    return std::find(list.begin(), list.end(), key) != list.end();
  };
  for (const JsonValue& value : keys.object().items()) {
    const std::string_view key = value.key();
    if (value.is_null() || key.size() < 5 || key.size() > 64) continue;
    if (is_of(names, key) || is_of(beside, key)) continue;
    const std::string plain = without_separators(key);
    for (const char* known : names) {
      const std::string read = without_separators(known);
      if (plain.size() > read.size() + 2 || read.size() > plain.size() + 2) continue;
      const std::size_t edits = edit_distance(plain, read);
      if (edits > (std::min(plain.size(), read.size()) < 8 ? 1U : 2U)) continue;
      throw value.fail("is not a known key, and would be ignored (nearest: " + std::string(known) + ")", "unknown_key");
    }
  }
}
inline void check_spelling(const FileKeys& keys) { check_spelling(keys, hugging_face_read, hugging_face_beside); }

inline void check_keys(const FileKeys& keys, const HuggingFaceClass& c) {
  check_common_keys(keys);
  check_experts_and_latent(keys, c);
  check_attention_keys(keys, c);
  check_foreign_names(keys, c);
  check_spelling(keys);
}

// "Qwen2MoeForCausalLM" -> "qwen2moe", as the model_type is without its separators.
[[nodiscard]] inline std::string architecture_stem(std::string_view name) {
  for (const std::string_view ending : {"LMHeadModel", "Model"}) {
    if (name.find("For") == std::string_view::npos && name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return without_separators(name.substr(0, name.rfind("For")));
}

// The modelling class that the file names, where it is one that is known, must be of the same row as its model_type.
inline void check_architectures(const FileKeys& keys, const HuggingFaceClass& c) {
  const auto list = keys.find({"architectures"});
  if (!list || list->kind() != JsonValue::Kind::array) return;
  for (const JsonValue& item : list->items()) {
    if (item.kind() != JsonValue::Kind::string) continue;
    const std::string stem = architecture_stem(item.string());
    const auto refuse = [&](const char* reason) {
      return item.fail("is a class of another family than model_type names: " + std::string(reason),
                       "unsupported_model_type");
    };
    for (const HuggingFaceClass& other : hugging_face_classes) {
      if (without_separators(other.model_type) == stem && find_class(other.model_type) != &c)
        throw refuse("which of them counts cannot be told");
    }
    for (const RefusedType& other : refused_types) {
      if (without_separators(other.model_type) == stem) throw refuse(other.reason);
    }
  }
}

}  // namespace floplan::architecture::detail
