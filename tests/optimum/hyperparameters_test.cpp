// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/architecture/law_input.hpp"
#include "floplan/catalog/any_law.hpp"
#include "floplan/optimum/hyperparameters.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using architecture::Transformer;
using optimum::RunPoint;
using optimum::Suggestion;

const catalog::Catalog& all() {
  static const catalog::Catalog catalog;
  return catalog;
}

Transformer shape_of(const std::string& model) { return all().model(model, "test").shape; }

const Suggestion& named(const std::vector<Suggestion>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Suggestion& s) { return s.law.name == name; });
  INFO(std::string(name));
  REQUIRE(found != all.end());
  REQUIRE_FALSE(found->missing);
  return *found;
}

double input_of(const Suggestion& s, law::Input wanted) {
  const auto inputs = law::inputs(s.law.form);
  const auto at = std::find(inputs.begin(), inputs.end(), wanted);
  REQUIRE(at != inputs.end());
  return s.inputs[static_cast<std::size_t>(at - inputs.begin())];
}

}  // namespace

TEST_CASE("DeepSeek LLM's learning rates follow from its law by its own count of FLOP") {
  for (const reference::Row& row : reference::rows("hyperparameters.csv")) {
    CAPTURE(row.name());
    Transformer shape{
        .layers = 30, .width = 4096, .heads = 32, .kv_heads = 32, .head_width = 128, .vocabulary = 102400};
    if (row.has("model")) shape = shape_of(row.text("model"));
    if (row.has("ffn_width")) shape.ffn_width = static_cast<std::int64_t>(row.number("ffn_width"));
    RunPoint run;
    run.shape = shape;
    run.sequence_length = Tokens(4096);
    run.tokens = Tokens(row.number("tokens"));
    reference::check(row, named(optimum::suggestions(all(), run), row.text("law")).value);
  }
}

TEST_CASE("C of a mixture is 6 times what a token uses times the tokens, as each law counts it") {
  RunPoint run;
  run.shape = shape_of("deepseek-v3");
  run.tokens = Tokens(14.8e12);
  const architecture::ParameterCount count = architecture::parameter_count(*run.shape);
  std::size_t asked = 0;
  for (const Suggestion& s : optimum::suggestions(all(), run)) {
    const auto inputs = law::inputs(s.law.form);
    if (s.missing || !law::takes(inputs, law::Input::flop) || s.law.flop_convention != law::FlopConvention::six_n)
      continue;
    CAPTURE(s.law.name);
    CHECK(input_of(s, law::Input::flop) == 6 * count.used(s.law.parameter_convention).value * run.tokens->value);
    CHECK(input_of(s, law::Input::flop) <= 6 * count.active.value * run.tokens->value);
    ++asked;
  }
  CHECK(asked >= 4);
}

TEST_CASE("laws of mixtures are told from laws of dense models") {
  RunPoint run;
  run.shape = shape_of("mixtral-8x7b");
  run.tokens = Tokens(1e12);
  const auto suggested = optimum::suggestions(all(), run);
  for (const char* name : {"ling-2025-batch", "ling-2025-learning-rate", "ludziejewski-2025-learning-rate"})
    CHECK(named(suggested, name).of_mixtures);
  for (const char* name : {"deepseek-2024-batch", "step-law-2025-batch", "power-lines-2025"})
    CHECK_FALSE(named(suggested, name).of_mixtures);
  CHECK(run.is_mixture());
  run.shape = shape_of("llama-3.1-8b");
  CHECK_FALSE(run.is_mixture());
}

TEST_CASE("the learning rate of mixtures takes active parameters without embeddings, and the shape's experts") {
  RunPoint run;
  run.shape = shape_of("mixtral-8x7b");
  const auto suggested = optimum::suggestions(all(), run);
  const Suggestion& s = named(suggested, "ludziejewski-2025-learning-rate");
  const architecture::ParameterCount count = architecture::parameter_count(*run.shape);
  CHECK(input_of(s, law::Input::active_parameters) == (count.active - count.embedding).value);
  CHECK(input_of(s, law::Input::experts) == static_cast<double>(run.shape->experts->count));
  CHECK(s.unchecked == std::vector{law::Input::active_parameters});
  CHECK_FALSE(s.decades_outside());  // its experts are inside, and where its N was nobody said
  run.experts = 64;
  const Suggestion outside = named(optimum::suggestions(all(), run), "ludziejewski-2025-learning-rate");
  CHECK(*outside.decades_outside() == near(std::log10(64.0 / 32), 1e-12));
}

