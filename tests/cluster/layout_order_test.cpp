// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/cluster/layout_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "cluster/steps.hpp"
#include "floplan/core/distribution.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using cluster::layout_sets;
using cluster::LayoutSet;
using cluster::spearman;

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double of(const std::vector<LayoutSet>& sets, const std::string& quantity) {
  std::vector<double> rho, loss;
  for (const LayoutSet& set : sets) {
    rho.push_back(set.spearman);
    loss.push_back(set.loss);
  }
  std::sort(rho.begin(), rho.end());
  std::sort(loss.begin(), loss.end());
  const std::map<std::string, double> all{{"mean_rho", mean(rho)},
                                          {"median_rho", quantile_of_sorted(rho, 0.5)},
                                          {"p10_rho", quantile_of_sorted(rho, 0.1)},
                                          {"least_rho", rho.front()},
                                          {"mean_loss", mean(loss)},
                                          {"p90_loss", quantile_of_sorted(loss, 0.9)}};
  return all.at(quantity);
}

}  // namespace

TEST_CASE("layouts of one node at one batch are put in order, and the predicted best costs little over the true one") {
  const auto single = steps::single_node();
  if (!single) return;
  // Fewer than five layouts say little of an order.
  const std::vector<LayoutSet> sets = layout_sets(*single, 5);
  CHECK(sets.size() == 96);
  CHECK(of(sets, "mean_rho") >= reference::row("step_time_targets.csv", "mean rho on single nodes").value());
  CHECK(of(sets, "mean_loss") <= reference::row("step_time_targets.csv", "mean loss on single nodes").value());
}

TEST_CASE("rho is one for any rising relation, minus one for a falling one, and shares the ranks of ties") {
  const std::vector<double> x{3, 1, 4, 1.5, 9, 2.6};
  std::vector<double> rising, falling;
  for (const double value : x) {
    rising.push_back(std::exp(value));
    falling.push_back(-value * value * value);
  }
  CHECK(spearman(x, rising) == near(1, 1e-15));
  CHECK(spearman(x, falling) == near(-1, 1e-15));
  CHECK(cluster::detail::ranks({2, 1, 2, 5}) == std::vector<double>{2.5, 1, 2.5, 4});
  CHECK(std::isnan(spearman({1, 1, 1}, {1, 2, 3})));
}

TEST_CASE("a common factor of all predictions changes neither order nor loss") {
  cluster::MeasuredSteps measured = steps::typed();
  for (const std::int64_t tensor : {1, 2, 4, 8}) {
    for (const std::int64_t pipeline : {1, 2, 4}) {
      cluster::MeasuredStep step = steps::named("korthikanti-t5-004");
      step.request.accelerators.reset();
      step.request.layout = {.tensor = tensor, .pipeline = pipeline, .data = 64 / (tensor * pipeline)};
      step.measured = Seconds(10 + static_cast<double>(tensor + 3 * pipeline));
      measured.steps.push_back(step);
    }
  }
  const auto before = layout_sets(measured);
  REQUIRE(before.size() == 1);
  CHECK(before.front().rows.size() == 13);
  for (cluster::MeasuredStep& step : measured.steps) step.measured = step.measured * 7;
  const auto after = layout_sets(measured);
  CHECK(after.front().spearman == before.front().spearman);
  CHECK(after.front().loss == near(before.front().loss, 1e-14));
  measured.steps.push_back(measured.steps.back());  // a further release of one layout
  CHECK(layout_sets(measured, 13).size() == 1);
  CHECK(layout_sets(measured, 14).empty());
}

TEST_CASE("order is averaged by publisher and over all, without the sets that have no rho") {
  const std::vector<cluster::LayoutSet> sets = {
      {"a", {}, 0.5, 0.1}, {"b", {}, 1, 0}, {"a", {}, std::nan(""), 0.3}, {"c", {}, std::nan(""), 0}};
  const std::vector<cluster::OrderError> order = cluster::order_errors(sets);
  REQUIRE(order.size() == 4);
  CHECK(order[0].group == "a");
  CHECK(order[0].sets == 2);
  CHECK(order[0].ranked == 1);
  CHECK(order[0].spearman == 0.5);
  CHECK(order[0].loss == near(0.2, 1e-15));
  CHECK(order[2].ranked == 0);
  CHECK(order[3].group == "all");
  CHECK(order[3].spearman == 0.75);
  CHECK(order[3].loss == near(0.1, 1e-15));
  CHECK(cluster::order_errors({}).empty());
}
