// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stop_token>
#include <string>
#include <vector>

#include "fit/fit_data.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/random.hpp"
#include "floplan/fit/allocation.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/coverage.hpp"
#include "floplan/fit/prediction.hpp"
#include "support/moments.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using Law = law::Chinchilla<double>;
using Rows = std::vector<runs::Observation>;

const Law truth{1.72, 480, 2100, 0.35, 0.37};

fit::CoverageOptions sets(std::size_t count, std::size_t resamples) {
  fit::CoverageOptions out;
  out.sets = count;
  out.resamples = resamples;
  return out;
}

const fit::QuantityCoverage& of(const fit::CoverageReport& report, const std::string& name) {
  const auto found = std::find_if(report.quantities.begin(), report.quantities.end(),
                                  [&](const fit::QuantityCoverage& q) { return q.name == name; });
  REQUIRE(found != report.quantities.end());
  return *found;
}

// A case against its measured figures. FLOPLAN_COVERAGE_SETS=1000 repeats the measurement that the figures are from.
void compare(std::size_t index) {
  const char* asked = std::getenv("FLOPLAN_COVERAGE_SETS");
  const std::size_t count = asked != nullptr ? static_cast<std::size_t>(std::atol(asked)) : 150;
  const fit::CoverageCase one = fit::reference_cases().at(index);
  const fit::CoverageReport report =
      fit::coverage(one.design, one.law, one.noise, one.options, sets(count, asked != nullptr ? 400 : 200));
  MESSAGE(one.name << ": " << report.describe());
  CHECK(report.sets == count);
  CHECK(report.without_answer == 0);
  std::size_t checked = 0;
  for (const reference::Row& row : reference::rows("coverage.csv")) {
    if (row.name() != one.name) continue;
    ++checked;
    const fit::QuantityCoverage& q = of(report, row.text("quantity"));
    CAPTURE(q.name);
    // Four standard errors of this simulation and of the one in the file.
    const double share = row.value();
    reference::check(row, q.covered, 4 * std::sqrt(share * (1 - share) / static_cast<double>(count)));
    CHECK(std::abs(q.median_width / row.number("median_width") - 1) < 0.15);
    CHECK(q.covered + q.below + q.above == near(1, 1e-12));
    CHECK(q.sets == count);
  }
  CHECK(checked == 8);
}

}  // namespace

TEST_CASE("intervals cover as measured: 120 rows with noise of half a percent") { compare(0); }
TEST_CASE("intervals cover as measured: 40 rows") { compare(1); }
TEST_CASE("intervals cover as measured: 240 rows with noise of two percent") { compare(2); }
TEST_CASE("intervals cover as measured: rows far off among the others") { compare(3); }
TEST_CASE("intervals cover as measured: least squares") { compare(4); }

TEST_CASE("the measured coverage of nominal 90% lies between 87 and 93%") {
  for (const reference::Row& row : reference::rows("coverage.csv")) {
    CAPTURE(row.name());
    CAPTURE(row.text("quantity"));
    CHECK(row.value() >= 0.87);
    CHECK(row.value() <= 0.93);
  }
}

TEST_CASE("the reference designs are what their names say") {
  const std::vector<fit::CoverageCase> cases = fit::reference_cases();
  REQUIRE(cases.size() == 5);
  const std::vector<std::size_t> rows = {120, 40, 240, 120, 120};
  for (std::size_t i = 0; i < 5; ++i) {
    const Rows& design = cases[i].design;
    CHECK(design.size() == rows[i]);
    CHECK(design.back().group == 7);
    const auto flop = [](const runs::Observation& o) { return 6 * o.parameters * o.tokens; };
    CHECK(std::log10(flop(design.back()) / flop(design.front())) == near(3.2, 1e-12));
    for (const runs::Observation& o : design) {
      CHECK(std::abs(std::log(o.parameters / std::sqrt(flop(o) / 120))) < std::log(6) + 1e-9);
    }
  }
  CHECK(cases[2].noise.sd == 0.02);
  CHECK(cases[3].noise.outlier_share == 0.05);
  CHECK(cases[4].options.estimator.loss == fit::Loss::least_squares);
}

TEST_CASE("a coverage has the same bits at 1 and 2 threads, and another seed has others") {
  const fit::CoverageCase one = fit::reference_cases()[1];
  fit::CoverageOptions options = sets(24, 60);
  options.threads = 1;
  const fit::CoverageReport a = fit::coverage(one.design, one.law, one.noise, one.options, options);
  options.threads = 2;
  const fit::CoverageReport b = fit::coverage(one.design, one.law, one.noise, one.options, options);
  options.seed = 2;
  const fit::CoverageReport c = fit::coverage(one.design, one.law, one.noise, one.options, options);
  for (std::size_t q = 0; q < a.quantities.size(); ++q) {
    CHECK(a.quantities[q].covered == b.quantities[q].covered);
    CHECK(a.quantities[q].median_width == b.quantities[q].median_width);
    CHECK(a.quantities[q].median_width != c.quantities[q].median_width);
  }
}

