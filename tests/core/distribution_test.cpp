// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/core/distribution.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "floplan/core/random.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;

std::vector<double> draws_of(const reference::Row& row) {
  std::vector<double> out;
  const std::string text = row.text("draws");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    out.push_back(std::stod(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return out;
}

double statistic(const Distribution& d, const std::string& name) {
  if (name == "mean") return d.mean;
  if (name == "standard_deviation") return d.standard_deviation;
  if (name == "p05") return d.p05;
  if (name == "p10") return d.p10;
  if (name == "p50") return d.p50;
  if (name == "p90") return d.p90;
  REQUIRE(name == "p95");
  return d.p95;
}

}  // namespace

TEST_CASE("quantiles are those of R's type 7") {
  for (const reference::Row& row : reference::rows("quantiles.csv")) {
    reference::check(row, quantile_of_sorted(draws_of(row), row.number("probability")));
  }
}

TEST_CASE("a summary has the mean, the n - 1 deviation and the quantiles of its draws in any order") {
  for (const reference::Row& row : reference::rows("summaries.csv")) {
    reference::check(row, statistic(summarise(draws_of(row)), row.text("statistic")));
  }
}

TEST_CASE("a summary moves and scales with its draws") {
  RandomStream random(12);
  std::vector<double> draws(501);
  for (double& x : draws) x = random.uniform();
  const Distribution base = summarise(draws);
  for (double& x : draws) x = 7 + 3 * x;
  const Distribution moved = summarise(draws);
  CHECK(moved.mean == near(7 + 3 * base.mean, 1e-14));
  CHECK(moved.standard_deviation == near(3 * base.standard_deviation, 1e-12));
  CHECK(moved.p05 == near(7 + 3 * base.p05, 1e-14));
  CHECK(moved.p95 == near(7 + 3 * base.p95, 1e-14));
  CHECK(base.p05 < base.p10);
  CHECK(base.p10 < base.p50);
  CHECK(base.p50 < base.p90);
  CHECK(base.p90 < base.p95);
}

// The textbook sum of squares less the squared sum would lose all digits here.
TEST_CASE("the deviation keeps its digits far from zero") {
  const Distribution d = summarise({1e9 + 1, 1e9 + 2, 1e9 + 3});
  CHECK(d.mean == 1e9 + 2);
  CHECK(d.standard_deviation == 1);
}

TEST_CASE("no draws, nan and inf are refused") {
  CHECK(thrown::by([] { (void)summarise({}); }).failure() == Failure::usage);
  CHECK(thrown::by([] { (void)quantile_of_sorted({}, 0.5); }).failure() == Failure::usage);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    const Error error = thrown::by([bad] { (void)summarise({1, bad, 2}); });
    CHECK(error.failure() == Failure::no_answer);
    CHECK(thrown::says(error, "finite"));
  }
}
