// SPDX-License-Identifier: BSD-3-Clause
//
// The shape of a model from the JSON that two simulators keep: calculon's models/*.json and llm-analysis' model_configs.
//
//   calculon        hidden, feedforward, seq_size, attn_heads, attn_size, num_blocks
//                   a plain block with biases and LayerNorm; calculon has a vocabulary of 51200 in its code
//   llm-analysis    name, num_layers, n_head, hidden_dim, vocab_size, max_seq_len, num_key_value_heads, ffn_embed_dim or
//                   expansion_ratio, mlp_gated_linear_units, moe_num_experts, moe_top_k, model_type
//
// What llm-analysis leaves out (norms, biases, tied embeddings) is that of the Hugging Face class its model_type names.
//
// Source: calculon-ai/calculon (models), cli99/llm-analysis (llm_analysis/config.py), as facts.
// Errors: Error(data) at file:line with the key.
// Pitfall: llm-analysis fills in ffn_embed_dim = 4 x hidden_dim where it is absent and writes it to the file, also for
// models with gated blocks: its Llama-2-7b has 16384 for 11008, which is 8.85e9 parameters instead of 6.74e9.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include "floplan/architecture/hugging_face_class.hpp"
#include "floplan/architecture/hugging_face_keys.hpp"
#include "floplan/architecture/hugging_face_refused.hpp"
#include "floplan/architecture/layer_pattern.hpp"
#include "floplan/architecture/model_file_parts.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/located_json.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::architecture {

namespace detail {

// A ratio as a program wrote it: 4, 4.0 or 2.6875.
[[nodiscard]] inline double ratio(const JsonValue& value) {
  double out = 0;
  const std::string& digits = value.text();
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (value.kind() != JsonValue::Kind::number || error != std::errc() || end != digits.data() + digits.size() ||
      !(out > 0 && out <= 1e9)) {
    throw value.fail("must be a positive number up to 1e9");
  }
  return out;
}

inline constexpr std::array llm_analysis_keys = {"num_layers",
                                                 "n_head",
                                                 "hidden_dim",
                                                 "vocab_size",
                                                 "max_seq_len",
                                                 "num_key_value_heads",
                                                 "num_key_value_groups",
                                                 "ffn_embed_dim",
                                                 "expansion_ratio",
                                                 "mlp_gated_linear_units",
                                                 "model_type",
                                                 "moe_num_experts",
                                                 "moe_top_k",
                                                 "moe_intermediate_size",
                                                 "moe_num_shared_experts",
                                                 "head_dim",
                                                 "tie_word_embeddings"};
inline constexpr std::array calculon_keys = {"hidden",    "feedforward", "seq_size", "attn_heads",
                                             "attn_size", "num_blocks",  "kv_heads", "vocab_size"};

class LlmAnalysisReader {
 public:
  LlmAnalysisReader(const FileKeys& keys, ModelFile& file) : keys_(keys), file_(file), t_(file.shape) {}

  void read() {
    t_.layers = keys_.dimension({"num_layers"}, most_layers).value;
    width_ = keys_.dimension({"hidden_dim"});
    heads_ = keys_.dimension({"n_head"});
    t_.width = width_.value;
    t_.heads = heads_.value;
    t_.vocabulary = keys_.dimension({"vocab_size"}).value;
    check_spelling(keys_, llm_analysis_keys, std::array<const char*, 0>{});
    if (const auto own = keys_.optional_dimension({"head_dim"})) {
      t_.head_width = own->value;
    } else {
      heads_.must_divide(width_);
      t_.head_width = t_.width / t_.heads;
    }
    key_value_heads();
    class_parts();
    feed_forward();
    check_shape(t_, keys_.object().place());
    remark_wide_gate();
  }

