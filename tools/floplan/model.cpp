// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "command.hpp"
#include "floplan/catalog/find_model.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/report/model_json.hpp"
#include "floplan/report/model_text.hpp"

namespace floplan::cli {
namespace {

struct Options {
  std::vector<std::string> names;
  Text seq, context;
  std::string precision = "bf16";
};

void add_count_warnings(const catalog::Model& model, std::vector<Warning>& out) {
  const architecture::ParameterCount count = architecture::parameter_count(model.shape);
  if (model.published_parameters && *model.published_parameters != count.total) {
    out.push_back({"count_differs", model.name + ": the published count is " + print(*model.published_parameters) +
                                        ", this shape has " + print(count.total) +
                                        (model.difference.empty() ? "" : ": " + model.difference)});
  }
  if (!model.provenance.verified && !model.provenance.source.empty())
    out.push_back({"unverified_model", model.name + " is not verified: its shape rests on " + model.provenance.source});
}

report::ModelQuestion question_of(const Options& o, const std::vector<catalog::Model>& models) {
  report::ModelQuestion q;
  q.precision = catalog::precision_named(o.precision, "--precision");
  // Several models are compared at one length.
  const Tokens own = models.size() == 1 ? models[0].sequence_length.value_or(Tokens(8192)) : Tokens(8192);
  q.sequence_length = o.seq ? parse_between(*o.seq, "--seq", Tokens(1), Tokens(1e9)) : own;
  q.context = o.context ? parse_between(*o.context, "--context", Tokens(1), Tokens(1e9)) : q.sequence_length;
  return q;
}

Answer show(const Session& session, const Options& o) {
  Answer answer;
  std::vector<catalog::Model> models;
  for (const std::string& name : o.names) {
    catalog::FoundModel found = catalog::find_model(name, "model", session.catalog);
    for (Warning& w : found.warnings) answer.warnings.push_back(std::move(w));
    add_count_warnings(found.model, answer.warnings);
    models.push_back(std::move(found.model));
  }
  const report::ModelQuestion q = question_of(o, models);
  answer.inputs = {{"model", models.size() == 1 ? report::Json(models[0].name) : report::Json(o.names)},
                   {"sequence_length", report::count_json(q.sequence_length)},
                   {"context", report::count_json(q.context)},
                   {"precision", o.precision}};
  if (models.size() == 1) {
    answer.result = report::model_json(models[0], q);
    answer.text = report::model_text(models[0], q);
    answer.table = report::model_table(models[0], q);
    return answer;
  }
  report::Json list = report::Json::array();
  for (const catalog::Model& model : models) list.push_back(report::model_json(model, q));
  answer.result = {{"models", std::move(list)}};
  answer.table = report::model_comparison(models, q);
  answer.text = answer.table->text();
  return answer;
}

}  // namespace

void add_model(Program& program) {
  const auto o = std::make_shared<Options>();
  Subcommand sub = program.add("model", "Parameters, FLOP a token and bytes of a model, or of several side by side",
                               [o](const Session& s) { return show(s, *o); });
  sub.positional(
      "model", o->names,
      "Models of the catalog, as llama-3.1-405b, or files: a Hugging Face config.json, Megatron arguments, a "
      "model of calculon or llm-analysis");
  sub.option("--seq", o->seq,
             "Sequence length for attention FLOP, as 8192 or 128Ki, which is 131072; the model's own, or 8192");
  sub.option("--context", o->context, "Context length for the cache; the sequence length if not given");
  sub.option("--precision", o->precision, "For bytes", {"bf16", "fp8", "fp4"});
}

}  // namespace floplan::cli
