// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include "command.hpp"
#include "estimator_source.hpp"
#include "floplan/fit/fit_file.hpp"
#include "floplan/fit/forecast.hpp"
#include "floplan/law/cautions.hpp"
#include "floplan/optimum/downstream.hpp"
#include "floplan/optimum/repetition.hpp"
#include "floplan/report/forecast_text.hpp"
#include "law_source.hpp"

namespace floplan::cli {
namespace {

struct PredictOptions {
  std::string law = "besiroglu-2024";
  std::string level = "0.9";
  LawPoint point;
};

// What repeated data does to a law that takes every token as fresh.
void add_repetition(Answer& answer, const law::AnyLaw& law, std::vector<double> values, const PredictOptions& o) {
  const auto inputs = law::inputs(law.form);
  const Text& unique = o.point.text(law::Input::unique_tokens);
  const auto tokens = std::find(inputs.begin(), inputs.end(), law::Input::tokens);
  if (!unique || tokens == inputs.end()) return;
  double& d = values[static_cast<std::size_t>(tokens - inputs.begin())];
  const Tokens planned(d), fresh = parse<Tokens>(*unique, "--unique-tokens");
  const auto* own = std::get_if<law::RepeatedData<>>(&law.form);
  const optimum::Repetition r =
      optimum::repetition(planned, fresh, own != nullptr ? own->token_decay : optimum::token_decay_of_muennighoff);
  answer.inputs["unique_tokens"] = report::count_json(fresh);
  answer.result["epochs"] = r.epochs;
  answer.result["effective_tokens"] = report::count_json(r.effective);
  if (r.epochs <= 1) return;
  if (law::takes(inputs, law::Input::unique_tokens)) {
    answer.text +=
        "epochs          " + print_number(r.epochs, 3) + ", worth " + print(r.effective, 4) + " fresh tokens\n";
    answer.warnings.push_back({"repeated_tokens", print_number(r.epochs, 3) + " epochs over " + print(fresh, 4) +
                                                      " tokens are worth " + print(r.effective, 4) + " fresh ones; " +
                                                      optimum::worth_of_epochs(r.epochs)});
    return;
  }
  d = r.effective.value;
  const double repeated = law::evaluate(law.form, values);
  answer.result["repeated_loss"] = repeated;
  answer.warnings.push_back(
      {"repeated_tokens", print_number(r.epochs, 3) + " epochs over " + print(fresh, 4) + " tokens are worth " +
                              print(r.effective, 4) + " fresh ones by Muennighoff 2023, and " + law.name +
                              " takes all " + print(planned, 4) + " as fresh: expect " + print_number(repeated, 5)});
}

Answer predict(const Session& session, const PredictOptions& o) {
  const law::AnyLaw law = fit::find_any_law(o.law, "--law", session.catalog);
  Answer answer;
  const std::vector<double> values = values_of(session, law, o.point, answer.warnings);
  const fit::Forecast forecast = fit::forecast(session.catalog, law, values, level_of(o.level));
  answer.inputs = inputs_json(law, values);
  answer.inputs["law"] = law.name;
  if (o.point.model) {
    answer.inputs["model"] = *o.point.model;
    answer.inputs["from_model"] = filled_json(law, o.point);
  }
  answer.result = report::forecast_json(law, values, forecast);
  answer.text = report::forecast_text(law, values, forecast);
  answer.table = report::forecast_table(law, values, forecast);
  const auto warn = [&answer](const std::vector<Warning>& more) {
    answer.warnings.insert(answer.warnings.end(), more.begin(), more.end());
  };
  warn(law::cautions(law, forecast.outside));
  if (const auto none = law::no_interval(law)) answer.warnings.push_back(*none);
  for (const optimum::TaskForecast& task : optimum::forecast_tasks(forecast.downstream, forecast.value))
    warn(optimum::cautions(task, forecast.value));
  add_repetition(answer, law, values, o);
  return answer;
}

}  // namespace

void add_predict(Program& program) {
  const auto o = std::make_shared<PredictOptions>();
  Subcommand sub =
      program.add("predict", "What a law predicts for a run: its loss, batch, learning rate, accuracy, ...",
                  [o](const Session& s) { return predict(s, *o); });
  sub.option("--law", o->law, "A law of the catalog (see: floplan catalog laws), or the FIT.json of floplan fit --out");
  sub.option("--level", o->level, "Level of the intervals, of a law that has them");
  add_law_point(sub, o->point);
}

}  // namespace floplan::cli
