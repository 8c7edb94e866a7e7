// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/law/repeated_data.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "floplan/core/random.hpp"
#include "floplan/fit/allocation.hpp"
#include "law/law_cases.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"

#if __has_include(<ceres/jet.h>)
#include <ceres/jet.h>
#define FLOPLAN_TEST_HAS_JET 1
#else
#define FLOPLAN_TEST_HAS_JET 0
#endif

namespace {

using namespace floplan;
using Law = law::RepeatedData<>;

Law published() { return law_cases::form<Law>("muennighoff-2023"); }

Law unequal() {
  Law law = published();
  law.parameter_exponent = 0.31;
  law.token_exponent = 0.42;
  return law;
}

}  // namespace

TEST_CASE("a law of repeated data with equal exponents matches parameters to tokens in the published ratio") {
  const Law law = published();
  for (const double u : {1e9, 4e9, 1e13}) {
    reference::check(law_cases::property("muennighoff-2023", "parameters matched to a token of data"),
                     law.matched_parameters(u) / u);
  }
}

TEST_CASE("the parameters matched to the data are those for which it is compute-optimal, exponents equal or not") {
  RandomStream random(75);
  for (int i = 0; i < 200; ++i) {
    Law law = published();
    law.parameter_exponent = 0.2 + 0.3 * random.uniform();
    law.token_exponent = 0.2 + 0.3 * random.uniform();
    law.parameter_coefficient *= std::exp(4 * random.uniform() - 2);
    const double n = std::exp(std::log(1e7) + std::log(1e5) * random.uniform());
    // The budget whose best N is n has the best D that n is matched to.
    const fit::Allocation split = fit::allocation(law.base());
    const double sixth = std::pow(n / split.coefficient, 1 / split.exponent_parameters);
    CHECK(law.matched_parameters(split.tokens(Flop(6 * sixth)).value) == near(n, 1e-10));
  }
}

TEST_CASE("data that is read at most once gives the law of fresh data, however much more there is") {
  for (const Law& law : {published(), unequal()}) {
    for (const double d : {1e9, 1e10, 1e11}) {
      const double n = 0.9 * law.matched_parameters(d);
      CHECK(law(n, d, d) == law.base()(n, d));
      CHECK(law(n, d, 2 * d) == law(n, d, d));
      CHECK(law(50 * n, d, 1e3 * d) == law(50 * n, d, d));
      CHECK(law.epochs(d, 2 * d) == 1);
      CHECK(law.epochs(3 * d, 2 * d) == 1.5);
      CHECK(law.effective_tokens(d, 2 * d) == d);
      CHECK(law.effective_parameters(n, d) == n);
    }
  }
}

TEST_CASE("repeats are worth less than fresh tokens, each more is worth less, and all together R_D passes") {
  const Law law = published();
  const double u = 1e10;
  double last = u;
  double last_gain = u;
  for (int epochs = 2; epochs <= 100; ++epochs) {
    const double worth = law.effective_tokens(epochs * u, u);
    CHECK(worth > last);
    CHECK(worth - last < last_gain);
    CHECK(worth < epochs * u);
    last_gain = worth - last;
    last = worth;
  }
  CHECK(law.effective_tokens(1e6 * u, u) == near(u * (1 + law.token_decay), 1e-12));
  const double n = law.matched_parameters(u);
  CHECK(law.effective_parameters(1e6 * n, u) == near(n * (1 + law.parameter_decay), 1e-12));
}

TEST_CASE("more parameters, more passes and more data each lower the loss of repeated data") {
  RandomStream random(76);
  for (const Law& law : {published(), unequal()}) {
    for (int i = 0; i < 500; ++i) {
      const double n = std::exp(std::log(1e7) + std::log(1e5) * random.uniform());
      const double u = std::exp(std::log(1e8) + std::log(1e5) * random.uniform());
      const double d = u * std::exp(std::log(0.1) + std::log(300.0) * random.uniform());
      CHECK(law(1.01 * n, d, u) <= law(n, d, u));
      CHECK(law(n, 1.01 * d, u) < law(n, d, u));
      CHECK(law(n, d, 1.01 * u) <= law(n, d, u));
    }
  }
}

TEST_CASE("the terms of a law of repeated data add up to its loss") {
  const Law law = published();
  const auto terms = law.terms(2.81e9, 55e9, 4e9);
  CHECK(terms.total() == law(2.81e9, 55e9, 4e9));
  CHECK(terms.irreducible == law.irreducible_loss);
  CHECK(terms.tokens ==
        near(law.token_coefficient * std::pow(law.effective_tokens(55e9, 4e9), -law.token_exponent), 1e-13));
  CHECK(terms.parameters ==
        near(law.parameter_coefficient * std::pow(law.effective_parameters(2.81e9, 4e9), -law.parameter_exponent),
             1e-13));
}

#if FLOPLAN_TEST_HAS_JET
TEST_CASE("value and slope pass the first repeat and the matched size without a jump or a nan") {
  using Jet = ceres::Jet<double, 3>;
  for (const Law& law : {published(), unequal()}) {
    const double u = 4e9;
    const double n = law.matched_parameters(u);
    const auto at = [&law](double parameters, double tokens, double unique) {
      return law(Jet(parameters, 0), Jet(tokens, 1), Jet(unique, 2));
    };
    const Jet kink = at(n, u, u);
    for (int i = 0; i < 3; ++i) CHECK(std::isfinite(kink.v[i]));
    for (const double side : {-1e-9, 1e-9}) {
      const Jet tokens = at(n, u * (1 + side), u);
      CHECK(tokens.a == near(kink.a, 1e-8));
      CHECK(tokens.v[1] == near(kink.v[1], 1e-6));
      const Jet parameters = at(n * (1 + side), u, u);
      CHECK(parameters.a == near(kink.a, 1e-8));
      CHECK(parameters.v[0] == near(kink.v[0], 1e-6));
    }
  }
}
#endif
