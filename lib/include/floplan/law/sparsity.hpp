// SPDX-License-Identifier: BSD-3-Clause
//
// How many of a mixture's experts should a token leave unused?
//
//   L(N, D, S) = a / N^alpha + b / D^beta + c / (1 - S)^lambda + d / ((1 - S)^delta N^gamma) + e          [nats/token]
//
//   N parameters of all experts together, D tokens, S share of the experts that a token does not use.
//   With the published lambda < 0 the third term falls as S grows, and the fourth rises.
//
// Source: Abnar et al. 2025 (arXiv 2501.12370), equation 6 and Table 3; Huber with delta 1e-3.
//
// Holds: where it was fitted. R^2 is 99% there and 68% on the held-out S = .98: ten coefficients on one surface.
// Pitfall: at equal N a larger S saves FLOP, since a token uses about (1 - S) N; compare at equal C = 6 (1 - S) N D.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct Sparsity {
  Scalar parameter_coefficient{};    // a
  Scalar token_coefficient{};        // b
  Scalar density_coefficient{};      // c
  Scalar interaction_coefficient{};  // d
  Scalar irreducible_loss{};         // e
  Scalar parameter_exponent{};       // alpha
  Scalar token_exponent{};           // beta
  Scalar density_exponent{};         // lambda
  Scalar interaction_density{};      // delta
  Scalar interaction_parameters{};   // gamma

  static constexpr std::string_view name = "sparsity";
  static constexpr std::string_view formula = "a/N^alpha + b/D^beta + c/(1-S)^lambda + d/((1-S)^delta N^gamma) + e";
  static constexpr std::array inputs = {Input::parameters, Input::tokens, Input::sparsity};
  static constexpr Output output = Output::loss;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<Sparsity>{"a", &Sparsity::parameter_coefficient, 1e-3, 1e15},
                      Coefficient<Sparsity>{"b", &Sparsity::token_coefficient, 1e-3, 1e15},
                      Coefficient<Sparsity>{"c", &Sparsity::density_coefficient, 0, 100},
                      Coefficient<Sparsity>{"d", &Sparsity::interaction_coefficient, 1e-6, 1e15},
                      Coefficient<Sparsity>{"e", &Sparsity::irreducible_loss, 0, 100},
                      Coefficient<Sparsity>{"alpha", &Sparsity::parameter_exponent, 1e-3, 20},
                      Coefficient<Sparsity>{"beta", &Sparsity::token_exponent, 1e-3, 20},
                      Coefficient<Sparsity>{"lambda", &Sparsity::density_exponent, -5, 5},
                      Coefficient<Sparsity>{"delta", &Sparsity::interaction_density, -5, 5},
                      Coefficient<Sparsity>{"gamma", &Sparsity::interaction_parameters, 1e-3, 20}};
  }

  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& d, const T& s) const {
    using std::exp;
    using std::log;
    const T log_n = log(n);
    const T log_density = log(1.0 - s);
    return parameter_coefficient * exp(-parameter_exponent * log_n) +
           token_coefficient * exp(-token_exponent * log(d)) +
           density_coefficient * exp(-density_exponent * log_density) +
           interaction_coefficient * exp(-interaction_density * log_density - interaction_parameters * log_n) +
           irreducible_loss;
  }
};

static_assert(Form<Sparsity<>>);

}  // namespace floplan::law
