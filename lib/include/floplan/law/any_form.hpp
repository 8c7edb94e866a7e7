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
#include "floplan/law/compute_sigmoid.hpp"
#include "floplan/law/critical_batch.hpp"
#include "floplan/law/experts.hpp"
#include "floplan/law/exponential_error.hpp"
#include "floplan/law/farseer.hpp"
#include "floplan/law/float_training.hpp"
#include "floplan/law/form.hpp"
#include "floplan/law/granularity.hpp"
#include "floplan/law/input.hpp"
#include "floplan/law/joint_moe.hpp"
#include "floplan/law/kaplan.hpp"
#include "floplan/law/kaplan_steps.hpp"
#include "floplan/law/leverage.hpp"
#include "floplan/law/outside.hpp"
#include "floplan/law/over_training.hpp"
#include "floplan/law/post_training_quantisation.hpp"
#include "floplan/law/power.hpp"
#include "floplan/law/precision.hpp"
#include "floplan/law/quantisation_aware.hpp"
#include "floplan/law/repeated_data.hpp"
#include "floplan/law/routed.hpp"
#include "floplan/law/scaling_law.hpp"
#include "floplan/law/sigmoid.hpp"
#include "floplan/law/sparse_weights.hpp"
#include "floplan/law/sparsity.hpp"
#include "floplan/law/vocabulary.hpp"

namespace floplan::law {

using AnyForm = std::variant<Chinchilla<>, ComputeSigmoid<>, CriticalBatch<>, Experts<>, ExponentialError<>, Farseer<>,
                             FloatTraining<>, Granularity<>, JointMoe<>, Kaplan<>, KaplanSteps<>, Leverage<>,
                             OverTraining<>, PostTrainingQuantisation<>, Power<>, Precision<>, QuantisationAware<>,
                             RepeatedData<>, Routed<>, Sigmoid<>, SparseWeights<>, Sparsity<>, Vocabulary<>>;
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
// Of every form, in the order of AnyForm; also the names of the files in data/laws.
[[nodiscard]] inline std::vector<std::string_view> form_names() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<std::string_view>{std::variant_alternative_t<I, AnyForm>::name...};
  }
  (std::make_index_sequence<std::variant_size_v<AnyForm>>());
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

// Name and value of every coefficient; of a product of powers, "k", "E" and the exponent of each argument.
[[nodiscard]] inline std::vector<std::pair<std::string, double>> coefficients_of(const AnyForm& form) {
  std::vector<std::pair<std::string, double>> out;
  std::visit(
      [&out]<class F>(const F& f) {
        if constexpr (Form<F>) {
          for (const auto& c : F::coefficients()) out.emplace_back(c.name, f.*c.field);
        } else {
          out = {{"E", f.offset}, {"k", f.coefficient}};
          for (std::size_t i = 0; i < f.arguments.size(); ++i) {
            out.emplace_back("p_" + std::string(info(f.arguments[i]).symbol), f.exponents[i]);
            if (f.scales[i] != 1) out.emplace_back("s_" + std::string(info(f.arguments[i]).symbol), f.scales[i]);
          }
        }
      },
      form);
  return out;
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

// Throws Error(usage) at `where` for a value that no such quantity has.
inline void check(Input input, double value, std::string_view where) {
  const InputInfo& known = info(input);
  if (value >= known.low && value <= known.high) return;
  throw Error(Failure::usage, "out_of_range", std::string(where),
              std::string(known.key) + " must be from " + print_number(known.low, 6) + " to " +
                  print_number(known.high, 6) + ", got " + print_number(value, 6));
}

// Throws Error(usage) at `where` for a wrong number of values, one outside its input's range, or a refusal of the form.
inline void check(const AnyForm& form, std::span<const double> values, std::string_view where) {
  const std::span<const Input> expected = inputs(form);
  if (values.size() != expected.size()) {
    throw Error(Failure::usage, "wrong_size", std::string(where),
                "must have one value for each of the law's " + std::to_string(expected.size()) + " inputs, got " +
                    std::to_string(values.size()));
  }
  for (std::size_t i = 0; i < values.size(); ++i) check(expected[i], values[i], where);
  if (const std::string reason = refusal(form, values); !reason.empty())
    throw Error(Failure::usage, "out_of_range", std::string(where), reason);
}

}  // namespace floplan::law
