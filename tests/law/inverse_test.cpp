// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/law/inverse.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using law::Input;

}  // namespace

TEST_CASE("a law turned round gives back the input that it was asked at") {
  const catalog::Catalog catalog;
  struct Case {
    const char* law;
    Input sought;
    std::vector<double> at;
  };
  const std::vector<Case> cases = {
      {"besiroglu-2024", Input::tokens, {70e9, 1.4e12}},
      {"besiroglu-2024", Input::parameters, {70e9, 1.4e12}},
      {"kaplan-2020", Input::tokens, {1e9, 1e10}},
      {"cerebras-gpt-2023", Input::flop, {2.6e18}},
      {"step-law-2025-batch", Input::tokens, {1e11}},
      {"bhagia-2024-piqa-accuracy", Input::loss, {0.9}},
      {"krajewski-2024", Input::granularity, {1e9, 1e11, 8}},
      {"ludziejewski-2025", Input::tokens, {1e9, 2e10, 8}},
      {"abnar-2025", Input::parameters, {1e10, 1e11, 0.5}},
      {"kumar-2024", Input::tokens, {1e9, 2e10, 8, 8, 8}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.law);
    const law::AnyForm form = catalog::any_law(catalog, c.law).form;
    const auto inputs = law::inputs(form);
    const auto place = static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), c.sought) - inputs.begin());
    const double wanted = law::evaluate(form, c.at);
    std::vector<double> free = c.at;
    free[place] = 0;
    const auto found = law::inverse(form, c.sought, free, wanted);
    REQUIRE(found.has_value());
    // As near as the last digit of the value allows: the slope is a share of the value.
    CHECK(*found == near(c.at[place], 1e-9));
  }
}

TEST_CASE("a value out of reach has no inverse, and one input that the law does not take is refused") {
  const catalog::Catalog catalog;
  const law::AnyForm form = catalog::any_law(catalog, "besiroglu-2024").form;
  const std::array at = {70e9, 1.4e12};
  CHECK_FALSE(law::inverse(form, Input::tokens, at, 1.8).has_value());  // below the irreducible loss
  CHECK(thrown::by([&] { (void)law::inverse(form, Input::experts, at, 2.0); }).code() == "not_an_input");
}
