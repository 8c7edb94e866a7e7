// SPDX-License-Identifier: BSD-3-Clause
//
// The shape of a model from its Hugging Face config.json.
//
//   const LocatedJson document = LocatedJson::parse(text, "config.json");
//   const ModelFile file = read_hugging_face(document);
//
// The class that model_type names decides what the file does not say (hugging_face_class.hpp). A text model nested in
// text_config is read from there, and what sees or hears beside it is not counted, with a warning. Keys that change no
// weight and no attention are not read: quantization, rotary scaling, generation. A key that would change a count and is
// not read is an error (hugging_face_keys.hpp); all that is taken because the file does not say it is in one warning.
//
// Errors: Error(data) at file:line with the key as the file has it; unknown_model_type with the nearest that are known,
// unsupported_model_type with the reason for a shape that is no Transformer of ours, unknown_key.
// Pitfall: layers for the prediction of several tokens (num_nextn_predict_layers) are in a checkpoint's total and not here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "floplan/architecture/hugging_face_class.hpp"
#include "floplan/architecture/hugging_face_keys.hpp"
#include "floplan/architecture/hugging_face_layers.hpp"
#include "floplan/architecture/hugging_face_refused.hpp"
#include "floplan/architecture/model_file_parts.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/located_json.hpp"
#include "floplan/core/names.hpp"

namespace floplan::architecture {

namespace detail {

class HuggingFaceReader {
 public:
  HuggingFaceReader(const FileKeys& keys, const FileKeys& outer, const HuggingFaceClass& c, ModelFile& file)
      : keys_(keys), outer_(outer), c_(c), file_(file), t_(file.shape) {}

  void read() {
    t_.gated = c_.gated;
    t_.norm = c_.norm;
    t_.norms_a_layer = c_.norms;
    t_.embedding_norm = c_.embedding_norm;
    t_.attention_sinks = c_.attention_sinks;
    layers_ = keys_.dimension({"num_hidden_layers", "n_layer", "n_layers", "num_layers"}, most_layers);
    width_ = keys_.dimension({"hidden_size", "n_embd", "d_model", "n_embed"});
    const Names heads = {"num_attention_heads", "n_head", "n_heads", "num_heads"};
    heads_ = c_.default_heads > 0 ? keys_.dimension_or(heads, c_.default_heads, "") : keys_.dimension(heads);
    t_.layers = layers_.value;
    t_.width = width_.value;
    t_.heads = heads_.value;
    t_.vocabulary = c_.default_vocabulary > 0 ? keys_.dimension_or({"vocab_size"}, c_.default_vocabulary, "").value
                                              : keys_.dimension({"vocab_size"}).value;
    t_.tied_embeddings = tied();
    switch (c_.special) {
      case Special::mpt: mpt(); break;
      case Special::dbrx: dbrx(); break;
      default: usual(); break;
    }
    read_local(keys_, c_, t_);
    remarks();
    check_shape(t_, keys_.object().place());
  }

 private:
  [[nodiscard]] Error unsupported(const JsonValue& value, const std::string& why) const {
    return value.fail("is not supported: " + why, "unsupported_model_type");
  }
  void refuse_if(const char* flag, const std::string& why) const {
    const auto value = keys_.find({flag});
    if (value && value->boolean()) throw unsupported(*value, why);
  }

  [[nodiscard]] bool tied() const {
    if (const auto own = keys_.find({"tie_word_embeddings"})) return own->boolean();
    if (const auto around = outer_.find({"tie_word_embeddings"})) return around->boolean();
    return keys_.flag_or("tie_word_embeddings", c_.tied);
  }

  void usual() {
    if (c_.special == Special::latent) {
      latent();
    } else {
      key_value_heads();
      head_width();
    }
    biases();
    positions();
    read_experts(keys_, c_, t_);
    // gpt-oss, Mixtral and their like have no dense layer, and there intermediate_size is an expert's.
    if (t_.dense_layers() > 0) feed_forward_width();
    if (c_.query_key_norm_if == nullptr || keys_.flag_or(c_.query_key_norm_if, false))
      t_.query_key_norm = c_.query_key_norm;
    switch (c_.special) {
      case Special::falcon: falcon_norms(); break;
      case Special::phi:
        refuse_if("qk_layernorm", "norms of queries and keys with biases cannot be described");
        t_.biases.head = c_.head_bias || keys_.flag_or("lm_head_bias", false);
        break;
      case Special::stablelm:
        refuse_if("qk_layernorm", "norms of queries and keys that differ between heads cannot be described");
        if (keys_.flag_or("use_parallel_residual", false)) t_.norms_a_layer = 1;
        break;
      case Special::opt: opt(); break;
      case Special::gpt_neo: gpt_neo_layers(); break;
      default: break;
    }
  }

