// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <variant>

#include "floplan/catalog/any_law.hpp"
#include "floplan/optimum/purchase.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"
#include "support/warned.hpp"

namespace {

using namespace floplan;
using optimum::Purchase;
using optimum::Question;

law::AnyLaw law_named(const std::string& name) { return catalog::any_law(catalog::Catalog(), name); }

Question of_budget(double flop, double unique) {
  Question q;
  q.budget = Flop(flop);
  if (unique > 0) q.unique_tokens = Tokens(unique);
  return q;
}

bool warns(const Purchase& p, std::string_view code, std::string_view words = "") {
  return warned(p.warnings, code, words);
}

}  // namespace

TEST_CASE("with all the data it wants a law of repeated data gives its base law's optimum") {
  const law::AnyLaw law = law_named("muennighoff-2023");
  const law::Chinchilla<> base = std::get<law::RepeatedData<>>(law.form).base();
  for (const double flop : {1e20, 1e23, 1e26}) {
    const optimum::Split best = optimum::for_budget(base, Flop(flop));
    for (const double unique : {0.0, best.tokens.value * 1.01}) {
      const Purchase p = optimum::buy(law, of_budget(flop, unique));
      CHECK(p.method == optimum::Method::numeric);
      CHECK(p.split.parameters.value == near(best.parameters.value, 1e-8));
      CHECK(p.epochs == 1);
      CHECK_FALSE(warns(p, "repeated_tokens"));
    }
  }
}

TEST_CASE("little data means more epochs, a smaller model than the budget's, and no neighbour is better") {
  const law::AnyLaw law = law_named("muennighoff-2023");
  const auto& form = std::get<law::RepeatedData<>>(law.form);
  double epochs_before = 0, loss_before = 0;
  for (const double unique : {1e13, 1e12, 1e11, 1e10}) {
    const Purchase p = optimum::buy(law, of_budget(1e24, unique));
    CAPTURE(unique);
    CHECK(p.epochs == near(std::max(1.0, p.split.tokens.value / unique), 1e-12));
    CHECK(p.effective_tokens.value().value == near(form.effective_tokens(p.split.tokens.value, unique), 1e-12));
    CHECK_FALSE(p.repeated_loss.has_value());  // the law knows of it
    CHECK(p.epochs >= epochs_before);
    CHECK(*p.loss >= loss_before);
    for (const double factor : {0.5, 0.99, 1.01, 2.0})
      CHECK(form(p.split.parameters.value * factor, p.split.tokens.value / factor, unique) >= *p.loss * (1 - 1e-14));
    epochs_before = p.epochs;
    loss_before = *p.loss;
  }
  CHECK(epochs_before > 4);
  CHECK(warns(optimum::buy(law, of_budget(1e24, 1e11)), "repeated_tokens", "epochs over 100B"));
}

TEST_CASE("15T unique tokens for a run of 40T: epochs, what they are worth, and the remark") {
  const law::AnyLaw law = law_named("muennighoff-2023");
  Question q = of_budget(1e26, 15e12);
  q.tokens = Tokens(40e12);
  const Purchase p = optimum::buy(law, q);
  CHECK(p.epochs == near(40.0 / 15, 1e-14));
  CHECK(p.effective_tokens.value().value == doctest::Approx(38.69e12).epsilon(1e-3));
  CHECK(warns(p, "repeated_tokens", "2.67 epochs over 15T tokens are worth 38.69T fresh"));
}

TEST_CASE("the decay of repeats that laws of fresh data are discounted by is the catalog's") {
  CHECK(std::get<law::RepeatedData<>>(law_named("muennighoff-2023").form).token_decay ==
        optimum::token_decay_of_muennighoff);
}

TEST_CASE("a loss that repeats never reach is refused with what they do reach") {
  const law::AnyLaw law = law_named("muennighoff-2023");
  Question q;
  q.unique_tokens = Tokens(1e10);
  q.loss = 2;
  const Error error = thrown::by([&] { (void)optimum::buy(law, q); });
  CHECK(error.failure() == Failure::infeasible);
  q.loss = 2.6;
  const Purchase p = optimum::buy(law, q);
  CHECK(*p.loss == near(2.6, 1e-12));
  CHECK(p.overhead.value() == doctest::Approx(0).epsilon(1e-6));
}

TEST_CASE("a mixture's FLOP are those of the parameters that a token uses") {
  Question q = of_budget(1e22, 0);
  q.setting.set(law::Input::sparsity, 0.875);
  const Purchase abnar = optimum::buy(law_named("abnar-2025"), q);
  CHECK(abnar.active_share == 0.125);
  CHECK(6 * 0.125 * abnar.split.parameters.value * abnar.split.tokens.value == near(1e22, 1e-10));
  CHECK(warns(abnar, "active_share_estimated", "12.5%"));
  q.setting = {};
  q.setting.set(law::Input::granularity, 8);
  const law::AnyLaw krajewski = law_named("krajewski-2024");
  CHECK(thrown::by([&] { (void)optimum::buy(krajewski, q); }).where() == "--active-share");
  q.setting.active_share = 1.0 / 64;
  const Purchase p = optimum::buy(krajewski, q);
  CHECK(p.method == optimum::Method::closed_form);
  CHECK(p.training_flop().value == near(1e22, 1e-10));
  q.setting = {};
  CHECK(thrown::by([&] { (void)optimum::buy(law_named("ludziejewski-2025"), q); }).where() == "--experts");
}
