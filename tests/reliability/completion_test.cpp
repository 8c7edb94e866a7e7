// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/reliability/completion.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "floplan/core/random.hpp"
#include "floplan/reliability/checkpoint_interval.hpp"
#include "reliability/cases.hpp"
#include "reliability/event_simulation.hpp"
#include "support/moments.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

double quantity(const Completion& c, const std::string& name) {
  if (name == "wall_clock_days") return in_days(c.wall_clock);
  if (name == "wall_clock_hours") return in_hours(c.wall_clock);
  if (name == "sd_days") return in_days(c.standard_deviation);
  if (name == "failures") return c.failures;
  if (name == "planned_stops") return c.planned_stops;
  if (name == "lost_hours") return c.waste.lost_work * in_hours(c.wall_clock);
  if (name == "down_hours") return (c.waste.restart + c.waste.maintenance) * in_hours(c.wall_clock);
  REQUIRE(name == "ettr");
  return c.ettr;
}

std::vector<Conditions> regimes() {
  std::vector<Conditions> out;
  for (const reference::Row& row : reference::rows("completion_cases.csv")) out.push_back(cases::of(row).conditions);
  Conditions harsh = cases::named("G7").conditions;
  harsh.manual_share = 0.5;
  harsh.manual_wait = Seconds(300);
  harsh.planned_per_day = 24;
  out.push_back(harsh);
  return out;
}

bool warns(const Conditions& c, const std::string& code) {
  const auto all = cautions(c);
  return std::any_of(all.begin(), all.end(), [&code](const Warning& w) { return w.code == code; });
}

}  // namespace

TEST_CASE("run times, failures, planned stops and shares are the published and the simulated ones") {
  for (const reference::Row& row : reference::rows("completion_values.csv")) {
    const cases::Case run = cases::named(row.text("case"));
    reference::check(row, quantity(completion(run.useful, run.conditions), row.text("quantity")));
  }
}

TEST_CASE("the first order gives every published effective training time") {
  for (const reference::Row& row : reference::rows("ettr_first_order.csv")) {
    const InterruptionRate rate = rate_from_node_days(row.number("rate_per_node_day"), Count(8));
    const Seconds mtbf = rate.mtbf(Count(row.number("accelerators")));
    const Seconds stall(row.number("stall_s"));
    const Seconds interval = row.has("interval_s") ? Seconds(row.number("interval_s")) : young_interval(stall, mtbf);
    reference::check(row, ettr_first_order(mtbf, interval, stall, Seconds(row.number("restart_s"))));
  }
}

TEST_CASE("at Table 5's rate the exact and the first-order effective training times are the published ones") {
  const Seconds mtbf = cases::table5().mtbf(Count(16384));
  for (const reference::Row& row : reference::rows("ettr_at_llama_rate.csv")) {
    Conditions c;
    c.mtbf = mtbf;
    c.stall = Seconds(row.number("stall_s"));
    c.restart = Seconds(row.number("restart_s"));
    if (row.text("method") == "exact") {
      c.interval = exact_interval(c.stall, mtbf);
      reference::check(row, completion(days(70), c).ettr);
    } else {
      c.interval = young_interval(c.stall, mtbf);
      reference::check(row, completion(days(70), c).ettr_first_order);
      CHECK(completion(days(70), c).ettr_first_order == ettr_first_order(mtbf, c.interval, c.stall, c.restart));
    }
  }
}

// The published limits are those of the first order, which is linear in the restart time. The exact run time allows a
// little more at 10 and 30 s (11.6 and 5.8 min) and nothing at all at 60 s.
TEST_CASE("the restart that an effective training time allows is the published one") {
  const Seconds mtbf = cases::table5().mtbf(Count(16384));
  for (const reference::Row& row : reference::rows("restart_limits.csv")) {
    const Seconds stall(row.number("stall_s"));
    const Seconds interval = young_interval(stall, mtbf);
    const double at_none = ettr_first_order(mtbf, interval, stall, Seconds(0));
    const double a_minute = at_none - ettr_first_order(mtbf, interval, stall, Seconds(60));
    reference::check(row, (at_none - row.number("ettr")) / a_minute);
  }
}

