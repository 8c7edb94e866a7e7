// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "floplan/plan/plan_simulation.hpp"
#include "floplan/plan/planner.hpp"
#include "floplan/plan/request_file.hpp"
#include "plan/requests.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using plan::make_plan;
using plan::Plan;
using plan::Request;

namespace {

// The ready plan of Llama 3.1 405B with a memory tier beside its store.
Request with_memory(std::vector<std::pair<std::string, std::string>> more = {}) {
  more.insert(
      more.end(),
      {{"checkpoint.memory.stall", "0.3s"}, {"checkpoint.memory.restart", "2min"}, {"checkpoint.memory.wait", "1min"}});
  Request r = requests::llama3_405b(more);
  r.draws = 2000;
  r.threads = 1;
  return r;
}

bool warns(const std::vector<Warning>& all, const std::string& code) {
  return std::any_of(all.begin(), all.end(), [&](const Warning& w) { return w.code == code; });
}

void refused(const std::string& toml, const std::string& place, const std::string& words) {
  const std::string top =
      "model = \"llama-3.1-8b\"\naccelerator = \"h100-sxm\"\n[[stage]]\ntokens = \"1T\"\ncount = 1024\n"
      "achieved = \"400TFLOP/s\"\n";
  const Error e = thrown::by([&] { (void)plan::read_request(top + toml, "p.toml", {}, catalog::Catalog()); });
  INFO(toml << "\n" << e.what());
  CHECK(e.failure() == Failure::data);
  CHECK(e.where().starts_with("p.toml:" + place));
  CHECK(thrown::says(e, words));
}

}  // namespace

TEST_CASE("a memory tier shortens the run, and each stage has its own best pair of intervals") {
  Request without = requests::llama3_405b();
  without.draws = 200;
  const Plan one = make_plan(without);
  const Plan two = make_plan(with_memory());
  CHECK(two.expected_wall_clock < one.expected_wall_clock);
  CHECK(two.wall_clock_days.p50 < one.wall_clock_days.p50);
  for (const plan::StagePlan& stage : two.stages) {
    const reliability::Conditions& c = stage.conditions;
    const double every = c.interval / c.memory->interval;
    CHECK(every == near(std::round(every), 1e-12));
    const reliability::BestCheckpoints best = reliability::best_checkpoints(reliability::process_of(c));
    CHECK(c.memory->interval.value == near(best.tiers.interval.value, 1e-9));
  }
  CHECK(two.stages[0].conditions.memory->interval > two.stages[1].conditions.memory->interval);
}

TEST_CASE("the shares of a plan with two tiers sum to one, and its draws centre on its expected days") {
  const Plan p =
      make_plan(with_memory({{"achieved_spread", "0"}, {"reliability.restart", "5min"}, {"reliability.wait", "2min"}}));
  const reliability::Waste& w = p.waste;
  CHECK(p.ettr + w.checkpoint + w.lost_work + w.restart + w.maintenance == near(1, 1e-12));
  const double error = p.wall_clock_days.standard_deviation / std::sqrt(static_cast<double>(p.draws));
  // The rate's Gamma bends the mean by less than its variance, 1/419 of the 5% that failures take.
  CHECK(std::abs(p.wall_clock_days.mean - in_days(p.expected_wall_clock)) < 4 * error + 0.05 * 90 / 419);
}

TEST_CASE("a plan with two tiers, drawn and simulated event by event, is the same run") {
  const Plan p = make_plan(with_memory());
  const reliability::SimulationReport events = plan::simulate_plan(p, {.runs = 2000, .seed = 5, .threads = 1});
  const double error = p.wall_clock_days.standard_deviation / std::sqrt(2000.0);
  CHECK(std::abs(events.wall_clock_days.mean() - p.wall_clock_days.mean) < 4 * error * std::sqrt(2.0));
  CHECK(events.wall_clock_days.standard_deviation() == near(p.wall_clock_days.standard_deviation, 0.1));
  CHECK(events.interruptions.mean() == near(p.interruptions.mean, 0.01));
  CHECK(events.failures_by_class[0] / events.failures.mean() == near(0.9 * (1 - 3.0 / 419), 0.02));
}

TEST_CASE("given intervals are taken as they are, and the store's is a whole number of the memory tier's") {
  const Plan p = make_plan(with_memory({{"checkpoint.interval", "20min"}, {"checkpoint.memory.interval", "60s"}}));
  for (const plan::StagePlan& stage : p.stages) {
    CHECK(stage.conditions.interval == Seconds(1200));
    CHECK(stage.conditions.memory->interval == Seconds(60));
  }
  CHECK(p.expected_wall_clock > make_plan(with_memory()).expected_wall_clock);
}

TEST_CASE("what a memory tier leaves out is the store's, and said") {
  const Request r = requests::llama3_405b({{"checkpoint.memory.stall", "0.3s"}});
  CHECK(r.checkpoint.memory->restart.low == r.reliability.restart.low);
  CHECK(r.checkpoint.memory->wait.high == r.reliability.wait.high);
  CHECK(r.checkpoint.memory->share == plan::defaults::memory_share);
  CHECK(warns(r.assumptions, "assumed"));
  CHECK_FALSE(warns(with_memory({{"checkpoint.memory.share", "90%"}}).assumptions, "assumed"));
}

TEST_CASE("a memory tier that is no cheaper than the store is remarked on") {
  CHECK(warns(make_plan(with_memory({{"checkpoint.stall", "0.2s"}})).warnings, "memory_tier_slow"));
  CHECK_FALSE(warns(make_plan(with_memory()).warnings, "memory_tier_slow"));
}

TEST_CASE("a memory tier that cannot be is refused at its place") {
  refused("[checkpoint.memory]\nshare = 0.5\n", "8:9", "checkpoint.memory.stall");
  refused("[checkpoint.memory]\n", "7:1", "checkpoint.memory.stall");
  refused("[checkpoint.memory]\nstall = \"1s\"\nshare = 0\n", "9:9", "above 0");
  refused("[checkpoint.memory]\nstall = \"1s\"\nshare = 1.5\n", "9:9", "at most 1");
  refused("[checkpoint.memory]\nstall = 0\n", "8:9", "no best interval");
  refused("[checkpoint.memory]\nstall = \"-1s\"\n", "8:9", "");
  refused("[checkpoint.memory]\nstall = \"1s\"\ninterval = \"60s\"\n", "9:12", "both intervals");
  refused("[checkpoint]\ninterval = \"1h\"\n[checkpoint.memory]\nstall = \"1s\"\n", "", "both intervals");
  refused("[checkpoint]\ninterval = \"50s\"\n[checkpoint.memory]\nstall = \"1s\"\ninterval = \"60s\"\n", "11:12",
          "whole number");
  refused("[checkpoint.memory]\nstal = \"1s\"\n", "8:1", "stall");
}
