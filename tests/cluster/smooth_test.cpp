// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/cluster/smooth.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "floplan/core/random.hpp"
#include "support/near.hpp"

namespace {

using namespace floplan;
using cluster::smooth_max;
using cluster::smooth_max6;
using cluster::soft_excess;

}  // namespace

TEST_CASE("a smooth maximum is the root of the sum of powers, at any ratio and scale") {
  RandomStream random(1);
  for (int i = 0; i < 20000; ++i) {
    const double x = std::pow(10.0, -12 + 8 * random.uniform());
    const double y = x * std::pow(10.0, 4 * random.uniform() - 2);
    const double ratio = std::min(x, y) / std::max(x, y);
    CHECK(smooth_max6(x, y) == near(std::max(x, y) * std::pow(1 + std::pow(ratio, 6), 1.0 / 6), 1e-15));
    CHECK(smooth_max6(x, y) == smooth_max6(y, x));
    CHECK(smooth_max(x, y, 6) == near(smooth_max6(x, y), 1e-15));
    CHECK(smooth_max(x, y, 2.5) >= smooth_max6(x, y));
  }
}

TEST_CASE("nothing beside a time leaves the time") {
  CHECK(smooth_max6(3.0, 0.0) == 3.0);
  CHECK(smooth_max6(0.0, 0.0) == 0.0);
  CHECK(smooth_max(0.0, 3.0, 2.5) == 3.0);
  CHECK(smooth_max(0.0, 0.0, 2.5) == 0.0);
}

TEST_CASE("a soft excess is the excess far from its knee, and never less") {
  CHECK(soft_excess(5.0, 0.01) == 5.0);
  CHECK(soft_excess(-5.0, 0.01) < 1e-200);
  CHECK(soft_excess(0.0, 0.5) == near(0.5 * std::log(2.0), 1e-15));
  CHECK(soft_excess(2.0, 0.0) == 2.0);
  CHECK(soft_excess(-2.0, 0.0) == 0.0);
  for (int i = -300; i < 300; ++i) CHECK(soft_excess(i / 100.0, 0.1) >= std::max(0.0, i / 100.0));
}
