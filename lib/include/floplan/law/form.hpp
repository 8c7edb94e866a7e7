// SPDX-License-Identifier: BSD-3-Clause
//
// What every law's form has in common: named inputs, named coefficients, one number out.
//
//   template <class Scalar = double>
//   struct Kaplan {                                          one header a form, a value type of its coefficients
//     Scalar parameter_scale{}, ...;
//     static constexpr std::string_view name = "kaplan", formula = "((Nc/N)^(aN/aD) + Dc/D)^aD";
//     static constexpr std::array inputs = {Input::parameters, Input::tokens};
//     static constexpr Output output = Output::loss;
//     static constexpr auto coefficients() { return std::array{Coefficient<Kaplan>{"Nc", &Kaplan::parameter_scale, 1, 1e20}, ...}; }
//     template <class T> auto operator()(const T& n, const T& d) const;     in the order of inputs; no checks
//   };
//
// The scalar of the coefficients is a Jet when they are fitted; that of the inputs is one when a law is differentiated.
// From this alone a form can be evaluated (evaluate), read from data/laws (catalog/read_laws.hpp), inverted
// (law/inverse.hpp) and fitted (fit/form_fit.hpp). A form that is E + A / N^alpha + B / D^beta once its other inputs are
// given says so by `Chinchilla<Scalar> section(others...) const`, others in the order of inputs; the optimum of such a law
// has a closed form.
//
// [low, high] of a coefficient is where a fit searches for it, and where a file's value is believed: by its logarithm if
// low is positive and high at least 100 times low. A coefficient of a form need not be positive: then low is negative.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/law/input.hpp"

namespace floplan::law {

template <class F>
struct ScalarOf;
template <template <class> class F, class S>
struct ScalarOf<F<S>> {
  using type = S;
  template <class Other>
  using rebind = F<Other>;
};

template <class F>
struct Coefficient {
  const char* name;  // as the source writes it, in ASCII
  typename ScalarOf<F>::type F::*field;
  double low, high;

  [[nodiscard]] constexpr bool logarithmic() const { return low > 0 && high >= 100 * low; }
};

// The same form with coefficients of another scalar type.
template <class F, class Scalar>
using Rebound = typename ScalarOf<F>::template rebind<Scalar>;

template <class F>
concept Form = requires {
  { F::name } -> std::convertible_to<std::string_view>;
  { F::formula } -> std::convertible_to<std::string_view>;
  { F::output } -> std::convertible_to<Output>;
  { F::inputs.size() } -> std::convertible_to<std::size_t>;
  { F::coefficients().size() } -> std::convertible_to<std::size_t>;
};

template <Form F>
[[nodiscard]] std::span<const Input> inputs(const F&) {
  return F::inputs;
}
template <Form F>
[[nodiscard]] Output output(const F&) {
  return F::output;
}

// values: one for each of the form's inputs, in their order.
template <Form F, class T>
[[nodiscard]] auto evaluate(const F& form, std::span<const T> values) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) { return form(values[I]...); }
  (std::make_index_sequence<F::inputs.size()>());
}

}  // namespace floplan::law
