// SPDX-License-Identifier: BSD-3-Clause
//
// What happened to a job or a fleet, and for how long it was watched, whatever file said so.
//
//   FailureLog log = read_failure_log(text, "faults.csv", options);      (failure_log_reader.hpp)
//   log.events[i].ending == Ending::failure                               else why it is no failure
//   log.exposure.accelerator_hours, log.exposure.node_days                always both
//
// An event has a time (s since 1970 UTC, or since the log began where log.relative), perhaps an end (when work or the node
// was back), a node, a category. Counts by category are events with a count and no time. Exposure is the sum over segments
// of accelerators x time: one segment for a window, one a job for job accounting.
//
// Source: exposure in node-days as Kokolis et al. 2025 (arXiv 2410.21680) count it; planned ends are no failures
// (llnl/scr pull 239: 2 crashes and 3 ends of allocation in 72 h are an MTBF of 36 h, not 14.4 h).
// Pitfall: a window that is not given is taken from the first event to the last; the first one then only opens it, so a
// log of one event gives no rate.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/reliability/timestamp.hpp"

namespace floplan::reliability {

enum class LogFormat { list, counts, trace, jobs, goodput, training };

inline constexpr std::array<std::string_view, 6> log_format_names = {"list", "counts",  "trace",
                                                                     "jobs", "goodput", "training"};
[[nodiscard]] constexpr std::string_view to_text(LogFormat f) { return log_format_names[static_cast<std::size_t>(f)]; }

// How a stretch of work ended, or why an event is not counted.
enum class Ending {
  failure,
  planned,
  maintenance,
  preemption,
  cancelled,
  completed,
  time_limit,
  never_started,
  still_running,
  duplicate,
  overlapping,   // of another event of the same node
  opens_window,  // the event from which a window that is not given begins
  outside_window
};
inline constexpr std::array<std::string_view, 13> ending_names = {
    "failure",       "planned",       "maintenance", "preemption",  "cancelled",    "completed",     "time_limit",
    "never_started", "still_running", "duplicate",   "overlapping", "opens_window", "outside_window"};
[[nodiscard]] constexpr std::string_view to_text(Ending e) { return ending_names[static_cast<std::size_t>(e)]; }

inline constexpr std::int32_t nobody = -1;

struct Interruption {
  std::optional<double> time;
  std::optional<double> end;
  double count = 1;
  std::int32_t node = nobody;      // in FailureLog::nodes
  std::int32_t category = nobody;  // in FailureLog::categories
  Ending ending = Ending::failure;
  std::optional<bool> automatic;  // recovered without a person
  std::size_t line = 0;
};

// Accelerators that were watched from begin to end.
struct ExposureSegment {
  double begin = 0;
  double end = 0;
  double accelerators = 0;
};

struct Exposure {
  double accelerator_hours = 0;
  double node_days = 0;
  double hours = 0;  // of work, all segments added; overlapping jobs count each
  double accelerators_per_node = 8;
  std::optional<double> begin, end;  // of the window
  std::vector<ExposureSegment> segments;
  bool begin_derived = false;  // the window begins with the first event, which is not counted
  bool end_derived = false;    // and ends with the last one
  bool per_node_assumed = false;
  double down_node_days = 0;  // of a fault trace, already taken off
  std::string how;            // in words

  // Mean size of a job, weighted by time.
  [[nodiscard]] double accelerators() const { return hours > 0 ? accelerator_hours / hours : 0; }
  [[nodiscard]] double nodes() const { return accelerators() / accelerators_per_node; }
};

// What a log of training itself tells.
struct TrainingProgress {
  double iterations = 0;  // printed, repeated ones counted each time
  double repeated = 0;    // done again after a restart
  double productive_hours = 0;
  double lost_hours = 0;     // of repeated iterations
  double restart_hours = 0;  // from the last line before to the first line after
  double restarts = 0;
  std::optional<double> median_iteration_s;
  std::optional<double> tokens_per_second;
  std::optional<double> tflops_per_accelerator;
};

struct FailureLog {
  std::string name;
  LogFormat format = LogFormat::list;
  std::string recognised_by;
  std::vector<Interruption> events;  // by ascending time
  std::vector<std::string> nodes;
  std::vector<std::string> categories;
  std::optional<double> fleet_nodes;  // how many nodes could have failed, where that is known
  Exposure exposure;
  std::optional<TrainingProgress> training;
  std::size_t rows = 0;
  bool relative = false;
  std::vector<Warning> warnings;

  [[nodiscard]] std::string place(std::size_t line) const { return name + ":" + std::to_string(line); }
};

struct LogOptions {
  std::optional<LogFormat> format;
  std::optional<Count> accelerators;
  std::optional<Count> nodes;
  std::optional<Count> accelerators_per_node;  // 8 if nothing says it
  std::optional<std::string> start, end;       // as a log's times
  std::optional<Seconds> window;               // in place of start and end
  Clock clock;
};

// Numbers names in the order of their first use.
class NameTable {
 public:
  [[nodiscard]] std::int32_t index(std::string_view name) {
    if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
    const auto number = static_cast<std::int32_t>(names_.size());
    names_.emplace_back(name);
    numbers_.emplace(names_.back(), number);
    return number;
  }
  [[nodiscard]] std::vector<std::string> names() const { return {names_.begin(), names_.end()}; }

 private:
  std::deque<std::string> names_;  // never moves, so that the views of it hold
  std::unordered_map<std::string_view, std::int32_t> numbers_;
};

}  // namespace floplan::reliability
