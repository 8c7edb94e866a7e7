// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "estimator_source.hpp"
#include "floplan/core/names.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/form_model.hpp"
#include "floplan/fit/form_study.hpp"
#include "floplan/fit/study.hpp"
#include "floplan/law/input.hpp"
#include "floplan/law/power.hpp"
#include "floplan/report/fit_json.hpp"
#include "floplan/report/fit_text.hpp"
#include "floplan/report/form_json.hpp"
#include "floplan/report/form_text.hpp"
#include "run_source.hpp"

namespace floplan::cli {
namespace {

struct FitOptions {
  RunOptions runs;
  EstimatorOptions estimator;
  std::string law = "chinchilla";
  Text power_inputs, power_output;
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

fit::StudyOptions study_options(const Session& session, const FitOptions& o, const runs::RunTable& table) {
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

template <class Study>
void add_stats(Answer& answer, const Study& s) {
  const auto milliseconds = [](double t) { return print_number(1000 * t, 3) + " ms"; };
  answer.text += "\nfit: " + std::to_string(s.fit.search.starts) + " starts, " +
                 std::to_string(s.fit.search.evaluations) + " evaluations, " + milliseconds(s.fit_seconds) +
                 "; bootstrap: " + std::to_string(s.boot.laws.size()) + " refits, " + std::to_string(s.boot.searched) +
                 " of them searched anew, " + milliseconds(s.bootstrap_seconds) + "\n";
  answer.result["stats"] = {{"fit_s", s.fit_seconds}, {"bootstrap_s", s.bootstrap_seconds}};
}

// "flop,tokens" as quantities that laws ask for.
std::vector<law::Input> inputs_of(const std::string& text) {
  std::vector<law::Input> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    const auto input = law::find_input(name);
    if (!input || std::find(out.begin(), out.end(), *input) != out.end()) {
      std::vector<std::string> known;
      for (const law::InputInfo& i : law::input_table) known.emplace_back(i.key);
      throw Error(Failure::usage, "unknown_name", "--inputs",
                  "must be different quantities, as flop or parameters,tokens, got \"" + name + "\"" +
                      nearest_names_text(name, known));
    }
    out.push_back(*input);
    begin = end + 1;
  }
  return out;
}

fit::FormModel model_of(const FitOptions& o) {
  if (o.law != law::Power<>::name) {
    if (o.power_inputs || o.power_output) {
      throw Error(Failure::usage, "not_supported", o.power_inputs ? "--inputs" : "--output",
                  "is for --law power: the inputs and the output of " + o.law + " are its own");
    }
    return fit::form_model(o.law, "--law");
  }
  if (!o.power_inputs)
    throw Error(Failure::usage, "missing_option", "--inputs", "is needed by --law power, as --inputs flop");
  const std::string output = o.power_output.value_or("loss");
  const auto known = law::find_output(output);
  if (!known) {
    std::vector<std::string> names;
    for (const law::OutputInfo& i : law::output_table) names.emplace_back(i.key);
    throw Error(Failure::usage, "unknown_name", "--output",
                "must be a quantity that laws answer, got \"" + output + "\"" + nearest_names_text(output, names));
  }
  return fit::power_model(inputs_of(*o.power_inputs), *known);
}

// What only the Chinchilla form's own path can do.
void refuse_for_other_forms(const FitOptions& o) {
  const std::pair<const char*, bool> given[] = {
      {"--starts", o.starts != "global"}, {"--at", !o.budgets.empty()},     {"--hold-out", !o.hold_out.empty()},
      {"--profile", !o.profile.empty()},  {"--resample", o.unit != "rows"}, {"--leave-one-out", !o.leave_out.empty()}};
  for (const auto& [option, was] : given) {
    if (was) throw Error(Failure::usage, "not_supported", option, "is for --law chinchilla, got it with " + o.law);
  }
}

// Not to be stopped half-way, as the search for the minimum cannot: an interrupt ends the program.
Answer answer_form(const FitOptions& o) {
  refuse_for_other_forms(o);
  const fit::FormModel model = model_of(o);
  fit::FormStudyOptions options;
  options.estimator = o.estimator.read_form();
  options.estimator.threads = options.bootstrap.threads =
      whole_option<unsigned>(o.threads.value_or("0"), "--threads", 1024);
  options.bootstrap.resamples = whole_option<std::size_t>(o.resamples, "--bootstrap", 1000000);
  options.estimator.seed = options.bootstrap.seed = whole_option<std::uint64_t>(o.seed, "--seed", 9e15);
  options.level = level_of(o.level);
  Answer answer;
  const runs::RunTable table = o.runs.read(answer.warnings, false, fit::quantities_of(model));
  for (const runs::Mapping& m : table.mapping) {
    const bool share = m.quantity == "accuracy" || m.quantity == "error";
    if (!share || !m.tied) continue;
    throw Error(Failure::data, "ambiguous_column", table.files.empty() ? "runs" : table.files.front(),
                "several columns may be the " + m.quantity + ": " + m.title + ", " + m.alternatives.front() +
                    (m.alternatives.size() > 1 ? ", ..." : "") + "; choose one with --columns " + m.quantity +
                    "=TITLE");
  }
  const fit::FormStudy study = naming_rows(table, [&] {
    fit::FormStudy out = fit::study_form(model, fit::form_rows(table), options);
    if (!o.anyway) fit::require_trusted(out);
    return out;
  });
  answer.warnings.insert(answer.warnings.end(), study.warnings.begin(), study.warnings.end());
  name_places(answer.warnings, table);
  answer.interrupted = study.boot.stopped;
  answer.inputs = o.runs.inputs();
  answer.inputs.update({{"law", o.law},
                        {"bootstrap", study.boot.resamples},
                        {"seed", o.seed},
                        {"level", study.level},
                        {"fix", o.estimator.fixed},
                        {"bound", o.estimator.bounds}});
  answer.result = report::form_json(study, table);
  answer.text = report::form_text(study, table);
  if (o.stats) add_stats(answer, study);
  answer.table = report::coefficient_table(study);
  return answer;
}

Answer answer_fit(const Session& session, const FitOptions& o) {
  if (o.law != law::Chinchilla<>::name) return answer_form(o);
  if (o.power_inputs || o.power_output) (void)model_of(o);
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
  if (o.stats) add_stats(answer, study);
  answer.table = report::coefficient_table(study);
  return answer;
}

}  // namespace

void add_fit(Program& program) {
  const auto o = std::make_shared<FitOptions>();
  Subcommand sub = program.add("fit", "The law that training runs support, with its uncertainty, or a refusal",
                               [o](const Session& s) { return answer_fit(s, *o); });
  o->runs.add_to(sub);
  Choices forms = fit::form_names();
  forms.emplace_back(law::Power<>::name);
  sub.option("--law", o->law, "The form to fit", forms);
  sub.option("--inputs", o->power_inputs, "What a power is of, as flop or parameters,tokens");
  sub.option("--output", o->power_output, "What a power gives, as loss (which it is if not given), tokens or batch");
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
