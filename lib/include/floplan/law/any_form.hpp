// SPDX-License-Identifier: BSD-3-Clause
//
// Every form that floplan knows, as one value: for code that is given a law by its name and does not care which it is.
//
//   const AnyForm form = ...;
//   inputs(form), output(form), evaluate(form, values), formula_of(form)
//
// values: one for each of inputs(form), in their order. Code that needs one form's own members asks std::get_if.
//
// Cost: a visit, a few nanoseconds. Errors: check() throws Error(usage) for a value that its input cannot have, or where
// the form has no answer.
// Pitfall: evaluate does not check its values; call check first with what a person typed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/law/critical_batch.hpp"
#include "floplan/law/exponential_error.hpp"
#include "floplan/law/form.hpp"
#include "floplan/law/input.hpp"
#include "floplan/law/kaplan.hpp"
#include "floplan/law/kaplan_steps.hpp"
#include "floplan/law/over_training.hpp"
#include "floplan/law/power.hpp"
#include "floplan/law/scaling_law.hpp"
#include "floplan/law/sigmoid.hpp"

namespace floplan::law {

using AnyForm = std::variant<Chinchilla<>, CriticalBatch<>, ExponentialError<>, Kaplan<>, KaplanSteps<>, OverTraining<>,
                             Power<>, Sigmoid<>>;
using AnyLaw = LawRecord<AnyForm>;

[[nodiscard]] inline std::span<const Input> inputs(const AnyForm& form) {
  return std::visit([](const auto& f) { return inputs(f); }, form);
}
[[nodiscard]] inline Output output(const AnyForm& form) {
  return std::visit([](const auto& f) { return output(f); }, form);
}
[[nodiscard]] inline std::string_view name_of(const AnyForm& form) {
  return std::visit([](const auto& f) { return std::string_view(f.name); }, form);
}
[[nodiscard]] inline std::string formula_of(const AnyForm& form) {
  return std::visit(
      [](const auto& f) {
        if constexpr (requires { f.text(); }) {
          return f.text();
        } else {
          return std::string(f.formula);
        }
      },
      form);
}

// values must be of check()'s liking.
[[nodiscard]] inline double evaluate(const AnyForm& form, std::span<const double> values) {
  return std::visit([&](const auto& f) { return evaluate(f, values); }, form);
}

// Why the form has no answer at these values, each within its input's range; empty where it has one. A form that is
// undefined somewhere, or leaves what its output can be, has a member `std::string refusal(values) const`.
[[nodiscard]] inline std::string refusal(const AnyForm& form, std::span<const double> values) {
  return std::visit(
      [&](const auto& f) -> std::string {
        if constexpr (requires { f.refusal(values); }) {
          return f.refusal(values);
        } else {
          return {};
        }
      },
      form);
}

// Throws Error(usage) at `where` for a wrong number of values, one outside its input's range, or a refusal of the form.
inline void check(const AnyForm& form, std::span<const double> values, std::string_view where) {
  const std::span<const Input> expected = inputs(form);
  if (values.size() != expected.size()) {
    throw Error(Failure::usage, "wrong_size", std::string(where),
                "must have one value for each of the law's " + std::to_string(expected.size()) + " inputs, got " +
                    std::to_string(values.size()));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const InputInfo& input = info(expected[i]);
    if (values[i] >= input.low && values[i] <= input.high) continue;
    throw Error(Failure::usage, "out_of_range", std::string(where),
                std::string(input.key) + " must be from " + print_number(input.low, 6) + " to " +
                    print_number(input.high, 6) + ", got " + print_number(values[i], 6));
  }
  if (const std::string reason = refusal(form, values); !reason.empty())
    throw Error(Failure::usage, "out_of_range", std::string(where), reason);
}

}  // namespace floplan::law
