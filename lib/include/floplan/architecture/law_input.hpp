// SPDX-License-Identifier: BSD-3-Clause
//
// What a law's input is for a model of a known shape: the parameters that it counts, the experts, the share of them in use.
//
//   law_input(shape, law, Input::experts)      256 for DeepSeek-V3, 1 for a dense model, absent where no law says how
//
//   N    as the law counts it; a law of dense models is given the part that a token uses, a law of mixtures the whole
//   Na   what a token uses, with or without embeddings as the law counts
//   E    experts a layer, shared ones not counted
//   S    share of the experts that a token does not use, 1 - k/E; A = (k + s) / (E + s) with s shared experts in both
//
// Sources: the definitions in each law's own header. For the joint law of Zhao et al. 2025, granularity is the number of
// active experts and the shared share is over them: whether shared ones are among these is not said, so both are filled
// only where there are none. The granularity of other laws compares with a feed-forward layer that the shape does not have.
// Pitfall: laws of whole-layer experts with one active (experts.hpp) know E and not how small or how many active ones are.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "floplan/architecture/parameter_count.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/law/any_form.hpp"

namespace floplan::architecture {

// Whether a law's runs were mixtures of experts: it asks about them, or counts what a token uses.
[[nodiscard]] inline bool knows_experts(const law::AnyLaw& law) {
  return law::takes_experts(law::inputs(law.form)) || law.parameter_convention == law::ParameterConvention::active;
}

// Whether a token uses fewer parameters than there are.
[[nodiscard]] inline bool is_mixture(const Transformer& t) { return t.experts && t.experts->active < t.experts->count; }

[[nodiscard]] inline std::optional<double> law_input(const Transformer& t, const law::AnyLaw& law, law::Input input) {
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  const bool shares = t.experts && t.experts->shared_width > 0;
  const bool joint = std::holds_alternative<law::JointMoe<>>(law.form);
  switch (input) {
    case law::Input::parameters: {
      const ParameterCount count = parameter_count(t);
      return (knows_experts(law) ? count.as(law.parameter_convention) : count.used(law.parameter_convention)).value;
    }
    case law::Input::active_parameters: return parameter_count(t).used(law.parameter_convention).value;
    case law::Input::vocabulary_parameters: return parameter_count(t).embedding.value;
    case law::Input::experts: return t.experts ? number(t.experts->count) : 1.0;
    case law::Input::sparsity: return t.experts ? 1 - number(t.experts->active) / number(t.experts->count) : 0.0;
    case law::Input::activation_ratio: {
      if (!t.experts) return 1.0;
      if (t.experts->shared_width % t.experts->width != 0) return std::nullopt;
      const double shared = number(t.experts->shared_width / t.experts->width);
      return (number(t.experts->active) + shared) / (number(t.experts->count) + shared);
    }
    case law::Input::granularity:
      return joint && t.experts && !shares ? std::optional(number(t.experts->active)) : std::nullopt;
    case law::Input::shared_share: return joint && t.experts && !shares ? std::optional(0.0) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace floplan::architecture