TEST_CASE("a longer sequence raises C only for laws that count attention") {
  RunPoint run;
  run.shape = shape_of("llama-3.1-8b");
  run.tokens = Tokens(15e12);
  run.sequence_length = Tokens(4096);
  const auto shorter = optimum::suggestions(all(), run);
  run.sequence_length = Tokens(131072);
  const auto longer = optimum::suggestions(all(), run);
  REQUIRE(shorter.size() == longer.size());
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    if (shorter[i].missing || !law::takes(law::inputs(shorter[i].law.form), law::Input::flop)) continue;
    CAPTURE(shorter[i].law.name);
    const bool attention = shorter[i].law.flop_convention != law::FlopConvention::six_n;
    CHECK((input_of(longer[i], law::Input::flop) > input_of(shorter[i], law::Input::flop)) == attention);
  }
}

TEST_CASE("the weight decay of each source's batch and learning rate gives the timescale back") {
  RunPoint run;
  run.shape = shape_of("llama-3.1-8b");
  run.tokens = Tokens(15e12);
  const auto suggested = optimum::suggestions(all(), run);
  const auto decays = optimum::weight_decays(suggested, *run.tokens);
  std::vector<std::string> batches;
  for (const optimum::WeightDecay& w : decays) {
    batches.push_back(w.batch->law.name);
    CHECK(w.batch->value / (w.learning_rate->value * w.value * run.tokens->value) == near(w.timescale->value, 1e-12));
  }
  std::sort(batches.begin(), batches.end());
  CHECK(batches == std::vector<std::string>{"deepseek-2024-batch", "ling-2025-batch", "moonlight-2025-batch",
                                            "step-law-2025-batch"});
  run.tokens.reset();
  CHECK(optimum::weight_decays(optimum::suggestions(all(), run), Tokens(1)).empty());
}

TEST_CASE("what a law asks of a mixture follows from its shape only where the law says how") {
  const Transformer deepseek = shape_of("deepseek-v3"), mixtral = shape_of("mixtral-8x7b"),
                    dense = shape_of("llama-3.1-8b");
  const auto ask = [](const Transformer& t, const char* law, law::Input input) {
    return architecture::law_input(t, catalog::any_law(all(), law), input);
  };
  using law::Input;
  CHECK(ask(deepseek, "ludziejewski-2025", Input::experts) == static_cast<double>(deepseek.experts->count));
  CHECK(ask(dense, "ludziejewski-2025", Input::experts) == 1.0);
  CHECK(ask(mixtral, "abnar-2025", Input::sparsity) == 1 - 2.0 / 8);
  CHECK(ask(dense, "abnar-2025", Input::sparsity) == 0.0);
  CHECK(ask(deepseek, "ling-2025-leverage", Input::activation_ratio) == (8.0 + 1) / (256 + 1));
  CHECK(ask(mixtral, "zhao-2025", Input::granularity) == 2.0);
  CHECK(ask(mixtral, "zhao-2025", Input::shared_share) == 0.0);
  CHECK_FALSE(ask(deepseek, "zhao-2025", Input::granularity));  // whether the shared expert is among the active is open
  CHECK_FALSE(ask(deepseek, "krajewski-2024", Input::granularity));
  // A law of mixtures that counts all experts is given them all, a law of dense models what a token uses.
  const architecture::ParameterCount count = architecture::parameter_count(deepseek);
  CHECK(ask(deepseek, "abnar-2025", Input::parameters) == count.total.value);
  CHECK(ask(deepseek, "ludziejewski-2025", Input::active_parameters) == count.active.value);
  CHECK(ask(deepseek, "besiroglu-2024", Input::parameters) == count.active.value);
}
