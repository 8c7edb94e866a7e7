// SPDX-License-Identifier: BSD-3-Clause
//
// What tests of any law's form share: a law of every form, values to ask it about, and what its own members must give.
//
//   for (const law::AnyLaw& law : law_cases::laws()) ... law_cases::draw(law, random)
//   reference::check(law_cases::property("zhao-2025", "best granularity"), law.best_granularity());
//
// A form whose coefficients nobody published stands among the laws with some of its own, under the name of the form.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/core/random.hpp"
#include "floplan/law/any_form.hpp"
#include "support/reference.hpp"

namespace law_cases {

using namespace floplan;

// Plausible coefficients for the forms that have none in the catalog.
inline std::vector<law::AnyLaw> unpublished() {
  std::vector<law::AnyLaw> out;
  const auto add = [&out](law::AnyForm form) {
    law::AnyLaw law{};
    law.name = law::name_of(form);
    law.form = std::move(form);
    out.push_back(std::move(law));
  };
  add(law::CriticalBatch<>{1e4, 2e6});
  add(law::ComputeSigmoid<>{0.2, 0.6, 1e22, 1.5});
  add(law::Farseer<>{0.1, -1.8, 0.1, 0.5, 3.6, 0.1, 30, 0.3, -0.2});
  return out;
}

inline std::vector<law::AnyLaw> laws() {
  std::vector<law::AnyLaw> out = catalog::any_laws(catalog::Catalog());
  for (law::AnyLaw& law : unpublished()) out.push_back(std::move(law));
  return out;
}

// Where an input is drawn from when the law's own range is not known.
inline std::pair<double, double> usual_range(law::Input input) {
  using law::Input;
  switch (input) {
    case Input::parameters: return {1e8, 1e12};
    case Input::active_parameters: return {1e8, 1e11};
    case Input::tokens: return {1e9, 1e13};
    case Input::unique_tokens: return {1e9, 1e13};
    case Input::flop: return {1e18, 1e26};
    case Input::steps: return {1e3, 1e6};
    case Input::batch: return {1e5, 1e8};
    case Input::loss: return {0.5, 5};
    case Input::experts: return {1, 512};
    case Input::granularity: return {1, 64};
    case Input::sparsity: return {0, 0.95};
    case Input::activation_ratio: return {0.01, 1};
    case Input::shared_share: return {0, 0.5};
    case Input::weight_bits:
    case Input::activation_bits:
    case Input::kv_bits: return {4, 16};
    case Input::exponent_bits: return {1, 8};
    case Input::mantissa_bits: return {1, 10};
    case Input::block_size: return {1, 1024};
    case Input::group_size: return {32, 4096};
    case Input::vocabulary_parameters: return {1e7, 1e10};
    case Input::characters: return {1e9, 1e13};
    case Input::weight_sparsity: return {0, 0.9};
  }
  return {1, 2};
}

// The law's own range, its missing ends from the usual one.
inline std::pair<double, double> range_of(const law::AnyLaw& law, law::Input input) {
  std::optional<double> low;
  std::optional<double> high;
  const auto inputs = law::inputs(law.form);
  const bool counts_all = std::find(inputs.begin(), inputs.end(), law::Input::parameters) != inputs.end();
  // A law that takes active parameters alone has their range as that of its parameters.
  if (input == law::Input::parameters || (input == law::Input::active_parameters && !counts_all))
    low = law.range.parameters_low, high = law.range.parameters_high;
  if (input == law::Input::tokens) low = law.range.tokens_low, high = law.range.tokens_high;
  if (input == law::Input::flop) low = law.range.flop_low, high = law.range.flop_high;
  for (const law::InputRange& range : law.range.others) {
    if (range.input == input) low = range.low, high = range.high;
  }
  const auto usual = usual_range(input);
  return {low.value_or(std::min(usual.first, high.value_or(usual.first))),
          high.value_or(std::max(usual.second, low.value_or(usual.second)))};
}

// Values inside the law's range that it does not refuse, one in four of them at an end.
inline std::vector<double> draw(const law::AnyLaw& law, RandomStream& random) {
  std::vector<double> out;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    out.clear();
    for (const law::Input input : law::inputs(law.form)) {
      const auto [low, high] = range_of(law, input);
      const double at = random.uniform();
      const double share = at < 0.125 ? 0 : at > 0.875 ? 1 : random.uniform();
      const bool logarithmic = low > 0 && high > 20 * low;
      const double value =
          logarithmic ? std::exp(std::log(low) + share * std::log(high / low)) : low + share * (high - low);
      out.push_back(std::clamp(value, low, high));
    }
    if (law::refusal(law.form, out).empty()) return out;
  }
  FAIL("no values that " << law.name << " accepts");
  return out;
}

template <class F>
F form(const std::string& name) {
  return std::get<F>(catalog::any_law(catalog::Catalog(), name).form);
}

// The row of tests/reference/law_properties.csv that says what a law's own member must give.
inline reference::Row property(const std::string& law, const std::string& name) {
  for (const reference::Row& row : reference::rows("law_properties.csv")) {
    if (row.text("law") == law && row.name() == name) return row;
  }
  INFO("law_properties.csv has no \"" << name << "\" of " << law);
  FAIL("no such row");
  return reference::rows("law_properties.csv").front();
}

// How far a number that follows from a law's coefficients may be off because they were printed with few digits: the sum of
// its moves as each coefficient moves by half of its last digit (tests/reference/law_digits.csv).
template <class F, class Number>
double rounding_slack(const std::string& law, const Number& number) {
  const F at = form<F>(law);
  double out = 0;
  for (const reference::Row& row : reference::rows("law_digits.csv")) {
    if (row.text("law") != law) continue;
    for (const auto& coefficient : F::coefficients()) {
      if (row.text("coefficient") != coefficient.name) continue;
      F moved = at;
      moved.*coefficient.field += row.number("half_digit");
      out += std::abs(number(moved) - number(at));
    }
  }
  REQUIRE(out > 0);
  return out;
}

}  // namespace law_cases
