// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/reliability/failure_study.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <boost/random/poisson_distribution.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "floplan/core/random.hpp"
#include "floplan/reliability/failure_log_reader.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/shared_data.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

// Failures of a Poisson process on [0, total], or of the power-law process of this exponent.
std::vector<double> process(std::uint64_t seed, std::uint64_t stream, double events, double total, double power = 1) {
  RandomStream random(seed, stream);
  boost::random::poisson_distribution<int> count(events);
  std::vector<double> out(static_cast<std::size_t>(count(random)));
  for (double& t : out) t = total * std::pow(random.uniform(), 1 / power);
  std::sort(out.begin(), out.end());
  return out;
}

void check_study(const std::string& name, const FailureStudy& study) {
  for (const reference::Row& row : reference::rows("failure_log_study.csv")) {
    if (row.name() != name) continue;
    const std::string quantity = row.text("quantity");
    if (quantity == "failures") reference::check(row, study.failures);
    if (quantity == "per_day") reference::check(row, study.projections.front().per_day.value);
    if (quantity == "per_node_day") reference::check(row, study.per_node_day.value);
    if (quantity == "accelerator_hours") reference::check(row, 1 / study.per_accelerator_hour.value);
    if (quantity == "mtbf_hours") reference::check(row, study.mtbf_hours.value, 1e-9);
  }
}

}  // namespace

TEST_CASE("Table 5's counts give the published rate with an interval that holds it") {
  const std::filesystem::path path = shared_data::folder() / "llama3_interruptions.csv";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no " << path.string());
    return;
  }
  LogOptions options;
  options.accelerators = Count(16384);
  options.window = days(54);
  const FailureStudy study = study_failures(read_failure_log(read_text_file(path), "table5.csv", options));
  CHECK(study.log.format == LogFormat::counts);
  check_study("Llama 3", study);
  const Interval& i = study.per_node_day.interval;
  CHECK(i.low < study.per_node_day.value);
  CHECK(i.high > study.per_node_day.value);
  // 419 events know their rate to 1.645 / sqrt(419) either way.
  CHECK(i.high / i.low == near(std::exp(2 * 1.645 / std::sqrt(419.0)), 0.002));
  CHECK(study.trend.verdict == FailureTrend::Verdict::too_few);
  CHECK_FALSE(study.lemons.has_value());
}

TEST_CASE("planned ends of allocations are no failures, as a list too") {
  LogOptions options;
  options.nodes = Count(64);
  options.start = "2024-05-01T00:00:00Z";
  options.end = "2024-05-04T00:00:00Z";
  const std::string text =
      "time,category\n2024-05-01T10:00:00Z,crash\n2024-05-02T00:00:00Z,end of allocation\n"
      "2024-05-02T20:00:00Z,crash\n2024-05-03T00:00:00Z,end of allocation\n2024-05-04T00:00:00Z,end of allocation\n";
  const FailureStudy study = study_failures(read_failure_log(text, "k11.csv", options));
  check_study("planned ends", study);
  REQUIRE(study.excluded.size() == 1);
  CHECK(study.excluded.front().second == 3);
}

TEST_CASE("exact intervals are the tabulated ones, and no event gives a bound") {
  for (const reference::Row& row : reference::rows("poisson_intervals.csv")) {
    const RatePosterior rate = rate_posterior(row.number("events"), 1, row.number("level"));
    reference::check(row, row.text("end") == "low" ? rate.exact.low : rate.exact.high);
  }
  const RatePosterior none = rate_posterior(0, 100);
  CHECK(none.value == 0);
  CHECK(none.interval.low == 0);
  CHECK(none.interval.high > 0);
  CHECK(none.interval.high < none.exact.high);
}

TEST_CASE("the credible interval lies within the exact one and scales with the unit") {
  for (const double events : {1.0, 2.0, 7.0, 30.0, 419.0, 1e5}) {
    for (const double level : {0.5, 0.8, 0.9, 0.99}) {
      const RatePosterior rate = rate_posterior(events, 12.5, level);
      CHECK(rate.interval.low > rate.exact.low);
      CHECK(rate.interval.high < rate.exact.high);
      const RatePosterior daily = rate.scaled(24);
      CHECK(daily.interval.high == near(rate_posterior(events, 12.5 / 24, level).interval.high, 1e-12));
    }
  }
}

TEST_CASE("intervals of rates cover the planted rate as often as they say") {
  for (const double mean : {3.0, 20.0}) {
    std::size_t inside = 0;
    std::size_t exact = 0;
    constexpr std::size_t trials = 4000;
    for (std::size_t i = 0; i < trials; ++i) {
      RandomStream random(11, i);
      boost::random::poisson_distribution<int> count(mean);
      const RatePosterior rate = rate_posterior(count(random), 1, 0.9);
      inside += rate.interval.low <= mean && mean <= rate.interval.high ? 1 : 0;
      exact += rate.exact.low <= mean && mean <= rate.exact.high ? 1 : 0;
    }
    // Jeffreys covers on average over rates: single ones scatter by some hundredths (Brown, Cai and DasGupta 2003).
    CHECK(static_cast<double>(inside) / trials == doctest::Approx(0.9).epsilon(0.05));
    CHECK(static_cast<double>(exact) / trials > 0.88);
  }
}

