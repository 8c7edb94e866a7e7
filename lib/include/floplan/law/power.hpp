// SPDX-License-Identifier: BSD-3-Clause
//
// A product of powers, the form of most rules of thumb: compute-optimal N and D, batch sizes, learning rates, L(N), L(C).
//
//   y = E + k * (x1 / s1)^p1 * (x2 / s2)^p2 * ...
//
//   Llama 3:    D* = .299 C^.537            Step Law:   lr = 1.79 N^-.713 D^.307
//   Kaplan:     L = (N / 8.8e13)^-.076      Cerebras:   L = .5066 + (C / 5.984e22)^-.0737
//
// Which quantities x are, which one y is, and the units s they are counted in (8.64e19 FLOP where a source writes PF-days)
// belong to each law, so this form carries them; every other form has them fixed.
//
// Pitfall: a printed exponent of two digits and a large x: .29 C^.53 and .299 C^.537 differ by 56% at 3.8e25 FLOP.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/quantity_text.hpp"
#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct Power {
  Scalar offset{};           // E
  Scalar coefficient = 1.0;  // k
  std::vector<Scalar> exponents;
  std::vector<double> scales;  // one for each exponent
  std::vector<Input> arguments;
  Output output = Output::loss;

  static constexpr std::string_view name = "power";
  static constexpr std::string_view formula = "E + k (x1/s1)^p1 (x2/s2)^p2 ...";

  // values: positive, one for each argument.
  template <class T>
  [[nodiscard]] auto operator()(std::span<const T> values) const {
    using std::exp;
    using std::log;
    auto exponent = exponents[0] * (log(values[0]) - std::log(scales[0]));
    for (std::size_t i = 1; i < exponents.size(); ++i)
      exponent = exponent + exponents[i] * (log(values[i]) - std::log(scales[i]));
    return offset + coefficient * exp(exponent);
  }

  // "0.5066 + (C/5.984e22)^-0.0737", with the numbers in place.
  [[nodiscard]] std::string text() const {
    std::string product = coefficient != 1 ? print_number(coefficient, 6) : "";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string symbol = info(arguments[i]).symbol;
      product += (product.empty() ? "" : " ") +
                 (scales[i] == 1 ? symbol : "(" + symbol + "/" + print_number(scales[i], 6) + ")") + "^" +
                 print_number(exponents[i], 6);
    }
    return (offset != 0 ? print_number(offset, 6) + " + " : "") + product;
  }
};

[[nodiscard]] inline std::span<const Input> inputs(const Power<>& form) { return form.arguments; }
[[nodiscard]] inline Output output(const Power<>& form) { return form.output; }
template <class Scalar, class T>
[[nodiscard]] auto evaluate(const Power<Scalar>& form, std::span<const T> values) {
  return form(values);
}

}  // namespace floplan::law
