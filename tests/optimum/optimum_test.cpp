// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/core/random.hpp"
#include "floplan/optimum/compute_optimal.hpp"
#include "floplan/optimum/lifetime.hpp"
#include "floplan/optimum/off_optimum.hpp"
#include "floplan/optimum/purchase.hpp"
#include "optimum/random_law.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using Law = law::Chinchilla<double>;
using optimum::Split;

const Law sardana{1.69, 406.4, 410.7, 0.336, 0.283};

// The minimum of f over an interval in which it falls and then rises, by golden section, to the last digits that a minimum
// has (the square root of a double's), then by the sign of its derivative.
template <class Derivative>
double root_of(const Derivative& derivative, double low, double high) {
  for (int i = 0; i < 300 && high - low > 0; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (derivative(middle) < 0 ? low : high) = middle;
  }
  return low;
}

double cost(const Law&, const Split& s, double served) {
  return 6 * s.parameters.value * s.tokens.value + 2 * s.parameters.value * served;
}

}  // namespace

TEST_CASE("the published optima, with and without serving, to every printed digit") {
  for (const reference::Row& row : reference::rows("optimum.csv")) {
    const Law law{row.number("E"), row.number("A"), row.number("B"), row.number("alpha"), row.number("beta")};
    double loss = 0;
    if (row.has("loss")) {
      loss = row.number("loss");
    } else if (row.text("budget").ends_with("B")) {
      // The quality of the compute-optimal model of so many parameters.
      const double n = std::stod(row.text("budget")) * 1e9;
      loss = law.irreducible_loss + law.terms(n, 1).parameters * (1 + law.parameter_exponent / law.token_exponent);
    } else {
      const Split best = optimum::for_budget(law, Flop(row.number("budget")));
      loss = law.loss(best.parameters.value, best.tokens.value);
    }
    optimum::Demand demand;
    demand.output = Tokens(row.number("tokens_served"));
    const Split base = optimum::for_loss(law, loss);
    const Split found = optimum::for_lifetime(law, loss, demand);
    const double share = cost(law, found, demand.output.value) / cost(law, base, demand.output.value);
    const std::string quantity = row.text("quantity");
    reference::check(row, quantity == "parameters"           ? found.parameters.value
                          : quantity == "tokens"             ? found.tokens.value
                          : quantity == "loss"               ? loss
                          : quantity == "parameters_percent" ? 100 * (found.parameters / base.parameters)
                          : quantity == "tokens_percent"     ? 100 * (found.tokens / base.tokens)
                          : quantity == "cost_percent"       ? 100 * share
                                                             : 100 * (1 - share));
  }
}

TEST_CASE("Sardana's example in dollars, to every printed digit") {
  optimum::Demand demand{Tokens(1e10 * 1000), Tokens(1e10 * 250), {}};
  demand.prices.training = optimum::usd_per_flop(DollarsPerHour(1.40), FlopPerSecond(3.12e14), Fraction(0.5));
  demand.prices.input = optimum::usd_per_flop(DollarsPerHour(0.60), FlopPerSecond(6.24e14), Fraction(0.4));
  demand.prices.output = optimum::usd_per_flop(DollarsPerHour(0.60), FlopPerSecond(6.24e14), Fraction(0.2));
  const Split base = optimum::for_loss(sardana, 1.947);
  const Split found = optimum::for_lifetime(sardana, 1.947, demand);
  const double dollars = demand.training_cost(found) + demand.serving_cost(found);
  const double before = demand.training_cost(base) + demand.serving_cost(base);
  for (const reference::Row& row : reference::rows("optimum_dollars.csv")) {
    reference::check(row, row.name() == "parameters"           ? found.parameters.value
                          : row.name() == "tokens"             ? found.tokens.value
                          : row.name() == "parameters_percent" ? 100 * (found.parameters / base.parameters)
                          : row.name() == "tokens_percent"     ? 100 * (found.tokens / base.tokens)
                          : row.name() == "cost_percent"       ? 100 * dollars / before
                          : row.name() == "dollars"            ? dollars
                                                               : before);
  }
}

