// SPDX-License-Identifier: BSD-3-Clause
//
// What an expert would remark on an answer because of the law that it rests on.
//
//   for (const Warning& w : law::cautions(record, law::outside(record.range, inputs, values))) ...
//   law::no_interval(record)                                         why it has no interval, if it has none
//
// Codes: extrapolation, unknown_fit_range (so that extrapolation was not checked), rounded_law, unverified_law,
// no_interval. Every command that uses a law gives the same words.
//
// Pitfall: a remark never changes a number. Whether the law's form holds that far out, none of them can say.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/input.hpp"
#include "floplan/law/outside.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::law {

// Whether any end of it is known.
[[nodiscard]] inline bool has_range(const FitRange& r) {
  return r.parameters_low || r.parameters_high || r.tokens_low || r.tokens_high || r.flop_low || r.flop_high ||
         !r.others.empty();
}

// The inputs of which neither end of the range is known: whether they are extrapolated was not checked.
[[nodiscard]] inline std::vector<Input> inputs_without_range(const FitRange& range, std::span<const Input> inputs) {
  const auto known = [&](Input input) {
    if (input == Input::parameters || input == Input::active_parameters)
      return range.parameters_low || range.parameters_high;
    if (input == Input::tokens) return range.tokens_low || range.tokens_high;
    if (input == Input::flop) return range.flop_low || range.flop_high;
    return std::ranges::any_of(range.others,
                               [input](const InputRange& r) { return r.input == input && (r.low || r.high); });
  };
  std::vector<Input> out;
  for (const Input input : inputs) {
    if (!known(input)) out.push_back(input);
  }
  return out;
}

// A count within 2% of an end of its range is no extrapolation; a share or a number of bits beyond its range is. One remark
// for all inputs.
template <class Form>
[[nodiscard]] std::vector<Warning> outside_cautions(const LawRecord<Form>& law, const std::vector<Outside>& outside) {
  std::string text;
  for (const Outside& o : outside) {
    const bool count = o.input == Input::parameters || o.input == Input::active_parameters ||
                       o.input == Input::tokens || o.input == Input::flop;
    if (count && o.decades <= 0.01) continue;
    text += (text.empty() ? "" : "; ") + std::string(info(o.input).key) +
            (o.low ? " from " + input_text(o.input, *o.low) : "") +
            (o.high ? " to " + input_text(o.input, *o.high) : "") + ", asked for " + input_text(o.input, o.value) +
            (count ? " (" + print_number(o.decades, 2) + " powers of ten outside)" : "");
  }
  if (text.empty()) return {};
  return {{"extrapolation", law.name + " was fitted on " + text}};
}

template <class Form>
[[nodiscard]] std::vector<Warning> cautions(const LawRecord<Form>& law, const std::vector<Outside>& outside) {
  std::vector<Warning> out = outside_cautions(law, outside);
  if (!has_range(law.range)) {
    out.push_back({"unknown_fit_range",
                   law.name + " does not say which N, D and C its runs had: how far this extrapolates is not known"});
  }
  if (law.rounded) {
    const std::string& note = law.provenance.note;
    out.push_back({"rounded_law", law.name + " has rounded coefficients" + (note.empty() ? "" : ": " + note)});
  }
  if (!law.provenance.verified) {
    out.push_back({"unverified_law", law.name + " rests on one unconfirmed source: " +
                                         (law.provenance.source.empty() ? "not named" : law.provenance.source)});
  }
  return out;
}

// An interval needs replicates: a published law seldom has them, a fit has them where it was bootstrapped.
template <class Form>
[[nodiscard]] std::optional<Warning> no_interval(const LawRecord<Form>& law) {
  if (!law.replicates.empty()) return std::nullopt;
  std::string why = " was published without a covariance of its coefficients";
  if (law.own_fit) why = " holds no resamples";
  std::string text = law.name + why + ", so no interval can be given";
  const Output what = output(law.form);
  const bool of_a_step = what == Output::batch || what == Output::learning_rate || what == Output::timescale;
  if (!law.own_fit && (of_a_step || what == Output::loss)) {
    text += std::string("; the spread of several laws (floplan ") +
            (of_a_step ? "hyperparameters" : "optimum --law a,b,c") + ") says more than none";
  }
  return Warning{"no_interval", text};
}

}  // namespace floplan::law
