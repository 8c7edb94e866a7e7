// SPDX-License-Identifier: BSD-3-Clause
//
// What a replica serves, as a table of its step, as sentences and as JSON; how far predictions are from measured rates; and a
// calibration.
//
//   std::cout << serve_text(request, report, cost);      Json j = serve_json(request, report, cost);
//
// JSON: output_tokens_per_s, band {low, high, level, class} of it, requests_per_s, ttft_s, ttft_beside_batch_s, tpot_s, batch,
// batch_limit, bound, bound_shares, breakdown_s, kv_bytes_per_token, memory_bytes {weights, runtime, activations, room,
// sequence, capacity} of one accelerator, fits, usd_per_million_output_tokens with input and output alone where a price is
// known, watt_hours_per_million_output_tokens.
//
// Pitfall: dollars an output token hold the prompts' too; the two "alone" ones are apart.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/quantity_text.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/table.hpp"
#include "floplan/serving/frontier.hpp"
#include "floplan/serving/serving_cost.hpp"
#include "floplan/serving/serving_report.hpp"
#include "floplan/serving/serving_validation.hpp"

namespace floplan::report {

namespace detail {

inline constexpr std::pair<const char*, double serving::EngineStep<double>::*> step_terms_of_serving[] = {
    {"products", &serving::EngineStep<double>::products},
    {"experts", &serving::EngineStep<double>::experts},
    {"head", &serving::EngineStep<double>::head},
    {"cache", &serving::EngineStep<double>::cache},
    {"attention", &serving::EngineStep<double>::attention},
    {"elementwise", &serving::EngineStep<double>::elementwise},
    {"communication", &serving::EngineStep<double>::communication},
    {"layers", &serving::EngineStep<double>::layers},
    {"host", &serving::EngineStep<double>::host}};

}  // namespace detail

[[nodiscard]] inline Json serve_json(const serving::ServingRequest& r, const serving::ServingReport& s,
                                     const std::optional<serving::ServingCost>& cost) {
  const auto known = [&cost](double serving::ServingCost::*member) { return cost ? Json((*cost).*member) : Json(); };
  Json breakdown;
  for (const auto& [name, member] : detail::step_terms_of_serving) breakdown[name] = s.step.*member;
  return {{"output_tokens_per_s", s.output_tokens_per_second},
          {"output_tokens_per_s_per_accelerator", s.output_tokens_per_second / r.cut.accelerators},
          {"band",
           {{"low", s.rate_low()}, {"high", s.rate_high()}, {"level", s.confidence.level}, {"class", s.confidence.of}}},
          {"requests_per_s", s.requests_per_second},
          {"ttft_s", s.ttft.value},
          {"ttft_beside_batch_s", s.ttft_beside_batch.value},
          {"tpot_s", s.tpot.value},
          {"batch", count_json(s.batch)},
          {"batch_limit", to_text(s.limit)},
          {"bound", s.bounds.largest()},
          {"bound_shares",
           {{"memory_bandwidth", s.bounds.memory},
            {"arithmetic", s.bounds.arithmetic},
            {"links", s.bounds.links},
            {"latency", s.bounds.latency}}},
          {"step_time_s", s.step.seconds()},
          {"breakdown_s", std::move(breakdown)},
          {"kv_bytes_per_token", serving::cached_bytes(r.model, r.formats, 1)},
          {"memory_bytes",
           {{"weights", s.memory.weights.value},
            {"runtime", s.memory.runtime.value},
            {"activations", s.memory.activations.value},
            {"room", s.memory.room.value},
            {"sequence", s.memory.a_sequence.value},
            {"capacity", s.memory.capacity.value}}},
          {"fits", s.memory.fits()},
          {"usd_per_million_output_tokens", known(&serving::ServingCost::usd_per_million_output)},
          {"usd_per_million_input_tokens_alone", known(&serving::ServingCost::usd_per_million_input_alone)},
          {"usd_per_million_output_tokens_alone", known(&serving::ServingCost::usd_per_million_output_alone)},
          {"watt_hours_per_million_output_tokens",
           cost && cost->watt_hours_per_million_output > 0 ? Json(cost->watt_hours_per_million_output) : Json()}};
}

[[nodiscard]] inline Table serve_table(const serving::ServingReport& s) {
  const double whole = s.step.seconds();
  Table table({"term", "seconds", "share (%)"});
  const char* names[] = {
      "matrix products", "experts",       "output head", "reading the cache", "attention of prompts", "elementwise",
      "communication",   "short kernels", "host"};
  std::size_t i = 0;
  for (const auto& [name, member] : detail::step_terms_of_serving) {
    const double seconds = s.step.*member;
    if (seconds != 0) table.add({names[i], {seconds, 4}, {100 * seconds / whole, 3}});
    ++i;
  }
  table.add({"step", {whole, 4}, {100.0, 3}});
  return table;
}

[[nodiscard]] inline std::string serve_text(const serving::ServingRequest& r, const serving::ServingReport& s,
                                            const std::optional<serving::ServingCost>& cost) {
  const auto usd = [](double x) { return "$" + print_number(x, 3); };
  std::string out = s.describe() + "\n";
  out += "measured engines of this class (" + s.confidence.of + ") write from " + print_number(s.rate_low(), 4) +
         " to " + print_number(s.rate_high(), 4) + " tokens/s in nine of ten cases\n";
  out += "a prompt that finds a place beside the batch has its first token after " + print(s.ttft_beside_batch, 3) +
         "; waiting for a place is not in it\n";
  out += "the step waits most for " + std::string(s.bounds.largest()) + "; " + s.memory.describe() + "\n";
  if (cost) {
    out += usd(cost->usd_per_million_output) +
           " a million output tokens with their prompts: " + usd(cost->usd_per_million_input_alone) +
           " a million of input, " + usd(cost->usd_per_million_output_alone) + " of output alone\n";
    if (r.device.power > 0)
      out += print(WattHours(cost->watt_hours_per_million_output), 3) + " a million output tokens at rated power\n";
  }
  return out + "\n" + serve_table(s).text();
}

[[nodiscard]] inline Json frontier_json(const std::vector<serving::FrontierPoint>& points) {
  Json out = Json::array();
  for (const serving::FrontierPoint& p : points) {
    out.push_back({{"accelerators", count_json(p.accelerators)},
                   {"batch", count_json(p.batch)},
                   {"output_tokens_per_s_per_accelerator", p.output_tokens_per_second_per_accelerator},
                   {"tpot_s", p.tpot.value},
                   {"ttft_s", p.ttft.value},
                   {"best", p.best}});
  }
  return out;
}

[[nodiscard]] inline Table frontier_table(const std::vector<serving::FrontierPoint>& points) {
  Table table({"accelerators", "batch", "output tokens/s an accelerator", "TPOT (s)", "TTFT (s)", "best"});
  for (const serving::FrontierPoint& p : points) {
    table.add({{p.accelerators, 6},
               {p.batch, 6},
               {p.output_tokens_per_second_per_accelerator, 4},
               {p.tpot.value, 3},
               {p.ttft.value, 3},
               p.best ? "yes" : "no"});
  }
  return table;
}

namespace detail {

[[nodiscard]] inline Json errors_json(const serving::ErrorsOf& e) {
  return {{"group", e.group},
          {"rows", e.errors.size()},
          {"mean_absolute_ln_error", e.mean_absolute()},
          {"percentile90_absolute_ln_error", e.quantile(0.9)},
          {"largest_absolute_ln_error", e.largest()},
          {"bias_ln", e.bias()}};
}

}  // namespace detail

[[nodiscard]] inline Json serving_validation_json(const serving::ServingValidation& v,
                                                  const std::vector<serving::SkippedRate>& skipped) {
  const auto list = [](const std::vector<serving::ErrorsOf>& groups) {
    Json out = Json::array();
    for (const serving::ErrorsOf& e : groups) out.push_back(detail::errors_json(e));
    return out;
  };
  Json rows = Json::array();
  for (const serving::RateError& e : v.rows) {
    rows.push_back({{"place", e.row->place},
                    {"model", e.row->model},
                    {"accelerator", e.row->accelerator},
                    {"input_tokens", count_json(e.row->tokens.input)},
                    {"output_tokens", count_json(e.row->tokens.output)},
                    {"batch", count_json(e.row->batch)},
                    {"measured_output_tokens_per_s", e.row->measured * e.row->replicas},
                    {"predicted_output_tokens_per_s", e.predicted * e.row->replicas},
                    {"ln_error", e.error},
                    {"class", e.confidence.of},
                    {"within_band", e.within_band()}});
  }
  Json coverage = Json::array();
  for (const serving::BandCoverage& c : v.coverage)
    coverage.push_back({{"class", c.of}, {"rows", c.rows}, {"within", c.within}});
  Json left = Json::array();
  for (const serving::SkippedRate& s : skipped) left.push_back({{"place", s.place}, {"reason", s.reason}});
  Json out = {{"all", detail::errors_json(v.all)}, {"groups", list(v.groups)}, {"band_coverage", std::move(coverage)}};
  if (!v.model_out.empty()) out["model_left_out"] = list(v.model_out);
  if (!v.part_out.empty()) out["accelerator_left_out"] = list(v.part_out);
  out["rows"] = std::move(rows);
  out["skipped"] = std::move(left);
  return out;
}

[[nodiscard]] inline Table serving_validation_table(const serving::ServingValidation& v) {
  Table table({"left out of the fit", "group", "rows", "mean |ln error|", "90th percentile", "largest", "bias"});
  const auto add = [&table](const char* kind, const serving::ErrorsOf& e) {
    table.add({kind,
               e.group,
               {static_cast<double>(e.errors.size()), 9},
               {e.mean_absolute(), 3},
               {e.quantile(0.9), 3},
               {e.largest(), 3},
               {e.bias(), 3}});
  };
  for (const serving::ErrorsOf& e : v.groups) add("nothing", e);
  add("nothing", v.all);
  for (const serving::ErrorsOf& e : v.model_out) add("the model", e);
  for (const serving::ErrorsOf& e : v.part_out) add("the accelerator", e);
  return table;
}

[[nodiscard]] inline Json calibration_json(const serving::Calibration& c) {
  Json values;
  for (const serving::CalibratedValue& v : c.values) {
    values[v.name] = {{"value", v.value},       {"low", v.low},     {"high", v.high},
                      {"level", 0.9},           {"prior", v.prior}, {"prior_deviation_left", v.prior_left},
                      {"said", to_text(v.said)}};
  }
  return {{"efficiencies", std::move(values)},
          {"rows", c.rows},
          {"objective", c.objective},
          {"iterations", c.iterations},
          {"converged", c.converged}};
}

[[nodiscard]] inline Table calibration_table(const serving::Calibration& c) {
  Table table({"efficiency", "value", "low", "high", "prior", "what the rows say"});
  for (const serving::CalibratedValue& v : c.values)
    table.add({v.name, {v.value, 4}, {v.low, 3}, {v.high, 3}, {v.prior, 3}, to_text(v.said)});
  return table;
}

}  // namespace floplan::report