TEST_CASE("closed forms are the numeric optimum over 10,000 random laws and budgets") {
  RandomStream random(4);
  for (int i = 0; i < 10000; ++i) {
    const Law law = random_law::draw(random);
    const Flop budget(std::pow(10.0, 15 + 15 * random.uniform()));
    const Split found = optimum::for_budget(law, budget);
    // dL/d ln N at D = C / 6N has one sign change.
    const auto derivative = [&](double log_n) {
      const double n = std::exp(log_n);
      const auto terms = law.terms(n, budget.value / (6 * n));
      return -law.parameter_exponent * terms.parameters + law.token_exponent * terms.tokens;
    };
    const double numeric = root_of(derivative, -200, 300);
    CAPTURE(i);
    CHECK(std::abs(std::log(found.parameters.value) - numeric) < 1e-10 * std::max(1.0, std::abs(numeric)));
    CHECK(found.training_flop().value == near(budget.value, 1e-11));
    // For a loss: back to the same split.
    const double loss = law.loss(found.parameters.value, found.tokens.value);
    if (loss - law.irreducible_loss < 1e-3 * loss) continue;  // the difference has lost the digits
    const Split back = optimum::for_loss(law, loss);
    CHECK(back.parameters.value == near(found.parameters.value, 1e-9));
    CHECK(back.tokens.value == near(found.tokens.value, 1e-9));
  }
}

TEST_CASE("the lifetime optimum keeps the loss, satisfies its condition, and no neighbour on the curve is cheaper") {
  RandomStream random(5);
  for (int i = 0; i < 3000; ++i) {
    const Law law = random_law::draw(random);
    const double loss = law.irreducible_loss * (1.02 + random.uniform());
    optimum::Demand demand;
    demand.output = Tokens(std::pow(10.0, 25 * random.uniform()));
    const Split found = optimum::for_lifetime(law, loss, demand);
    CAPTURE(i);
    CHECK(law.loss(found.parameters.value, found.tokens.value) == near(loss, 1e-11));
    const auto terms = law.terms(found.parameters.value, found.tokens.value);
    CHECK(law.parameter_exponent * terms.parameters ==
          near(law.token_exponent * terms.tokens * (1 + demand.equivalent_tokens() / found.tokens.value), 1e-10));
    const double cheapest = cost(law, found, demand.output.value);
    for (const double factor : {0.9, 0.999, 1.001, 1.1}) {
      const double d = found.tokens.value * factor;
      const double gap = loss - law.irreducible_loss - law.terms(1, d).tokens;
      if (!(gap > 0)) continue;
      const double n = std::pow(law.parameter_coefficient / gap, 1 / law.parameter_exponent);
      CHECK(cost(law, {Parameters(n), Tokens(d)}, demand.output.value) >= cheapest * (1 - 1e-12));
    }
  }
}

TEST_CASE("nothing served is the compute optimum again, and more served never makes the model larger") {
  const Split base = optimum::for_loss(sardana, 1.95);
  CHECK(optimum::for_lifetime(sardana, 1.95, {}).parameters.value == base.parameters.value);
  double before = base.parameters.value;
  for (double served = 1e3; served < 1e30; served *= 3) {
    optimum::Demand demand;
    demand.output = Tokens(served);
    const double n = optimum::for_lifetime(sardana, 1.95, demand).parameters.value;
    CHECK(n <= before);
    before = n;
  }
  // Down to the size below which the loss is out of reach.
  CHECK(before == near(base.parameters.value * optimum::size_floor(sardana), 1e-3));
}

TEST_CASE("the cost of being off the best size is de Vries' curve, with his floor") {
  for (const reference::Row& row : reference::rows("off_optimum.csv"))
    reference::check(row, 100 * optimum::overhead(sardana, row.number("size")));
  CHECK(optimum::size_floor(sardana) == doctest::Approx(0.0974).epsilon(0.0005));
  CHECK(optimum::size_floor({1.8172, 482.01, 2085.43, 0.3478, 0.3658}) == doctest::Approx(0.1464).epsilon(0.0004));
  CHECK(optimum::overhead(sardana, 1) == doctest::Approx(0).epsilon(1e-12));
  CHECK(thrown::by([] { (void)optimum::overhead(sardana, 0.09); }).failure() == Failure::infeasible);
  CHECK(thrown::by([] { (void)optimum::overhead(sardana, 0); }).failure() == Failure::usage);
  // LLaMA-7B: 6.7B on 1T tokens.
  const Split best = optimum::for_loss(sardana, sardana.loss(6.7e9, 1e12));
  CHECK(6.7e9 / best.parameters.value == doctest::Approx(0.572).epsilon(0.001));
  CHECK(100 * optimum::overhead(sardana, 6.7e9 / best.parameters.value) == doctest::Approx(12.34).epsilon(0.0005));
}

