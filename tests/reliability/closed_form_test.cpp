// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/reliability/closed_form.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "floplan/reliability/best_checkpoints.hpp"
#include "floplan/reliability/fleet.hpp"
#include "floplan/reliability/restart_time.hpp"
#include "floplan/reliability/simulation.hpp"
#include "reliability/cases.hpp"
#include "reliability/simulation_cases.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

RunProcess one_tier_of(const reference::Row& row) {
  RunProcess p = simulation_cases::named("G0").process;
  const double shape = row.number("shape");
  if (row.text("quantity").starts_with("weibull")) {
    p.failures.kind = FailureLaw::Kind::weibull;
    p.failures.shape = shape;
    p.failures.in_restarts = false;
  }
  if (row.has("interval_s")) p.checkpoints.interval = Seconds(row.number("interval_s"));
  p.checkpoints.storage_stall = Seconds(row.number("stall_s"));
  p.checkpoints.persist = Seconds(row.number("persist_s"));
  p.storage.restart = TimeLaw::fixed(Seconds(row.number("restart_s")));
  return p;
}

RunProcess two_tiers_of(const reference::Row& row) {
  RunProcess p = simulation_cases::named("G0").process;
  p.memory_share = 0.9;
  p.memory.restart = TimeLaw::fixed(Seconds(180));
  p.storage.restart = TimeLaw::fixed(Seconds(420));
  p.checkpoints.memory_stall = Seconds(row.number("memory_stall_s"));
  p.checkpoints.storage_stall = Seconds(row.number("storage_stall_s"));
  if (row.has("interval_s")) {
    p.checkpoints.interval = Seconds(row.number("interval_s"));
    p.checkpoints.storage_every = static_cast<int>(row.number("storage_every"));
  }
  return p;
}

// The simulated mean, sharpened, against the closed form: within four standard errors and a share of its own.
void agrees_with_simulation(Seconds useful, const RunProcess& p, std::size_t runs, double own, double own_deviation) {
  const SimulationReport s = simulate(useful, p, {.runs = runs, .seed = 21});
  const Completion c = closed_form(useful, p).completion;
  const double days = in_days(c.wall_clock);
  CAPTURE(s.mean_days());
  CAPTURE(days);
  CHECK(std::abs(s.mean_days() - days) <= 4 * s.mean_days_error() + own * days);
  const double deviation = s.wall_clock_days.standard_deviation();
  CAPTURE(deviation);
  CAPTURE(in_days(c.standard_deviation));
  CHECK(std::abs(deviation - in_days(c.standard_deviation)) <=
        4 * s.wall_clock_days.deviation_error() + own_deviation * deviation);
  CHECK(std::abs(s.failures.mean() - c.failures) <= 4 * s.failures.standard_error() + own * c.failures);
}

std::vector<TimeLaw> laws_of(Seconds mean) {
  return {TimeLaw::fixed(mean),       TimeLaw::log_normal(mean, 0.7),
          TimeLaw::exponential(mean), TimeLaw::gamma(mean, 0.4),
          TimeLaw::gamma(mean, 2),    TimeLaw::observed({mean.value * 0.2, mean.value * 0.8, mean.value * 2})};
}

}  // namespace

TEST_CASE("one tier with Weibull failures or a background write takes the published and the simulated time") {
  const Seconds useful = simulation_cases::named("G0").useful;
  for (const reference::Row& row : reference::rows("one_tier.csv")) {
    const RunProcess p = one_tier_of(row);
    if (row.text("quantity") == "weibull_interval_s") {
      reference::check(row, best_checkpoints(p).tiers.interval.value);
    } else {
      reference::check(row, in_days(one_tier(useful, p).wall_clock));
    }
  }
}

