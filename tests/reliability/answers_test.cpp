// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "floplan/reliability/best_checkpoints.hpp"
#include "floplan/reliability/cluster_size.hpp"
#include "floplan/reliability/improvement.hpp"
#include "floplan/reliability/run_summary.hpp"
#include "reliability/simulation_cases.hpp"
#include "support/moments.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

RunProcess llama_with(Seconds stall) {
  RunProcess p;
  p.failures.mtbf = simulation_cases::named("G0").process.failures.mtbf;
  p.checkpoints.storage_stall = stall;
  return p;
}

double ratio_at(RunProcess p, double interval, int every) {
  p.checkpoints.interval = Seconds(interval);
  p.checkpoints.storage_every = every;
  return 1 / closed_form(days(1), p).completion.ettr;
}

}  // namespace

TEST_CASE("no checkpoints near the best ones are better, and the flat region ends where it says") {
  for (const char* name : {"G1", "G3", "G6", "G8"}) {
    CAPTURE(std::string(name));
    const RunProcess p = simulation_cases::named(name).process;
    const BestCheckpoints b = best_checkpoints(p, 0.01);
    const double t1 = b.tiers.interval.value;
    const int m = b.tiers.storage_every;
    const double best = ratio_at(p, t1, m);
    CHECK(best == near(1 / b.ettr, 1e-12));
    // Planned stops pull the minimum from the root of the failures alone by less than 1e-5 of the time.
    for (const double f : {0.7, 0.97, 1.03, 1.4}) CHECK(best <= ratio_at(p, f * t1, m) * (1 + 1e-5));
    if (p.memory_share > 0) {
      for (const int other : {m - 1, m + 1, m / 2, 2 * m}) CHECK(best <= ratio_at(p, t1, other) * (1 + 1e-9));
      CHECK(ratio_at(p, t1, static_cast<int>(b.flat_storage_every.high)) <= best * 1.01);
      CHECK(ratio_at(p, t1, static_cast<int>(b.flat_storage_every.high) + 1) > best * 1.01);
    }
    CHECK(ratio_at(p, b.flat_interval.low, m) == near(1.01 * best, 1e-6));
    CHECK(ratio_at(p, b.flat_interval.high, m) == near(1.01 * best, 1e-6));
  }
}

TEST_CASE("a background write bounds the best interval from below and does not move it otherwise") {
  RunProcess p = llama_with(Seconds(2));
  p.storage.restart = TimeLaw::fixed(Seconds(300));
  const Seconds best = best_checkpoints(p).tiers.interval;
  p.checkpoints.persist = Seconds(120);
  CHECK(best_checkpoints(p).tiers.interval == best);
  p.checkpoints.persist = Seconds(400);
  CHECK(best_checkpoints(p).tiers.interval.value == near(398, 1e-12));
}

// The published limits of 11.1, 5.6 and 0.25 min are those of the first order.
TEST_CASE("the restart that an ETTR of 0.90 allows meets it exactly, or there is none") {
  for (const double size : {16384.0, 1e5, 1e6}) {
    for (const double stall : {0.1, 3.0, 10.0, 30.0, 60.0}) {
      CAPTURE(size);
      CAPTURE(stall);
      RunProcess p = process_at(llama_with(Seconds(stall)), Count(16384), Count(size));
      const auto longest = longest_restart(p, 0.9);
      p.storage.restart = TimeLaw::fixed(longest.value_or(Seconds(0)));
      const double ettr = best_checkpoints(p).ettr;
      if (longest) {
        CHECK(ettr == near(0.9, 1e-9));
      } else {
        CHECK(ettr < 0.9);
      }
    }
  }
  const auto minutes_at = [](double stall) { return longest_restart(llama_with(Seconds(stall)), 0.9)->value / 60; };
  for (const reference::Row& row : reference::rows("restart_limits.csv")) {
    const double stall = row.number("stall_s");
    if (stall >= 60) {
      CHECK_FALSE(longest_restart(llama_with(Seconds(stall)), 0.9));
    } else {
      // The exact form allows a little more than the first order, less than a minute here.
      CHECK(minutes_at(stall) > row.value());
      CHECK(minutes_at(stall) < row.value() + 1);
    }
  }
}

