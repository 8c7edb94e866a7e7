// SPDX-License-Identifier: BSD-3-Clause
//
// How often a job of a given size is interrupted.
//
//   rate = events / exposure            [1 / accelerator-hour], exposure = accelerators x hours observed
//   MTBF(n) = 1 / (rate n + own)        mean time between unplanned interruptions of a job on n accelerators; own: an hour of
//                                       job, what its software and data do whatever its size, where causes were counted apart
//   per node-day = rate x accelerators a node x 24
//
// Source: Kokolis et al. 2025 (arXiv 2410.21680), MTTF = (N_nodes r_f)^-1; Llama 3 (arXiv 2407.21783, table 5): 419 events
// in 54 days on 16,384 H100s, so 50,677 accelerator-hours an event and an MTBF of 3.09 h.
// Holds: many independent parts, each failing rarely (their superposition is close to Poisson), and a fleet past burn-in.
// Pitfall: a rate measured on thousands of accelerators is optimistic for small jobs, whose failures are mostly the
// user's own (Kokolis: measured MTTF at 1,024 GPUs is 3.7 times shorter than this rule).
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::reliability {

struct InterruptionRate {
  double per_accelerator_hour = 0;
  Count accelerators_per_node{8};
  // The number of events the rate was counted from; with it the rate has a Gamma(events) uncertainty, without it none.
  std::optional<double> events;
  double per_job_hour = 0;  // by the run itself, whatever its size

  // Of what scales with the job alone.
  [[nodiscard]] double per_node_day() const { return per_accelerator_hour * accelerators_per_node.value * 24; }
  // Of everything, by a job of this size.
  [[nodiscard]] double per_node_day(Count accelerators) const {
    return (per_accelerator_hour + per_job_hour / accelerators.value) * accelerators_per_node.value * 24;
  }
  [[nodiscard]] AcceleratorHours hours_between_events(Count accelerators) const {
    return AcceleratorHours(1 / (per_accelerator_hour + per_job_hour / accelerators.value));
  }
  [[nodiscard]] Seconds mtbf(Count accelerators) const {
    return hours(1 / (per_accelerator_hour * accelerators.value + per_job_hour));
  }
  [[nodiscard]] double per_day(Count accelerators) const {
    return (per_accelerator_hour * accelerators.value + per_job_hour) * 24;
  }
};

namespace detail {
inline void require_positive(double value, const char* function, const char* what, const std::string& text) {
  if (!(value > 0) || !std::isfinite(value)) {
    throw Error(Failure::usage, "out_of_range", function,
                std::string(what) + " must be positive and finite, got " + text);
  }
}
inline void require_not_negative(double value, const char* function, const char* what, const std::string& text) {
  if (!(value >= 0) || !std::isfinite(value)) {
    throw Error(Failure::usage, "out_of_range", function,
                std::string(what) + " must be at least zero and finite, got " + text);
  }
}
}  // namespace detail

// events counted on `accelerators` during `window`. Zero events give a bound, not a rate, and are refused here.
[[nodiscard]] inline InterruptionRate rate_from_events(double events, Count accelerators, Seconds window,
                                                       Count accelerators_per_node) {
  detail::require_positive(accelerators.value, "rate_from_events", "accelerators", print(accelerators));
  detail::require_positive(window.value, "rate_from_events", "window", print(window));
  detail::require_positive(accelerators_per_node.value, "rate_from_events", "accelerators a node",
                           print(accelerators_per_node));
  detail::require_positive(events, "rate_from_events", "events", print_number(events, 6));
  return {events / accelerator_hours(accelerators, window).value, accelerators_per_node, events};
}

[[nodiscard]] inline InterruptionRate rate_from_node_days(double per_node_day, Count accelerators_per_node) {
  detail::require_positive(per_node_day, "rate_from_node_days", "rate a node-day", print_number(per_node_day, 6));
  detail::require_positive(accelerators_per_node.value, "rate_from_node_days", "accelerators a node",
                           print(accelerators_per_node));
  return {per_node_day / (24 * accelerators_per_node.value), accelerators_per_node, std::nullopt};
}

// A mean time between failures that was observed on a job of `accelerators`.
[[nodiscard]] inline InterruptionRate rate_from_mtbf(Seconds mtbf, Count accelerators, Count accelerators_per_node) {
  detail::require_positive(mtbf.value, "rate_from_mtbf", "MTBF", print(mtbf));
  detail::require_positive(accelerators.value, "rate_from_mtbf", "accelerators", print(accelerators));
  detail::require_positive(accelerators_per_node.value, "rate_from_mtbf", "accelerators a node",
                           print(accelerators_per_node));
  return {1 / (in_hours(mtbf) * accelerators.value), accelerators_per_node, std::nullopt};
}

// What an expert would remark on a rate that was counted on a job of another size.
[[nodiscard]] inline std::vector<Warning> scale_cautions(Count observed_on, Count accelerators) {
  if (accelerators.value > 1.5 * observed_on.value) {
    return {{"rate_extrapolated", "the failure rate was counted on " + print_short(observed_on) +
                                      " accelerators and is carried to " + print_short(accelerators) +
                                      " in proportion"}};
  }
  if (accelerators.value < 0.25 * observed_on.value) {
    return {{"rate_at_small_scale", "a rate counted on " + print_short(observed_on) +
                                        " accelerators is optimistic for " + print_short(accelerators) +
                                        ": small jobs fail mostly by their own software"}};
  }
  return {};
}

}  // namespace floplan::reliability
