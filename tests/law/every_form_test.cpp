// SPDX-License-Identifier: BSD-3-Clause
//
// What must hold of every form, whichever it is: derivatives, sections, finite values, refusals.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "floplan/core/random.hpp"
#include "floplan/law/any_form.hpp"
#include "floplan/law/dual.hpp"
#include "law/derivatives.hpp"
#include "law/law_cases.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;

std::string text_of(const std::vector<double>& values) {
  std::string out = "at";
  for (const double value : values) out += " " + print_number(value, 17);
  return out;
}

// The slope of f at x by five points. Its error is a millionth at most where f bends on a hundredth of the scale of x.
template <class Function>
double slope(const Function& f, double x) {
  const double step = 1e-4 * std::max(std::abs(x), 1e-3);
  return (8 * (f(x + step) - f(x - step)) - (f(x + 2 * step) - f(x - 2 * step))) / (12 * step);
}

}  // namespace

TEST_CASE("every form has a law in the catalog, or coefficients of the tests' own") {
  std::set<std::string> known;
  for (const law::AnyLaw& law : law_cases::laws()) known.emplace(law::name_of(law.form));
  CHECK(known.size() == std::variant_size_v<law::AnyForm>);
}

TEST_CASE("every coefficient lies where a fit of its form would look for it") {
  for (const law::AnyLaw& law : law_cases::laws()) {
    CAPTURE(law.name);
    std::visit(
        [](const auto& form) {
          using F = std::decay_t<decltype(form)>;
          if constexpr (law::Form<F>) {
            for (const auto& coefficient : F::coefficients()) {
              CAPTURE(std::string(coefficient.name));
              CHECK(form.*coefficient.field >= coefficient.low);
              CHECK(form.*coefficient.field <= coefficient.high);
            }
          }
        },
        law.form);
  }
}

TEST_CASE("every law answers with a finite number all over its range") {
  RandomStream random(71);
  for (const law::AnyLaw& law : law_cases::laws()) {
    CAPTURE(law.name);
    for (int i = 0; i < 200; ++i) {
      const std::vector<double> values = law_cases::draw(law, random);
      INFO(text_of(values));
      CHECK_NOTHROW(law::check(law.form, values, "test"));
      CHECK(std::isfinite(law::evaluate(law.form, values)));
    }
  }
}

TEST_CASE("a section is the law itself at its other inputs, all over its range") {
  RandomStream random(72);
  std::set<std::string> with_section;
  for (const law::AnyLaw& law : law_cases::laws()) {
    CAPTURE(law.name);
    const auto inputs = law::inputs(law.form);
    for (int i = 0; i < 50; ++i) {
      const std::vector<double> values = law_cases::draw(law, random);
      const std::optional<law::Chinchilla<>> section = law::section(law.form, values);
      if (!section) continue;
      with_section.emplace(law::name_of(law.form));
      double n = 0, d = 0;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        if (inputs[k] == law::Input::parameters || inputs[k] == law::Input::active_parameters) n = values[k];
        if (inputs[k] == law::Input::tokens) d = values[k];
      }
      CHECK(section->loss(n, d) == near(law::evaluate(law.form, values), 1e-13));
    }
  }
  for (const char* name : {"chinchilla", "experts", "granularity", "precision", "sparse-weights"})
    CHECK(with_section.count(name) == 1);
}

TEST_CASE("every law refuses a value that its input cannot have, nan, and the wrong number of values") {
  RandomStream random(73);
  for (const law::AnyLaw& law : law_cases::laws()) {
    CAPTURE(law.name);
    const std::vector<double> good = law_cases::draw(law, random);
    const auto inputs = law::inputs(law.form);
    for (std::size_t i = 0; i < good.size(); ++i) {
      const law::InputInfo& input = law::info(inputs[i]);
      for (const double bad : {input.low - 1, 2 * input.high, std::nan("")}) {
        std::vector<double> values = good;
        values[i] = bad;
        const Error error = thrown::by([&] { law::check(law.form, values, "test"); });
        CHECK(error.failure() == Failure::usage);
        CHECK(thrown::says(error, input.key));
      }
    }
    std::vector<double> longer = good;
    longer.push_back(1);
    CHECK(thrown::by([&] { law::check(law.form, longer, "test"); }).code() == "wrong_size");
  }
}

TEST_CASE("every law of Dual numbers has its value, and the slopes of finite differences in each input") {
  RandomStream random(74);
  for (const law::AnyLaw& law : law_cases::laws()) {
    CAPTURE(law.name);
    for (int i = 0; i < 10; ++i) {
      const std::vector<double> values = law_cases::draw(law, random);
      INFO(text_of(values));
      const double value = law::evaluate(law.form, values);
      for (std::size_t k = 0; k < values.size(); ++k) {
        CAPTURE(k);
        std::vector<law::Dual> duals(values.begin(), values.end());
        duals[k].first = 1;
        const law::Dual found =
            std::visit([&](const auto& form) { return evaluate(form, std::span<const law::Dual>(duals)); }, law.form);
        const auto along = [&](double x) {
          std::vector<double> moved = values;
          moved[k] = x;
          return law::evaluate(law.form, moved);
        };
        const double expected = slope(along, values[k]);
        CHECK(found.value == near(value, 1e-13));
        CHECK(found.second == 0);
        // The second part is rounding of the values, over the step.
        CHECK(std::abs(found.first - expected) <=
              1e-6 * std::abs(expected) + 1e-10 * std::abs(value) / std::max(std::abs(values[k]), 1e-3));
      }
    }
  }
}

#if FLOPLAN_TEST_HAS_JET
TEST_CASE("every law differentiates by Jets all over its range, forms without published coefficients too") {
  RandomStream random(75);
  for (const law::AnyLaw& law : law_cases::laws()) {
    CAPTURE(law.name);
    for (int i = 0; i < 10; ++i) {
      const std::vector<double> values = law_cases::draw(law, random);
      INFO(text_of(values));
      std::visit([&](const auto& form) { derivatives::check(form, values); }, law.form);
    }
  }
}
#endif
