// SPDX-License-Identifier: BSD-3-Clause
//
// The Chinchilla form of Hoffmann et al. 2022 (arXiv 2203.15556), approach 3, equation 2:
//
//   L(N, D) = E + A / N^alpha + B / D^beta          [nats/token]
//
//   N parameters, D tokens; E irreducible loss; A, alpha the parameter term; B, beta the token term (all positive).
//
// The same form with other coefficients is Besiroglu et al. 2024 (arXiv 2404.10102), the replication.
//
// Holds: one epoch of fresh data, one architecture family, learning-rate schedule matched to D.
// Pitfall: coefficients rounded to two digits (alpha .34, beta .28) move the compute-optimal D at 5.76e23 FLOP by +25%.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <type_traits>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/form.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::law {

template <class Scalar = double>
struct Chinchilla {
  Scalar irreducible_loss{};       // E
  Scalar parameter_coefficient{};  // A
  Scalar token_coefficient{};      // B
  Scalar parameter_exponent{};     // alpha
  Scalar token_exponent{};         // beta

  static constexpr std::string_view name = "chinchilla";
  static constexpr std::string_view formula = "E + A/N^alpha + B/D^beta";
  static constexpr std::array inputs = {Input::parameters, Input::tokens};
  static constexpr Output output = Output::loss;
  // The coefficients by the names that papers and files give them.
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<Chinchilla>{"E", &Chinchilla::irreducible_loss, 0, 100},
                      Coefficient<Chinchilla>{"A", &Chinchilla::parameter_coefficient, 1e-3, 1e15},
                      Coefficient<Chinchilla>{"B", &Chinchilla::token_coefficient, 1e-3, 1e15},
                      Coefficient<Chinchilla>{"alpha", &Chinchilla::parameter_exponent, 1e-3, 20},
                      Coefficient<Chinchilla>{"beta", &Chinchilla::token_exponent, 1e-3, 20}};
  }

  // n and d must be positive; no check here, so that kernels and Jets stay cheap.
  template <class N, class D>
  [[nodiscard]] auto terms(const N& n, const D& d) const {
    using std::exp;
    using std::log;
    using Value = std::decay_t<decltype(parameter_exponent * log(n) * log(d))>;
    return LossTerms<Value>{Value(irreducible_loss), parameter_coefficient * exp(-parameter_exponent * log(n)),
                            token_coefficient * exp(-token_exponent * log(d))};
  }
  template <class N, class D>
  [[nodiscard]] auto operator()(const N& n, const D& d) const {
    return terms(n, d).total();
  }
  template <class N, class D>
  [[nodiscard]] auto loss(const N& n, const D& d) const {
    return terms(n, d).total();
  }
  [[nodiscard]] Chinchilla section() const { return *this; }
};

static_assert(Form<Chinchilla<>> && ScalingLaw<Chinchilla<>>);

using NamedCoefficient = Coefficient<Chinchilla<>>;
inline constexpr auto chinchilla_coefficients = Chinchilla<>::coefficients();

// The checked edge of any law: finite positive N and D, or Error(usage) naming the value.
template <ScalingLaw Law>
[[nodiscard]] LossTerms<double> predict(const Law& law, Parameters n, Tokens d) {
  const auto positive = [](double value, const char* what, const std::string& text) {
    if (!(value > 0) || !std::isfinite(value)) {
      throw Error(Failure::usage, "out_of_range", "predict",
                  std::string(what) + " must be positive and finite, got " + text);
    }
  };
  positive(n.value, "parameters", print(n));
  positive(d.value, "tokens", print(d));
  return law.terms(n.value, d.value);
}

}  // namespace floplan::law
