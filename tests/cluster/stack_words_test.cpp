// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "floplan/cluster/stack_words.hpp"
#include "floplan/cluster/step_band.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using namespace floplan::cluster;

TEST_CASE("every word of every fact of a stack is read back as it was given, and no longer assumed") {
  std::set<std::string_view> names;
  SoftwareStack visited;
  std::size_t i = 0;
  visit_facts(visited, [&](std::string_view name, auto&, auto words) {
    CHECK(names.insert(name).second);
    for (const auto& [word, value] : words) {
      SoftwareStack s;
      CHECK(words_of(s)[i].assumed);
      give(s, name, word, "--here");
      const std::vector<StackWord> now = words_of(s);
      CHECK(now[i].name == name);
      CHECK(now[i].word == word_of(value, words));
      for (std::size_t k = 0; k < now.size(); ++k) CHECK(now[k].assumed == (k != i));
      assume(s, name);
      CHECK(words_of(s)[i].assumed);
    }
    ++i;
  });
  CHECK(i == words_of(visited).size());
}

TEST_CASE("the enumerations' own words are those of the facts") {
  for (const StackWord& fact : words_of(SoftwareStack())) {
    const SoftwareStack s;
    if (fact.name == "attention") CHECK(fact.word == to_text(s.attention.value));
    if (fact.name == "elementwise") CHECK(fact.word == to_text(s.elementwise.value));
    if (fact.name == "host") CHECK(fact.word == to_text(s.host.value));
    if (fact.name == "data_parallel") CHECK(fact.word == to_text(s.data_parallel.value));
  }
}

TEST_CASE("another word, or another fact, is refused with those that there are") {
  SoftwareStack s;
  const Error word = thrown::by([&] { give(s, "host", "quick", "--host"); });
  CHECK(word.failure() == Failure::usage);
  CHECK(word.where() == "--host");
  CHECK(thrown::says(word, "graphs, fast, slow, got \"quick\""));
  CHECK(thrown::by([&] { give(s, "hots", "fast", "p.toml:1:1"); }).where() == "p.toml:1:1");
}

TEST_CASE("a band widens with what is assumed, is wider for mixtures of experts, and holds its prediction") {
  const StepBand known = step_band(StepClass::known), guessed = step_band(StepClass::guessed);
  const StepBand experts = step_band(StepClass::experts);
  CHECK(known.high < guessed.high);
  CHECK(known.high < experts.high);
  CHECK(known.low > experts.low);
  for (const StepBand& band : {known, guessed, experts}) {
    CHECK(band.low < 1);
    CHECK(band.high > 1);
    CHECK(band.factor(0) == 1);
    CHECK(band.factor(2) > band.factor(1));
    CHECK(band.factor(-2) < band.factor(-1));
  }
}