 private:
  void key_value_heads() {
    t_.kv_heads = t_.heads;
    const auto kv = keys_.optional_dimension({"num_key_value_heads"});
    const auto groups = keys_.find({"num_key_value_groups"});
    if (kv) {
      kv->must_divide(heads_);
      t_.kv_heads = kv->value;
    }
    if (!groups) return;
    // Heads that share one key and value, which the program computes by a division: 8.0.
    const double shared = ratio(*groups);
    const double kv_heads = static_cast<double>(t_.heads) / shared;
    if (kv_heads < 1 || kv_heads != std::floor(kv_heads))
      throw groups->fail("must divide " + heads_.name + " (" + std::to_string(t_.heads) + ")", "does_not_divide");
    if (kv && static_cast<double>(kv->value) != kv_heads) {
      throw groups->fail("must be " + heads_.name + " over " + kv->name + " (" + std::to_string(t_.heads) + " over " +
                             std::to_string(kv->value) + ")",
                         "disagrees");
    }
    t_.kv_heads = static_cast<std::int64_t>(kv_heads);
    FileNumber{t_.kv_heads, groups->place(), "the heads that " + groups->path() + " leaves"}.must_divide(heads_);
  }

  void class_parts() {
    file_.model_type = keys_.word("model_type");
    const HuggingFaceClass* c = find_class(file_.model_type);
    refuse_type(c);
    const auto gated = keys_.find({"mlp_gated_linear_units"});
    if (c != nullptr) {
      t_.gated = c->gated;
      t_.norm = c->norm;
      t_.norms_a_layer = c->norms;
      t_.embedding_norm = c->embedding_norm;
      t_.tied_embeddings = c->tied;
      t_.biases = {c->attention_bias_default, c->output_bias_default, c->mlp_bias_default, c->head_bias};
      if (c->query_key_norm_if == nullptr) t_.query_key_norm = c->query_key_norm;
      keys_.warnings().push_back({"assumed", "norms, biases" + std::string(gated ? "" : ", gates") +
                                                 " and tied embeddings are not in the file: those of the class " +
                                                 file_.model_type + " are taken"});
    } else {
      t_.gated = gated && gated->boolean();
      t_.norm = t_.gated ? Norm::rms : Norm::layer;
      keys_.warnings().push_back(
          {"assumed", "norms, biases and tied embeddings are not in the file, and model_type" +
                          (file_.model_type.empty() ? std::string(" is not given")
                                                    : " \"" + shown(file_.model_type) + "\" is not known") +
                          ": no biases and untied embeddings are taken"});
    }
    if (gated) t_.gated = gated->boolean();
    if (const auto tied = keys_.find({"tie_word_embeddings"})) t_.tied_embeddings = tied->boolean();
    if (const auto given = keys_.find({"max_seq_len"})) {
      const auto context = std::optional(FileKeys::number(*given, 1, longest_sequence));
      file_.longest_context = Tokens(static_cast<double>(context->value));
      if (c != nullptr && c->positions_beyond >= 0) t_.learned_positions = context->value + c->positions_beyond;
    }
  }

  // Classes whose layers the format has no keys for.
  void refuse_type(const HuggingFaceClass* c) const {
    const char* reason = refusal(file_.model_type);
    if (c != nullptr && c->special == Special::latent) reason = "the format has no keys for latent attention";
    if (c != nullptr && c->special != Special::latent &&
        (c->experts == ExpertKeys::after_first || c->experts == ExpertKeys::interleaved))
      reason = "the format cannot say which layers have experts";
    if (reason != nullptr)
      throw keys_.required({"model_type"}).fail(std::string("is not supported: ") + reason, "unsupported_model_type");
    if (c != nullptr && c->experts != ExpertKeys::none)
      static_cast<void>(keys_.required({"moe_num_experts"}, "as the class " + file_.model_type + " has experts"));
  }

