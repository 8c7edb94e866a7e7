// SPDX-License-Identifier: BSD-3-Clause
//
// How many times its own FLOP would a dense model need for the loss of a mixture of experts?
//
//   EL(A, G, C) = Ah^(a + d log10 C + gamma (log2 G)^2 + beta log2 G)          [a ratio of FLOP]
//   1 / Ah = 1 / (A + 1 / (1/As - 1/Am)) + 1 / Am                              (saturation.hpp)
//
//   A activation ratio, active experts over all (shared ones counted in both); G granularity; C training FLOP of the
//   mixture, without embeddings and with attention. The best G is 2^(-beta / (2 gamma)).
//
// Source: the Ling team, Tian et al. 2025 (arXiv 2507.17702), equation 4 and Table 2: over 300 models of up to 28B.
// The bases of the logarithms are inferred: 10 and 2 give the paper's EL above 7 at A 3.1%, G 12, 1e22 FLOP, and its best
// G of 8 to 12.
//
// Holds: with one shared expert, each model at its own best N, D, learning rate and batch.
// Pitfall: a saving of training FLOP; memory and communication of all the experts are not in it.
#pragma once

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "floplan/core/quantity_text.hpp"
#include "floplan/law/form.hpp"
#include "floplan/law/saturation.hpp"

namespace floplan::law {

template <class Scalar = double>
struct Leverage {
  Scalar exponent{};            // a
  Scalar flop_slope{};          // d, a decade of FLOP
  Scalar granularity_square{};  // gamma
  Scalar granularity_linear{};  // beta
  Scalar start{};               // As
  Scalar saturation{};          // Am

  static constexpr std::string_view name = "leverage";
  static constexpr std::string_view formula =
      "Ah^(a + d log10 C + gamma (log2 G)^2 + beta log2 G), 1/Ah = 1/(A + 1/(1/As - 1/Am)) + 1/Am";
  static constexpr std::array inputs = {Input::activation_ratio, Input::granularity, Input::flop};
  static constexpr Output output = Output::leverage;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<Leverage>{"a", &Leverage::exponent, -20, 20},
                      Coefficient<Leverage>{"d", &Leverage::flop_slope, -2, 2},
                      Coefficient<Leverage>{"gamma", &Leverage::granularity_square, -2, 2},
                      Coefficient<Leverage>{"beta", &Leverage::granularity_linear, -5, 5},
                      Coefficient<Leverage>{"As", &Leverage::start, 1e-6, 10},
                      Coefficient<Leverage>{"Am", &Leverage::saturation, 1e-3, 1e20}};
  }

  [[nodiscard]] Scalar best_granularity() const {
    using std::exp;
    return exp(-granularity_linear / (2.0 * granularity_square) * std::log(2.0));
  }
  template <class T>
  [[nodiscard]] auto operator()(const T& ratio, const T& g, const T& flop) const {
    using std::exp;
    using std::log;
    const T fineness = log(g) / std::log(2.0);
    return exp((exponent + flop_slope / std::log(10.0) * log(flop) +
                (granularity_square * fineness + granularity_linear) * fineness) *
               log(saturated(ratio, start, saturation)));
  }

  [[nodiscard]] std::string refusal(std::span<const double>) const {
    if (start > 0 && start < saturation) return {};
    return "the law's As must be positive and below Am, got " + print_number(start, 6) + " and " +
           print_number(saturation, 6);
  }
};

static_assert(Form<Leverage<>>);

}  // namespace floplan::law
