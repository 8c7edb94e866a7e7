// SPDX-License-Identifier: BSD-3-Clause
//
// How much loss does training for 4-bit weights or activations add over bfloat16?
//
//   delta L = k D^gD (log2 G)^gG / N^gN          [nats/token, to be added to the loss of the bfloat16 model]
//
//   N parameters, D tokens, G values that share a scale. Which of weights and activations have 4 bits belongs to the law,
//   so each case has its own row: W4A4, W4A16, W16A4, and both with 8 bits at the input of the second feed-forward matrix.
//
// Source: Chen et al. 2025 (arXiv 2505.14302), 268 runs.
// Holds: N 74M to 595M, D 10B to 100B (checked at 973M and 200B), G from 32 to whole rows.
//
// Pitfall: the increase grows with D, but slowly (.03 to .16), unlike rounding after training. The largest part of W4A4 is
// the input of the second feed-forward matrix: 8 bits there alone take away 20 to 43% of it.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct QuantisationAware {
  Scalar coefficient{};         // k
  Scalar parameter_exponent{};  // gN
  Scalar token_exponent{};      // gD
  Scalar group_exponent{};      // gG

  static constexpr std::string_view name = "quantisation-aware";
  static constexpr std::string_view formula = "k D^gD (log2 G)^gG / N^gN";
  static constexpr std::array inputs = {Input::parameters, Input::tokens, Input::group_size};
  static constexpr Output output = Output::loss_increase;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<QuantisationAware>{"k", &QuantisationAware::coefficient, 1e-9, 1e9},
                      Coefficient<QuantisationAware>{"gN", &QuantisationAware::parameter_exponent, 0, 5},
                      Coefficient<QuantisationAware>{"gD", &QuantisationAware::token_exponent, 0, 5},
                      Coefficient<QuantisationAware>{"gG", &QuantisationAware::group_exponent, 0, 10}};
  }

  // g at least 2.
  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& d, const T& g) const {
    using std::exp;
    using std::log;
    return coefficient *
           exp(token_exponent * log(d) + group_exponent * log(log(g) / std::log(2.0)) - parameter_exponent * log(n));
  }
};

static_assert(Form<QuantisationAware<>>);

}  // namespace floplan::law
