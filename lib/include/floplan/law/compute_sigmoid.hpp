// SPDX-License-Identifier: BSD-3-Clause
//
// How far does reinforcement learning take a model as its compute grows?
//
//   R(C) = R0 + (A - R0) / (1 + (Cmid / C)^B)          [share of tasks solved]
//
//   C compute, R0 before it, A the ceiling, Cmid where half of the gain is made, B how steep. Any unit of compute will do,
//   FLOP or accelerator-hours: Cmid is in the same.
//
// Source: 2025 (arXiv 2510.13786), over 400,000 GB200-hours: a fit to 50,000 GPU-hours foretold 100,000. The kind of loss and
// 32-bit logits move A; most other choices move only B and Cmid. Of its recipe only A = .61 is published, so the catalog has
// no row: this is a form to be fitted.
//
// Holds: for one recipe, one model and one set of tasks, beyond the unsteady first part of a run.
// Pitfall: before C reaches Cmid the ceiling is not in the data. A fit of an early curve will name one all the same.
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct ComputeSigmoid {
  Scalar start{};      // R0
  Scalar ceiling{};    // A
  Scalar midpoint{};   // Cmid
  Scalar steepness{};  // B

  static constexpr std::string_view name = "compute-sigmoid";
  static constexpr std::string_view formula = "R0 + (A - R0)/(1 + (Cmid/C)^B)";
  static constexpr std::array inputs = {Input::flop};
  static constexpr Output output = Output::accuracy;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<ComputeSigmoid>{"R0", &ComputeSigmoid::start, 0, 1},
                      Coefficient<ComputeSigmoid>{"A", &ComputeSigmoid::ceiling, 0, 1},
                      Coefficient<ComputeSigmoid>{"Cmid", &ComputeSigmoid::midpoint, 1e-3, 1e36},
                      Coefficient<ComputeSigmoid>{"B", &ComputeSigmoid::steepness, 1e-2, 20}};
  }

  template <class T>
  [[nodiscard]] auto operator()(const T& c) const {
    using std::exp;
    using std::log;
    return start + (ceiling - start) / (1.0 + exp(steepness * (log(midpoint) - log(c))));
  }
};

static_assert(Form<ComputeSigmoid<>>);

}  // namespace floplan::law
