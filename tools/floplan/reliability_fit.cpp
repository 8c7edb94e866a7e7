// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include "command.hpp"
#include "floplan/core/file.hpp"
#include "floplan/reliability/failure_log_reader.hpp"
#include "floplan/reliability/failure_study.hpp"
#include "floplan/reliability/log_facts.hpp"
#include "floplan/report/reliability_fit.hpp"

namespace floplan::cli {
namespace {

struct LogFitOptions {
  std::string log;
  Text format, accelerators, nodes, per_node, start, end, window, timezone, repeated_hour;
  std::string level = "0.9";
  std::string project;
};

reliability::LogOptions log_options(const LogFitOptions& o) {
  reliability::LogOptions out;
  const auto fact = [&out](const char* name, const Text& text, const char* option) {
    if (text) reliability::give(out, name, *text, option);
  };
  fact("format", o.format, "--format");
  fact("accelerators", o.accelerators, "--accelerators");
  fact("nodes", o.nodes, "--nodes");
  fact("per_node", o.per_node, "--per-node");
  fact("start", o.start, "--start");
  fact("end", o.end, "--end");
  fact("window", o.window, "--window");
  fact("timezone", o.timezone, "--timezone");
  fact("repeated_hour", o.repeated_hour, "--repeated-hour");
  return out;
}

Answer fit_log(const LogFitOptions& o) {
  const reliability::LogOptions options = log_options(o);
  reliability::StudyOptions study_options;
  study_options.level = parse_number(o.level, "--level");
  if (!(study_options.level >= 0.5 && study_options.level <= 0.999))
    throw Error(Failure::usage, "out_of_range", "--level", "must be from 0.5 to 0.999, got " + o.level);
  for (std::size_t at = 0; at < o.project.size();) {
    const std::size_t comma = std::min(o.project.find(',', at), o.project.size());
    const std::string size = o.project.substr(at, comma - at);
    study_options.project.push_back(parse_between(size, "--project", Count(1), Count(1e9)));
    at = comma + 1;
  }
  const reliability::FailureStudy study =
      reliability::study_failures(reliability::read_failure_log(read_text_file(o.log), o.log, options), study_options);
  Answer answer;
  answer.inputs = {{"log", o.log},
                   {"format", o.format ? report::Json(*o.format) : report::Json(nullptr)},
                   {"timezone", options.clock.zone ? report::Json(options.clock.zone->name()) : report::Json(nullptr)},
                   {"level", study.level},
                   {"accelerators", report::count_json(options.accelerators)},
                   {"nodes", report::count_json(options.nodes)},
                   {"accelerators_per_node", report::count_json(options.accelerators_per_node)}};
  answer.result = report::failure_study_json(study);
  answer.text = report::failure_study_text(study);
  answer.table = report::category_table(study);
  answer.warnings = study.warnings;
  return answer;
}

}  // namespace

void add_reliability_fit(Program& program) {
  const auto o = std::make_shared<LogFitOptions>();
  Subcommand sub = program.add("reliability fit", "Failure rates with intervals, from a log of what happened",
                               [o](const Session&) { return fit_log(*o); });
  sub.positional("log", o->log,
                 "Interruptions, counts, fault traces, sacct -P, goodput events, or a training program's output");
  sub.option("--format", o->format, "list, counts, trace, jobs, goodput or training; recognised if not given");
  sub.option("--accelerators", o->accelerators, "Accelerators that were watched, as 16384");
  sub.option("--nodes", o->nodes, "Nodes that were watched, in place of accelerators or beside them");
  sub.option("--per-node", o->per_node, "Accelerators a node; 8 if nothing says it");
  sub.option("--start", o->start, "When the watch began, as 2024-05-01T00:00:00Z");
  sub.option("--end", o->end, "When it ended");
  sub.option("--window", o->window, "How long it was, as 54d, where start or end is not given");
  sub.option("--timezone", o->timezone, "Zone of times that name none: Europe/Berlin, UTC, +08:00");
  sub.option("--repeated-hour", o->repeated_hour,
             "earlier or later: which one a local time is that the end of daylight saving repeats");
  sub.option("--project", o->project, "Also at these sizes, as 16384,100000: accelerators");
  sub.option("--level", o->level, "Level of the intervals");
}

}  // namespace floplan::cli
