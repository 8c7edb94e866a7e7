// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "floplan/plan/plan_simulation.hpp"
#include "floplan/plan/planner.hpp"
#include "plan/requests.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using plan::make_plan;
using plan::Plan;
using plan::Request;
using reliability::Team;
using reliability::UnexplainedLoss;

namespace {

Request by_team(std::optional<Team> team, std::size_t draws = 20000) {
  Request r = requests::only_failures();
  r.reliability.team = team;
  r.draws = draws;
  return r;
}

bool warns(const Plan& p, const std::string& code) {
  return std::any_of(p.warnings.begin(), p.warnings.end(), [&](const Warning& w) { return w.code == code; });
}

const plan::Sensitivity& row_of(const Plan& p, const std::string& input) {
  const auto found = std::find_if(p.sensitivity.begin(), p.sensitivity.end(),
                                  [&](const plan::Sensitivity& s) { return s.input == input; });
  REQUIRE(found != p.sensitivity.end());
  return *found;
}

}  // namespace

TEST_CASE("a team's kind multiplies the days by its median, and spreads them by its band") {
  const Plan without = make_plan(by_team(std::nullopt));
  for (const Team team : {Team::practised, Team::usual, Team::first_run}) {
    CAPTURE(std::string(reliability::to_text(team)));
    const UnexplainedLoss loss = reliability::unexplained_loss(team);
    const Plan with = make_plan(by_team(team));
    CHECK(with.expected_wall_clock / without.expected_wall_clock == near(loss.median, 1e-12));
    CHECK(with.unexplained == near(1 - 1 / loss.median, 1e-9));
    const reliability::Waste& w = with.waste;
    CHECK(with.ettr + w.checkpoint + w.lost_work + w.restart + w.maintenance + with.unexplained == near(1, 1e-12));
    // The scatter of failures is small beside the band, so that its percentiles are the days'.
    const double days = without.wall_clock_days.p50;
    CHECK(with.wall_clock_days.p10 / days == near(loss.quantile(0.1), 0.01));
    CHECK(with.wall_clock_days.p50 / days == near(loss.median, 0.01));
    CHECK(with.wall_clock_days.p90 / days == near(loss.quantile(0.9), 0.01));
    CHECK(with.interruptions.mean == near(without.interruptions.mean, 1e-12));
    const plan::Sensitivity& row = row_of(with, "unexplained, team " + std::string(reliability::to_text(team)));
    CHECK(*row.low / in_days(without.expected_wall_clock) == near(loss.quantile(0.1), 1e-9));
    CHECK(*row.high / in_days(without.expected_wall_clock) == near(loss.quantile(0.9), 1e-9));
    CHECK_FALSE(warns(with, "unexplained_stops"));
  }
  CHECK(warns(without, "unexplained_stops"));
}

TEST_CASE("naming a team leaves every other draw as it is") {
  const Plan without = make_plan(by_team(std::nullopt, 300));
  const Plan with = make_plan(by_team(Team::usual, 300));
  for (std::size_t i = 0; i < 300; ++i) {
    const plan::detail::Draw a = plan::detail::draw(without, i);
    const plan::detail::Draw b = plan::detail::draw(with, i);
    CHECK(a.interruptions == b.interruptions);
    CHECK(b.days / a.days > 0.5);
    CHECK(b.days / a.days < 3);
  }
}

TEST_CASE("a team's kind and unexplained stops are not given both, and the later word stands") {
  Request r = by_team(Team::usual);
  r.reliability.unexplained_stops = 0.1;
  CHECK(thrown::says(thrown::by([&] { (void)make_plan(r); }), "not by both"));
  const Request file_then_option = requests::llama3_405b({{"reliability.team", "practised"}});
  CHECK(file_then_option.reliability.team == Team::practised);
  CHECK(file_then_option.reliability.unexplained_stops == 0);
  CHECK_FALSE(requests::llama3_405b({{"reliability.team", "none"}}).reliability.team.has_value());
  CHECK(thrown::says(thrown::by([] { (void)requests::llama3_405b({{"reliability.team", "good"}}); }), "first_run"));
  CHECK(thrown::says(
      thrown::by([] {
        (void)requests::llama3_405b({{"reliability.team", "usual"}, {"reliability.unexplained_stops", "5%"}});
      }),
      "contradicts"));
  const std::string text =
      "model = \"llama-3.1-8b\"\naccelerator = \"h100-sxm\"\n[[stage]]\ntokens = \"1T\"\ncount = 1024\n"
      "achieved = \"400TFLOP/s\"\n[reliability]\nteam = \"usual\"\n";
  const auto read = [&](const std::string& more, const std::vector<plan::Override>& set) {
    return plan::read_request(text + more, "p.toml", set, catalog::Catalog()).reliability;
  };
  const plan::Reliability option = read("", {{"reliability.unexplained_stops", "5%", "--unexplained-stops"}});
  CHECK_FALSE(option.team.has_value());
  CHECK(option.unexplained_stops == 0.05);
  CHECK(thrown::by([&] { (void)read("unexplained_stops = 0.1\n", {}); }).where().starts_with("p.toml:8:8"));
}

TEST_CASE("drawn and simulated event by event, a team's runs have the same spread") {
  const Plan p = make_plan(by_team(Team::usual));
  const reliability::SimulationReport events = plan::simulate_plan(p, {.runs = 4000, .seed = 3});
  const double error = p.wall_clock_days.standard_deviation / std::sqrt(4000.0);
  CHECK(std::abs(events.wall_clock_days.mean() - p.wall_clock_days.mean) < 4 * error * std::sqrt(1.2));
  CHECK(events.wall_clock_days.standard_deviation() == near(p.wall_clock_days.standard_deviation, 0.06));
  CHECK(events.unexplained == near(1 - 1 / reliability::unexplained_loss(Team::usual).mean(), 0.03));
}

TEST_CASE("drawn and simulated event by event, predicted steps spread the days alike") {
  Request r;
  r.model = "llama-3.1-70b";
  r.shape = catalog::Catalog().model("llama-3.1-70b").shape;
  r.accelerator = catalog::Catalog().accelerator("h100-sxm");
  plan::StageLayout layout;
  layout.degrees = {.tensor = 8, .context = 1, .pipeline = 4, .data = 32, .expert = 1};
  r.stages.push_back({.name = "all",
                      .tokens = Tokens(2e12),
                      .accelerators = Count(1024),
                      .global_batch = Count(1024),
                      .layout = layout});
  r.reliability.rate = reliability::rate_from_mtbf(hours(12), Count(1024), Count(8));
  r.reliability.restart = Seconds(300);
  r.checkpoint.stall = Seconds(30);
  r.draws = 4000;
  const Plan p = make_plan(r);
  const reliability::SimulationReport events = plan::simulate_plan(p, {.runs = 4000, .seed = 3});
  CHECK(p.wall_clock_days.standard_deviation > 0.1 * p.wall_clock_days.mean);
  const double error = p.wall_clock_days.standard_deviation / std::sqrt(4000.0);
  CHECK(std::abs(events.wall_clock_days.mean() - p.wall_clock_days.mean) < 4 * error * std::sqrt(2.0));
  CHECK(events.wall_clock_days.standard_deviation() == near(p.wall_clock_days.standard_deviation, 0.1));
}