TEST_CASE("the first order is as far off as published, and the more so the heavier the load") {
  double last = 0;
  for (const reference::Row& row : reference::rows("first_order_error.csv")) {
    const double load = row.number("load");
    Conditions c;
    c.mtbf = Seconds(1);
    c.restart = Seconds(0.7 * load);
    c.interval = Seconds(0.6 * load);
    c.stall = 0.01 * c.interval;
    const Completion run = completion(Seconds(1000), c);
    const double error = run.ettr / run.ettr_first_order - 1;
    reference::check(row, error);
    CHECK(error > last);
    last = error;
  }
}

TEST_CASE("a restart that failures can cut short costs M (exp(R/M) - 1)") {
  for (const reference::Row& row : reference::rows("restart_time.csv")) {
    Conditions c;
    c.mtbf = Seconds(row.number("mtbf_s"));
    c.interval = Seconds(600);
    c.restart = Seconds(row.number("restart_s"));
    const Completion run = completion(days(70), c);
    // Of all failures a share exp(-R/M) hit work; the others cut a restart short.
    const double restarts = run.failures * std::exp(-(c.restart / c.mtbf));
    reference::check(row, run.waste.restart * run.wall_clock.value / restarts);
  }
}

TEST_CASE("useful time and the four shares of waste sum to the whole, and none is negative") {
  for (const Conditions& c : regimes()) {
    const Completion run = completion(days(30), c);
    const Waste& w = run.waste;
    CHECK(run.ettr + w.checkpoint + w.lost_work + w.restart + w.maintenance == near(1, 1e-13));
    for (const double share : {run.ettr, w.checkpoint, w.lost_work, w.restart, w.maintenance}) {
      CHECK(share >= 0);
      CHECK(share <= 1);
    }
    CHECK(run.ettr * run.wall_clock.value == near(run.useful.value, 1e-14));
    CHECK(run.useful == days(30));
  }
}

TEST_CASE("without waits and planned stops the failures are the run time over the MTBF") {
  for (Conditions c : regimes()) {
    c.wait = c.manual_wait = Seconds(0);
    c.planned_per_day = 0;
    const Completion run = completion(days(30), c);
    CHECK(run.failures == near(run.wall_clock / c.mtbf, 1e-12));
  }
}

TEST_CASE("work lost to a failure is M - P / (exp(P/M) - 1), which is half the period when failures are rare") {
  for (const double period : {1e-9, 1e-4, 9e-4, 1.1e-3, 0.01, 0.1, 1.0, 5.0, 50.0, 1000.0}) {
    CAPTURE(period);
    const TruncatedTime lost = truncated_exponential(1, period);
    if (period >= 0.01) CHECK(lost.mean == near(1 - period / std::expm1(period), 1e-12));
    if (period <= 1e-3) CHECK(lost.mean == near(period / 2, period / 5));
    CHECK(truncated_exponential(3600, 3600 * period).mean == near(3600 * lost.mean, 1e-9));
    CHECK(truncated_exponential(3600, 3600 * period).variance == near(3600.0 * 3600.0 * lost.variance, 1e-9));
  }
  CHECK(truncated_exponential(2, 1e6).mean == near(2, 1e-14));
  CHECK(truncated_exponential(2, 1e6).variance == near(4, 1e-14));
}

