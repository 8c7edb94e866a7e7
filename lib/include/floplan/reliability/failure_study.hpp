// SPDX-License-Identifier: BSD-3-Clause
//
// What a failure log says: rates with intervals, trend, bursts, lemons, and rates at other sizes.
//
//   FailureStudy study = study_failures(read_failure_log(text, "faults.csv", log_options), study_options);
//   study.per_node_day, study.mtbf_hours, study.by_category, study.trend, study.describe()
//
//   rate = failures / exposure (rate_posterior.hpp);  MTBF = hours watched / failures, of a job of the log's mean size
//
// Trend and dispersion are tested on cumulative exposure (accelerator-hours), so jobs that come and go are no trend. Lemons
// are looked for where events name nodes; the events of failed jobs name them only where the job had one.
//
// Cost: linear in the events but for a sort. Sources stand in the headers that this one composes.
// Pitfall: a rate from a few failures is wide, and wider still where it is carried to a size that it was not counted at.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/failure_dispersion.hpp"
#include "floplan/reliability/failure_log.hpp"
#include "floplan/reliability/failure_trend.hpp"
#include "floplan/reliability/interruption_rate.hpp"
#include "floplan/reliability/lemon_nodes.hpp"
#include "floplan/reliability/rate_posterior.hpp"
#include "floplan/reliability/rate_projection.hpp"

namespace floplan::reliability {

struct StudyOptions {
  double level = 0.9;
  double false_discovery = 0.05;
  std::vector<Count> project;  // sizes; the log's own comes first
};

struct CategoryRate {
  CategoryCount counted;
  RatePosterior per_node_day;
};

struct FailureStudy {
  FailureLog log;
  double level = 0.9;
  double failures = 0;
  std::vector<std::pair<std::string, double>> excluded;  // reason, events
  double automatic = 0, manual = 0;                      // of the failures whose log says it
  std::optional<double> median_recovery_s;
  RatePosterior per_node_day;             // widened where failures come in bursts
  RatePosterior per_accelerator_hour;     // likewise
  Estimate mtbf_hours;                    // of a job of the log's mean size
  std::vector<CategoryRate> by_category;  // by falling count
  FailureTrend trend;
  FailureDispersion dispersion;
  std::optional<LemonReport> lemons;  // none where no failure names its node
  std::vector<RateProjection> projections;
  std::vector<Warning> warnings;

