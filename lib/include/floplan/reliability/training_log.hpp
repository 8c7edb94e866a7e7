// SPDX-License-Identifier: BSD-3-Clause
//
// Restarts, repeated iterations and speed from what a training program prints.
//
//   [2025-08-01 07:19:37] iteration  10/ 5000 | consumed samples: 1280 | elapsed time per iteration (ms): 19138.8 | ...
//   TrainingLogReader reader(builder, clock);  for each line: reader.line(text, number);  reader.finish();
//
// Taken: Megatron-LM's iteration lines with or without a rank in front ([default0]:) and a time, its "using world size",
// its arguments seq_length and log_interval, "saving checkpoint", "exiting program"; torchtitan's "step: 10 loss: ... tps:".
// A line whose iteration is not after the one before, or the first after a new "using world size", is a restart; what was done twice is lost work. "exiting program" before
// it makes the end planned. Lines that several ranks print once each are one.
// tokens per second = global batch size x sequence length / time an iteration, by medians.
//
// Source: training_log() of NVIDIA/Megatron-LM; torchtitan's metrics. Memory: a few numbers a line that counts.
// Pitfall: a restart by hand, for new settings, looks like a failure: such a log cannot tell them apart.
#pragma once

#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/reliability/failure_list.hpp"
#include "floplan/reliability/failure_log.hpp"
#include "floplan/reliability/goodput_events.hpp"
#include "floplan/runs/cell_number.hpp"

namespace floplan::reliability {

class TrainingLogReader {
 public:
  TrainingLogReader(LogBuilder& builder, Clock clock) : builder_(builder), clock_(std::move(clock)) {
    // Lines of one run are in order, which settles most of the hour that the end of daylight saving repeats.
    if (clock_.repeated == RepeatedHour::refuse) clock_.repeated = RepeatedHour::in_order;
  }

  void line(std::string_view text, std::size_t number) {
    if (const auto iteration = iteration_of(text)) {
      add(text, number, *iteration);
    } else if (text.find("exiting program") != std::string_view::npos) {
      exiting_ = true;
    } else if (const auto size = number_after(text, "using world size:")) {
      world_size_ = *size;
      started_again_ = last_iteration_.has_value();
    } else if (const auto length = argument(text, "seq_length")) {
      sequence_ = *length;
    }
  }
  void finish();

  [[nodiscard]] static bool is_iteration(std::string_view text) { return iteration_of(text).has_value(); }

 private:
  struct Iteration {
    double number = 0;
    bool titan = false;
    std::size_t at = 0;  // where in the line it stands
  };

  [[nodiscard]] static std::optional<double> leading_number(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    double out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || !std::isfinite(out) || out < 0 || out > 1e15) return std::nullopt;
    return out;
  }
  [[nodiscard]] static std::optional<double> number_after(std::string_view text, std::string_view title) {
    const std::size_t at = text.find(title);
    return at == std::string_view::npos ? std::nullopt : leading_number(text.substr(at + title.size()));
  }
  // "  seq_length ...................... 8192"
  [[nodiscard]] static std::optional<double> argument(std::string_view text, std::string_view title) {
    const std::size_t at = text.find(title);
    if (at == std::string_view::npos) return std::nullopt;
    const std::size_t dots = at + title.size();
    const std::size_t value = text.find_first_not_of(" .", dots);
    return value == std::string_view::npos || value < dots + 3 ? std::nullopt : leading_number(text.substr(value));
  }
  [[nodiscard]] static std::optional<Iteration> iteration_of(std::string_view text) {
    if (const std::size_t at = text.find("iteration "); at != std::string_view::npos) {
      if (text.find("elapsed time per iteration (ms):") == std::string_view::npos) return std::nullopt;
      const auto number = leading_number(text.substr(at + 10));
      if (number && *number == std::floor(*number)) return Iteration{*number, false, at};
      return std::nullopt;
    }
    const std::size_t at = text.find("step:");
    if (at == std::string_view::npos || text.find("tps:", at) == std::string_view::npos) return std::nullopt;
    const auto number = leading_number(text.substr(at + 5));
    return number && *number == std::floor(*number) ? std::optional(Iteration{*number, true, at}) : std::nullopt;
  }
  // The first "dddd-dd-dd dd:dd:dd" before the iteration.
  [[nodiscard]] static std::string_view time_text(std::string_view text) {
    for (std::size_t i = 0; i + 19 <= text.size(); ++i) {
      const std::string_view t = text.substr(i, 19);
      if (t[4] != '-' || t[7] != '-' || (t[10] != ' ' && t[10] != 'T') || t[13] != ':' || t[16] != ':') continue;
      std::size_t end = i + 19;
      while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == '.' || text[end] == ',' ||
                                   text[end] == '+' || text[end] == 'Z'))
        ++end;
      return text.substr(i, end - i);
    }
    return {};
  }

  void add(std::string_view text, std::size_t number, const Iteration& iteration);
  [[nodiscard]] double in_order(const Timestamp& t);

  LogBuilder& builder_;
  Clock clock_;
  detail::StepClock steps_;
  std::optional<double> last_iteration_, last_time_, step_s_, world_size_, sequence_, first_time_;
  std::vector<float> tflops_, batches_, tokens_;
  double untimed_s_ = 0;
  bool any_timed_ = false, any_untimed_ = false;
  bool exiting_ = false, started_again_ = false;
  std::size_t repeated_hour_ = 0, back_in_time_ = 0, back_line_ = 0;
};

