// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/law/chinchilla.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/core/random.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

#if __has_include(<ceres/jet.h>)
#include <ceres/jet.h>
#define FLOPLAN_TEST_HAS_JET 1
#else
#define FLOPLAN_TEST_HAS_JET 0
#endif

namespace {

using namespace floplan;
using law::Chinchilla;
using law::LossTerms;

std::vector<catalog::Law> laws() { return catalog::Catalog().laws(); }

double coefficient(const Chinchilla<>& form, const std::string& name) {
  if (name == "E") return form.irreducible_loss;
  if (name == "A") return form.parameter_coefficient;
  if (name == "B") return form.token_coefficient;
  if (name == "alpha") return form.parameter_exponent;
  REQUIRE(name == "beta");
  return form.token_exponent;
}

double log_uniform(RandomStream& random, double low, double high) {
  return std::exp(std::log(low) + std::log(high / low) * random.uniform());
}

}  // namespace

TEST_CASE("the catalog's laws give the published losses") {
  const catalog::Catalog catalog;
  for (const reference::Row& row : reference::rows("loss.csv")) {
    const catalog::Law law = catalog.law(row.text("law"));
    const LossTerms<double> terms =
        law::predict(law.form, Parameters(row.number("parameters")), Tokens(row.number("tokens")));
    reference::check(row, terms.total());
    reference::check(row, law.form.loss(row.number("parameters"), row.number("tokens")));
  }
}

TEST_CASE("the catalog's coefficients are the published ones") {
  const catalog::Catalog catalog;
  for (const reference::Row& row : reference::rows("law_coefficients.csv")) {
    reference::check(row, coefficient(catalog.law(row.text("law")).form, row.text("coefficient")));
  }
}

TEST_CASE("the loss is the sum of its three terms, each of them positive") {
  RandomStream random(41);
  for (const catalog::Law& law : laws()) {
    CAPTURE(law.name);
    for (int i = 0; i < 200; ++i) {
      const double n = log_uniform(random, 1e6, 1e13);
      const double d = log_uniform(random, 1e7, 1e15);
      const LossTerms<double> terms = law.form.terms(n, d);
      CHECK(terms.irreducible + terms.parameters + terms.tokens == terms.total());
      CHECK(terms.total() == law.form.loss(n, d));
      CHECK(terms.irreducible == law.form.irreducible_loss);
      CHECK(terms.parameters > 0);
      CHECK(terms.tokens > 0);
      // The formula as it is written, where the header goes by exp and log.
      CHECK(terms.parameters == near(law.form.parameter_coefficient / std::pow(n, law.form.parameter_exponent), 1e-13));
      CHECK(terms.tokens == near(law.form.token_coefficient / std::pow(d, law.form.token_exponent), 1e-13));
    }
  }
}

TEST_CASE("more parameters and more tokens each lower the loss") {
  RandomStream random(42);
  for (const catalog::Law& law : laws()) {
    CAPTURE(law.name);
    for (int i = 0; i < 200; ++i) {
      const double n = log_uniform(random, 1e6, 1e13);
      const double d = log_uniform(random, 1e7, 1e15);
      CHECK(law.form.loss(1.01 * n, d) < law.form.loss(n, d));
      CHECK(law.form.loss(n, 1.01 * d) < law.form.loss(n, d));
    }
  }
}

TEST_CASE("each term dies out alone as its input grows, down to the irreducible loss") {
  for (const catalog::Law& law : laws()) {
    CAPTURE(law.name);
    const Chinchilla<>& form = law.form;
    const double infinite = std::numeric_limits<double>::infinity();
    CHECK(form.loss(infinite, infinite) == form.irreducible_loss);
    CHECK(form.loss(infinite, 1e12) == form.irreducible_loss + form.terms(1, 1e12).tokens);
    CHECK(form.loss(1e10, infinite) == form.irreducible_loss + form.terms(1e10, 1).parameters);
    CHECK(form.loss(1, 1) == near(form.irreducible_loss + form.parameter_coefficient + form.token_coefficient, 1e-15));
  }
}

TEST_CASE("counting N in billions and D in trillions only rescales the coefficients") {
  for (const catalog::Law& law : laws()) {
    CAPTURE(law.name);
    Chinchilla<> scaled = law.form;
    scaled.parameter_coefficient /= std::pow(1e9, law.form.parameter_exponent);
    scaled.token_coefficient /= std::pow(1e12, law.form.token_exponent);
    CHECK(scaled.loss(70, 1.4) == near(law.form.loss(70e9, 1.4e12), 1e-13));
  }
}

TEST_CASE("a law asked for no parameters, no tokens, nan or inf refuses and says which") {
  const Chinchilla<> form = laws().front().form;
  const double nan = std::nan("");
  const double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, nan, inf, -inf}) {
    CAPTURE(bad);
    const Error n = thrown::by([&] { (void)law::predict(form, Parameters(bad), Tokens(1e12)); });
    CHECK(n.failure() == Failure::usage);
    CHECK(thrown::says(n, "parameters must be positive and finite, got "));
    const Error d = thrown::by([&] { (void)law::predict(form, Parameters(1e9), Tokens(bad)); });
    CHECK(d.failure() == Failure::usage);
    CHECK(thrown::says(d, "tokens must be positive and finite, got "));
  }
  CHECK(thrown::says(thrown::by([&] { (void)law::predict(form, Parameters(-5e9), Tokens(1)); }), "got -5B"));
  CHECK(thrown::says(thrown::by([&] { (void)law::predict(form, Parameters(nan), Tokens(1)); }), "got nan"));
}

#if FLOPLAN_TEST_HAS_JET
TEST_CASE("a law of Jets has the value of the law of doubles and the derivatives of finite differences") {
  using Jet = ceres::Jet<double, 7>;
  RandomStream random(43);
  for (const catalog::Law& law : laws()) {
    CAPTURE(law.name);
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Chinchilla<>& f = law.form;
      const std::vector<double> at{
          f.irreducible_loss, f.parameter_coefficient,        f.token_coefficient,           f.parameter_exponent,
          f.token_exponent,   log_uniform(random, 1e7, 1e12), log_uniform(random, 1e8, 1e14)};
      const Chinchilla<Jet> jets{Jet(at[0], 0), Jet(at[1], 1), Jet(at[2], 2), Jet(at[3], 3), Jet(at[4], 4)};
      const Jet loss = jets.loss(Jet(at[5], 5), Jet(at[6], 6));
      CHECK(loss.a == f.loss(at[5], at[6]));
      const auto value = [](const std::vector<double>& x) {
        return Chinchilla<>{x[0], x[1], x[2], x[3], x[4]}.loss(x[5], x[6]);
      };
      for (std::size_t i = 0; i < at.size(); ++i) {
        CAPTURE(i);
        const double step = 1e-5 * (at[i] != 0 ? at[i] : 1);
        std::vector<double> above = at;
        std::vector<double> below = at;
        above[i] += step;
        below[i] -= step;
        const double slope = (value(above) - value(below)) / (above[i] - below[i]);
        // Central differences of a loss of about 2: rounding 1e-15 over the step, and the third derivative.
        const double allowed = 2e-15 / step + 1e-8 * std::abs(slope);
        CHECK(std::abs(loss.v[static_cast<Eigen::Index>(i)] - slope) <= allowed);
      }
    }
  }
}
#else
TEST_CASE("a law of Jets is tested only where ceres/jet.h is installed") { MESSAGE("skipped: no ceres/jet.h"); }
#endif
