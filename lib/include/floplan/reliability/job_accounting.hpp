// SPDX-License-Identifier: BSD-3-Clause
//
// Failures and exposure from a scheduler's accounting: sacct -P, or a CSV of jobs with state, start and end.
//
//   sacct -P -D -o JobID,State,Start,End,NNodes,NodeList > jobs.txt
//   add_jobs(builder, sheet, columns, options, segments);
//
// A job's row gives exposure: its nodes for its time. Its state says how that ended: NODE_FAIL, FAILED, OUT_OF_MEMORY and
// BOOT_FAIL after a start are failures; COMPLETED, CANCELLED, TIMEOUT, DEADLINE, PREEMPTED, REQUEUED and REVOKED are not.
// Steps (123.0) add no exposure; a step that failed inside a job that went on to another ending is a failure of its own,
// at the step's end. The last failed step of a failed job is that job's failure. Rows of one JobID are its requeues.
//
// Source: states of sacct(1), Slurm 23; AcmeTrace (node_num, gpu_num). Planned ends: llnl/scr pull 239.
// Errors: an end before its start, an unknown state, a job that ended without nodes, each at its line and column.
// Pitfall: FAILED holds the users' own errors; only NODE_FAIL is surely the machine's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "floplan/core/names.hpp"
#include "floplan/reliability/failure_list.hpp"
#include "floplan/reliability/failure_log.hpp"
#include "floplan/reliability/failure_log_columns.hpp"

namespace floplan::reliability {

namespace detail {

struct JobState {
  std::string_view name;
  std::string_view shortened;
  Ending ending;
};
inline constexpr auto job_states = std::to_array<JobState>({{"COMPLETED", "CD", Ending::completed},
                                                            {"FAILED", "F", Ending::failure},
                                                            {"NODE_FAIL", "NF", Ending::failure},
                                                            {"OUT_OF_MEMORY", "OOM", Ending::failure},
                                                            {"CANCELLED", "CA", Ending::cancelled},
                                                            {"CANCELED", "", Ending::cancelled},
                                                            {"TIMEOUT", "TO", Ending::time_limit},
                                                            {"DEADLINE", "DL", Ending::time_limit},
                                                            {"PREEMPTED", "PR", Ending::preemption},
                                                            {"REQUEUED", "RQ", Ending::planned},
                                                            {"REVOKED", "RV", Ending::planned},
                                                            {"RESIZING", "RS", Ending::planned},
                                                            {"BOOT_FAIL", "BF", Ending::failure},
                                                            {"RUNNING", "R", Ending::still_running},
                                                            {"PENDING", "PD", Ending::never_started},
                                                            {"SUSPENDED", "S", Ending::still_running},
                                                            {"COMPLETING", "CG", Ending::still_running}});

// "CANCELLED by 1001" is CANCELLED; a + that marks a cut text is left out.
[[nodiscard]] inline const JobState* job_state(std::string_view text) {
  std::string_view word = text.substr(0, text.find(' '));
  if (word.ends_with('+')) word.remove_suffix(1);
  std::string upper(word);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  for (const JobState& state : job_states) {
    if (upper == state.name || (!state.shortened.empty() && upper == state.shortened)) return &state;
  }
  // sacct cuts a long state to "OUT_OF_ME+".
  if (text.ends_with('+') && upper.size() >= 5) {
    for (const JobState& state : job_states) {
      if (state.name.starts_with(upper)) return &state;
    }
  }
  return nullptr;
}

struct JobStep {
  double begin, end;
  std::int32_t category;
  std::size_t line;
};

// A stretch of a job; the one at this place of the log's exposure.
struct AccountedJob {
  std::string id;
  double begin, end;
  std::size_t event;  // in FailureLog::events
};

// Rows that say the same job and times again (two files in one, a second export) give neither exposure nor an ending.
inline void leave_out_repeated_jobs(FailureLog& log, const std::vector<AccountedJob>& jobs) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&jobs](std::size_t i) { return std::tie(jobs[i].begin, jobs[i].end, jobs[i].id); };
  std::stable_sort(order.begin(), order.end(), [&key](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::size_t at = order[i];
    if (jobs[at].id.empty() || key(at) != key(order[i - 1])) continue;
    log.events[jobs[at].event].ending = Ending::duplicate;
    log.exposure.segments[at].accelerators = 0;
  }
  std::erase_if(log.exposure.segments, [](const ExposureSegment& s) { return !(s.accelerators > 0); });
}

}  // namespace detail

