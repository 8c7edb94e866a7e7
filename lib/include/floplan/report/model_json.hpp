// SPDX-License-Identifier: BSD-3-Clause
//
// A model's shape and what follows from it, as JSON: `floplan model` and `floplan catalog models`.
//
//   result = model_json(model, {.sequence_length = Tokens(8192), .precision = catalog::Precision::bf16});
//
// Keys: parameters.{total, active, active_without_input_embedding, embedding, non_embedding}; flop_per_token.{six_n, causal,
// full, megatron}, training FLOP, and the same with forward_ (a third) and backward_; recomputed_flop_per_token.{selective,
// full}, what recomputation adds by the causal count; bytes of weights, of a checkpoint at 12 and 14 bytes a parameter, and
// of the cache. The shape's own keys are those of data/catalog/models.csv; a part that the model has not is left out.
//
// Pitfall: kv_bytes_per_token is of a token before any window is full; kv_bytes of a whole context caps local layers.
#pragma once

#include <string>
#include <utility>

#include "floplan/architecture/kv_cache.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "floplan/architecture/training_flop.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/catalog/records.hpp"
#include "floplan/report/json.hpp"

namespace floplan::report {

[[nodiscard]] inline std::string to_text(architecture::Norm norm) {
  switch (norm) {
    case architecture::Norm::layer: return "layer";
    case architecture::Norm::layer_without_bias: return "layer_without_bias";
    case architecture::Norm::none: return "none";
    case architecture::Norm::rms: break;
  }
  return "rms";
}
[[nodiscard]] inline std::string to_text(architecture::QueryKeyNorm norm) {
  switch (norm) {
    case architecture::QueryKeyNorm::per_head: return "per_head";
    case architecture::QueryKeyNorm::whole: return "whole";
    case architecture::QueryKeyNorm::none: break;
  }
  return "none";
}

// The shape, by the column names of data/catalog/models.csv.
[[nodiscard]] inline Json shape_json(const architecture::Transformer& t) {
  Json out = {{"layers", t.layers}, {"width", t.width}, {"heads", t.heads}};
  if (!t.latent) {
    out["kv_heads"] = t.kv_heads;
    out["head_width"] = t.head_width;
  }
  out["ffn_width"] = t.ffn_width;
  out["vocabulary"] = t.vocabulary;
  out["tied_embeddings"] = t.tied_embeddings;
  out["feed_forward"] = t.gated ? "gated" : "plain";
  out["norm"] = to_text(t.norm);
  out["norms_a_layer"] = t.norms_a_layer;
  out["query_key_norm"] = to_text(t.query_key_norm);
  out["biases"] = {{"queries_keys_values", t.biases.queries_keys_values},
                   {"attention_output", t.biases.attention_output},
                   {"feed_forward", t.biases.feed_forward},
                   {"head", t.biases.head}};
  if (t.embedding_norm) out["embedding_norm"] = true;
  if (t.attention_sinks) out["attention_sinks"] = true;
  if (t.learned_positions > 0) out["learned_positions"] = t.learned_positions;
  if (t.relative_positions) out["relative_positions"] = true;
  if (t.latent) {
    out["latent_attention"] = {{"query_rank", t.latent->query_rank},
                               {"kv_rank", t.latent->kv_rank},
                               {"plain_width", t.latent->plain_width},
                               {"rotary_width", t.latent->rotary_width},
                               {"value_width", t.latent->value_width}};
  }
  if (t.experts) {
    out["experts"] = {{"count", t.experts->count},
                      {"active", t.experts->active},
                      {"width", t.experts->width},
                      {"shared_width", t.experts->shared_width},
                      {"layers", t.experts->layers.text()},
                      {"router_bias", t.experts->router_bias},
                      {"shared_gate", t.experts->shared_gate}};
  }
  if (t.local) {
    out["local_attention"] = {{"window", t.local->window},
                              {"kind", t.local->chunked ? "chunked" : "sliding"},
                              {"layers", t.local->layers.text()}};
  }
  return out;
}

[[nodiscard]] inline Json to_json(const architecture::ParameterCount& count) {
  return {{"total", count_json(count.total)},
          {"active", count_json(count.active)},
          {"active_without_input_embedding", count_json(count.active_without_input_embedding())},
          {"embedding", count_json(count.embedding)},
          {"non_embedding", count_json(count.non_embedding)}};
}

// What a model is asked about.
struct ModelQuestion {
  Tokens sequence_length{};  // of training, for attention FLOP
  Tokens context{};          // of generation, for the cache
  catalog::Precision precision = catalog::Precision::bf16;
};

[[nodiscard]] inline Json model_json(const catalog::Model& model, const ModelQuestion& q) {
  using architecture::Recompute;
  const architecture::Transformer& t = model.shape;
  const architecture::ParameterCount count = architecture::parameter_count(t);
  const auto flop = architecture::training_flop_per_token(t, q.sequence_length);
  const auto again = [&](Recompute recompute) {
    return architecture::recomputed_flop_per_token(t, q.sequence_length, recompute, law::FlopConvention::causal).value;
  };
  const auto of_each_convention = [&flop](double share) {
    return Json{{"six_n", share * flop.six_n.value},
                {"causal", share * flop.causal.value},
                {"full", share * flop.full.value},
                {"megatron", share * flop.megatron.value}};
  };
  const double bytes = catalog::bytes_per_value(q.precision);
  Json by_precision = Json::object();
  for (const auto precision : {catalog::Precision::bf16, catalog::Precision::fp8, catalog::Precision::fp4})
    by_precision[catalog::to_text(precision)] = count_json(count.total.value * catalog::bytes_per_value(precision));
  Json out = {
      {"name", model.name},
      {"title", model.title},
      {"parameters", to_json(count)},
      {"flop_per_token", of_each_convention(1)},
      {"forward_flop_per_token", of_each_convention(1.0 / 3)},
      {"backward_flop_per_token", of_each_convention(2.0 / 3)},
      {"recomputed_flop_per_token", {{"selective", again(Recompute::selective)}, {"full", again(Recompute::full)}}},
      {"kv_bytes_per_token", count_json(architecture::kv_bytes_per_token(t, bytes))},
      {"context", count_json(q.context)},
      {"kv_bytes", count_json(architecture::kv_bytes(t, q.context, bytes))},
      {"weights_bytes", count_json(count.total.value * bytes)},
      {"weights_bytes_by_precision", std::move(by_precision)},
      {"checkpoint_bytes",
       {{"low", count_json(12 * count.total.value)}, {"high", count_json(14 * count.total.value)}}}};
  out.update(shape_json(t));
  out["sequence_length"] = count_json(q.sequence_length);
  out["published_parameters"] = count_json(model.published_parameters);
  out["published_active_parameters"] = count_json(model.published_active_parameters);
  out["difference"] = model.difference;
  out["source"] = model.provenance.source;
  out["verified"] = model.provenance.verified;
  return out;
}

}  // namespace floplan::report
