// SPDX-License-Identifier: BSD-3-Clause
//
// The loss of any law as a surface over N and D, all its other inputs held.
//
//   const Surface s = surface(catalog::any_law(catalog, "muennighoff-2023"), setting);
//   s.at(ln N, ln D)     loss, dL / d ln N, dL / d ln D        exact derivatives (law/dual.hpp)
//   s.section            the same as E + A / N^alpha + B / D^beta, where it is exactly that: closed forms apply
//
//   C = 6 active_share N D        N as the law counts; C in FLOP
//
// A law that takes C is given 6 active_share N D; one that takes active parameters beside N is given active_share N. The
// unique tokens, where a law knows them and none are given, are D: fresh data. The law's form is hidden behind one
// function, so that whatever searches the surface compiles once.
//
// Cost: 0.2 microseconds a point. Not part of the umbrella header: it knows every form.
// Errors: usage for an input that the setting lacks, with its option; no_answer for a law that answers no loss, or says
// nothing of N or of D, so that there is nothing to choose.
// Pitfall: 6 N D is of the parameters that a token uses: 6 N D of a mixture of experts' total count is too many FLOP.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/law/any_form.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/law/dual.hpp"
#include "floplan/law/scaling_law.hpp"
#include "floplan/optimum/compute_optimal.hpp"
#include "floplan/optimum/setting.hpp"

