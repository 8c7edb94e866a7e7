// SPDX-License-Identifier: BSD-3-Clause
//
// Which batch size, learning rate and weight decay do the published laws suggest for a run?
//
//   RunPoint run{.parameters = ..., .tokens = Tokens(1e12)};
//   for (const Suggestion& s : suggestions(catalog, run)) s.law.name, s.value, s.outside
//
// Every law of the catalog whose output is a batch (tokens a step), a learning rate or a weight-decay timescale answers
// from what is known of the run: N as it counts it, D, C = 6 N D, the loss, the experts. A law that asks for something that
// is not known says what.
//
// Sources: each law's own; none is recomputed here. Cost: reads the laws, some 300 microseconds.
// Pitfall: they differ by factors of two to five on the same run, since schedules, optimizers and what counts as best
// differ; a batch within a factor of two or so of the best costs little loss, and the critical batch is a bound, not a best.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "floplan/architecture/parameter_count.hpp"
#include "floplan/catalog/any_law.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/law/any_form.hpp"

namespace floplan::optimum {

struct RunPoint {
  std::optional<Parameters> parameters;                   // as total, active and non-embedding alike, or else
  std::optional<architecture::ParameterCount> counted{};  // of a known shape, each law as it counts
  std::optional<Tokens> tokens;
  std::optional<Flop> flop;  // 6 N D if it is not given
  std::optional<double> loss;
  std::optional<double> experts;

  [[nodiscard]] std::optional<double> value(law::Input input, law::ParameterConvention convention) const {
    const auto number = [](const auto& quantity) {
      return quantity ? std::optional(quantity->value) : std::optional<double>();
    };
    const auto count = [&]() -> std::optional<double> {
      return counted ? std::optional(counted->as(convention).value) : number(parameters);
    };
    switch (input) {
      case law::Input::parameters: return count();
      case law::Input::active_parameters: return counted ? std::optional(counted->active.value) : number(parameters);
      case law::Input::tokens: return number(tokens);
      case law::Input::flop: {
        if (flop) return flop->value;
        const auto n = count();  // 6 N D of the parameters that the law counts
        return n && tokens ? std::optional(6 * *n * tokens->value) : std::nullopt;
      }
      case law::Input::loss: return loss;
      case law::Input::experts: return experts;
      default: return std::nullopt;
    }
  }
};

struct Suggestion {
  law::AnyLaw law;
  std::vector<double> inputs;         // in the law's order
  double value = 0;                   // tokens a step, a learning rate, or tau
  std::vector<law::Outside> outside;  // where the run lies beyond the law's own runs
  std::optional<law::Input> missing;  // what the law asks for and the run does not say; then there is no value
};

[[nodiscard]] inline std::vector<Suggestion> suggestions(const catalog::Catalog& catalog, const RunPoint& run) {
  std::vector<Suggestion> out;
  for (law::AnyLaw& law : catalog::any_laws(catalog)) {
    const law::Output output = law::output(law.form);
    if (output != law::Output::batch && output != law::Output::learning_rate && output != law::Output::timescale)
      continue;
    Suggestion s{std::move(law), {}, 0, {}, std::nullopt};
    for (const law::Input input : law::inputs(s.law.form)) {
      const auto value = run.value(input, s.law.parameter_convention);
      if (value) {
        law::check(input, *value, "suggestions");
        s.inputs.push_back(*value);
      } else if (!s.missing) {
        s.missing = input;
      }
    }
    if (!s.missing) {
      s.value = law::evaluate(s.law.form, s.inputs);
      s.outside = law::outside(s.law.range, law::inputs(s.law.form), s.inputs);
    }
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace floplan::optimum
