// SPDX-License-Identifier: BSD-3-Clause
//
// The split of a budget by a law that says how much to buy and not what it is worth: N*(C) or D*(C).
//
//   parameters of C       N = N*(C),  D = C / (6 N)            kaplan-2020-allocation
//   tokens of C           D = D*(C),  N = C / (6 D)            llama3-2024
//   FLOP a token of C     D = C / M,  N = M / 6                deepseek-2024: M counts attention, so N is what 6 N would be
//
// The joint law of Kaplan 2020 has no split of its own under C = 6 N D, since its D is a data set and not a run; its
// companion kaplan-2020-allocation is the paper's.
//
// Errors: usage for a budget that is not positive and finite.
// Pitfall: such a law knows no loss, so neither a loss to reach nor the cost of being off the optimum can be asked of it.
#pragma once

#include <array>
#include <optional>
#include <variant>

#include "floplan/catalog/any_law.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/any_form.hpp"
#include "floplan/optimum/compute_optimal.hpp"

namespace floplan::optimum {

[[nodiscard]] inline bool is_allocation(const law::AnyForm& form) {
  const auto inputs = law::inputs(form);
  const law::Output output = law::output(form);
  return inputs.size() == 1 && inputs.front() == law::Input::flop &&
         (output == law::Output::parameters || output == law::Output::tokens || output == law::Output::flop_per_token);
}

// form: is_allocation.
[[nodiscard]] inline Split allocate(const law::AnyForm& form, Flop budget) {
  detail::require_positive(budget.value, "the budget", print(budget));
  const std::array asked = {budget.value};
  const double answer = law::evaluate(form, asked);
  const law::Output output = law::output(form);
  if (output == law::Output::tokens) return {Parameters(budget.value / (6 * answer)), Tokens(answer)};
  const double n = output == law::Output::parameters ? answer : answer / 6;
  return {Parameters(n), Tokens(budget.value / (6 * n))};
}

// The law that splits a budget for a law that does not: absent where the law's own surface answers, or it is one itself.
[[nodiscard]] inline std::optional<law::AnyLaw> allocation_of(const catalog::Catalog& catalog, const law::AnyLaw& law) {
  if (!std::holds_alternative<law::Kaplan<>>(law.form) || law.own_fit) return std::nullopt;
  return catalog::companion(catalog, law, "allocation");
}

}  // namespace floplan::optimum
