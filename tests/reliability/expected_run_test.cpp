// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/reliability/expected_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/reliability/simulation.hpp"
#include "reliability/cases.hpp"
#include "reliability/simulation_cases.hpp"
#include "support/moments.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

// The two-tier process of a reference case as conditions.
Conditions conditions_of(const RunProcess& p) {
  Conditions c;
  c.mtbf = p.failures.mtbf;
  c.interval = p.checkpoints.interval * static_cast<double>(p.checkpoints.storage_every);
  c.stall = p.checkpoints.storage_stall;
  c.restart = Seconds(p.storage.restart.mean());
  c.wait = Seconds(p.storage.wait.mean());
  c.manual_share = p.manual_share;
  c.manual_wait = Seconds(p.manual_wait.mean());
  c.planned_per_day = p.planned.per_day;
  c.planned_duration = p.planned.duration;
  c.memory = MemoryCheckpoints{p.checkpoints.interval, p.checkpoints.memory_stall, p.memory_share,
                               Seconds(p.memory.restart.mean()), Seconds(p.memory.wait.mean())};
  return c;
}

constexpr const char* two_tier_cases[] = {"G3", "G6", "G8", "G9", "G10a", "G10b"};

struct Sample {
  std::vector<double> days, failures, planned;
};

Sample draw(const simulation_cases::Case& run, const Conditions& c, std::size_t count) {
  Sample out;
  for (std::size_t i = 0; i < count; ++i) {
    RandomStream stream(91, i);
    const CompletionDraw d = draw_run(stream, run.useful, c);
    out.days.push_back(in_days(d.wall_clock));
    out.failures.push_back(d.failures);
    out.planned.push_back(d.planned_stops);
  }
  return out;
}

}  // namespace

TEST_CASE("conditions with two tiers are the process that has them, and its closed form") {
  for (const char* name : two_tier_cases) {
    CAPTURE(std::string(name));
    const simulation_cases::Case run = simulation_cases::named(name);
    const Conditions c = conditions_of(run.process);
    CHECK(process_of(c).checkpoints.storage_every == run.process.checkpoints.storage_every);
    CHECK(expected_run(run.useful, c).wall_clock.value ==
          near(two_tiers(run.useful, run.process).wall_clock.value, 1e-12));
  }
}

TEST_CASE("conditions with one tier have the exact form of one tier, to the bit, and its draws") {
  const cases::Case run = cases::named("G1");
  CHECK(expected_run(run.useful, run.conditions).wall_clock == completion(run.useful, run.conditions).wall_clock);
  RandomStream a(1, 2), b(1, 2);
  CHECK(draw_run(a, run.useful, run.conditions).wall_clock ==
        draw_completion(b, run.useful, run.conditions).wall_clock);
}

TEST_CASE("draws with two tiers have the mean, the spread and the counts of the closed form") {
  constexpr std::size_t count = 20000;
  for (const char* name : two_tier_cases) {
    CAPTURE(std::string(name));
    const simulation_cases::Case run = simulation_cases::named(name);
    const Conditions c = conditions_of(run.process);
    const Completion expected = expected_run(run.useful, c);
    const Sample sample = draw(run, c, count);
    const Moments days = moments(sample.days);
    CHECK(std::abs(days.mean - in_days(expected.wall_clock)) <= 4 * days.mean_error);
    CHECK(days.standard_deviation == near(in_days(expected.standard_deviation), 0.05));
    const Moments failures = moments(sample.failures);
    CHECK(std::abs(failures.mean - expected.failures) <= 4 * failures.mean_error);
    const Moments planned = moments(sample.planned);
    CHECK(std::abs(planned.mean - expected.planned_stops) <= 4 * planned.mean_error);
  }
}

TEST_CASE("draws with two tiers have the quantiles of the independent simulator") {
  constexpr std::size_t count = 20000;
  for (const reference::Row& row : reference::rows("simulation_goldens.csv")) {
    const std::string quantity = row.text("quantity");
    const std::string name = row.text("case");
    const bool two = std::find(std::begin(two_tier_cases), std::end(two_tier_cases), name) != std::end(two_tier_cases);
    if (!two || !quantity.starts_with("days p")) continue;
    CAPTURE(name + " " + quantity);
    const simulation_cases::Case run = simulation_cases::named(name);
    const Distribution d = summarise(draw(run, conditions_of(run.process), count).days);
    const double value = quantity == "days p10" ? d.p10 : quantity == "days p50" ? d.p50 : d.p90;
    // The closed form's mean is within 0.3%, and a quantile of the draws has its own error.
    reference::check(row, value, 0.003 * value + 4 * 1.71 * d.standard_deviation / std::sqrt(double(count)));
  }
}

TEST_CASE("the best intervals of either number of tiers are no worse than their neighbours") {
  for (const bool two : {false, true}) {
    CAPTURE(two);
    Conditions c = two ? conditions_of(simulation_cases::named("G3").process) : cases::named("G1").conditions;
    c = at_best_intervals(c);
    const double best = expected_run(days(1), c).wall_clock.value;
    for (const double factor : {0.8, 1.25}) {
      Conditions other = c;
      other.interval = c.interval * factor;
      if (two) other.memory->interval = c.memory->interval * factor;
      CHECK(expected_run(days(1), other).wall_clock.value > best);
    }
  }
}

TEST_CASE("the one-tier form refuses conditions of two rather than leave one out") {
  const Conditions c = conditions_of(simulation_cases::named("G3").process);
  CHECK(thrown::says(thrown::by([&] { (void)completion(days(1), c); }), "one checkpoint tier"));
}

TEST_CASE("cautions of two tiers weigh each class of failure by its share") {
  Conditions c = conditions_of(simulation_cases::named("G6").process);
  CHECK(cautions(c).empty());
  c.memory->share = 0.1;
  CHECK_FALSE(cautions(c).empty());
}

TEST_CASE("where the closed form of two tiers is rough it says so, and it is too long there and not too short") {
  simulation_cases::Case run = simulation_cases::named("G10b");
  run.process.memory_share = 0.5;
  const auto rough = [&run] {
    const std::vector<Warning> all = cautions(conditions_of(run.process));
    return std::any_of(all.begin(), all.end(), [](const Warning& w) { return w.code == "two_tiers_rough"; });
  };
  const auto over = [&run] {
    const SimulationReport events = simulate(run.useful, run.process, {.runs = 1000, .seed = 4});
    return in_days(two_tiers(run.useful, run.process).wall_clock) / events.mean_days();
  };
  CHECK(rough());
  CHECK(over() > 1.01);
  CHECK(over() < 1.1);
  run = simulation_cases::named("G10b");
  CHECK_FALSE(rough());
  CHECK(over() == near(1, 0.004));
}
