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

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

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

namespace detail {

[[nodiscard]] constexpr bool is_size(Input input) {
  return input == Input::parameters || input == Input::active_parameters || input == Input::tokens;
}

}  // namespace detail

// The form in N and D alone, its other inputs as in `values`; absent for a form that is then not E + A/N^alpha + B/D^beta.
template <Form F>
[[nodiscard]] std::optional<Chinchilla<>> section(const F& form, std::span<const double> values) {
  constexpr auto count = static_cast<std::size_t>(
      std::count_if(F::inputs.begin(), F::inputs.end(), [](Input input) { return !detail::is_size(input); }));
  std::array<double, count> others{};
  for (std::size_t i = 0, k = 0; i < F::inputs.size(); ++i) {
    if (!detail::is_size(F::inputs[i])) others[k++] = values[i];
  }
  return [&]<std::size_t... I>(std::index_sequence<I...>)->std::optional<Chinchilla<>> {
    if constexpr (requires { form.section(others[I]...); }) {
      return form.section(others[I]...);
    } else {
      return std::nullopt;
    }
  }
  (std::make_index_sequence<count>());
}
[[nodiscard]] inline std::optional<Chinchilla<>> section(const Power<>&, std::span<const double>) {
  return std::nullopt;
}
[[nodiscard]] inline std::optional<Chinchilla<>> section(const AnyForm& form, std::span<const double> values) {
  return std::visit([&](const auto& f) { return section(f, values); }, form);
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

// An input outside what a law was fitted on. decades: how far, in powers of ten; infinite where an end or the value is zero.
struct Outside {
  Input input;
  double value;
  std::optional<double> low, high;
  double decades;
};

// The inputs outside their fitted range, and C = 6 N D where both are among the inputs. Nothing is said of inputs whose
// range is not known.
[[nodiscard]] inline std::vector<Outside> outside(const FitRange& range, std::span<const Input> inputs,
                                                  std::span<const double> values) {
  std::vector<Outside> out;
  const auto look = [&](Input input, double x, std::optional<double> low, std::optional<double> high) {
    const double decades = decades_outside(x, low, high);
    if (decades > 0) out.push_back({input, x, low, high, decades});
  };
  std::optional<double> n, d;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    switch (inputs[i]) {
      case Input::parameters:
      case Input::active_parameters:
        n = n ? std::min(*n, values[i]) : values[i];  // of a mixture's two counts, the active one makes the FLOP
        look(inputs[i], values[i], range.parameters_low, range.parameters_high);
        break;
      case Input::tokens:
        d = values[i];
        look(inputs[i], values[i], range.tokens_low, range.tokens_high);
        break;
      case Input::flop: look(inputs[i], values[i], range.flop_low, range.flop_high); break;
      default:
        for (const InputRange& other : range.others) {
          if (other.input == inputs[i]) look(inputs[i], values[i], other.low, other.high);
        }
    }
  }
  if (n && d) look(Input::flop, 6 * *n * *d, range.flop_low, range.flop_high);
  return out;
}

}  // namespace floplan::law
