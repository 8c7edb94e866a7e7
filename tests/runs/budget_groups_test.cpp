// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/runs/budget_groups.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "support/thrown.hpp"

using namespace floplan;
using runs::group_by_budget;

TEST_CASE("budgets with jitter are one group each, numbered from the smallest") {
  const std::vector<double> flop{3.1e19, 1e19, 1.05e19, 2.9e19, 0.97e19, 1e21};
  const auto found = group_by_budget(flop, 0.2);
  CHECK(found.of_row == std::vector<int>{1, 0, 0, 1, 0, 2});
  REQUIRE(found.groups.size() == 3);
  CHECK(found.groups[0].flop == 1e19);
  CHECK(found.groups[0].rows == 3);
  CHECK(found.groups[0].low == 0.97e19);
  CHECK(found.groups[0].high == 1.05e19);
  CHECK(found.groups[1].flop == doctest::Approx(2.99833e19).epsilon(1e-5));
  CHECK_FALSE(found.groups[1].wide());
}

TEST_CASE("grouping depends neither on the unit nor on the order of the budgets") {
  const std::vector<double> flop{1e19, 1.1e19, 2e19, 4.1e19, 4e19};
  std::vector<double> scaled;
  std::vector<double> reversed(flop.rbegin(), flop.rend());
  for (const double c : flop) scaled.push_back(c * 1e-9);
  const auto a = group_by_budget(flop).of_row;
  CHECK(group_by_budget(scaled).of_row == a);
  const auto b = group_by_budget(reversed).of_row;
  CHECK(std::vector<int>(b.rbegin(), b.rend()) == a);
}

TEST_CASE("a gap of nothing separates all but equal budgets, and a chain is one wide group") {
  CHECK(group_by_budget(std::vector<double>{1, 1, 2}, 0).of_row == std::vector<int>{0, 0, 1});
  CHECK(group_by_budget(std::vector<double>{}, 0.2).groups.empty());
  const auto chain = group_by_budget(std::vector<double>{1, 1.15, 1.3, 1.5, 1.7}, 0.2);
  REQUIRE(chain.groups.size() == 1);
  CHECK(chain.groups[0].wide());
  CHECK(group_by_budget(std::vector<double>{1e308, 1.7e308}, 1).groups[0].flop < 1.7e308);
}

TEST_CASE("budgets that are not positive and finite are refused") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
    CHECK(thrown::by([bad] { (void)group_by_budget(std::vector<double>{1, bad}); }).exit_status() == 2);
  }
  for (const double bad : {-0.1, nan}) {
    CHECK(thrown::by([bad] { (void)group_by_budget(std::vector<double>{1}, bad); }).exit_status() == 2);
  }
}