TEST_CASE("mean and variance of a cut exponential time are their integrals, from tiny cuts to large ones") {
  using boost::math::quadrature::gauss_kronrod;
  for (const double cut : {1e-6, 1e-4, 9.9e-4, 1.01e-3, 3e-3, 9.9e-3, 1.01e-2, 0.03, 0.1, 0.5, 2.0, 10.0}) {
    CAPTURE(cut);
    const auto integral = [cut](const auto& f) {
      return gauss_kronrod<double, 61>::integrate([&f](double t) { return f(t) * std::exp(-t); }, 0.0, cut, 5, 1e-14);
    };
    const double share = -std::expm1(-cut);
    const double mean = integral([](double t) { return t; }) / share;
    const double variance = integral([mean](double t) { return (t - mean) * (t - mean); }) / share;
    const TruncatedTime time = truncated_exponential(1, cut);
    CHECK(time.mean == near(mean, 1e-10));
    CHECK(time.variance == near(variance, 1e-9));
  }
}

TEST_CASE("mean, spread, failures and waste are those of a run simulated event by event") {
  struct Regime {
    double interval, stall, restart, wait, manual_share, manual_wait;
  };
  std::uint64_t stream = 0;
  for (const Regime& r : {Regime{0.05, 0.002, 0.03, 0, 0, 0}, Regime{0.3, 0.05, 0.2, 0.1, 0.1, 1.0},
                          Regime{1.0, 0.2, 0.0, 0.5, 0.5, 0.1}, Regime{0.1, 0.0, 1.0, 0.3, 1.0, 0.7}}) {
    CAPTURE(r.interval);
    Conditions c;
    c.mtbf = Seconds(1);
    c.interval = Seconds(r.interval);
    c.stall = Seconds(r.stall);
    c.restart = Seconds(r.restart);
    c.wait = Seconds(r.wait);
    c.manual_share = r.manual_share;
    c.manual_wait = Seconds(r.manual_wait);
    constexpr int segments = 20;
    constexpr std::size_t runs = 8000;
    std::vector<double> seconds, failures, lost, down;
    for (std::size_t i = 0; i < runs; ++i) {
      RandomStream random(61, stream++);
      const EventRun run = simulate_events(random, segments, c);
      seconds.push_back(run.seconds);
      failures.push_back(run.failures);
      lost.push_back(run.lost);
      down.push_back(run.down);
    }
    const Completion expected = completion(segments * c.interval, c);
    const auto agrees = [](const Moments& m, double mean) { return std::abs(m.mean - mean) <= 4 * m.mean_error; };
    const Moments m = moments(seconds);
    CHECK(agrees(m, expected.wall_clock.value));
    CHECK(std::abs(m.standard_deviation - expected.standard_deviation.value) <= 4 * m.deviation_error);
    CHECK(agrees(moments(failures), expected.failures));
    CHECK(agrees(moments(lost), expected.waste.lost_work * expected.wall_clock.value));
    CHECK(agrees(moments(down), expected.waste.restart * expected.wall_clock.value));
  }
}

TEST_CASE("a run takes longer with every input that is worse") {
  for (const Conditions& c : regimes()) {
    const double base = completion(days(30), c).wall_clock.value;
    const auto longer = [&](const auto& change) {
      Conditions worse = c;
      change(worse);
      return completion(days(30), worse).wall_clock.value > base;
    };
    CHECK(longer([](Conditions& w) { w.mtbf = 0.9 * w.mtbf; }));
    CHECK(longer([](Conditions& w) { w.stall += Seconds(1); }));
    CHECK(longer([](Conditions& w) { w.restart += Seconds(1); }));
    CHECK(longer([](Conditions& w) { w.wait += Seconds(1); }));
    CHECK(longer([](Conditions& w) {
      w.manual_share += 0.01;
      w.manual_wait = w.wait + w.manual_wait + Seconds(1);
    }));
    CHECK(longer([](Conditions& w) {
      w.planned_per_day += 1;
      w.planned_duration += Seconds(1);
    }));
    CHECK(completion(days(31), c).wall_clock.value > base);
    CHECK(completion(days(60), c).wall_clock.value == near(2 * base, 1e-13));
    CHECK(completion(days(120), c).standard_deviation.value ==
          near(2 * completion(days(30), c).standard_deviation.value, 1e-12));
  }
}

