// SPDX-License-Identifier: BSD-3-Clause
//
// A training step as a table of its terms, as a sentence and as JSON; and how far predictions are from measured steps.
//
//   std::cout << step_text(report);      Json j = step_json(report);      Table t = validation_table(validation);
//
// JSON: step_time_s, band {low, high, level, class}, tokens_per_s, tflops_per_accelerator, mfu, hfu, convention,
// bubble_fraction, breakdown_s. The band is of the step time in seconds: where measured steps of the class lie.
//
// Source of the bands: cluster/step_band.hpp.
// Pitfall: the bands are of published runs, which are the good ones.
#pragma once

#include <string>
#include <utility>

#include "floplan/cluster/layout_order.hpp"
#include "floplan/cluster/left_out.hpp"
#include "floplan/cluster/stack_words.hpp"
#include "floplan/cluster/step_band.hpp"
#include "floplan/cluster/step_time.hpp"
#include "floplan/cluster/validation.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/table.hpp"

namespace floplan::report {

// Each fact of the software by its word, and which were not given.
[[nodiscard]] inline Json stack_json(const cluster::SoftwareStack& stack) {
  Json out = Json::object();
  for (const auto& [name, word, assumed] : cluster::words_of(stack)) {
    out[std::string(name)] = {{"value", word}, {"assumed", assumed}};
  }
  return out;
}

// What of the machine was given, and is not the catalog's.
[[nodiscard]] inline Json machine_json(const cluster::MachineOptions& m) {
  Json out = Json::object();
  if (m.gemm_ceiling) out["gemm_ceiling_tflops"] = json(m.gemm_ceiling, 1e12);
  if (m.memory_bandwidth) out["memory_bandwidth_tbps"] = json(m.memory_bandwidth, 1e12);
  if (m.scale_up) out["scale_up_gbps"] = json(m.scale_up, 1e9);
  if (m.scale_up_domain) out["scale_up_domain"] = count_json(m.scale_up_domain);
  if (m.network) out["network_gbps"] = json(m.network, 1e9);
  if (m.pod.value > 0) {
    out["pod"] = count_json(m.pod);
    out["oversubscription"] = m.oversubscription;
  }
  return out;
}

[[nodiscard]] inline Json efficiencies_json(const cluster::Efficiencies& e) {
  Json out = {{"measured_factor", e.measured_factor}};
  for (const cluster::FittedEfficiency& f : cluster::fitted_efficiencies()) out[std::string(f.name)] = e.*f.member;
  return out;
}

[[nodiscard]] inline Json band_json(const cluster::StepReport& s, const cluster::StepBand& band) {
  return {{"low", s.step.value * band.low},
          {"high", s.step.value * band.high},
          {"level", band.level},
          {"class", band.of},
          {"coverage", band.coverage},
          {"rows", band.rows}};
}

[[nodiscard]] inline Json step_json(const cluster::StepReport& s, const cluster::StepBand& band) {
  const cluster::StepTerms& t = s.terms;
  return {{"step_time_s", s.step.value},
          {"band", band_json(s, band)},
          {"tokens_per_s", s.tokens_per_second},
          {"tokens_per_s_per_accelerator", s.tokens_per_second_per_accelerator},
          {"tflops_per_accelerator", s.model_rate.value / 1e12},
          {"mfu", s.mfu},
          {"hfu", s.hfu},
          {"convention", law::to_text(s.convention)},
          {"mfu_peak_tflops", s.peak.value / 1e12},
          {"flop_per_token", s.model_flop_per_token.value},
          {"bubble_fraction", s.bubble_fraction},
          {"microbatches", t.microbatches},
          {"breakdown_s",
           {{"products", t.products},
            {"attention", t.attention},
            {"elementwise", t.elementwise},
            {"head", t.head},
            {"tensor_parallel", t.tensor},
            {"context_parallel", t.context},
            {"expert_parallel", t.expert},
            {"pipeline_sends", t.sends},
            {"bubble", t.bubble},
            {"data_parallel", t.data},
            {"optimizer", t.optimizer},
            {"straggler", t.straggler},
            {"waiting", t.waiting()}}}};
}

[[nodiscard]] inline Table step_table(const cluster::StepReport& s) {
  Table table({"term", "seconds", "share (%)"});
  const auto row = [&](const char* name, double seconds) {
    if (seconds != 0) table.add({name, {seconds, 4}, {100 * seconds / s.step.value, 3}});
  };
  const cluster::StepTerms& t = s.terms;
  row("matrix products", t.products);
  row("attention", t.attention);
  row("elementwise", t.elementwise);
  row("head and loss", t.head);
  row("tensor-parallel communication, exposed", t.tensor);
  row("context-parallel communication, exposed", t.context);
  row("expert-parallel communication, exposed", t.expert);
  row("pipeline sends", t.sends);
  row("pipeline bubble", t.bubble);
  row("data-parallel communication, exposed", t.data);
  row("optimizer", t.optimizer);
  row("stragglers", t.straggler);
  row("waiting for the slowest stage or the host", t.waiting());
  row("step", s.step.value);
  return table;
}

[[nodiscard]] inline std::string step_text(const cluster::StepReport& s, const cluster::StepBand& band) {
  return s.describe() + "\n" + "measured steps of this class (" + band.of + ") lie from " +
         print(s.step * band.low, 3) + " to " + print(s.step * band.high, 3) + " in nine of ten cases\n\n" +
         step_table(s).text();
}

[[nodiscard]] inline Table validation_table(const cluster::Validation& v) {
  Table table({"publisher", "rows", "mean |error| (%)", "90th percentile (%)", "bias (%)"});
  const auto add = [&table](const cluster::GroupError& g) {
    table.add({g.group,
               {static_cast<double>(g.rows), 9},
               {100 * g.mean_absolute, 3},
               {100 * g.percentile90, 3},
               {100 * g.bias, 3}});
  };
  for (const cluster::GroupError& g : v.groups) add(g);
  if (v.classes.size() > 1) {
    for (const cluster::ClassError& c : v.classes) add(c.error);
  }
  add(v.all);
  return table;
}

[[nodiscard]] inline Json validation_json(const cluster::Validation& v) {
  const auto group = [](const cluster::GroupError& g) {
    return Json{{"group", g.group},
                {"rows", g.rows},
                {"mean_absolute_error", g.mean_absolute},
                {"percentile90_absolute_error", g.percentile90},
                {"bias", g.bias}};
  };
  Json groups = Json::array();
  for (const cluster::GroupError& g : v.groups) groups.push_back(group(g));
  Json classes = Json::array();
  for (const cluster::ClassError& c : v.classes) {
    Json entry = group(c.error);
    const cluster::StepBand band = cluster::step_band(c.of);
    entry["band"] = {{"low", band.low}, {"high", band.high}, {"level", band.level}, {"earned_coverage", band.coverage}};
    entry["coverage"] = c.coverage;
    classes.push_back(std::move(entry));
  }
  Json rows = Json::array();
  for (const cluster::StepError& r : v.rows) {
    rows.push_back({{"id", r.id},
                    {"group", r.group},
                    {"class", cluster::step_band(r.of).of},
                    {"inside_band", r.inside},
                    {"measured_s", r.measured.value},
                    {"predicted_s", r.predicted.step},
                    {"error", r.error}});
  }
  Json skipped = Json::array();
  for (const cluster::SkippedStep& s : v.skipped) skipped.push_back({{"place", s.place}, {"reason", s.reason}});
  return {{"all", group(v.all)},
          {"groups", std::move(groups)},
          {"classes", std::move(classes)},
          {"rows", std::move(rows)},
          {"skipped", std::move(skipped)}};
}

// A fit's values as a table.
[[nodiscard]] inline Table calibration_table(const cluster::Calibration& fit) {
  Table table({"efficiency", "value", "low", "high", "prior", "prior's sd", "identified", "at a bound"});
  for (const cluster::CalibratedValue& v : fit.values) {
    table.add({std::string(v.name),
               {v.value, 4},
               {v.low, 4},
               {v.high, 4},
               {v.prior_mean, 3},
               {v.prior_deviation, 3},
               std::string(v.identified()),
               v.at_bound ? "yes" : "no"});
  }
  return table;
}

[[nodiscard]] inline Json calibration_json(const cluster::Calibration& fit) {
  Json values = Json::object();
  for (const cluster::CalibratedValue& v : fit.values) {
    values[std::string(v.name)] = {{"value", v.value},
                                   {"low", v.low},
                                   {"high", v.high},
                                   {"level", 0.9},
                                   {"prior_mean", v.prior_mean},
                                   {"prior_deviation", v.prior_deviation},
                                   {"width_left", v.width_left},
                                   {"identified", std::string(v.identified())},
                                   {"at_bound", v.at_bound}};
  }
  return {{"values", std::move(values)},
          {"measured_factor", fit.efficiencies.measured_factor},
          {"rows", fit.rows},
          {"cost", fit.cost},
          {"converged", fit.converged}};
}

[[nodiscard]] inline Json order_json(const std::vector<cluster::OrderError>& order) {
  Json groups = Json::array();
  for (const cluster::OrderError& o : order) {
    groups.push_back({{"group", o.group},
                      {"sets", o.sets},
                      {"mean_spearman", o.ranked > 0 ? Json(o.spearman) : Json()},
                      {"mean_loss_of_predicted_best", o.loss}});
  }
  if (order.empty())
    return {{"sets", 0}, {"mean_spearman", nullptr}, {"mean_loss_of_predicted_best", nullptr}, {"groups", groups}};
  Json out = groups.back();  // of all
  groups.erase(groups.size() - 1);
  out.erase("group");
  out["groups"] = std::move(groups);
  return out;
}

}  // namespace floplan::report
