// SPDX-License-Identifier: BSD-3-Clause
//
// How a fitted law splits a training budget between parameters and tokens.
//
//   with C = 6 N D:   N_opt = G (C / 6)^a,   D_opt = (C / 6)^b / G
//   a = beta / (alpha + beta),   b = alpha / (alpha + beta),   G = (alpha A / (beta B))^(1 / (alpha + beta))
//
//   C in FLOP; G in parameters^b per token^a (a number once N and D are counted in ones).
//
// Source: Hoffmann et al. 2022 (arXiv 2203.15556), equation 4.
// Holds: A, B, alpha, beta positive; anything else has no interior optimum and gives nan or a zero here.
// Pitfall: a is the exponent of parameters and belongs to the token term's beta; papers print either as "a".
#pragma once

#include <cmath>

#include "floplan/core/quantity.hpp"
#include "floplan/law/chinchilla.hpp"

namespace floplan::fit {

struct Allocation {
  double exponent_parameters = 0;  // a
  double exponent_tokens = 0;      // b
  double coefficient = 0;          // G

  [[nodiscard]] Parameters parameters(Flop budget) const {
    return Parameters(coefficient * std::pow(budget.value / 6, exponent_parameters));
  }
  [[nodiscard]] Tokens tokens(Flop budget) const {
    return Tokens(std::pow(budget.value / 6, exponent_tokens) / coefficient);
  }
};

// Whether the law has a best split between all parameters and all tokens.
[[nodiscard]] inline bool has_optimum(const law::Chinchilla<double>& law) {
  return law.parameter_coefficient > 0 && law.token_coefficient > 0 && law.parameter_exponent > 0 &&
         law.token_exponent > 0;
}

[[nodiscard]] inline Allocation allocation(const law::Chinchilla<double>& law) {
  const double sum = law.parameter_exponent + law.token_exponent;
  const double ratio =
      law.parameter_exponent * law.parameter_coefficient / (law.token_exponent * law.token_coefficient);
  return {law.token_exponent / sum, law.parameter_exponent / sum, std::pow(ratio, 1 / sum)};
}

}  // namespace floplan::fit
