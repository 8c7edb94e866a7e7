// SPDX-License-Identifier: BSD-3-Clause
//
// The loss of a model of N parameters after S steps, when data are ample: Kaplan et al. 2020 (arXiv 2001.08361), Eq. 1.6.
//
//   L(N, S) = (Nc / N)^aN + (Sc / S)^aS          [nats/token]
//
//   N non-embedding parameters; S the steps that a batch far above the critical one would need (their Smin). A run of S'
//   steps at batch B counts for S = S' / (1 + Bcrit(L) / B): see critical_batch.hpp and the law kaplan-2020-batch.
//   Limits: S -> infinity gives (Nc / N)^aN, the loss of the model trained to convergence. There is no irreducible loss.
//
// Holds: 768 to 1.5e9 parameters, after the warm-up of the learning rate, data not yet repeated.
// Pitfall: its Nc and aN (6.5e13, .077) differ a little from those of L(N) alone (8.8e13, .076): it is a fit of its own.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct KaplanSteps {
  Scalar parameter_scale{};     // Nc
  Scalar step_scale{};          // Sc
  Scalar parameter_exponent{};  // aN
  Scalar step_exponent{};       // aS

  static constexpr std::string_view name = "kaplan-steps";
  static constexpr std::string_view formula = "(Nc/N)^aN + (Sc/S)^aS";
  static constexpr std::array inputs = {Input::parameters, Input::steps};
  static constexpr Output output = Output::loss;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<KaplanSteps>{"Nc", &KaplanSteps::parameter_scale, 1e6, 1e24},
                      Coefficient<KaplanSteps>{"Sc", &KaplanSteps::step_scale, 1e-3, 1e12},
                      Coefficient<KaplanSteps>{"aN", &KaplanSteps::parameter_exponent, 1e-3, 2},
                      Coefficient<KaplanSteps>{"aS", &KaplanSteps::step_exponent, 1e-3, 5}};
  }

  // n and s positive; no check here, so that kernels and Jets stay cheap.
  template <class T>
  [[nodiscard]] auto operator()(const T& n, const T& s) const {
    using std::exp;
    using std::log;
    return exp(parameter_exponent * (log(parameter_scale) - log(n))) + exp(step_exponent * (log(step_scale) - log(s)));
  }
};

static_assert(Form<KaplanSteps<>>);

}  // namespace floplan::law