namespace floplan::optimum {

struct SurfacePoint {
  double loss;
  double by_parameters;  // dL / d ln N
  double by_tokens;      // dL / d ln D
};

struct Surface {
  std::string name;  // of the law
  std::function<SurfacePoint(double log_parameters, double log_tokens)> at;
  std::optional<law::Chinchilla<>> section;
  double active_share = 1;
};

namespace detail {

// Where an input of a form gets its value from.
struct Slot {
  enum class Source { parameters, active_parameters, tokens, flop, held } source = Source::held;
  double held = 0;
};

[[nodiscard]] inline std::string symbols(std::span<const law::Input> inputs) {
  std::string out;
  for (const law::Input input : inputs) out += (out.empty() ? "" : ", ") + std::string(info(input).symbol);
  return out;
}

[[nodiscard]] inline std::vector<Slot> slots(std::span<const law::Input> inputs, const Setting& setting,
                                             const std::string& name) {
  using Source = Slot::Source;
  const bool two_counts =
      law::takes(inputs, law::Input::parameters) && law::takes(inputs, law::Input::active_parameters);
  std::vector<Slot> out;
  for (const law::Input input : inputs) {
    switch (input) {
      case law::Input::parameters: out.push_back({Source::parameters}); continue;
      case law::Input::tokens: out.push_back({Source::tokens}); continue;
      case law::Input::flop: out.push_back({Source::flop}); continue;
      case law::Input::active_parameters:
        if (two_counts && !setting.active_share) {
          throw Error(Failure::usage, "missing_option", "--active-share",
                      "is needed: " + name + " takes active parameters beside all of them");
        }
        out.push_back({two_counts ? Source::active_parameters : Source::parameters});
        continue;
      default: break;
    }
    const auto value = setting.value(input);
    if (!value && input == law::Input::unique_tokens) {
      out.push_back({Source::tokens});
    } else if (!value) {
      throw Error(Failure::usage, "missing_option", option_of(input),
                  "is needed by " + name + ": " + info(input).meaning);
    } else {
      out.push_back({Source::held, *value});
    }
  }
  return out;
}

// Parameters that a token uses over those that the law counts, where the inputs tell.
[[nodiscard]] inline double active_share(const law::AnyLaw& law, const Setting& setting) {
  const std::span<const law::Input> inputs = law::inputs(law.form);
  const bool two_counts =
      law::takes(inputs, law::Input::parameters) && law::takes(inputs, law::Input::active_parameters);
  if (setting.active_share && !two_counts) {
    const auto refuse = [](const std::string& why) {
      return Error(Failure::usage, "not_an_input", "--active-share", why);
    };
    if (law.parameter_convention == law::ParameterConvention::active || !law::takes(inputs, law::Input::parameters))
      throw refuse("is for a law that counts all experts, and " + law.name + " counts the active parameters alone");
    if (!law::takes_experts(inputs)) {
      throw refuse(
          "is for a law of mixtures of experts, and " + law.name +
          " is one of dense models, whose every parameter each token uses: a mixture is not such a model, with "
          "all its parameters nor with the active ones");
    }
  }
  if (setting.active_share) return *setting.active_share;
  if (law.parameter_convention == law::ParameterConvention::active) return 1;
  if (!law::takes(inputs, law::Input::parameters)) return 1;
  if (law::takes(inputs, law::Input::sparsity)) return 1 - setting.value(law::Input::sparsity).value_or(0);
  if (law::takes(inputs, law::Input::activation_ratio)) return setting.value(law::Input::activation_ratio).value_or(1);
  if (law::takes(inputs, law::Input::experts) || law::takes(inputs, law::Input::granularity)) {
    throw Error(Failure::usage, "missing_option", "--active-share",
                "is needed: " + law.name + " counts the parameters of all experts, of which a token uses a share");
  }
  return 1;
}

inline void require_surface(const law::AnyLaw& law) {
  const auto fail = [&law](const std::string& why) {
    return Error(Failure::no_answer, "no_optimum", "optimum", law.name + " " + why);
  };
  const std::span<const law::Input> inputs = law::inputs(law.form);
  if (const law::Output output = law::output(law.form); output != law::Output::loss) {
    throw fail("answers " + std::string(info(output).key) +
               " and no loss of N and D, so there is no best N and D: " + law::formula_of(law.form));
  }
  const bool parameters =
      law::takes(inputs, law::Input::parameters) || law::takes(inputs, law::Input::active_parameters);
  if (!parameters || !law::takes(inputs, law::Input::tokens)) {
    throw fail("is a loss of " + symbols(inputs) + " alone and says nothing of " +
               (parameters                               ? "D"
                : law::takes(inputs, law::Input::tokens) ? "N"
                                                         : "N and D") +
               ", so it has no best split of a budget");
  }
}

// The form's section at the setting, where it has one and every input but N and D is held: a second count or the FLOP
// would move with them.
[[nodiscard]] inline std::optional<law::Chinchilla<>> section_of(const law::AnyForm& form,
                                                                 std::span<const Slot> slots) {
  std::vector<double> values;
  std::size_t held = 0;
  for (const Slot& slot : slots) {
    values.push_back(slot.held);
    held += slot.source == Slot::Source::held ? 1 : 0;
  }
  return held + 2 == slots.size() ? law::section(form, values) : std::nullopt;
}

[[nodiscard]] inline SurfacePoint evaluate_at(const law::AnyForm& form, std::span<const Slot> slots, double share,
                                              double log_n, double log_d) {
  using Source = Slot::Source;
  const double n = std::exp(log_n);
  const double d = std::exp(log_d);
  const double c = 6 * share * std::exp(log_n + log_d);
  std::vector<law::Dual> values;
  values.reserve(slots.size());
  for (const Slot& slot : slots) {
    switch (slot.source) {
      case Source::parameters: values.emplace_back(n, n, 0.0); break;
      case Source::active_parameters: values.emplace_back(share * n, share * n, 0.0); break;
      case Source::tokens: values.emplace_back(d, 0.0, d); break;
      case Source::flop: values.emplace_back(c, c, c); break;
      case Source::held: values.emplace_back(slot.held); break;
    }
  }
  const law::Dual loss = std::visit(
      [&](const auto& f) -> law::Dual { return law::evaluate(f, std::span<const law::Dual>(values)); }, form);
  return {loss.value, loss.first, loss.second};
}

}  // namespace detail

// Of another form of the same law (a replicate of its bootstrap), with the law's inputs held alike.
[[nodiscard]] inline Surface surface(const law::AnyLaw& law, const law::AnyForm& form, const Setting& setting) {
  detail::require_surface(law);
  Surface out;
  out.name = law.name;
  out.active_share = detail::active_share(law, setting);
  const std::vector<detail::Slot> slots = detail::slots(law::inputs(form), setting, law.name);
  out.section = detail::section_of(form, slots);
  out.at = [form, slots, share = out.active_share](double log_n, double log_d) {
    return detail::evaluate_at(form, slots, share, log_n, log_d);
  };
  return out;
}

[[nodiscard]] inline Surface surface(const law::AnyLaw& law, const Setting& setting = {}) {
  return surface(law, law.form, setting);
}

// Throws for a value that none of the laws takes: a mistyped option would change nothing in silence.
inline void require_used(const std::vector<law::AnyLaw>& laws, const Setting& setting) {
  for (const auto& [input, value] : setting.values) {
    if (input == law::Input::unique_tokens) continue;  // epochs are counted for every law
    bool used = false;
    for (const law::AnyLaw& law : laws) used = used || law::takes(law::inputs(law.form), input);
    if (used) continue;
    throw Error(Failure::usage, "unused_input", option_of(input),
                "is no input of " + (laws.size() == 1 ? laws.front().name : "any of the laws asked"));
  }
}

// What the law is asked there: a value for each of its inputs, in their order.
[[nodiscard]] inline std::vector<double> input_values(const law::AnyLaw& law, const Setting& setting,
                                                      const Split& split) {
  using Source = detail::Slot::Source;
  const double share = detail::active_share(law, setting);
  std::vector<double> out;
  for (const detail::Slot& slot : detail::slots(law::inputs(law.form), setting, law.name)) {
    switch (slot.source) {
      case Source::parameters: out.push_back(split.parameters.value); break;
      case Source::active_parameters: out.push_back(share * split.parameters.value); break;
      case Source::tokens: out.push_back(split.tokens.value); break;
      case Source::flop: out.push_back(share * split.training_flop().value); break;
      case Source::held: out.push_back(slot.held); break;
    }
  }
  return out;
}

// A Chinchilla law, without the machinery of the others.
[[nodiscard]] inline Surface surface(const law::Chinchilla<double>& law, std::string name = "the law") {
  return {std::move(name),
          [law](double log_n, double log_d) {
            const auto terms = law.terms(std::exp(log_n), std::exp(log_d));
            return SurfacePoint{terms.total(), -law.parameter_exponent * terms.parameters,
                                -law.token_exponent * terms.tokens};
          },
          law, 1};
}

}  // namespace floplan::optimum
