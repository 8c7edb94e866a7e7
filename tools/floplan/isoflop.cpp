// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "estimator_source.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/isoflop_study.hpp"
#include "floplan/report/isoflop_json.hpp"
#include "floplan/report/isoflop_text.hpp"
#include "run_source.hpp"

namespace floplan::cli {
namespace {

struct IsoflopOptions {
  RunOptions runs;
  Text at;
  std::string method = "parabola";
  std::string level = "0.9";
  std::string jitter = "10%";
  Text noise;
  std::string seed = "1";
  bool all_profiles = false;
};

fit::IsoflopStudyOptions study_options(const IsoflopOptions& o) {
  fit::IsoflopStudyOptions out;
  out.grouping.tolerance = parse_between<Fraction>(o.jitter, "--jitter", Fraction(0), Fraction(1)).value;
  out.isoflop.method = o.method == "akima"     ? fit::IsoflopMethod::akima
                       : o.method == "lowest"  ? fit::IsoflopMethod::lowest
                       : o.method == "surface" ? fit::IsoflopMethod::surface
                                               : fit::IsoflopMethod::parabola;
  out.isoflop.quality_control = !o.all_profiles;
  out.isoflop.level = level_of(o.level);
  out.isoflop.seed = whole_option<std::uint64_t>(o.seed, "--seed", 9e15);
  out.automatic_noise = o.noise == "auto";
  if (o.noise && !out.automatic_noise) {
    out.isoflop.noise_sd = parse_number(*o.noise, "--noise");
    if (!(out.isoflop.noise_sd > 0))
      throw Error(Failure::usage, "out_of_range", "--noise", "must be positive, or auto, got " + *o.noise);
  }
  if (o.at) {
    out.at = parse<Flop>(*o.at, "--at");
    if (!(out.at->value > 0)) throw Error(Failure::usage, "out_of_range", "--at", "must be positive, got " + *o.at);
  }
  return out;
}

// Every run of the files where --where chose some, or those that the file does not mark as outliers where none were
// chosen; nothing where they cannot be read so.
fit::OtherRuns other_runs(const IsoflopOptions& o, const runs::RunTable& table) {
  if (o.runs.where.empty() && table.unused_marks.empty()) return {};
  RunOptions other = o.runs;
  other.where = o.runs.where.empty() ? table.unused_marks.front() : "";
  std::vector<Warning> ignored;
  try {
    const runs::RunTable read = other.read(ignored, false);
    return {read.observations, budgets_of(read), o.runs.where.empty()};
  } catch (const Error& error) {
    if (error.failure() == Failure::internal) throw;
    return {};
  }
}

Answer answer_isoflop(const Session&, const IsoflopOptions& o) {
  const fit::IsoflopStudyOptions options = study_options(o);
  Answer answer;
  const runs::RunTable table = o.runs.read(answer.warnings, false);
  const fit::OtherRuns others = other_runs(o, table);
  const fit::IsoflopStudy study =
      naming_rows(table, [&] { return fit::isoflop_study(table.observations, budgets_of(table), options, others); });
  answer.warnings.insert(answer.warnings.end(), study.warnings.begin(), study.warnings.end());
  name_places(answer.warnings, table);
  answer.inputs = o.runs.inputs();
  answer.inputs["method"] = o.method;
  answer.inputs["quality_control"] = options.isoflop.quality_control;
  if (o.noise) answer.inputs.update({{"noise", study.options.isoflop.noise_sd}, {"seed", o.seed}});
  if (options.at) answer.inputs["at"] = options.at->value;
  answer.result = report::isoflop_json(study, table);
  answer.text = report::isoflop_text(study, table);
  answer.table = report::profile_table(study);
  return answer;
}

}  // namespace

void add_isoflop(Program& program) {
  const auto o = std::make_shared<IsoflopOptions>();
  Subcommand sub = program.add("isoflop", "The best size at each budget, and how it grows with the budget",
                               [o](const Session& s) { return answer_isoflop(s, *o); });
  o->runs.add_to(sub);
  sub.option("--at", o->at, "Also at this budget, as 3.8e25");
  sub.option("--method", o->method, "How a budget's optimum is found", {"parabola", "lowest", "akima", "surface"});
  sub.option("--noise", o->noise,
             "Standard deviation of one loss, in its unit, or auto for that of the fitted law: draws the losses again "
             "for akima's intervals, and calls a curve that spans less than twice it flat");
  sub.option("--seed", o->seed, "Seed of the noise");
  sub.option("--jitter", o->jitter, "Runs within this of each other's budget are of one");
  sub.flag("--all-profiles", o->all_profiles,
           "Let every profile with a minimum into the power law, as published analyses do");
  sub.option("--level", o->level, "Level of the intervals");
}

}  // namespace floplan::cli
