// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <memory>

#include "command.hpp"
#include "floplan/catalog/find_model.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/optimum/hyperparameters.hpp"

namespace floplan::cli {
namespace {

struct HyperparametersOptions {
  Text model, params, tokens, flop, loss, experts;
};

optimum::RunPoint run_of(const Session& session, const HyperparametersOptions& o) {
  optimum::RunPoint out;
  if (o.model && o.params)
    throw Error(Failure::usage, "missing_option", "--params", "needs either --params or --model, and not both");
  if (o.model)
    out.counted = architecture::parameter_count(catalog::find_model(*o.model, "--model", session.catalog).model.shape);
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

Answer answer_hyperparameters(const Session& session, const HyperparametersOptions& o) {
  const optimum::RunPoint run = run_of(session, o);
  Answer answer;
  report::Table table({"suggests", "law", "value", "from", "outside its fit (decades)", "verified"});
  std::string unanswered;
  std::size_t outside = 0;
  bool taken_as_counted = false;
  for (const law::Output output : {law::Output::batch, law::Output::learning_rate, law::Output::timescale}) {
    report::Json list = report::Json::array();
    double low = INFINITY, high = 0;
    for (const optimum::Suggestion& s : optimum::suggestions(session.catalog, run)) {
      if (law::output(s.law.form) != output) continue;
      if (s.missing) {
        unanswered += (unanswered.empty() ? "" : ", ") + s.law.name + " (" + law::info(*s.missing).key + ")";
        continue;
      }
      low = std::min(low, s.value);
      high = std::max(high, s.value);
      const bool known_range = law::knows_range(s.law.range, law::inputs(s.law.form));
      double decades = 0;
      for (const law::Outside& beyond : s.outside) decades = std::max(decades, beyond.decades);
      outside += decades > 0.01 ? 1 : 0;
      taken_as_counted |= run.parameters && s.law.parameter_convention != law::ParameterConvention::total;
      report::Json entry = {{"law", s.law.name},
                            {"value", s.value},
                            {"formula", law::formula_of(s.law.form)},
                            {"inputs", report::Json::object()},
                            {"parameter_convention", law::to_text(s.law.parameter_convention)},
                            {"extrapolation_decades", known_range ? report::Json(decades) : report::Json(nullptr)},
                            {"trust", s.law.trust},
                            {"verified", s.law.provenance.verified},
                            {"source", s.law.provenance.source}};
      std::string from;
      const auto inputs = law::inputs(s.law.form);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        entry["inputs"][law::info(inputs[i]).key] = s.inputs[i];
        from +=
            (from.empty() ? "" : ", ") + std::string(law::info(inputs[i]).symbol) + " " + print_number(s.inputs[i], 4);
      }
      list.push_back(std::move(entry));
      table.add({std::string(law::info(output).meaning),
                 s.law.name,
                 {s.value, 4},
                 from,
                 decades > 0.01 ? report::Cell(decades, 2) : report::Cell(known_range ? "inside" : "not known"),
                 s.law.provenance.verified ? "yes" : "no"});
    }
    if (list.size() > 1 && high > 1.5 * low) {
      answer.warnings.push_back(
          {"laws_disagree", std::string(law::info(output).meaning) + ": the laws lie between " + print_number(low, 3) +
                                " and " + print_number(high, 3) + ", a factor of " + print_number(high / low, 2) +
                                "; law show NAME says where each was fitted and when to trust it"});
    }
    answer.result[law::info(output).key] = std::move(list);
  }
  if (outside > 0)
    answer.warnings.push_back(
        {"extrapolation", std::to_string(outside) + " of these laws are asked outside their fit"});
  if (taken_as_counted) {
    answer.warnings.push_back({"parameter_convention",
                               "some laws count active or non-embedding parameters; --params is taken as such a count "
                               "by each, --model counts as each does"});
  }
  if (!unanswered.empty())
    answer.warnings.push_back({"not_asked", "these laws ask for what was not said: " + unanswered});
  answer.inputs = {{"model", o.model ? report::Json(*o.model) : report::Json(nullptr)},
                   {"parameters", report::count_json(run.parameters)},
                   {"tokens", report::count_json(run.tokens)},
                   {"flop", report::json(run.flop)},
                   {"loss", report::json(run.loss)},
                   {"experts", report::json(run.experts)}};
  answer.text = table.text();
  answer.table = std::move(table);
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
  sub.option("--flop", o->flop, "Training FLOP; 6ND if not given");
  sub.option("--loss", o->loss, "Loss in nats a token, for laws of the critical batch");
  sub.option("--experts", o->experts, "Experts a layer, for laws of mixtures");
}

}  // namespace floplan::cli
