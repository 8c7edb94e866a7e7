// SPDX-License-Identifier: BSD-3-Clause
//
// The best N and D of any surface: by the closed form where it has one, else numerically.
//
//   for_budget(s, budget, most)             the lowest loss for C = 6 active_share N D, with no more parameters than `most`
//   for_loss(s, loss, demand, most)         the least training and serving that reaches a loss
//   tokens_for_loss(s, n, loss), parameters_for_loss(s, d, loss)
//   overhead(s, best, size)                 de Vries' cost of a model of `size` times the best one's parameters
//   critical_size(s, best)                  below which no number of tokens reaches the best one's loss
//
// Sources, formulas, errors: compute_optimal.hpp, lifetime.hpp, numeric.hpp, off_optimum.hpp, which this chooses between.
// Pitfall: a closed form costs 0.1 microseconds, a search up to 5 milliseconds: a thousand replicates take seconds.
#pragma once

#include <cmath>
#include <optional>

#include "floplan/core/quantity.hpp"
#include "floplan/optimum/compute_optimal.hpp"
#include "floplan/optimum/lifetime.hpp"
#include "floplan/optimum/numeric.hpp"
#include "floplan/optimum/off_optimum.hpp"
#include "floplan/optimum/surface.hpp"

namespace floplan::optimum {

[[nodiscard]] inline double loss_of(const Surface& s, const Split& split) {
  if (s.section) return s.section->loss(split.parameters.value, split.tokens.value);
  return s.at(std::log(split.parameters.value), std::log(split.tokens.value)).loss;
}

[[nodiscard]] inline Tokens tokens_for_loss(const Surface& s, Parameters n, double loss) {
  return s.section ? tokens_for_loss(*s.section, n, loss) : numeric_tokens_for_loss(s, n, loss);
}

[[nodiscard]] inline Parameters parameters_for_loss(const Surface& s, Tokens d, double loss) {
  return s.section ? parameters_for_loss(*s.section, d, loss) : numeric_parameters_for_loss(s, d, loss);
}

[[nodiscard]] inline Split for_budget(const Surface& s, Flop budget, std::optional<Parameters> most = std::nullopt) {
  if (!s.section) return numeric_for_budget(s, budget, most);
  const Split best = for_budget(*s.section, budget / s.active_share);
  if (!most || best.parameters <= *most) return best;
  return {*most, Tokens(budget.value / (6 * s.active_share * most->value))};
}

[[nodiscard]] inline Split for_loss(const Surface& s, double loss, const Demand& demand = {},
                                    std::optional<Parameters> most = std::nullopt) {
  detail::check(demand);
  if (!s.section) return numeric_for_loss(s, loss, demand.equivalent_tokens(), most);
  const Split best = for_lifetime(*s.section, loss, demand);
  if (!most || best.parameters <= *most) return best;
  return {*most, tokens_for_loss(*s.section, *most, loss)};
}

// FLOP beyond those of the best split, as a share of them, of a model of size times its parameters with the same loss.
[[nodiscard]] inline double overhead(const Surface& s, const Split& best, double size) {
  if (s.section) return overhead(*s.section, size);
  detail::require_positive(size, "the share of the best size", print_number(size, 6));
  const Tokens d = tokens_for_loss(s, best.parameters * size, loss_of(s, best));
  return size * (d / best.tokens) - 1;
}

[[nodiscard]] inline double critical_size(const Surface& s, const Split& best) {
  if (s.section) return size_floor(*s.section);
  const double loss = loss_of(s, best);
  const double x = detail::turn(0, std::log(best.parameters.value),
                                [&](double log_n) { return detail::log_tokens_reaching(s, log_n, loss).has_value(); });
  return std::exp(x) / best.parameters.value;
}

}  // namespace floplan::optimum
