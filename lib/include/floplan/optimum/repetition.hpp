// SPDX-License-Identifier: BSD-3-Clause
//
// How many fresh tokens are repeated ones worth?
//
//   D' = U + U R* (1 - exp(-R / R*)),   R = D / U - 1,   R* = 15.387756        D tokens trained on, U different ones
//
//   const Repetition r = repetition(Tokens(40e12), Tokens(15e12));
//   r.epochs 2.667, r.effective 38.7T: one fresh token of this kind is worth 1.03 of the repeated run's
//
// Four epochs are nearly as good as fresh data; beyond some forty (R well above R*) nothing is gained: D' < U (1 + R*).
//
// Source: Muennighoff et al. 2023 (arXiv 2305.16264), equations 16 to 18, with the constant of the authors' repository
// (catalog: muennighoff-2023). A law of that form has its own R*, which `form` gives.
// Holds: C4 and OSCAR, up to 9B parameters and 44 epochs.
// Pitfall: it says what repeating costs, not what to do about it: with few tokens the best model is smaller and trained for
// longer than a law of fresh data says (ask muennighoff-2023).
#pragma once

#include <cmath>

#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/optimum/compute_optimal.hpp"

namespace floplan::optimum {

inline constexpr double token_decay_of_muennighoff = 15.387756;  // R_D*, in epochs

struct Repetition {
  double epochs = 1;
  Tokens effective;  // fresh tokens that would be worth the same
};

[[nodiscard]] inline Repetition repetition(Tokens d, Tokens unique, double decay = token_decay_of_muennighoff) {
  detail::require_positive(d.value, "tokens", print(d));
  detail::require_positive(unique.value, "unique tokens", print(unique));
  if (d <= unique) return {1, d};
  const double repeats = d / unique - 1;
  return {1 + repeats, Tokens(unique.value * (1 - decay * std::expm1(-repeats / decay)))};
}

// What to think of so many epochs, in words.
[[nodiscard]] inline const char* worth_of_epochs(double epochs) {
  return epochs > 40  ? "beyond some forty epochs nothing more is gained"
         : epochs > 4 ? "up to four epochs are nearly as good as fresh data, and these are more"
                      : "up to four epochs are nearly as good as fresh data";
}

}  // namespace floplan::optimum
