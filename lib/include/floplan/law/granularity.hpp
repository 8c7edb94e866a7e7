// SPDX-License-Identifier: BSD-3-Clause
//
// What loss does a mixture of fine experts reach, each a G-th of a feed-forward layer with G of them active?
//
//   L(N, D, G) = c + (g / G^gamma + a) / N^alpha + b / D^beta          [nats/token]
//
//   N parameters of all experts and attention without embeddings, D tokens, G granularity: width of a feed-forward layer
//   over the width of an expert. At a fixed G this is the Chinchilla form: section(G).
//
// Source: Krajewski et al. 2024 (arXiv 2402.07871), equation 9 and Table 1: 64 times the dense layer's parameters, G 1 to
// 16, N 129M to 3.7B, D 16B to 130B; Huber with delta .1, RMSE .015 (.019 held out).
//
// Holds: at that expansion of 64 only. Routing costs FLOP that grow with G and that 6 N D does not count: the best G is
// finite although this form falls with G for ever.
// Pitfall: a model that the paper writes as 64 x 3M has N = 129M: only the feed-forward two thirds are there 64 times,
// which makes 43. A token uses the 3M, so C = 6 N D does not hold for this N.
#pragma once

#include <array>
#include <cmath>
#include <string_view>
#include <type_traits>

#include "floplan/law/chinchilla.hpp"
#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct Granularity {
  Scalar irreducible_loss{};         // c
  Scalar parameter_coefficient{};    // a
  Scalar granularity_coefficient{};  // g
  Scalar granularity_exponent{};     // gamma
  Scalar parameter_exponent{};       // alpha
  Scalar token_coefficient{};        // b
  Scalar token_exponent{};           // beta

  static constexpr std::string_view name = "granularity";
  static constexpr std::string_view formula = "c + (g/G^gamma + a)/N^alpha + b/D^beta";
  static constexpr std::array inputs = {Input::parameters, Input::tokens, Input::granularity};
  static constexpr Output output = Output::loss;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<Granularity>{"c", &Granularity::irreducible_loss, 0, 100},
                      Coefficient<Granularity>{"a", &Granularity::parameter_coefficient, 1e-3, 1e15},
                      Coefficient<Granularity>{"g", &Granularity::granularity_coefficient, 1e-6, 1e15},
                      Coefficient<Granularity>{"gamma", &Granularity::granularity_exponent, 1e-3, 20},
                      Coefficient<Granularity>{"alpha", &Granularity::parameter_exponent, 1e-3, 20},
                      Coefficient<Granularity>{"b", &Granularity::token_coefficient, 1e-3, 1e15},
                      Coefficient<Granularity>{"beta", &Granularity::token_exponent, 1e-3, 20}};
  }

  template <class T>
  [[nodiscard]] auto section(const T& g) const {
    using std::exp;
    using std::log;
    using Value = std::decay_t<decltype(granularity_coefficient * g)>;
    return Chinchilla<Value>{Value(irreducible_loss),
                             granularity_coefficient * exp(-granularity_exponent * log(g)) + parameter_coefficient,
                             Value(token_coefficient), Value(parameter_exponent), Value(token_exponent)};
  }
  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& d, const T& g) const {
    return section(g)(n, d);
  }
};

static_assert(Form<Granularity<>>);

}  // namespace floplan::law
