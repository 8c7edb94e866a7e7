// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "estimator_source.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/coverage.hpp"
#include "floplan/fit/prediction.hpp"
#include "floplan/fit/recovery.hpp"
#include "run_source.hpp"

namespace floplan::cli {
namespace {

struct CoverageOptions {
  RunOptions runs;
  EstimatorOptions estimator;
  std::string sets = "1000";
  std::string resamples = "400";
  std::string seed = "1";
  std::string level = "0.9";
  Text threads;
  bool recovery = false;
};

// The runs' own design, law and noise; or the reference designs.
std::vector<fit::CoverageCase> cases(const CoverageOptions& o, Answer& answer) {
  if (o.runs.files.empty()) return fit::reference_cases();
  const runs::RunTable table = o.runs.read(answer.warnings, false);
  answer.inputs.update(o.runs.inputs());
  answer.text = table.describe() + "\n";
  fit::CoverageCase out;
  out.name = o.runs.name();
  out.design = table.observations;
  out.options = o.estimator.read();
  const fit::ChinchillaReport report =
      naming_rows(table, [&] { return fit::chinchilla(table.observations, out.options); });
  out.law = report.law;
  const fit::RunNoise noise = fit::run_noise(table.observations, report);
  if (!noise.available)
    throw Error(Failure::no_answer, "no_degrees_of_freedom", o.runs.name(),
                "the noise of these runs is not known: " + noise.reason);
  out.noise.log_residuals = noise.log_residuals;
  return {out};
}

// Whether laws whose runs have no noise are found again to the last digits.
Answer answer_recovery(const CoverageOptions& o) {
  if (!o.runs.files.empty())
    throw Error(Failure::usage, "bad_combination", "--recovery", "plants laws of its own and takes no runs");
  const std::pair<const char*, bool> given[] = {{"--sets", o.sets != "1000"},
                                                {"--bootstrap", o.resamples != "400"},
                                                {"--seed", o.seed != "1"},
                                                {"--level", o.level != "0.9"},
                                                {"--fix", !o.estimator.fixed.empty()},
                                                {"--bound", !o.estimator.bounds.empty()},
                                                {"--where", !o.runs.where.empty()},
                                                {"--columns", !o.runs.columns.empty()}};
  for (const auto& [option, was] : given) {
    if (was) throw Error(Failure::usage, "bad_combination", option, "has no meaning with --recovery");
  }
  constexpr double goal = 1e-8;
  const std::vector<fit::RecoveryReport> all = fit::recover(
      fit::recovery_lattice(), o.estimator.read(), whole_option<unsigned>(o.threads.value_or("0"), "--threads", 1024));
  Answer answer;
  report::Table table({"verdict", "laws"});
  report::Json counts, listed = report::Json::array();
  using fit::RecoveryVerdict;
  for (const RecoveryVerdict verdict :
       {RecoveryVerdict::recovered, RecoveryVerdict::out_of_reach, RecoveryVerdict::missed}) {
    const auto count = std::count_if(all.begin(), all.end(),
                                     [&](const fit::RecoveryReport& one) { return one.verdict(goal) == verdict; });
    counts[std::string(fit::to_text(verdict))] = count;
    table.add({std::string(fit::to_text(verdict)), {static_cast<double>(count), 6}});
  }
  for (const fit::RecoveryReport& one : all) {
    report::Json entry = {
        {"verdict", fit::to_text(one.verdict(goal))}, {"error", one.error}, {"possible", one.possible}};
    for (const law::NamedCoefficient& c : law::chinchilla_coefficients) entry["planted"][c.name] = one.planted.*c.field;
    entry["reason"] = one.reason;
    listed.push_back(std::move(entry));
    if (one.verdict(goal) == RecoveryVerdict::missed) {
      const law::Chinchilla<double>& l = one.planted;
      answer.warnings.push_back(
          {"not_recovered", "E " + print_number(l.irreducible_loss) + ", A " + print_number(l.parameter_coefficient) +
                                ", B " + print_number(l.token_coefficient) + ", alpha " +
                                print_number(l.parameter_exponent) + ", beta " + print_number(l.token_exponent) +
                                " is found to " + print_number(one.error, 2) + ", and rounding allows " +
                                print_number(one.possible, 2)});
    }
  }
  answer.inputs = {{"recovery", true}, {"goal", goal}};
  answer.result = {{"goal", goal}, {"laws", all.size()}, {"counts", std::move(counts)}, {"cases", std::move(listed)}};
  answer.text = "Laws planted in " + std::to_string(all.front().fit ? all.front().fit->rows_used : 0) +
                " runs without noise, and whether all five coefficients are found to " + print_number(goal) +
                "; out of reach is what rounding the losses forbids\n\n" + table.text();
  answer.table = std::move(table);
  return answer;
}

Answer answer_coverage(const Session& session, const CoverageOptions& o) {
  if (o.recovery) return answer_recovery(o);
  fit::CoverageOptions simulation;
  simulation.sets = whole_option<std::size_t>(o.sets, "--sets", 1e6);
  simulation.resamples = whole_option<std::size_t>(o.resamples, "--bootstrap", 1e6);
  simulation.seed = whole_option<std::uint64_t>(o.seed, "--seed", 9e15);
  simulation.threads = whole_option<unsigned>(o.threads.value_or("0"), "--threads", 1024);
  simulation.level = level_of(o.level);
  Answer answer;
  answer.inputs = report::Json::object();
  const std::vector<fit::CoverageCase> all = cases(o, answer);
  simulation.stop = session.interruptible();
  report::Table table(
      {"case", "quantity", "covered (%)", "standard error", "truth below (%)", "above (%)", "median width", "sets"});
  report::Json listed = report::Json::array();
  for (const fit::CoverageCase& one : all) {
    const fit::CoverageReport found = fit::coverage(one.design, one.law, one.noise, one.options, simulation);
    report::Json quantities = report::Json::array();
    for (const fit::QuantityCoverage& q : found.quantities) {
      quantities.push_back({{"quantity", q.name},
                            {"covered", q.covered},
                            {"se", q.standard_error},
                            {"below", q.below},
                            {"above", q.above},
                            {"median_width", q.median_width},
                            {"sets", q.sets}});
      table.add({one.name,
                 q.name,
                 {100 * q.covered, 3},
                 {100 * q.standard_error, 2},
                 {100 * q.below, 2},
                 {100 * q.above, 2},
                 {q.median_width, 3},
                 {static_cast<double>(q.sets), 6}});
    }
    listed.push_back({{"case", one.name},
                      {"rows", one.design.size()},
                      {"sets", found.sets},
                      {"without_answer", found.without_answer},
                      {"quantities", std::move(quantities)}});
    answer.interrupted = answer.interrupted || found.stopped;
    if (found.without_answer > 0) {
      answer.warnings.push_back({"sets_without_answer", one.name + ": " + std::to_string(found.without_answer) +
                                                            " of " + std::to_string(found.sets) +
                                                            " simulated sets gave no interval and are not counted"});
    }
    if (found.sets == found.without_answer && !found.stopped) {
      throw Error(Failure::no_answer, "no_interval", "coverage",
                  one.name + ": none of " + std::to_string(found.sets) + " simulated sets gives an interval");
    }
    if (found.stopped) {
      answer.warnings.push_back({"interrupted", one.name + ": interrupted after " + std::to_string(found.sets) +
                                                    " of " + std::to_string(simulation.sets) + " sets"});
      break;
    }
  }
  answer.inputs.update({{"sets", simulation.sets},
                        {"bootstrap", simulation.resamples},
                        {"seed", simulation.seed},
                        {"level", simulation.level}});
  answer.result = {{"level", simulation.level}, {"cases", std::move(listed)}};
  answer.text += "How often " + print_number(100 * simulation.level) +
                 "% intervals hold the truth, in simulated sets of runs; ln N_opt and new_run are at ten times the "
                 "largest budget\n\n" +
                 table.text();
  answer.table = std::move(table);
  return answer;
}

}  // namespace

void add_coverage(Program& program) {
  const auto o = std::make_shared<CoverageOptions>();
  Subcommand sub =
      program.add("coverage", "How often a fit's intervals hold the truth, on your design or on five others",
                  [o](const Session& s) { return answer_coverage(s, *o); });
  sub.positional("runs", o->runs.files,
                 "Files of runs, whose sizes, law and noise are simulated; five reference designs if not given", false);
  o->runs.add_options(sub);
  o->estimator.add_to(sub);
  sub.flag(
      "--recovery", o->recovery,
      "Instead, whether 784 laws (exponents .05 to 1, A and B 1 to 1e7) are found to 1e-8 from runs without noise");
  sub.option("--sets", o->sets, "Sets of runs to simulate");
  sub.option("--bootstrap", o->resamples, "Resamples behind each interval");
  sub.option("--level", o->level, "Level of the intervals");
  sub.option("--seed", o->seed, "Seed of the sets");
  sub.option("--threads", o->threads, "Threads; all cores if not given. The answer does not depend on it");
}

}  // namespace floplan::cli
