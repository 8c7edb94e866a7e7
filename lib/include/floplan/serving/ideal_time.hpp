// SPDX-License-Identifier: BSD-3-Clause
//
// The least time that serving can take: peaks and bandwidths reached in full, nothing in between.
//
//   decode step       B S kappa / (p W) + max(2 N B / (p F), N w / (p W))
//   prompt            2 N t / (p F U)                                 U: share of the peak, 1 for the bound
//   critical batch    (F / W) (w / 2) E / k                           below it the weights' traffic decides, above it FLOP
//   utilisation       2 N t / (p F seconds)                           MFU of serving
//
//   N parameters that a token uses, w bytes a weight in memory, kappa bytes of cache a token, B sequences of S tokens, p
//   accelerators of F FLOP/s and W bytes/s, t tokens; E/k of a mixture of experts, 1 of a dense model.
//
// Sources: the scaling book (Austin et al. 2025), chapter "All about transformer inference"; kipply 2022, Transformer
// inference arithmetic; Pope et al. 2022 (arXiv 2211.05102) for the utilisation.
// Holds: as a bound. Measured times are 1.2 to 3.3 times these (kipply, Pope); serving_report.hpp predicts.
// Pitfall: 8-bit weights multiplied in 16 bits halve the critical batch, 8-bit products bring it back.
#pragma once

#include <algorithm>

#include "floplan/core/quantity.hpp"

namespace floplan::serving {

// Accelerators together, and the weights they read.
struct IdealMachine {
  double accelerators = 1;
  FlopPerSecond peak;               // of one, in the type of the products
  BytesPerSecond memory_bandwidth;  // of one
  double weight_bytes = 2;
};

[[nodiscard]] constexpr Seconds ideal_decode_time(const IdealMachine& m, Parameters n, double batch, Tokens context,
                                                  Bytes cache_a_token) {
  const double bandwidth = m.accelerators * m.memory_bandwidth.value;
  const double cache = batch * context.value * cache_a_token.value / bandwidth;
  return Seconds(cache +
                 std::max(2 * n.value * batch / (m.accelerators * m.peak.value), n.value * m.weight_bytes / bandwidth));
}

[[nodiscard]] constexpr Seconds ideal_prompt_time(const IdealMachine& m, Parameters n, Tokens tokens,
                                                  Fraction utilisation = Fraction(1)) {
  return Seconds(2 * n.value * tokens.value / (m.accelerators * m.peak.value * utilisation.value));
}

// sparsity: experts over those that a token uses.
[[nodiscard]] constexpr double critical_batch(FlopPerSecond peak, BytesPerSecond memory_bandwidth, double weight_bytes,
                                              double sparsity = 1) {
  return peak.value / memory_bandwidth.value * weight_bytes / 2 * sparsity;
}

[[nodiscard]] constexpr double serving_utilisation(const IdealMachine& m, Parameters n, Tokens tokens, Seconds time) {
  return ideal_prompt_time(m, n, tokens) / time;
}

}  // namespace floplan::serving