TEST_CASE("all answers scale with the unit of time") {
  for (const Conditions& c : regimes()) {
    Conditions minutes = c;
    for (Seconds* t : {&minutes.mtbf, &minutes.interval, &minutes.stall, &minutes.restart, &minutes.wait,
                       &minutes.manual_wait, &minutes.planned_duration}) {
      *t = *t / 60;
    }
    minutes.planned_per_day *= 60;
    const Completion a = completion(days(30), c);
    const Completion b = completion(days(30) / 60, minutes);
    CHECK(b.wall_clock.value * 60 == near(a.wall_clock.value, 1e-13));
    CHECK(b.standard_deviation.value * 60 == near(a.standard_deviation.value, 1e-9));
    CHECK(b.failures == near(a.failures, 1e-13));
    CHECK(b.planned_stops == near(a.planned_stops, 1e-13));
    CHECK(b.ettr == near(a.ettr, 1e-13));
    CHECK(b.ettr_first_order == near(a.ettr_first_order, 1e-13));
  }
}

TEST_CASE("without failures a run is its work and its checkpoints") {
  Conditions c = cases::named("G1").conditions;
  c.planned_per_day = 0;
  for (const double mtbf : {1e15, 1e18, 1e30, 1e300}) {
    CAPTURE(mtbf);
    c.mtbf = Seconds(mtbf);
    const Completion run = completion(days(70), c);
    CHECK(run.wall_clock / days(70) == near(1 + c.stall / c.interval, 1e-7));
    CHECK(run.failures == near(run.wall_clock / c.mtbf, 1e-5));
    CHECK(run.ettr == near(run.ettr_first_order, 1e-7));
    // Half a segment and one restart a failure, to all digits: small shares must not be noise.
    const double failures_a_second = run.failures / run.wall_clock.value;
    CHECK(run.waste.lost_work == near(failures_a_second * (c.interval + c.stall).value / 2, 1e-11));
    CHECK(run.waste.restart == near(failures_a_second * (c.restart + c.mean_wait()).value, 1e-11));
    CHECK(run.standard_deviation < Seconds(100));
  }
}

TEST_CASE("exact and first order meet as failures become rare, quadratically in the load") {
  Conditions c = cases::named("G0").conditions;
  c.stall = Seconds(0);  // the first order also leaves out failures while writing, which is linear
  double last = 0;
  for (const double factor : {1.0, 10.0, 100.0}) {
    Conditions rare = c;
    rare.mtbf = factor * c.mtbf;
    const Completion run = completion(days(70), rare);
    const double gap = std::abs(run.ettr / run.ettr_first_order - 1);
    if (last > 0) CHECK(gap < last / 50);
    last = gap;
  }
}

TEST_CASE("planned stops cost their write and their time, at their rate of working time") {
  Conditions c = cases::named("G0").conditions;
  const Completion without = completion(days(70), c);
  c.planned_per_day = 2;
  c.planned_duration = Seconds(900);
  const Completion with = completion(days(70), c);
  const double working = (1 - without.waste.restart) * in_days(without.wall_clock);
  CHECK(with.planned_stops == near(2 * working, 1e-13));
  CHECK((with.wall_clock - without.wall_clock).value == near(with.planned_stops * (900 + c.stall.value), 1e-9));
  CHECK(with.failures == without.failures);
  CHECK(with.ettr_first_order == without.ettr_first_order);
}

TEST_CASE("failures that wait for a person wait that long instead") {
  Conditions c = cases::named("G0").conditions;
  const Completion none = completion(days(70), c);
  c.wait = Seconds(100);
  c.manual_share = 0.25;
  c.manual_wait = Seconds(1000);
  CHECK(c.mean_wait() == Seconds(325));
  const Completion waits = completion(days(70), c);
  CHECK((waits.wall_clock - none.wall_clock).value == near(325 * none.failures, 1e-9));
  CHECK(waits.waste.lost_work * waits.wall_clock.value == near(none.waste.lost_work * none.wall_clock.value, 1e-12));
}

