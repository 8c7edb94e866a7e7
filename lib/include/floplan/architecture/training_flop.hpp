// SPDX-License-Identifier: BSD-3-Clause
//
// FLOP that training spends on one token, forward and backward, by the convention that counts it.
//
//   six_n    6 N                        Kaplan 2020; attention scores not counted
//   causal   6 N + 6 L a s              only the half of the scores that a causal mask keeps (Llama 3, NVIDIA, MaxText)
//   full     6 N + 12 L a s             the whole square (PaLM's MFU definition, arXiv 2204.02311 appendix B)
//
//   N parameters (total), L layers, a = heads x head_width, s sequence length in tokens.
//
// Holds: dense models, no recomputation (that is hardware FLOP, never model FLOP).
// Pitfall: an MFU means nothing without its convention: at 32,768 tokens a 7B model's differ by a factor of 2.2.
#pragma once

#include <cmath>
#include <string>

#include "floplan/architecture/transformer.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::architecture {

using law::FlopConvention;

struct TrainingFlopPerToken {
  FlopPerToken six_n;
  FlopPerToken causal;
  FlopPerToken full;

  [[nodiscard]] FlopPerToken by(FlopConvention convention) const {
    switch (convention) {
      case FlopConvention::causal: return causal;
      case FlopConvention::full: return full;
      case FlopConvention::six_n: break;
    }
    return six_n;
  }
};

// sequence_length: tokens, finite and at least 1; it may be an average over stages and so need not be whole.
[[nodiscard]] inline TrainingFlopPerToken training_flop_per_token(const Transformer& t, Tokens sequence_length) {
  if (!(sequence_length.value >= 1) || !std::isfinite(sequence_length.value)) {
    throw Error(Failure::usage, "out_of_range", "training_flop_per_token",
                "sequence length must be at least 1 token and finite, got " + print(sequence_length));
  }
  const double six_n = 6 * parameter_count(t).total.value;
  const double scores =
      6 * static_cast<double>(t.layers) * static_cast<double>(t.heads * t.head_width) * sequence_length.value;
  return {FlopPerToken(six_n), FlopPerToken(six_n + scores), FlopPerToken(six_n + 2 * scores)};
}

}  // namespace floplan::architecture