  void feed_forward() {
    if (const auto own = keys_.optional_dimension({"ffn_embed_dim"})) {
      t_.ffn_width = own->value;
    } else if (const auto times = keys_.find({"expansion_ratio"})) {
      const double width = ratio(*times) * static_cast<double>(t_.width);
      if (width != std::floor(width) || width > static_cast<double>(most_of_a_dimension))
        throw times->fail("times " + width_.name + " must be a whole number up to 2147483647");
      t_.ffn_width = static_cast<std::int64_t>(width);
    } else {
      t_.ffn_width = product(width_, {4, "", "four"});
      keys_.warn_assumed("ffn_embed_dim", std::to_string(t_.ffn_width),
                         "the default of llm-analysis, 4 times hidden_dim");
    }
    const auto count = keys_.optional_dimension({"moe_num_experts"});
    if (!count || count->value == 1) return;
    const FileNumber active = keys_.dimension({"moe_top_k"});
    active.must_be_at_most(*count);
    const auto width = keys_.optional_dimension({"moe_intermediate_size"});
    Experts e;
    e.count = count->value;
    e.active = active.value;
    e.width = width ? width->value : t_.ffn_width;
    const auto shared = keys_.optional_dimension({"moe_num_shared_experts"}, 0);
    if (shared) e.shared_width = product(*shared, {e.width, "", "the width of an expert"});
    e.layers = LayerPattern::all(t_.layers);
    t_.experts = e;
    t_.ffn_width = 0;
  }

  // A gated block of three matrices usually has about 8/3 h, so that it weighs as much as a plain one of 4 h.
  void remark_wide_gate() const {
    const std::int64_t width = t_.experts ? t_.experts->width : t_.ffn_width;
    if (!t_.gated || width != 4 * t_.width) return;
    Transformer usual = t_;
    std::int64_t& other = usual.experts ? usual.experts->width : usual.ffn_width;
    other = (8 * t_.width / 3 + 255) / 256 * 256;
    keys_.warnings().push_back(
        {"wide_gated_block", "a gated block of 4 times the width is unusual, and " + std::to_string(width) +
                                 " is what llm-analysis fills in: " + print(parameter_count(t_).total) +
                                 " parameters, where 8/3 times the width (" + std::to_string(other) + ") would be " +
                                 print(parameter_count(usual).total)});
  }

  const FileKeys& keys_;
  ModelFile& file_;
  Transformer& t_;
  FileNumber width_, heads_;
};

}  // namespace detail

[[nodiscard]] inline ModelFile read_calculon(const LocatedJson& document) {
  ModelFile out;
  out.format = "calculon";
  const detail::FileKeys keys(document.root(), out.warnings);
  Transformer& t = out.shape;
  t.layers = keys.dimension({"num_blocks"}, detail::most_layers).value;
  t.width = keys.dimension({"hidden"}).value;
  detail::check_spelling(keys, detail::calculon_keys, std::array<const char*, 0>{});
  const detail::FileNumber heads = keys.dimension({"attn_heads"});
  t.heads = t.kv_heads = heads.value;
  // Not of calculon itself, whose blocks have keys and values for every head: a file that has it means it.
  if (const auto kv = keys.optional_dimension({"kv_heads", "attn_kv_heads", "num_kv_heads", "num_key_value_heads"})) {
    kv->must_divide(heads);
    t.kv_heads = kv->value;
  }
  t.head_width = keys.dimension({"attn_size"}).value;
  t.ffn_width = keys.dimension({"feedforward"}).value;
  out.sequence_length = Tokens(static_cast<double>(keys.dimension({"seq_size"}, detail::longest_sequence).value));
  t.gated = false;
  t.norm = Norm::layer;
  t.biases = {true, true, true, false};
  t.tied_embeddings = true;
  const auto vocabulary = keys.optional_dimension({"vocab_size", "vocab"});
  t.vocabulary = vocabulary ? vocabulary->value : 51200;
  out.warnings.push_back(
      {"assumed",
       std::string(vocabulary ? "tied embeddings and no learned positions are taken, of which the file says "
                                "nothing"
                              : "the vocabulary is not in the file: 51200 is taken, which calculon has in its "
                                "code, with tied embeddings and no learned positions")});
  detail::check_shape(t, keys.object().place());
  return out;
}

[[nodiscard]] inline ModelFile read_llm_analysis(const LocatedJson& document) {
  ModelFile out;
  out.format = "llm-analysis";
  const detail::FileKeys keys(document.root(), out.warnings);
  out.name = keys.word("name");
  detail::LlmAnalysisReader(keys, out).read();
  return out;
}

}  // namespace floplan::architecture