TEST_CASE("one tier with fixed times is the completion of the same conditions, mean and deviation") {
  for (const reference::Row& row : reference::rows("completion_cases.csv")) {
    CAPTURE(row.name());
    const cases::Case c = cases::of(row);
    const Completion expected = completion(c.useful, c.conditions);
    const Completion found = one_tier(c.useful, process_of(c.conditions));
    CHECK(found.wall_clock.value == near(expected.wall_clock.value, 1e-12));
    CHECK(found.standard_deviation.value == near(expected.standard_deviation.value, 1e-6));
    CHECK(found.failures == near(expected.failures, 1e-12));
    CHECK(found.planned_stops == near(expected.planned_stops, 1e-12));
    CHECK(found.waste.lost_work == near(expected.waste.lost_work, 1e-9));
    CHECK(found.waste.restart == near(expected.waste.restart, 1e-9));
    CHECK(found.ettr + found.waste.checkpoint + found.waste.lost_work + found.waste.restart + found.waste.maintenance ==
          near(1, 1e-12));
  }
}

TEST_CASE("Weibull failures of shape one are exponential ones, however the sum over segments is cut off") {
  for (const double interval : {0.05, 5.0, 600.0, 5000.0}) {
    CAPTURE(interval);
    RunProcess p = simulation_cases::named("G0").process;
    p.checkpoints.interval = Seconds(interval);
    p.checkpoints.persist = Seconds(interval / 2);
    p.failures.in_restarts = false;
    const Completion exponential = one_tier(days(70), p);
    p.failures.kind = FailureLaw::Kind::weibull;
    const Completion weibull = one_tier(days(70), p);
    CHECK(weibull.wall_clock.value == near(exponential.wall_clock.value, 1e-7));
    CHECK(weibull.standard_deviation.value == near(exponential.standard_deviation.value, 1e-4));
  }
}

TEST_CASE("a restart drawn anew at each attempt takes the published time") {
  for (const reference::Row& row : reference::rows("restart_redrawn.csv")) {
    const TimeLaw law = TimeLaw::log_normal(Seconds(row.number("mean_s")), row.number("cv"));
    reference::check(row, restart_cost(law, {}, Seconds(11135)).mean);
  }
}

TEST_CASE("tilted moments are those of quadrature, and at no tilt the law's own") {
  for (const TimeLaw& law : laws_of(Seconds(600))) {
    CAPTURE(law.describe());
    const TiltedMoments none = law.tilted(0);
    CHECK(none.zero == near(1, 1e-12));
    CHECK(none.one == near(law.mean(), 1e-12));
    CHECK(none.two == near(law.variance() + law.mean() * law.mean(), 1e-11));
    // -d/ds of one moment is the next.
    for (const double s : {1e-4, 1e-3, 1e-2}) {
      const double h = s * 1e-4;
      CHECK((law.tilted(s - h).zero - law.tilted(s + h).zero) / (2 * h) == near(law.tilted(s).one, 1e-5));
      CHECK((law.tilted(s - h).one - law.tilted(s + h).one) / (2 * h) == near(law.tilted(s).two, 1e-5));
    }
  }
}

TEST_CASE("drawn waits and restarts have the mean and variance that the closed form gives them") {
  for (const TimeLaw& law : laws_of(Seconds(900))) {
    CAPTURE(law.describe());
    RunProcess p = simulation_cases::named("G1").process;
    p.planned = {};
    p.storage = {law.times(0.3), law};
    agrees_with_simulation(days(20), p, 1500, 0, 0);
  }
}

TEST_CASE("Weibull, background writes, fixed maintenance and spares agree with the simulation") {
  const RunProcess plain = simulation_cases::named("G1").process;
  RunProcess p = plain;
  p.planned = {};
  p.failures.in_restarts = false;
  p.failures.kind = FailureLaw::Kind::weibull;
  p.failures.shape = 0.6;
  agrees_with_simulation(days(70), p, 1000, 1e-4, 0);
  p = plain;
  p.planned = {};
  p.checkpoints.persist = Seconds(400);
  agrees_with_simulation(days(70), p, 1000, 0, 0);
  p = plain;
  p.planned = {0, days(1), hours(1)};
  // A calendar stop saves work in the middle of a segment, and its phase is not random.
  agrees_with_simulation(days(70), p, 1000, 5e-4, 0.05);
  p = plain;
  p.planned = {};
  p.slowdown = {0.02, 0, 0};
  agrees_with_simulation(days(70), p, 1000, 0, 0);
  p.slowdown = {0, 2048, 0.05};
  const SimulationReport slow = simulate(days(70), p, {.runs = 1000, .seed = 4});
  CHECK(std::abs(slow.wall_clock_days.mean() - in_days(closed_form(days(70), p).completion.wall_clock)) <=
        4 * slow.wall_clock_days.standard_error());
}

