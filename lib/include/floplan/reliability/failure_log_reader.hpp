// SPDX-License-Identifier: BSD-3-Clause
//
// A failure log in any of six shapes, recognised by what it holds.
//
//   FailureLog log = read_failure_log(read_text_file(path), path, options);     log.recognised_by says why
//
//   list      rows with a time (and perhaps end, node, category, planned, automatic): CSV, TSV, JSON, JSONL
//   counts    rows with a category and a count, as Table 5 of Llama 3
//   trace     rows with a node, a start and an end, or marked fault_start and fault_end
//   jobs      rows with a state, a start and an end: sacct -P, CSV
//   goodput   JSON with job_start_time, step_start_time, ... (goodput_events.hpp)
//   training  lines of iterations (training_log.hpp)
//
// Then events are put in order, counted once, cut to the window, and exposure is added up: accelerators x window for a list,
// less the time that nodes were down for a trace, nodes x time of each job for jobs.
// Cost: linear but for the sort; JSONL and training logs are taken line by line, a table needs 16 bytes a cell.
// Pitfall: nodes that never failed are not in a log: without --nodes the rate of a trace is too high, which is said.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/failure_list.hpp"
#include "floplan/reliability/failure_log.hpp"
#include "floplan/reliability/failure_log_columns.hpp"
#include "floplan/reliability/failure_window.hpp"
#include "floplan/reliability/goodput_events.hpp"
#include "floplan/reliability/job_accounting.hpp"
#include "floplan/reliability/training_log.hpp"
#include "floplan/runs/json_runs.hpp"
#include "floplan/runs/sheet.hpp"

