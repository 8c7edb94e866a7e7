// SPDX-License-Identifier: BSD-3-Clause
//
// A plan, its request, and the reliability answers as JSON.
//
// Units are in the keys; waste is shares of the expected accelerator-hours and, with ettr (and unexplained), sums to 1.
// wall_clock_days, accelerator_hours, interruptions and cost_usd are distributions; expected_* beside them are the exact
// means at the median inputs; interruptions count planned stops too. A stage's ettr and waste are, as the plan's, those of
// its expected time with unexplained stops; ettr_first_order and ettr_without_unexplained_stops leave these out. energy_mwh and co2e_tonnes are those of energy_basis; `energy` holds both bases.
//
// A stage's `rate` is given, predicted or searched. `model` is what the models of step time and memory say of its layout, with
// what was settled where nothing was said; band, hfu, memory_bytes and fits are null where they are not known. The band is of
// the step time that the plan rests on, so it is null where the rate is given; model.band is beside the model's step.
//
// loss_estimate and loss_new_run (the curve, and one run with its noise) are null where the law has no known uncertainty.
//
// Needs nlohmann-json: not part of the umbrella header.
// Pitfall: training_flop follows flop_convention; training_flop_six_nd is the 6 N D that scaling laws speak of.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "floplan/cluster/stack_words.hpp"
#include "floplan/plan/loss_prediction.hpp"
#include "floplan/plan/plan.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/memory_text.hpp"
#include "floplan/report/step_text.hpp"

