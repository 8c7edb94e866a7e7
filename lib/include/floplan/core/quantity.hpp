// SPDX-License-Identifier: BSD-3-Clause
//
// The quantities that a training plan is made of, each a type of its own, so that N and D cannot be swapped.
//
// A quantity is one double in the unit its kind names (SI base, or the plain count) behind an explicit constructor:
//   Parameters n(405e9);  Tokens d(15.6e12);  Seconds restart(300);
// Same-kind arithmetic is defined: + - between equals, scaling by a number, the ratio of two equals (a number). A
// product of two kinds is a named function (training_flop, duration, cost, energy below), never an operator.
//
// Kernels take plain double (or a Jet); quantities stand at the API's edge. Text in and out: quantity_text.hpp.
//
// Pitfall: a quantity may hold any double, also nan or a negative number; the function that takes it says what it needs.
#pragma once

#include <compare>

namespace floplan {

template <class Kind>
struct Quantity {
  double value = 0;

  constexpr Quantity() = default;
  constexpr explicit Quantity(double in_base_units) : value(in_base_units) {}

  constexpr Quantity& operator+=(Quantity other) {
    value += other.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value -= other.value;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(Quantity a, double factor) { return Quantity(a.value * factor); }
  friend constexpr Quantity operator*(double factor, Quantity a) { return Quantity(factor * a.value); }
  friend constexpr Quantity operator/(Quantity a, double divisor) { return Quantity(a.value / divisor); }
  friend constexpr double operator/(Quantity a, Quantity b) { return a.value / b.value; }
  friend constexpr bool operator==(Quantity a, Quantity b) = default;
  friend constexpr auto operator<=>(Quantity a, Quantity b) = default;
};

// One tag a kind; the unit is that of `value`.
struct ParametersKind {};        // model parameters (total, active or non-embedding: the user of it says which)
struct TokensKind {};            // training or serving tokens
struct CountKind {};             // accelerators, nodes, sequences, events: a dimensionless count
struct FlopKind {};              // floating-point operations
struct FlopPerTokenKind {};      // floating-point operations a token, forward and backward
struct FlopPerSecondKind {};     // floating-point operations a second
struct SecondsKind {};           // seconds
struct BytesKind {};             // bytes
struct BytesPerSecondKind {};    // bytes a second
struct DollarsKind {};           // US dollars
struct DollarsPerHourKind {};    // US dollars an accelerator-hour
struct WattsKind {};             // watts
struct WattHoursKind {};         // watt-hours
struct AcceleratorHoursKind {};  // accelerators x hours
struct FractionKind {};          // a share, 1 = 100%
struct KilogramsPerKwhKind {};   // kg of CO2 equivalent a kilowatt-hour

using Parameters = Quantity<ParametersKind>;
using Tokens = Quantity<TokensKind>;
using Count = Quantity<CountKind>;
using Flop = Quantity<FlopKind>;
using FlopPerToken = Quantity<FlopPerTokenKind>;
using FlopPerSecond = Quantity<FlopPerSecondKind>;
using Seconds = Quantity<SecondsKind>;
using Bytes = Quantity<BytesKind>;
using BytesPerSecond = Quantity<BytesPerSecondKind>;
using Dollars = Quantity<DollarsKind>;
using DollarsPerHour = Quantity<DollarsPerHourKind>;
using Watts = Quantity<WattsKind>;
using WattHours = Quantity<WattHoursKind>;
using AcceleratorHours = Quantity<AcceleratorHoursKind>;
using Fraction = Quantity<FractionKind>;
using KilogramsPerKwh = Quantity<KilogramsPerKwhKind>;

inline constexpr double seconds_per_hour = 3600.0;
inline constexpr double seconds_per_day = 86400.0;

[[nodiscard]] constexpr Seconds hours(double h) { return Seconds(h * seconds_per_hour); }
[[nodiscard]] constexpr Seconds days(double d) { return Seconds(d * seconds_per_day); }
[[nodiscard]] constexpr double in_hours(Seconds t) { return t.value / seconds_per_hour; }
[[nodiscard]] constexpr double in_days(Seconds t) { return t.value / seconds_per_day; }

// The dense-transformer rule of Kaplan 2020 (section 2.1): C = 6 N D, attention scores not counted.
[[nodiscard]] constexpr Flop training_flop(Parameters n, Tokens d) { return Flop(6.0 * n.value * d.value); }
[[nodiscard]] constexpr Flop training_flop(FlopPerToken per_token, Tokens d) { return Flop(per_token.value * d.value); }
[[nodiscard]] constexpr Seconds duration(Flop work, FlopPerSecond rate) { return Seconds(work.value / rate.value); }
[[nodiscard]] constexpr AcceleratorHours accelerator_hours(Count accelerators, Seconds t) {
  return AcceleratorHours(accelerators.value * in_hours(t));
}
[[nodiscard]] constexpr Dollars cost(AcceleratorHours h, DollarsPerHour price) {
  return Dollars(h.value * price.value);
}
[[nodiscard]] constexpr WattHours energy(AcceleratorHours h, Watts per_accelerator) {
  return WattHours(h.value * per_accelerator.value);
}

}  // namespace floplan