  void key_value_heads() {
    const Names names = {"num_key_value_heads", "n_head_kv", "num_kv_heads", "kv_n_heads"};
    if (c_.special == Special::one_key_head || c_.special == Special::falcon) {
      const bool grouped = c_.special == Special::falcon && keys_.flag_or("new_decoder_architecture", false);
      if (!grouped) {
        t_.kv_heads = keys_.flag_or("multi_query", true) ? 1 : t_.heads;
        return;
      }
    }
    t_.kv_heads = t_.heads;
    const auto given = keys_.optional_dimension(names);
    if (has_plain_heads(c_)) {
      if (given && given->value != t_.heads)
        throw given->fail("must be " + std::to_string(t_.heads) + ", as the class has keys and values for every head");
      return;
    }
    if (given) {
      given->must_divide(heads_);
      t_.kv_heads = given->value;
    } else if (c_.kv_heads > 0 && !keys_.says_null("num_key_value_heads")) {
      const FileNumber kv = keys_.dimension_or(names, c_.kv_heads, "");
      kv.must_divide(heads_);
      t_.kv_heads = kv.value;
    } else {
      keys_.warn_assumed("num_key_value_heads", std::to_string(t_.heads), "one a head");
    }
  }

  void head_width() {
    if (c_.head_width > 0) {
      t_.head_width = keys_.dimension_or({"head_dim"}, c_.head_width, "").value;
      return;
    }
    if (const auto given = keys_.optional_dimension({"head_dim"})) {
      t_.head_width = given->value;
      if (has_plain_heads(c_) && given->value * heads_.value != width_.value)
        throw given->fail("must be " + width_.name + " over " + heads_.name + ", which is all that the class builds");
      return;
    }
    if (width_.value % heads_.value != 0) {
      throw heads_.fail("must divide " + width_.name + " (" + std::to_string(width_.value) + ") where " +
                            keys_.named("head_dim") + " is not given",
                        "does_not_divide");
    }
    t_.head_width = width_.value / heads_.value;
    keys_.warn_assumed("head_dim", std::to_string(t_.head_width),
                       width_.name + " over " + heads_.name +
                           (c_.head_width_published ? "" : "; released models of this class have another"));
  }

  void latent() {
    LatentAttention a;
    const auto query_rank = keys_.optional_dimension({"q_lora_rank"});
    a.query_rank = query_rank ? query_rank->value : keys_.says_null("q_lora_rank") ? 0 : c_.query_rank;
    if (!query_rank && a.query_rank > 0)
      keys_.warn_assumed("q_lora_rank", std::to_string(a.query_rank), "null for none");
    a.kv_rank = keys_.dimension({"kv_lora_rank"}).value;
    a.plain_width = keys_.dimension({"qk_nope_head_dim"}).value;
    a.rotary_width = keys_.dimension({"qk_rope_head_dim"}).value;
    a.value_width = keys_.dimension({"v_head_dim"}).value;
    t_.latent = a;
    if (a.query_rank == 0)
      refuse_if("attention_bias", "biases of latent attention without q_lora_rank cannot be described");
  }

  [[nodiscard]] bool bias(const char* key, bool otherwise) const {
    return key == nullptr ? otherwise : keys_.flag_or(key, otherwise);
  }
  void biases() {
    t_.biases.queries_keys_values = bias(c_.attention_bias, c_.attention_bias_default);
    t_.biases.attention_output = bias(c_.output_bias, c_.output_bias_default);
    t_.biases.feed_forward = bias(c_.mlp_bias, c_.mlp_bias_default);
    t_.biases.head = c_.head_bias;
  }

  void positions() {
    if (c_.positions_beyond < 0) return;
    t_.learned_positions = keys_.dimension({"n_positions", "max_position_embeddings"}, most_of_a_dimension - 2).value +
                           c_.positions_beyond;
  }

  void feed_forward_width() {
    if (c_.experts == ExpertKeys::interleaved) {
      t_.ffn_width = keys_.dimension({"intermediate_size_mlp"}).value;
      return;
    }
    const Names names = {"intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"};
    if (c_.width == WidthKeys::given) {
      t_.ffn_width = keys_.dimension(names).value;
      return;
    }
    const std::int64_t four = product(width_, {4, "", "four"});
    const auto given = keys_.optional_dimension(names);
    t_.ffn_width = given ? given->value : four;
    if (given && c_.width == WidthKeys::four_times && given->value != four)
      throw given->fail("must be " + std::to_string(four) + ", as the class has four times " + width_.name);
    if (given) return;
    const bool falcon = c_.special == Special::falcon;
    const char* const own = falcon                                                ? "ffn_hidden_size"
                            : c_.special == Special::gpt_neo || c_.embedding_norm ? "intermediate_size"
                                                                                  : "n_inner";
    keys_.warn_assumed(own, std::to_string(four), "four times " + width_.name);
  }

