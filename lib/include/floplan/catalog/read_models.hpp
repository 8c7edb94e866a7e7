// SPDX-License-Identifier: BSD-3-Clause
//
// Turning data/catalog/models.csv into models: one row a shape.
//
//   const std::vector<Model> models = read_models(parse_csv(text, "models.csv"));
//
// Columns are those of data/README.md. Only the dense dimensions must be there; a blank cell of the others means that the
// model has no such part, or the usual one: gated feed-forward, RMS norms, two a layer. Patterns of layers are written as
// Megatron-LM writes them, [0]*3+[1]*58; `extras` lists what has no number of its own: qkv_bias;attention_sinks.
//
// Errors: Error(data) at file:line:column for an unknown column or word, a cell that is no number, or an impossible shape.
// Pitfall: a count is never read but always computed; published_parameters is only compared with it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/architecture/layer_pattern.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/catalog/read_records.hpp"
#include "floplan/catalog/record_reader.hpp"
#include "floplan/catalog/records.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/core/names.hpp"

namespace floplan::catalog {

namespace detail {

// What a model has or has not, by its word in the column `extras`.
struct Extra {
  const char* word;
  bool& (*in)(architecture::Transformer&);
};
inline constexpr std::array extras = {
    Extra{"qkv_bias", [](architecture::Transformer& t) -> bool& { return t.biases.queries_keys_values; }},
    Extra{"output_bias", [](architecture::Transformer& t) -> bool& { return t.biases.attention_output; }},
    Extra{"ffn_bias", [](architecture::Transformer& t) -> bool& { return t.biases.feed_forward; }},
    Extra{"head_bias", [](architecture::Transformer& t) -> bool& { return t.biases.head; }},
    Extra{"embedding_norm", [](architecture::Transformer& t) -> bool& { return t.embedding_norm; }},
    Extra{"relative_positions", [](architecture::Transformer& t) -> bool& { return t.relative_positions; }},
    Extra{"attention_sinks", [](architecture::Transformer& t) -> bool& { return t.attention_sinks; }},
};
// The same, of its experts.
struct ExpertExtra {
  const char* word;
  bool architecture::Experts::*in;
};
inline constexpr std::array expert_extras = {ExpertExtra{"router_bias", &architecture::Experts::router_bias},
                                             ExpertExtra{"shared_gate", &architecture::Experts::shared_gate}};

inline void read_extras(const RecordReader& r, architecture::Transformer& t) {
  for (const std::string& word : r.list("extras")) {
    const auto extra = std::find_if(extras.begin(), extras.end(), [&](const Extra& e) { return e.word == word; });
    if (extra != extras.end()) {
      extra->in(t) = true;
      continue;
    }
    const auto of_experts =
        std::find_if(expert_extras.begin(), expert_extras.end(), [&](const ExpertExtra& e) { return e.word == word; });
    if (of_experts != expert_extras.end()) {
      if (!t.experts) throw r.fail("extras", "must not have " + word + " without experts");
      (*t.experts).*of_experts->in = true;
      continue;
    }
    std::vector<std::string> known;
    for (const Extra& e : extras) known.emplace_back(e.word);
    for (const ExpertExtra& e : expert_extras) known.emplace_back(e.word);
    throw r.fail("extras",
                 "must list parts that a model can have, got \"" + word + "\"" + nearest_names_text(word, known));
  }
}

[[nodiscard]] inline architecture::LayerPattern read_pattern(const RecordReader& r, const char* title) {
  const std::string text = r.required_text(title);
  try {
    return architecture::LayerPattern::parse(text, title);
  } catch (const Error& error) {
    throw r.fail(title, std::string("must be a pattern of layers: ") + error.what());
  }
}

// A cell that says something of a part whose own cell is blank would be lost.
inline void require_part(const RecordReader& r, const char* part, std::initializer_list<const char*> titles) {
  if (!r.text(part).empty()) return;
  for (const char* title : titles) {
    if (!r.text(title).empty()) throw r.fail(part, std::string("must be given, as ") + title + " is");
  }
}

inline void read_parts(const RecordReader& r, architecture::Transformer& t) {
  require_part(r, "kv_rank", {"query_rank", "plain_width", "rotary_width", "value_width"});
  require_part(r, "experts", {"experts_active", "expert_width", "shared_width", "expert_layers"});
  require_part(r, "window", {"local_kind", "local_layers"});
  using architecture::Norm;
  using architecture::QueryKeyNorm;
  if (!r.text("feed_forward").empty()) t.gated = r.one_of<bool>("feed_forward", {{"gated", true}, {"plain", false}});
  if (!r.text("norm").empty()) {
    t.norm = r.one_of<Norm>("norm", {{"rms", Norm::rms},
                                     {"layer", Norm::layer},
                                     {"layer_without_bias", Norm::layer_without_bias},
                                     {"none", Norm::none}});
  }
  t.norms_a_layer = r.integer("norms_a_layer").value_or(2);
  if (!r.text("query_key_norm").empty()) {
    t.query_key_norm = r.one_of<QueryKeyNorm>(
        "query_key_norm",
        {{"none", QueryKeyNorm::none}, {"per_head", QueryKeyNorm::per_head}, {"whole", QueryKeyNorm::whole}});
  }
  t.learned_positions = r.integer("learned_positions").value_or(0);
  if (const auto rank = r.integer("kv_rank")) {
    t.latent =
        architecture::LatentAttention{r.integer("query_rank").value_or(0), *rank, r.integer("plain_width").value_or(0),
                                      r.integer("rotary_width").value_or(0), r.required_integer("value_width")};
  }
  if (const auto count = r.integer("experts")) {
    architecture::Experts e;
    e.count = *count;
    e.active = r.required_integer("experts_active");
    e.width = r.required_integer("expert_width");
    e.shared_width = r.integer("shared_width").value_or(0);
    e.layers = r.text("expert_layers").empty()
                   ? architecture::LayerPattern::all(std::min<std::int64_t>(t.layers, 100000))
                   : read_pattern(r, "expert_layers");
    t.experts = std::move(e);
  }
  if (const auto window = r.integer("window")) {
    t.local = architecture::LocalAttention{
        *window,
        r.text("local_kind").empty() ? false : r.one_of<bool>("local_kind", {{"sliding", false}, {"chunked", true}}),
        r.text("local_layers").empty() ? architecture::LayerPattern::all(std::min<std::int64_t>(t.layers, 100000))
                                       : read_pattern(r, "local_layers")};
  }
  read_extras(r, t);
}

[[nodiscard]] inline Model read_model(const RecordReader& r) {
  Model m;
  m.aliases = r.list("aliases");
  m.title = r.text("title");
  m.shape.layers = r.required_integer("layers");
  m.shape.width = r.required_integer("width");
  m.shape.heads = r.required_integer("heads");
  m.shape.vocabulary = r.required_integer("vocabulary");
  m.shape.tied_embeddings = r.yes_no("tied_embeddings");
  read_parts(r, m.shape);
  if (!m.shape.latent) {
    m.shape.kv_heads = r.required_integer("kv_heads");
    m.shape.head_width = r.required_integer("head_width");
  }
  m.shape.ffn_width = m.shape.dense_layers() > 0 ? r.required_integer("ffn_width") : 0;
  m.sequence_length = r.quantity<Tokens>("sequence_length");
  m.published_parameters = r.quantity<Parameters>("published_parameters");
  m.published_active_parameters = r.quantity<Parameters>("published_active_parameters");
  m.difference = r.text("difference");
  m.training_tokens = r.quantity<Tokens>("training_tokens");
  m.provenance = r.provenance();
  try {
    architecture::check(m.shape);
  } catch (const Error& error) {
    throw r.fail("name", std::string("must be a possible shape: ") + error.what());
  }
  return m;
}

}  // namespace detail

[[nodiscard]] inline std::vector<Model> read_models(const CsvTable& table) {
  return detail::read_rows(table,
                           {"name",
                            "aliases",
                            "title",
                            "layers",
                            "width",
                            "heads",
                            "kv_heads",
                            "head_width",
                            "ffn_width",
                            "vocabulary",
                            "tied_embeddings",
                            "feed_forward",
                            "norm",
                            "norms_a_layer",
                            "query_key_norm",
                            "learned_positions",
                            "extras",
                            "query_rank",
                            "kv_rank",
                            "plain_width",
                            "rotary_width",
                            "value_width",
                            "experts",
                            "experts_active",
                            "expert_width",
                            "shared_width",
                            "expert_layers",
                            "window",
                            "local_kind",
                            "local_layers",
                            "sequence_length",
                            "published_parameters",
                            "published_active_parameters",
                            "difference",
                            "training_tokens"},
                           detail::read_model);
}

}  // namespace floplan::catalog