TEST_CASE("two tiers take the published and the simulated time") {
  for (const reference::Row& row : reference::rows("two_tiers.csv")) {
    const RunProcess p = two_tiers_of(row);
    const std::string quantity = row.text("quantity");
    const FirstOrderTiers first = first_order_tiers(p.failures.mtbf, p.memory_share, p.checkpoints.memory_stall,
                                                    p.checkpoints.storage_stall, Seconds(180), Seconds(420));
    if (quantity == "first_order_t1_s") {
      reference::check(row, first.memory.value);
    } else if (quantity == "first_order_t2_s") {
      reference::check(row, first.storage.value);
    } else {
      const Completion c = two_tiers(days(60), p);
      reference::check(row, quantity == "stretch" ? 1 / c.ettr : 1 / c.ettr_first_order);
    }
  }
}

TEST_CASE("two tiers agree with the simulation from Llama 3's rate to restarts as long as the MTBF") {
  for (const char* name : {"G3", "G6", "G8", "G9"}) {
    CAPTURE(std::string(name));
    const simulation_cases::Case c = simulation_cases::named(name);
    const double events = c.useful / c.process.failures.mtbf;
    const Seconds useful = c.useful * std::min(1.0, 3000 / events);
    agrees_with_simulation(useful, c.process, 300, std::string(name) == "G9" ? 4e-3 : 2e-3, 0.06);
  }
}

TEST_CASE("two tiers of which memory mends nothing are one tier, to the last checkpoint") {
  RunProcess p = simulation_cases::named("G1").process;
  const double one = one_tier(days(70), p).wall_clock.value;
  // The two-tier form takes half a cycle for the work lost, the one-tier form M - a/(e^(a/M) - 1).
  CHECK(two_tiers(days(70), p).wall_clock.value == near(one, 2e-3));
  p.checkpoints.interval = Seconds(1);
  p.checkpoints.storage_stall = Seconds(0.01);
  CHECK(two_tiers(days(70), p).wall_clock.value == near(one_tier(days(70), p).wall_clock.value, 1e-6));
}

TEST_CASE("spares by Erlang and by Palm are the published ones") {
  for (const reference::Row& row : reference::rows("spares.csv")) {
    SpareQuestion q{2048, 3.79e-3, hours(row.number("repair_hours")), row.number_or("level", 0.99)};
    const std::string quantity = row.text("quantity");
    if (quantity == "erlang_spares") {
      reference::check(row, spares_for(q).erlang.spares);
    } else if (quantity == "palm_spares") {
      reference::check(row, spares_for(q).palm.spares);
    } else {
      const SpareReport r = spares_at(q, static_cast<int>(row.number("spares")));
      reference::check(row, quantity == "erlang" ? r.erlang.stopped : r.palm.stopped);
    }
  }
}

TEST_CASE("a simulated job stands still for Erlang's share of the time whatever the law of the repair") {
  for (const TimeLaw& repair : {TimeLaw::fixed(hours(24)), TimeLaw::exponential(hours(24))}) {
    CAPTURE(repair.describe());
    RunProcess p;
    p.failures.mtbf = days(1 / (2048 * 3.79e-3));
    p.checkpoints.interval = Seconds(600);
    p.spares = SparePool{8, repair, 1, {}};
    const SimulationReport s = simulate(days(200), p, {.runs = 60, .seed = 3});
    const ClosedForm c = closed_form(days(200), p);
    const double error = s.down_hours.standard_error() / 24 / s.wall_clock_days.mean();
    CHECK(std::abs(s.unmended - c.unmended) <= 4 * error + 2e-3);  // it begins with every spare there
    CHECK(s.wall_clock_days.mean() == near(in_days(c.completion.wall_clock), 4e-3));
  }
}

