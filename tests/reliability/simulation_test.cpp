// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/reliability/simulation.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "floplan/reliability/completion.hpp"
#include "floplan/reliability/one_tier.hpp"
#include "reliability/cases.hpp"
#include "reliability/event_simulation.hpp"
#include "reliability/simulation_cases.hpp"
#include "support/moments.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

// As many runs as make about 300,000 interruptions; FLOPLAN_SIMULATION_RUNS asks for more.
std::size_t runs_of(const simulation_cases::Case& c) {
  if (const char* asked = std::getenv("FLOPLAN_SIMULATION_RUNS")) return std::strtoull(asked, nullptr, 10);
  return static_cast<std::size_t>(3e5 / reliability::detail::events_of(c.useful, c.process)) + 25;
}

SimulationReport simulate_case(const simulation_cases::Case& c, const SimulationOptions& options) {
  return c.spread.failure_events > 0 ? simulate(c.useful, c.process, c.spread, options)
                                     : simulate(c.useful, c.process, options);
}

struct Sampled {
  double value = 0;
  double error = 0;  // standard error at the runs of this sample
};

// The error of quantile p is sqrt(p (1 - p) / n) over the density there, taken from the sample itself.
Sampled quantile(const RunSummary& s, double p) {
  const double n = static_cast<double>(s.count());
  const double half = std::max(0.04, 1 / std::sqrt(n));
  const double low = std::max(0.0, p - half);
  const double high = std::min(1.0, p + half);
  const double slope = (s.quantile(high) - s.quantile(low)) / (high - low);
  return {s.quantile(p), slope * std::sqrt(p * (1 - p) / n)};
}

Sampled sampled(const SimulationReport& r, const std::string& quantity) {
  const double n = static_cast<double>(r.runs);
  const auto of = [&](const RunSummary& s, const std::string& what) -> Sampled {
    if (what.empty()) return {s.mean(), s.standard_error()};
    if (what == " sd") return {s.standard_deviation(), s.deviation_error()};
    return quantile(s, std::stod(what.substr(2)) / 100);
  };
  if (quantity.starts_with("days")) return of(r.wall_clock_days, quantity.substr(4));
  if (quantity.starts_with("interruptions")) return of(r.interruptions, quantity.substr(13));
  if (quantity == "failures") return of(r.failures, "");
  if (quantity == "planned stops") return of(r.planned_stops, "");
  if (quantity == "manual failures") return {r.failures_by_class[2], std::sqrt(r.failures_by_class[2] / n)};
  if (quantity == "lost hours") return of(r.lost_hours, "");
  if (quantity == "down hours") return of(r.down_hours, "");
  REQUIRE(quantity == "ettr");
  return {r.ettr, r.ettr * r.wall_clock_days.standard_error() / r.wall_clock_days.mean()};
}

bool same(const SimulationReport& a, const SimulationReport& b) {
  return a.wall_clock_days.mean() == b.wall_clock_days.mean() &&
         a.wall_clock_days.standard_deviation() == b.wall_clock_days.standard_deviation() &&
         a.wall_clock_days.quantile(0.3) == b.wall_clock_days.quantile(0.3) && a.ettr == b.ettr &&
         a.mean_days() == b.mean_days() && a.waste.restart == b.waste.restart &&
         a.interruptions.mean() == b.interruptions.mean();
}

}  // namespace

TEST_CASE("every simulated quantity is that of an independent simulator within four joint standard errors") {
  std::map<std::string, SimulationReport> reports;
  for (const reference::Row& row : reference::rows("simulation_cases.csv")) {
    const simulation_cases::Case c = simulation_cases::of(row);
    reports.emplace(row.name(), simulate_case(c, {.runs = runs_of(c), .seed = 7}));
  }
  for (const reference::Row& row : reference::rows("simulation_goldens.csv")) {
    const SimulationReport& r = reports.at(row.text("case"));
    const Sampled s = sampled(r, row.text("quantity"));
    reference::check(row, s.value, 4 * s.error * std::sqrt(1 + static_cast<double>(r.runs) / row.number("runs")));
  }
}

