// SPDX-License-Identifier: BSD-3-Clause
//
// What must hold of every form, whichever it is: derivatives, sections, finite values, refusals.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "floplan/core/random.hpp"
#include "floplan/law/any_form.hpp"
#include "law/law_cases.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"

#if __has_include(<ceres/jet.h>)
#include <ceres/jet.h>
#define FLOPLAN_TEST_HAS_JET 1
#else
#define FLOPLAN_TEST_HAS_JET 0
#endif

namespace {

using namespace floplan;

std::string text_of(const std::vector<double>& values) {
  std::string out = "at";
  for (const double value : values) out += " " + print_number(value, 17);
  return out;
}

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

template <class F>
constexpr std::size_t position(law::Input input) {
  for (std::size_t i = 0; i < F::inputs.size(); ++i) {
    if (F::inputs[i] == input) return i;
  }
  return none;
}

// The input that a section calls N.
template <class F>
constexpr std::size_t parameters_position() {
  const std::size_t all = position<F>(law::Input::parameters);
  return all != none ? all : position<F>(law::Input::active_parameters);
}

// form.section(others...)(n, d), or nothing where the form has no section.
template <class F>
std::optional<double> by_section(const F& form, std::span<const double> values) {
  constexpr std::size_t n = parameters_position<F>();
  constexpr std::size_t d = position<F>(law::Input::tokens);
  if constexpr (n != none && d != none) {
    constexpr auto others = [] {
      std::array<std::size_t, F::inputs.size() - 2> out{};
      std::size_t count = 0;
      for (std::size_t i = 0; i < F::inputs.size(); ++i) {
        if (i != n && i != d) out[count++] = i;
      }
      return out;
    }();
    return [&]<std::size_t... I>(std::index_sequence<I...>)->std::optional<double> {
      if constexpr (requires { form.section(values[others[I]]...); }) {
        return form.section(values[others[I]]...)(values[n], values[d]);
      } else {
        return std::nullopt;
      }
    }
    (std::make_index_sequence<others.size()>());
  } else {
    return std::nullopt;
  }
}

#if FLOPLAN_TEST_HAS_JET

// The slope of f at x by five points. Its error is a millionth at most where f bends on a hundredth of the scale of x.
template <class Function>
double slope(const Function& f, double x) {
  const double step = 1e-4 * std::max(std::abs(x), 1e-3);
  return (8 * (f(x + step) - f(x - step)) - (f(x + 2 * step) - f(x - 2 * step))) / (12 * step);
}

void check_slope(double found, double expected, double value, double x) {
  // The second part is rounding of the values, over the step.
  CHECK(std::abs(found - expected) <=
        1e-6 * std::abs(expected) + 1e-10 * std::abs(value) / std::max(std::abs(x), 1e-3));
}

template <class F>
void check_input_derivatives(const F& form, const std::vector<double>& values) {
  constexpr std::size_t most = 8;
  REQUIRE(values.size() <= most);
  using Jet = ceres::Jet<double, most>;
  std::vector<Jet> jets;
  for (std::size_t i = 0; i < values.size(); ++i) jets.emplace_back(values[i], static_cast<int>(i));
  const Jet found = evaluate(form, std::span<const Jet>(jets));
  const double value = evaluate(form, std::span<const double>(values));
  CHECK(found.a == near(value, 1e-13));
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    const auto along = [&](double x) {
      std::vector<double> moved = values;
      moved[i] = x;
      return evaluate(form, std::span<const double>(moved));
    };
    check_slope(found.v[static_cast<Eigen::Index>(i)], slope(along, values[i]), value, values[i]);
  }
}

template <class F>
void check_coefficient_derivatives(const F& form, const std::vector<double>& values) {
  if constexpr (law::Form<F>) {
    constexpr std::size_t count = F::coefficients().size();
    using Jet = ceres::Jet<double, count>;
    using Lifted = law::Rebound<F, Jet>;
    const auto plain = F::coefficients();
    const auto lifted = Lifted::coefficients();
    Lifted jets{};
    for (std::size_t i = 0; i < count; ++i) jets.*lifted[i].field = Jet(form.*plain[i].field, static_cast<int>(i));
    const Jet found = evaluate(jets, std::span<const double>(values));
    const double value = evaluate(form, std::span<const double>(values));
    CHECK(found.a == near(value, 1e-13));
    for (std::size_t i = 0; i < count; ++i) {
      CAPTURE(std::string(plain[i].name));
      const auto along = [&](double x) {
        F moved = form;
        moved.*plain[i].field = x;
        return evaluate(moved, std::span<const double>(values));
      };
      const double at = form.*plain[i].field;
      check_slope(found.v[static_cast<Eigen::Index>(i)], slope(along, at), value, at);
    }
  }
}
#endif

}  // namespace

TEST_CASE("every form has a law in the catalog, or coefficients of the tests' own") {
  std::set<std::string> known;
  for (const law::AnyLaw& law : law_cases::laws()) known.emplace(law::name_of(law.form));
  CHECK(known.size() == std::variant_size_v<law::AnyForm>);
}

TEST_CASE("the catalog's laws have unique names and aliases, a title, a source and a sentence of trust") {
  std::set<std::string> names;
  for (const law::AnyLaw& law : catalog::any_laws(catalog::Catalog())) {
    CAPTURE(law.name);
    CHECK(names.insert(law.name).second);
    for (const std::string& alias : law.aliases) {
      CAPTURE(alias);
      CHECK(names.insert(alias).second);
    }
    CHECK(!law.title.empty());
    CHECK(!law.provenance.source.empty());
    if (!std::holds_alternative<law::Chinchilla<>>(law.form)) CHECK(law.trust.ends_with('.'));
  }
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

TEST_CASE("a section is the law itself at its other inputs") {
  RandomStream random(72);
  int sections = 0;
  for (const law::AnyLaw& law : law_cases::laws()) {
    CAPTURE(law.name);
    for (int i = 0; i < 50; ++i) {
      const std::vector<double> values = law_cases::draw(law, random);
      const std::optional<double> found = std::visit(
          [&](const auto& form) -> std::optional<double> {
            if constexpr (law::Form<std::decay_t<decltype(form)>>) return by_section(form, values);
            return std::nullopt;
          },
          law.form);
      if (!found) continue;
      ++sections;
      CHECK(*found == near(law::evaluate(law.form, values), 1e-14));
    }
  }
  CHECK(sections > 0);
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

#if FLOPLAN_TEST_HAS_JET
TEST_CASE("every law of Jets has its value, and the slopes of finite differences in each input and each coefficient") {
  RandomStream random(74);
  for (const law::AnyLaw& law : law_cases::laws()) {
    CAPTURE(law.name);
    for (int i = 0; i < 10; ++i) {
      const std::vector<double> values = law_cases::draw(law, random);
      INFO(text_of(values));
      std::visit(
          [&](const auto& form) {
            check_input_derivatives(form, values);
            check_coefficient_derivatives(form, values);
          },
          law.form);
    }
  }
}
#else
TEST_CASE("laws of Jets are tested only where ceres/jet.h is installed") { MESSAGE("skipped: no ceres/jet.h"); }
#endif
