// SPDX-License-Identifier: BSD-3-Clause
//
// Where a law is asked outside what it was fitted on.
//
//   for (const Outside& o : law::outside(record.range, inputs, values)) o.input, o.value, o.decades
//
// Each input is held against its own range, and C = 6 N D, where both are asked, against that of the budgets: a run of a
// common N and a common D may still be a budget that nobody fitted.
//
// Pitfall: nothing is said of inputs whose range is not known (cautions.hpp does).
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/input.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::law {

// "8e9 parameters" in the unit that people use for it.
[[nodiscard]] inline std::string input_text(Input input, double value) {
  switch (input) {
    case Input::parameters:
    case Input::active_parameters:
    case Input::vocabulary_parameters: return print(Parameters(value), 4);
    case Input::tokens:
    case Input::unique_tokens:
    case Input::batch: return print(Tokens(value), 4);
    case Input::flop: return print(Flop(value), 4);
    default: return print_number(value, 6);
  }
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

// Whether an end of the range of any of the inputs is known, or of C.
[[nodiscard]] inline bool knows_range(const FitRange& range, std::span<const Input> inputs) {
  for (const Input input : inputs) {
    switch (input) {
      case Input::parameters:
      case Input::active_parameters:
        if (range.parameters_low || range.parameters_high) return true;
        break;
      case Input::tokens:
        if (range.tokens_low || range.tokens_high) return true;
        break;
      case Input::flop: break;
      default:
        for (const InputRange& other : range.others) {
          if (other.input == input && (other.low || other.high)) return true;
        }
    }
  }
  return range.flop_low || range.flop_high;
}

}  // namespace floplan::law