TEST_CASE("the mean sharpened by control variates is the closed form of one tier") {
  for (const char* name : {"G0", "G1", "G5"}) {
    CAPTURE(std::string(name));
    const cases::Case exact = cases::named(name);
    RunProcess p = process_of(exact.conditions);
    p.planned = {};
    Conditions c = exact.conditions;
    c.planned_per_day = 0;
    const Seconds useful = exact.useful * 0.1;
    const SimulationReport r = simulate(useful, p, {.runs = 4000, .seed = 3});
    const Completion expected = completion(useful, c);
    CHECK(std::abs(r.mean_days() - in_days(expected.wall_clock)) <= 4 * r.mean_days_error());
    CHECK(r.days_controlled.gain() > 5);
    CHECK(r.mean_days_error() < r.wall_clock_days.standard_error() / 2);
    CHECK(std::abs(r.wall_clock_days.standard_deviation() - in_days(expected.standard_deviation)) <=
          4 * r.wall_clock_days.deviation_error());
    CHECK(std::abs(r.failures.mean() - expected.failures) <= 4 * r.failures.standard_error());
  }
}

TEST_CASE("the shares of a simulated run's time sum to one, whatever the process") {
  for (const reference::Row& row : reference::rows("simulation_cases.csv")) {
    CAPTURE(row.name());
    simulation_cases::Case c = simulation_cases::of(row);
    c.process.slowdown = {0.01, 2048, 0.02};
    c.process.spares = SparePool{3, TimeLaw::exponential(hours(1)), 0.8, Shrink{16, 256, 12, Seconds(30)}};
    for (std::uint64_t i = 0; i < 20; ++i) {
      RandomStream random(5, i);
      const SimulatedRun r = RunSimulator(c.process)(random, c.useful * 0.02);
      CHECK(r.useful + r.stalled + r.lost_work + r.slowed + r.down() == near(r.wall_clock, 1e-12));
      CHECK(r.slowed > 0);
      CHECK(r.stalled > 0);
    }
  }
}

TEST_CASE("the plain process and the general one are the same run of the same stream") {
  for (const char* name : {"G0", "G1", "G7"}) {
    CAPTURE(std::string(name));
    const simulation_cases::Case c = simulation_cases::named(name);
    RunProcess general = c.process;
    // A swing too small to see leaves the process as it is and takes the general path.
    general.slowdown.steady = 1e-300;
    general.checkpoints.persist = Seconds(1e-300);
    for (std::uint64_t i = 0; i < 30; ++i) {
      RandomStream one(9, i), other(9, i);
      const SimulatedRun a = RunSimulator(c.process)(one, c.useful * 0.1);
      const SimulatedRun b = RunSimulator(general)(other, c.useful * 0.1);
      CHECK(a.wall_clock == near(b.wall_clock, 1e-9));
      CHECK(a.failures == b.failures);
      CHECK(a.planned_stops == b.planned_stops);
      CHECK(a.lost_work == near(b.lost_work, 1e-7));
    }
  }
}

TEST_CASE("a simulation has the same bits at any thread count and other bits at another seed") {
  for (const char* name : {"G2", "G3", "G4"}) {
    CAPTURE(std::string(name));
    simulation_cases::Case c = simulation_cases::named(name);
    c.useful = c.useful * 0.02;
    const SimulationReport one = simulate_case(c, {.runs = 700, .seed = 11, .threads = 1});
    for (const unsigned threads : {2U, 3U, 8U})
      CHECK(same(one, simulate_case(c, {.runs = 700, .seed = 11, .threads = threads})));
    CHECK_FALSE(same(one, simulate_case(c, {.runs = 700, .seed = 12})));
  }
}

