// SPDX-License-Identifier: BSD-3-Clause
//
// How often would a job of another size be interrupted, by what each cause scales with?
//
//   RateProjection p = project_rate(categories, exposure, Count(100000), 0.9);      p.per_day, p.mtbf_hours
//
// A cause of accelerators, nodes or links happens in proportion to the size: rate x accelerators (a link or NIC serves a
// node; a fabric's upper tiers grow a little faster, which is not modelled). A cause of the run itself (software, data,
// out of memory, the scheduler's FAILED) happens per hour of job, whatever the size.
//   per day = 24 (sum_scaling events / accelerator-hours x size + sum_run events / hours)
// Uncertainty: each sum is Gamma(n + share of 1/2); their total is taken as the Gamma of the same mean and variance
// (Satterthwaite), exact where one sum is empty and at the log's own size.
//
// Source: scaling with nodes, MTTF = 1 / (N r_f), and its trap: Kokolis et al. 2025 (arXiv 2410.21680): measured 7.9 h at
// 1,024 GPUs where 1 / (N r_f) is 28.8 h: small jobs fail by their own software, a rate from few failures says little.
// Pitfall: what a word means is a guess: classify() is printed beside each category.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/interruption_rate.hpp"
#include "floplan/reliability/rate_posterior.hpp"

namespace floplan::reliability {

enum class ScalesWith { nodes, accelerators, links, run };

[[nodiscard]] constexpr std::string_view to_text(ScalesWith s) {
  switch (s) {
    case ScalesWith::nodes: return "nodes";
    case ScalesWith::accelerators: return "accelerators";
    case ScalesWith::links: return "links";
    case ScalesWith::run: return "run";
  }
  return "";
}

namespace detail {

// Whether a lower-case text has this word: nothing but a letter before it makes it another one (room has no oom), and a
// short word must also end there, but for a plural (nics; maintenance has no nan).
[[nodiscard]] inline bool has_word(std::string_view text, std::string_view word) {
  const auto letter = [&text](std::size_t i) { return i < text.size() && text[i] >= 'a' && text[i] <= 'z'; };
  constexpr std::size_t longest_short = 4;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool ends = !letter(end) || (text[end] == 's' && !letter(end + 1));
    if ((at == 0 || !letter(at - 1)) && (ends || word.size() > longest_short)) return true;
  }
  return false;
}

}  // namespace detail

// By the words of a category. One that says nothing (unknown, restart) is taken for a node's, the safe side for larger jobs.
[[nodiscard]] inline ScalesWith classify(std::string_view category) {
  const std::string text = lower_case(category);
  const auto any = [&text](std::span<const std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&text](std::string_view w) { return detail::has_word(text, w); });
  };
  constexpr auto accelerators = std::to_array<std::string_view>(
      {"gpu", "hbm", "sram", "ecc", "xid", "accelerator", "tpu", "npu", "cuda", "thermal", "silent data", "sdc"});
  constexpr auto links =
      std::to_array<std::string_view>({"network", "nic", "switch", "cable", "link", "nvlink", "infiniband", "roce",
                                       "ethernet", "fabric", "optic", "transceiver", "interconnect"});
  constexpr auto run = std::to_array<std::string_view>({"software", "dependency", "user", "code", "bug",
                                                        "out_of_memory", "out of memory", "oom", "data loader",
                                                        "dataloader", "loss", "nan", "failed", "config"});
  if (text == "node_fail" || text == "boot_fail") return ScalesWith::nodes;
  if (any(links)) return ScalesWith::links;
  if (any(accelerators)) return ScalesWith::accelerators;
  if (any(run)) return ScalesWith::run;
  return ScalesWith::nodes;
}

struct CategoryCount {
  std::string name;
  double events = 0;
  ScalesWith scales_with = ScalesWith::nodes;
};

struct RateProjection {
  Count accelerators;
  Estimate per_day;
  Estimate mtbf_hours;               // infinite where no event was seen; its low end is the bound
  double shape = 0;                  // of the Gamma that the uncertainty is taken as
  double run_share = 0;              // of the interruptions, by the run itself
  double all_scaled_mtbf_hours = 0;  // if every cause scaled with the size
};

// accelerator_hours and job_hours: what the counts were taken in.
[[nodiscard]] inline RateProjection project_rate(std::span<const CategoryCount> categories, double accelerator_hours,
                                                 double job_hours, Count accelerators, double level = 0.9) {
  detail::require_level(level, "project_rate");
  if (!(accelerators.value >= 1) || !(accelerator_hours > 0) || !(job_hours > 0) || !std::isfinite(accelerators.value))
    throw Error(Failure::usage, "out_of_range", "project_rate",
                "accelerators and exposure must be positive, got " + print(accelerators));
  double scaling = 0;
  double own = 0;
  for (const CategoryCount& c : categories) (c.scales_with == ScalesWith::run ? own : scaling) += c.events;
  const double events = scaling + own;
  // Jeffreys' half event is shared out as the events are; without events all of it scales.
  const double add = events > 0 ? 0.5 / events : 0;
  const double scaling_shape = events > 0 ? scaling * (1 + add) : 0.5;
  const double own_shape = own * (1 + add);
  const double scaling_factor = 24 * accelerators.value / accelerator_hours;
  const double own_factor = 24 / job_hours;
  RateProjection out;
  out.accelerators = accelerators;
  const double mean = scaling_shape * scaling_factor + own_shape * own_factor;
  const double variance = scaling_shape * scaling_factor * scaling_factor + own_shape * own_factor * own_factor;
  const double shape = mean * mean / variance;
  out.per_day.value = scaling * scaling_factor + own * own_factor;
  out.per_day.standard_error = std::sqrt(variance);
  out.shape = shape;
  out.per_day.interval = detail::gamma_interval(shape, shape / mean, level, events == 0);
  const auto mtbf = [](double per_day) { return per_day > 0 ? 24 / per_day : std::numeric_limits<double>::infinity(); };
  out.mtbf_hours.value = mtbf(out.per_day.value);
  out.mtbf_hours.standard_error =
      out.per_day.value > 0 ? out.mtbf_hours.value * out.per_day.standard_error / out.per_day.value : 0;
  out.mtbf_hours.interval = {mtbf(out.per_day.interval.high), mtbf(out.per_day.interval.low), level};
  out.run_share = out.per_day.value > 0 ? own * own_factor / out.per_day.value : 0;
  out.all_scaled_mtbf_hours = mtbf(events * scaling_factor);
  return out;
}

// The same counts as a rate to plan with: what scales an accelerator-hour, what the run does itself an hour of job. `events`
// is the shape of the Gamma at that size, divided by what bursts widen it by (failure_dispersion.hpp's index, 1 without).
[[nodiscard]] inline InterruptionRate planning_rate(std::span<const CategoryCount> categories, double accelerator_hours,
                                                    double job_hours, Count accelerators_per_node, Count accelerators,
                                                    double dispersion = 1) {
  const RateProjection at = project_rate(categories, accelerator_hours, job_hours, accelerators);
  InterruptionRate out;
  out.accelerators_per_node = accelerators_per_node;
  for (const CategoryCount& c : categories) {
    const bool own = c.scales_with == ScalesWith::run;
    (own ? out.per_job_hour : out.per_accelerator_hour) += c.events / (own ? job_hours : accelerator_hours);
  }
  out.events = at.shape / std::max(1.0, dispersion);
  return out;
}

}  // namespace floplan::reliability
