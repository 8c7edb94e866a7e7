// SPDX-License-Identifier: BSD-3-Clause
//
// How many steps to the same loss at another batch: McCandlish et al. 2018 (arXiv 1812.06162), Eq. 2.11.
//
//   S(B) = Smin (1 + Bcrit / B)          [steps],   and so E(B) = S B = Emin (1 + B / Bcrit) with Emin = Smin Bcrit
//
//   B tokens a step; Smin the steps with an endless batch, Emin the tokens with the smallest. At B = Bcrit a run takes
//   twice the least steps and twice the least tokens. Written without B it is (S / Smin - 1) (E / Emin - 1) = 1.
//   Zhang et al. 2024 (arXiv 2410.21676) fit the same curve as ln S = ln(a + b / B): a = Smin, b = Smin Bcrit.
//
// Bcrit grows as the loss falls: the laws kaplan-2020-batch (in L) and zhang-2024-batch (in N, on 20 tokens a parameter).
//
// Holds: one model and one target loss, the learning rate tuned again at every batch.
// Pitfall: two quantities are called critical. Bcrit here doubles the tokens; Zhang's is where a batch costs 20% more steps
// than linear scaling from a reference batch promises, about a fifth of Bcrit: batch_of_overhead(.2, reference).
#pragma once

#include <array>
#include <cmath>
#include <string_view>

#include "floplan/law/form.hpp"

namespace floplan::law {

template <class Scalar = double>
struct CriticalBatch {
  Scalar least_steps{};     // Smin
  Scalar critical_batch{};  // Bcrit, in the unit of the batch

  static constexpr std::string_view name = "critical-batch";
  static constexpr std::string_view formula = "Smin (1 + Bcrit/B)";
  static constexpr std::array inputs = {Input::batch};
  static constexpr Output output = Output::steps;
  [[nodiscard]] static constexpr auto coefficients() {
    return std::array{Coefficient<CriticalBatch>{"Smin", &CriticalBatch::least_steps, 1e-3, 1e12},
                      Coefficient<CriticalBatch>{"Bcrit", &CriticalBatch::critical_batch, 1e-3, 1e15}};
  }

  template <class T>
  [[nodiscard]] auto operator()(const T& batch) const {
    return least_steps * (1.0 + critical_batch / batch);
  }

  // The batch that takes 1 + overhead times the steps of linear scaling: S(B) B = (1 + overhead) S(reference) reference.
  [[nodiscard]] Scalar batch_of_overhead(double overhead, double reference) const {
    return overhead * critical_batch + (1 + overhead) * reference;
  }
};

static_assert(Form<CriticalBatch<>>);

}  // namespace floplan::law
