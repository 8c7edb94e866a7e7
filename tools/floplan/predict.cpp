// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "command.hpp"
#include "estimator_source.hpp"
#include "floplan/fit/fit_file.hpp"
#include "floplan/fit/forecast.hpp"
#include "floplan/report/forecast_text.hpp"
#include "law_source.hpp"

namespace floplan::cli {
namespace {

struct Options {
  std::string law = "besiroglu-2024";
  std::string level = "0.9";
  LawPoint point;
};

Answer predict(const Session& session, const Options& o) {
  const law::AnyLaw law = fit::find_any_law(o.law, "--law", session.catalog);
  Answer answer;
  const std::vector<double> values = values_of(session, law, o.point, answer.warnings);
  const fit::Forecast forecast = fit::forecast(session.catalog, law, values, level_of(o.level));
  answer.inputs = inputs_json(law, values);
  answer.inputs["law"] = law.name;
  if (o.point.model) answer.inputs["model"] = *o.point.model;
  answer.result = report::forecast_json(law, values, forecast);
  answer.text = report::forecast_text(law, values, forecast);
  answer.table = report::forecast_table(law, values, forecast);
  const std::vector<Warning> warnings = report::forecast_warnings(law, forecast);
  answer.warnings.insert(answer.warnings.end(), warnings.begin(), warnings.end());
  return answer;
}

}  // namespace

void add_predict(Program& program) {
  const auto o = std::make_shared<Options>();
  Subcommand sub =
      program.add("predict", "What a law predicts for a run: its loss, batch, learning rate, accuracy, ...",
                  [o](const Session& s) { return predict(s, *o); });
  sub.option("--law", o->law, "A law of the catalog (see: floplan catalog laws), or the FIT.json of floplan fit --out");
  sub.option("--level", o->level, "Level of the intervals, of a law that has them");
  add_law_point(sub, o->point);
}

}  // namespace floplan::cli
