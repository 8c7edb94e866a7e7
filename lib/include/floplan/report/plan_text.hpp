// SPDX-License-Identifier: BSD-3-Clause
//
// A plan as people read it: the answer first, then where the hours go, the stages, and what would change it.
//
//   plan_text(plan)      headline, waste, stages, sensitivity, as aligned tables with units
//   explain_text(plan)   every formula with its numbers in place, for the main stage and the totals
//   stage_table(plan)    the tidy table that --csv prints: one row a stage, and a last one for the whole run
//
// Numbers are rounded to what a reader can use; --json and --csv carry every digit.
// Pitfall: an 80% interval here is p10 to p90 of the draws; expected values at the median inputs differ a little from p50.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/loss_prediction.hpp"
#include "floplan/plan/plan.hpp"
#include "floplan/report/table.hpp"

namespace floplan::report {

namespace detail {

[[nodiscard]] inline std::string percent(double share, int digits = 3) {
  return print_number(100 * share, digits) + "%";
}

[[nodiscard]] inline std::string layout_text(const std::optional<plan::StageLayout>& l) {
  return l ? architecture::to_text(l->degrees) : "";
}

[[nodiscard]] inline std::string convention_text(const plan::Plan& p) {
  return p.request.shape ? law::to_text(p.request.flop_convention) : "6N";
}

[[nodiscard]] inline std::string basis_text(const plan::EnergyAccount& e, const plan::Power& power) {
  return e.basis == plan::EnergyBasis::tdp
             ? "accelerators alone, " + print_short(power.accelerator) + " each, as model cards count"
             : "node power " + print_short(power.node) + " an accelerator x PUE " + print_number(power.pue, 4);
}

// A share of draws: all or none of n says no more than that the probability is beyond 1/n of it.
[[nodiscard]] inline std::string probability_text(double share, std::size_t draws) {
  const double one = 1 / static_cast<double>(draws);
  if (share <= 0) return "under " + print_number(one, 3);
  if (share >= 1) return "over " + print_number(1 - one, 9);
  return print_number(share, 3);
}

}  // namespace detail

[[nodiscard]] inline Table stage_table(const plan::Plan& p) {
  Table t({"stage",
           "tokens",
           "accelerators",
           "sequence length",
           "TFLOP/s each",
           "MFU",
           "step (s)",
           "ideal days",
           "days",
           "ideal accelerator-hours",
           "accelerator-hours",
           "MTBF (h)",
           "checkpoint every (s)",
           "failures",
           "planned stops",
           "ETTR",
           "days p10",
           "days p50",
           "days p90",
           "accelerator-hours p10",
           "accelerator-hours p50",
           "accelerator-hours p90",
           "interruptions p10",
           "interruptions p50",
           "interruptions p90",
           "cost (USD) p10",
           "cost (USD) p50",
           "cost (USD) p90",
           "rate",
           "layout",
           "step from (s)",
           "step to (s)",
           "memory (GB)"});
  for (const plan::StagePlan& s : p.stages) {
    std::vector<Cell> row{s.request.name,
                          {s.request.tokens.value, 4},
                          {s.request.accelerators.value, 6},
                          {s.request.sequence_length.value, 6},
                          {s.achieved.value / 1e12, 4},
                          {s.mfu, 3},
                          {s.step_time, 4},
                          {in_days(s.ideal), 4},
                          {in_days(s.expected_wall_clock), 4},
                          {s.ideal_hours.value, 4},
                          {s.expected_hours.value, 4},
                          {in_hours(s.conditions.mtbf), 4},
                          {s.conditions.interval.value, 4},
                          {s.completion.failures, 4},
                          {s.completion.planned_stops, 4},
                          {s.ettr, 4}};
    row.resize(t.header().size() - 5);  // the draws are of the whole run
    const auto step = [&s](double factor) {
      return s.request.predicted() ? Cell(s.step_time->value * factor, 4) : Cell();
    };
    row.emplace_back(plan::rate_text(s.request));
    row.emplace_back(s.model ? s.model->layout.describe() : detail::layout_text(s.request.layout));
    row.push_back(step(s.request.predicted() ? s.model->band.low : 1));
    row.push_back(step(s.request.predicted() ? s.model->band.high : 1));
    row.push_back(s.model && s.model->memory ? Cell(s.model->memory->total().value / 1e9, 4) : Cell());
    t.add(std::move(row));
  }
  // What the whole run has not, as one count of accelerators, stays blank; so do the draws on the rows above.
  std::vector<Cell> whole{"whole run",
                          {p.tokens.value, 4},
                          Cell(),
                          Cell(),
                          Cell(),
                          Cell(),
                          Cell(),
                          {in_days(p.ideal), 4},
                          {in_days(p.expected_wall_clock), 4},
                          {p.ideal_hours.value, 4},
                          {p.expected_hours.value, 4},
                          Cell(),
                          Cell(),
                          {p.expected_failures, 4},
                          {p.expected_planned_stops, 4},
                          {p.ettr, 4}};
  for (const auto& d : {std::optional(p.wall_clock_days), std::optional(p.accelerator_hours),
                        std::optional(p.interruptions), p.cost_usd}) {
    for (const auto quantile : {&Distribution::p10, &Distribution::p50, &Distribution::p90})
      whole.push_back(d ? Cell((*d).*quantile, 4) : Cell());
  }
  t.add(std::move(whole));
  return t;
}

// What the models of step time and memory say of the stages that have a layout.
[[nodiscard]] inline std::string layouts_text(const plan::Plan& p) {
  Table table(
      {"stage", "rate", "layout", "step (s)", "from", "to", "MFU (%)", "HFU (%)", "bubble (%)", "memory (GB)", "of"});
  for (const plan::StagePlan& s : p.stages) {
    if (!s.model) continue;
    const plan::LayoutModel& m = *s.model;
    const auto of_step = [&m](auto value, int digits) { return m.step ? Cell(value(*m.step), digits) : Cell(); };
    using Step = cluster::StepReport;
    table.add({s.request.name, plan::rate_text(s.request), m.layout.describe(),
               of_step([](const Step& step) { return step.step.value; }, 3),
               of_step([&m](const Step& step) { return step.step.value * m.band.low; }, 3),
               of_step([&m](const Step& step) { return step.step.value * m.band.high; }, 3),
               of_step([](const Step& step) { return 100 * step.mfu; }, 3),
               of_step([](const Step& step) { return 100 * step.hfu; }, 3),
               of_step([](const Step& step) { return 100 * step.bubble_fraction; }, 3),
               m.memory ? Cell(m.memory->total().value / 1e9, 3) : Cell(),
               m.capacity ? Cell(m.capacity->value / 1e9, 3) : Cell()});
  }
  if (table.size() == 0) return "";
  return "\nLayouts, by the models of step time and memory; from and to hold nine of ten measured steps\n" +
         table.text();
}

[[nodiscard]] inline std::string plan_text(const plan::Plan& p) {
  const plan::Request& r = p.request;
  const plan::StagePlan& main = p.main();
  std::string out =
      (r.title.empty() ? (r.model.empty() ? "Training run" : r.model) : r.title) + " on " + r.accelerator.name + "\n";
  const bool mixture = p.active_parameters < p.parameters;
  out += print(p.parameters, 4) + " parameters" +
         (mixture ? ", of which a token uses " + print(p.active_parameters, 4) : "") + ", " + print(p.tokens, 4) +
         " tokens: " + print(p.training_flop, 4) + " FLOP (" + detail::convention_text(p) + "; 6ND is " +
         print(p.training_flop_six, 4) + ")\n";
  if (p.loss) out += "predicted loss " + print_number(*p.loss, 4) + " " + r.law->loss_unit + " (" + r.law->name + ")\n";
  if (p.tokens_to_loss) {
    out += "a loss of " + print_number(*r.target_loss, 6) + " takes " + print(Tokens(p.tokens_to_loss->p50), 3) +
           " tokens, 80% from " + print(Tokens(p.tokens_to_loss->p10), 3) + " to " +
           print(Tokens(p.tokens_to_loss->p90), 3) + " by what the fit allows; the dates below carry that\n";
  }
  if (const auto sure = plan::loss_prediction(p)) {
    const auto interval = [](const Interval& i) { return print_number(i.low, 4) + " to " + print_number(i.high, 4); };
    out += "  80%: " + interval(sure->loss.interval) + " for the curve";
    if (std::isfinite(sure->new_run.low)) out += ", " + interval(sure->new_run) + " for one run with its noise";
    out += "\n";
  }
  out += "\n";

  Table answer({"", "median", "80% from", "to", "failure-free"});
  const auto add = [&answer](const char* name, const Distribution& d, int digits, Cell ideal) {
    answer.add({name, {d.p50, digits}, {d.p10, digits}, {d.p90, digits}, std::move(ideal)});
  };
  add("wall-clock days", p.wall_clock_days, 3, {in_days(p.ideal), 3});
  add("accelerator-hours", p.accelerator_hours, 4, {p.ideal_hours.value, 4});
  if (p.cost_usd)
    add("cost (USD)", *p.cost_usd, 3,
        r.price->accelerator_hour.spreads() ? Cell()
                                            : Cell(cost(p.ideal_hours, r.price->accelerator_hour.central).value, 3));
  add("interruptions, planned ones too", p.interruptions, 3, {0.0, 1});
  out += answer.text() + "\n";

  if (p.deadline) {
    out += "finished within " + print(p.deadline->limit, 3) + " with probability " +
           detail::probability_text(p.deadline->probability, p.draws) + "\n";
  }
  out += "a failure every " + print(main.conditions.mtbf, 3) + " on " + print_short(main.request.accelerators) +
         " accelerators, " + print_number(r.reliability.rate.per_day(main.request.accelerators), 3) + " a day (" +
         r.reliability.rate_source + ")\n";
  out += "checkpoint every " + print(main.conditions.interval, 3) +
         (r.checkpoint.interval ? ", as given" : ", the exact optimum") + "\n";
  for (const plan::EnergyAccount& e : p.energy) {
    out += print(e.energy, 3) + ", " + grouped(e.co2e_tonnes, 4) + " t CO2e: " + detail::basis_text(e, *r.power) + "\n";
  }
  if (p.peak_power) out += "peak power " + print(*p.peak_power, 3) + " (node power x PUE)\n";
  if (r.price) out += "price " + plan::range_text(r.price->accelerator_hour) + " (" + r.price->source + ")\n";

  out += "\nWhere the accelerator-hours go\n";
  Table waste({"", "share (%)", "accelerator-hours"});
  const auto share = [&](const char* name, double x) {
    waste.add({name, {100 * x, 3}, {x * p.expected_hours.value, 3}});
  };
  share("useful work (ETTR)", p.ettr);
  share("writing checkpoints", p.waste.checkpoint);
  share("work lost and redone", p.waste.lost_work);
  share("waiting and restarting", p.waste.restart);
  share("planned stops", p.waste.maintenance);
  if (p.unexplained > 0) share("unexplained stops", p.unexplained);
  out += waste.text();

  out += "\nStages, expected\n";
  Table stages({"stage", "layout", "tokens", "accelerators", "TFLOP/s each", "MFU (%)", "step (s)", "days",
                "accelerator-hours", "failures", "ETTR"});
  for (const plan::StagePlan& s : p.stages) {
    stages.add({s.request.name,
                detail::layout_text(s.request.layout),
                print(s.request.tokens, 4),
                {s.request.accelerators.value, 6},
                {s.achieved.value / 1e12, 4},
                {100 * s.mfu, 3},
                {s.step_time, 3},
                {in_days(s.expected_wall_clock), 3},
                {s.expected_hours.value, 4},
                {s.completion.failures, 3},
                {s.ettr, 3}});
  }
  out += stages.text();
  out += "MFU: " + detail::convention_text(p) + " FLOP over the dense " + catalog::to_text(r.precision) + " peak of " +
         print(p.peak, 4) + "\n";

  out += layouts_text(p);

  out += "\nWhat would change the wall-clock days (expected, one input at a time)\n";
  Table sensitivity({"input", "low", "high", "days at low", "days at high"});
  for (const plan::Sensitivity& s : p.sensitivity)
    sensitivity.add({s.input, s.input_low, s.input_high, {s.low, 3}, {s.high, 3}});
  return out + sensitivity.text();
}

[[nodiscard]] inline std::string explain_text(const plan::Plan& p) {
  const plan::Request& r = p.request;
  const plan::StagePlan& s = p.main();
  const reliability::Conditions& c = s.conditions;
  const auto n = [](double x, int digits = 5) { return print_number(x, digits); };
  const auto seconds = [&n](Seconds t) { return n(t.value) + " s"; };
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
  out += "\nFailures (Daly 2006; exact for exponential failures)\n";
  out += "  MTBF            M = 1 / (rate x G) = 1 / (" + n(r.reliability.rate.per_accelerator_hour) +
         " an accelerator-hour x " + n(s.request.accelerators.value, 6) + ") = " + n(in_hours(c.mtbf)) +
         " h = " + seconds(c.mtbf) + "   (" + r.reliability.rate_source + ")\n";
  if (r.checkpoint.interval) {
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
         seconds(c.mean_wait() * s.completion.failures) + "   (q: " + detail::percent(1 - c.manual_share, 4) +
         " of failures " + seconds(c.wait) + ", " + detail::percent(c.manual_share) + " " + seconds(c.manual_wait) +
         ")\n";
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