TEST_CASE("the power-law process has the modified estimate on a known test's failures") {
  std::vector<double> times;
  for (const reference::Row& row : reference::rows("power_law_process_cases.csv")) times.push_back(row.number("hours"));
  for (const reference::Row& row : reference::rows("power_law_process.csv")) {
    const FailureTrend trend = failure_trend(times, row.number("hours"), false, 0.9);
    const double n = static_cast<double>(times.size());
    reference::check(row, trend.power.value * (n - 1) / n);
    // Ten failures: the power's interval leaves out 1, Laplace's test does not, and no trend is said.
    CHECK(trend.power.interval.high < 1);
    CHECK(trend.verdict == FailureTrend::Verdict::steady);
  }
}

TEST_CASE("a steady rate is called a trend no more often than the level allows, and burn-in is found") {
  std::size_t false_alarms = 0;
  std::size_t found = 0;
  std::size_t covered = 0;
  constexpr std::size_t trials = 1000;
  for (std::size_t i = 0; i < trials; ++i) {
    const auto steady = failure_trend(process(21, i, 40, 1000), 1000, false, 0.9);
    false_alarms += steady.verdict != FailureTrend::Verdict::steady ? 1 : 0;
    const auto falling = failure_trend(process(22, i, 60, 1000, 0.6), 1000, false, 0.9);
    found += falling.verdict == FailureTrend::Verdict::falling ? 1 : 0;
    covered += falling.power.interval.low <= 0.6 && 0.6 <= falling.power.interval.high ? 1 : 0;
  }
  CHECK(false_alarms < 0.1 * trials);
  CHECK(found > 0.9 * trials);
  // Four standard errors of a share of 0.9 in 1,000 trials.
  CHECK(std::abs(static_cast<double>(covered) / trials - 0.9) < 4 * std::sqrt(0.09 / trials));
}

TEST_CASE("the trend does not depend on the unit of exposure, and its mirror image rises") {
  const std::vector<double> times = process(23, 0, 50, 1, 0.5);
  std::vector<double> hours;
  for (const double t : times) hours.push_back(3600 * t);
  const FailureTrend a = failure_trend(times, 1, false);
  const FailureTrend b = failure_trend(hours, 3600, false);
  CHECK(a.laplace == near(b.laplace, 1e-9));
  CHECK(a.power.value == near(b.power.value, 1e-9));
  std::vector<double> mirrored(times.rbegin(), times.rend());
  for (double& t : mirrored) t = 1 - t;
  CHECK(failure_trend(mirrored, 1, false).laplace == near(-a.laplace, 1e-9));
}

TEST_CASE("bursts are found, their shape recovered, and single failures not taken for them") {
  std::size_t false_alarms = 0;
  constexpr std::size_t trials = 500;
  for (std::size_t i = 0; i < trials; ++i)
    false_alarms += failure_dispersion(process(31, i, 100, 1), 1).overdispersed ? 1 : 0;
  // Four standard errors above the 0.1 that the level allows.
  CHECK(false_alarms < trials * 0.1 + 4 * std::sqrt(trials * 0.09));
  // Gamma(2) rates in each of 50 windows, 400 failures on average: negative binomial of shape 2.
  std::vector<double> shapes;
  for (std::uint64_t i = 0; i < 40; ++i) {
    RandomStream random(32, i);
    std::vector<double> times;
    for (int window = 0; window < 50; ++window) {
      boost::random::gamma_distribution<double> rate(2, 4);
      boost::random::poisson_distribution<int> count(std::max(1e-9, rate(random)));
      for (int k = count(random); k > 0; --k) times.push_back((window + random.uniform()) / 50);
    }
    std::sort(times.begin(), times.end());
    const FailureDispersion d = failure_dispersion(times, 1);
    REQUIRE(d.overdispersed);
    REQUIRE(d.windows == 50);
    REQUIRE(d.shape);
    shapes.push_back(*d.shape);
    const RatePosterior narrow = rate_posterior(static_cast<double>(times.size()), 1);
    const RatePosterior wide = widened(narrow, d);
    CHECK(wide.value == narrow.value);
    CHECK(wide.interval.high - wide.interval.low > 1.5 * (narrow.interval.high - narrow.interval.low));
  }
  std::sort(shapes.begin(), shapes.end());
  CHECK(shapes[20] == near(2, 0.2));
}

