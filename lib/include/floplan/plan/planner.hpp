// SPDX-License-Identifier: BSD-3-Clause
//
// From a request to a plan.
//
//   FLOP = tokens x FLOP a token (by convention); ideal time = FLOP / (accelerators x achieved rate);
//   expected time = ideal / ETTR by the exact renewal form at each stage's MTBF and interval (reliability/completion.hpp);
//   distribution: draws of the failure rate (Gamma of its event count), of each Uncertain input (log-normal), of the
//   achieved rate (log-normal), of the failures themselves, and of unexplained stops (exponential).
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

#include <boost/random/exponential_distribution.hpp>

#include "floplan/core/parallel_for.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/model_size.hpp"
#include "floplan/plan/plan.hpp"
#include "floplan/plan/planner_cautions.hpp"
#include "floplan/plan/planner_checks.hpp"
#include "floplan/plan/tokens_to_loss.hpp"
#include "floplan/reliability/checkpoint_interval.hpp"
#include "floplan/reliability/completion_draw.hpp"

namespace floplan::plan {

namespace detail {

// One value of every uncertain input: standard normal scores for the log-normal ones, factors for the rest.
struct Scenario {
  double restart = 0, wait = 0, stall = 0, price = 0;  // scores
  double achieved = 1;                                 // factor on the achieved rate
  double failure_rate = 1;                             // factor on the failure rate
  double interval = 1;                                 // factor on the planned interval
  double tokens = 1;                                   // factor on the tokens
};

[[nodiscard]] inline reliability::Conditions conditions_of(const Request& r, Count accelerators, Seconds interval,
                                                           const Scenario& s) {
  const Reliability& from = r.reliability;
  reliability::Conditions c;
  c.mtbf = from.rate.mtbf(accelerators) / s.failure_rate;
  c.stall = r.checkpoint.stall.at(s.stall);
  c.interval = interval * s.interval;
  c.restart = from.restart.at(s.restart);
  c.wait = from.wait.at(s.wait);
  // Manual stops come at a fixed rate a day, so their share of the failures falls as the cluster grows.
  c.manual_share = std::min(1.0, from.manual_per_day * in_days(c.mtbf));
  c.manual_wait = from.manual_wait;
  c.planned_per_day = from.planned_per_day;
  c.planned_duration = from.planned_duration;
  return c;
}

[[nodiscard]] inline Seconds expected_wall_clock(const Plan& plan, const Scenario& s) {
  double total = 0;
  for (const StagePlan& stage : plan.stages) {
    const auto conditions = conditions_of(plan.request, stage.request.accelerators, stage.conditions.interval, s);
    total += reliability::completion(stage.ideal * (s.tokens / s.achieved), conditions).wall_clock.value;
  }
  return Seconds(total * (1 + plan.request.reliability.unexplained_stops));
}

inline constexpr std::uint64_t law_streams = std::uint64_t{1} << 40;  // beyond any number of draws

struct Draw {
  double days = -1;  // not drawn
  double hours = 0;
  double interruptions = 0;
  double dollars = 0;
};

[[nodiscard]] inline Draw draw(const Plan& plan, std::size_t index) {
  const Request& r = plan.request;
  RandomStream stream(r.seed, index);
  boost::random::normal_distribution<double> normal;
  Scenario s;
  // Every input draws its variate whether it spreads or not, so that narrowing one leaves the others' draws alone.
  s.restart = normal(stream);
  s.wait = normal(stream);
  s.stall = normal(stream);
  s.price = normal(stream);
  s.achieved = std::exp(normal(stream) * r.achieved_spread.value);
  if (r.reliability.rate.events) {
    s.failure_rate =
        boost::random::gamma_distribution<double>(*r.reliability.rate.events, 1 / *r.reliability.rate.events)(stream);
  }
  const double unexplained =
      r.reliability.unexplained_stops * boost::random::exponential_distribution<double>(1)(stream);
  if (!plan.tokens_factors.empty()) {
    // A stream of its own, so that the other draws are the same with and without it.
    RandomStream law(r.seed, law_streams + index);
    s.tokens = plan.tokens_factors[law.below(static_cast<std::uint32_t>(plan.tokens_factors.size()))];
  }
  Draw out;
  double seconds = 0;
  for (const StagePlan& stage : plan.stages) {
    const Count accelerators = stage.request.accelerators;
    const auto conditions = conditions_of(r, accelerators, stage.conditions.interval, s);
    const auto run = reliability::draw_completion(stream, stage.ideal * (s.tokens / s.achieved), conditions);
    const Seconds wall = run.wall_clock * (1 + unexplained);
    seconds += wall.value;
    out.hours += accelerator_hours(accelerators, wall).value;
    out.interruptions += run.failures + run.planned_stops;
  }
  out.days = in_days(Seconds(seconds));
  if (r.price) out.dollars = cost(AcceleratorHours(out.hours), r.price->accelerator_hour.at(s.price)).value;
  return out;
}

[[nodiscard]] inline std::vector<Sensitivity> sensitivities(const Plan& plan) {
  const Request& r = plan.request;
  std::vector<Sensitivity> out;
  const auto days_at = [&plan](const Scenario& s) -> std::optional<double> {
    try {
      return in_days(expected_wall_clock(plan, s));
    } catch (const Error& error) {
      if (error.failure() == Failure::infeasible) return std::nullopt;
      throw;
    }
  };
  const auto add = [&](std::string input, std::string low, std::string high, const Scenario& at_low,
                       const Scenario& at_high) {
    out.push_back({std::move(input), std::move(low), std::move(high), days_at(at_low), days_at(at_high)});
  };
  const auto add_uncertain = [&](const char* input, const Uncertain<Seconds>& u, double Scenario::*score) {
    if (!u.spreads()) return;
    Scenario low, high;
    low.*score = -normal_p90;
    high.*score = normal_p90;
    add(input, print(*u.low, 3), print(*u.high, 3), low, high);
  };
  if (r.achieved_spread.value > 0) {
    Scenario low, high;
    low.achieved = std::exp(-normal_p90 * r.achieved_spread.value);
    high.achieved = 1 / low.achieved;
    const FlopPerSecond rate = plan.main().achieved;
    add("achieved rate", print(rate * low.achieved, 3), print(rate * high.achieved, 3), low, high);
  }
  if (const auto events = r.reliability.rate.events) {
    Scenario low, high;
    low.failure_rate = std::max(0.01, 1 - normal_p90 / std::sqrt(*events));
    high.failure_rate = 1 + normal_p90 / std::sqrt(*events);
    const double rate = r.reliability.rate.per_node_day();
    add("failure rate, per node-day", print_number(rate * low.failure_rate, 3),
        print_number(rate * high.failure_rate, 3), low, high);
  }
  if (plan.tokens_to_loss) {
    Scenario low, high;
    low.tokens = plan.tokens_to_loss->p10 / plan.tokens.value;
    high.tokens = plan.tokens_to_loss->p90 / plan.tokens.value;
    add("tokens to the loss", print(Tokens(plan.tokens_to_loss->p10), 3), print(Tokens(plan.tokens_to_loss->p90), 3),
        low, high);
  }
  add_uncertain("restart", r.reliability.restart, &Scenario::restart);
  add_uncertain("wait before restart", r.reliability.wait, &Scenario::wait);
  add_uncertain("checkpoint stall", r.checkpoint.stall, &Scenario::stall);
  Scenario half, twice;
  half.interval = 0.5;
  twice.interval = 2;
  const Seconds interval = plan.main().conditions.interval;
  add("checkpoint interval", print(interval * 0.5, 3), print(interval * 2, 3), half, twice);
  return out;
}

// completion(), with an error that names the stage: what is too long there may be any of the times.
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
    return reliability::completion(ideal, c);
  } catch (const Error& error) {
    if (error.failure() != Failure::infeasible) throw;
  }
  throw refuse("an interval of " + print(c.interval, 3) + ", a stall of " + print(c.stall, 3) + ", a restart of " +
               print(c.restart, 3) + ", a wait of " + print(c.mean_wait(), 3) + " and " +
               print_number(c.planned_per_day, 3) + " planned stops a day of " + print(c.planned_duration, 3) +
               " are too much for an MTBF of " + print(c.mtbf, 3));
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
  out.achieved = stage.achieved ? *stage.achieved : plan.peak * stage.mfu->value;
  out.mfu = out.achieved / plan.peak;
  const FlopPerSecond cluster = out.achieved * stage.accelerators.value;
  if (stage.global_batch) {
    out.step_time =
        duration(training_flop(out.flop_per_token, stage.sequence_length * stage.global_batch->value), cluster);
  }
  out.ideal = duration(out.work, cluster);
  out.ideal_hours = accelerator_hours(stage.accelerators, out.ideal);
  const Seconds mtbf = r.reliability.rate.mtbf(stage.accelerators);
  const Seconds interval =
      r.checkpoint.interval ? *r.checkpoint.interval : reliability::exact_interval(r.checkpoint.stall.central, mtbf);
  out.conditions = conditions_of(r, stage.accelerators, interval, {});
  out.completion = complete_stage(index, stage.name, out.ideal, out.conditions);
  out.expected_wall_clock = out.completion.wall_clock * (1 + r.reliability.unexplained_stops);
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
  plan.unexplained = r.reliability.unexplained_stops / (1 + r.reliability.unexplained_stops);
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
