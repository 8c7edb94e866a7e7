// SPDX-License-Identifier: BSD-3-Clause
//
// Which N and D reach the lowest loss for a budget, or a loss for the lowest budget?
//
//   with C = 6 N D:   N* = G (C / 6)^a,  D* = (C / 6)^b / G      a = beta / (alpha + beta),  b = alpha / (alpha + beta)
//   for a loss L:     N* = (A (1 + alpha / beta) / (L - E))^(1 / alpha),  D* = (B (1 + beta / alpha) / (L - E))^(1 / beta)
//   N given:          D = C / (6 N),  or  D = (B / (L - E - A / N^alpha))^(1 / beta);  the same with N and D exchanged
//
//   C in FLOP, L in the law's unit; G: fit/allocation.hpp. Both optima satisfy alpha A / N^alpha = beta B / D^beta.
//
// Source: Hoffmann et al. 2022 (arXiv 2203.15556), equation 4 and its inversion. Cost: 0.1 microseconds.
// Errors: usage for a budget, N or D that is not positive and finite; infeasible for a loss at or below the irreducible
// one, or below what N (or D) parameters (tokens) can ever reach; no_answer for a law without an interior optimum.
// Pitfall: twenty tokens a parameter is where one law's optimum stood at one budget: D*/N* grows or falls with C unless
// alpha = beta.
#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/allocation.hpp"
#include "floplan/law/chinchilla.hpp"

namespace floplan::optimum {

struct Split {
  Parameters parameters;
  Tokens tokens;
  [[nodiscard]] Flop training_flop() const { return floplan::training_flop(parameters, tokens); }
};

namespace detail {

inline void require_positive(double value, const char* what, const std::string& text) {
  if (value > 0 && std::isfinite(value)) return;
  throw Error(Failure::usage, "out_of_range", "optimum",
              std::string(what) + " must be positive and finite, got " + text);
}

inline void require_interior(const law::Chinchilla<double>& law) {
  if (law.parameter_coefficient > 0 && law.token_coefficient > 0 && law.parameter_exponent > 0 &&
      law.token_exponent > 0 && law.irreducible_loss >= 0)
    return;
  throw Error(Failure::no_answer, "no_optimum", "optimum",
              "the law has no best split: A, B, alpha and beta must be positive, got " +
                  print_number(law.parameter_coefficient, 6) + ", " + print_number(law.token_coefficient, 6) + ", " +
                  print_number(law.parameter_exponent, 6) + " and " + print_number(law.token_exponent, 6));
}

// L - E, which must be positive.
[[nodiscard]] inline double reducible(const law::Chinchilla<double>& law, double loss) {
  require_positive(loss, "the loss", print_number(loss, 6));
  if (loss > law.irreducible_loss) return loss - law.irreducible_loss;
  throw Error(Failure::infeasible, "below_irreducible_loss", "optimum",
              "the loss must be above the irreducible " + print_number(law.irreducible_loss, 6) +
                  " of the law, which no budget reaches, got " + print_number(loss, 6) + ", " +
                  print_number(law.irreducible_loss - loss, 3) + " too low");
}

}  // namespace detail

[[nodiscard]] inline Split for_budget(const law::Chinchilla<double>& law, Flop budget) {
  detail::require_positive(budget.value, "the budget", print(budget));
  detail::require_interior(law);
  const fit::Allocation split = fit::allocation(law);
  return {split.parameters(budget), split.tokens(budget)};
}

[[nodiscard]] inline Split for_loss(const law::Chinchilla<double>& law, double loss) {
  detail::require_interior(law);
  const double gap = detail::reducible(law, loss);
  const double ratio = law.parameter_exponent / law.token_exponent;
  return {Parameters(std::pow(law.parameter_coefficient * (1 + ratio) / gap, 1 / law.parameter_exponent)),
          Tokens(std::pow(law.token_coefficient * (1 + 1 / ratio) / gap, 1 / law.token_exponent))};
}

// The loss of the compute-optimal model of n parameters.
[[nodiscard]] inline double loss_at_optimum(const law::Chinchilla<double>& law, Parameters n) {
  detail::require_positive(n.value, "parameters", print(n));
  detail::require_interior(law);
  return law.irreducible_loss + law.terms(n.value, 1.0).parameters * (1 + law.parameter_exponent / law.token_exponent);
}

// Tokens after which n parameters reach the loss.
[[nodiscard]] inline Tokens tokens_for_loss(const law::Chinchilla<double>& law, Parameters n, double loss) {
  detail::require_positive(n.value, "parameters", print(n));
  const double gap = detail::reducible(law, loss) - law.terms(n.value, 1.0).parameters;
  if (!(gap > 0)) {
    throw Error(Failure::infeasible, "too_few_parameters", "optimum",
                print(n, 4) + " parameters stay above a loss of " +
                    print_number(law.irreducible_loss + law.terms(n.value, 1.0).parameters, 6) +
                    " on any number of tokens, got " + print_number(loss, 6));
  }
  return Tokens(std::pow(law.token_coefficient / gap, 1 / law.token_exponent));
}

// Parameters that reach the loss on d tokens.
[[nodiscard]] inline Parameters parameters_for_loss(const law::Chinchilla<double>& law, Tokens d, double loss) {
  detail::require_positive(d.value, "tokens", print(d));
  const double gap = detail::reducible(law, loss) - law.terms(1.0, d.value).tokens;
  if (!(gap > 0)) {
    throw Error(Failure::infeasible, "too_few_tokens", "optimum",
                print(d, 4) + " tokens stay above a loss of " +
                    print_number(law.irreducible_loss + law.terms(1.0, d.value).tokens, 6) +
                    " with any number of parameters, got " + print_number(loss, 6));
  }
  return Parameters(std::pow(law.parameter_coefficient / gap, 1 / law.parameter_exponent));
}

}  // namespace floplan::optimum
