// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/serving/lifetime_purchase.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "floplan/catalog/catalog.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::serving;

// The coefficients that Sardana's repository computes with, and its dollar case at the quality of 405B on 15.6T.
const law::Chinchilla<double> sardana{1.69, 406.4, 410.7, 0.336, 0.283};

LifetimeQuestion question(double requests, std::optional<Seconds> tpot = {}) {
  LifetimeQuestion q;
  q.loss = sardana.loss(405.85e9, 15.6e12);
  q.serving.device = device_of(catalog::Catalog().accelerator("h100-sxm"));
  q.serving.formats = formats_of(catalog::Precision::fp8, q.serving.device);
  q.serving.tokens = {1000, 250};
  q.serving.longest_tpot = tpot;
  q.requests = requests;
  return q;
}

}  // namespace

TEST_CASE("the family has the parameters that were asked for, and Llama's cache") {
  for (const double n : {8e9, 70e9, 405e9}) {
    const ServedModel m = family_of(Parameters(n));
    CHECK(m.total() == near(n, 0.17));
    CHECK(cached_bytes(m, NumberFormats{}, 1) == near(2 * 2 * 8 * 128 * m.layers, 1e-12));
  }
  CHECK(family_of(Parameters(405e9)).layers == near(127.2, 0.001));
}

TEST_CASE("the model to buy for a lifetime, with the serving model's prices, is the table's at each limit of latency") {
  std::map<std::string, LifetimePurchase> found;
  std::map<std::string, std::optional<LifetimePoint>> big;
  for (const reference::Row& row : reference::rows("serving_lifetime_cases.csv")) {
    std::optional<Seconds> tpot;
    if (row.has("tpot_s")) tpot = Seconds(row.number("tpot_s"));
    const LifetimeQuestion q = question(row.number("requests"), tpot);
    found[row.name()] = buy_for_lifetime(sardana, q);
    big[row.name()] = lifetime_point(sardana, q, Parameters(405.85e9));
  }
  CHECK_FALSE(big["TPOT 25 ms"].has_value());
  CHECK_FALSE(big["ten times, TPOT 25 ms"].has_value());
  for (const reference::Row& row : reference::rows("serving_lifetime.csv")) {
    const LifetimePurchase& p = found.at(row.name());
    const std::string what = row.text("quantity");
    reference::check(row, what == "parameters_b" ? p.best.parameters.value / 1e9
                          : what == "tokens_t"   ? p.best.tokens.value / 1e12
                          : what == "total_musd" ? p.best.total().value / 1e6
                          : what == "low_b"      ? p.flat.back().low.value / 1e9
                          : what == "high_b"     ? p.flat.back().high.value / 1e9
                                                 : big.at(row.name())->total().value / 1e6);
  }
}

TEST_CASE("without requests the purchase is the closed form's, to the grid") {
  const LifetimeQuestion q = question(0);
  const LifetimePurchase p = buy_for_lifetime(sardana, q);
  CHECK(p.best.parameters.value == near(optimum::for_loss(sardana, q.loss).parameters.value, 0.008));
  CHECK(p.best.serving.value == 0);
}

// Typed utilisations mislead by as much as they are off: the regret of buying their answer and paying the model's prices.
TEST_CASE("the regret of typed utilisations is what was printed") {
  for (const reference::Row& row : reference::rows("serving_regret.csv")) {
    const LifetimeQuestion q = question(row.number("requests"), Seconds(0.05));
    const auto price = [](double peak, double utilisation) {
      return optimum::usd_per_flop(DollarsPerHour(2.5), FlopPerSecond(peak), Fraction(utilisation));
    };
    optimum::Demand demand;
    demand.input = Tokens(1000 * q.requests);
    demand.output = Tokens(250 * q.requests);
    demand.prices = {price(989e12, 0.4), price(1979e12, row.number("input_utilisation")),
                     price(1979e12, row.number("output_utilisation"))};
    const Parameters typed = optimum::for_lifetime(sardana, q.loss, demand).parameters;
    const auto paid = lifetime_point(sardana, q, typed);
    REQUIRE(paid.has_value());
    reference::check(row, 100 * (paid->total() / buy_for_lifetime(sardana, q).best.total() - 1));
  }
}

TEST_CASE("more requests want a smaller model, more samples too, and an uncertain demand has a regret") {
  const LifetimeQuestion q = question(1e10, Seconds(0.05));
  const LifetimePurchase p = buy_for_lifetime(sardana, q);
  LifetimeQuestion sampled = q;
  sampled.samples = 16;
  CHECK(buy_for_lifetime(sardana, sampled).best.parameters < p.best.parameters);
  const DemandSpread spread = under_demand(p, q, {1e9, 1e10, 1e11});
  REQUIRE(spread.best.size() == 3);
  CHECK(spread.best[0] > spread.best[1]);
  CHECK(spread.best[1] > spread.best[2]);
  CHECK(spread.best[1] == p.best.parameters);
  for (const double regret : spread.regret) CHECK(regret >= 0);
  CHECK(spread.chosen < p.best.parameters);  // the mean of these is 3.7e10
  CHECK(under_demand(p, q, {1e10}).regret[0] == 0);
}

TEST_CASE("a lifetime that cannot be is refused") {
  CHECK(thrown::by([] { (void)buy_for_lifetime(sardana, question(1e10, Seconds(1e-3))); }).failure() ==
        Failure::infeasible);
  LifetimeQuestion low = question(1e10);
  low.loss = 1.5;
  CHECK(thrown::by([&low] { (void)buy_for_lifetime(sardana, low); }).failure() == Failure::infeasible);
  CHECK(thrown::by([] { (void)buy_for_lifetime(sardana, question(-1)); }).failure() == Failure::usage);
  const LifetimeQuestion none = question(0);
  CHECK(thrown::by([&none] { (void)under_demand(buy_for_lifetime(sardana, none), none, {1e9}); }).failure() ==
        Failure::usage);
}
