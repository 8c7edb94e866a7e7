// SPDX-License-Identifier: BSD-3-Clause
//
// Every form that floplan knows, as one value: for code that is given a law by its name and does not care which it is.
//
//   const AnyForm form = ...;
//   inputs(form), output(form), evaluate(form, values), formula_of(form)
//
// values: one for each of inputs(form), in their order. Code that needs one form's own members asks std::get_if.
//
// A form that is undefined somewhere, or would answer there with a number that means nothing, has a member
// `std::string refusal(values) const`, which says what is wrong, or nothing.
//
// Cost: a visit, a few nanoseconds. Errors: check() throws Error(usage) for a value that its input cannot have, and for
// values that the form refuses.
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
#include "floplan/law/compute_sigmoid.hpp"
#include "floplan/law/experts.hpp"
#include "floplan/law/farseer.hpp"
#include "floplan/law/float_training.hpp"
#include "floplan/law/form.hpp"
#include "floplan/law/granularity.hpp"
#include "floplan/law/input.hpp"
#include "floplan/law/joint_moe.hpp"
#include "floplan/law/kaplan.hpp"
#include "floplan/law/leverage.hpp"
#include "floplan/law/post_training_quantisation.hpp"
#include "floplan/law/power.hpp"
#include "floplan/law/precision.hpp"
#include "floplan/law/quantisation_aware.hpp"
#include "floplan/law/repeated_data.hpp"
#include "floplan/law/routed.hpp"
#include "floplan/law/scaling_law.hpp"
#include "floplan/law/sparse_weights.hpp"
#include "floplan/law/sparsity.hpp"
#include "floplan/law/vocabulary.hpp"

namespace floplan::law {

using AnyForm = std::variant<Chinchilla<>, ComputeSigmoid<>, Experts<>, Farseer<>, FloatTraining<>, Granularity<>,
                             JointMoe<>, Kaplan<>, Leverage<>, PostTrainingQuantisation<>, Power<>, Precision<>,
                             QuantisationAware<>, RepeatedData<>, Routed<>, SparseWeights<>, Sparsity<>, Vocabulary<>>;
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

// What is wrong with values that are each in range: where the form is undefined, or outside its own validity. Empty: nothing.
[[nodiscard]] inline std::string refusal(const AnyForm& form, std::span<const double> values) {
  return std::visit(
      [&](const auto& f) {
        if constexpr (requires { f.refusal(values); }) {
          return f.refusal(values);
        } else {
          return std::string();
        }
      },
      form);
}

// Throws Error(usage) at `where` for a wrong number of values, one outside its input's range, or values that the form
// refuses.
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
  if (const std::string why = refusal(form, values); !why.empty())
    throw Error(Failure::usage, "outside_law", std::string(where), why);
}

}  // namespace floplan::law
