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

#include <cstdint>
#include <optional>
#include <string>

#include "floplan/architecture/layout_words.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/catalog/stacks.hpp"
#include "floplan/cluster/software_stack.hpp"
#include "floplan/cluster/stack_words.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::cluster {

// Throws Error(data) for a word that a fact does not have.
[[nodiscard]] inline SoftwareStack known_stack(const catalog::Stack& record) {
  SoftwareStack s;
  for (const StackWord& fact : words_of(s)) {
    const std::string name(fact.name);
    const std::string word = record.fact(name);
    if (word.empty()) continue;
    try {
      give(s, name, word, name);
    } catch (const Error& error) {
      throw Error(Failure::data, "bad_stack", "stack " + record.name, error.what());
    }
    if (record.assumes(name)) assume(s, name);
  }
  return s;
}

// How the publisher laid out its models, as far as its record says.
struct StackLayout {
  std::optional<std::int64_t> interleave;
  std::optional<architecture::Sharding> sharding;
  std::optional<architecture::Recompute> recompute;
};

// interleave: only where PP stages of the model can be cut into as many chunks. Throws Error(data) for a word that is none.
[[nodiscard]] inline StackLayout stack_layout(const catalog::Stack& record, const architecture::Transformer& shape,
                                              std::int64_t pipeline) {
  StackLayout out;
  const auto choose = [&](const char* name, const auto& words, auto& target) {
    const std::string word = record.fact(name);
    if (word.empty()) return;
    for (const auto& [text, value] : words) {
      if (word == text) target = value;
    }
    if (!target)
      throw Error(Failure::data, "bad_stack", "stack " + record.name, std::string(name) + " is \"" + word + "\"");
  };
  choose("sharding", architecture::sharding_words, out.sharding);
  choose("recompute", architecture::recompute_words, out.recompute);
  if (const std::string chunks = record.fact("interleave"); !chunks.empty() && pipeline > 1) {
    const auto value = static_cast<std::int64_t>(parse_number(chunks, "stack " + record.name));
    const std::int64_t layers = architecture::layers_a_stage(shape, pipeline);
    if (value >= 1 && layers > 0 && layers % value == 0) out.interleave = value;
  }
  return out;
}

}  // namespace floplan::cluster