namespace floplan::reliability {

namespace detail {

// Lines with their numbers, from 1.
template <class Visit>
void each_line(std::string_view text, const Visit& visit) {
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!visit(line, ++number)) return;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

[[nodiscard]] inline bool is_training_log(std::string_view text) {
  // Iterations begin after whatever the program prints of itself; further on --format says it.
  constexpr std::size_t looked_at = 4 << 20;
  text = text.substr(0, looked_at);
  bool found = false;
  each_line(text,
            [&found](std::string_view line, std::size_t) { return !(found = TrainingLogReader::is_iteration(line)); });
  return found;
}

// sacct -P separates by |, which no other table does.
[[nodiscard]] inline runs::Sheet log_sheet(std::string_view text, const std::string& name) {
  const std::string_view first = text.substr(0, text.find('\n'));
  const auto count = [first](char c) { return std::count(first.begin(), first.end(), c); };
  if (count('|') > std::max({count(','), count('\t'), count(';')}))
    return {parse_csv(runs::detail::with_commas(text, '|'), name), '|'};
  return runs::read_sheet(text, name);
}

inline constexpr auto goodput_titles = std::to_array<std::string_view>(
    {"job_start_time", "job_end_time", "step_start_time", "tpu_init_start_time", "tpu_init_end_time",
     "training_prep_start_time", "training_prep_end_time", "data_loading_start_time", "data_loading_end_time",
     "custom_badput_event_start_time", "custom_badput_event_end_time"});

// A title may be that of an export of Cloud Logging: jsonPayload.step_start_time.
[[nodiscard]] inline std::string_view goodput_title(std::string_view title) {
  const std::size_t dot = title.rfind('.');
  return dot == std::string_view::npos ? title : title.substr(dot + 1);
}
[[nodiscard]] inline bool is_goodput(const std::vector<std::string>& titles) {
  return std::any_of(titles.begin(), titles.end(), [](const std::string& title) {
    return std::find(goodput_titles.begin(), goodput_titles.end(), goodput_title(title)) != goodput_titles.end();
  });
}

struct Recognised {
  LogFormat format;
  std::string by;
};

[[nodiscard]] inline std::optional<Recognised> recognise(const std::vector<std::string>& titles,
                                                         const LogColumns& columns) {
  const auto has = [&columns](LogColumn c) { return columns.has(c); };
  const auto named = [&](LogColumn c) { return "\"" + titles[*columns[c]] + "\""; };
  if (is_goodput(titles)) return Recognised{LogFormat::goodput, "keys such as job_start_time and step_start_time"};
  if (has(LogColumn::state) && has(LogColumn::time) && has(LogColumn::end) &&
      (has(LogColumn::job) || has(LogColumn::job_nodes) || has(LogColumn::job_accelerators)))
    return Recognised{LogFormat::jobs, "columns " + named(LogColumn::state) + ", " + named(LogColumn::time) + " and " +
                                           named(LogColumn::end)};
  if (has(LogColumn::event) && has(LogColumn::time) && has(LogColumn::node) && !has(LogColumn::end))
    return Recognised{LogFormat::trace, "columns " + named(LogColumn::event) + " and " + named(LogColumn::node)};
  if (has(LogColumn::time) && has(LogColumn::end) && has(LogColumn::node)) {
    const std::string end = plain_title(titles[*columns[LogColumn::end]]);
    if (!end.starts_with("recover") && !end.starts_with("resum") && !has(LogColumn::planned))
      return Recognised{LogFormat::trace, "columns " + named(LogColumn::node) + ", " + named(LogColumn::time) +
                                              " and " + named(LogColumn::end)};
  }
  if (has(LogColumn::time)) return Recognised{LogFormat::list, "column " + named(LogColumn::time)};
  if (has(LogColumn::count) && (has(LogColumn::category) || has(LogColumn::component)))
    return Recognised{LogFormat::counts, "column " + named(LogColumn::count) + " and no time"};
  return std::nullopt;
}

// job: the name of the stream's one job, as far as it is known.
inline void take_goodput(const runs::Sheet& sheet, const Clock& clock, std::string& job,
                         std::vector<GoodputEvent>& out) {
  struct Column {
    std::size_t index;
    GoodputEvent::Kind kind;
  };
  std::vector<Column> columns;
  std::optional<std::size_t> step;
  std::optional<std::size_t> name;
  for (std::size_t i = 0; i < sheet.titles().size(); ++i) {
    const std::string_view title = goodput_title(sheet.titles()[i]);
    if (title == "step_count") step = i;
    if (title == "job_name") name = i;
    if (std::find(goodput_titles.begin(), goodput_titles.end(), title) == goodput_titles.end()) continue;
    using Kind = GoodputEvent::Kind;
    columns.push_back({i, title == "job_start_time"    ? Kind::job_start
                          : title == "job_end_time"    ? Kind::job_end
                          : title == "step_start_time" ? Kind::step
                                                       : Kind::other});
  }
  for (std::size_t row = 0; row < sheet.size(); ++row) {
    if (const std::string_view of = name ? sheet.cell(row, *name) : std::string_view(); !of.empty() && of != job) {
      if (!job.empty())
        throw Error(Failure::data, "several_jobs", sheet.place(row, *name),
                    "a stream must be of one job, got \"" + shown(of) + "\" after \"" + shown(job) + "\"");
      job = of;
    }
    for (const Column& column : columns) {
      const std::string_view cell = runs::detail::trimmed(sheet.cell(row, column.index));
      if (cell.empty()) continue;
      GoodputEvent event;
      event.kind = column.kind;
      event.line = sheet.line(row);
      const Timestamp time = read_timestamp(cell, clock, sheet.place(row, column.index));
      if (time.relative)
        throw Error(Failure::data, "bad_time", sheet.place(row, column.index),
                    "a goodput event must have its time in seconds since 1970, got \"" + shown(cell) + "\"");
      event.time = time.seconds;
      if (event.kind == GoodputEvent::Kind::step) {
        const auto number = runs::read_number(step ? sheet.cell(row, *step) : std::string_view());
        if (number.kind != runs::CellKind::number || number.value < 0 || number.value > 1e15)
          throw Error(Failure::data, "bad_value", sheet.place(row, column.index),
                      "a step must have a step_count of at least 0");
        event.step = number.value;
      }
      out.push_back(event);
    }
  }
}

[[nodiscard]] inline std::vector<bool> no_choice(const std::vector<std::string>& titles) {
  return std::vector<bool>(titles.size(), false);
}

inline void take_sheet(LogBuilder& builder, const runs::Sheet& sheet, const LogOptions& options) {
  const LogColumns columns(sheet.titles());
  const auto needs = [&](std::initializer_list<LogColumn> wanted, const char* names) {
    for (const LogColumn c : wanted) {
      if (!columns.has(c))
        throw Error(Failure::data, "missing_column", sheet.name() + ":1",
                    "a log of the format " + std::string(to_text(builder.log.format)) + " needs " + names);
    }
  };
  switch (builder.log.format) {
    case LogFormat::jobs:
      needs({LogColumn::state, LogColumn::time, LogColumn::end}, "columns State, Start and End");
      return add_jobs(builder, sheet, columns, options);
    case LogFormat::counts: needs({LogColumn::count}, "a column count"); return add_counts(builder, sheet, columns);
    case LogFormat::trace:
      needs({LogColumn::time, LogColumn::node}, "a time and a node");
      if (columns.has(LogColumn::event) && !columns.has(LogColumn::end))
        return add_marks(builder, sheet, columns, options.clock);
      return add_list(builder, sheet, columns, options.clock);
    case LogFormat::list:
      needs({LogColumn::time}, "a column of times (time, timestamp, start)");
      return add_list(builder, sheet, columns, options.clock);
    case LogFormat::goodput:
    case LogFormat::training: break;
  }
  throw Error(Failure::usage, "bad_format", sheet.name(),
              "a table is no log of the format " + std::string(to_text(builder.log.format)));
}

}  // namespace detail

// Throws Error(data) at name:line:column, Error(usage) for options that contradict each other or the log.
[[nodiscard]] inline FailureLog read_failure_log(std::string_view text, const std::string& name,
                                                 const LogOptions& options = {}) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos)
    throw Error(Failure::data, "empty_file", name + ":1:1", "needs a log, got an empty file");
  const auto make = [&](LogFormat format, std::string by) {
    LogBuilder builder(name, options.format.value_or(format));
    builder.log.recognised_by = options.format ? "--format" : std::move(by);
    return builder;
  };
  const auto unknown = [&name](const std::vector<std::string>& titles) {
    std::string all;
    for (const std::string& title : titles) all += (all.empty() ? "" : ", ") + title;
    return Error(Failure::data, "unknown_format", name + ":1",
                 "must be an interruption list, counts by category, a fault trace, job accounting, goodput events or a "
                 "training log, and no column is a time or a count, got " +
                     shown(all, 200));
  };
  if (options.format ? *options.format == LogFormat::training : detail::is_training_log(text)) {
    LogBuilder builder = make(LogFormat::training, "lines with an iteration and its elapsed time");
    TrainingLogReader reader(builder, options.clock);
    detail::each_line(text, [&reader](std::string_view line, std::size_t number) {
      reader.line(line, number);
      return true;
    });
    reader.finish();
    return close_window(std::move(builder), options);
  }
  if (text[first] != '{' && text[first] != '[') {
    const runs::Sheet sheet = detail::log_sheet(text.substr(0), name);
    const auto found = detail::recognise(sheet.titles(), LogColumns(sheet.titles()));
    if (!found && !options.format) throw unknown(sheet.titles());
    LogBuilder builder = make(found ? found->format : LogFormat::list, found ? found->by : "");
    if (builder.log.format == LogFormat::goodput) {
      std::vector<GoodputEvent> events;
      std::string job;
      detail::take_goodput(sheet, options.clock, job, events);
      builder.log.rows = sheet.size();
      add_goodput_events(builder, std::move(events));
    } else {
      detail::take_sheet(builder, sheet, options);
    }
    return close_window(std::move(builder), options);
  }
  const bool lines = runs::detail::is_jsonl(text.substr(first)) || (name.ends_with(".jsonl") && text[first] == '{');
  // JSONL is read in parts, each a sheet of its own; titles may differ from part to part.
  constexpr std::size_t part = 4 << 20;
  std::optional<LogBuilder> builder;
  std::vector<GoodputEvent> events;
  std::string job;
  std::size_t line = 1;
  for (std::string_view rest = text; !rest.empty();) {
    std::size_t end = lines && rest.size() > part ? rest.find('\n', part) : std::string_view::npos;
    end = end == std::string_view::npos ? rest.size() : end + 1;
    const std::string_view now = rest.substr(0, end);
    rest.remove_prefix(end);
    if (now.find_first_not_of(" \t\r\n") == std::string_view::npos) break;
    const runs::JsonSheet json = runs::read_json_sheet(now, name, lines, detail::no_choice, line);
    if (!json.broken.empty())
      throw Error(Failure::data, "bad_json", json.broken.front().place(), json.broken.front().reason);
    if (!builder) {
      const auto found = detail::recognise(json.sheet.titles(), LogColumns(json.sheet.titles()));
      if (!found && !options.format) throw unknown(json.sheet.titles());
      builder.emplace(make(found ? found->format : LogFormat::list, found ? found->by : ""));
    }
    if (builder->log.format == LogFormat::goodput) {
      detail::take_goodput(json.sheet, options.clock, job, events);
      builder->log.rows += json.sheet.size();
    } else {
      detail::take_sheet(*builder, json.sheet, options);
    }
    line += static_cast<std::size_t>(std::count(now.begin(), now.end(), '\n'));
  }
  if (builder->log.format == LogFormat::goodput) add_goodput_events(*builder, std::move(events));
  return close_window(std::move(*builder), options);
}

}  // namespace floplan::reliability