inline double TrainingLogReader::in_order(const Timestamp& t) {
  if (!t.later) return t.seconds;
  ++repeated_hour_;
  return last_time_ && t.seconds < *last_time_ - 1 ? *t.later : t.seconds;
}

inline void TrainingLogReader::add(std::string_view text, std::size_t number, const Iteration& iteration) {
  FailureLog& log = builder_.log;
  const std::string_view when = time_text(text.substr(0, iteration.at));
  std::optional<double> time;
  if (!when.empty()) {
    time = in_order(read_timestamp(when, clock_, log.place(number) + ":1"));
    any_timed_ = true;
  } else {
    any_untimed_ = true;
  }
  if (any_timed_ && any_untimed_)
    throw Error(Failure::data, "mixed_times", log.place(number) + ":1",
                "iteration lines must all have a time, or none");
  // The same line of another rank.
  if (last_iteration_ && iteration.number == *last_iteration_ && (!time || *time - *last_time_ < 1)) return;
  ++log.rows;
  std::optional<double> each;
  if (!iteration.titan) {
    each = number_after(text, "elapsed time per iteration (ms):");
    if (!each || !(*each > 0))
      throw Error(Failure::data, "bad_value", log.place(number) + ":1",
                  "an iteration must have its elapsed time in ms, got \"" + shown(text.substr(iteration.at)) + "\"");
    *each /= 1000;
    if (const auto batch = number_after(text, "global batch size:")) batches_.push_back(static_cast<float>(*batch));
    if (const auto rate = number_after(text, "throughput per GPU (TFLOP/s/GPU):"))
      tflops_.push_back(static_cast<float>(*rate));
  } else {
    std::string tokens;  // of one accelerator, "1,234"
    for (std::size_t i = text.find("tps:") + 4; i < text.size(); ++i) {
      const char c = text[i];
      if (c >= '0' && c <= '9') {
        tokens += c;
      } else if (c != ',' && !(c == ' ' && tokens.empty())) {
        break;
      }
    }
    if (const auto rate = leading_number(tokens)) tokens_.push_back(static_cast<float>(*rate));
  }
  const bool again = last_iteration_ && (iteration.number <= *last_iteration_ || started_again_);
  if (time && last_time_ && *time < *last_time_ && back_in_time_++ == 0) back_line_ = number;
  if (again) {
    Interruption stop;
    if (last_time_) stop.time = *last_time_;
    if (time) stop.end = *time;
    stop.line = number;
    stop.category = builder_.categories.index(exiting_ ? "exit" : "restart");
    stop.ending = exiting_ ? Ending::planned : Ending::failure;
    // Without times an event has only its place in the time of the iterations.
    if (!stop.time) stop.time = untimed_s_;
    if (time && stop.time) stop.end = std::max(*time, *stop.time);
    log.events.push_back(stop);
    steps_.restart(time && last_time_ ? std::max(0.0, *time - *last_time_ - each.value_or(0)) : 0);
  }
  const bool goes_on = last_iteration_ && iteration.number > *last_iteration_;
  const double first = goes_on ? *last_iteration_ + 1 : iteration.number;
  if (!each && time && last_time_ && !again) each = (*time - *last_time_) / (iteration.number - first + 1);
  if (each) {
    steps_.add(first, iteration.number, *each);
    untimed_s_ += *each * (iteration.number - first + 1);
    if (time && !first_time_) first_time_ = *time - *each;
  }
  if (time && !first_time_) first_time_ = *time;
  exiting_ = false;
  started_again_ = false;
  last_iteration_ = iteration.number;
  if (time) last_time_ = std::max(*time, last_time_.value_or(*time));
}

inline void TrainingLogReader::finish() {
  FailureLog& log = builder_.log;
  if (!last_iteration_)
    throw Error(Failure::data, "no_events", log.name, "needs iteration lines with their elapsed time, got none");
  const auto median = [](std::vector<float>& of) -> std::optional<double> {
    if (of.empty()) return std::nullopt;
    std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
    return of[of.size() / 2];
  };
  TrainingProgress progress = steps_.finish();
  progress.tflops_per_accelerator = median(tflops_);
  if (const auto batch = median(batches_); batch && sequence_ && progress.median_iteration_s)
    progress.tokens_per_second = *batch * *sequence_ / *progress.median_iteration_s;
  if (const auto each = median(tokens_); each && world_size_) progress.tokens_per_second = *each * *world_size_;
  log.training = progress;
  builder_.accelerators = world_size_;
  if (any_timed_) {
    log.exposure.begin = first_time_;
    log.exposure.end = last_time_;
    log.exposure.how = "from the first to the last iteration line";
  } else {
    log.relative = true;
    log.exposure.begin = 0;
    log.exposure.end = untimed_s_;
    log.exposure.how = "the iterations' own time";
    log.warnings.push_back({"no_times",
                            "the lines have no times: exposure is the time of the iterations alone, and the "
                            "time that restarts took is not known"});
  }
  log.warnings.push_back({"restarts_by_hand",
                          "a restart that somebody wanted looks like a failure in such a log: every "
                          "one without \"exiting program\" before it is counted"});
  if (repeated_hour_ > 0)
    log.warnings.push_back(
        {"repeated_local_time", std::to_string(repeated_hour_) +
                                    " lines are in the hour that the end of daylight saving repeats: "
                                    "read in the order of the lines"});
  if (back_in_time_ > 0)
    log.warnings.push_back({"back_in_time", std::to_string(back_in_time_) +
                                                " lines have a time before the one above, first " +
                                                log.place(back_line_) + " (several runs in one file?)"});
}

}  // namespace floplan::reliability
