// SPDX-License-Identifier: BSD-3-Clause
//
// Every formula of a plan with its numbers in place, so that a reader can follow the answer by hand.
//
//   std::cout << explain_text(plan);       work, failures, totals: for the stage with most hours, and the sums over all
//
// With one checkpoint tier the failures are Daly's exact form (reliability/completion.hpp), with two that of
// reliability/two_tiers.hpp, by whose letters the quantities go.
//
// Sources: plan/planner.hpp and the headers that it names.
// Pitfall: numbers are printed to five digits; a product of them by hand ends in the fourth.
#pragma once

#include <cmath>
#include <string>

#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/plan.hpp"
#include "floplan/reliability/expected_run.hpp"
#include "floplan/report/plan_text.hpp"

namespace floplan::report {

namespace detail {

[[nodiscard]] inline std::string five(double x) { return print_number(x, 5); }
[[nodiscard]] inline std::string in_seconds(Seconds t) { return five(t.value) + " s"; }

// Both append the failures of the stage, and return its working time in seconds.
[[nodiscard]] inline double explain_one_tier(const plan::StagePlan& s, bool given, std::string& out) {
  const auto& n = five;
  const auto& seconds = in_seconds;
  const reliability::Conditions& c = s.conditions;
  if (given) {
    out += "  interval        tau = " + seconds(c.interval) + ", as given\n";
  } else {
    out += "  interval        tau = M [1 + W(-exp(-1 - w/M))], w = " + seconds(c.stall) + ": " + seconds(c.interval) +
           "   (Young: sqrt(2 w M) = " + seconds(Seconds(std::sqrt(2 * c.stall.value * c.mtbf.value))) + ")\n";
  }
  const double m = c.mtbf.value;
  const double segments = s.ideal / c.interval;
  const double a = c.interval.value + c.stall.value;
  const double working = segments * m * std::expm1(a / m);
  const double work_failures = segments * std::expm1(a / m);
  out += "  segments        n = T_s / tau = " + n(segments) + ", each a = tau + w = " + seconds(Seconds(a)) + "\n";
  out += "  working         n M (exp(a/M) - 1) = " + seconds(Seconds(working)) + ", of it lost and redone " +
         seconds(Seconds(working - segments * a)) + "\n";
  out += "  failures        F = n (exp(a/M) - 1) exp(R/M) = " + n(s.completion.failures) +
         ", R = " + seconds(c.restart) + "\n";
  out += "  restarting      n (exp(a/M) - 1) M (exp(R/M) - 1) = " +
         seconds(Seconds(work_failures * m * std::expm1(c.restart.value / m))) + "\n";
  out += "  waiting         F q = " + n(s.completion.failures) + " x " + seconds(c.mean_wait()) + " = " +
         seconds(c.mean_wait() * s.completion.failures) + "   (q: " + percent(1 - c.manual_share, 4) + " of failures " +
         seconds(c.wait) + ", " + percent(c.manual_share) + " " + seconds(c.manual_wait) + ")\n";
  return working;
}

[[nodiscard]] inline double explain_two_tiers(const plan::StagePlan& s, std::string& out) {
  const auto& n = five;
  const auto& seconds = in_seconds;
  const reliability::Conditions& c = s.conditions;
  const reliability::RunProcess p = reliability::process_of(c);
  const reliability::detail::TierCosts costs = reliability::detail::tier_costs(p);
  const reliability::CheckpointTiers& t = p.checkpoints;
  const double memory = p.share_of_memory();
  const double m = c.mtbf.value;
  const double working = reliability::detail::working_time(s.ideal, p, costs);
  out += "  tiers           to memory every t1 = " + seconds(t.interval) + ", c1 = " + seconds(t.memory_stall) +
         "; to the store every m = " + std::to_string(t.storage_every) + " of them, " + seconds(c.interval) +
         ", c2 = " + seconds(t.storage_stall) + "\n";
  out += "  stalls          g = 1 + c1/t1 + c2/(m t1) = " + n(costs.stretch) + "\n";
  out += "  failures        P = " + percent(memory, 4) + " need memory alone, S = " + percent(1 - memory, 4) +
         " the store (" + percent(c.manual_share) + " a person)\n";
  out += "  work lost       L1 = " + seconds(Seconds(costs.memory.loss.mean)) +
         " to memory's last, L2 = " + seconds(Seconds(costs.storage.loss.mean)) +
         " to the store's last; on average L = " + seconds(Seconds(costs.mean_loss())) + "\n";
  out += "  working         E = T_s g / (1 - L/M) = " + seconds(Seconds(working)) + "\n";
  out += "  restarting      E (P Y1 + S Y2) / M, Y1 = " + seconds(Seconds(costs.memory_running)) +
         " (R1 = " + seconds(c.memory->restart) + "), Y2 = " + seconds(Seconds(costs.storage_running)) +
         " (R2 = " + seconds(c.restart) + "): " +
         seconds(Seconds(working * (memory * costs.memory_running + (1 - memory) * costs.storage_running) / m)) + "\n";
  out += "  waiting         F q = " + n(s.completion.failures) + " x " + seconds(c.mean_wait()) + " = " +
         seconds(c.mean_wait() * s.completion.failures) + "   (q: memory " + seconds(c.memory->wait) + ", store " +
         seconds(c.wait) + ", a person " + seconds(c.manual_wait) + ")\n";
  return working;
}

}  // namespace detail

[[nodiscard]] inline std::string explain_text(const plan::Plan& p) {
  const plan::Request& r = p.request;
  const plan::StagePlan& s = p.main();
  const reliability::Conditions& c = s.conditions;
  const bool given = r.checkpoint.interval.has_value();
  const auto n = [](double x, int digits = 5) { return print_number(x, digits); };
  const auto& seconds = detail::in_seconds;
  std::string out = "How stage \"" + s.request.name + "\" follows from its inputs (the other stages likewise)\n\n";
  out += "Work\n";
  const std::string count = n(p.active_parameters.value, 12);
  const double scores = s.flop_per_token.value - 6 * p.active_parameters.value;
  const std::string factor = r.flop_convention == law::FlopConvention::causal ? "6" : "12";
  out += "  FLOP a token    f = 6 N";
  if (!(scores > 0)) {
    out += " = 6 x " + count;
  } else if (r.shape->local || r.shape->latent) {  // no one product, as layers or heads differ
    out += " + attention at " + n(s.request.sequence_length.value, 6) + " tokens = 6 x " + count + " + " + n(scores);
  } else {
    out += " + " + factor + " L a s = 6 x " + count + " + " + factor + " x " + std::to_string(r.shape->layers) + " x " +
           n(static_cast<double>(r.shape->query_width()), 6) + " x " + n(s.request.sequence_length.value, 6);
  }
  out += " = " + n(s.flop_per_token.value) + "\n";
  out += "  FLOP            C = f D = " + n(s.flop_per_token.value) + " x " + n(s.request.tokens.value) + " = " +
         n(s.work.value) + "\n";
  out += "  ideal time      T_s = C / (G x rate) = " + n(s.work.value) + " / (" + n(s.request.accelerators.value, 6) +
         " x " + n(s.achieved.value) + " FLOP/s) = " + seconds(s.ideal) + " = " + n(in_days(s.ideal)) + " days\n";
  out += "  MFU             rate / peak = " + n(s.achieved.value) + " / " + n(p.peak.value) + " = " +
         detail::percent(s.mfu, 4) + "\n";
  if (s.request.predicted()) {
    const plan::LayoutModel& m = *s.model;
    out += "  step            " + m.step->describe() + ": " + m.layout.describe() + "; nine of ten measured steps (" +
           m.band.of + ") from " + seconds(*s.step_time * m.band.low) + " to " + seconds(*s.step_time * m.band.high) +
           "\n";
    out += "  rate            f x sequences x s / (G x step) = " + n(s.flop_per_token.value) + " x " +
           n(s.request.global_batch->value, 6) + " x " + n(s.request.sequence_length.value, 6) + " / (" +
           n(s.request.accelerators.value, 6) + " x " + seconds(*s.step_time) + ") = " + n(s.achieved.value) +
           " FLOP/s\n";
  } else if (s.step_time) {
    out += "  step            f x sequences x s / (G x rate) = " + n(s.flop_per_token.value) + " x " +
           n(s.request.global_batch->value, 6) + " x " + n(s.request.sequence_length.value, 6) + " / (" +
           n(s.request.accelerators.value, 6) + " x " + n(s.achieved.value) + ") = " + seconds(*s.step_time) + "\n";
  }
  out += std::string("\nFailures (") +
         (c.memory ? "two checkpoint tiers; exponential failures" : "Daly 2006; exact for exponential failures") +
         ")\n";
  out += "  MTBF            M = 1 / (rate x G) = 1 / (" + n(r.reliability.rate.per_accelerator_hour) +
         " an accelerator-hour x " + n(s.request.accelerators.value, 6) + ") = " + n(in_hours(c.mtbf)) +
         " h = " + seconds(c.mtbf) + "   (" + r.reliability.rate_source + ")\n";
  const double working = c.memory ? detail::explain_two_tiers(s, out) : detail::explain_one_tier(s, given, out);
  out += "  planned stops   " + n(c.planned_per_day) + " a day x " + n(working / seconds_per_day) +
         " days = " + n(s.completion.planned_stops) + ", each w + " + seconds(c.planned_duration) + "\n";
  out += "  run time        T = sum of these = " + seconds(s.completion.wall_clock) + " = " +
         n(in_days(s.completion.wall_clock)) + " days, sd of failures alone " +
         n(in_days(s.completion.standard_deviation), 3) + "\n";
  out += "  ETTR            T_s / T = " + n(s.completion.ettr) +
         "   (first order, without planned stops: " + n(s.completion.ettr_first_order) + ")\n";
  if (r.reliability.unexplained_stops > 0) {
    out += "  unexplained     T x (1 + " + n(r.reliability.unexplained_stops) +
           ") = " + n(in_days(s.expected_wall_clock)) + " days; ETTR with them " + n(s.ettr) + "\n";
  }
  if (r.reliability.team) {
    const double median = reliability::unexplained_loss(*r.reliability.team).median;
    out += "  unexplained     T x " + n(median) + " = " + n(in_days(s.expected_wall_clock)) +
           " days (median of a team of the kind " + std::string(reliability::to_text(*r.reliability.team)) +
           "); ETTR with it " + n(s.ettr) + "\n";
  }
  out += "\nTotals over all stages\n";
  out += "  days            " + n(in_days(p.expected_wall_clock)) + " expected, " + n(in_days(p.ideal)) + " ideal\n";
  out += "  hours           " + n(p.expected_hours.value) + " accelerator-hours expected, " + n(p.ideal_hours.value) +
         " ideal; ETTR " + n(p.ettr) + "\n";
  if (r.price) {
    out += "  cost            hours x price = " + n(p.expected_hours.value) + " x " +
           n(r.price->accelerator_hour.central.value) +
           (r.price->accelerator_hour.spreads() ? " USD (median) = " : " USD = ") +
           n(cost(p.expected_hours, r.price->accelerator_hour.central).value) + " USD\n";
  }
  for (const plan::EnergyAccount& e : p.energy) {
    const bool tdp = e.basis == plan::EnergyBasis::tdp;
    out += std::string(tdp ? "  energy (TDP)    " : "  energy (node)   ") + "hours x " + n(e.per_accelerator.value) +
           " W = " + n(e.energy.value / 1e6) + " MWh; x " + n(r.power->grid.value) + " kg/kWh" +
           (tdp ? " x PUE " + n(r.power->pue) : "") + " = " + n(e.co2e_tonnes) + " t CO2e\n";
  }
  return out;
}

}  // namespace floplan::report