  // To plan a job of this size with; a log without failures has a bound and no rate, which is no answer.
  [[nodiscard]] InterruptionRate rate(Count accelerators) const;
  [[nodiscard]] std::string describe() const {
    return print_number(failures, 9) + " failures in " + print_number(log.exposure.node_days, 6) +
           " node-days: " + print_number(per_node_day.value, 4) + " a node-day (" +
           print_number(per_node_day.interval.low, 3) + " to " + print_number(per_node_day.interval.high, 3) + " at " +
           print_number(100 * level, 4) + "%)";
  }
};

namespace detail {

// Accelerator-seconds watched until each of the ascending times.
[[nodiscard]] inline std::vector<double> exposure_at(const Exposure& exposure, const std::vector<double>& times) {
  std::vector<std::pair<double, double>> changes;
  changes.reserve(2 * exposure.segments.size());
  for (const ExposureSegment& s : exposure.segments) {
    changes.emplace_back(s.begin, s.accelerators);
    changes.emplace_back(s.end, -s.accelerators);
  }
  std::sort(changes.begin(), changes.end());
  std::vector<double> out;
  out.reserve(times.size());
  double watched = 0;
  double accelerators = 0;
  double now = exposure.begin.value_or(0);
  std::size_t next = 0;
  for (const double t : times) {
    for (; next < changes.size() && changes[next].first <= t; ++next) {
      watched += std::max(0.0, accelerators) * (changes[next].first - now);
      now = changes[next].first;
      accelerators += changes[next].second;
    }
    out.push_back(watched + std::max(0.0, accelerators) * (t - now));
  }
  return out;
}

inline void add_cautions(FailureStudy& study) {
  const Exposure& exposure = study.log.exposure;
  std::vector<Warning>& out = study.warnings;
  if (exposure.per_node_assumed)
    out.push_back({"assumed", "8 accelerators a node: give --per-node if there are others"});
  if (study.failures == 0) {
    out.push_back({"no_failures", "no failure was seen: the rate is below " +
                                      print_number(study.per_node_day.interval.high, 3) + " a node-day at " +
                                      print_number(100 * study.level, 4) + "%, and is not known otherwise"});
  } else if (study.failures < 10) {
    out.push_back(
        {"few_failures",
         print_number(study.failures, 9) + " failures know the rate to a factor of " +
             print_number(study.per_node_day.interval.high / std::max(study.per_node_day.interval.low, 1e-300), 2) +
             " from low to high"});
  }
  if (study.trend.verdict == FailureTrend::Verdict::falling || study.trend.verdict == FailureTrend::Verdict::rising)
    out.push_back({"trend", study.trend.describe() + ": the mean rate is not that of the time to come"});
  if (study.dispersion.overdispersed)
    out.push_back({"bursts", study.dispersion.describe() + ": the rate's interval is widened for it"});
  if (study.lemons && !study.lemons->lemons.empty()) out.push_back({"lemons", study.lemons->describe()});
  for (const RateProjection& p : study.projections) {
    const double own = exposure.accelerators();
    // Kokolis' measured and scaled MTTF part below about 4,096 GPUs.
    if (p.accelerators.value > 1.5 * own && (own < 4096 || study.failures < 10)) {
      out.push_back({"small_scale", print_number(study.failures, 9) + " failures on " + print_number(own, 6) +
                                        " accelerators are carried to " + print_short(p.accelerators) +
                                        ": small jobs fail mostly by their own software, and few failures of a small "
                                        "cluster do not extrapolate (Kokolis et al. 2025: 3.7 times at 1,024 GPUs)"});
      continue;
    }
    for (Warning& w : scale_cautions(Count(std::max(1.0, std::round(own))), p.accelerators))
      out.push_back(std::move(w));
  }
}

}  // namespace detail

[[nodiscard]] inline FailureStudy study_failures(FailureLog log, const StudyOptions& options = {}) {
  detail::require_level(options.level, "study_failures");
  FailureStudy out;
  out.level = options.level;
  std::vector<double> excluded(ending_names.size(), 0);
  std::vector<double> by_category(log.categories.size(), 0);
  std::vector<double> by_node(log.nodes.size(), 0);
  std::vector<double> times;
  std::vector<double> recoveries;
  bool all_timed = true;
  bool any_node = false;
  for (const Interruption& e : log.events) {
    if (e.ending != Ending::failure) {
      excluded[static_cast<std::size_t>(e.ending)] += e.count;
      continue;
    }
    out.failures += e.count;
    if (e.category != nobody) by_category[static_cast<std::size_t>(e.category)] += e.count;
    if (e.node != nobody) {
      by_node[static_cast<std::size_t>(e.node)] += e.count;
      any_node = true;
    }
    if (e.automatic) (*e.automatic ? out.automatic : out.manual) += e.count;
    if (e.time && e.end) recoveries.push_back(*e.end - *e.time);
    all_timed = all_timed && e.time && e.count == 1;
    if (e.time) times.push_back(*e.time);
  }
  for (std::size_t i = 1; i < excluded.size(); ++i) {
    if (excluded[i] > 0) out.excluded.emplace_back(ending_names[i], excluded[i]);
  }
  if (!recoveries.empty()) {
    const auto middle = recoveries.begin() + static_cast<std::ptrdiff_t>(recoveries.size() / 2);
    std::nth_element(recoveries.begin(), middle, recoveries.end());
    out.median_recovery_s = *middle;
  }
  const Exposure& exposure = log.exposure;
  if (all_timed && !times.empty()) {
    const std::vector<double> at = detail::exposure_at(exposure, times);
    const double total = detail::exposure_at(exposure, {*exposure.end}).front();
    std::vector<double> inside;
    for (const double t : at) inside.push_back(std::min(t, total));
    const bool ends_at_event = exposure.end_derived && times.back() == *exposure.end;
    out.trend = failure_trend(inside, total, ends_at_event, options.level);
    out.dispersion = failure_dispersion(inside, total, options.level);
  }
  out.per_node_day = widened(rate_posterior(out.failures, exposure.node_days, options.level), out.dispersion);
  out.per_accelerator_hour = out.per_node_day.scaled(1 / (24 * exposure.accelerators_per_node));
  std::vector<CategoryCount> counts;
  for (std::size_t i = 0; i < log.categories.size(); ++i) {
    if (!(by_category[i] > 0)) continue;
    counts.push_back({log.categories[i], by_category[i], classify(log.categories[i])});
  }
  std::stable_sort(counts.begin(), counts.end(),
                   [](const CategoryCount& a, const CategoryCount& b) { return a.events > b.events; });
  for (const CategoryCount& c : counts)
    out.by_category.push_back({c, rate_posterior(c.events, exposure.node_days, options.level)});
  if (any_node && log.fleet_nodes) out.lemons = find_lemons(by_node, *log.fleet_nodes, options.false_discovery);
  std::vector<Count> sizes = {Count(exposure.accelerators())};
  sizes.insert(sizes.end(), options.project.begin(), options.project.end());
  for (const Count size : sizes) {
    RateProjection p = project_rate(counts, exposure.accelerator_hours, exposure.hours, size, options.level);
    if (out.dispersion.overdispersed && p.per_day.value > 0) {
      // Bursts widen it as they widen the rate.
      const double d = out.dispersion.index;
      const double se = p.per_day.standard_error * std::sqrt(d);
      const double shape = p.per_day.value * p.per_day.value / (se * se);
      p.per_day.standard_error = se;
      p.per_day.interval = detail::gamma_interval(shape, shape / p.per_day.value, options.level, false);
      p.mtbf_hours.standard_error *= std::sqrt(d);
      p.mtbf_hours.interval = {24 / p.per_day.interval.high, 24 / p.per_day.interval.low, options.level};
    }
    out.projections.push_back(p);
  }
  out.mtbf_hours = out.projections.front().mtbf_hours;
  out.warnings = log.warnings;
  out.log = std::move(log);
  detail::add_cautions(out);
  return out;
}

inline InterruptionRate FailureStudy::rate(Count accelerators) const {
  if (failures == 0)
    throw Error(Failure::no_answer, "no_failures", log.name,
                "the log has no failure in " + print_number(log.exposure.node_days, 4) +
                    " node-days: it knows that the rate is below " + print_number(per_node_day.interval.high, 3) +
                    " a node-day (" + print_number(100 * level, 4) + "%), and no rate to plan with");
  std::vector<CategoryCount> counts;
  for (const CategoryRate& c : by_category) counts.push_back(c.counted);
  return planning_rate(counts, log.exposure.accelerator_hours, log.exposure.hours,
                       Count(log.exposure.accelerators_per_node), accelerators,
                       dispersion.overdispersed ? dispersion.index : 1);
}

}  // namespace floplan::reliability
