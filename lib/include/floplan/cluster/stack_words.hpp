// SPDX-License-Identifier: BSD-3-Clause
//
// The facts of a software stack by the words that options and files have for them.
//
//   SoftwareStack s;
//   give(s, "attention", "early", "--attention");        now given, and no longer assumed
//   for (const StackFact& f : stack_facts()) ...         f.name, f.words
//
//   attention current | early | unfused       elementwise fused | eager            host graphs | fast | slow
//   sequence_parallel, overlap, scatter_gather yes | no                            gradient_bytes 2 | 4
//   data_parallel current | early             selective attention_core | operators
//
// What each means stands in software_stack.hpp, which is also the source of the defaults.
// Pitfall: a fact that is not given keeps its default and stays assumed, which widens the band of a step time.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/cluster/software_stack.hpp"
#include "floplan/core/error.hpp"

namespace floplan::cluster {

struct StackFact {
  std::string_view name;
  std::vector<std::string_view> words;
  void (*set)(SoftwareStack&, std::size_t word);
};

[[nodiscard]] inline const std::array<StackFact, 9>& stack_facts() {
  using S = SoftwareStack;
  // The enumerations are declared in the order of their words.
  static const std::array<StackFact, 9> all{{
      {"attention", {"current", "early", "unfused"}, [](S& s, std::size_t i) { s.attention = AttentionKernel(i); }},
      {"elementwise", {"fused", "eager"}, [](S& s, std::size_t i) { s.elementwise = Elementwise(i); }},
      {"host", {"graphs", "fast", "slow"}, [](S& s, std::size_t i) { s.host = Host(i); }},
      {"sequence_parallel", {"yes", "no"}, [](S& s, std::size_t i) { s.sequence_parallel = i == 0; }},
      {"overlap", {"yes", "no"}, [](S& s, std::size_t i) { s.overlap = i == 0; }},
      {"scatter_gather", {"yes", "no"}, [](S& s, std::size_t i) { s.scatter_gather = i == 0; }},
      {"gradient_bytes", {"2", "4"}, [](S& s, std::size_t i) { s.gradient_bytes = i == 0 ? 2.0 : 4.0; }},
      {"data_parallel", {"current", "early"}, [](S& s, std::size_t i) { s.data_parallel = DataParallelEngine(i); }},
      {"selective", {"attention_core", "operators"}, [](S& s, std::size_t i) { s.selective = SelectiveRecompute(i); }},
  }};
  return all;
}

struct StackWord {
  std::string_view name;
  std::string word;
  bool assumed = false;
};

// The facts as they are, in the order of stack_facts().
[[nodiscard]] inline std::vector<StackWord> words_of(const SoftwareStack& s) {
  std::vector<StackWord> out;
  const auto add = [&out](auto index, bool assumed) {
    const StackFact& fact = stack_facts()[out.size()];
    out.push_back({fact.name, std::string(fact.words[static_cast<std::size_t>(index)]), assumed});
  };
  const auto yes_or_no = [](const Fact<bool>& fact) { return fact.value ? 0 : 1; };
  add(s.attention.value, s.attention.assumed);
  add(s.elementwise.value, s.elementwise.assumed);
  add(s.host.value, s.host.assumed);
  add(yes_or_no(s.sequence_parallel), s.sequence_parallel.assumed);
  add(yes_or_no(s.overlap), s.overlap.assumed);
  add(yes_or_no(s.scatter_gather), s.scatter_gather.assumed);
  add(s.gradient_bytes.value > 2 ? 1 : 0, s.gradient_bytes.assumed);
  add(s.data_parallel.value, s.data_parallel.assumed);
  add(s.selective.value, s.selective.assumed);
  return out;
}

// where: the option, or the field's place. Throws Error(usage) for another word.
inline void give(SoftwareStack& stack, std::string_view fact, std::string_view word, std::string_view where) {
  for (const StackFact& f : stack_facts()) {
    if (f.name != fact) continue;
    std::string known;
    for (std::size_t i = 0; i < f.words.size(); ++i) {
      if (f.words[i] == word) return f.set(stack, i);
      known += (known.empty() ? "" : ", ") + std::string(f.words[i]);
    }
    throw Error(Failure::usage, "bad_value", std::string(where),
                "must be one of " + known + ", got \"" + std::string(word) + "\"");
  }
  throw Error(Failure::usage, "unknown_name", std::string(where),
              "must be a fact of a software stack, got \"" + std::string(fact) + "\"");
}

}  // namespace floplan::cluster
