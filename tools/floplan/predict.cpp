// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <memory>

#include "command.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/fit_file.hpp"
#include "floplan/law/cautions.hpp"
#include "floplan/law/chinchilla.hpp"

namespace floplan::cli {
namespace {

struct Options {
  std::string law = "besiroglu-2024";
  std::string level = "0.9";
  Text model, params;
  std::string tokens;
};

Answer predict(const Session& session, const Options& o) {
  const catalog::Law law = fit::find_law(o.law, "--law", session.catalog);
  const double level = parse<Fraction>(o.level, "--level").value;
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
  const fit::Prediction known = fit::predict(fit::replicates_of(law), fit::noise_of(law), law.range, n, d, level);
  const double decades = known.extrapolation_decades;
  for (const Warning& w : law::cautions(law, decades)) answer.warnings.push_back(w);
  if (const auto why = law::no_interval(law)) answer.warnings.push_back(*why);
  const bool uncertain = !law.replicates.empty();
  answer.inputs = {{"law", law.name}, {"parameters", report::count_json(n)}, {"tokens", report::count_json(d)}};
  if (o.model) answer.inputs["model"] = *o.model;
  answer.result = {{"loss", terms.total()},
                   {"loss_unit", law.loss_unit},
                   {"terms", report::to_json(terms)},
                   {"interval", uncertain ? report::to_json(known.loss.interval) : report::Json(nullptr)},
                   {"se", uncertain ? report::Json(known.loss.standard_error) : report::Json(nullptr)},
                   {"new_run_interval",
                    uncertain && !law.residuals.empty() ? report::to_json(known.new_run) : report::Json(nullptr)},
                   {"extrapolation_decades", decades},
                   {"parameter_convention", count},
                   {"flop_convention", law::to_text(law.flop_convention)},
                   {"training_flop", training_flop(n, d).value}};
  report::Table table({"law", "parameters", "tokens", "loss (" + law.loss_unit + ")", "irreducible", "parameter term",
                       "token term", "low", "high", "one run: low", "one run: high", "decades beyond the fit"});
  const auto end = [](double x) { return std::isfinite(x) ? report::Cell(x, 5) : report::Cell(); };
  table.add({law.name,
             {n.value, 4},
             {d.value, 4},
             {terms.total(), 5},
             {terms.irreducible, 5},
             {terms.parameters, 4},
             {terms.tokens, 4},
             end(known.loss.interval.low),
             end(known.loss.interval.high),
             end(known.new_run.low),
             end(known.new_run.high),
             {decades, 2}});
  answer.text = law.title + "\n" + print(n, 4) + " parameters (" + count + "), " + print(d, 4) + " tokens, " +
                print(training_flop(n, d), 3) + " FLOP (6ND)\n\n" + "loss            " +
                print_number(terms.total(), 5) + " " + law.loss_unit + "\n  irreducible   " +
                print_number(terms.irreducible, 5) + "\n  parameters    " + print_number(terms.parameters, 4) +
                "\n  tokens        " + print_number(terms.tokens, 4) + "\n";
  if (uncertain) {
    const auto interval = [](const Interval& i) { return print_number(i.low, 5) + " to " + print_number(i.high, 5); };
    answer.text += print_number(100 * level, 6) + "% interval    " + interval(known.loss.interval) + ", of the curve\n";
    if (!law.residuals.empty())
      answer.text += "                " + interval(known.new_run) + ", of one further run with its noise\n";
  }
  answer.table = std::move(table);
  return answer;
}

}  // namespace

void add_predict(Program& program) {
  const auto o = std::make_shared<Options>();
  Subcommand sub = program.add("predict", "The loss that a law predicts for N parameters and D tokens",
                               [o](const Session& s) { return predict(s, *o); });
  sub.option("--law", o->law, "A law of the catalog (see: floplan catalog laws), or the FIT.json of floplan fit --out");
  sub.option("--params", o->params, "Number of parameters, as 405B");
  sub.option("--model", o->model, "A model of the catalog instead, counted as the law counts");
  sub.required("--tokens", o->tokens, "Training tokens, as 15.6T");
  sub.option("--level", o->level, "Level of the intervals, of a law that has them");
}

}  // namespace floplan::cli
