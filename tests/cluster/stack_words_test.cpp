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
  for (std::size_t i = 0; i < stack_facts().size(); ++i) {
    const StackFact& fact = stack_facts()[i];
    CHECK(names.insert(fact.name).second);
    for (const std::string_view word : fact.words) {
      SoftwareStack s;
      CHECK(words_of(s)[i].assumed);
      give(s, fact.name, word, "--here");
      const std::vector<StackWord> now = words_of(s);
      REQUIRE(now.size() == stack_facts().size());
      CHECK(now[i].word == word);
      CHECK_FALSE(now[i].assumed);
      for (std::size_t k = 0; k < now.size(); ++k) CHECK(now[k].assumed == (k != i));
    }
  }
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

TEST_CASE("a band widens with what is assumed, is widest for mixtures of experts, and holds its prediction") {
  StepReport known, guessed;
  guessed.assumptions.push_back({"host", "a host is assumed"});
  const StepBand a = step_band(known, false), b = step_band(guessed, false), c = step_band(known, true);
  CHECK(a.high < b.high);
  CHECK(b.high < c.high);
  for (const StepBand& band : {a, b, c}) {
    CHECK(band.low < 1);
    CHECK(band.high > 1);
    CHECK(band.factor(0) == 1);
    CHECK(band.factor(2) > band.factor(1));
    CHECK(band.factor(-2) < band.factor(-1));
  }
}