TEST_CASE("goodput falls with size, and beyond the most useful size more accelerators do less") {
  for (const char* name : {"G1", "G3"}) {
    CAPTURE(std::string(name));
    const RunProcess p = simulation_cases::named(name).process;
    double last = 1;
    for (const SizePoint& s : goodput_by_size(p, Count(16384), {Count(1024), Count(16384), Count(1e5), Count(1e6)})) {
      CHECK(s.ettr < last);
      CHECK(s.ettr > 0);
      last = s.ettr;
    }
    const SizePoint most = most_useful_size(p, Count(16384));
    for (const double f : {0.7, 0.95, 1.05, 1.4}) {
      const SizePoint other = goodput_at(p, Count(16384), most.accelerators * f);
      CHECK(other.effective_accelerators() < most.effective_accelerators());
    }
  }
  const RunProcess there = process_at(simulation_cases::named("G1").process, Count(16384), Count(1e5));
  const RunProcess known = simulation_cases::named("G5").process;
  CHECK(there.failures.mtbf.value == near(known.failures.mtbf.value, 1e-12));
  CHECK(there.manual_share == near(known.manual_share, 1e-12));
}

TEST_CASE("each improvement saves what the closed form says, and none makes a run longer") {
  for (const char* name : {"G1", "G3"}) {
    CAPTURE(std::string(name));
    const simulation_cases::Case c = simulation_cases::named(name);
    RunProcess p = c.process;
    p.spares = SparePool{12, TimeLaw::exponential(hours(24)), 1, {}};
    const std::vector<Improvement> all = improvements(c.useful, p, Count(16384));
    CHECK(all.size() >= 6);
    for (const Improvement& i : all) {
      CAPTURE(i.name);
      CHECK(i.days_saved > 0);
      CHECK(i.hours_saved == near(i.days_saved * 24 * 16384, 1e-12));
      CHECK(closed_form(c.useful, i.process).completion.wall_clock == i.wall_clock);
    }
  }
}

TEST_CASE("a summary is exact while it keeps its values and right to a cell when it counts") {
  RunSummary s;
  std::vector<double> values;
  RandomStream random(4);
  for (int i = 0; i < 200000; ++i) {
    // A late tail on both sides, so that the cells have to widen.
    const double x = i == 150000 ? 60 : i == 160000 ? -90 : -std::log(random.uniform());
    s.add(x);
    values.push_back(x);
    if (i + 1 == 60000) {
      const Distribution exact = summarise(values);
      CHECK(s.resolution() == 0);
      CHECK(s.quantile(0.1) == exact.p10);
      CHECK(s.distribution().p95 == exact.p95);
    }
  }
  const Moments m = moments(values);
  CHECK(s.mean() == near(m.mean, 1e-12));
  CHECK(s.standard_deviation() == near(m.standard_deviation, 1e-10));
  CHECK(s.deviation_error() == near(m.deviation_error, 1e-4));
  std::sort(values.begin(), values.end());
  CHECK(s.resolution() > 0);
  CHECK(s.resolution() <= 150.0 / 4096);
  for (const double p : {0.0, 0.01, 0.1, 0.5, 0.9, 0.999, 1.0}) {
    CAPTURE(p);
    CHECK(std::abs(s.quantile(p) - quantile_of_sorted(values, p)) <= s.resolution() * 1.001);
  }
  for (const double x : {-100.0, 0.0, 0.5, 2.0, 100.0}) {
    const auto below = static_cast<double>(std::upper_bound(values.begin(), values.end(), x) - values.begin());
    CHECK(std::abs(s.at_most(x) - below / 200000) <= 1.1 * s.resolution());
  }
  CHECK(thrown::by([&s] { s.add(std::nan("")); }).failure() == Failure::no_answer);
}
