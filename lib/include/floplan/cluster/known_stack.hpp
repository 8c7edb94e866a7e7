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
#include <type_traits>

#include "floplan/catalog/stacks.hpp"
#include "floplan/cluster/software_stack.hpp"
#include "floplan/core/error.hpp"

namespace floplan::cluster {

// Throws Error(data) for a word that a fact does not have.
[[nodiscard]] inline SoftwareStack known_stack(const catalog::Stack& record) {
  SoftwareStack s;
  const auto take = [&record]<class T>(const char* name, Fact<T>& fact, Words<std::type_identity_t<T>> words) {
    const auto found = record.facts.find(name);
    if (found == record.facts.end()) return;
    for (const auto& [word, value] : words) {
      if (word != found->second) continue;
      fact = record.assumes(name) ? Fact<T>::assume(value) : Fact<T>(value);
      return;
    }
    throw Error(Failure::data, "bad_stack", "stack " + record.name,
                std::string(name) + " must be a word of that fact, got \"" + found->second + "\"");
  };
  take("attention", s.attention, attention_words);
  take("elementwise", s.elementwise, elementwise_words);
  take("host", s.host, host_words);
  take("data_parallel", s.data_parallel, data_parallel_words);
  take("selective", s.selective, selective_words);
  take("sequence_parallel", s.sequence_parallel, yes_no_words);
  take("overlap", s.overlap, yes_no_words);
  take("scatter_gather", s.scatter_gather, yes_no_words);
  take("gradient_bytes", s.gradient_bytes, gradient_words);
  return s;
}

}  // namespace floplan::cluster
