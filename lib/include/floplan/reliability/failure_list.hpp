// SPDX-License-Identifier: BSD-3-Clause
//
// Interruptions one a row, counts by category, and faults with a start and an end.
//
//   LogBuilder builder("faults.csv", LogFormat::trace);
//   add_list(builder, sheet, columns, clock);      rows of time, perhaps end, node, category, planned, automatic
//   add_counts(builder, sheet, columns);           rows of category and count, as Table 5 of Llama 3
//   add_marks(builder, sheet, columns, clock);     rows of fault_start and fault_end, paired for each node
//
// Faults of one node that overlap are one event, from the first start to the last end; the others are kept with
// Ending::overlapping. Rows that agree in time, node and category are duplicates of the first. Planned ends, maintenance
// that is not called unplanned, preemptions and cancellations are kept and not counted.
//
// Errors: an end before its start, times that cannot be read, a count that is not whole, each at its line and column.
// Pitfall: a file of dates without hours makes two faults of one node on one day one event.
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

#include "floplan/core/names.hpp"
#include "floplan/reliability/failure_log.hpp"
#include "floplan/reliability/failure_log_columns.hpp"

namespace floplan::reliability {

struct LogBuilder {
  LogBuilder(std::string name, LogFormat format) {
    log.name = std::move(name);
    log.format = format;
  }
  FailureLog log;
  NameTable nodes;
  NameTable categories;
  bool any_time = false;
  std::optional<double> accelerators;  // that the log itself names
  double down_seconds = 0;             // of nodes in a trace
  std::vector<double> still_down;      // since when, of faults that have no end
  // Events of a log without a column planned that their category's name alone makes no failures, and the first such name.
  double excluded_by_word = 0;
  std::string excluded_word;

  [[nodiscard]] Ending ending(std::string_view category, const LogCells& cells, const LogColumns& columns,
                              double count);

