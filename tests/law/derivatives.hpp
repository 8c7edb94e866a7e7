// SPDX-License-Identifier: BSD-3-Clause
//
// One check for every form: its value in Jets is its value in doubles, and its derivatives, in each coefficient and each
// input, are those of central differences.
#pragma once

#if __has_include(<ceres/jet.h>)
#include <ceres/jet.h>
#define FLOPLAN_TEST_HAS_JET 1
#else
#define FLOPLAN_TEST_HAS_JET 0
#endif

#if FLOPLAN_TEST_HAS_JET

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "floplan/law/form.hpp"
#include "floplan/law/power.hpp"

namespace derivatives {

using namespace floplan;

// value(x) is the law with its coefficients and inputs in one row; jet is the same in Jets, seeded in the order of x.
template <class Jet, class Value>
void compare(const Jet& jet, const std::vector<double>& x, const Value& value) {
  const double at = value(x);
  CHECK(std::abs(jet.a - at) <= 1e-14 * std::abs(at));
  for (std::size_t i = 0; i < x.size(); ++i) {
    CAPTURE(i);
    const double step = 1e-5 * (x[i] != 0 ? std::abs(x[i]) : 1);
    std::vector<double> above = x, below = x;
    above[i] += step;
    below[i] -= step;
    const double slope = (value(above) - value(below)) / (above[i] - below[i]);
    // A difference's own error: rounding of two values over the step, and the third derivative, 1e-10 of a slope that
    // exponents and logarithms can enlarge some thousand times.
    const double allowed = 100 * std::numeric_limits<double>::epsilon() * std::abs(at) / step + 1e-6 * std::abs(slope);
    CHECK(std::abs(jet.v[static_cast<Eigen::Index>(i)] - slope) <= allowed);
  }
}

template <law::Form F>
void check(const F& form, std::span<const double> values) {
  static constexpr std::size_t coefficients = F::coefficients().size(), inputs = F::inputs.size();
  using Jet = ceres::Jet<double, static_cast<int>(coefficients + inputs)>;
  using JetForm = law::Rebound<F, Jet>;
  std::vector<double> x;
  for (const auto& c : F::coefficients()) x.push_back(form.*c.field);
  x.insert(x.end(), values.begin(), values.end());
  JetForm in_jets;
  for (std::size_t i = 0; i < coefficients; ++i)
    in_jets.*JetForm::coefficients()[i].field = Jet(x[i], static_cast<int>(i));
  std::vector<Jet> arguments;
  for (std::size_t i = coefficients; i < x.size(); ++i) arguments.emplace_back(x[i], static_cast<int>(i));
  const auto value = [](const std::vector<double>& row) {
    F moved;
    for (std::size_t i = 0; i < coefficients; ++i) moved.*F::coefficients()[i].field = row[i];
    return law::evaluate(moved, std::span<const double>(row).subspan(coefficients));
  };
  compare(law::evaluate(in_jets, std::span<const Jet>(arguments)), x, value);
}

// In offset, coefficient, exponents and inputs, of which there are two at most.
inline void check(const law::Power<>& form, std::span<const double> values) {
  REQUIRE(values.size() <= 2);
  using Jet = ceres::Jet<double, 6>;
  std::vector<double> x = {form.offset, form.coefficient};
  x.insert(x.end(), form.exponents.begin(), form.exponents.end());
  x.insert(x.end(), values.begin(), values.end());
  law::Power<Jet> in_jets{Jet(x[0], 0), Jet(x[1], 1), {}, form.scales, form.arguments, form.output};
  std::vector<Jet> arguments;
  for (std::size_t i = 0; i < values.size(); ++i) {
    in_jets.exponents.emplace_back(x[2 + i], static_cast<int>(2 + i));
    arguments.emplace_back(x[2 + values.size() + i], static_cast<int>(2 + values.size() + i));
  }
  const auto value = [&form](const std::vector<double>& row) {
    law::Power<> moved = form;
    moved.offset = row[0];
    moved.coefficient = row[1];
    for (std::size_t i = 0; i < moved.exponents.size(); ++i) moved.exponents[i] = row[2 + i];
    return moved(std::span<const double>(row).subspan(2 + moved.exponents.size()));
  };
  compare(in_jets(std::span<const Jet>(arguments)), x, value);
}

}  // namespace derivatives

#endif
