// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include "command.hpp"
#include "floplan/core/file.hpp"
#include "floplan/reliability/failure_log_reader.hpp"
#include "floplan/reliability/failure_study.hpp"
#include "floplan/reliability/time_zone_file.hpp"
#include "floplan/report/reliability_fit.hpp"

namespace floplan::cli {
namespace {

struct LogFitOptions {
  std::string log;
  Text format, accelerators, nodes, per_node, start, end, window, timezone, repeated_hour;
  std::string level = "0.9";
  std::string project;
};

std::optional<Count> whole_count(const Text& text, const char* option) {
  if (!text) return std::nullopt;
  return Count(static_cast<double>(whole_number(text, option, 1)));
}

reliability::LogOptions log_options(const LogFitOptions& o) {
  reliability::LogOptions out;
  if (o.format) {
    const auto& names = reliability::log_format_names;
    const auto found = std::find(names.begin(), names.end(), *o.format);
    if (found == names.end())
      throw Error(Failure::usage, "unknown_name", "--format",
                  "must be list, counts, trace, jobs, goodput or training, got " + *o.format);
    out.format = static_cast<reliability::LogFormat>(found - names.begin());
  }
  out.accelerators = whole_count(o.accelerators, "--accelerators");
  out.nodes = whole_count(o.nodes, "--nodes");
  out.accelerators_per_node = whole_count(o.per_node, "--per-node");
  out.start = o.start;
  out.end = o.end;
  if (o.window) out.window = parse_between(*o.window, "--window", Seconds(1e-3), days(36500));
  if (o.timezone) out.clock.zone = reliability::find_time_zone(*o.timezone, "--timezone");
  if (o.repeated_hour) {
    if (*o.repeated_hour != "earlier" && *o.repeated_hour != "later")
      throw Error(Failure::usage, "unknown_name", "--repeated-hour",
                  "must be earlier or later, got " + *o.repeated_hour);
    out.clock.repeated =
        *o.repeated_hour == "earlier" ? reliability::RepeatedHour::earlier : reliability::RepeatedHour::later;
  }
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
