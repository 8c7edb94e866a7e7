// SPDX-License-Identifier: BSD-3-Clause
//
// What is a model worth of whose weights a share S is zero?
//
//   L(N, D, S) = (aS (1 - S)^bS + cS) / N^bN + (aD / D)^bD + c          [loss of the source's task]
//
//   N weights that are not zero, D tokens, S share of zeros. At fixed S this is the Chinchilla form: section(S).
//   At equal N a sparser model is better, since its zeros were chosen: it is worth dense_equivalent(S) N dense weights.
//
// Source: Frantar et al. 2023 (arXiv 2309.08520), equation 1: T5 encoders and decoders on C4, pruned step by step during
// training. In their other set-up, vision transformers, D are images.
//
// Holds: N up to some 85M that are not zero, S up to 7/8.
// Pitfall: N is what is left and not the size before pruning; training a sparse model costs the FLOP of the dense one
// unless the machine can skip zeros. The loss is that of filling in spans, not of the next token.
#pragma once

#include <array>
#include <cmath>
#include <string_view>
#include <type_traits>

#include "floplan/law/chinchilla.hpp"
#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct SparseWeights {
  Scalar density_coefficient{};  // aS
  Scalar density_exponent{};     // bS
  Scalar sparse_coefficient{};   // cS
  Scalar parameter_exponent{};   // bN
  Scalar token_scale{};          // aD
  Scalar token_exponent{};       // bD
  Scalar irreducible_loss{};     // c

  static constexpr std::string_view name = "sparse-weights";
  static constexpr std::string_view formula = "(aS (1-S)^bS + cS)/N^bN + (aD/D)^bD + c";
  static constexpr std::array inputs = {Input::parameters, Input::tokens, Input::weight_sparsity};
  static constexpr Output output = Output::loss;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<SparseWeights>{"aS", &SparseWeights::density_coefficient, 1e-6, 1e15},
                      Coefficient<SparseWeights>{"bS", &SparseWeights::density_exponent, 1e-3, 20},
                      Coefficient<SparseWeights>{"cS", &SparseWeights::sparse_coefficient, 1e-6, 1e15},
                      Coefficient<SparseWeights>{"bN", &SparseWeights::parameter_exponent, 1e-3, 20},
                      Coefficient<SparseWeights>{"aD", &SparseWeights::token_scale, 1e-3, 1e24},
                      Coefficient<SparseWeights>{"bD", &SparseWeights::token_exponent, 1e-3, 20},
                      Coefficient<SparseWeights>{"c", &SparseWeights::irreducible_loss, 0, 100}};
  }

  template <class T>
  [[nodiscard]] auto parameter_coefficient(const T& s) const {
    using std::exp;
    using std::log;
    return density_coefficient * exp(density_exponent * log(1.0 - s)) + sparse_coefficient;
  }
  // How many times its own weights a dense model of the same loss would have.
  template <class T>
  [[nodiscard]] auto dense_equivalent(const T& s) const {
    using std::exp;
    using std::log;
    return exp(log((density_coefficient + sparse_coefficient) / parameter_coefficient(s)) / parameter_exponent);
  }
  template <class T>
  [[nodiscard]] auto section(const T& s) const {
    using std::exp;
    using std::log;
    using Value = std::decay_t<decltype(density_coefficient * s)>;
    return Chinchilla<Value>{Value(irreducible_loss), parameter_coefficient(s),
                             Value(exp(token_exponent * log(token_scale))), Value(parameter_exponent),
                             Value(token_exponent)};
  }
  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& d, const T& s) const {
    return section(s)(n, d);
  }
};

static_assert(Form<SparseWeights<>>);

}  // namespace floplan::law
