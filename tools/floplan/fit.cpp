// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "estimator_source.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/study.hpp"
#include "floplan/report/fit_json.hpp"
#include "floplan/report/fit_text.hpp"
#include "run_source.hpp"

namespace floplan::cli {
namespace {

struct Options {
  RunOptions runs;
  EstimatorOptions estimator;
  std::string law = "chinchilla";
  std::string resamples = "1000";
  std::string unit = "rows";
  std::string starts = "global";
  std::string seed = "1";
  std::string level = "0.9";
  std::string hold_out, leave_out;
  std::vector<std::string> budgets;
  std::string profile;
  Text threads;
  bool stats = false;
  bool anyway = false;
};

fit::StudyOptions study_options(const Session& session, const Options& o, const runs::RunTable& table) {
  fit::StudyOptions out;
  out.estimator = o.estimator.read();
  fit::ChinchillaOptions& chosen = out.estimator;
  chosen.start = o.starts == "hoffmann" ? fit::StartPolicy::hoffmann_grid : fit::StartPolicy::global;
  chosen.threads = whole_option<unsigned>(o.threads.value_or("0"), "--threads", 1024);
  out.bootstrap.resamples = whole_option<std::size_t>(o.resamples, "--bootstrap", 1000000);
  out.bootstrap.seed = whole_option<std::uint64_t>(o.seed, "--seed", 9e15);
  out.bootstrap.threads = chosen.threads;
  out.bootstrap.unit = o.unit == "budgets" ? fit::ResampleUnit::groups : fit::ResampleUnit::rows;
  out.level = level_of(o.level);
  if (!o.profile.empty())
    out.profile = o.profile == "sandwich" ? fit::ProfileScale::sandwich : fit::ProfileScale::alike;
  for (const std::string& budget : o.budgets) out.budgets.push_back(parse<Flop>(budget, "--at"));
  if (!o.hold_out.empty()) out.held_out = o.runs.held_out(table, o.hold_out);
  out.leave_one_group_out = o.leave_out == "budgets";
  // Four more fits: nothing for the runs that people have, minutes for millions.
  out.compare_estimators = table.observations.size() <= 20000;
  if (out.bootstrap.resamples > 0) out.bootstrap.stop = session.interruptible();
  return out;
}

std::string stats_line(const fit::Study& s) {
  const auto milliseconds = [](double t) { return print_number(1000 * t, 3) + " ms"; };
  return "fit: " + std::to_string(s.fit.search.starts) + " starts, " + std::to_string(s.fit.search.evaluations) +
         " evaluations, " + milliseconds(s.fit_seconds) + "; bootstrap: " + std::to_string(s.boot.laws.size()) +
         " refits, " + std::to_string(s.boot.searched) + " of them searched anew, " + milliseconds(s.bootstrap_seconds);
}

Answer answer_fit(const Session& session, const Options& o) {
  Answer answer;
  const bool by_budget = o.unit == "budgets" || o.leave_out == "budgets";
  const runs::RunTable table = o.runs.read(answer.warnings, by_budget);
  const fit::Study study = naming_rows(table, [&] {
    fit::Study out = fit::study(table.observations, study_options(session, o, table));
    if (!o.anyway) fit::require_trusted(out.fit);
    return out;
  });
  answer.warnings.insert(answer.warnings.end(), study.warnings.begin(), study.warnings.end());
  name_places(answer.warnings, table);
  answer.interrupted = study.boot.stopped;
  answer.inputs = o.runs.inputs();
  answer.inputs.update({{"law", o.law},
                        {"bootstrap", study.boot.resamples},
                        {"resample_unit", o.unit},
                        {"seed", o.seed},
                        {"level", study.level},
                        {"fix", o.estimator.fixed},
                        {"bound", o.estimator.bounds},
                        {"profile", o.profile},
                        {"hold_out", o.hold_out},
                        {"leave_one_out", o.leave_out}});
  answer.result = report::fit_json(study, table);
  answer.text = report::fit_text(study, table);
  if (o.stats) {
    answer.text += "\n" + stats_line(study) + "\n";
    answer.result["stats"] = {{"fit_s", study.fit_seconds}, {"bootstrap_s", study.bootstrap_seconds}};
  }
  answer.table = report::coefficient_table(study);
  return answer;
}

}  // namespace

void add_fit(Program& program) {
  const auto o = std::make_shared<Options>();
  Subcommand sub = program.add("fit", "The law that training runs support, with its uncertainty, or a refusal",
                               [o](const Session& s) { return answer_fit(s, *o); });
  o->runs.add_to(sub);
  sub.option("--law", o->law, "The form to fit", {"chinchilla"});
  o->estimator.add_to(sub);
  sub.option("--bootstrap", o->resamples, "Resamples behind the intervals; 0 for none");
  sub.option("--resample", o->unit, "What is resampled", {"rows", "budgets"});
  sub.option("--starts", o->starts, "The exact search, or also Hoffmann's 4,500 starts", {"global", "hoffmann"});
  sub.option(
      "--at", o->budgets,
      "A budget to say the best N and D of, as 1e24; may be repeated. 1 to 1,000 times the largest run if not given");
  sub.option("--hold-out", o->hold_out,
             "Fit without these runs and predict them: a filter as of --where, or largest=K for those of most FLOP");
  sub.option("--profile", o->profile,
             "Also profile-likelihood intervals: noise alike in all runs, or scaled by the sandwich",
             {"alike", "sandwich"});
  sub.option("--leave-one-out", o->leave_out, "Predict each budget from all others", {"budgets"});
  sub.option("--level", o->level, "Level of the intervals");
  sub.option("--seed", o->seed, "Seed of the resamples");
  sub.option("--threads", o->threads, "Threads; all cores if not given. The answer does not depend on it");
  sub.flag("--anyway", o->anyway, "Answer also where the runs do not identify the law");
  sub.flag("--stats", o->stats, "Also evaluations and time");
}

}  // namespace floplan::cli
