// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/reliability/completion_draw.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/core/parallel_for.hpp"
#include "reliability/cases.hpp"
#include "support/moments.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

struct Sample {
  std::vector<double> seconds, failures, planned, interruptions;
};

Sample draw(const cases::Case& run, std::size_t count, std::uint64_t seed) {
  Sample out;
  for (std::size_t i = 0; i < count; ++i) {
    RandomStream stream(seed, i);
    const CompletionDraw d = draw_completion(stream, run.useful, run.conditions);
    out.seconds.push_back(d.wall_clock.value);
    out.failures.push_back(d.failures);
    out.planned.push_back(d.planned_stops);
    out.interruptions.push_back(d.failures + d.planned_stops);
  }
  return out;
}

void check_moments(const cases::Case& run, std::size_t count, std::uint64_t seed) {
  const Completion expected = completion(run.useful, run.conditions);
  const Sample sample = draw(run, count, seed);
  const Moments seconds = moments(sample.seconds);
  CAPTURE(seconds.mean);
  CAPTURE(expected.wall_clock.value);
  CHECK(std::abs(seconds.mean - expected.wall_clock.value) <= 4 * seconds.mean_error);
  CAPTURE(seconds.standard_deviation);
  CAPTURE(expected.standard_deviation.value);
  CHECK(std::abs(seconds.standard_deviation - expected.standard_deviation.value) <= 4 * seconds.deviation_error);
  const Moments failures = moments(sample.failures);
  CHECK(std::abs(failures.mean - expected.failures) <= 4 * failures.mean_error);
  const Moments planned = moments(sample.planned);
  CHECK(std::abs(planned.mean - expected.planned_stops) <= 4 * planned.mean_error);
}

}  // namespace

TEST_CASE("draws have the mean and spread of the closed form in every reference regime") {
  for (const reference::Row& row : reference::rows("completion_cases.csv")) {
    CAPTURE(row.name());
    check_moments(cases::of(row), 40000, 71);
  }
}

TEST_CASE("draws have the mean and spread of the closed form when most failures wait for a person") {
  for (const double share : {0.3, 0.9, 1.0}) {
    CAPTURE(share);
    cases::Case run = cases::named("G1");
    run.conditions.manual_share = share;
    run.conditions.wait = Seconds(60);
    run.conditions.manual_wait = hours(2);
    check_moments(run, 20000, 72);
  }
}

TEST_CASE("draws have the mean and spread of the closed form with a dozen failures and with a million") {
  cases::Case few = cases::named("G1");
  few.useful = days(1.5);
  check_moments(few, 20000, 73);
  cases::Case many = cases::named("G7");
  many.useful = 30 * many.useful;
  CHECK(completion(many.useful, many.conditions).failures > 1e6);
  check_moments(many, 5000, 74);
}

TEST_CASE("draws have the quantiles of the event simulations") {
  std::map<std::string, Sample> samples;
  constexpr std::size_t count = 20000;
  for (const reference::Row& row : reference::rows("completion_draws.csv")) {
    const std::string name = row.text("case");
    if (!samples.contains(name)) samples[name] = draw(cases::named(name), count, 75);
    const Sample& sample = samples[name];
    const std::string quantity = row.text("quantity");
    const bool days_asked = quantity.ends_with("_days");
    const Distribution d = summarise(days_asked ? sample.seconds : sample.interruptions);
    const double unit = days_asked ? seconds_per_day : 1;
    // A quantile of a normal sample has a standard error of 1.71 sd / sqrt(n) at 10% and 90%, and 1.25 in the middle.
    const double error = d.standard_deviation / unit / std::sqrt(static_cast<double>(count));
    if (quantity == "interruptions_sd") {
      reference::check(row, d.standard_deviation, 4 * error / std::sqrt(2.0));
    } else if (quantity.starts_with("p50")) {
      reference::check(row, d.p50 / unit, 4 * 1.25 * error);
    } else {
      reference::check(row, (quantity.starts_with("p10") ? d.p10 : d.p90) / unit, 4 * 1.71 * error);
    }
  }
}

TEST_CASE("the same seed and index give the same bits, at any number of threads") {
  const cases::Case run = cases::named("G5");
  const auto drawn = [&run](unsigned threads) {
    std::vector<double> out(500);
    parallel_for(out.size(), threads, [&](std::size_t i) {
      RandomStream stream(76, i);
      out[i] = draw_completion(stream, run.useful, run.conditions).wall_clock.value;
    });
    return out;
  };
  const std::vector<double> one = drawn(1);
  CHECK(drawn(2) == one);
  CHECK(drawn(5) == one);
  RandomStream other(77, 0);
  CHECK(draw_completion(other, run.useful, run.conditions).wall_clock.value != one[0]);
}

TEST_CASE("no draw is shorter than the work and its checkpoints, and counts are whole") {
  for (const char* name : {"G0", "G1", "G5", "G7", "daly-15min"}) {
    CAPTURE(std::string(name));
    const cases::Case run = cases::named(name);
    const double least = run.useful.value * (1 + run.conditions.stall / run.conditions.interval);
    const Sample sample = draw(run, 2000, 78);
    bool long_enough = true;
    bool whole = true;
    for (std::size_t i = 0; i < sample.seconds.size(); ++i) {
      long_enough = long_enough && sample.seconds[i] >= least * (1 - 1e-12);
      whole = whole && sample.failures[i] == std::floor(sample.failures[i]) && sample.failures[i] >= 0 &&
              sample.planned[i] == std::floor(sample.planned[i]) && sample.planned[i] >= 0;
    }
    CHECK(long_enough);
    CHECK(whole);
  }
}

TEST_CASE("where nothing fails and nothing is planned every draw is the work and its checkpoints") {
  cases::Case run = cases::named("G0");
  run.conditions.mtbf = Seconds(1e30);
  RandomStream stream(79);
  const CompletionDraw d = draw_completion(stream, run.useful, run.conditions);
  CHECK(d.failures == 0);
  CHECK(d.planned_stops == 0);
  CHECK(d.wall_clock.value == near(completion(run.useful, run.conditions).wall_clock.value, 1e-14));
}
