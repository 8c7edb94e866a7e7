// SPDX-License-Identifier: BSD-3-Clause
//
// From a model's loss to its error on downstream tasks: Gadre et al. 2024 (arXiv 2403.08540), Eq. 5.
//
//   err(L) = eps - k exp(-gamma L)          [error rate, 0 to 1]
//
//   L loss in nats/token on the reference text (theirs: C4's validation set); eps the error of a model that knows nothing.
//
// It is an exponential decay with the perplexity's power: exp(-gamma L) = perplexity^-gamma. The average over many tasks
// follows it; a single task jumps, or stays at chance, and does not.
//
// Holds: between the losses that it was fitted on. Towards lower losses it falls without a floor and passes zero at
// L = ln(k / eps) / gamma, below which it is no error rate: refusal() says so.
// Pitfall: loss and error must come from the same text and the same tasks; 17 of 46 tasks give other coefficients.
#pragma once

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "floplan/core/quantity_text.hpp"
#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct ExponentialError {
  Scalar chance_error{};  // eps
  Scalar coefficient{};   // k
  Scalar rate{};          // gamma, in 1/(nats/token)

  static constexpr std::string_view name = "exponential-error";
  static constexpr std::string_view formula = "eps - k exp(-gamma L)";
  static constexpr std::array inputs = {Input::loss};
  static constexpr Output output = Output::error;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<ExponentialError>{"eps", &ExponentialError::chance_error, 1e-3, 2},
                      Coefficient<ExponentialError>{"k", &ExponentialError::coefficient, 1e-6, 1e6},
                      Coefficient<ExponentialError>{"gamma", &ExponentialError::rate, 1e-3, 100}};
  }

  template <class T>
  [[nodiscard]] auto operator()(const T& loss) const {
    using std::exp;
    return chance_error - coefficient * exp(-rate * loss);
  }

  [[nodiscard]] std::string refusal(std::span<const double> values) const {
    if ((*this)(values[0]) >= 0) return {};
    return "loss must be at least " + print_number(std::log(coefficient / chance_error) / rate, 6) +
           ", where this law's error reaches zero, got " + print_number(values[0], 6);
  }
};

static_assert(Form<ExponentialError<>>);

}  // namespace floplan::law
