// SPDX-License-Identifier: BSD-3-Clause
//
// Simulations, spares and cluster sizes as JSON and tables.
//
//   to_json(simulation), to_json(spares), to_json(size_point), simulation_table(simulation)
//
// Shares of the time are under `waste`, with ETTR they sum to 1. Times are in the unit that their key names.
// Needs nlohmann-json: not part of the umbrella header.
// Pitfall: `mean_days` is the mean sharpened by control variates; `wall_clock_days.mean` is the plain one.
#pragma once

#include <string>

#include "floplan/reliability/cluster_size.hpp"
#include "floplan/reliability/simulation.hpp"
#include "floplan/reliability/spares.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/table.hpp"

namespace floplan::report {

[[nodiscard]] inline Json waste_json(const reliability::Waste& w, double stragglers = 0) {
  return {{"checkpoint", w.checkpoint},
          {"lost_work", w.lost_work},
          {"restart", w.restart},
          {"maintenance", w.maintenance},
          {"stragglers", stragglers}};
}

[[nodiscard]] inline Json to_json(const reliability::SimulationReport& r) {
  Json waste = waste_json(r.waste, r.stragglers);
  waste["unmended"] = r.unmended;
  waste["unexplained"] = r.unexplained;
  return {
      {"runs", r.runs},
      {"asked", r.asked},
      {"complete", r.complete},
      {"wall_clock_days", to_json(r.wall_clock_days.distribution())},
      {"mean_days", {{"value", r.mean_days()}, {"se", r.mean_days_error()}}},
      {"control_variate_gain", r.days_controlled.gain()},
      {"quantile_resolution_days", r.wall_clock_days.resolution()},
      {"ettr", r.ettr},
      {"waste", std::move(waste)},
      {"interruptions", to_json(r.interruptions.distribution())},
      {"failures", {{"mean", r.failures.mean()}, {"sd", r.failures.standard_deviation()}}},
      {"failures_by_class",
       {{"memory", r.failures_by_class[0]}, {"storage", r.failures_by_class[1]}, {"manual", r.failures_by_class[2]}}},
      {"restart_failures", r.restart_failures},
      {"planned_stops", {{"mean", r.planned_stops.mean()}, {"sd", r.planned_stops.standard_deviation()}}},
      {"lost_hours", {{"mean", r.lost_hours.mean()}, {"sd", r.lost_hours.standard_deviation()}}},
      {"down_hours", {{"mean", r.down_hours.mean()}, {"sd", r.down_hours.standard_deviation()}}}};
}

[[nodiscard]] inline Table simulation_table(const reliability::SimulationReport& r) {
  Table table({"quantity", "mean", "sd", "10%", "50%", "90%", "unit"});
  const auto row = [&table](const char* name, const reliability::RunSummary& s, const char* unit) {
    table.add({name,
               {s.mean(), 6},
               {s.standard_deviation(), 3},
               {s.quantile(0.1), 6},
               {s.quantile(0.5), 6},
               {s.quantile(0.9), 6},
               unit});
  };
  row("wall clock", r.wall_clock_days, "days");
  row("interruptions", r.interruptions, "");
  row("failures", r.failures, "");
  row("planned stops", r.planned_stops, "");
  row("work lost", r.lost_hours, "h");
  row("down", r.down_hours, "h");
  return table;
}

[[nodiscard]] inline Json to_json(const reliability::SpareReport& r) {
  return {{"spares", r.spares()},
          {"rule", "erlang_b"},
          {"in_repair", r.load},
          {"erlang_b", {{"spares", r.erlang.spares}, {"stopped", r.erlang.stopped}}},
          {"palm", {{"spares", r.palm.spares}, {"stopped", r.palm.stopped}}},
          {"mean_stop_s", r.mean_stop.value},
          {"stopping_share", r.stopping_share}};
}

[[nodiscard]] inline Json to_json(const reliability::SizePoint& s) {
  Json out = {{"count", count_json(s.accelerators)}, {"mtbf_hours", in_hours(s.mtbf)}, {"ends", s.ends}};
  if (!s.ends) return out;
  out["interval_s"] = s.tiers.interval.value;
  out["storage_every"] = s.tiers.storage_every;
  out["ettr"] = s.ettr;
  out["ettr_first_order"] = s.ettr_first_order;
  out["effective_accelerators"] = s.effective_accelerators();
  out["waste"] = waste_json(s.waste);
  return out;
}

}  // namespace floplan::report
