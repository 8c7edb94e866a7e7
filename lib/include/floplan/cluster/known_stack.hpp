// SPDX-License-Identifier: BSD-3-Clause
//
// A publisher's software of the catalog, as facts that a step time can be asked with.
//
//   r.stack = known_stack(catalog::stack_named(catalog, "nvidia-bridge", "--stack"));
//
// A fact that the record calls a judgement stays an assumption, and what the record does not say keeps its default.
//
// Source: data/catalog/stacks.csv; the words are those of software_stack.hpp.
// Pitfall: a record speaks of a publisher in one year; the next year's software is another.
#pragma once

#include <string>

#include "floplan/catalog/stacks.hpp"
#include "floplan/cluster/software_stack.hpp"
#include "floplan/cluster/stack_words.hpp"
#include "floplan/core/error.hpp"

namespace floplan::cluster {

// Throws Error(data) for a word that a fact does not have.
[[nodiscard]] inline SoftwareStack known_stack(const catalog::Stack& record) {
  SoftwareStack s;
  for (const StackWord& fact : words_of(s)) {
    const std::string name(fact.name);
    const auto found = record.facts.find(name);
    if (found == record.facts.end()) continue;
    try {
      give(s, name, found->second, name);
    } catch (const Error& error) {
      throw Error(Failure::data, "bad_stack", "stack " + record.name, error.what());
    }
    if (record.assumes(name)) assume(s, name);
  }
  return s;
}

}  // namespace floplan::cluster
