// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "command.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/chinchilla.hpp"

namespace floplan::cli {
namespace {

struct Options {
  std::string law = "besiroglu-2024";
  Text model, params;
  std::string tokens;
};

Answer predict(const Session& session, const Options& o) {
  const catalog::Law law = session.catalog.law(o.law, "--law");
  if (o.model.has_value() == o.params.has_value()) {
    throw Error(Failure::usage, "missing_option", "--params", "needs either --params or --model, and not both");
  }
  Answer answer;
  Parameters n;
  std::string count = law::to_text(law.parameter_convention);
  if (o.model) {
    const auto counted = architecture::parameter_count(session.catalog.model(*o.model, "--model").shape);
    n = law.parameter_convention == law::ParameterConvention::non_embedding ? counted.non_embedding : counted.total;
  } else {
    n = parse_between(*o.params, "--params", Parameters(1), Parameters(1e24));
    answer.warnings.push_back(
        {"parameter_convention", law.name + " counts " + count + " parameters; --params is taken as such a count"});
    if (law.parameter_convention == law::ParameterConvention::total) answer.warnings.pop_back();
  }
  const Tokens d = parse_between(o.tokens, "--tokens", Tokens(1), Tokens(1e24));
  const law::LossTerms<double> terms = law::predict(law.form, n, d);
  const double decades = law::extrapolation_decades(law.range, n, d);
  if (decades > 0.01) {
    answer.warnings.push_back(
        {"extrapolation", print_number(decades, 2) + " powers of ten beyond what " + law.name +
                              " was fitted on (N to " + print(Parameters(law.range.parameters_high.value_or(0)), 3) +
                              ", D to " + print(Tokens(law.range.tokens_high.value_or(0)), 3) + ")"});
  }
  if (law.rounded)
    answer.warnings.push_back({"rounded_law", law.name + " has rounded coefficients: " + law.provenance.note});
  answer.warnings.push_back(
      {"no_interval",
       law.name + " was published without a covariance of its coefficients, so no interval can be given"});
  answer.inputs = {{"law", law.name}, {"parameters", report::count_json(n)}, {"tokens", report::count_json(d)}};
  if (o.model) answer.inputs["model"] = *o.model;
  answer.result = {{"loss", terms.total()},
                   {"loss_unit", law.loss_unit},
                   {"terms", report::to_json(terms)},
                   {"interval", nullptr},
                   {"extrapolation_decades", decades},
                   {"parameter_convention", count},
                   {"flop_convention", law::to_text(law.flop_convention)},
                   {"training_flop", training_flop(n, d).value}};
  report::Table table({"law", "parameters", "tokens", "loss (" + law.loss_unit + ")", "irreducible", "parameter term",
                       "token term", "decades beyond the fit"});
  table.add({law.name,
             {n.value, 4},
             {d.value, 4},
             {terms.total(), 5},
             {terms.irreducible, 5},
             {terms.parameters, 4},
             {terms.tokens, 4},
             {decades, 2}});
  answer.text = law.title + "\n" + print(n, 4) + " parameters (" + count + "), " + print(d, 4) + " tokens, " +
                print(training_flop(n, d), 3) + " FLOP (6ND)\n\n" + "loss            " +
                print_number(terms.total(), 5) + " " + law.loss_unit + "\n  irreducible   " +
                print_number(terms.irreducible, 5) + "\n  parameters    " + print_number(terms.parameters, 4) +
                "\n  tokens        " + print_number(terms.tokens, 4) + "\n";
  answer.table = std::move(table);
  return answer;
}

}  // namespace

void add_predict(Program& program) {
  const auto o = std::make_shared<Options>();
  Subcommand sub = program.add("predict", "The loss that a law predicts for N parameters and D tokens",
                               [o](const Session& s) { return predict(s, *o); });
  sub.option("--law", o->law, "A law of the catalog (see: floplan catalog laws)");
  sub.option("--params", o->params, "Number of parameters, as 405B");
  sub.option("--model", o->model, "A model of the catalog instead, counted as the law counts");
  sub.required("--tokens", o->tokens, "Training tokens, as 15.6T");
}

}  // namespace floplan::cli
