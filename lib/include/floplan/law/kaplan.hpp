// SPDX-License-Identifier: BSD-3-Clause
//
// The joint form of Kaplan et al. 2020 (arXiv 2001.08361), equation 1.5:
//
//   L(N, D) = [(Nc / N)^(aN / aD) + Dc / D]^aD          [nats/token]
//
//   N non-embedding parameters, D tokens of the data set (not of the run: early stopping, several epochs, 10% dropout).
//   Limits: D -> infinity gives (Nc / N)^aN, N -> infinity (Dc / D)^aD. There is no irreducible loss.
//
// Holds: N 768 to 1.5e9, D 22M to 23B.
// Pitfall: D is how much data there is, not how much is trained on: C = 6 N D does not hold, so this form has no
// compute-optimal split. The paper's own is N* = 1.3e9 (C / PF-day)^.73 (kaplan-2020-allocation).
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct Kaplan {
  Scalar parameter_scale{};     // Nc
  Scalar token_scale{};         // Dc
  Scalar parameter_exponent{};  // aN
  Scalar token_exponent{};      // aD

  static constexpr std::string_view name = "kaplan";
  static constexpr std::string_view formula = "((Nc/N)^(aN/aD) + Dc/D)^aD";
  static constexpr std::array inputs = {Input::parameters, Input::tokens};
  static constexpr Output output = Output::loss;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<Kaplan>{"Nc", &Kaplan::parameter_scale, 1e6, 1e24},
                      Coefficient<Kaplan>{"Dc", &Kaplan::token_scale, 1e6, 1e24},
                      Coefficient<Kaplan>{"aN", &Kaplan::parameter_exponent, 1e-3, 2},
                      Coefficient<Kaplan>{"aD", &Kaplan::token_exponent, 1e-3, 2}};
  }

  // n and d positive; no check here, so that kernels and Jets stay cheap.
  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& d) const {
    using std::exp;
    using std::log;
    return exp(token_exponent * log(exp(parameter_exponent / token_exponent * (log(parameter_scale) - log(n))) +
                                    exp(log(token_scale) - log(d))));
  }
};

static_assert(Form<Kaplan<>>);

}  // namespace floplan::law
