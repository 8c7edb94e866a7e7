// SPDX-License-Identifier: BSD-3-Clause
//
// What does training with small floats cost in loss, and how should their bits be split?
//
//   L = n / N^alpha + d / D^beta + eps + D^beta / N^alpha log2(B) / (gamma (e + .5)^delta (m + .5)^nu)          [nats/token]
//
//   N parameters without embeddings, D tokens, e exponent bits, m mantissa bits (the sign bit besides), B values that share
//   a scale. B = 1 is no quantisation. E4M3 with blocks of 128 is e = 4, m = 3, B = 128.
//   The last term grows with D: beyond critical_tokens more data makes the model worse.
//
// Source: Sun et al. 2025 (arXiv 2501.02423), equations 16, 21 and 31, Table 2. N is without embeddings by arithmetic: 41M
// is 12 layers of width 512 and 1536 in the feed-forward block.
//
// Holds: N 41M to 679M, checked at 1.2B. The authors expect the best total of 4 to 8 bits over a wide range of budgets.
// Pitfall: one letter B here is the block and not the batch, and E and M are bits and not the irreducible loss.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct FloatTraining {
  Scalar parameter_coefficient{};  // n
  Scalar token_coefficient{};      // d
  Scalar irreducible_loss{};       // eps
  Scalar parameter_exponent{};     // alpha
  Scalar token_exponent{};         // beta
  Scalar quality{};                // gamma
  Scalar exponent_power{};         // delta
  Scalar mantissa_power{};         // nu

  static constexpr std::string_view name = "float-training";
  static constexpr std::string_view formula =
      "n/N^alpha + d/D^beta + eps + D^beta/N^alpha log2(B)/(gamma (e + .5)^delta (m + .5)^nu)";
  static constexpr std::array inputs = {Input::parameters, Input::tokens, Input::exponent_bits, Input::mantissa_bits,
                                        Input::block_size};
  static constexpr Output output = Output::loss;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<FloatTraining>{"n", &FloatTraining::parameter_coefficient, 1e-3, 1e15},
                      Coefficient<FloatTraining>{"d", &FloatTraining::token_coefficient, 1e-3, 1e15},
                      Coefficient<FloatTraining>{"eps", &FloatTraining::irreducible_loss, 0, 100},
                      Coefficient<FloatTraining>{"alpha", &FloatTraining::parameter_exponent, 1e-3, 20},
                      Coefficient<FloatTraining>{"beta", &FloatTraining::token_exponent, 1e-3, 20},
                      Coefficient<FloatTraining>{"gamma", &FloatTraining::quality, 1e-3, 1e15},
                      Coefficient<FloatTraining>{"delta", &FloatTraining::exponent_power, 1e-3, 20},
                      Coefficient<FloatTraining>{"nu", &FloatTraining::mantissa_power, 1e-3, 20}};
  }

  // gamma (e + .5)^delta (m + .5)^nu / log2(B): what the last term's D^beta / N^alpha is divided by; infinite for B = 1.
  template <class T>
  [[nodiscard]] auto format_quality(const T& exponent_bits, const T& mantissa_bits, const T& block) const {
    using std::exp;
    using std::log;
    return quality * exp(exponent_power * log(exponent_bits + 0.5) + mantissa_power * log(mantissa_bits + 0.5)) *
           std::log(2.0) / log(block);
  }
  // The D from which more data raises the loss.
  template <class T>
  [[nodiscard]] auto critical_tokens(const T& n, const T& exponent_bits, const T& mantissa_bits, const T& block) const {
    using std::exp;
    using std::log;
    return exp(
        (log(token_coefficient * format_quality(exponent_bits, mantissa_bits, block)) + parameter_exponent * log(n)) /
        (2.0 * token_exponent));
  }
  // Of a float of `bits` with its sign: the real number of mantissa bits of the lowest loss; at any N, D and B.
  [[nodiscard]] Scalar best_mantissa_bits(double bits) const {
    return mantissa_power / (exponent_power + mantissa_power) * bits - 0.5;
  }

  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& d, const T& exponent_bits, const T& mantissa_bits,
                                const T& block) const {
    using std::exp;
    using std::log;
    const auto parameters = exp(-parameter_exponent * log(n));
    const auto tokens = exp(token_exponent * log(d));
    // Multiplied by log2(B) and not divided by format_quality, so that B = 1 has a derivative.
    const auto rounding =
        log(block) / std::log(2.0) /
        (quality * exp(exponent_power * log(exponent_bits + 0.5) + mantissa_power * log(mantissa_bits + 0.5)));
    return parameter_coefficient * parameters + token_coefficient / tokens + irreducible_loss +
           tokens * parameters * rounding;
  }
};

static_assert(Form<FloatTraining<>>);

}  // namespace floplan::law
