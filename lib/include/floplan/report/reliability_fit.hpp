// SPDX-License-Identifier: BSD-3-Clause
//
// What a failure log says, as text for people, as a table and as the JSON of `reliability fit`.
//
//   std::cout << failure_study_text(study);   Json j = failure_study_json(study);   Table t = category_table(study);
//
// JSON: events (failures), excluded {reason: events}, exposure {node_days, accelerator_hours, ...}, rate_per_node_day and
// mtbf_hours (value, se, low, high, level), accelerator_hours_per_interruption, interruptions_per_day, by_category, trend,
// dispersion, lemons, project, format. A log without failures has null where a number is not known, and bounds.
//
// Source: the headers of reliability/. Units stand in the keys; rates are a node-day.
// Pitfall: by_category's rates are each with its own interval; they sum to the whole, their intervals do not.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/failure_study.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/table.hpp"

namespace floplan::report {

namespace detail {

// JSON has no infinity: what has no bound is null.
[[nodiscard]] inline Json finite_json(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }
[[nodiscard]] inline Json finite_json(const Estimate& e) {
  return {{"value", finite_json(e.value)},
          {"se", finite_json(e.standard_error)},
          {"low", finite_json(e.interval.low)},
          {"high", finite_json(e.interval.high)},
          {"level", e.interval.level}};
}
[[nodiscard]] inline Json rate_json(const reliability::RatePosterior& r) {
  Json out = finite_json(r.estimate());
  out["exact"] = to_json(r.exact);
  return out;
}
[[nodiscard]] inline std::string instant_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::floor(seconds));
  const auto day = std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(whole)));
  const std::chrono::year_month_day date(day);
  const std::int64_t rest = whole - std::int64_t{day.time_since_epoch().count()} * 86400;
  const auto two = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  return std::to_string(static_cast<int>(date.year())) + "-" + two(static_cast<unsigned>(date.month())) + "-" +
         two(static_cast<unsigned>(date.day())) + "T" + two(rest / 3600) + ":" + two(rest / 60 % 60) + ":" +
         two(rest % 60) + "Z";
}

}  // namespace detail

[[nodiscard]] inline Json exposure_json(const reliability::FailureLog& log) {
  const reliability::Exposure& e = log.exposure;
  const bool instants = !log.relative && log.format != reliability::LogFormat::counts;
  const auto instant = [&](const std::optional<double>& t) {
    return instants && t ? Json(detail::instant_text(*t)) : Json(nullptr);
  };
  return {{"node_days", e.node_days},  {"accelerator_hours", e.accelerator_hours},
          {"hours", e.hours},          {"accelerators", e.accelerators()},
          {"nodes", e.nodes()},        {"accelerators_per_node", count_json(e.accelerators_per_node)},
          {"start", instant(e.begin)}, {"end", instant(e.end)},
          {"window", e.how},           {"down_node_days", e.down_node_days}};
}

