// SPDX-License-Identifier: BSD-3-Clause
//
// Catalog records as JSON entries: {"name", ..., "source", "date", "verified", "note"}.
//
// Keys are the columns of data/README.md, so that an entry can be put back into a CSV file of a user's own.
// Units: those of the keys; *_tflops 1e12 FLOP/s, *_gb 1e9 bytes, *_tbps 1e12 bytes a second, *_gbps 1e9 bytes a second.
//
// Pitfall: law entries hold the coefficients as numbers; where the source printed logarithms they are exp() of those.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/architecture/parameter_count.hpp"
#include "floplan/catalog/records.hpp"
#include "floplan/catalog/stacks.hpp"
#include "floplan/law/any_form.hpp"
#include "floplan/reliability/interruption_rate.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/model_json.hpp"

namespace floplan::report {

namespace detail {
[[nodiscard]] inline Json with_provenance(Json entry, const Provenance& p) {
  entry["source"] = p.source;
  entry["date"] = p.date;
  entry["verified"] = p.verified;
  entry["note"] = p.note;
  return entry;
}
}  // namespace detail

[[nodiscard]] inline Json to_json(const catalog::Accelerator& a) {
  return detail::with_provenance({{"name", a.name},
                                  {"aliases", a.aliases},
                                  {"title", a.title},
                                  {"vendor", a.vendor},
                                  {"year", json(a.year)},
                                  {"bf16_dense_tflops", json(a.bf16_dense, 1e12)},
                                  {"fp8_dense_tflops", json(a.fp8_dense, 1e12)},
                                  {"fp4_dense_tflops", json(a.fp4_dense, 1e12)},
                                  {"bf16_gemm_tflops_measured", json(a.bf16_gemm_measured, 1e12)},
                                  {"memory_gb", json(a.memory, 1e9)},
                                  {"memory_bandwidth_tbps", json(a.memory_bandwidth, 1e12)},
                                  {"scale_up_gbps", json(a.scale_up, 1e9)},
                                  {"scale_up_domain", json(a.scale_up_domain)},
                                  {"network_gbps", json(a.network, 1e9)},
                                  {"power_w", json(a.power)},
                                  {"power_term", a.power_term},
                                  {"accelerators_per_node", json(a.accelerators_per_node)}},
                                 a.provenance);
}

[[nodiscard]] inline Json to_json(const catalog::Model& m) {
  const architecture::ParameterCount count = architecture::parameter_count(m.shape);
  Json out = {{"name", m.name},
              {"aliases", m.aliases},
              {"title", m.title},
              {"parameters", count_json(count.total)},
              {"active_parameters", count_json(count.active)},
              {"published_parameters", count_json(m.published_parameters)},
              {"published_active_parameters", count_json(m.published_active_parameters)},
              {"difference", m.difference}};
  out.update(shape_json(m.shape));
  out["sequence_length"] = json(m.sequence_length);
  out["training_tokens"] = json(m.training_tokens);
  return detail::with_provenance(std::move(out), m.provenance);
}

[[nodiscard]] inline Json to_json(const catalog::Price& p) {
  return detail::with_provenance({{"name", p.name},
                                  {"aliases", p.aliases},
                                  {"accelerator", p.accelerator},
                                  {"kind", p.kind},
                                  {"usd_low", json(p.low)},
                                  {"usd_typical", json(p.typical)},
                                  {"usd_high", json(p.high)}},
                                 p.provenance);
}

[[nodiscard]] inline Json to_json(const catalog::InterruptionWindow& w,
                                  const std::vector<catalog::InterruptionCategory>& categories) {
  const Count per_node = w.accelerators_per_node.value_or(Count(8));
  // A rate from counts, or as published; absent where a category's exposure is not known.
  const auto rate_of = [&](std::optional<double> events) -> std::optional<reliability::InterruptionRate> {
    if (!events || *events <= 0 || !w.accelerators || !w.duration) return std::nullopt;
    return reliability::rate_from_events(*events, *w.accelerators, *w.duration, per_node);
  };
  const auto with_rate = [](Json entry, const std::optional<reliability::InterruptionRate>& rate) {
    entry["rate_per_node_day"] = rate ? Json(rate->per_node_day()) : Json(nullptr);
    entry["rate_per_million_accelerator_hours"] = rate ? Json(1e6 * rate->per_accelerator_hour) : Json(nullptr);
    return entry;
  };
  double total = 0;
  for (const auto& c : categories) total += c.count;
  Json list = Json::array();
  for (const auto& c : categories) {
    list.push_back(detail::with_provenance(with_rate({{"component", c.component},
                                                      {"category", c.category},
                                                      {"count", c.count},
                                                      {"share_percent", 100 * c.count / total},
                                                      {"printed_percent", json(c.printed_percent)}},
                                                     rate_of(c.count)),
                                           c.provenance));
  }
  Json entry = {{"name", w.name},
                {"aliases", w.aliases},
                {"title", w.title},
                {"accelerator", w.accelerator},
                {"accelerators", json(w.accelerators)},
                {"accelerators_per_node", json(w.accelerators_per_node)},
                {"days", json(w.duration, seconds_per_day)},
                {"unexpected", json(w.unexpected)},
                {"planned", json(w.planned)},
                {"manual", json(w.manual)}};
  entry =
      with_rate(std::move(entry), w.rate_per_node_day ? reliability::rate_from_node_days(*w.rate_per_node_day, per_node)
                                                      : rate_of(w.unexpected));
  entry["rate_published"] = w.rate_per_node_day.has_value();
  entry["categories"] = std::move(list);
  return detail::with_provenance(std::move(entry), w.provenance);
}

// What is not known of a stack is null; "assumed" names the facts that are a judgement.
[[nodiscard]] inline Json to_json(const catalog::Stack& stack) {
  Json out = {{"name", stack.name},
              {"aliases", stack.aliases},
              {"title", stack.title},
              {"year_from", json(stack.year_from)},
              {"year_to", json(stack.year_to)}};
  for (const std::string& fact : catalog::stack_facts()) {
    const std::string word = stack.fact(fact);
    out[fact] = word.empty() ? Json(nullptr) : Json(word);
  }
  out["assumed"] = stack.assumed;
  return detail::with_provenance(std::move(out), stack.provenance);
}

[[nodiscard]] inline Json to_json(const catalog::Run& r) {
  return detail::with_provenance({{"name", r.name},
                                  {"aliases", r.aliases},
                                  {"title", r.title},
                                  {"model", r.model},
                                  {"parameters", json(r.parameters)},
                                  {"active_parameters", json(r.active_parameters)},
                                  {"tokens", json(r.tokens)},
                                  {"accelerator", r.accelerator},
                                  {"accelerators", json(r.accelerators)},
                                  {"accelerator_hours", json(r.accelerator_hours)},
                                  {"wall_clock_days", json(r.wall_clock, seconds_per_day)},
                                  {"steady_tflops", json(r.steady_rate, 1e12)},
                                  {"training_flop", json(r.training_flop)},
                                  {"flop_convention", r.flop_convention},
                                  {"hours_kind", r.hours_kind},
                                  {"unexpected_interruptions", json(r.unexpected_interruptions)},
                                  {"planned_interruptions", json(r.planned_interruptions)},
                                  {"energy_mwh", json(r.energy, 1e6)},
                                  {"co2e_tonnes", json(r.co2e_tonnes)}},
                                 r.provenance);
}

[[nodiscard]] inline Json to_json(const law::AnyLaw& l) {
  Json inputs = Json::array();
  for (const law::Input input : law::inputs(l.form)) inputs.push_back(law::info(input).key);
  Json entry = {{"name", l.name},
                {"aliases", l.aliases},
                {"title", l.title},
                {"form", law::name_of(l.form)},
                {"formula", law::formula_of(l.form)},
                {"inputs", std::move(inputs)},
                {"output", law::info(law::output(l.form)).key}};
  Json coefficients = Json::object();
  for (const auto& [name, value] : law::coefficients_of(l.form)) coefficients[name] = value;
  entry.update(coefficients);  // as in the first files that held laws, where E, A, ... stand beside the name
  entry["coefficients"] = std::move(coefficients);
  entry["parameter_convention"] = law::to_text(l.parameter_convention);
  entry["flop_convention"] = law::to_text(l.flop_convention);
  entry["loss_unit"] = l.loss_unit;
  entry["rounded"] = l.rounded;
  entry["trust"] = l.trust;
  entry["fit_range"] = range_json(l.range);
  return detail::with_provenance(std::move(entry), l.provenance);
}

}  // namespace floplan::report
