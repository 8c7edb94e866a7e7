// SPDX-License-Identifier: BSD-3-Clause
//
// What a law's other inputs are held at while N and D are chosen: unique tokens, experts, granularity, bits, ...
//
//   Setting setting;  setting.set(law::Input::experts, 64);
//   setting.value(law::Input::experts)                         64
//   option_of(law::Input::unique_tokens)                       "--unique-tokens", as the command line takes it
//
// active_share: parameters that a token uses, as a share of those that the law counts: C = 6 N active_share D. 1 where the
// law counts active parameters or the model is dense.
//
// Errors: set throws Error(usage) for a value that the input cannot have (law/input.hpp).
// Pitfall: N, D, C and the loss are asked for by the question, not held by the setting.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/law/any_form.hpp"
#include "floplan/law/input.hpp"

namespace floplan::optimum {

// The option of the command line that gives the input.
[[nodiscard]] inline std::string option_of(law::Input input) {
  if (input == law::Input::parameters) return "--params";
  std::string out = "--" + std::string(info(input).key);
  for (char& c : out) c = c == '_' ? '-' : c;
  return out;
}

struct Setting {
  std::vector<std::pair<law::Input, double>> values;
  std::optional<double> active_share;

  [[nodiscard]] std::optional<double> value(law::Input input) const {
    for (const auto& [which, x] : values) {
      if (which == input) return x;
    }
    return std::nullopt;
  }

  void set(law::Input input, double x) {
    law::check(input, x, option_of(input));
    for (auto& [which, old] : values) {
      if (which != input) continue;
      old = x;
      return;
    }
    values.emplace_back(input, x);
  }
};

}  // namespace floplan::optimum