  void falcon_norms() {
    if (keys_.flag("new_decoder_architecture", false)) {
      const auto norms = keys_.find({"num_ln_in_parallel_attn"});
      t_.norms_a_layer = norms ? norms->whole_number(1, 2) : 2;
    } else {
      t_.norms_a_layer = keys_.flag_or("parallel_attn", true) ? 1 : 2;
    }
  }

  void opt() {
    const auto projected = keys_.optional_dimension({"word_embed_proj_dim"});
    if (projected && projected->value != width_.value)
      throw projected->fail("must equal " + width_.name + ": projections of embeddings cannot be described",
                            "unsupported_model_type");
    const auto before = keys_.find({"do_layer_norm_before"});
    if (before && !before->boolean()) throw unsupported(*before, "a stack without a last norm cannot be described");
    if (!keys_.flag("layer_norm_elementwise_affine", true)) t_.norm = Norm::none;
  }

  // attention_layers: ["global", "local", ...], or attention_types: [[["global", "local"], 12]].
  void gpt_neo_layers() {
    std::vector<JsonValue> kinds;
    if (const auto list = keys_.find({"attention_layers"})) {
      kinds = one_a_layer(*list, t_.layers);
    } else {
      const JsonValue groups = keys_.required({"attention_types"});
      for (const JsonValue& group : groups.items()) {
        const std::vector<JsonValue> pair = group.items();
        if (pair.size() != 2 || pair[0].kind() != JsonValue::Kind::array)
          throw group.fail("must be a list of kinds and how often it repeats");
        const std::int64_t times = pair[1].whole_number(1, t_.layers);
        const std::vector<JsonValue> block = pair[0].items();
        for (std::int64_t i = 0; i < times && kinds.size() <= static_cast<std::size_t>(t_.layers); ++i)
          kinds.insert(kinds.end(), block.begin(), block.end());
      }
      if (static_cast<std::int64_t>(kinds.size()) != t_.layers)
        throw groups.fail("must name a kind for each of " + std::to_string(t_.layers) + " layers");
    }
    std::vector<bool> local;
    for (const JsonValue& kind : kinds) {
      if (kind.string() != "global" && kind.string() != "local") throw kind.fail("must be global or local");
      local.push_back(kind.string() == "local");
    }
    LayerPattern pattern(std::move(local));
    if (pattern.count() > 0)
      t_.local = LocalAttention{keys_.dimension_or({"window_size"}, 256, "").value, false, pattern};
  }

  void mpt() {
    const FileNumber ratio = keys_.dimension_or({"expansion_ratio"}, 4, "");
    t_.ffn_width = product(width_, ratio);
    const bool without_bias = keys_.flag_or("no_bias", true);
    t_.norm = keys_.word("norm_type").find("rms") != std::string::npos ? Norm::rms
              : without_bias                                           ? Norm::layer_without_bias
                                                                       : Norm::layer;
    if (!without_bias) t_.biases = {true, true, true, false};
    t_.kv_heads = t_.heads;
    bool placed = true;  // by ALiBi or rotation, and not by learned vectors
    if (keys_.find({"attn_config"})) {
      const FileKeys attention = keys_.inside("attn_config");
      check_spelling(attention);
      const auto norm = attention.find({"qk_ln"});
      if (norm && norm->boolean()) throw unsupported(*norm, "norms of queries and keys of this class are not known");
      placed = attention.flag("rope", false) || attention.flag_or("alibi", true);
      const std::string type = attention.word("attn_type", "multihead_attention");
      if (type == "multiquery_attention") t_.kv_heads = 1;
      if (type == "grouped_query_attention") static_cast<void>(attention.required({"kv_n_heads"}));
      if (const auto kv = attention.optional_dimension({"kv_n_heads"})) {
        kv->must_divide(heads_);
        t_.kv_heads = kv->value;
      }
    } else {
      keys_.warn_assumed("attn_config", "a key and value a head, alibi", "");
    }
    if (!placed && keys_.flag_or("learned_pos_emb", true))
      t_.learned_positions = keys_.dimension({"max_seq_len"}).value;
    head_width();
  }