TEST_CASE("a loss at or below the irreducible one is impossible, and says by how much") {
  const Error error = thrown::by([] { (void)optimum::for_loss(sardana, 1.6); });
  CHECK(error.failure() == Failure::infeasible);
  CHECK(thrown::says(error, "1.69"));
  CHECK(thrown::says(error, "0.09 too low"));
  CHECK(thrown::by([] { (void)optimum::for_loss(sardana, 1.69); }).failure() == Failure::infeasible);
  CHECK(thrown::by([] { (void)optimum::for_loss(sardana, std::nan("")); }).failure() == Failure::usage);
  CHECK(thrown::by([] { (void)optimum::for_budget(sardana, Flop(0)); }).failure() == Failure::usage);
  CHECK(thrown::by([] { (void)optimum::for_budget({1, 0, 400, .3, .3}, Flop(1e20)); }).failure() == Failure::no_answer);
  CHECK(thrown::says(thrown::by([] { (void)optimum::tokens_for_loss(sardana, Parameters(1e8), 1.95); }),
                     "any number of tokens"));
  CHECK(thrown::says(thrown::by([] { (void)optimum::parameters_for_loss(sardana, Tokens(1e9), 1.95); }),
                     "any number of parameters"));
}

TEST_CASE("a count that is given leaves the other to the budget or to the loss") {
  const catalog::Law law = catalog::Catalog().law("besiroglu-2024");
  optimum::Question q;
  q.budget = Flop(3.8e25);
  q.parameters = Parameters(405e9);
  optimum::Purchase p = optimum::buy(law, q);
  CHECK(p.split.tokens.value == near(3.8e25 / 6 / 405e9, 1e-14));  // 15.6T
  CHECK(p.overhead.value() > 0);
  q.parameters.reset();
  q.tokens = Tokens(15.6e12);
  CHECK(optimum::buy(law, q).split.parameters.value == near(3.8e25 / 6 / 15.6e12, 1e-14));
  q = {};
  q.loss = 1.95;
  q.most_parameters = Parameters(40e9);
  p = optimum::buy(law, q);
  CHECK(p.split.parameters.value == 40e9);
  CHECK(p.loss.value() == near(1.95, 1e-12));
  q.most_parameters = Parameters(1e15);  // more than is wanted
  CHECK(optimum::buy(law, q).overhead.value() == doctest::Approx(0).epsilon(1e-9));
  q.tokens = Tokens(1e13);
  CHECK(thrown::by([&] { (void)optimum::buy(law, q); }).failure() == Failure::usage);
}

TEST_CASE("with a demand it is the loss of the budget that is kept") {
  const catalog::Law law = catalog::Catalog().law("besiroglu-2024");
  optimum::Question q;
  q.budget = Flop(1e24);
  const optimum::Purchase alone = optimum::buy(law, q);
  q.demand.output = Tokens(1e13);
  const optimum::Purchase served = optimum::buy(law, q);
  CHECK(served.loss.value() == near(alone.loss.value(), 1e-12));
  CHECK(served.split.parameters < alone.split.parameters);
  CHECK(served.saving_fraction() > 0);
  CHECK(alone.saving_fraction() == doctest::Approx(0).epsilon(1e-12));
  CHECK(served.training_only.parameters.value == near(alone.split.parameters.value, 1e-12));
}

TEST_CASE("a law with replicates has an interval of what to buy, and counts those that never get there") {
  catalog::Law law = catalog::Catalog().law("besiroglu-2024");
  RandomStream random(6);
  for (int i = 0; i < 400; ++i) {
    Law other = law.form;
    other.irreducible_loss *= 1 + 0.04 * (random.uniform() - 0.5);
    other.token_exponent *= 1 + 0.1 * (random.uniform() - 0.5);
    law.replicates.push_back(other);
  }
  optimum::Question q;
  q.budget = Flop(1e24);
  const optimum::Purchase p = optimum::buy(law, q);
  REQUIRE(p.parameters.has_value());
  CHECK(p.parameters->interval.low < p.split.parameters.value);
  CHECK(p.parameters->interval.high > p.split.parameters.value);
  CHECK(p.without_answer == 0);
  q = {};
  q.loss = 1.83;  // within 2% of E
  CHECK(optimum::buy(law, q).without_answer > 0);
}
