// SPDX-License-Identifier: BSD-3-Clause
//
// From events to events in a window with their exposure.
//
//   FailureLog log = close_window(std::move(builder), options);
//
//   accelerator-hours = sum over segments of accelerators x hours within the window
//   node-days = accelerator-hours / (24 x accelerators a node)
//
// The window is --start to --end, or --start and --window, or what the log itself says (a stream of steps, jobs); else it
// reaches from the first event, which then only opens it, to the last. Nodes times accelerators a node must be the
// accelerators. In a trace a node that is down is not watched, so its time is taken off.
//
// Errors: usage where a size or a window is missing or contradicts another; data where nothing lies in the window.
// Pitfall: a window from the first event to the last is short by what was quiet before and after.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/failure_list.hpp"
#include "floplan/reliability/failure_log.hpp"

namespace floplan::reliability {

namespace detail {

struct WatchedSize {
  double accelerators = 0;
  double per_node = 8;
};

[[nodiscard]] inline WatchedSize watched_size(LogBuilder& builder, const LogOptions& options) {
  FailureLog& log = builder.log;
  const auto positive = [](const std::optional<Count>& n, const char* option) {
    if (n && !(n->value >= 1 && n->value <= 1e9 && n->value == std::floor(n->value)))
      throw Error(Failure::usage, "out_of_range", option, "must be a whole number from 1 to 1e9, got " + print(*n));
  };
  positive(options.accelerators, "--accelerators");
  positive(options.nodes, "--nodes");
  positive(options.accelerators_per_node, "--per-node");
  WatchedSize out;
  out.per_node = options.accelerators_per_node.value_or(Count(8)).value;
  log.exposure.per_node_assumed = !options.accelerators_per_node;
  std::optional<double> accelerators;
  if (options.accelerators) accelerators = options.accelerators->value;
  if (!accelerators && !options.nodes) accelerators = builder.accelerators;
  if (options.nodes) {
    log.fleet_nodes = options.nodes->value;
    if (!accelerators) {
      accelerators = options.nodes->value * out.per_node;
    } else if (!options.accelerators_per_node) {
      out.per_node = *accelerators / options.nodes->value;
      log.exposure.per_node_assumed = false;
    } else if (options.nodes->value * out.per_node != *accelerators) {
      throw Error(Failure::usage, "conflict", "--nodes",
                  "nodes x accelerators a node must be the accelerators, got " + print(*options.nodes) + " x " +
                      print_number(out.per_node) + " and " + print_number(*accelerators));
    }
  }
  if (!accelerators && log.format == LogFormat::trace && !log.nodes.empty()) {
    accelerators = static_cast<double>(log.nodes.size()) * out.per_node;
    log.warnings.push_back(
        {"nodes_from_log", "the fleet is taken to be the " + std::to_string(log.nodes.size()) +
                               " nodes that the log names: nodes that never failed are not in it, and "
                               "the rate is too high unless --nodes is given"});
  }
  if (!accelerators) {
    throw Error(Failure::usage, "missing_option", "--accelerators",
                "the size of what was watched must be known: give --accelerators or --nodes");
  }
  if (!log.fleet_nodes) log.fleet_nodes = *accelerators / out.per_node;
  if (static_cast<double>(log.nodes.size()) > std::ceil(*log.fleet_nodes)) {
    log.warnings.push_back(
        {"more_nodes_than_given", "the log names " + std::to_string(log.nodes.size()) + " nodes where " +
                                      print_number(*log.fleet_nodes, 6) +
                                      " were watched at a time: some were replaced, or it is another fleet"});
  }
  out.accelerators = *accelerators;
  return out;
}

[[nodiscard]] inline std::optional<double> window_time(const std::optional<std::string>& text, const char* option,
                                                       const LogBuilder& builder, const LogOptions& options) {
  if (!text) return std::nullopt;
  if (builder.any_time && builder.log.relative) return parse<Seconds>(*text, option).value;
  try {
    const Timestamp t = read_timestamp(*text, options.clock, option);
    if (t.relative)
      throw Error(Failure::usage, "bad_time", option, "must be an instant, as the log's times are, got " + *text);
    return t.seconds;
  } catch (const Error& error) {
    throw Error(Failure::usage, error.code(), option, std::string(error.what()).substr(error.where().size() + 2));
  }
}

}  // namespace detail

[[nodiscard]] inline FailureLog close_window(LogBuilder builder, const LogOptions& options) {
  FailureLog& log = builder.log;
  Exposure& exposure = log.exposure;
  log.nodes = builder.nodes.names();
  log.categories = builder.categories.names();
  const auto before = [](const Interruption& a, const Interruption& b) { return a.time < b.time; };
  if (!std::is_sorted(log.events.begin(), log.events.end(), before)) {
    if (log.format == LogFormat::list || log.format == LogFormat::trace)
      log.warnings.push_back({"unsorted", "the log was not in the order of time, and is sorted"});
    std::stable_sort(log.events.begin(), log.events.end(), before);
  }
  if (options.window && options.start && options.end)
    throw Error(Failure::usage, "conflict", "--window", "is the time from --start to --end: give two of the three");
  std::optional<double> begin = detail::window_time(options.start, "--start", builder, options);
  std::optional<double> end = detail::window_time(options.end, "--end", builder, options);
  const auto refuse_window = [](const char* option, const std::string& rule) {
    return Error(Failure::usage, "bad_window", option, rule);
  };
  if (options.window && !(options.window->value > 0)) throw refuse_window("--window", "must be positive");
  if (log.format != LogFormat::counts) count_once(builder);
  double first = std::numeric_limits<double>::infinity();
  double last = -first;
  for (const Interruption& event : log.events) {
    if (!event.time || event.ending == Ending::duplicate) continue;
    first = std::min(first, *event.time);
    last = std::max({last, *event.time, event.end && log.format == LogFormat::trace ? *event.end : *event.time});
  }
  if (options.window) {
    if (begin)
      end = *begin + options.window->value;
    else if (end)
      begin = *end - options.window->value;
  }
  if (log.format == LogFormat::counts) {
    if (options.window && !begin) begin = 0, end = options.window->value;
    if (!begin || !end)
      throw Error(Failure::usage, "missing_option", "--window",
                  "counts say nothing of their time: give --window (54d), or --start and --end");
    exposure.how = "given";
  } else if (log.format == LogFormat::jobs) {
    double jobs_end = -std::numeric_limits<double>::infinity();
    for (const ExposureSegment& s : exposure.segments) {
      first = std::min(first, s.begin);
      jobs_end = std::max(jobs_end, std::isfinite(s.end) ? s.end : s.begin);
    }
    exposure.how = begin || end ? "the jobs' nodes and times, within the window given" : "the jobs' nodes and times";
    begin = begin.value_or(first);
    end = end.value_or(jobs_end);
  } else {
    const bool own = exposure.begin.has_value();
    exposure.begin_derived = !begin && !own && !log.relative;
    exposure.end_derived = !end && !own;
    if (begin || end || !own)
      exposure.how = begin && end ? "given" : "from the first event to the last, where not given";
    if (!begin) begin = own ? *exposure.begin : log.relative ? 0 : first;
    if (options.window && !end) end = *begin + options.window->value, exposure.end_derived = false;
    if (!end) end = own ? *exposure.end : last;
    if (log.events.empty() && (exposure.begin_derived || exposure.end_derived))
      throw Error(Failure::usage, "missing_option", "--start",
                  "a log without events says nothing of its time: give --start and --end");
  }
  if (!std::isfinite(*begin) || !std::isfinite(*end))
    throw Error(Failure::data, "no_exposure", log.name, "needs a stretch of time in which something ran, got none");
  if (!(*end > *begin)) {
    if (exposure.begin_derived || exposure.end_derived)
      throw Error(Failure::no_answer, "no_window", log.name,
                  "one moment is no window: give --start and --end, the time that was watched");
    throw refuse_window("--end", "must be after --start");
  }
  exposure.begin = begin;
  exposure.end = end;
  bool opened = !exposure.begin_derived;
  for (Interruption& event : log.events) {
    if (!event.time || event.ending == Ending::duplicate) continue;
    if (*event.time < *begin || *event.time > *end) {
      event.ending = Ending::outside_window;
    } else if (!opened && event.ending == Ending::failure) {
      // Other failures of this very time are counted; a window opened by a planned end is opened all the same.
      event.ending = Ending::opens_window;
    }
    opened = true;
  }
  double accelerator_seconds = 0;
  double seconds = 0;
  if (log.format == LogFormat::jobs) {
    exposure.accelerators_per_node = options.accelerators_per_node.value_or(Count(8)).value;
    std::vector<ExposureSegment> inside;
    for (ExposureSegment s : exposure.segments) {
      s.begin = std::max(s.begin, *begin);
      s.end = std::min(s.end, *end);
      if (s.end > s.begin) inside.push_back(s);
    }
    exposure.segments = std::move(inside);
    if (options.nodes) log.fleet_nodes = options.nodes->value;
  } else {
    const detail::WatchedSize size = detail::watched_size(builder, options);
    exposure.accelerators_per_node = size.per_node;
    exposure.segments = {{*begin, *end, size.accelerators}};
  }
  for (const ExposureSegment& s : exposure.segments) {
    accelerator_seconds += s.accelerators * (s.end - s.begin);
    seconds += s.end - s.begin;
  }
  if (log.format == LogFormat::trace) {
    double down = builder.down_seconds;
    for (const double since : builder.still_down) down += std::max(0.0, *end - std::max(since, *begin));
    exposure.down_node_days = down / 86400;
    accelerator_seconds -= std::min(down * exposure.accelerators_per_node, accelerator_seconds);
  }
  exposure.hours = seconds / 3600;
  exposure.accelerator_hours = accelerator_seconds / 3600;
  exposure.node_days = exposure.accelerator_hours / exposure.accelerators_per_node / 24;
  if (!(exposure.accelerator_hours > 0) || !std::isfinite(exposure.accelerator_hours))
    throw Error(Failure::data, "no_exposure", log.name, "needs accelerator-hours that were watched, got none");
  if (exposure.begin_derived || exposure.end_derived) {
    log.warnings.push_back(
        {"window_from_events", std::string("the window is taken from the ") +
                                   (exposure.begin_derived ? "first event, which is not counted," : "log's beginning") +
                                   " to the last: give --start and --end, the time that was watched"});
  }
  if (builder.excluded_by_word > 0) {
    log.warnings.push_back({"excluded_by_word",
                            print_number(builder.excluded_by_word, 9) +
                                " events are not counted as failures by the name of their category alone, such as \"" +
                                shown(builder.excluded_word) + "\": a column planned (yes or no) says which they are"});
  }
  return std::move(log);
}

}  // namespace floplan::reliability
