// SPDX-License-Identifier: BSD-3-Clause
//
// The answer to a Request: days, accelerator-hours, dollars and energy, stage by stage and in all, with distributions.
//
// Expected figures (ideal, ettr, waste, stages) are exact under the median inputs (Daly 2006, reliability/completion.hpp);
// distributions are draws over the uncertain inputs and the scatter of failures, the same bits at any thread count.
//
//   ideal          accelerator-hours without a single stop, = FLOP / achieved rate
//   achieved rate  as given, or FLOP a token x tokens / (accelerators x step time) where a step time is predicted
//   ettr           ideal / expected accelerator-hours, all stops counted (planned and unexplained ones too)
//   sensitivity    expected wall-clock days with one input at its 10th and 90th percentile, the others at their median
//
// Pitfall: a distribution holds what its inputs say; what no failure rate explains is in it only if the request gives it
// (Reliability::team or unexplained_stops), and public runs lost 0 to 43% to that.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/plan/layout_model.hpp"
#include "floplan/plan/request.hpp"
#include "floplan/reliability/completion.hpp"

namespace floplan::plan {

struct StagePlan {
  Stage request;
  std::optional<LayoutModel> model;  // of a stage with a layout, where the model's shape is known
  FlopPerToken flop_per_token;
  Flop work;
  FlopPerSecond achieved;  // of one accelerator; the model's own where no rate is given
  double mfu = 0;
  std::optional<Seconds> step_time;
  Seconds ideal;
  AcceleratorHours ideal_hours;
  reliability::Conditions conditions;  // at the median inputs
  reliability::Completion completion;  // expected
  // With what no failure rate explains, which `completion` does not know: the median of a team's factor, the mean of stops.
  AcceleratorHours expected_hours;
  Seconds expected_wall_clock;
  double ettr = 0;           // ideal over expected
  reliability::Waste waste;  // shares of the expected time
  double unexplained = 0;    // share of the expected time

  // Tokens a second of all accelerators.
  [[nodiscard]] double tokens_per_second() const {
    return achieved.value * request.accelerators.value / flop_per_token.value;
  }
};

struct EnergyAccount {
  EnergyBasis basis = EnergyBasis::node;
  Watts per_accelerator;  // what an accelerator-hour is multiplied by, PUE included for the node basis
  WattHours energy;
  double co2e_tonnes = 0;
};

struct Sensitivity {
  std::string input;
  std::string input_low, input_high;
  std::optional<double> low, high;  // expected wall-clock days; absent where the run would never end
};

struct Deadline {
  Seconds limit;
  double probability = 0;  // share of draws that finish in time
};

struct Plan {
  Request request;
  Parameters parameters;         // total
  Parameters active_parameters;  // what a token uses
  Tokens tokens;
  Flop training_flop;      // by the request's convention
  Flop training_flop_six;  // 6 N D, N active
  std::optional<double> loss;
  std::optional<Distribution> tokens_to_loss;  // with a target loss and a law whose uncertainty is known
  std::vector<double> tokens_factors;          // its draws, over `tokens`: one a replicate of the law
  std::size_t never_reach_loss = 0;            // replicates of the law
  double extrapolation_decades = 0;            // of the law, beyond its fit range
  FlopPerSecond peak;
  std::vector<StagePlan> stages;
  std::size_t main_stage = 0;  // the one with most accelerator-hours: its MFU, MTBF and interval speak for the plan
  Seconds ideal;
  AcceleratorHours ideal_hours;
  Seconds expected_wall_clock;
  AcceleratorHours expected_hours;
  double ettr = 0;
  reliability::Waste waste;           // shares of the expected accelerator-hours
  double unexplained = 0;             // share of the expected accelerator-hours
  double expected_interruptions = 0;  // the two below together
  double expected_failures = 0;
  double expected_planned_stops = 0;
  Distribution wall_clock_days, accelerator_hours, interruptions;
  std::optional<Distribution> cost_usd;
  std::vector<EnergyAccount> energy;  // tdp, then node; empty when the request has no power
  std::optional<Watts> peak_power;    // of the largest stage: node power x PUE
  std::optional<Deadline> deadline;
  std::vector<Sensitivity> sensitivity;
  std::vector<Warning> warnings;
  std::size_t draws = 0;  // behind the distributions
  bool complete = true;   // false when the draws were interrupted

  [[nodiscard]] const StagePlan& main() const { return stages[main_stage]; }
  // The account of the request's basis, or nullptr when it has no power.
  [[nodiscard]] const EnergyAccount* headline_energy() const {
    if (energy.empty()) return nullptr;
    return &energy[request.power->basis == EnergyBasis::tdp ? 0 : 1];
  }
};

}  // namespace floplan::plan
