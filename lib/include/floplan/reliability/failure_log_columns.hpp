// SPDX-License-Identifier: BSD-3-Clause
//
// Which column of somebody's log is the time, the node, the cause?
//
//   const LogColumns columns(sheet.titles());      columns[LogColumn::node]      an index, or none
//   LogCells cells(sheet, columns, row)            cells.text(LogColumn::node), cells.time(...), cells.duration(...)
//
// Titles are compared in lower case with everything but letters and digits left out: "Start Time" is start_time. A duration's
// unit is the end of its title (_s, _min, _hours, _days) or stands in the cell (5min); one without is refused.
//
// Taken from files as people have them: incident lists, stepfun-ai/InfiniteHBD-Trace, InternLM/AcmeTrace, sacct -P,
// Table 5 of Llama 3 as component, category, count.
// Pitfall: "recovery" may hold an instant or a duration; what reads as a date is an instant.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/names.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/failure_log.hpp"
#include "floplan/runs/cell_number.hpp"
#include "floplan/runs/sheet.hpp"

namespace floplan::reliability {

enum class LogColumn {
  time,
  end,
  duration,
  node,
  category,
  component,
  count,
  planned,
  automatic,
  manual,  // of lists and traces
  event,
  job,
  state,
  job_nodes,
  job_accelerators,
  node_list,
  elapsed,  // of traces and jobs
  number_of
};

namespace detail {

struct LogTitles {
  LogColumn column;
  std::span<const std::string_view> titles;  // the better ones first
};

// "Start Time", "start_time" and "StartTime" are one title.
[[nodiscard]] inline std::string plain_title(std::string_view title) {
  std::string out;
  for (const char c : lower_case(title)) {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

inline constexpr auto time_titles = std::to_array<std::string_view>(
    {"time",       "timestamp", "eventtime",  "failuretime",  "faulttime", "interruptiontime", "datetime",  "occurred",
     "occurredat", "failedat",  "faultstart", "starttime",    "start",     "started",          "startedat", "begin",
     "begintime",  "date",      "timeutc",    "starttimeutc", "detected",  "detectedat"});
inline constexpr auto end_titles = std::to_array<std::string_view>(
    {"recoverytime", "recovered", "recoveredat", "recovery", "resumed", "resumedat", "resumetime", "restored",
     "restoredat", "faultend", "endtime", "end", "ended", "endedat", "stop", "stoptime", "repaired", "endtimeutc"});
inline constexpr auto duration_titles = std::to_array<std::string_view>(
    {"duration", "downtime", "outage", "recoveryduration", "timetorecover", "ttr", "repairtime", "lost"});
inline constexpr auto node_titles = std::to_array<std::string_view>(
    {"node", "nodeid", "nodename", "host", "hostname", "hostid", "machine", "machineid", "server", "instance"});
inline constexpr auto category_titles =
    std::to_array<std::string_view>({"category", "cause", "rootcause", "reason", "faulttypeclass", "faulttype",
                                     "failuretype", "errortype", "type", "kind", "class"});
inline constexpr auto component_titles =
    std::to_array<std::string_view>({"component", "faulttypedesc", "part", "device", "subcategory", "description"});
inline constexpr auto count_titles = std::to_array<std::string_view>(
    {"count", "interruptions", "interruptioncount", "failures", "events", "occurrences"});
inline constexpr auto planned_titles = std::to_array<std::string_view>({"planned", "isplanned", "scheduled"});
inline constexpr auto automatic_titles =
    std::to_array<std::string_view>({"automatic", "auto", "automated", "recoverymode", "handled"});
inline constexpr auto manual_titles = std::to_array<std::string_view>({"manual", "manualintervention", "ismanual"});
inline constexpr auto event_titles = std::to_array<std::string_view>({"eventtype", "event", "action"});
inline constexpr auto job_titles = std::to_array<std::string_view>({"jobid", "jobidraw", "job", "allocation"});
inline constexpr auto state_titles = std::to_array<std::string_view>({"state", "jobstate", "status", "finalstate"});
inline constexpr auto job_nodes_titles =
    std::to_array<std::string_view>({"nnodes", "nodenum", "allocnodes", "numnodes", "nodecount", "nodes"});
inline constexpr auto job_accelerator_titles =
    std::to_array<std::string_view>({"gpunum", "gpus", "numgpus", "ngpus", "accelerators", "gpucount", "allocgpus"});
inline constexpr auto node_list_titles = std::to_array<std::string_view>({"nodelist", "hosts", "allocatednodes"});
inline constexpr auto elapsed_titles = std::to_array<std::string_view>({"elapsed", "elapsedraw"});

inline constexpr auto log_titles = std::to_array<LogTitles>({{LogColumn::time, time_titles},
                                                             {LogColumn::end, end_titles},
                                                             {LogColumn::duration, duration_titles},
                                                             {LogColumn::node, node_titles},
                                                             {LogColumn::category, category_titles},
                                                             {LogColumn::component, component_titles},
                                                             {LogColumn::count, count_titles},
                                                             {LogColumn::planned, planned_titles},
                                                             {LogColumn::automatic, automatic_titles},
                                                             {LogColumn::manual, manual_titles},
                                                             {LogColumn::event, event_titles},
                                                             {LogColumn::job, job_titles},
                                                             {LogColumn::state, state_titles},
                                                             {LogColumn::job_nodes, job_nodes_titles},
                                                             {LogColumn::job_accelerators, job_accelerator_titles},
                                                             {LogColumn::node_list, node_list_titles},
                                                             {LogColumn::elapsed, elapsed_titles}});

struct TimeUnit {
  std::string_view suffix;
  double seconds;
};
// Of titles; the longer of two that end alike first.
inline constexpr auto time_units_of_titles = std::to_array<TimeUnit>({{"seconds", 1},
                                                                      {"secs", 1},
                                                                      {"sec", 1},
                                                                      {"minutes", 60},
                                                                      {"mins", 60},
                                                                      {"min", 60},
                                                                      {"hours", 3600},
                                                                      {"hrs", 3600},
                                                                      {"days", 86400},
                                                                      {"ms", 0.001},
                                                                      {"s", 1},
                                                                      {"h", 3600},
                                                                      {"d", 86400}});

}  // namespace detail

class LogColumns {
 public:
  explicit LogColumns(const std::vector<std::string>& titles) {
    std::vector<std::string> plain;
    for (const std::string& title : titles) plain.push_back(detail::plain_title(title));
    for (const detail::LogTitles& wanted : detail::log_titles) {
      for (const std::string_view name : wanted.titles) {
        if (find(wanted.column, plain, name, titles)) break;
      }
    }
  }
  [[nodiscard]] std::optional<std::size_t> operator[](LogColumn c) const { return at_[static_cast<std::size_t>(c)]; }
  [[nodiscard]] bool has(LogColumn c) const { return (*this)[c].has_value(); }
  // Seconds in the unit that the column's title names.
  [[nodiscard]] std::optional<double> unit(LogColumn c) const { return units_[static_cast<std::size_t>(c)]; }

 private:
  static constexpr std::size_t size = static_cast<std::size_t>(LogColumn::number_of);

  bool find(LogColumn c, const std::vector<std::string>& plain, std::string_view name,
            const std::vector<std::string>& titles) {
    const auto i = static_cast<std::size_t>(c);
    for (std::size_t k = 0; k < plain.size(); ++k) {
      if (plain[k] != name) continue;
      at_[i] = k;
      return true;
    }
    if (c != LogColumn::time && c != LogColumn::end && c != LogColumn::duration && c != LogColumn::elapsed)
      return false;
    for (std::size_t k = 0; k < plain.size(); ++k) {
      if (!plain[k].starts_with(name)) continue;
      for (const detail::TimeUnit& unit : detail::time_units_of_titles) {
        // "starts" is no unit; a unit stands apart from what it measures.
        const std::string_view title = titles[k];
        const bool apart =
            title.size() > unit.suffix.size() && !title.ends_with(']') && !title.ends_with(')')
                ? std::string_view("_ -.").find(title[title.size() - unit.suffix.size() - 1]) != std::string_view::npos
                : true;
        if (plain[k].substr(name.size()) != unit.suffix || !apart) continue;
        at_[i] = k;
        units_[i] = unit.seconds;
        return true;
      }
    }
    return false;
  }

  std::array<std::optional<std::size_t>, size> at_{};
  std::array<std::optional<double>, size> units_{};
};

// The cells of one row by what they mean.
class LogCells {
 public:
  LogCells(const runs::Sheet& sheet, const LogColumns& columns, std::size_t row)
      : sheet_(sheet), columns_(columns), row_(row) {}

  [[nodiscard]] std::string_view text(LogColumn c) const {
    const auto at = columns_[c];
    if (!at) return {};
    const std::string_view cell = runs::detail::trimmed(sheet_.cell(row_, *at));
    return blank(cell) ? std::string_view() : cell;
  }
  [[nodiscard]] std::string place(LogColumn c) const {
    const auto at = columns_[c];
    return at ? sheet_.place(row_, *at) : sheet_.name() + ":" + std::to_string(sheet_.line(row_));
  }
  [[nodiscard]] std::size_t line() const { return sheet_.line(row_); }
  [[nodiscard]] Error fail(LogColumn c, const std::string& rule, const char* code = "bad_value") const {
    return {Failure::data, code, place(c), rule + ", got \"" + shown(text(c)) + "\""};
  }

  [[nodiscard]] std::optional<Timestamp> time(LogColumn c, const Clock& clock) const {
    const std::string_view cell = text(c);
    // Slurm writes Unknown where a job has not ended.
    if (cell.empty() || cell == "Unknown") return std::nullopt;
    const auto at = columns_[c];
    // The place is only written out for an error: a million rows need none.
    try {
      return read_timestamp(cell, clock, "");
    } catch (const Error& error) {
      throw Error(error.failure(), error.code(), sheet_.place(row_, *at), error.what());
    }
  }
  // Seconds.
  [[nodiscard]] std::optional<double> duration(LogColumn c) const {
    const std::string_view cell = text(c);
    if (cell.empty()) return std::nullopt;
    const auto number = runs::read_number(cell);
    if (number.kind == runs::CellKind::number) {
      const auto unit = columns_.unit(c);
      if (!unit)
        throw fail(c, "a duration must have a unit, in its title (downtime_hours) or in the cell (5min)", "no_unit");
      if (!(number.value >= 0) || number.value * *unit > 1e11) throw fail(c, "a duration must be from 0 to 1e11 s");
      return number.value * *unit;
    }
    try {
      return parse<Seconds>(cell).value;
    } catch (const Error&) {
      throw fail(c, "must be a duration such as 5min");
    }
  }
  [[nodiscard]] std::optional<double> number(LogColumn c, double least, double most) const {
    const std::string_view cell = text(c);
    if (cell.empty()) return std::nullopt;
    const auto number = runs::read_number(cell);
    if (number.kind != runs::CellKind::number || !(number.value >= least && number.value <= most))
      throw fail(c, "must be a number from " + print_number(least, 6) + " to " + print_number(most, 6));
    return number.value;
  }
  [[nodiscard]] std::optional<bool> yes(LogColumn c) const {
    const std::string_view cell = text(c);
    if (cell.empty()) return std::nullopt;
    const std::string word = lower_case(cell);
    for (const std::string_view y : {"true", "yes", "y", "1", "planned", "scheduled", "automatic", "auto", "manual"}) {
      if (word == y) return c == LogColumn::automatic ? word != "manual" : true;
    }
    for (const std::string_view n : {"false", "no", "n", "0", "unplanned", "unexpected", "unscheduled"}) {
      if (word == n) return false;
    }
    throw fail(c, "must be true or false");
  }

 private:
  [[nodiscard]] static bool blank(std::string_view cell) {
    if (cell.empty()) return true;
    if (cell.size() > 7) return false;
    return runs::detail::is_blank_word(cell);
  }

  const runs::Sheet& sheet_;
  const LogColumns& columns_;
  std::size_t row_;
};

}  // namespace floplan::reliability