TEST_CASE("inputs out of range are refused by name") {
  const Conditions good = cases::named("G1").conditions;
  struct Field {
    const char* name;
    Seconds Conditions::*field;
    bool zero_is_fine;
  };
  const double inf = std::numeric_limits<double>::infinity();
  for (const Field& f :
       {Field{"MTBF", &Conditions::mtbf, false}, Field{"checkpoint interval", &Conditions::interval, false},
        Field{"checkpoint stall", &Conditions::stall, true}, Field{"restart time", &Conditions::restart, true},
        Field{"wait", &Conditions::wait, true}, Field{"manual wait", &Conditions::manual_wait, true},
        Field{"planned duration", &Conditions::planned_duration, true}}) {
    CAPTURE(std::string(f.name));
    for (const double bad : {-1.0, std::nan(""), inf, -inf, 0.0}) {
      CAPTURE(bad);
      Conditions c = good;
      c.*f.field = Seconds(bad);
      if (bad == 0 && f.zero_is_fine) {
        CHECK(completion(days(1), c).wall_clock > days(1));
        continue;
      }
      const Error error = thrown::by([&] { (void)completion(days(1), c); });
      CHECK(error.failure() == Failure::usage);
      CHECK(thrown::says(error, std::string(f.name) + " must be "));
    }
  }
  for (const double bad : {-0.1, 1.1, std::nan(""), inf}) {
    Conditions c = good;
    c.manual_share = bad;
    CHECK(thrown::says(thrown::by([&] { (void)completion(days(1), c); }), "manual share must be"));
  }
  for (const double bad : {-1.0, std::nan(""), inf}) {
    Conditions c = good;
    c.planned_per_day = bad;
    CHECK(thrown::says(thrown::by([&] { (void)completion(days(1), c); }), "planned stops a day must be"));
  }
  for (const double bad : {0.0, -1.0, std::nan(""), inf}) {
    CHECK(thrown::says(thrown::by([&] { (void)completion(Seconds(bad), good); }), "useful time must be"));
  }
}

TEST_CASE("a run that would never end is infeasible and says why") {
  for (const double longer : {50.0, 700.0, 1e4, 1e300}) {
    CAPTURE(longer);
    Conditions c = cases::named("G0").conditions;
    c.interval = longer * c.mtbf;
    const Error interval = thrown::by([&] { (void)completion(days(70), c); });
    CHECK(interval.failure() == Failure::infeasible);
    CHECK(interval.exit_status() == 3);
    CHECK(thrown::says(interval, "MTBF of 3.09 h"));
    c = cases::named("G0").conditions;
    c.restart = longer * c.mtbf;
    CHECK(thrown::by([&] { (void)completion(days(70), c); }).failure() == Failure::infeasible);
  }
}

TEST_CASE("an expert's remarks come when the first order breaks and when writes or restarts outlast the MTBF") {
  Conditions c;
  c.mtbf = Seconds(1000);
  c.interval = Seconds(100);
  c.restart = Seconds(100);
  CHECK(cautions(c).empty());
  c.wait = Seconds(99);
  CHECK_FALSE(warns(c, "first_order_breaks"));
  c.wait = Seconds(101);
  CHECK(warns(c, "first_order_breaks"));
  CHECK_FALSE(warns(c, "restart_exceeds_mtbf"));
  c.restart = Seconds(1000);
  CHECK(warns(c, "restart_exceeds_mtbf"));
  CHECK_FALSE(warns(c, "checkpoint_exceeds_mtbf"));
  c.stall = Seconds(1000);
  CHECK(warns(c, "checkpoint_exceeds_mtbf"));
  for (const Warning& w : cautions(c)) CHECK(w.message.find_first_of("0123456789") != std::string::npos);
  CHECK(warns(cases::named("G7").conditions, "first_order_breaks"));
  CHECK_FALSE(warns(cases::named("G1").conditions, "first_order_breaks"));
}