TEST_CASE("lemons are found among a thousand nodes and good nodes are not") {
  std::size_t found = 0;
  std::size_t wrong = 0;
  std::size_t any_wrong = 0;
  constexpr std::size_t trials = 200;
  for (std::size_t i = 0; i < trials; ++i) {
    RandomStream random(41, i);
    std::vector<double> good(1000);
    std::vector<double> mixed(1000);
    boost::random::poisson_distribution<int> common(0.4);
    boost::random::poisson_distribution<int> lemon(12);
    for (std::size_t n = 0; n < 1000; ++n) {
      good[n] = common(random);
      mixed[n] = n < 12 ? lemon(random) : good[n];
    }
    any_wrong += find_lemons(good, 1000).lemons.empty() ? 0 : 1;
    for (const LemonNode& l : find_lemons(mixed, 1000).lemons) (l.node < 12 ? found : wrong) += 1;
  }
  CHECK(found > 0.95 * 12 * trials);
  CHECK(wrong < 0.08 * static_cast<double>(found));
  CHECK(any_wrong < 0.1 * trials);
}

TEST_CASE("the lemons' p-values are binomial tails, and nodes that never failed count among the alternatives") {
  const std::vector<double> counts = {5, 1, 1, 1};
  const LemonReport few = find_lemons(counts, 4);
  const LemonReport many = find_lemons(counts, 1000);
  CHECK(few.lemons.empty());
  REQUIRE(many.lemons.size() == 1);
  CHECK(many.share == near(5.0 / 8, 1e-12));
  // P(X >= 5) of Binomial(8, 1/1000) by its sum.
  double tail = 0;
  for (int k = 5; k <= 8; ++k)
    tail +=
        std::exp(std::lgamma(9) - std::lgamma(k + 1) - std::lgamma(9 - k)) * std::pow(1e-3, k) * std::pow(0.999, 8 - k);
  CHECK(many.lemons.front().p == near(tail, 1e-9));
  CHECK(many.lemons.front().q == near(1000 * tail, 1e-9));
}

TEST_CASE("causes of nodes scale with the size, causes of the run do not") {
  const std::vector<CategoryCount> machine = {{"GPU", 40, ScalesWith::accelerators}};
  const std::vector<CategoryCount> software = {{"bug", 40, ScalesWith::run}};
  const double hours = 100;
  const double accelerator_hours = 1024 * hours;
  for (const double size : {8.0, 1024.0, 100000.0}) {
    CHECK(project_rate(machine, accelerator_hours, hours, Count(size)).per_day.value ==
          near(24 * 40 * size / accelerator_hours, 1e-12));
    CHECK(project_rate(software, accelerator_hours, hours, Count(size)).per_day.value == near(24 * 40 / hours, 1e-12));
  }
  const std::vector<CategoryCount> both = {{"GPU", 30, ScalesWith::accelerators}, {"bug", 10, ScalesWith::run}};
  const RateProjection own = project_rate(both, accelerator_hours, hours, Count(1024));
  const RatePosterior whole = rate_posterior(40, hours / 24);
  CHECK(own.per_day.interval.low == near(whole.interval.low, 1e-9));
  CHECK(own.per_day.interval.high == near(whole.interval.high, 1e-9));
  const RateProjection none = project_rate({}, accelerator_hours, hours, Count(1024));
  CHECK(std::isinf(none.mtbf_hours.value));
  CHECK(none.mtbf_hours.interval.low == near(24 / rate_posterior(0, hours / 24).interval.high, 1e-9));
}

TEST_CASE("words of categories say what they scale with") {
  for (const std::string word : {"Faulty GPU", "GPU HBM3 Memory", "xid 79"})
    CHECK(classify(word) == ScalesWith::accelerators);
  for (const std::string word : {"NIC", "Network Switch/Cable", "InfiniBand"})
    CHECK(classify(word) == ScalesWith::links);
  for (const std::string word : {"Software Bug", "FAILED", "OUT_OF_MEMORY"}) CHECK(classify(word) == ScalesWith::run);
  for (const std::string word :
       {"NODE_FAIL", "Power Supply", "unknown", "Unplanned Maintenance", "restart", "server room", "mechanical"})
    CHECK(classify(word) == ScalesWith::nodes);
}

TEST_CASE("jobs that come and go are no trend, since time is counted in what was watched") {
  // A fleet of 10 nodes for 100 days, then of 100 nodes for 100 days, one failure every 50 node-days.
  FailureLog log;
  log.exposure.segments = {{0, 100 * 86400.0, 80}, {100 * 86400.0, 200 * 86400.0, 800}};
  log.exposure.begin = 0;
  log.exposure.end = 200 * 86400.0;
  log.exposure.hours = 4800;
  log.exposure.node_days = 11000;
  log.exposure.accelerator_hours = 11000 * 192;
  log.categories = {"GPU"};
  RandomStream random(51);
  boost::random::exponential_distribution<double> gap(1.0 / 50);
  for (double at = gap(random); at < 11000; at += gap(random)) {
    Interruption e;
    e.time = at < 1000 ? at / 10 * 86400 : (100 + (at - 1000) / 100) * 86400;
    e.category = 0;
    log.events.push_back(e);
  }
  const FailureStudy study = study_failures(log);
  CHECK(study.trend.verdict == FailureTrend::Verdict::steady);
  CHECK_FALSE(study.dispersion.overdispersed);
  CHECK(study.per_node_day.interval.low < 0.02);
  CHECK(study.per_node_day.interval.high > 0.02);
}
