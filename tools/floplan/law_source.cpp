// SPDX-License-Identifier: BSD-3-Clause
#include "law_source.hpp"

#include <algorithm>

#include "floplan/architecture/law_input.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "floplan/catalog/any_law.hpp"
#include "floplan/catalog/find_model.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/optimum/setting.hpp"

namespace floplan::cli {

namespace {

using law::Input;

// Every input but N and D, whose options stand first.
std::vector<Input> others() {
  std::vector<Input> out;
  for (std::size_t i = 0; i < law::input_table.size(); ++i) {
    const auto input = static_cast<Input>(i);
    if (input != Input::parameters && input != Input::tokens) out.push_back(input);
  }
  return out;
}

double parsed(Input input, const std::string& text) {
  const std::string option = option_name(input);
  switch (input) {
    case Input::parameters:
    case Input::active_parameters:
    case Input::vocabulary_parameters: return parse<Parameters>(text, option).value;
    case Input::tokens:
    case Input::unique_tokens:
    case Input::batch: return parse<Tokens>(text, option).value;
    case Input::flop: return parse<Flop>(text, option).value;
    case Input::sparsity:
    case Input::weight_sparsity:
    case Input::activation_ratio:
    case Input::shared_share: return parse<Fraction>(text, option).value;
    default: return parse_number(text, option);
  }
}

// "ludziejewski-2025, zhao-2025, ...": the laws of loss that know experts.
std::string laws_of_mixtures(const catalog::Catalog& catalog) {
  std::string out;
  for (const law::AnyLaw& law : catalog::any_laws(catalog)) {
    if (law::output(law.form) == law::Output::loss && law::takes_experts(law::inputs(law.form)))
      out += (out.empty() ? "" : ", ") + law.name;
  }
  return out;
}

std::string listed(const law::AnyLaw& law) {
  std::string out;
  for (const Input input : law::inputs(law.form))
    out += (out.empty() ? "" : ", ") + std::string(law::info(input).symbol) + " (" + law::info(input).meaning + ")";
  return out;
}

}  // namespace

std::string option_name(Input input) { return optimum::option_of(input); }

void add_law_inputs(Subcommand& sub, LawPoint& point, const std::vector<Input>& inputs) {
  for (const Input input : inputs) {
    std::string help = law::info(input).meaning;
    help[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(help[0])));
    sub.option(option_name(input), point.text(input), help);
  }
}

std::optional<double> value_of(const LawPoint& point, Input input) {
  const Text& text = point.text(input);
  if (!text) return std::nullopt;
  const double value = parsed(input, *text);
  law::check(input, value, option_name(input));
  return value;
}

void add_law_point(Subcommand& sub, LawPoint& point) {
  sub.option("--params", point.text(Input::parameters), "Number of parameters, as 405B, counted as the law counts");
  sub.option("--count-as", point.count, "What --params counts",
             {"total", "active", "non_embedding", "without_input_embedding"});
  sub.option("--model", point.model, "A model of the catalog, or its config.json, instead: counted as the law counts");
  sub.option("--tokens", point.text(Input::tokens), "Training tokens, as 15.6T");
  sub.group("What some laws ask besides");
  add_law_inputs(sub, point, others());
  sub.group("");
}

std::vector<double> values_of(const Session& session, const law::AnyLaw& law, const LawPoint& point,
                              std::vector<Warning>& warnings) {
  const auto inputs = law::inputs(law.form);
  const auto asks = [&](Input input) { return law::takes(inputs, input); };
  for (std::size_t i = 0; i < point.texts.size(); ++i) {
    const auto input = static_cast<Input>(i);
    if (!point.texts[i] || asks(input)) continue;
    if (input == Input::unique_tokens && asks(Input::tokens)) continue;  // the command says what repetition does
    throw Error(Failure::usage, "not_an_input", option_name(input),
                "is nothing that " + law.name + " asks for: its inputs are " + listed(law));
  }
  const std::string convention = law::to_text(law.parameter_convention);
  std::optional<architecture::Transformer> shape;
  if (point.model) {
    if (point.text(Input::parameters))
      throw Error(Failure::usage, "missing_option", "--params", "needs either --params or --model, and not both");
    const catalog::FoundModel found = catalog::find_model(*point.model, "--model", session.catalog);
    warnings.insert(warnings.end(), found.warnings.begin(), found.warnings.end());
    shape = found.model.shape;
    if (architecture::is_mixture(*shape) && !architecture::knows_experts(law)) {
      const architecture::ParameterCount count = architecture::parameter_count(*shape);
      throw Error(Failure::usage, "dense_law", "--model",
                  "must be a dense model for " + law.name + ", which knows no experts: a token uses " +
                      print(count.active, 4) + " of the " + print(count.total, 4) + " parameters of " +
                      found.model.name +
                      "; --params with either count says what a dense model of that size would reach, and these laws " +
                      "know experts: " + laws_of_mixtures(session.catalog));
    }
    if (asks(Input::experts) && !point.text(Input::experts) && shape->experts && shape->experts->active > 1) {
      warnings.push_back({"active_experts", law.name + " is asked for E = " + std::to_string(shape->experts->count) +
                                                " experts; that a token of " + found.model.name + " uses " +
                                                std::to_string(shape->experts->active) + " of them, it does not know"});
    }
  }
  std::vector<double> out;
  for (const Input input : inputs) {
    if (const auto given = value_of(point, input)) {
      out.push_back(*given);
    } else if (const auto own = shape ? architecture::law_input(*shape, law, input) : std::nullopt) {
      out.push_back(*own);
    } else {
      throw Error(Failure::usage, "missing_option", option_name(input),
                  std::string("is needed") + (input == Input::parameters ? ", or --model" : "") + ": the inputs of " +
                      law.name + " are " + listed(law));
    }
  }
  if (point.text(Input::parameters) && asks(Input::parameters)) {
    if (!point.count.empty() && point.count != convention) {
      throw Error(Failure::usage, "parameter_convention", "--count-as",
                  "must be " + convention + ", which is what " + law.name +
                      " counts, or give --model, from whose shape " + "the count follows; got " + point.count);
    }
    if (point.count.empty() && law.parameter_convention != law::ParameterConvention::total) {
      warnings.push_back({"parameter_convention",
                          law.name + " counts " + convention + " parameters; --params is taken as such a count"});
    }
  }
  if (point.text(Input::active_parameters) && law::leaves_out_embeddings(law.parameter_convention)) {
    warnings.push_back({"parameter_convention", law.name + " counts active parameters as " + convention +
                                                    "; --active-parameters is taken as such a count"});
  }
  law::check(law.form, out, law.name);
  return out;
}

report::Json filled_json(const law::AnyLaw& law, const LawPoint& point) {
  report::Json out = report::Json::array();
  for (const Input input : law::inputs(law.form)) {
    if (!point.text(input)) out.push_back(law::info(input).key);
  }
  return out;
}

report::Json inputs_json(const law::AnyLaw& law, const std::vector<double>& values) {
  report::Json out = report::Json::object();
  const auto inputs = law::inputs(law.form);
  for (std::size_t i = 0; i < inputs.size(); ++i) out[law::info(inputs[i]).key] = report::count_json(values[i]);
  return out;
}

}  // namespace floplan::cli
