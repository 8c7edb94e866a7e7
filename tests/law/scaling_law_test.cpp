// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/law/scaling_law.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>

#include "floplan/catalog/catalog.hpp"
#include "floplan/law/chinchilla.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using law::extrapolation_decades;
using law::FitRange;

struct NotALaw {
  double loss(double n, double d) const { return n + d; }
};
struct ShortLaw {
  static double loss(float n, float d) { return static_cast<double>(n + d); }
  static law::LossTerms<double> terms(double n, double d) { return {0, n, d}; }
};

static_assert(law::ScalingLaw<law::Chinchilla<>> && law::ScalingLaw<law::Chinchilla<double>>);
static_assert(!law::ScalingLaw<NotALaw> && !law::ScalingLaw<double> && law::ScalingLaw<ShortLaw>);

}  // namespace

TEST_CASE("inside the range of a fit nothing is extrapolated, ends included") {
  const FitRange range{1e8, 1e10, 1e9, 1e11, {}, {}};
  CHECK(extrapolation_decades(range, Parameters(1e9), Tokens(1e10)) == 0);
  CHECK(extrapolation_decades(range, Parameters(1e8), Tokens(1e11)) == 0);
  CHECK(extrapolation_decades(range, Parameters(1e10), Tokens(1e9)) == 0);
}

TEST_CASE("a budget beyond all that were fitted is far even where N and D are not") {
  const FitRange range{1e8, 1e10, 1e9, 1e11, 1e18, 6e20};
  CHECK(extrapolation_decades(range, Parameters(1e9), Tokens(1e11)) == near(0, 1e-14));
  CHECK(extrapolation_decades(range, Parameters(1e10), Tokens(1e11)) == near(1, 1e-14));
  CHECK(extrapolation_decades(range, Parameters(1e8), Tokens(1e9)) == near(std::log10(1 / 0.6), 1e-14));
}

TEST_CASE("outside it the further of the two counts, above as below") {
  const FitRange range{1e8, 1e10, 1e9, 1e11, {}, {}};
  const auto decades = [&range](double n, double d) { return extrapolation_decades(range, Parameters(n), Tokens(d)); };
  CHECK(decades(1e11, 1e10) == near(1, 1e-14));
  CHECK(decades(1e7, 1e10) == near(1, 1e-14));
  CHECK(decades(1e9, 1e13) == near(2, 1e-14));
  CHECK(decades(1e9, 1e6) == near(3, 1e-14));
  CHECK(decades(1e11, 1e14) == near(3, 1e-14));
  CHECK(decades(1e6, 1e12) == near(2, 1e-14));
  CHECK(decades(2e10, 1e10) == near(std::log10(2.0), 1e-14));
}

TEST_CASE("an end that is not known is never exceeded") {
  CHECK(extrapolation_decades(FitRange{}, Parameters(1e30), Tokens(1)) == 0);
  FitRange half;
  half.parameters_high = 1e10;
  CHECK(extrapolation_decades(half, Parameters(1), Tokens(1e30)) == 0);
  CHECK(extrapolation_decades(half, Parameters(1e12), Tokens(1)) == near(2, 1e-14));
}

// 405B parameters are 1.4 decades above 16B, 15.6T tokens 1.5 above 500B, and their 6ND 4.1 above the largest budget.
TEST_CASE("the catalog's ranges put Llama 3.1 405B far outside Chinchilla's data") {
  const reference::Row row = reference::row("extrapolation.csv", "Llama 3.1 405B by Chinchilla");
  const catalog::Law law = catalog::Catalog().law("hoffmann-2022");
  reference::check(
      row, extrapolation_decades(law.range, Parameters(row.number("parameters")), Tokens(row.number("tokens"))));
}

TEST_CASE("a range reads with both of its ends, as far as they are known") {
  law::FitRange range;
  CHECK(law::range_text(range).empty());
  range.parameters_low = 57.3e6;
  range.parameters_high = 16.18e9;
  CHECK(law::range_text(range) == " (N 57.3M to 16.2B)");
  range.tokens_high = 318e9;
  range.flop_low = 1.4e18;
  CHECK(law::range_text(range) == " (N 57.3M to 16.2B, D to 318B, C from 1.4e18)");
}

TEST_CASE("conventions have names for people") {
  CHECK(to_text(law::ParameterConvention::total) == "total");
  CHECK(to_text(law::ParameterConvention::active) == "active");
  CHECK(to_text(law::ParameterConvention::non_embedding) == "non_embedding");
  CHECK(to_text(law::ParameterConvention::without_input_embedding) == "without_input_embedding");
  CHECK(to_text(law::FlopConvention::six_n) == "6N");
  CHECK(to_text(law::FlopConvention::causal).find("causal") != std::string::npos);
  CHECK(to_text(law::FlopConvention::full).find("full") != std::string::npos);
}