[[nodiscard]] inline Json failure_study_json(const reliability::FailureStudy& s) {
  Json out = {{"format", reliability::to_text(s.log.format)},
              {"rows", s.log.rows},
              {"events", count_json(s.failures)},
              {"excluded", Json::object()},
              {"exposure", exposure_json(s.log)},
              {"mtbf_hours", detail::finite_json(s.mtbf_hours)},
              {"rate_per_node_day", detail::rate_json(s.per_node_day)},
              {"rate_per_accelerator_hour", detail::rate_json(s.per_accelerator_hour)}};
  for (const auto& [reason, events] : s.excluded) out["excluded"][reason] = count_json(events);
  const double rate = s.per_accelerator_hour.value;
  const Interval& i = s.per_accelerator_hour.interval;
  out["accelerator_hours_per_interruption"] = {{"value", rate > 0 ? Json(1 / rate) : Json(nullptr)},
                                               {"low", 1 / i.high},
                                               {"high", i.low > 0 ? Json(1 / i.low) : Json(nullptr)},
                                               {"level", i.level}};
  out["interruptions_per_day"] = detail::finite_json(s.projections.front().per_day);
  out["by_category"] = Json::array();
  for (const reliability::CategoryRate& c : s.by_category) {
    out["by_category"].push_back({{"category", c.counted.name},
                                  {"events", count_json(c.counted.events)},
                                  {"share", c.counted.events / s.failures},
                                  {"rate_per_node_day", detail::rate_json(c.per_node_day)},
                                  {"scales_with", reliability::to_text(c.counted.scales_with)}});
  }
  const reliability::FailureTrend& t = s.trend;
  out["trend"] = {{"verdict", reliability::to_text(t.verdict)},
                  {"laplace", nullptr},
                  {"laplace_p", nullptr},
                  {"power", nullptr},
                  {"power_p", nullptr}};
  if (t.verdict != reliability::FailureTrend::Verdict::too_few)
    out["trend"].update(
        {{"laplace", t.laplace}, {"laplace_p", t.laplace_p}, {"power", to_json(t.power)}, {"power_p", t.power_p}});
  const reliability::FailureDispersion& d = s.dispersion;
  out["dispersion"] = {{"tested", d.tested},
                       {"windows", d.windows},
                       {"index", d.tested ? Json(d.index) : Json(nullptr)},
                       {"p", d.tested ? Json(d.p) : Json(nullptr)},
                       {"overdispersed", d.overdispersed},
                       {"negative_binomial_shape", json(d.shape)}};
  out["lemons"] = nullptr;
  if (s.lemons) {
    Json list = Json::array();
    for (const reliability::LemonNode& n : s.lemons->lemons)
      list.push_back({{"node", s.log.nodes[n.node]}, {"events", count_json(n.events)}, {"p", n.p}, {"q", n.q}});
    out["lemons"] = {{"nodes", list},
                     {"fleet_nodes", count_json(s.lemons->nodes)},
                     {"expected_events", s.lemons->expected},
                     {"false_discovery", s.lemons->false_discovery},
                     {"share", s.lemons->share},
                     {"rate_without", s.lemons->rate_without}};
  }
  out["project"] = Json::array();
  for (const reliability::RateProjection& p : s.projections) {
    out["project"].push_back({{"accelerators", count_json(p.accelerators)},
                              {"mtbf_hours", detail::finite_json(p.mtbf_hours)},
                              {"interruptions_per_day", detail::finite_json(p.per_day)},
                              {"run_share", p.run_share},
                              {"mtbf_hours_if_all_scale", detail::finite_json(p.all_scaled_mtbf_hours)}});
  }
  out["recovery"] = {{"automatic", count_json(s.automatic)},
                     {"manual", count_json(s.manual)},
                     {"median_s", json(s.median_recovery_s)}};
  if (const auto& g = s.log.training) {
    out["training"] = {{"iterations", count_json(g->iterations)},
                       {"repeated_iterations", count_json(g->repeated)},
                       {"productive_hours", g->productive_hours},
                       {"lost_hours", g->lost_hours},
                       {"restart_hours", g->restart_hours},
                       {"restarts", count_json(g->restarts)},
                       {"iteration_s", json(g->median_iteration_s)},
                       {"tokens_per_s", json(g->tokens_per_second)},
                       {"tflops_per_accelerator", json(g->tflops_per_accelerator)}};
  }
  return out;
}

// One row a category, and one for all.
[[nodiscard]] inline Table category_table(const reliability::FailureStudy& s) {
  const std::string level = print_number(100 * s.level, 4) + "%";
  Table out({"category", "failures", "share (%)", "rate (/node-day)", "low " + level, "high " + level, "scales with"});
  const auto add = [&](const std::string& name, double events, const reliability::RatePosterior& r,
                       std::string_view with) {
    out.add({name,
             {events, 9},
             s.failures > 0 ? Cell(100 * events / s.failures, 3) : Cell(),
             {r.value, 4},
             {r.interval.low, 4},
             {r.interval.high, 4},
             std::string(with)});
  };
  for (const reliability::CategoryRate& c : s.by_category)
    add(c.counted.name, c.counted.events, c.per_node_day, reliability::to_text(c.counted.scales_with));
  add("all", s.failures, s.per_node_day, "");
  return out;
}

