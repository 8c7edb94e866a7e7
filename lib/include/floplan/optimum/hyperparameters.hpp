// SPDX-License-Identifier: BSD-3-Clause
//
// Which batch size, learning rate and weight decay do the published laws suggest for a run?
//
//   RunPoint run{.parameters = ..., .tokens = Tokens(1e12)};
//   for (const Suggestion& s : suggestions(catalog, run)) s.law.name, s.value, s.outside
//   weight_decays(suggestions, tokens)
//
// Every law of the catalog whose output is a batch (tokens a step), a learning rate or a weight-decay timescale answers
// from what is known of the run: N as it counts it, D, C, the loss, the experts. A law that asks for something that is not
// known says what. Of a known shape each law counts as its source does, C too (6N, or with attention, with or without
// embeddings), and a law of dense models is given what one token of a mixture uses. From a timescale tau, and a batch B and
// a learning rate lr of one source, follows the weight decay
//
//   lambda = B / (lr tau D)          [a step of AdamW, decay multiplied by lr]
//
// Sources: each law's own; tau as Power Lines (arXiv 2505.13738) defines it. Cost: reads the laws, some 300 microseconds.
// Pitfall: they differ by factors of two to five on the same run, since schedules, optimizers and what counts as best
// differ; a batch within a factor of two or so of the best costs little loss, and the critical batch is a bound, not a best.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/architecture/law_input.hpp"
#include "floplan/architecture/training_flop.hpp"
#include "floplan/catalog/any_law.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/law/any_form.hpp"
#include "floplan/law/cautions.hpp"

namespace floplan::optimum {

struct RunPoint {
  std::optional<Parameters> parameters;              // as every law counts them, or else
  std::optional<architecture::Transformer> shape{};  // each law as it counts
  Tokens sequence_length = Tokens(8192);             // of the shape, for laws whose C has attention in it
  std::optional<Tokens> tokens;
  std::optional<Flop> flop;  // of whatever each law counts; if it is not given, follows from the shape or is 6 N D
  std::optional<double> loss;
  std::optional<double> experts;  // of the shape if it is not given

  [[nodiscard]] bool is_mixture() const { return experts ? *experts > 1 : shape && architecture::is_mixture(*shape); }

  [[nodiscard]] std::optional<double> value(law::Input input, const law::AnyLaw& law) const {
    const auto number = [](const auto& quantity) {
      return quantity ? std::optional(quantity->value) : std::optional<double>();
    };
    const auto of_shape = [&] { return shape ? architecture::law_input(*shape, law, input) : std::nullopt; };
    switch (input) {
      case law::Input::parameters:
      case law::Input::active_parameters: return shape ? of_shape() : number(parameters);
      case law::Input::tokens: return number(tokens);
      case law::Input::flop:
        if (flop) return flop->value;
        if (!tokens) return std::nullopt;
        if (shape) {
          const FlopPerToken a_token = architecture::training_flop_per_token(
              *shape, sequence_length, law.parameter_convention, law.flop_convention);
          return a_token.value * tokens->value;
        }
        return parameters ? std::optional(6 * parameters->value * tokens->value) : std::nullopt;
      case law::Input::loss: return loss;
      case law::Input::experts: return experts ? experts : of_shape();
      default: return of_shape();
    }
  }
};

struct Suggestion {
  law::AnyLaw law;
  bool of_mixtures = false;           // the law's runs were mixtures of experts; else dense models
  std::vector<double> inputs;         // in the law's order
  double value = 0;                   // tokens a step, a learning rate, or tau
  std::vector<law::Outside> outside;  // where the run lies beyond the law's own runs
  std::vector<law::Input> unchecked;  // whose range in the law's own runs is not known
  std::optional<law::Input> missing;  // what the law asks for and the run does not say; then there is no value

  // Beyond 2% of an end, or 0; absent where an input's range is not known and no other is left.
  [[nodiscard]] std::optional<double> decades_outside() const {
    double out = 0;
    for (const law::Outside& o : outside) out = std::max(out, o.decades);
    if (out > 0.01) return out;
    return unchecked.empty() ? std::optional(0.0) : std::nullopt;
  }
};

[[nodiscard]] inline std::vector<Suggestion> suggestions(const catalog::Catalog& catalog, const RunPoint& run) {
  std::vector<Suggestion> out;
  for (law::AnyLaw& law : catalog::any_laws(catalog)) {
    const law::Output output = law::output(law.form);
    if (output != law::Output::batch && output != law::Output::learning_rate && output != law::Output::timescale)
      continue;
    const bool of_mixtures = architecture::knows_experts(law);
    Suggestion s{std::move(law), of_mixtures, {}, 0, {}, {}, std::nullopt};
    const auto inputs = law::inputs(s.law.form);
    for (const law::Input input : inputs) {
      const auto value = run.value(input, s.law);
      if (value) {
        law::check(input, *value, "suggestions");
        s.inputs.push_back(*value);
      } else if (!s.missing) {
        s.missing = input;
      }
    }
    if (!s.missing) {
      s.value = law::evaluate(s.law.form, s.inputs);
      s.outside = law::outside(s.law.range, inputs, s.inputs);
      s.unchecked = law::inputs_without_range(s.law.range, inputs);
    }
    out.push_back(std::move(s));
  }
  return out;
}

// The weight decay that a timescale means at a batch and a learning rate. They point into the suggestions.
struct WeightDecay {
  const Suggestion* timescale;
  const Suggestion* batch;
  const Suggestion* learning_rate;
  double value;
};

// Of every timescale with every pair of one source, "x-batch" and "x-learning-rate"; `all` must outlive the answer.
[[nodiscard]] inline std::vector<WeightDecay> weight_decays(const std::vector<Suggestion>& all, Tokens tokens) {
  std::vector<WeightDecay> out;
  for (const Suggestion& tau : all) {
    if (tau.missing || law::output(tau.law.form) != law::Output::timescale) continue;
    for (const Suggestion& batch : all) {
      if (batch.missing || !batch.law.name.ends_with("-batch")) continue;
      const std::string source = batch.law.name.substr(0, batch.law.name.size() - std::string("-batch").size());
      for (const Suggestion& rate : all) {
        if (rate.missing || rate.law.name != source + "-learning-rate") continue;
        out.push_back({&tau, &batch, &rate, batch.value / (rate.value * tau.value * tokens.value)});
      }
    }
  }
  return out;
}

}  // namespace floplan::optimum
