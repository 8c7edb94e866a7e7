// SPDX-License-Identifier: BSD-3-Clause
//
// A model as people read it: its shape in a sentence, a table of what follows from it, and several models side by side.
//
//   std::cout << model_text(model, question);      Table t = model_comparison({a, b, c}, question);
//
// Pitfall: GB here is 1e9 bytes, as model cards count; an accelerator of "80 GB" may hold 80 GiB.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "floplan/architecture/kv_cache.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "floplan/architecture/training_flop.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/catalog/records.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/report/model_json.hpp"
#include "floplan/report/table.hpp"

namespace floplan::report {

// "MHA", "GQA 16:1", "MQA", "MLA".
[[nodiscard]] inline std::string attention_name(const architecture::Transformer& t) {
  if (t.latent) return "MLA";
  if (t.kv_heads == t.heads) return "MHA";
  return t.kv_heads == 1 ? "MQA" : "GQA " + std::to_string(t.heads / t.kv_heads) + ":1";
}

// "126 layers of width 16384, 128 heads of 128 (GQA 16:1), feed-forward 53248 (gated), vocabulary 128256".
[[nodiscard]] inline std::string shape_text(const architecture::Transformer& t) {
  const auto n = [](std::int64_t x) { return std::to_string(x); };
  std::string out = n(t.layers) + " layers of width " + n(t.width) + ", " + n(t.heads) + " heads of ";
  if (t.latent) {
    out +=
        n(t.latent->plain_width) + "+" + n(t.latent->rotary_width) + " (MLA, a latent of " + n(t.latent->kv_rank) + ")";
  } else {
    out += n(t.head_width) + " (" + attention_name(t) + ")";
  }
  if (t.dense_layers() > 0) {
    out += ", feed-forward " + n(t.ffn_width) + (t.gated ? " (gated)" : " (plain)");
    if (t.experts) out += " in " + n(t.dense_layers()) + (t.dense_layers() == 1 ? " layer" : " layers");
  }
  if (t.experts) {
    out += ", " + n(t.experts->active) + " of " + n(t.experts->count) + " experts of " + n(t.experts->width);
    if (t.experts->shared_width > 0) out += " and " + n(t.experts->shared_width) + " shared";
    if (t.dense_layers() > 0) out += " in " + n(t.experts->layers.count());
  }
  if (t.local) {
    out += ", " + n(t.local->layers.count()) + " layers with " + (t.local->chunked ? "chunks" : "a window") + " of " +
           n(t.local->window);
  }
  return out + ", vocabulary " + n(t.vocabulary) + (t.tied_embeddings ? ", tied" : "");
}

[[nodiscard]] inline Table model_table(const catalog::Model& model, const ModelQuestion& q) {
  using architecture::Recompute;
  const architecture::Transformer& t = model.shape;
  const architecture::ParameterCount count = architecture::parameter_count(t);
  const auto flop = architecture::training_flop_per_token(t, q.sequence_length);
  const std::string at = "GFLOP at " + print(q.sequence_length) + " tokens";
  const std::string precision = catalog::to_text(q.precision);
  const double bytes = catalog::bytes_per_value(q.precision);
  Table table({"quantity", "value", "unit"});
  const auto row = [&table](const std::string& what, double value, int digits, const std::string& unit) {
    table.add({what, {value, digits}, unit});
  };
  row("parameters, total", count.total.value, 15, "");
  if (t.experts) {
    row("parameters, active", count.active.value, 15, "used by one token");
    row("the same without input embedding", count.active_without_input_embedding().value, 15, "");
  }
  row("parameters, embedding", count.embedding.value, 15,
      t.tied_embeddings ? "one table, in and out" : "input and output tables");
  row("parameters, non-embedding", count.non_embedding.value, 15, "");
  row("FLOP a token, 6N", flop.six_n.value / 1e9, 6, t.experts ? "GFLOP, N active" : "GFLOP");
  row("FLOP a token, 6N + causal attention", flop.causal.value / 1e9, 6, at);
  row("FLOP a token, 6N + full attention", flop.full.value / 1e9, 6, at + " (PaLM's MFU)");
  row("FLOP a token, matrix products", flop.megatron.value / 1e9, 6, at + ", causal (Megatron's)");
  for (const auto& [recompute, name] :
       {std::pair(Recompute::selective, "selective"), std::pair(Recompute::full, "full")}) {
    const FlopPerToken again =
        architecture::recomputed_flop_per_token(t, q.sequence_length, recompute, law::FlopConvention::causal);
    row(std::string("  done again by ") + name + " recomputation", again.value / 1e9, 6, "GFLOP, hardware's only");
  }
  row("weights", count.total.value * bytes / 1e9, 5, "GB in " + precision);
  row("checkpoint, 12 bytes a parameter", 12 * count.total.value / 1e9, 5, "GB: FP32 weights and two moments");
  row("checkpoint, 14 bytes a parameter", 14 * count.total.value / 1e9, 5, "GB: and BF16 weights");
  row("keys and values a token", architecture::kv_bytes_per_token(t, bytes).value, 9, "bytes in " + precision);
  row("keys and values of a sequence", architecture::kv_bytes(t, q.context, bytes).value / 1e9, 5,
      "GB at " + print(q.context) + " tokens" + (t.local ? ", local layers capped" : ""));
  return table;
}

[[nodiscard]] inline std::string model_text(const catalog::Model& model, const ModelQuestion& q) {
  return (model.title.empty() ? model.name : model.title) + ": " + shape_text(model.shape) + "\n\n" +
         model_table(model, q).text();
}

[[nodiscard]] inline Table model_comparison(const std::vector<catalog::Model>& models, const ModelQuestion& q) {
  const double bytes = catalog::bytes_per_value(q.precision);
  const std::string precision = catalog::to_text(q.precision);
  Table table({"model", "parameters", "active", "embedding", "layers", "width", "attention", "6N (GFLOP)",
               "6N + causal (GFLOP)", "weights (GB, " + precision + ")", "KV a token (bytes)",
               "KV at " + print(q.context) + " (GB)"});
  for (const catalog::Model& m : models) {
    const architecture::ParameterCount count = architecture::parameter_count(m.shape);
    const auto flop = architecture::training_flop_per_token(m.shape, q.sequence_length);
    table.add({m.name,
               {count.total.value, 15},
               {count.active.value, 15},
               {count.embedding.value, 15},
               {static_cast<double>(m.shape.layers), 9},
               {static_cast<double>(m.shape.width), 9},
               attention_name(m.shape),
               {flop.six_n.value / 1e9, 5},
               {flop.causal.value / 1e9, 5},
               {count.total.value * bytes / 1e9, 5},
               {architecture::kv_bytes_per_token(m.shape, bytes).value, 9},
               {architecture::kv_bytes(m.shape, q.context, bytes).value / 1e9, 5}});
  }
  return table;
}

}  // namespace floplan::report
