// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "command.hpp"
#include "floplan/architecture/training_flop.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/report/catalog_json.hpp"

namespace floplan::cli {
namespace {

struct ModelOptions {
  std::string name;
  Text seq;
  std::string precision = "bf16";
};

double bytes_a_value(const std::string& precision) {
  using catalog::Precision;
  return catalog::bytes_per_value(precision == "bf16"  ? Precision::bf16
                                  : precision == "fp8" ? Precision::fp8
                                                       : Precision::fp4);
}

Answer show(const Session& session, const ModelOptions& o) {
  const catalog::Model model = session.catalog.model(o.name, "model");
  const architecture::Transformer& t = model.shape;
  const Tokens sequence =
      o.seq ? parse_between(*o.seq, "--seq", Tokens(1), Tokens(1e9)) : model.sequence_length.value_or(Tokens(8192));
  const architecture::ParameterCount count = architecture::parameter_count(t);
  const auto flop = architecture::training_flop_per_token(t, sequence);
  const double bytes = bytes_a_value(o.precision);
  const Bytes kv = architecture::kv_bytes_per_token(t, bytes);
  Answer answer;
  answer.inputs = {
      {"model", model.name}, {"sequence_length", report::count_json(sequence)}, {"precision", o.precision}};
  answer.result = {
      {"name", model.name},
      {"parameters",
       {{"total", report::count_json(count.total)},
        {"active", report::count_json(count.active)},
        {"embedding", report::count_json(count.embedding)},
        {"non_embedding", report::count_json(count.non_embedding)}}},
      {"flop_per_token", {{"six_n", flop.six_n.value}, {"causal", flop.causal.value}, {"full", flop.full.value}}},
      {"kv_bytes_per_token", report::count_json(kv)},
      {"weights_bytes", report::count_json(count.total.value * bytes)},
      {"layers", t.layers},
      {"width", t.width},
      {"heads", t.heads},
      {"kv_heads", t.kv_heads},
      {"head_width", t.head_width},
      {"ffn_width", t.ffn_width},
      {"vocabulary", t.vocabulary},
      {"tied_embeddings", t.tied_embeddings},
      {"sequence_length", report::count_json(sequence)},
      {"published_parameters", report::count_json(model.published_parameters)},
      {"source", model.provenance.source},
      {"verified", model.provenance.verified}};
  if (model.published_parameters && *model.published_parameters != count.total) {
    answer.warnings.push_back({"count_differs", "the published count is " + print(*model.published_parameters) +
                                                    ", this shape has " + print(count.total)});
  }
  report::Table table({"quantity", "value", "unit"});
  const auto row = [&table](const char* what, double value, int digits, const std::string& unit) {
    table.add({what, {value, digits}, unit});
  };
  row("parameters, total", count.total.value, 15, "");
  row("parameters, embedding", count.embedding.value, 15, "input and output tables");
  row("parameters, non-embedding", count.non_embedding.value, 15, "");
  row("FLOP a token, 6N", flop.six_n.value / 1e9, 6, "GFLOP");
  row("FLOP a token, 6N + causal attention", flop.causal.value / 1e9, 6, "GFLOP at " + print(sequence) + " tokens");
  row("FLOP a token, 6N + full attention", flop.full.value / 1e9, 6, "GFLOP at " + print(sequence) + " tokens");
  row("weights", count.total.value * bytes / 1e9, 5, "GB in " + o.precision);
  row("keys and values a token", kv.value, 9, "bytes in " + o.precision);
  answer.text = model.title + ": " + std::to_string(t.layers) + " layers of width " + std::to_string(t.width) + ", " +
                std::to_string(t.heads) + " heads of " + std::to_string(t.head_width) + ", " +
                std::to_string(t.kv_heads) + " key-value heads, feed-forward " + std::to_string(t.ffn_width) +
                ", vocabulary " + std::to_string(t.vocabulary) + (t.tied_embeddings ? ", tied" : "") + "\n\n" +
                table.text();
  answer.table = std::move(table);
  return answer;
}

}  // namespace

void add_model(Program& program) {
  const auto o = std::make_shared<ModelOptions>();
  Subcommand sub = program.add("model", "Parameters, FLOP a token and bytes of a model",
                               [o](const Session& s) { return show(s, *o); });
  sub.positional("model", o->name, "A model of the catalog, as llama-3.1-405b");
  sub.option("--seq", o->seq,
             "Sequence length for attention FLOP, as 8192 or 128Ki, which is 131072; the model's own if not given");
  sub.option("--precision", o->precision, "For bytes", {"bf16", "fp8", "fp4"});
}

}  // namespace floplan::cli
