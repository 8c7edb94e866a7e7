// SPDX-License-Identifier: BSD-3-Clause
//
// What does it cost to train a smaller (or larger) model than the best, to the same loss?
//
//   k_N = N / N*,   k_D = D / D* = [1 - (k_N^-alpha - 1) beta / alpha]^(-1 / beta),   overhead = k_N k_D - 1
//
// The same for every budget. Below the floor k_N = (1 + alpha / beta)^(-1 / alpha) no number of tokens makes up for the
// parameters that are missing: the critical model size.
//
// Source: de Vries 2023, "Go smol or go home". Holds: C = 6 N D and a law E + A / N^alpha + B / D^beta.
// Errors: usage for a size that is not positive and finite, infeasible at or below the floor.
// Pitfall: the curve is flat at its bottom (3% at three quarters of the size) and a wall on the left (105% at .3).
#pragma once

#include <cmath>
#include <string>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/optimum/compute_optimal.hpp"

namespace floplan::optimum {

// The smallest share of the best size that can still reach its loss; exclusive.
[[nodiscard]] inline double size_floor(const law::Chinchilla<double>& law) {
  detail::require_interior(law);
  return std::pow(1 + law.parameter_exponent / law.token_exponent, -1 / law.parameter_exponent);
}

// k_D for k_N: how many times the best tokens a model of `size` times the best size needs.
[[nodiscard]] inline double tokens_factor(const law::Chinchilla<double>& law, double size) {
  detail::require_positive(size, "the share of the best size", print_number(size, 6));
  const double floor = size_floor(law);
  const double left =
      1 - std::expm1(-law.parameter_exponent * std::log(size)) * law.token_exponent / law.parameter_exponent;
  if (!(size > floor && left > 0)) {
    throw Error(Failure::infeasible, "below_critical_size", "optimum",
                "the size must be above " + print_number(floor, 4) +
                    " of the best one, below which no number of tokens reaches its loss, got " + print_number(size, 4));
  }
  return std::exp(-std::log(left) / law.token_exponent);
}

// FLOP beyond those of the best size, as a share of them.
[[nodiscard]] inline double overhead(const law::Chinchilla<double>& law, double size) {
  return size * tokens_factor(law, size) - 1;
}

}  // namespace floplan::optimum