TEST_CASE("simulated noise is normal, or with outliers, or drawn from residuals") {
  RandomStream random(81);
  fit::SimulatedNoise noise;
  noise.sd = 0.01;
  std::vector<double> sample(20000);
  for (double& u : sample) u = noise.draw(random);
  const Moments plain = moments(sample);
  CHECK(std::abs(plain.mean) < 4 * plain.mean_error);
  CHECK(std::abs(plain.standard_deviation - 0.01) < 4 * plain.deviation_error);
  noise.outlier_share = 0.05;
  for (double& u : sample) u = noise.draw(random);
  const Moments wild = moments(sample);
  CHECK(std::abs(wild.standard_deviation - 0.01 * std::sqrt(0.95 + 0.05 * 25)) < 4 * wild.deviation_error);
  noise.log_residuals = {-0.03, 0.01, 0.02};
  for (double& u : sample) u = noise.draw(random);
  for (const double u : noise.log_residuals) {
    CHECK(std::count(sample.begin(), sample.end(), u) == doctest::Approx(20000 / 3.0).epsilon(0.05));
  }
}

TEST_CASE("the noise of a fit can be planted on its own design") {
  Rows rows = fit_data::planned(truth, 6, 8);
  RandomStream random(82);
  fit_data::add_noise(rows, 0.01, random);
  fit::ChinchillaOptions options;
  options.estimator.loss = fit::Loss::least_squares;
  const fit::ChinchillaReport report = fit::chinchilla(rows, options);
  fit::SimulatedNoise noise;
  noise.log_residuals = fit::run_noise(rows, report).log_residuals;
  const fit::CoverageReport coverage = fit::coverage(rows, report.law, noise, options, sets(200, 200));
  MESSAGE(coverage.describe());
  for (const fit::QuantityCoverage& q : coverage.quantities) {
    CHECK(q.covered > 0.80);
    CHECK(q.covered < 0.98);
  }
}

TEST_CASE("misses are counted on the side where the planted value lies") {
  const fit::CoverageCase one = fit::reference_cases()[1];
  fit::ChinchillaOptions options;
  options.bounds.irreducible_loss = fit::Bounds::fixed(1.9);
  const fit::CoverageReport high = fit::coverage(one.design, one.law, one.noise, options, sets(20, 40));
  CHECK(of(high, "E").below == 1);
  CHECK(of(high, "E").covered == 0);
  CHECK(of(high, "E").median_width == 0);
  options.bounds.irreducible_loss = fit::Bounds::fixed(1.5);
  const fit::CoverageReport low = fit::coverage(one.design, one.law, one.noise, options, sets(20, 40));
  CHECK(of(low, "E").above == 1);
  // With too low a floor both exponents come out too low.
  CHECK(of(low, "alpha").above > 0.9);
  CHECK(of(low, "beta").above > 0.9);
}

TEST_CASE("sets without an answer are counted and not judged") {
  const Rows design = fit_data::planned(truth, 5, 1);
  const fit::CoverageReport report = fit::coverage(design, truth, {}, {}, sets(10, 20));
  CHECK(report.without_answer == 10);
  for (const fit::QuantityCoverage& q : report.quantities) CHECK(q.sets == 0);
}

TEST_CASE("a stop request ends a coverage with the sets that were done") {
  std::stop_source stop;
  stop.request_stop();
  const fit::CoverageCase one = fit::reference_cases()[1];
  fit::CoverageOptions options = sets(50, 50);
  options.stop = stop.get_token();
  const fit::CoverageReport report = fit::coverage(one.design, one.law, one.noise, one.options, options);
  CHECK(report.stopped);
  CHECK(report.sets == 0);
  CHECK(report.without_answer == 0);
}

TEST_CASE("a coverage says what it cannot do") {
  const fit::CoverageCase one = fit::reference_cases()[1];
  const auto failure = [&](const fit::SimulatedNoise& noise, const fit::CoverageOptions& options) {
    const Error error = thrown::by([&] { (void)fit::coverage(one.design, one.law, noise, one.options, options); });
    CHECK(thrown::says(error, "coverage: "));
    return error.failure();
  };
  CHECK(failure({}, sets(0, 10)) == Failure::usage);
  CHECK(failure({}, sets(10, 0)) == Failure::usage);
  fit::CoverageOptions level = sets(10, 10);
  level.level = 1;
  CHECK(failure({}, level) == Failure::usage);
  fit::SimulatedNoise noise;
  noise.sd = -1;
  CHECK(failure(noise, sets(10, 10)) == Failure::usage);
  noise = {};
  noise.outlier_share = 1.5;
  CHECK(failure(noise, sets(10, 10)) == Failure::usage);
  noise = {};
  noise.outlier_factor = HUGE_VAL;
  CHECK(failure(noise, sets(10, 10)) == Failure::usage);
  CHECK(thrown::by([&] { (void)fit::coverage({}, one.law, {}, one.options, sets(10, 10)); }).failure() ==
        Failure::usage);
}
