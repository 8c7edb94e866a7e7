// SPDX-License-Identifier: BSD-3-Clause
//
// Interruptions, lost steps and restart times from a stream of goodput events, one JSON object a line.
//
//   {"job_name": "run", "job_start_time": 1704070800.0}
//   {"job_name": "run", "step_count": 0, "step_start_time": 1704070808.5}      ... step 1, 2, ...
//   GoodputEvents events;  events.add(kind, time, step, line) for each;  events.finish(builder)
//
// A job_start_time after the first is a restart. With a job_end_time since the last step it followed a planned end, else an
// interruption at the last event before it; work is back at the first step after it. Steps that are started again are
// repeated work; their time is that of their first run. A custom badput event is the job's own and no interruption.
//
// Source: log entries of AI-Hypercomputer/ml-goodput-measurement (goodput.py): job_start_time, job_end_time, step_count and
// step_start_time, tpu_init_*, training_prep_*, data_loading_*, custom_badput_event_*; unix seconds.
// Pitfall: a run that died and was never started again leaves no mark; how many accelerators it had is not in the stream.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/reliability/failure_list.hpp"
#include "floplan/reliability/failure_log.hpp"

namespace floplan::reliability {

namespace detail {

// Time of steps by their number, so that what is repeated is known by what it first took. Fills TrainingProgress for
// streams of steps (goodput events) and of iterations (training logs) alike.
class StepClock {
 public:
  // Several steps between two lines of a log, which prints every n-th.
  void add(double first, double last, double seconds_each) {
    const double steps = last - first + 1;
    const double again = highest_ ? std::clamp(*highest_ - first + 1, 0.0, steps) : 0;
    progress_.iterations += steps;
    progress_.repeated += again;
    progress_.lost_hours += again * seconds_each / 3600;
    progress_.productive_hours += (steps - again) * seconds_each / 3600;
    highest_ = std::max(highest_.value_or(last), last);
    durations_.push_back(static_cast<float>(seconds_each));
  }
  void restart(double seconds) {
    ++progress_.restarts;
    progress_.restart_hours += seconds / 3600;
  }
  [[nodiscard]] TrainingProgress finish() {
    if (!durations_.empty()) {
      const auto middle = durations_.begin() + static_cast<std::ptrdiff_t>(durations_.size() / 2);
      std::nth_element(durations_.begin(), middle, durations_.end());
      progress_.median_iteration_s = *middle;
    }
    return progress_;
  }

 private:
  TrainingProgress progress_;
  std::optional<double> highest_;
  std::vector<float> durations_;
};

}  // namespace detail

struct GoodputEvent {
  enum class Kind { job_start, job_end, step, other };
  Kind kind = Kind::other;
  double time = 0;
  double step = 0;
  std::size_t line = 0;
};

// One job's events, in any order.
inline void add_goodput_events(LogBuilder& builder, std::vector<GoodputEvent> events) {
  FailureLog& log = builder.log;
  if (events.empty()) throw Error(Failure::data, "no_events", log.name, "needs goodput events, got none");
  const auto before = [](const GoodputEvent& a, const GoodputEvent& b) { return a.time < b.time; };
  if (!std::is_sorted(events.begin(), events.end(), before)) {
    log.warnings.push_back({"unsorted", "the log was not in the order of time, and is sorted"});
    std::stable_sort(events.begin(), events.end(), before);
  }
  const std::int32_t interruption = builder.categories.index("interruption");
  const std::int32_t ended = builder.categories.index("job_end");
  detail::StepClock clock;
  GoodputEvent last_step;  // since the last start, where there is one
  bool stepped = false;
  std::size_t interrupted = 0;  // the event that the next step ends, where there is one
  bool waiting = false;
  bool started = false;
  bool job_ended = false;
  double last_time = events.front().time;
  for (const GoodputEvent& event : events) {
    if (event.kind == GoodputEvent::Kind::job_start) {
      if (started) {
        Interruption stop;
        stop.time = last_time;
        stop.category = job_ended ? ended : interruption;
        stop.ending = job_ended ? Ending::planned : Ending::failure;
        stop.line = event.line;
        interrupted = log.events.size();
        waiting = true;
        log.events.push_back(stop);
        stepped = false;
      }
      started = true;
      job_ended = false;
    } else if (event.kind == GoodputEvent::Kind::job_end) {
      job_ended = true;
    } else if (event.kind == GoodputEvent::Kind::step) {
      if (stepped && event.step > last_step.step) {
        const double each = (event.time - last_step.time) / (event.step - last_step.step);
        clock.add(last_step.step, event.step - 1, each);
      }
      if (waiting) {
        Interruption& stop = log.events[interrupted];
        stop.end = event.time;
        clock.restart(event.time - stop.time.value_or(event.time));
        waiting = false;
      }
      last_step = event;
      stepped = true;
    }
    last_time = std::max(last_time, event.time);
  }
  log.exposure.begin = events.front().time;
  log.exposure.end = last_time;
  log.exposure.how = "from the first to the last event of the stream";
  log.training = clock.finish();
  if (!started) log.warnings.push_back({"no_job_start", "no job_start_time: restarts cannot be seen in this stream"});
}

}  // namespace floplan::reliability
