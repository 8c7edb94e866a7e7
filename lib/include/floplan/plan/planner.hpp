// SPDX-License-Identifier: BSD-3-Clause
//
// From a request to a plan.
//
//   FLOP = tokens x FLOP a token (by convention); ideal time = FLOP / (accelerators x achieved rate);
//   expected time = ideal / ETTR by the renewal form at each stage's MTBF and intervals (reliability/expected_run.hpp);
//   a stage without a rate: its layout's predicted step (layout_model.hpp), after a search where one is asked for
//   distribution: draws of every uncertain input and of the failures (plan_draw.hpp)
//
// Sources: Llama 3 (arXiv 2407.21783), Daly 2006, Kokolis et al. 2025. Cost: about 2 microseconds a draw and stage.
// Errors: usage for values out of range; infeasible for a layout that does not divide, weights that do not fit, a rate
// above the dense peak, a deadline that no draw and no run without failures meets, a stage that would never end; no_answer
// where some draws never end.
// Pitfall: checkpoint intervals are chosen at the median inputs and kept in every draw, as a real run would.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/parallel_for.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/layout_choice.hpp"
#include "floplan/plan/layout_model.hpp"
#include "floplan/plan/model_size.hpp"
#include "floplan/plan/plan.hpp"
#include "floplan/plan/plan_draw.hpp"
#include "floplan/plan/plan_sensitivity.hpp"
#include "floplan/plan/planner_cautions.hpp"
#include "floplan/plan/planner_checks.hpp"
#include "floplan/plan/tokens_to_loss.hpp"
#include "floplan/reliability/expected_run.hpp"