TEST_CASE("the least spares are enough and one fewer is not, at any load and level") {
  for (const double nodes : {1.0, 50.0, 2048.0, 1e5}) {
    for (const double level : {0.3, 0.5, 0.9, 0.999}) {
      CAPTURE(nodes);
      CAPTURE(level);
      const SpareQuestion q{nodes, 3.79e-3, hours(30), level};
      const SpareReport r = spares_for(q);
      CHECK(r.erlang.stopped <= 1 - level);
      CHECK(r.palm.stopped <= 1 - level);
      if (r.erlang.spares > 0) CHECK(spares_at(q, r.erlang.spares - 1).erlang.stopped > 1 - level);
      if (r.palm.spares > 0) CHECK(spares_at(q, r.palm.spares - 1).palm.stopped > 1 - level);
    }
  }
}

TEST_CASE("expected maxima are the published ones, and a shared part takes its share") {
  for (const reference::Row& row : reference::rows("expected_maximum.csv")) {
    const double n = row.number("n");
    const std::string quantity = row.text("quantity");
    reference::check(row, quantity == "normal" ? expected_normal_maximum(n)
                          : quantity == "blom" ? blom_normal_maximum(n)
                                               : expected_log_normal_maximum(n, row.number("cv")));
  }
  CHECK(expected_normal_maximum(2) == near(1 / std::sqrt(std::acos(-1.0)), 1e-12));
  CHECK(expected_normal_maximum(3) == near(1.5 / std::sqrt(std::acos(-1.0)), 1e-12));
  CHECK(expected_log_normal_maximum(1000, 0.1, 1) == 1);
  const double apart = std::sqrt(std::log1p(0.01) * 0.5);
  CHECK(expected_log_normal_maximum(1000, 0.1, 0.5) ==
        near(expected_log_normal_maximum(1000, std::sqrt(std::expm1(apart * apart))), 1e-12));
}

TEST_CASE("a new fleet fails and a job shrinks as published") {
  const NewFleet fleet{2048, days(263.9), 0.7};
  const FailureLaw law = burn_in(fleet);
  for (const reference::Row& row : reference::rows("fleet.csv")) {
    const std::string quantity = row.text("quantity");
    const double x = row.number("x");
    if (quantity == "burn_in_failures") {
      reference::check(row, failures_by(law, days(x)));
    } else if (quantity == "burn_in_at_most") {
      CHECK(failures_by(law, days(x)) < row.value());
    } else if (quantity == "settled_failures") {
      reference::check(row, days(x) / law.mtbf);
    } else if (quantity == "step_ratio") {
      reference::check(row, Shrink{static_cast<int>(row.number("y")), static_cast<int>(x), 1, {}}.step_ratio(1));
    } else {
      const ShrinkReport r = shrink_or_wait({Shrink{128, 2048, 1, {}}, 16 * 3.79e-3, hours(x), Seconds(60), hours(1)});
      reference::check(row, quantity == "alive" ? r.mean_alive : r.all_up);
    }
  }
  RunProcess p;
  p.failures = law;
  p.checkpoints.interval = Seconds(1);
  const SimulationReport s = simulate(days(30), p, {.runs = 60, .seed = 8});
  CHECK(std::abs(s.failures.mean() - failures_by(law, days(30))) <=
        4 * s.failures.standard_error() + 0.002 * s.failures.mean());
  CHECK(failures_by(law, law.settled * 2) - failures_by(law, law.settled) == near(law.settled / law.mtbf, 1e-9));
}

TEST_CASE("what has no closed form is refused, and so is what never ends") {
  RunProcess p = simulation_cases::named("G3").process;
  p.checkpoints.persist = Seconds(60);
  CHECK(thrown::says(thrown::by([&] { (void)closed_form(days(1), p); }), "synchronous checkpoints: simulate"));
  p = simulation_cases::named("G1").process;
  p.failures.kind = FailureLaw::Kind::burn_in;
  p.failures.settled = days(90);
  p.failures.shape = 0.7;
  CHECK(thrown::says(thrown::by([&] { (void)closed_form(days(1), p); }), "simulate instead"));
  p = simulation_cases::named("G3").process;
  p.checkpoints.storage_every = 1000000;
  const Error endless = thrown::by([&] { (void)closed_form(days(1), p); });
  CHECK(endless.failure() == Failure::infeasible);
  p = simulation_cases::named("G1").process;
  p.failures.mtbf = Seconds(5);
  CHECK(thrown::by([&] { (void)closed_form(days(1), p); }).failure() == Failure::infeasible);
}
