// SPDX-License-Identifier: BSD-3-Clause
//
// A loss surface whose token exponent depends on the size of the model.
//
//   L(N, D) = exp(a3 N^gamma + b3) + exp(a2 N^beta + b2) D^-exp(a1 N^alpha + b1)          [nats/token]
//
//   N parameters, D tokens. With all three exponents near 0 it is close to the Chinchilla form; with others the best
//   D / N rises or falls with the budget.
//
// Source: Farseer, 2025 (arXiv 2506.10972), which finds that the best D / N rises with the budget. Its fitted coefficients
// were not found in print, so the catalog has none: this is a form to be fitted.
//
// Holds: as far as its own runs; nine coefficients need a grid of sizes and token counts, not one line of budgets.
// Pitfall: N^gamma of a negative a3 and gamma > 0 sends the irreducible term to 0, of a positive a3 to infinity.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct Farseer {
  Scalar exponent_slope{};      // a1
  Scalar exponent_offset{};     // b1
  Scalar exponent_power{};      // alpha
  Scalar coefficient_slope{};   // a2
  Scalar coefficient_offset{};  // b2
  Scalar coefficient_power{};   // beta
  Scalar large_data_slope{};    // a3
  Scalar large_data_offset{};   // b3
  Scalar large_data_power{};    // gamma

  static constexpr std::string_view name = "farseer";
  static constexpr std::string_view formula = "exp(a3 N^gamma + b3) + exp(a2 N^beta + b2) D^-exp(a1 N^alpha + b1)";
  static constexpr std::array inputs = {Input::parameters, Input::tokens};
  static constexpr Output output = Output::loss;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<Farseer>{"a1", &Farseer::exponent_slope, -100, 100},
                      Coefficient<Farseer>{"b1", &Farseer::exponent_offset, -100, 100},
                      Coefficient<Farseer>{"alpha", &Farseer::exponent_power, -1, 1},
                      Coefficient<Farseer>{"a2", &Farseer::coefficient_slope, -1000, 1000},
                      Coefficient<Farseer>{"b2", &Farseer::coefficient_offset, -1000, 1000},
                      Coefficient<Farseer>{"beta", &Farseer::coefficient_power, -1, 1},
                      Coefficient<Farseer>{"a3", &Farseer::large_data_slope, -1000, 1000},
                      Coefficient<Farseer>{"b3", &Farseer::large_data_offset, -1000, 1000},
                      Coefficient<Farseer>{"gamma", &Farseer::large_data_power, -1, 1}};
  }

  // The exponent of D at n parameters.
  template <class T>
  [[nodiscard]] auto token_exponent(const T& n) const {
    using std::exp;
    using std::log;
    return exp(exponent_slope * exp(exponent_power * log(n)) + exponent_offset);
  }
  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& d) const {
    using std::exp;
    using std::log;
    const T log_n = log(n);
    return exp(large_data_slope * exp(large_data_power * log_n) + large_data_offset) +
           exp(coefficient_slope * exp(coefficient_power * log_n) + coefficient_offset - token_exponent(n) * log(d));
  }
};

static_assert(Form<Farseer<>>);

}  // namespace floplan::law