  // The column is that of the time, whose title may name a unit.
  [[nodiscard]] double take(const Timestamp& t, const std::optional<double>& unit, const LogCells& cells,
                            LogColumn column) {
    if (!any_time) {
      any_time = true;
      log.relative = t.relative;
    } else if (log.relative != t.relative) {
      throw Error(Failure::data, "mixed_times", cells.place(column),
                  "all times of a log must be instants, or all be relative to its beginning");
    }
    if (!t.relative) return t.seconds;
    if (!unit) {
      throw Error(
          Failure::data, "no_unit", cells.place(column),
          "a time below 1e8 is relative to the log's beginning and needs a unit in its title (time_days), got " +
              print_number(t.seconds, 9));
    }
    return t.seconds * *unit;
  }
};

// Why an event of this category is none, by what people call it.
[[nodiscard]] inline Ending ending_of_category(std::string_view category) {
  const std::string text = lower_case(category);
  const auto has = [&text](std::string_view word) { return text.find(word) != std::string::npos; };
  if (has("unplanned") || has("unscheduled") || has("unexpected") || has("emergency")) return Ending::failure;
  if (has("maintenance")) return Ending::maintenance;
  if (has("preempt")) return Ending::preemption;
  if (has("cancel")) return Ending::cancelled;
  if (has("end of allocation") || has("allocation end") || has("end_of_allocation") || has("walltime") ||
      has("wall time") || has("time limit") || has("time_limit") || has("timelimit"))
    return Ending::time_limit;
  if (has("planned") || has("scheduled")) return Ending::planned;
  if (text == "completed" || text == "finished") return Ending::completed;
  return Ending::failure;
}

// A column planned, where the log has it, is the last word on failures.
inline Ending LogBuilder::ending(std::string_view category, const LogCells& cells, const LogColumns& columns,
                                 double count) {
  const auto planned = cells.yes(LogColumn::planned);
  const Ending by_word = ending_of_category(category);
  if (planned && !*planned) return Ending::failure;
  if (planned) return by_word == Ending::failure ? Ending::planned : by_word;
  if (by_word != Ending::failure && count > 0 && !columns.has(LogColumn::planned)) {
    excluded_by_word += count;
    if (excluded_word.empty()) excluded_word = category;
  }
  return by_word;
}

namespace detail {

[[nodiscard]] inline std::string_view category_text(const LogCells& cells, const LogColumns& columns) {
  const std::string_view category = cells.text(LogColumn::category);
  return category.empty() && columns.has(LogColumn::component) ? cells.text(LogColumn::component) : category;
}

[[nodiscard]] inline std::optional<double> count_of(const LogCells& cells) {
  const auto count = cells.number(LogColumn::count, 0, 1e12);
  if (count && *count != std::floor(*count)) throw cells.fail(LogColumn::count, "a count must be a whole number");
  return count;
}

inline void refuse_problem(const runs::Sheet& sheet, std::size_t row) {
  if (const auto problem = sheet.problem(row))
    throw Error(Failure::data, "bad_row", sheet.place(row, 0), "the row " + *problem);
}

}  // namespace detail

inline void add_list(LogBuilder& builder, const runs::Sheet& sheet, const LogColumns& columns, const Clock& clock) {
  FailureLog& log = builder.log;
  log.events.reserve(log.events.size() + sheet.size());
  for (std::size_t row = 0; row < sheet.size(); ++row) {
    ++log.rows;
    detail::refuse_problem(sheet, row);
    const LogCells cells(sheet, columns, row);
    Interruption event;
    event.line = cells.line();
    const auto time = cells.time(LogColumn::time, clock);
    if (!time) throw cells.fail(LogColumn::time, "an event must have a time", "no_time");
    event.time = builder.take(*time, columns.unit(LogColumn::time), cells, LogColumn::time);
    // A cell under "recovery" that is no instant is a duration.
    const std::string_view end_cell = cells.text(LogColumn::end);
    if (!end_cell.empty()) {
      const bool is_duration = columns.unit(LogColumn::end).has_value() && !log.relative;
      const auto after = is_duration ? cells.duration(LogColumn::end) : std::nullopt;
      if (after) {
        event.end = *event.time + *after;
      } else if (const auto end = cells.time(LogColumn::end, clock)) {
        const auto unit = columns.unit(LogColumn::end) ? columns.unit(LogColumn::end) : columns.unit(LogColumn::time);
        event.end = builder.take(*end, unit, cells, LogColumn::end);
      }
    } else if (const auto duration = cells.duration(LogColumn::duration)) {
      event.end = *event.time + *duration;
    }
    if (event.end && *event.end < *event.time)
      throw cells.fail(LogColumn::end, "an end must not be before its start", "end_before_start");
    if (const std::string_view node = cells.text(LogColumn::node); !node.empty())
      event.node = builder.nodes.index(node);
    const std::string_view category = detail::category_text(cells, columns);
    event.category = builder.categories.index(category.empty() ? "unknown" : category);
    event.count = detail::count_of(cells).value_or(1);
    event.ending = builder.ending(category, cells, columns, event.count);
    event.automatic = cells.yes(LogColumn::automatic);
    if (const auto manual = cells.yes(LogColumn::manual)) event.automatic = !*manual;
    log.events.push_back(event);
  }
}

inline void add_counts(LogBuilder& builder, const runs::Sheet& sheet, const LogColumns& columns) {
  for (std::size_t row = 0; row < sheet.size(); ++row) {
    ++builder.log.rows;
    detail::refuse_problem(sheet, row);
    const LogCells cells(sheet, columns, row);
    const auto count = detail::count_of(cells);
    if (!count) throw cells.fail(LogColumn::count, "a category must have a count");
    const std::string_view category = detail::category_text(cells, columns);
    if (category.empty()) throw cells.fail(LogColumn::category, "a count must have a category");
    Interruption event;
    event.line = cells.line();
    event.count = *count;
    event.category = builder.categories.index(category);
    event.ending = builder.ending(category, cells, columns, event.count);
    builder.log.events.push_back(event);
  }
}

// Rows that mark the start or the end of a fault: the end closes the earliest open fault of its node and category.
inline void add_marks(LogBuilder& builder, const runs::Sheet& sheet, const LogColumns& columns, const Clock& clock) {
  struct Mark {
    double time;
    bool start;
    std::int32_t node, category;
    std::size_t line;
  };
  FailureLog& log = builder.log;
  std::vector<Mark> marks;
  std::optional<double> unit = columns.unit(LogColumn::time);
  for (std::size_t row = 0; row < sheet.size(); ++row) {
    ++log.rows;
    detail::refuse_problem(sheet, row);
    const LogCells cells(sheet, columns, row);
    const auto time = cells.time(LogColumn::time, clock);
    if (!time) throw cells.fail(LogColumn::time, "an event must have a time", "no_time");
    if (time->relative && !unit) {
      unit = 86400;
      log.warnings.push_back({"assumed",
                              "the trace's relative times are in days, as InfiniteHBD's are: give the unit in "
                              "the title (event_time_hours) if they are not"});
    }
    const std::string kind = lower_case(cells.text(LogColumn::event));
    const bool start = kind.ends_with("start") || kind.ends_with("begin");
    if (!start && !kind.ends_with("end") && !kind.ends_with("stop"))
      throw cells.fail(LogColumn::event, "an event must be a start or an end (fault_start, fault_end)");
    const std::string_view node = cells.text(LogColumn::node);
    if (node.empty()) throw cells.fail(LogColumn::node, "a fault must have a node");
    const std::string_view category = detail::category_text(cells, columns);
    marks.push_back({builder.take(*time, unit, cells, LogColumn::time), start, builder.nodes.index(node),
                     builder.categories.index(category.empty() ? "unknown" : category), cells.line()});
  }
  const auto by_time = [](const Mark& a, const Mark& b) {
    return std::pair(a.time, a.start) < std::pair(b.time, b.start);
  };
  if (!std::is_sorted(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return a.time < b.time; }))
    log.warnings.push_back({"unsorted", "the log was not in the order of time, and is sorted"});
  std::stable_sort(marks.begin(), marks.end(), by_time);
  const std::vector<std::string> names = builder.categories.names();
  std::vector<std::vector<std::size_t>> open(builder.nodes.names().size());
  std::size_t orphans = 0;
  std::size_t first_orphan = 0;
  for (const Mark& mark : marks) {
    std::vector<std::size_t>& of_node = open[static_cast<std::size_t>(mark.node)];
    if (mark.start) {
      Interruption event;
      event.time = mark.time;
      event.node = mark.node;
      event.category = mark.category;
      event.line = mark.line;
      event.ending = ending_of_category(names[static_cast<std::size_t>(mark.category)]);
      of_node.push_back(log.events.size());
      log.events.push_back(event);
      continue;
    }
    auto closes = std::find_if(of_node.begin(), of_node.end(),
                               [&](std::size_t i) { return log.events[i].category == mark.category; });
    if (closes == of_node.end()) {
      if (orphans++ == 0) first_orphan = mark.line;
      continue;
    }
    log.events[*closes].end = mark.time;
    of_node.erase(closes);
  }
  if (orphans > 0) {
    log.warnings.push_back({"end_without_start", std::to_string(orphans) + " ends (first at " +
                                                     log.place(first_orphan) +
                                                     ") close no fault that the log opens, and are left out"});
  }
}

