// SPDX-License-Identifier: BSD-3-Clause
//
// A plan as people read it: the answer first, then where the hours go, the stages, and what would change it.
//
//   plan_text(plan)      headline, waste, stages, sensitivity, as aligned tables with units
//   (plan_explanation.hpp has every formula with its numbers in place)
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
           "memory (GB)",
           "checkpoint to memory every (s)"});
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
    row.resize(t.header().size() - 6);  // the draws are of the whole run
    const auto step = [&s](double factor) {
      return s.request.predicted() ? Cell(s.step_time->value * factor, 4) : Cell();
    };
    row.emplace_back(plan::rate_text(s.request));
    row.emplace_back(s.model ? s.model->layout.describe() : detail::layout_text(s.request.layout));
    row.push_back(step(s.request.predicted() ? s.model->band.low : 1));
    row.push_back(step(s.request.predicted() ? s.model->band.high : 1));
    row.push_back(s.model && s.model->memory ? Cell(s.model->memory->total().value / 1e9, 4) : Cell());
    row.push_back(s.conditions.memory ? Cell(s.conditions.memory->interval.value, 4) : Cell());
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

[[nodiscard]] inline std::string checkpoint_text(const plan::Plan& p) {
  const reliability::Conditions& c = p.main().conditions;
  const bool given = p.request.checkpoint.interval.has_value();
  if (!c.memory) return "checkpoint every " + print(c.interval, 3) + (given ? ", as given" : ", the exact optimum");
  return "checkpoint to memory every " + print(c.memory->interval, 3) + ", to the store every " + print(c.interval, 3) +
         (given ? ", as given" : ", the optimum of both") + "; memory mends " +
         detail::percent((1 - c.manual_share) * c.memory->share) + " of the failures";
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
  out += checkpoint_text(p) + "\n";
  if (r.reliability.team) {
    out += "beyond failures: runs of the kind " + std::string(reliability::to_text(*r.reliability.team)) + " took " +
           reliability::unexplained_loss(*r.reliability.team).range_text() +
           " times a failure model's hours (80%), which is in these figures\n";
  }
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
  if (r.reliability.team) {
    share(("unexplained, team " + std::string(reliability::to_text(*r.reliability.team))).c_str(), p.unexplained);
  } else if (p.unexplained > 0) {
    share("unexplained stops", p.unexplained);
  }
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

}  // namespace floplan::report
