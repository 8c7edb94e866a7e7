// SPDX-License-Identifier: BSD-3-Clause
//
// A number that carries its two derivatives: what a form is evaluated with to be differentiated exactly.
//
//   const Dual n{1e9, 1e9, 0}, d{2e10, 0, 2e10};     N with dN / d ln N = N; D likewise
//   const Dual loss = form(n, d);                    loss.first = dL / d ln N, loss.second = dL / d ln D
//
// Forward-mode differentiation, by the chain rule of each operation: exact to rounding, no step size. At a kink (min, max)
// it is the derivative of the branch that was taken. The fits use ceres::Jet for the same; this one needs no Ceres and
// costs nothing to compile, where Boost's autodiff costs every user seconds.
//
// Source: Griewank and Walther 2008, chapter 3. Cost: three times the plain evaluation.
// Pitfall: comparisons look at the value alone.
#pragma once

#include <cmath>
#include <compare>

namespace floplan::law {

struct Dual {
  double value = 0;
  double first = 0, second = 0;  // derivatives

  constexpr Dual() = default;
  constexpr Dual(double constant) : value(constant) {}  // NOLINT(google-explicit-constructor): mixes with plain numbers
  constexpr Dual(double v, double by_first, double by_second) : value(v), first(by_first), second(by_second) {}

  constexpr Dual& operator+=(const Dual& b) { return *this = *this + b; }
  constexpr Dual& operator-=(const Dual& b) { return *this = *this - b; }
  constexpr Dual& operator*=(const Dual& b) { return *this = *this * b; }
  constexpr Dual& operator/=(const Dual& b) { return *this = *this / b; }

  friend constexpr Dual operator+(const Dual& a) { return a; }
  friend constexpr Dual operator-(const Dual& a) { return {-a.value, -a.first, -a.second}; }
  friend constexpr Dual operator+(const Dual& a, const Dual& b) {
    return {a.value + b.value, a.first + b.first, a.second + b.second};
  }
  friend constexpr Dual operator-(const Dual& a, const Dual& b) {
    return {a.value - b.value, a.first - b.first, a.second - b.second};
  }
  friend constexpr Dual operator*(const Dual& a, const Dual& b) {
    return {a.value * b.value, a.first * b.value + a.value * b.first, a.second * b.value + a.value * b.second};
  }
  friend constexpr Dual operator/(const Dual& a, const Dual& b) {
    const double quotient = a.value / b.value;
    return {quotient, (a.first - quotient * b.first) / b.value, (a.second - quotient * b.second) / b.value};
  }
  friend constexpr bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  friend constexpr std::partial_ordering operator<=>(const Dual& a, const Dual& b) { return a.value <=> b.value; }

  // f(a), where f has the value `at` and the slope `slope`.
  [[nodiscard]] static constexpr Dual chain(const Dual& a, double at, double slope) {
    return {at, slope * a.first, slope * a.second};
  }
};

[[nodiscard]] inline Dual exp(const Dual& a) {
  const double e = std::exp(a.value);
  return Dual::chain(a, e, e);
}
[[nodiscard]] inline Dual expm1(const Dual& a) { return Dual::chain(a, std::expm1(a.value), std::exp(a.value)); }
[[nodiscard]] inline Dual log(const Dual& a) { return Dual::chain(a, std::log(a.value), 1 / a.value); }
[[nodiscard]] inline Dual log1p(const Dual& a) { return Dual::chain(a, std::log1p(a.value), 1 / (1 + a.value)); }
[[nodiscard]] inline Dual log10(const Dual& a) {
  return Dual::chain(a, std::log10(a.value), 1 / (a.value * std::log(10.0)));
}
[[nodiscard]] inline Dual log2(const Dual& a) {
  return Dual::chain(a, std::log2(a.value), 1 / (a.value * std::log(2.0)));
}
[[nodiscard]] inline Dual sqrt(const Dual& a) {
  const double root = std::sqrt(a.value);
  return Dual::chain(a, root, 0.5 / root);
}
[[nodiscard]] inline Dual tanh(const Dual& a) {
  const double t = std::tanh(a.value);
  return Dual::chain(a, t, 1 - t * t);
}
[[nodiscard]] inline Dual abs(const Dual& a) { return a.value < 0 ? -a : a; }
[[nodiscard]] inline Dual pow(const Dual& a, double exponent) {
  return Dual::chain(a, std::pow(a.value, exponent), exponent * std::pow(a.value, exponent - 1));
}
[[nodiscard]] inline Dual pow(double base, const Dual& a) {
  const double power = std::pow(base, a.value);
  return Dual::chain(a, power, power * std::log(base));
}
[[nodiscard]] inline Dual pow(const Dual& a, const Dual& b) { return exp(b * log(a)); }
[[nodiscard]] inline Dual fmin(const Dual& a, const Dual& b) { return b < a ? b : a; }
[[nodiscard]] inline Dual fmax(const Dual& a, const Dual& b) { return a < b ? b : a; }

}  // namespace floplan::law
