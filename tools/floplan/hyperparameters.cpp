// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "floplan/catalog/find_model.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/optimum/hyperparameters.hpp"

namespace floplan::cli {
namespace {

struct HyperparametersOptions {
  Text model, params, tokens, flop, loss, experts, seq;
};

constexpr Tokens usual_sequence_length(8192);

optimum::RunPoint run_of(const Session& session, const HyperparametersOptions& o, Answer& answer) {
  optimum::RunPoint out;
  if (o.model && o.params)
    throw Error(Failure::usage, "missing_option", "--params", "needs either --params or --model, and not both");
  if (o.seq && !o.model)
    throw Error(Failure::usage, "missing_option", "--seq", "needs --model, whose attention it is the length of");
  if (o.model) {
    catalog::FoundModel found = catalog::find_model(*o.model, "--model", session.catalog);
    answer.warnings = std::move(found.warnings);
    out.shape = found.model.shape;
    out.sequence_length = o.seq ? parse_between(*o.seq, "--seq", Tokens(1), Tokens(1e9))
                                : found.model.sequence_length.value_or(usual_sequence_length);
    if (!o.seq && !found.model.sequence_length && o.tokens && !o.flop) {
      answer.warnings.push_back(
          {"assumed_sequence_length", "the length that " + found.model.name + " was trained at is not known: " +
                                          print(usual_sequence_length) + " is taken for attention (--seq)"});
    }
  }
  if (o.params) out.parameters = parse_between(*o.params, "--params", Parameters(1), Parameters(1e24));
  if (o.tokens) out.tokens = parse_between(*o.tokens, "--tokens", Tokens(1), Tokens(1e24));
  if (o.flop) out.flop = parse_between(*o.flop, "--flop", Flop(1), Flop(1e36));
  const auto number = [](const Text& text, const char* option, law::Input input) {
    std::optional<double> value;
    if (text) law::check(input, *(value = parse_number(*text, option)), option);
    return value;
  };
  out.loss = number(o.loss, "--loss", law::Input::loss);
  out.experts = number(o.experts, "--experts", law::Input::experts);
  if (!o.model && !o.params && !o.tokens && !o.flop && !o.loss)
    throw Error(Failure::usage, "missing_option", "--params", "needs a run: --params or --model, --tokens, --flop");
  return out;
}

void append(std::string& list, const std::string& more) { list += (list.empty() ? "" : ", ") + more; }

report::Json keys_of(const std::vector<law::Input>& inputs) {
  report::Json out = report::Json::array();
  for (const law::Input input : inputs) out.push_back(law::info(input).key);
  return out;
}

// "inside" is claimed only where every input's range is known.
report::Cell fit_cell(const optimum::Suggestion& s) {
  const auto decades = s.decades_outside();
  if (decades && *decades > 0) return {*decades, 2};
  if (decades) return "inside";
  if (s.unchecked.size() == s.inputs.size()) return "not known";
  std::string unknown;
  for (const law::Input input : s.unchecked) append(unknown, law::info(input).symbol);
  return unknown + " not known, else inside";
}

// What the suggestions have in common, gathered into one warning each.
struct Remarks {
  std::string unanswered, dense, other_flop, many_active;
  std::size_t outside = 0;
  bool taken_as_counted = false;
};

void add_suggestion(const optimum::Suggestion& s, const optimum::RunPoint& run, Answer& answer, Remarks& remarks) {
  const law::Output output = law::output(s.law.form);
  const auto inputs = law::inputs(s.law.form);
  const auto decades = s.decades_outside();
  remarks.outside += decades && *decades > 0 ? 1 : 0;
  remarks.taken_as_counted |= run.parameters && s.law.parameter_convention != law::ParameterConvention::total;
  if (run.is_mixture() && !s.of_mixtures) append(remarks.dense, s.law.name);
  if (law::takes(inputs, law::Input::flop) && s.law.flop_convention != law::FlopConvention::six_n &&
      (run.flop || !run.shape))
    append(remarks.other_flop, s.law.name);
  if (law::takes(inputs, law::Input::experts) && run.shape && run.shape->experts && run.shape->experts->active > 1)
    append(remarks.many_active, s.law.name);
  report::Json entry = {{"law", s.law.name},
                        {"value", s.value},
                        {"formula", law::formula_of(s.law.form)},
                        {"for", s.of_mixtures ? "mixture" : "dense"},
                        {"inputs", report::Json::object()},
                        {"parameter_convention", law::to_text(s.law.parameter_convention)},
                        {"flop_convention", law::to_text(s.law.flop_convention)},
                        {"extrapolation_decades", report::json(decades)},
                        {"range_unknown", keys_of(s.unchecked)},
                        {"trust", s.law.trust},
                        {"verified", s.law.provenance.verified},
                        {"source", s.law.provenance.source}};
  std::string from;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    entry["inputs"][law::info(inputs[i]).key] = s.inputs[i];
    append(from, std::string(law::info(inputs[i]).symbol) + " " + print_number(s.inputs[i], 4));
  }
  answer.result[law::info(output).key].push_back(std::move(entry));
  answer.table->add({std::string(law::info(output).meaning),
                     s.law.name,
                     s.of_mixtures ? "mixture" : "dense",
                     {s.value, 4},
                     from,
                     fit_cell(s),
                     s.law.provenance.verified ? "yes" : "no"});
}

void add_weight_decays(const std::vector<optimum::Suggestion>& all, Tokens tokens, Answer& answer) {
  for (const optimum::WeightDecay& w : optimum::weight_decays(all, tokens)) {
    const bool verified = w.timescale->law.provenance.verified && w.batch->law.provenance.verified &&
                          w.learning_rate->law.provenance.verified;
    answer.result["weight_decay"].push_back({{"law", w.timescale->law.name},
                                             {"batch_law", w.batch->law.name},
                                             {"learning_rate_law", w.learning_rate->law.name},
                                             {"value", w.value},
                                             {"formula", "B / (lr tau D)"},
                                             {"inputs",
                                              {{"batch", w.batch->value},
                                               {"learning_rate", w.learning_rate->value},
                                               {"timescale", w.timescale->value},
                                               {"tokens", tokens.value}}},
                                             {"verified", verified}});
    const int mixtures = w.timescale->of_mixtures + w.batch->of_mixtures + w.learning_rate->of_mixtures;
    answer.table->add({"weight decay of AdamW",
                       w.timescale->law.name + " with " + w.batch->law.name,
                       mixtures == 3  ? "mixture"
                       : mixtures > 0 ? "both"
                                      : "dense",
                       {w.value, 3},
                       "B " + print_number(w.batch->value, 4) + ", lr " + print_number(w.learning_rate->value, 4) +
                           ", tau " + print_number(w.timescale->value, 4) + ", D " + print_number(tokens.value, 4),
                       report::Cell(),
                       verified ? "yes" : "no"});
  }
}

void warn_of(const Remarks& remarks, const optimum::RunPoint& run, const HyperparametersOptions& o, Answer& answer) {
  if (!remarks.dense.empty()) {
    std::string used;
    if (run.shape) {
      const architecture::ParameterCount count = architecture::parameter_count(*run.shape);
      used = "; their N and C follow from what a token uses, " + print(count.active, 4) + " of " +
             print(count.total, 4) + " parameters with embeddings";
    }
    answer.warnings.push_back(
        {"dense_law",
         "the run is a mixture of experts, and these laws were fitted on dense models: " + remarks.dense + used});
  }
  if (!remarks.many_active.empty()) {
    answer.warnings.push_back({"active_experts", "that a token uses " + std::to_string(run.shape->experts->active) +
                                                     " of the experts is not known to: " + remarks.many_active});
  }
  if (!remarks.other_flop.empty()) {
    answer.warnings.push_back(
        {"flop_convention", remarks.other_flop + ": C is matrix products and full attention without embeddings; " +
                                (o.flop ? "--flop" : "6ND of --params") +
                                " is taken for it, and --model without --flop counts as they do"});
  }
  if (remarks.outside > 0)
    answer.warnings.push_back(
        {"extrapolation", std::to_string(remarks.outside) + " of these laws are asked outside their fit"});
  if (remarks.taken_as_counted) {
    answer.warnings.push_back({"parameter_convention",
                               "some laws count active or non-embedding parameters; --params is taken as such a count "
                               "by each, --model counts as each does"});
  }
  if (!remarks.unanswered.empty())
    answer.warnings.push_back({"not_asked", "these laws ask for what was not said: " + remarks.unanswered});
}

Answer answer_hyperparameters(const Session& session, const HyperparametersOptions& o) {
  Answer answer;
  const optimum::RunPoint run = run_of(session, o, answer);
  const std::vector<optimum::Suggestion> all = optimum::suggestions(session.catalog, run);
  answer.table.emplace(
      std::vector<std::string>{"suggests", "law", "for", "value", "from", "outside its fit (decades)", "verified"});
  Remarks remarks;
  for (const law::Output output : {law::Output::batch, law::Output::learning_rate, law::Output::timescale}) {
    answer.result[law::info(output).key] = report::Json::array();
    double low = INFINITY, high = 0;
    for (const optimum::Suggestion& s : all) {
      if (law::output(s.law.form) != output) continue;
      if (s.missing) {
        append(remarks.unanswered, s.law.name + " (" + law::info(*s.missing).key + ")");
        continue;
      }
      low = std::min(low, s.value);
      high = std::max(high, s.value);
      add_suggestion(s, run, answer, remarks);
    }
    if (high > 1.5 * low) {
      answer.warnings.push_back(
          {"laws_disagree", std::string(law::info(output).meaning) + ": the laws lie between " + print_number(low, 3) +
                                " and " + print_number(high, 3) + ", a factor of " + print_number(high / low, 2) +
                                "; law show NAME says where each was fitted and when to trust it"});
    }
  }
  answer.result["weight_decay"] = report::Json::array();
  if (run.tokens) add_weight_decays(all, *run.tokens, answer);
  warn_of(remarks, run, o, answer);
  std::optional<double> experts = run.experts;
  if (!experts && run.shape && run.shape->experts) experts = static_cast<double>(run.shape->experts->count);
  answer.inputs = {{"model", o.model ? report::Json(*o.model) : report::Json(nullptr)},
                   {"parameters", report::count_json(run.parameters)},
                   {"tokens", report::count_json(run.tokens)},
                   {"flop", report::json(run.flop)},
                   {"loss", report::json(run.loss)},
                   {"experts", report::json(experts)},
                   {"sequence_length", run.shape ? report::count_json(run.sequence_length) : report::Json(nullptr)}};
  answer.text = answer.table->text();
  return answer;
}

}  // namespace

void add_hyperparameters(Program& program) {
  const auto o = std::make_shared<HyperparametersOptions>();
  Subcommand sub =
      program.add("hyperparameters", "Batch size, learning rate and weight decay that published laws suggest for a run",
                  [o](const Session& s) { return answer_hyperparameters(s, *o); });
  sub.option("--model", o->model, "A model of the catalog, counted as each law counts");
  sub.option("--params", o->params, "Or a number of parameters");
  sub.option("--tokens", o->tokens, "Training tokens");
  sub.option("--flop", o->flop, "Training FLOP; as each law counts them if not given");
  sub.option("--loss", o->loss, "Loss in nats a token, for laws of the critical batch");
  sub.option("--experts", o->experts, "Experts a layer, for laws of mixtures; the model's if not given");
  sub.option("--seq", o->seq, "Sequence length in tokens, for laws that count attention; the model's own, or 8192");
}

}  // namespace floplan::cli
