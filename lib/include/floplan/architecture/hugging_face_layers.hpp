// SPDX-License-Identifier: BSD-3-Clause
//
// Which layers of a Hugging Face model have experts and which attend locally: the part of config.json that spells a layer
// pattern in a different way in each class.
//
//   read_experts(keys, c, t);   decoder_sparse_step and mlp_only_layers (Qwen), first_k_dense_replace and moe_layer_freq
//                               (DeepSeek, GLM), moe_layers or interleave_moe_layer_step (Llama 4), or every layer
//   read_local(keys, c, t);     layer_types before all; else sliding_window in every layer (Mistral), from max_window_layers
//                               on (Qwen), in all but each n-th (Gemma, gpt-oss, Cohere 2), chunks (Llama 4)
//
// Pitfall: Qwen files carry a sliding_window that use_sliding_window = false switches off.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/architecture/hugging_face_class.hpp"
#include "floplan/architecture/layer_pattern.hpp"
#include "floplan/architecture/model_file_parts.hpp"
#include "floplan/architecture/transformer.hpp"

namespace floplan::architecture::detail {

// Flags of the layers whose numbers a list holds.
[[nodiscard]] inline std::vector<bool> listed_layers(const JsonValue& list, std::int64_t layers) {
  if (list.kind() != JsonValue::Kind::array) throw list.fail("must be a list of layer numbers");
  std::vector<bool> out(static_cast<std::size_t>(layers));
  for (const JsonValue& item : list.items()) out[static_cast<std::size_t>(item.whole_number(0, layers - 1))] = true;
  return out;
}

[[nodiscard]] inline std::vector<JsonValue> one_a_layer(const JsonValue& list, std::int64_t layers) {
  if (list.kind() != JsonValue::Kind::array) throw list.fail("must be a list with an item a layer");
  std::vector<JsonValue> items = list.items();
  if (static_cast<std::int64_t>(items.size()) != layers)
    throw list.fail("must have an item a layer, " + std::to_string(layers));
  return items;
}

[[nodiscard]] inline LayerPattern expert_layers(const FileKeys& keys, const HuggingFaceClass& c, std::int64_t layers) {
  std::vector<bool> flags(static_cast<std::size_t>(layers), true);
  if (c.experts == ExpertKeys::sparse_step) {
    std::vector<bool> dense(flags.size());
    if (const auto list = keys.find({"mlp_only_layers"})) dense = listed_layers(*list, layers);
    const std::size_t period = static_cast<std::size_t>(keys.dimension_or({"decoder_sparse_step"}, 1, "").value);
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = !dense[i] && (i + 1) % period == 0;
  } else if (c.experts == ExpertKeys::after_first) {
    const auto first = FileKeys::number(keys.required({"first_k_dense_replace"}), 0, layers);
    const auto step = keys.optional_dimension({"moe_layer_freq"});
    const std::size_t period = static_cast<std::size_t>(step ? step->value : 1);
    for (std::size_t i = 0; i < flags.size(); ++i)
      flags[i] = i >= static_cast<std::size_t>(first.value) && i % period == 0;
  } else if (c.experts == ExpertKeys::interleaved) {
    if (const auto list = keys.find({"moe_layers"})) return LayerPattern(listed_layers(*list, layers));
    return LayerPattern::every(keys.dimension_or({"interleave_moe_layer_step"}, 1, "").value, layers);
  }
  return LayerPattern(std::move(flags));
}

// Sets t.experts, where the class has them; t.layers must be known.
inline void read_experts(const FileKeys& keys, const HuggingFaceClass& c, Transformer& t) {
  if (c.experts == ExpertKeys::none) return;
  const Names counts = {"num_local_experts", "num_experts", "n_routed_experts"};
  const FileNumber count = keys.dimension(counts);
  const FileNumber active = keys.dimension({"num_experts_per_tok", "experts_per_token"});
  active.must_be_at_most(count);
  const bool own_width = c.experts == ExpertKeys::sparse_step || c.experts == ExpertKeys::after_first;
  const FileNumber width =
      own_width ? keys.dimension({"moe_intermediate_size"}) : keys.dimension({"intermediate_size"});
  Experts e;
  e.count = count.value;
  e.active = active.value;
  e.width = width.value;
  if (c.experts == ExpertKeys::sparse_step) {
    if (c.shared_expert_width > 0) {
      const auto shared = keys.optional_dimension({"shared_expert_intermediate_size"}, 0);
      e.shared_width = shared ? shared->value : c.shared_expert_width;
      if (!shared) keys.warn_assumed("shared_expert_intermediate_size", std::to_string(e.shared_width), "");
    }
    e.shared_gate = e.shared_width > 0;
  } else if (c.experts == ExpertKeys::after_first) {
    // null says that there are none; absent means the class's default, which DeepSeek 2's own code and transformers differ on.
    if (const auto shared = keys.optional_dimension({"n_shared_experts"}, 0)) {
      e.shared_width = product(*shared, width);
    } else if (!keys.says_null("n_shared_experts")) {
      if (c.shared_experts < 0) static_cast<void>(keys.required({"n_shared_experts"}, "null or 0 for none"));
      keys.warn_assumed("n_shared_experts", std::to_string(c.shared_experts), "");
      e.shared_width = product(width, {c.shared_experts, "", "n_shared_experts"});
    }
  } else if (c.experts == ExpertKeys::interleaved) {
    e.shared_width = width.value;
  }
  e.router_bias = c.router_bias && keys.word("topk_method", "noaux_tc") == "noaux_tc";
  e.layers = expert_layers(keys, c, t.layers);
  if (e.layers.count() > 0) t.experts = std::move(e);
}

// From layer_types: which of the layers are local. Whether they are chunked is told by the word.
struct LayerKinds {
  std::vector<bool> local;
  bool chunked = false;
};
[[nodiscard]] inline LayerKinds layer_kinds(const JsonValue& list, std::int64_t layers) {
  LayerKinds out;
  bool sliding = false;
  for (const JsonValue& item : one_a_layer(list, layers)) {
    const std::string& kind = item.string();
    if (kind != "full_attention" && kind != "sliding_attention" && kind != "chunked_attention") {
      throw item.fail(
          "must be full_attention, sliding_attention or chunked_attention, which are all that a shape can have",
          "unsupported_layer");
    }
    out.local.push_back(kind != "full_attention");
    out.chunked = out.chunked || kind == "chunked_attention";
    sliding = sliding || kind == "sliding_attention";
  }
  if (out.chunked && sliding) throw list.fail("must not mix sliding and chunked attention", "unsupported_layer");
  return out;
}

[[nodiscard]] inline LayerPattern local_pattern(const FileKeys& keys, const HuggingFaceClass& c, std::int64_t layers) {
  std::vector<bool> flags(static_cast<std::size_t>(layers), true);
  if (c.local == LocalKeys::upper_layers) {
    const auto key = keys.find({"max_window_layers"});
    const FileNumber first =
        key ? FileKeys::number(*key, 0, most_of_a_dimension) : keys.dimension_or({"max_window_layers"}, 28, "");
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = static_cast<std::int64_t>(i) >= first.value;
  } else if (c.local == LocalKeys::chunked) {
    const auto list = keys.find({"no_rope_layers"});
    if (list && !list->items().empty()) {
      const std::vector<JsonValue> items = one_a_layer(*list, layers);
      for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = items[i].whole_number(0, 1) == 1;
    } else {
      const auto interval = keys.optional_dimension({"no_rope_layer_interval"});
      return LayerPattern::every(interval ? interval->value : 4, layers).inverted();
    }
  } else if (c.local == LocalKeys::pattern) {
    const auto key = keys.find({"sliding_window_pattern", "_sliding_window_pattern"});
    if (key && key->kind() == JsonValue::Kind::string) {
      const std::string& word = key->string();
      if (word.empty() || word.find_first_not_of("LG") != std::string::npos)
        throw key->fail("must be a number, or letters L (local) and G (global)");
      for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = word[i % word.size()] == 'L';
    } else {
      const std::int64_t period = key ? key->whole_number(1, most_of_a_dimension) : c.window_period;
      return LayerPattern::every(period, layers).inverted();
    }
  }
  return LayerPattern(std::move(flags));
}

// Sets t.local, where some layers attend locally; t.layers must be known.
inline void read_local(const FileKeys& keys, const HuggingFaceClass& c, Transformer& t) {
  const auto kinds_key = keys.find({"layer_types"});
  LayerKinds kinds;
  if (kinds_key) {
    kinds = layer_kinds(*kinds_key, t.layers);
  } else {
    if (!keys.flag("use_sliding_window", c.local != LocalKeys::upper_layers)) return;
    if (c.local == LocalKeys::none) {
      if (keys.flag("use_sliding_window", false)) static_cast<void>(keys.required({"layer_types"}));
      return;
    }
    kinds.chunked = c.local == LocalKeys::chunked;
  }
  const char* const name = kinds.chunked ? "attention_chunk_size" : "sliding_window";
  const auto explicit_null = keys.object().find(name);
  if (!kinds_key && explicit_null && explicit_null->is_null()) return;
  LocalAttention local;
  local.layers = kinds_key ? LayerPattern(std::move(kinds.local)) : local_pattern(keys, c, t.layers);
  local.chunked = kinds.chunked;
  if (local.layers.count() == 0) return;
  if (!keys.find({name}) && c.window == 0 && !kinds_key) return;
  local.window = c.window > 0 ? keys.dimension_or({name}, c.window, "").value : keys.dimension({name}).value;
  t.local = std::move(local);
}

}  // namespace floplan::architecture::detail