[[nodiscard]] inline std::string failure_study_text(const reliability::FailureStudy& s) {
  const reliability::Exposure& e = s.log.exposure;
  const std::string level = print_number(100 * s.level, 4) + "%";
  std::string out = "A log of the format " + std::string(reliability::to_text(s.log.format)) + ", recognised by " +
                    s.log.recognised_by + ": " + print_number(static_cast<double>(s.log.rows)) + " rows\n\n";
  Table t({"quantity", "value", "low " + level, "high " + level, "unit"});
  const auto plain = [&t](const char* what, double value, int digits, const char* unit) {
    t.add({what, {value, digits}, {}, {}, unit});
  };
  plain("watched", e.node_days, 6, "node-days");
  plain("watched", e.accelerator_hours, 6, "accelerator-hours");
  plain("watched", e.hours, 6, "hours of work");
  plain("size, mean", e.accelerators(), 6, "accelerators");
  plain("failures", s.failures, 9, "");
  const auto estimate = [&t](const char* what, const Estimate& x, const char* unit) {
    t.add({what, known(x.value, 5), known(x.interval.low, 4), known(x.interval.high, 4), unit});
  };
  estimate("rate", s.per_node_day.estimate(), "a node-day");
  const reliability::RatePosterior& r = s.per_accelerator_hour;
  t.add({"accelerator-hours a failure", known(1 / r.value, 5), known(1 / r.interval.high, 4),
         known(1 / r.interval.low, 4), "h"});
  estimate("MTBF at that size", s.mtbf_hours, "h");
  estimate("interruptions", s.projections.front().per_day, "a day");
  if (s.median_recovery_s) plain("back at work after, median", *s.median_recovery_s / 60, 4, "min");
  if (s.automatic + s.manual > 0) plain("needed a person", s.manual, 9, "failures");
  out += t.text();
  if (!s.excluded.empty()) {
    Table not_counted({"not counted as failures", "events"});
    for (const auto& [reason, events] : s.excluded) {
      std::string words = reason;
      std::replace(words.begin(), words.end(), '_', ' ');
      not_counted.add({words, {events, 9}});
    }
    out += "\n" + not_counted.text();
  }
  if (!s.by_category.empty()) out += "\n" + category_table(s).text();
  out += "\n" + s.trend.describe() + "\n" + s.dispersion.describe() + "\n";
  out += s.lemons ? s.lemons->describe() + "\n" : "lemons: not looked for, no failure names its node\n";
  if (s.lemons && !s.lemons->lemons.empty()) {
    Table lemons({"node", "failures", "expected", "p", "q"});
    for (const reliability::LemonNode& n : s.lemons->lemons)
      lemons.add({s.log.nodes[n.node], {n.events, 9}, {s.lemons->expected, 3}, {n.p, 2}, {n.q, 2}});
    out += "\n" + lemons.text();
  }
  if (s.projections.size() > 1) {
    Table sizes({"accelerators", "MTBF (h)", "low " + level, "high " + level, "a day", "by the run (%)",
                 "MTBF if all scaled (h)"});
    for (const reliability::RateProjection& p : s.projections) {
      sizes.add({{p.accelerators.value, 7},
                 known(p.mtbf_hours.value, 4),
                 known(p.mtbf_hours.interval.low, 4),
                 known(p.mtbf_hours.interval.high, 4),
                 {p.per_day.value, 4},
                 {100 * p.run_share, 3},
                 known(p.all_scaled_mtbf_hours, 4)});
    }
    out += "\n" + sizes.text();
  }
  if (const auto& g = s.log.training) {
    Table progress({"progress", "value", "unit"});
    progress.add({"iterations", {g->iterations, 9}, ""});
    progress.add({"  done again after a restart", {g->repeated, 9}, ""});
    progress.add({"productive", {g->productive_hours, 5}, "h"});
    progress.add({"lost and done again", {g->lost_hours, 4}, "h"});
    progress.add({"down and restarting", {g->restart_hours, 4}, "h"});
    progress.add({"an iteration, median", {g->median_iteration_s, 5}, "s"});
    if (g->tokens_per_second) progress.add({"speed", {g->tokens_per_second, 5}, "tokens/s"});
    if (g->tflops_per_accelerator) progress.add({"speed", {g->tflops_per_accelerator, 4}, "TFLOP/s an accelerator"});
    out += "\n" + progress.text();
  }
  return out;
}

}  // namespace floplan::report
