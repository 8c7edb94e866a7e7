// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/reliability/checkpoint_interval.hpp"

#include <doctest/doctest.h>

#include <boost/math/special_functions/lambert_w.hpp>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "floplan/reliability/completion.hpp"
#include "reliability/cases.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

Seconds interval(const std::string& method, Seconds write, Seconds mtbf) {
  if (method == "young") return young_interval(write, mtbf);
  if (method == "daly") return daly_interval(write, mtbf);
  REQUIRE(method == "exact");
  return exact_interval(write, mtbf);
}

// Ratios d/M over many decades.
std::vector<double> ratios(double from, double to) {
  std::vector<double> out;
  double ratio = from;
  while (ratio <= to) {
    out.push_back(ratio);
    ratio *= 1.7;
  }
  return out;
}

}  // namespace

TEST_CASE("Young, Daly and exact intervals are the published ones") {
  for (const reference::Row& row : reference::rows("checkpoint_interval.csv")) {
    const Seconds write(60 * row.number("write_min"));
    const Seconds mtbf(60 * row.number("mtbf_min"));
    reference::check(row, interval(row.text("method"), write, mtbf).value / 60);
  }
}

TEST_CASE("the exact interval is Lambert's W where that is well conditioned") {
  for (const double ratio : ratios(1e-2, 30)) {
    CAPTURE(ratio);
    const double expected = 1 + boost::math::lambert_w0(-std::exp(-1 - ratio));
    CHECK(exact_interval(Seconds(ratio), Seconds(1)).value == near(expected, 1e-13));
  }
}

// With s = sqrt(2 d/M), x + ln(1 - x) = -s^2/2 has the root x = s - s^2/3 + s^3/36 + s^4/270 - ... (Lagrange).
TEST_CASE("the exact interval keeps all digits as the write time vanishes") {
  for (const double ratio : ratios(1e-30, 1e-7)) {
    CAPTURE(ratio);
    const double s = std::sqrt(2 * ratio);
    const double expected = s * (1 - s * (1.0 / 3 - s * (1.0 / 36 + s / 270)));
    CHECK(exact_interval(Seconds(ratio), Seconds(1)).value == near(expected, 4e-16));
  }
}

TEST_CASE("the exact interval solves x + ln(1 - x) + d/M = 0") {
  for (const double ratio : ratios(1e-4, 20)) {
    CAPTURE(ratio);
    const double x = exact_interval(Seconds(ratio), Seconds(1)).value;
    CHECK(x > 0);
    CHECK(x < 1);
    // The slope of the left side is -x / (1 - x): a root that is right to 1e-15 leaves no more than this.
    CHECK(std::abs(x + std::log1p(-x) + ratio) <= 4e-16 * (1 + x / (1 - x) + ratio));
  }
}

TEST_CASE(
    "no interval gives a shorter expected run than the exact one, whatever the restart, waits and planned stops") {
  for (const char* name : {"G0", "G1", "G5", "G7", "daly-15min"}) {
    CAPTURE(std::string(name));
    cases::Case run = cases::named(name);
    const auto wall_clock = [&run](double seconds) {
      run.conditions.interval = Seconds(seconds);
      return completion(run.useful, run.conditions).wall_clock.value;
    };
    const double exact = exact_interval(run.conditions.stall, run.conditions.mtbf).value;
    // A minimum is found to about the square root of a double's precision.
    const auto [at, best] = boost::math::tools::brent_find_minima(wall_clock, exact / 10, exact * 5, 30);
    CHECK(exact == near(at, 1e-6));
    CHECK(wall_clock(exact) <= best * (1 + 1e-15));
    for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0}) {
      CAPTURE(factor);
      CHECK(wall_clock(exact) < wall_clock(exact * factor));
    }
    CHECK(wall_clock(exact) <= wall_clock(daly_interval(run.conditions.stall, run.conditions.mtbf).value));
    CHECK(wall_clock(exact) <= wall_clock(young_interval(run.conditions.stall, run.conditions.mtbf).value));
  }
}

TEST_CASE("Daly's higher order is the exact interval to third order in sqrt(d/M)") {
  for (const double ratio : ratios(1e-8, 0.1)) {
    CAPTURE(ratio);
    const double s = std::sqrt(2 * ratio);
    const double difference =
        daly_interval(Seconds(ratio), Seconds(1)).value - exact_interval(Seconds(ratio), Seconds(1)).value;
    CHECK(std::abs(difference) <= s * s * s * s / 200 + 1e-15 * s);
  }
}

TEST_CASE("every interval scales with the unit of time, grows with both inputs, and ends at the MTBF") {
  for (const char* method : {"young", "daly", "exact"}) {
    CAPTURE(std::string(method));
    for (const double ratio : ratios(1e-6, 1.5)) {
      CAPTURE(ratio);
      const double one = interval(method, Seconds(ratio), Seconds(1)).value;
      CHECK(interval(method, Seconds(ratio * 3600), Seconds(3600)).value == near(3600 * one, 1e-14));
      CHECK(interval(method, Seconds(ratio * 1.1), Seconds(1)).value > one);
      CHECK(interval(method, Seconds(ratio), Seconds(1.1)).value > one);
    }
  }
  for (const double ratio : {2.0, 10.0, 100.0, 1e6, 1e300}) {
    CAPTURE(ratio);
    CHECK(daly_interval(Seconds(ratio), Seconds(1)) == Seconds(1));
    CHECK(exact_interval(Seconds(ratio), Seconds(1)).value <= 1);
    CHECK(exact_interval(Seconds(ratio), Seconds(1)).value >= 1 - 1.1 * std::exp(-1 - ratio));
  }
}

TEST_CASE("the exact interval is below Young's, and meets it as failures become rare") {
  for (const double ratio : ratios(1e-12, 1)) {
    CAPTURE(ratio);
    const double young = young_interval(Seconds(ratio), Seconds(1)).value;
    const double exact = exact_interval(Seconds(ratio), Seconds(1)).value;
    CHECK(exact < young);
    CHECK(exact > young * (1 - young / 2.9));
  }
}

TEST_CASE("a write time or MTBF of zero, less, nan or inf is refused by name") {
  for (const char* method : {"young", "daly", "exact"}) {
    CAPTURE(std::string(method));
    for (const double bad : {0.0, -5.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
      CAPTURE(bad);
      const Error write = thrown::by([&] { (void)interval(method, Seconds(bad), hours(1)); });
      CHECK(write.failure() == Failure::usage);
      CHECK(thrown::says(write, "write time must be positive and finite"));
      const Error mtbf = thrown::by([&] { (void)interval(method, Seconds(10), Seconds(bad)); });
      CHECK(mtbf.failure() == Failure::usage);
      CHECK(thrown::says(mtbf, "MTBF must be positive and finite"));
    }
  }
}
