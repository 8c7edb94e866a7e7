// SPDX-License-Identifier: BSD-3-Clause
//
// Where a law is asked: one option for each quantity that laws know (--params, --tokens, --experts, ...), or a model.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "floplan/law/any_form.hpp"

namespace floplan::cli {

struct LawPoint {
  Text model;
  std::string count;  // what --params counts, if it was said
  std::array<Text, law::input_table.size()> texts;

  [[nodiscard]] Text& text(law::Input input) { return texts[static_cast<std::size_t>(input)]; }
  [[nodiscard]] const Text& text(law::Input input) const { return texts[static_cast<std::size_t>(input)]; }
};

// "--unique-tokens"; "--params" for parameters.
[[nodiscard]] std::string option_name(law::Input input);

// --params, --model, --count-as, --tokens, and the others under a title of their own. `point` must outlive the program.
void add_law_point(Subcommand& sub, LawPoint& point);

// The options of these inputs alone, for a command that has its own for the others.
void add_law_inputs(Subcommand& sub, LawPoint& point, const std::vector<law::Input>& inputs);

// What was given for an input, within what it can be.
[[nodiscard]] std::optional<double> value_of(const LawPoint& point, law::Input input);

// The law's inputs in their order. What was not given and follows from the model's shape is filled from it, a count as the
// law counts. Warns of a count whose kind was not said; refuses a missing input, one that the law does not have, and a count of another kind.
[[nodiscard]] std::vector<double> values_of(const Session& session, const law::AnyLaw& law, const LawPoint& point,
                                            std::vector<Warning>& warnings);

// The keys of the inputs that values_of fills from the model.
[[nodiscard]] report::Json filled_json(const law::AnyLaw& law, const LawPoint& point);

// {"parameters": 405e9, ...}, by the keys of the inputs.
[[nodiscard]] report::Json inputs_json(const law::AnyLaw& law, const std::vector<double>& values);

}  // namespace floplan::cli