namespace floplan::report {

[[nodiscard]] inline Json to_json(const reliability::Waste& w) {
  return {{"checkpoint", w.checkpoint},
          {"lost_work", w.lost_work},
          {"restart", w.restart},
          {"maintenance", w.maintenance},
          {"stragglers", 0.0}};
}

template <class Q>
[[nodiscard]] Json to_json(const plan::Uncertain<Q>& u) {
  if (!u.spreads()) return u.central.value;
  return {{"low", u.low->value}, {"central", u.central.value}, {"high", u.high->value}, {"level", 0.8}};
}

// What was said of it, and nothing that was not.
[[nodiscard]] inline Json to_json(const plan::StageLayout& l) {
  Json out = to_json(l.degrees);
  if (l.interleave) out["vp"] = *l.interleave;
  if (l.microbatch) out["microbatch"] = *l.microbatch;
  if (l.sharding) out["sharding"] = architecture::to_text(*l.sharding);
  if (l.recompute) out["recompute"] = architecture::to_text(*l.recompute);
  return out;
}

[[nodiscard]] inline Json to_json(const plan::SettledLayout& l) {
  Json out = to_json(l.degrees);
  out["microbatch"] = l.microbatch;
  out["sharding"] = architecture::to_text(l.sharding);
  out["recompute"] = architecture::to_text(l.recompute);
  return out;
}

[[nodiscard]] inline Json layout_json(const plan::StagePlan& s) {
  if (!s.request.layout) return nullptr;
  return s.request.predicted() ? to_json(s.model->layout) : to_json(*s.request.layout);
}

// Of the step that the plan rests on; null where a rate is given.
[[nodiscard]] inline Json band_json(const plan::StagePlan& s) {
  return s.request.predicted() ? band_json(*s.model->step, s.model->band) : Json(nullptr);
}

[[nodiscard]] inline Json memory_json(const plan::LayoutModel& m) {
  if (!m.memory) return nullptr;
  Json out = memory_json(*m.memory);
  out["capacity"] = json(m.capacity);
  return out;
}

[[nodiscard]] inline Json to_json(const plan::LayoutModel& m) {
  Json out = {{"layout", to_json(m.layout)}};
  if (m.step) out.update(step_json(*m.step, m.band));
  return out;
}

// Of checkpoints to memory; null where there is no such tier.
[[nodiscard]] inline Json memory_interval_json(const plan::StagePlan& s) {
  return s.conditions.memory ? Json(s.conditions.memory->interval.value) : Json(nullptr);
}

[[nodiscard]] inline Json checkpoint_json(const plan::Checkpoint& c) {
  Json out = {{"stall_s", to_json(c.stall)}, {"interval_s", json(c.interval)}, {"memory", nullptr}};
  if (const auto& memory = c.memory) {
    out["memory"] = {{"stall_s", to_json(memory->stall)},
                     {"share", memory->share.value},
                     {"restart_s", to_json(memory->restart)},
                     {"wait_s", to_json(memory->wait)},
                     {"interval_s", json(memory->interval)}};
  }
  return out;
}

[[nodiscard]] inline Json to_json(const plan::StagePlan& s) {
  const plan::Stage& r = s.request;
  return {{"name", r.name},
          {"tokens", count_json(r.tokens)},
          {"accelerators", count_json(r.accelerators)},
          {"sequence_length", count_json(r.sequence_length)},
          {"global_batch", count_json(r.global_batch)},
          {"layout", layout_json(s)},
          {"rate", plan::rate_text(r)},
          {"flop_per_token", s.flop_per_token.value},
          {"training_flop", s.work.value},
          {"tflops_per_accelerator", s.achieved.value / 1e12},
          {"mfu", s.mfu},
          {"hfu", r.predicted() ? Json(s.model->step->hfu * (s.mfu / s.model->step->mfu)) : Json(nullptr)},
          {"step_time_s", json(s.step_time)},
          {"band", band_json(s)},
          {"tokens_per_s", s.tokens_per_second()},
          {"tokens_per_s_per_accelerator", s.tokens_per_second() / r.accelerators.value},
          {"memory_bytes", s.model ? memory_json(*s.model) : Json(nullptr)},
          {"fits", s.model && s.model->fits ? Json(*s.model->fits) : Json(nullptr)},
          {"model", s.model ? to_json(*s.model) : Json(nullptr)},
          {"ideal_days", in_days(s.ideal)},
          {"ideal_accelerator_hours", s.ideal_hours.value},
          {"expected_wall_clock_days", in_days(s.expected_wall_clock)},
          {"expected_accelerator_hours", s.expected_hours.value},
          {"mtbf_hours", in_hours(s.conditions.mtbf)},
          {"checkpoint_interval_s", s.conditions.interval.value},
          {"memory_checkpoint_interval_s", memory_interval_json(s)},
          {"failures", s.completion.failures},
          {"planned_stops", s.completion.planned_stops},
          {"ettr", s.ettr},
          {"ettr_without_unexplained_stops", s.completion.ettr},
          {"ettr_first_order", s.completion.ettr_first_order},
          {"waste", to_json(s.waste)},
          {"unexplained", s.unexplained}};
}

[[nodiscard]] inline std::string to_text(plan::EnergyBasis basis) {
  return basis == plan::EnergyBasis::tdp ? "tdp" : "node";
}

// The request with everything filled in.
[[nodiscard]] inline Json inputs_json(const plan::Request& r) {
  Json stages = Json::array();
  for (const plan::Stage& s : r.stages) {
    stages.push_back({{"name", s.name},
                      {"tokens", count_json(s.tokens)},
                      {"count", count_json(s.accelerators)},
                      {"sequence_length", count_json(s.sequence_length)},
                      {"global_batch", count_json(s.global_batch)},
                      {"achieved_tflops", json(s.achieved, 1e12)},
                      {"mfu", json(s.mfu)},
                      {"rate", plan::rate_text(s)},
                      {"layout", s.layout ? to_json(*s.layout) : Json(nullptr)}});
  }
  Json out = {{"title", r.title},
              {"model", r.model.empty() ? Json(nullptr) : Json(r.model)},
              {"parameters", count_json(r.parameters)},
              {"active_parameters", count_json(r.active_parameters)},
              {"law", r.law ? Json(r.law->name) : Json(nullptr)},
              {"target_loss", json(r.target_loss)},
              {"flop_convention", law::to_text(r.flop_convention)},
              {"accelerator", r.accelerator.name},
              {"precision", catalog::to_text(r.precision)},
              {"peak_tflops", json(r.peak ? r.peak : r.accelerator.dense_peak(r.precision), 1e12)},
              {"achieved_spread", r.achieved_spread.value},
              {"stage", std::move(stages)},
              {"stack", stack_json(r.stack)},
              {"machine", machine_json(r.machine)},
              {"efficiencies", efficiencies_json(r.efficiencies)},
              {"reliability",
               {{"rate_source", r.reliability.rate_source},
                {"rate_per_node_day", r.reliability.rate.per_node_day()},
                {"rate_per_job_day", 24 * r.reliability.rate.per_job_hour},
                {"accelerators_per_node", count_json(r.reliability.rate.accelerators_per_node)},
                {"events", json(r.reliability.rate.events)},
                {"restart_s", to_json(r.reliability.restart)},
                {"wait_s", to_json(r.reliability.wait)},
                {"manual_per_day", r.reliability.manual_per_day},
                {"manual_wait_s", r.reliability.manual_wait.value},
                {"planned_per_day", r.reliability.planned_per_day},
                {"planned_duration_s", r.reliability.planned_duration.value},
                {"team", r.reliability.team ? Json(reliability::to_text(*r.reliability.team)) : Json(nullptr)},
                {"unexplained_stops", r.reliability.unexplained_stops}}},
              {"checkpoint", checkpoint_json(r.checkpoint)}};
  out["price"] = nullptr;
  if (r.price)
    out["price"] = {{"usd_per_accelerator_hour", to_json(r.price->accelerator_hour)}, {"source", r.price->source}};
  out["power"] = nullptr;
  if (r.power) {
    out["power"] = {{"accelerator_w", r.power->accelerator.value},
                    {"node_w", r.power->node.value},
                    {"pue", r.power->pue},
                    {"carbon_kg_per_kwh", r.power->grid.value},
                    {"basis", to_text(r.power->basis)}};
  }
  out["deadline_days"] = json(r.deadline, seconds_per_day);
  out["draws"] = r.draws;
  out["seed"] = r.seed;
  return out;
}

// What a kind of team's run time is multiplied by; null where the request names none.
[[nodiscard]] inline Json unexplained_json(const plan::Reliability& r) {
  if (!r.team) return nullptr;
  const reliability::UnexplainedLoss loss = reliability::unexplained_loss(*r.team);
  return {{"team", reliability::to_text(*r.team)},
          {"median", loss.median},
          {"low", loss.quantile(0.1)},
          {"high", loss.quantile(0.9)},
          {"level", 0.8}};
}

[[nodiscard]] inline Json to_json(const plan::Plan& p) {
  const plan::StagePlan& main = p.main();
  Json stages = Json::array();
  for (const plan::StagePlan& s : p.stages) stages.push_back(to_json(s));
  Json sensitivity = Json::array();
  for (const plan::Sensitivity& s : p.sensitivity) {
    sensitivity.push_back({{"input", s.input},
                           {"input_low", s.input_low},
                           {"input_high", s.input_high},
                           {"low", json(s.low)},
                           {"high", json(s.high)}});
  }
  Json accounts = Json::array();
  for (const plan::EnergyAccount& e : p.energy) {
    accounts.push_back({{"basis", to_text(e.basis)},
                        {"watts_per_accelerator", e.per_accelerator.value},
                        {"energy_mwh", e.energy.value / 1e6},
                        {"co2e_tonnes", e.co2e_tonnes}});
  }
  const plan::EnergyAccount* headline = p.headline_energy();
  const std::optional<fit::Prediction> sure = plan::loss_prediction(p);
  return {{"parameters", count_json(p.parameters)},
          {"active_parameters", count_json(p.active_parameters)},
          {"tokens", count_json(p.tokens)},
          {"training_flop", p.training_flop.value},
          {"flop_convention", p.request.shape ? law::to_text(p.request.flop_convention) : "6N"},
          {"training_flop_six_nd", p.training_flop_six.value},
          {"loss", json(p.loss)},
          {"target_loss", json(p.request.target_loss)},
          {"tokens_to_loss", p.tokens_to_loss ? to_json(*p.tokens_to_loss) : Json(nullptr)},
          {"loss_estimate", sure ? to_json(sure->loss) : Json(nullptr)},
          {"loss_new_run", sure && std::isfinite(sure->new_run.low) ? to_json(sure->new_run) : Json(nullptr)},
          {"law", p.request.law ? Json(p.request.law->name) : Json(nullptr)},
          {"extrapolation_decades", p.extrapolation_decades},
          {"layout", layout_json(main)},
          {"rate", plan::rate_text(main.request)},
          {"mfu", main.mfu},
          {"mfu_peak_tflops", p.peak.value / 1e12},
          {"step_time_s", json(main.step_time)},
          {"band", band_json(main)},
          {"tokens_per_s", main.tokens_per_second()},
          {"ideal_days", in_days(p.ideal)},
          {"ideal_accelerator_hours", p.ideal_hours.value},
          {"wall_clock_days", to_json(p.wall_clock_days)},
          {"accelerator_hours", to_json(p.accelerator_hours)},
          {"interruptions", to_json(p.interruptions)},
          {"expected_wall_clock_days", in_days(p.expected_wall_clock)},
          {"expected_accelerator_hours", p.expected_hours.value},
          {"expected_interruptions", p.expected_interruptions},
          {"expected_failures", p.expected_failures},
          {"expected_planned_stops", p.expected_planned_stops},
          {"mtbf_hours", in_hours(main.conditions.mtbf)},
          {"interruptions_per_day", p.request.reliability.rate.per_day(main.request.accelerators)},
          {"accelerator_hours_per_interruption",
           p.request.reliability.rate.hours_between_events(main.request.accelerators).value},
          {"ettr", p.ettr},
          {"waste", to_json(p.waste)},
          {"unexplained", p.unexplained},
          {"unexplained_factor", unexplained_json(p.request.reliability)},
          {"checkpoint_interval_s", main.conditions.interval.value},
          {"memory_checkpoint_interval_s", memory_interval_json(main)},
          {"cost_usd", p.cost_usd ? to_json(*p.cost_usd) : Json(nullptr)},
          {"energy_mwh", headline != nullptr ? Json(headline->energy.value / 1e6) : Json(nullptr)},
          {"co2e_tonnes", headline != nullptr ? Json(headline->co2e_tonnes) : Json(nullptr)},
          {"energy_basis", headline != nullptr ? Json(to_text(headline->basis)) : Json(nullptr)},
          {"energy", std::move(accounts)},
          {"peak_power_mw", json(p.peak_power, 1e6)},
          {"deadline", p.deadline ? Json{{"days", in_days(p.deadline->limit)}, {"probability", p.deadline->probability}}
                                  : Json(nullptr)},
          {"stages", std::move(stages)},
          {"sensitivity", std::move(sensitivity)},
          {"draws", p.draws},
          {"complete", p.complete}};
}

}  // namespace floplan::report