// Duplicates and overlaps, once all rows are there and in the order of time.
inline void count_once(LogBuilder& builder) {
  FailureLog& log = builder.log;
  constexpr double never = std::numeric_limits<double>::infinity();
  struct OfNode {
    double covered = -never;
    std::size_t last = 0;
  };
  std::vector<OfNode> nodes(log.nodes.size());
  std::size_t same_time = 0;
  for (std::size_t i = 0; i < log.events.size(); ++i) {
    Interruption& event = log.events[i];
    if (!event.time) continue;
    if (event.node == nobody) {
      if (i > 0 && log.events[i - 1].node == nobody && log.events[i - 1].time == event.time &&
          event.ending == Ending::failure)
        ++same_time;
      continue;
    }
    // Events of one time are few: a look back finds a duplicate.
    for (std::size_t k = i; k > 0 && log.events[k - 1].time == event.time; --k) {
      const Interruption& other = log.events[k - 1];
      if (other.node == event.node && other.category == event.category && other.end == event.end &&
          other.ending == event.ending) {
        event.ending = Ending::duplicate;
        break;
      }
      if (i - k > 64) break;
    }
    if (event.ending == Ending::duplicate) continue;
    OfNode& node = nodes[static_cast<std::size_t>(event.node)];
    const bool trace = log.format == LogFormat::trace;
    const double end = event.end.value_or(trace ? never : *event.time);
    if (*event.time < node.covered && event.ending == Ending::failure) event.ending = Ending::overlapping;
    if (trace && end > node.covered) {
      if (std::isfinite(end)) {
        builder.down_seconds += end - std::max(*event.time, node.covered);
      } else if (*event.time >= node.covered) {
        builder.still_down.push_back(*event.time);
      } else if (std::isfinite(node.covered)) {
        builder.still_down.push_back(node.covered);
      }
    }
    node.covered = std::max(node.covered, end);
  }
  if (same_time > 0) {
    log.warnings.push_back({"same_time", std::to_string(same_time) +
                                             " events have the time of the one before and no node to tell them apart: "
                                             "all are counted"});
  }
}

}  // namespace floplan::reliability