  void dbrx() {
    const FileKeys attention = keys_.inside("attn_config");
    const FileKeys blocks = keys_.inside("ffn_config");
    check_spelling(attention);
    check_spelling(blocks);
    const FileNumber kv = attention.dimension({"kv_n_heads"});
    kv.must_divide(heads_);
    t_.kv_heads = kv.value;
    head_width();
    const FileNumber count = blocks.dimension({"moe_num_experts"});
    const FileNumber active = blocks.dimension({"moe_top_k"});
    active.must_be_at_most(count);
    t_.experts = Experts{count.value, active.value, blocks.dimension({"ffn_hidden_size"}).value, 0,
                         LayerPattern::all(t_.layers)};
  }

  void remarks() {
    if (const auto later = keys_.optional_dimension({"num_nextn_predict_layers"}, 0); later && later->value > 0) {
      keys_.warnings().push_back({"not_counted", later->name + " is " + std::to_string(later->value) +
                                                     ": the layers that predict further tokens are not counted"});
    }
    for (const char* name : {"max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "n_ctx"}) {
      if (const auto context = keys_.optional_dimension({name})) {
        file_.longest_context = Tokens(static_cast<double>(context->value));
        return;
      }
    }
  }

  const FileKeys& keys_;
  const FileKeys& outer_;
  const HuggingFaceClass& c_;
  ModelFile& file_;
  Transformer& t_;
  FileNumber layers_, width_, heads_;
};

// The row of a model_type, or the error that says what is known.
[[nodiscard]] inline const HuggingFaceClass& class_of(const JsonValue& model_type) {
  const std::string& name = model_type.string();
  if (const HuggingFaceClass* c = find_class(name)) return *c;
  if (const char* reason = refusal(name)) {
    throw Error(Failure::data, "unsupported_model_type", model_type.place(),
                model_type.path() + " must be of a stack of attention and feed-forward layers, got \"" + name +
                    "\": " + reason);
  }
  const std::vector<std::string> known = hugging_face_types();
  std::string all;
  for (const std::string& type : known) all += (all.empty() ? "" : ", ") + type;
  throw Error(Failure::data, "unknown_model_type", model_type.place(),
              model_type.path() + " must be one of those known, got \"" + shown(name) + "\"" +
                  nearest_names_text(name, known) + ". Known are " + all);
}

}  // namespace detail

[[nodiscard]] inline ModelFile read_hugging_face(const LocatedJson& document) {
  ModelFile out;
  out.format = "Hugging Face";
  std::vector<std::string> taken;
  const detail::FileKeys outer(document.root(), out.warnings, &taken);
  std::optional<detail::FileKeys> text;
  for (const char* name : {"text_config", "language_config", "llm_config"}) {
    if (!text && outer.find({name})) text = outer.inside(name);
  }
  const detail::FileKeys keys = text ? *text : outer;
  std::optional<JsonValue> model_type = keys.find({"model_type"});
  if (!model_type) model_type = outer.required({"model_type"}, "which names the class that decides on the rest");
  const detail::HuggingFaceClass& c = detail::class_of(*model_type);
  out.model_type = model_type->string();
  // A class that is refused is so too around a text model that is not.
  const auto around = outer.find({"model_type"});
  const bool named = around && around->kind() == JsonValue::Kind::string;
  if (named && detail::refusal(around->string()) != nullptr) static_cast<void>(detail::class_of(*around));
  const detail::HuggingFaceClass* const whole = named ? detail::find_class(around->string()) : nullptr;
  detail::check_common_keys(outer);
  detail::check_architectures(outer, whole != nullptr ? *whole : c);
  detail::check_architectures(keys, c);
  detail::check_keys(keys, c);
  for (const char* name : {"_name_or_path", "name"}) {
    if (const auto value = outer.object().find(name); value && value->kind() == JsonValue::Kind::string)
      if (out.name.empty()) out.name = value->string();
  }
  if (text || outer.find({"vision_config"}) || outer.find({"audio_config"})) {
    out.warnings.push_back(
        {"not_counted", "only the text model is counted: what the file has beside it, for images or sound, is not"});
  }
  detail::HuggingFaceReader(keys, outer, c, out).read();
  if (!taken.empty()) {
    std::string all;
    for (const std::string& one : taken) all += (all.empty() ? "" : ", ") + one;
    out.warnings.push_back({"assumed", document.name() + " does not give " + all + ": taken as the class " +
                                           shown(out.model_type) + " defines them"});
  }
  return out;
}

}  // namespace floplan::architecture
