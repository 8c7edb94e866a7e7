// SPDX-License-Identifier: BSD-3-Clause
//
// From a loss on a task's right answers to the accuracy on the task: the second of the two steps of Llama 3 (Dubey et al.
// 2024, arXiv 2407.21783, section 3.2.1) and of the task ladder (Bhagia et al. 2024, arXiv 2412.04403).
//
//   acc(L) = a / (1 + exp(-k (L - x0))) + b          [accuracy, 0 to 1]
//
//   L loss of the right answer, in the unit of the first step (bits/byte for the task ladder). k > 0 and a < 0, so that
//   accuracy falls from b at low loss to a + b, the task's chance, at high loss; half of the way at x0, with slope a k / 4.
//
// The first step, loss from N and D, is a law of its own (bhagia-2024-piqa and bhagia-2024-piqa-accuracy). Llama 3 printed
// no coefficients.
//
// Holds: in the range of losses that it was fitted on, and there only if both ends of the curve were seen.
// Pitfall: models good enough to show the upper end b are what a forecast does not have. A b at its bound (1) was not
// found by the fit but imposed on it, and the error of the loss is magnified by up to |a| k / 4.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct Sigmoid {
  Scalar span{};       // a
  Scalar midpoint{};   // x0
  Scalar steepness{};  // k
  Scalar ceiling{};    // b

  static constexpr std::string_view name = "sigmoid";
  static constexpr std::string_view formula = "a/(1 + exp(-k (L - x0))) + b";
  static constexpr std::array inputs = {Input::loss};
  static constexpr Output output = Output::accuracy;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{
        Coefficient<Sigmoid>{"a", &Sigmoid::span, -2, 2}, Coefficient<Sigmoid>{"x0", &Sigmoid::midpoint, 0, 100},
        Coefficient<Sigmoid>{"k", &Sigmoid::steepness, 1e-3, 1e3}, Coefficient<Sigmoid>{"b", &Sigmoid::ceiling, -1, 2}};
  }

  template <class T>
  [[nodiscard]] auto operator()(const T& loss) const {
    using std::exp;
    return span / (1.0 + exp(-steepness * (loss - midpoint))) + ceiling;
  }
};

static_assert(Form<Sigmoid<>>);

}  // namespace floplan::law
