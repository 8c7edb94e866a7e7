// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/core/quantity.hpp"

#include <doctest/doctest.h>

#include <concepts>
#include <string>

#include "support/reference.hpp"

namespace {

using namespace floplan;

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept Multipliable = requires(A a, B b) {
  a* b;
};
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a < b;
};

static_assert(Addable<Tokens, Tokens> && !Addable<Parameters, Tokens> && !Addable<Tokens, double>);
static_assert(Multipliable<Tokens, double> && Multipliable<double, Tokens> && !Multipliable<Parameters, Tokens>);
static_assert(Comparable<Seconds, Seconds> && !Comparable<Seconds, double> && !Comparable<Bytes, BytesPerSecond>);
static_assert(!std::convertible_to<double, Tokens> && !std::convertible_to<Tokens, double>);
static_assert(!std::convertible_to<Parameters, Tokens> && !std::constructible_from<Tokens, Parameters>);
static_assert(sizeof(Seconds) == sizeof(double));
static_assert(std::same_as<decltype(Tokens() / Tokens()), double>);

double named(const std::string& quantity, double a, double b) {
  if (quantity == "training_flop") return training_flop(Parameters(a), Tokens(b)).value;
  if (quantity == "accelerator_hours_of_work") {
    return accelerator_hours(Count(1), duration(Flop(a), FlopPerSecond(b))).value;
  }
  if (quantity == "accelerator_hours") return accelerator_hours(Count(a), Seconds(b)).value;
  if (quantity == "cost") return cost(AcceleratorHours(a), DollarsPerHour(b)).value;
  REQUIRE(quantity == "energy");
  return energy(AcceleratorHours(a), Watts(b)).value;
}

}  // namespace

TEST_CASE("quantities of one kind add, scale, divide and compare") {
  Tokens d(3);
  d += Tokens(4);
  CHECK(d == Tokens(7));
  d -= Tokens(2);
  CHECK(d == Tokens(5));
  CHECK(d + Tokens(1) - Tokens(2) == Tokens(4));
  CHECK(2 * d == d * 2);
  CHECK(d * 2 == Tokens(10));
  CHECK(d / 2 == Tokens(2.5));
  CHECK(d / Tokens(2) == 2.5);
  CHECK(Tokens(1) < d);
  CHECK(Tokens() == Tokens(0));
}

TEST_CASE("times convert between seconds, hours and days both ways") {
  CHECK(hours(2).value == 2 * 60 * 60);
  CHECK(days(2) == hours(48));
  CHECK(in_hours(days(1)) == 24);
  CHECK(in_days(hours(12)) == 0.5);
}

TEST_CASE("products of two kinds give the published work, hours, dollars and energy") {
  for (const reference::Row& row : reference::rows("work.csv")) {
    reference::check(row, named(row.text("quantity"), row.number("first"), row.number("second")));
  }
}

TEST_CASE("work from FLOP a token is the 6N rule when the FLOP a token are 6N") {
  const Parameters n(70e9);
  CHECK(training_flop(FlopPerToken(6 * n.value), Tokens(2e12)) == training_flop(n, Tokens(2e12)));
}