inline void add_jobs(LogBuilder& builder, const runs::Sheet& sheet, const LogColumns& columns,
                     const LogOptions& options) {
  FailureLog& log = builder.log;
  const double per_node = options.accelerators_per_node.value_or(Count(8)).value;
  std::unordered_map<std::string, std::vector<detail::JobStep>> failed_steps;
  std::vector<detail::AccountedJob> jobs;
  std::size_t running = 0;
  std::size_t without = 0;
  for (std::size_t row = 0; row < sheet.size(); ++row) {
    ++log.rows;
    detail::refuse_problem(sheet, row);
    const LogCells cells(sheet, columns, row);
    const std::string_view id = cells.text(LogColumn::job);
    const auto* state = detail::job_state(cells.text(LogColumn::state));
    if (state == nullptr) throw cells.fail(LogColumn::state, "a state must be one of Slurm's", "unknown_state");
    const auto begin = cells.time(LogColumn::time, options.clock);
    const auto end = cells.time(LogColumn::end, options.clock);
    if (!begin || (!end && state->ending != Ending::still_running)) {
      // Cancelled while it waited, or not started yet: no exposure and no failure.
      Interruption event;
      event.ending = state->ending == Ending::still_running ? Ending::still_running : Ending::never_started;
      event.category = builder.categories.index(state->name);
      event.line = cells.line();
      if (id.find('.') == std::string_view::npos) log.events.push_back(event);
      continue;
    }
    const double from = builder.take(*begin, columns.unit(LogColumn::time), cells, LogColumn::time);
    // A job that has not ended is watched to the end of the window.
    constexpr double open = std::numeric_limits<double>::infinity();
    const double to = end ? builder.take(*end, columns.unit(LogColumn::end), cells, LogColumn::end) : open;
    if (to < from) throw cells.fail(LogColumn::end, "an end must not be before its start", "end_before_start");
    const std::int32_t category = builder.categories.index(state->name);
    if (const std::size_t dot = id.find('.'); dot != std::string_view::npos) {
      const std::string_view step = id.substr(dot + 1);
      // batch and extern are the job's own shell, which fails as the job does.
      if (state->ending == Ending::failure && step != "batch" && step != "extern")
        failed_steps[std::string(id.substr(0, dot))].push_back({from, to, category, cells.line()});
      continue;
    }
    const auto nodes = cells.number(LogColumn::job_nodes, 0, 1e8);
    const auto own = cells.number(LogColumn::job_accelerators, 0, 1e9);
    const double accelerators = own && *own > 0 ? *own : nodes.value_or(0) * per_node;
    if (!(accelerators > 0)) {
      // Never held a node, or no accelerator: nothing of ours to watch.
      without += own ? 1 : 0;
      if (to == from || own) continue;
      throw cells.fail(LogColumn::job_nodes, "a job that ran must have nodes (NNodes) or accelerators", "no_nodes");
    }
    log.exposure.segments.push_back({from, to, accelerators});
    Interruption event;
    if (end) event.time = to;
    event.category = category;
    running += end ? 0 : 1;
    event.ending = state->ending == Ending::failure && to == from ? Ending::never_started : state->ending;
    event.line = cells.line();
    const std::string_view list = cells.text(LogColumn::node_list);
    if (!list.empty() && list.find_first_of(",[") == std::string_view::npos) event.node = builder.nodes.index(list);
    jobs.push_back({std::string(id), from, to, log.events.size()});
    log.events.push_back(event);
  }
  detail::leave_out_repeated_jobs(log, jobs);
  std::size_t own_failures = 0;
  std::size_t failed = 0;
  for (const detail::AccountedJob& job : jobs) {
    if (log.events[job.event].ending == Ending::duplicate) continue;
    const bool job_failed = log.events[job.event].ending == Ending::failure;
    failed += job_failed && log.events[job.event].category == builder.categories.index("FAILED") ? 1 : 0;
    const auto found = failed_steps.find(job.id);
    if (found == failed_steps.end()) continue;
    // The last failed step of a job that failed is how it failed. Steps that overlap (one srun beside another) fell together.
    std::vector<const detail::JobStep*> steps;
    for (const detail::JobStep& s : found->second) {
      if (s.end >= job.begin && s.end <= job.end) steps.push_back(&s);
    }
    std::sort(steps.begin(), steps.end(), [](auto* a, auto* b) { return a->end < b->end; });
    std::vector<const detail::JobStep*> apart;
    for (const detail::JobStep* s : steps) {
      if (apart.empty() || s->begin >= apart.back()->end) apart.push_back(s);
    }
    if (job_failed && !apart.empty()) apart.pop_back();
    for (const detail::JobStep* s : apart) {
      Interruption event;
      event.time = s->end;
      event.category = s->category;
      event.line = s->line;
      log.events.push_back(event);
      ++own_failures;
    }
  }
  if (own_failures > 0) {
    log.warnings.push_back(
        {"failed_steps", std::to_string(own_failures) + " steps failed inside jobs that went on: each is a failure"});
  }
  if (running > 0) {
    log.warnings.push_back(
        {"still_running", std::to_string(running) + " jobs have not ended and are counted to the end of the window"});
  }
  if (without > 0) {
    log.warnings.push_back({"no_accelerators", std::to_string(without) + " jobs had no accelerator and are left out"});
  }
  if (failed > 0) {
    log.warnings.push_back(
        {"failed_jobs", std::to_string(failed) +
                            " jobs are FAILED, which holds the users' own errors beside the machine's: "
                            "read the rate of NODE_FAIL beside it"});
  }
  if (!columns.has(LogColumn::job_accelerators)) log.exposure.per_node_assumed = !options.accelerators_per_node;
}

}  // namespace floplan::reliability