namespace floplan::plan {

namespace detail {

// expected_run(), with an error that names the stage: what is too long there may be any of the times.
[[nodiscard]] inline reliability::Completion complete_stage(std::size_t index, const std::string& name, Seconds ideal,
                                                            const reliability::Conditions& c) {
  const auto refuse = [&](const std::string& rule) {
    return Error(Failure::infeasible, "never_ends", "plan: stage[" + std::to_string(index + 1) + "]",
                 "\"" + name + "\" must end within 1e15 s, 32 million years: " + rule);
  };
  if (!(ideal.value < 1e15)) {
    throw refuse("its work alone takes " + print_number(in_days(ideal), 3) + " days");
  }
  try {
    return reliability::expected_run(ideal, c);
  } catch (const Error& error) {
    if (error.failure() != Failure::infeasible) throw;
  }
  throw refuse("an interval of " + print(c.interval, 3) + ", a stall of " + print(c.stall, 3) + ", a restart of " +
               print(c.restart, 3) + ", a wait of " + print(c.mean_wait(), 3) + " and " +
               print_number(c.planned_per_day, 3) + " planned stops a day of " + print(c.planned_duration, 3) +
               " are too much for an MTBF of " + print(c.mtbf, 3));
}

// at_best_intervals(), with the same error: two tiers may have none under which a run would end.
[[nodiscard]] inline reliability::Conditions best_intervals(std::size_t index, const std::string& name,
                                                            const reliability::Conditions& c) {
  try {
    return reliability::at_best_intervals(c);
  } catch (const Error& error) {
    if (error.failure() != Failure::infeasible) throw;
    throw Error(Failure::infeasible, "never_ends", "plan: stage[" + std::to_string(index + 1) + "]",
                "\"" + name +
                    "\" must end, and with checkpoints to memory and to the store there is no interval that "
                    "lets it: a stall of " +
                    print(c.stall, 3) + " and restarts of " + print(c.memory->restart, 3) + " and " +
                    print(c.restart, 3) + " are too long for an MTBF of " + print(c.mtbf, 3));
  }
}

[[nodiscard]] inline StagePlan plan_stage(const Plan& plan, std::size_t index) {
  const Request& r = plan.request;
  const Stage& stage = r.stages[index];
  StagePlan out;
  out.request = stage;
  out.flop_per_token =
      r.shape ? architecture::training_flop_per_token(*r.shape, stage.sequence_length).by(r.flop_convention)
              : FlopPerToken(training_flop(plan.active_parameters, Tokens(1)).value);
  out.work = training_flop(out.flop_per_token, stage.tokens);
  if (stage.layout && r.shape) out.model = layout_model(r, stage);
  out.achieved = stage.achieved ? *stage.achieved
                 : stage.mfu    ? plan.peak * stage.mfu->value
                                : out.model->step->model_rate;
  out.mfu = out.achieved / plan.peak;
  const FlopPerSecond cluster = out.achieved * stage.accelerators.value;
  if (stage.global_batch) {
    out.step_time =
        duration(training_flop(out.flop_per_token, stage.sequence_length * stage.global_batch->value), cluster);
  }
  out.ideal = duration(out.work, cluster);
  out.ideal_hours = accelerator_hours(stage.accelerators, out.ideal);
  out.conditions = conditions_of(r, stage.accelerators, {});
  if (r.checkpoint.interval) {
    out.conditions.interval = *r.checkpoint.interval;
    if (out.conditions.memory) out.conditions.memory->interval = *r.checkpoint.memory->interval;
  } else {
    out.conditions = best_intervals(index, stage.name, out.conditions);
  }
  out.completion = complete_stage(index, stage.name, out.ideal, out.conditions);
  out.expected_wall_clock = out.completion.wall_clock * unexplained_factor(r.reliability, {});
  out.expected_hours = accelerator_hours(stage.accelerators, out.expected_wall_clock);
  const double explained = out.completion.wall_clock / out.expected_wall_clock;
  const reliability::Waste& waste = out.completion.waste;
  out.ettr = out.completion.ettr * explained;
  out.waste = {waste.checkpoint * explained, waste.lost_work * explained, waste.restart * explained,
               waste.maintenance * explained};
  out.unexplained = 1 - explained;
  return out;
}

inline void add_energy(Plan& plan) {
  if (!plan.request.power) return;
  const Power& power = *plan.request.power;
  const auto account = [&](EnergyBasis basis, Watts watts, double co2e_factor) {
    const WattHours used = energy(plan.expected_hours, watts);
    plan.energy.push_back({basis, watts, used, used.value * 1e-6 * power.grid.value * co2e_factor});
  };
  // Model cards multiply accelerator power by a carbon factor that already holds the PUE.
  account(EnergyBasis::tdp, power.accelerator, power.pue);
  account(EnergyBasis::node, power.node * power.pue, 1);
  double most = 0;
  for (const StagePlan& stage : plan.stages) most = std::max(most, stage.request.accelerators.value);
  plan.peak_power = power.node * power.pue * most;
}

inline void add_tokens_to_loss(Plan& plan) {
  TokensToLoss needed = tokens_to_loss(plan.request);
  plan.never_reach_loss = needed.never;
  const double all = static_cast<double>(needed.factors.size() + needed.never);
  if (20 * static_cast<double>(needed.never) > all) {
    throw Error(Failure::no_answer, "loss_out_of_reach", "plan: target_loss",
                "the loss must be reached by all but 5% of the laws that the fit allows, and " +
                    std::to_string(needed.never) + " of " + std::to_string(needed.factors.size() + needed.never) +
                    " never get there with " + print(plan.parameters, 4) + " parameters, got " +
                    print_number(*plan.request.target_loss, 6));
  }
  if (needed.factors.size() < 2) return;
  std::vector<double> tokens;
  for (const double factor : needed.factors) tokens.push_back(factor * plan.tokens.value);
  plan.tokens_to_loss = summarise(std::move(tokens));
  plan.tokens_factors = std::move(needed.factors);
}

}  // namespace detail

[[nodiscard]] inline Plan make_plan(Request request, std::stop_token stop = {}) {
  fit_stages_to_loss(request);
  check(request);
  search_layouts(request);
  Plan plan;
  plan.request = std::move(request);
  const Request& r = plan.request;
  plan.peak = r.peak ? *r.peak : *r.accelerator.dense_peak(r.precision);
  const ModelSize size = model_size(r);
  plan.parameters = size.total;
  plan.active_parameters = size.active;

  double useful_hours = 0;
  for (std::size_t i = 0; i < r.stages.size(); ++i) {
    const Stage& stage = r.stages[i];
    plan.stages.push_back(detail::plan_stage(plan, i));
    const StagePlan& done = plan.stages.back();
    plan.tokens += stage.tokens;
    plan.training_flop += done.work;
    plan.ideal += done.ideal;
    plan.ideal_hours += done.ideal_hours;
    plan.expected_wall_clock += done.expected_wall_clock;
    plan.expected_hours += done.expected_hours;
    plan.expected_failures += done.completion.failures;
    plan.expected_planned_stops += done.completion.planned_stops;
    useful_hours += done.ideal_hours.value;
    if (done.expected_hours > plan.stages[plan.main_stage].expected_hours) plan.main_stage = plan.stages.size() - 1;
  }
  plan.expected_interruptions = plan.expected_failures + plan.expected_planned_stops;
  plan.training_flop_six = training_flop(plan.active_parameters, plan.tokens);
  plan.ettr = useful_hours / plan.expected_hours.value;
  for (const StagePlan& stage : plan.stages) {
    const double share = stage.expected_hours / plan.expected_hours;
    plan.waste.checkpoint += share * stage.waste.checkpoint;
    plan.waste.lost_work += share * stage.waste.lost_work;
    plan.waste.restart += share * stage.waste.restart;
    plan.waste.maintenance += share * stage.waste.maintenance;
  }
  const double longer = detail::unexplained_factor(r.reliability, {});
  plan.unexplained = (longer - 1) / longer;
  detail::add_energy(plan);
  if (law_covers(r)) {
    const Parameters n = counted_parameters(r);
    plan.loss = law::predict(r.law->form, n, plan.tokens).total();
    plan.extrapolation_decades = law::extrapolation_decades(r.law->range, n, plan.tokens);
  }

  detail::add_tokens_to_loss(plan);
  std::vector<detail::Draw> draws(r.draws);
  plan.complete = parallel_for(
      draws.size(), r.threads, [&](std::size_t i) { draws[i] = detail::draw(plan, i); }, stop);
  std::erase_if(draws, [](const detail::Draw& d) { return d.days < 0; });
  if (draws.empty())
    throw Error(Failure::no_answer, "interrupted", "make_plan", "was interrupted before the first draw");
  plan.draws = draws.size();
  const auto endless = std::count_if(draws.begin(), draws.end(),
                                     [](const detail::Draw& d) { return !(d.days < 1e15 / seconds_per_day); });
  if (endless > 0) {
    throw Error(Failure::no_answer, "never_ends", "plan",
                "every draw must end, and " + std::to_string(endless) + " of " + std::to_string(draws.size()) +
                    " do not: with the spread of the inputs, an interval, restart, wait or stall is too long for an "
                    "MTBF of " +
                    print(plan.main().conditions.mtbf, 3));
  }
  const auto column = [&draws](double detail::Draw::*field) {
    std::vector<double> out;
    out.reserve(draws.size());
    for (const detail::Draw& d : draws) out.push_back(d.*field);
    return out;
  };
  plan.wall_clock_days = summarise(column(&detail::Draw::days));
  plan.accelerator_hours = summarise(column(&detail::Draw::hours));
  plan.interruptions = summarise(column(&detail::Draw::interruptions));
  if (r.price) plan.cost_usd = summarise(column(&detail::Draw::dollars));
  if (r.deadline) {
    const auto in_time = std::count_if(draws.begin(), draws.end(),
                                       [&](const detail::Draw& d) { return d.days <= in_days(*r.deadline); });
    if (in_time == 0) require_deadline_possible(plan);
    plan.deadline = Deadline{*r.deadline, static_cast<double>(in_time) / static_cast<double>(draws.size())};
  }
  plan.sensitivity = detail::sensitivities(plan);
  plan.warnings = cautions(plan);
  return plan;
}

}  // namespace floplan::plan
