// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "floplan/catalog/catalog.hpp"
#include "floplan/optimum/limits.hpp"
#include "floplan/optimum/purchase.hpp"
#include "floplan/optimum/repetition.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"
#include "support/warned.hpp"

namespace {

using namespace floplan;
using optimum::Purchase;
using optimum::Question;

optimum::ServingMachine node(catalog::Precision precision) {
  return {"h100-sxm", Count(8), Bytes(80e9), precision, Fraction(optimum::usual_usable_memory)};
}

bool warns(const Purchase& p, std::string_view code, std::string_view words = "") {
  return warned(p.warnings, code, words);
}

}  // namespace

TEST_CASE("405B in BF16 does not fit on eight accelerators of 80 GB, and in FP8 it does") {
  for (const reference::Row& row : reference::rows("serving_memory.csv")) {
    const bool fp8 = row.text("precision") == "fp8";
    const auto machine = node(fp8 ? catalog::Precision::fp8 : catalog::Precision::bf16);
    const Parameters n(row.number("parameters"));
    reference::check(row, machine.weights(n).value / 1e9);
    if (fp8) {
      CHECK_NOTHROW(optimum::require_fit(machine, n));
    } else {
      const Error error = thrown::by([&] { optimum::require_fit(machine, n); });
      CHECK(error.failure() == Failure::infeasible);
      CHECK(thrown::says(error, "811.7"));
      CHECK(thrown::says(error, "1.41 times"));
    }
  }
}

TEST_CASE("the machine that serves bounds the model, and says so only where it does") {
  const catalog::Law law = catalog::Catalog().law("besiroglu-2024");
  Question q;
  q.budget = Flop(1e26);
  q.machine = node(catalog::Precision::bf16);
  const Purchase bound = optimum::buy(law, q);
  CHECK(bound.split.parameters.value == near(8 * 80e9 * 0.9 / 2, 1e-14));
  CHECK(bound.binds == optimum::Limit::serving_memory);
  CHECK(bound.overhead.value() > 0);
  CHECK(warns(bound, "serving_memory_binds", "h100-sxm"));
  q.most_parameters = Parameters(100e9);
  CHECK(optimum::buy(law, q).binds == optimum::Limit::most_parameters);
  q.budget = Flop(1e22);
  const Purchase free = optimum::buy(law, q);
  CHECK(free.binds == optimum::Limit::none);
  CHECK_FALSE(warns(free, "serving_memory_binds"));
  q.most_parameters.reset();
  q.budget = Flop(3.8e25);
  q.parameters = Parameters(405e9);
  CHECK(thrown::by([&] { (void)optimum::buy(law, q); }).code() == "does_not_fit");
  q.machine = node(catalog::Precision::fp8);
  CHECK_NOTHROW((void)optimum::buy(law, q));
  q.machine->usable = Fraction(1.5);
  CHECK(thrown::by([&] { (void)optimum::buy(law, q); }).failure() == Failure::usage);
}

TEST_CASE("a deadline is a budget: accelerators, dense peak, MFU and days") {
  const optimum::Deadline d{Count(16384), FlopPerSecond(989e12), Fraction(0.4), days(90)};
  CHECK(d.budget().value == near(16384 * 989e12 * 0.4 * 90 * 86400, 1e-14));
  CHECK(thrown::by([] {
          (void)optimum::Deadline{Count(0), FlopPerSecond(1e15), Fraction(0.4), days(90)}.budget();
        }).failure() == Failure::usage);
  CHECK(thrown::by([] {
          (void)optimum::Deadline{Count(8), FlopPerSecond(1e15), Fraction(40), days(90)}.budget();
        }).failure() == Failure::usage);
}

TEST_CASE("repeated tokens are worth what Muennighoff's law says") {
  for (const reference::Row& row : reference::rows("repetition.csv")) {
    const auto r = optimum::repetition(Tokens(row.number("tokens")), Tokens(row.number("unique_tokens")));
    reference::check(row, row.text("quantity") == "epochs" ? r.epochs : r.effective.value);
  }
  const auto once = optimum::repetition(Tokens(1e12), Tokens(2e12));
  CHECK(once.epochs == 1);
  CHECK(once.effective.value == 1e12);
  CHECK(thrown::by([] { (void)optimum::repetition(Tokens(1e12), Tokens(0)); }).failure() == Failure::usage);
}

TEST_CASE("a law of fresh data warns of repetition and gives the discounted loss") {
  const catalog::Law law = catalog::Catalog().law("besiroglu-2024");
  Question q;
  q.budget = Flop(1e26);
  q.tokens = Tokens(40e12);
  q.unique_tokens = Tokens(15e12);
  const Purchase p = optimum::buy(law, q);
  CHECK(p.epochs == near(40.0 / 15, 1e-14));
  CHECK(p.effective_tokens.value().value == doctest::Approx(38.69e12).epsilon(1e-3));
  CHECK(p.repeated_loss.value() > p.loss.value());
  CHECK(warns(p, "repeated_tokens", "38.69T"));
  CHECK(warns(p, "repeated_tokens", "takes all 40T"));
  q.unique_tokens = Tokens(50e12);
  const Purchase fresh = optimum::buy(law, q);
  CHECK(fresh.epochs == 1);
  CHECK_FALSE(fresh.repeated_loss.has_value());
  CHECK_FALSE(warns(fresh, "repeated_tokens"));
}