TEST_CASE("a stopped simulation reports the runs that it finished and says so") {
  simulation_cases::Case c = simulation_cases::named("G3");
  std::stop_source stop;
  std::vector<std::size_t> seen;
  SimulationOptions options{.runs = 100000, .seed = 2, .stop = stop.get_token()};
  c.useful = c.useful * 0.001;
  options.progress = [&](std::size_t done, std::size_t of) {
    CHECK(of == 100000);
    seen.push_back(done);
    if (seen.size() == 2) stop.request_stop();
  };
  const SimulationReport r = simulate(c.useful, c.process, options);
  CHECK_FALSE(r.complete);
  REQUIRE(seen.size() == 2);
  CHECK(r.runs == seen.back());
  CHECK(r.runs < 100000);
  CHECK(r.describe().find("stopped early") != std::string::npos);
  const SimulationReport whole = simulate(c.useful, c.process, {.runs = r.runs, .seed = 2});
  CHECK(same(r, whole));
  CHECK(whole.complete);
  const Error none = thrown::by([&] { (void)simulate(c.useful, c.process, options); });
  CHECK(none.failure() == Failure::no_answer);
}

TEST_CASE("impossible processes and senseless ones are refused by name") {
  const simulation_cases::Case c = simulation_cases::named("G3");
  const auto refused = [&](const char* rule, const auto& change) {
    CAPTURE(std::string(rule));
    RunProcess p = c.process;
    const Error e = thrown::by([&] {
      change(p);
      (void)simulate(c.useful, p, {.runs = 2});
    });
    CHECK(thrown::says(e, rule));
  };
  refused("MTBF must be positive", [](RunProcess& p) { p.failures.mtbf = Seconds(0); });
  refused("memory share must be from 0 to 1", [](RunProcess& p) { p.memory_share = 1.5; });
  refused("storage checkpoint must be a whole number from 1", [](RunProcess& p) { p.checkpoints.storage_every = 0; });
  refused("time to persist must be at most", [](RunProcess& p) { p.checkpoints.persist = hours(1); });
  refused("not both", [](RunProcess& p) { p.planned.every = days(1); });
  refused("must exceed the", [](RunProcess& p) { p.planned = {0, Seconds(300), Seconds(600)}; });
  refused("shape must be from 0.1 to 10",
          [](RunProcess& p) { p.failures.kind = FailureLaw::Kind::weibull, p.failures.shape = std::nan(""); });
  refused("coefficient of variation", [](RunProcess& p) { p.storage.wait = TimeLaw::gamma(Seconds(5), -1); });
  refused("observed times must be given", [](RunProcess& p) { p.storage.wait = TimeLaw::observed({}); });
  refused("repair time must be positive", [](RunProcess& p) { p.spares = SparePool{}; });
  const Error none = thrown::by([&] { (void)simulate(c.useful, c.process, {.runs = 0}); });
  CHECK(thrown::says(none, "runs must be from 1"));
}

TEST_CASE("54 days of running at Table 5's rate have its interruptions, as a Poisson count scatters") {
  const reference::Row window = reference::row("table5_window.csv", "Llama 3 405B");
  RunProcess p;
  p.failures.mtbf = cases::table5().mtbf(Count(window.number("accelerators")));
  p.checkpoints.interval = Seconds(465);
  p.checkpoints.storage_stall = Seconds(10);  // and no time lost to restarts: what runs is what is counted
  const Seconds useful = days(window.number("days")) * one_tier(days(1), p).ettr;
  const SimulationReport r = simulate(useful, p, {.runs = 4000, .seed = 54});
  const double events = window.number("events");
  const double running = r.wall_clock_days.mean() / window.number("days");
  CHECK(running == near(1, 0.001));
  CHECK(std::abs(r.failures.mean() / running - events) < 4 * std::sqrt(events / 4000));
  // The end of the work and not of a calendar ends a run: 2% more scatter than Poisson's, by the work lost.
  CHECK(r.failures.standard_deviation() == near(std::sqrt(events), 0.06));
}
