// SPDX-License-Identifier: BSD-3-Clause
//
// The facts of a software stack by the words that options and files have for them.
//
//   SoftwareStack s;
//   give(s, "attention", "early", "--attention");        now given, and no longer assumed
//   for (const StackWord& w : words_of(s)) ...           w.name, w.word, w.assumed
//
//   attention current | early | unfused       elementwise fused | eager            host graphs | fast | slow
//   sequence_parallel, overlap, scatter_gather yes | no                            gradient_bytes 2 | 4
//   data_parallel current | early             selective attention_core | operators
//   context_exchange all_gather | ring        schedule 1f1b | zero_bubble
//
// What each means stands in software_stack.hpp, which is also the source of the defaults.
// Pitfall: a fact that is not given keeps its default and stays assumed, which widens the band of a step time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "floplan/cluster/software_stack.hpp"
#include "floplan/core/error.hpp"

namespace floplan::cluster {

// Calls visit(name, fact, words) for each fact of the stack, in one order.
template <class Stack, class Visit>
void visit_facts(Stack& s, Visit visit) {
  visit("attention", s.attention, Words<AttentionKernel>(attention_words));
  visit("elementwise", s.elementwise, Words<Elementwise>(elementwise_words));
  visit("host", s.host, Words<Host>(host_words));
  visit("sequence_parallel", s.sequence_parallel, Words<bool>(yes_no_words));
  visit("overlap", s.overlap, Words<bool>(yes_no_words));
  visit("scatter_gather", s.scatter_gather, Words<bool>(yes_no_words));
  visit("gradient_bytes", s.gradient_bytes, Words<double>(gradient_words));
  visit("data_parallel", s.data_parallel, Words<DataParallelEngine>(data_parallel_words));
  visit("selective", s.selective, Words<SelectiveRecompute>(selective_words));
  visit("context_exchange", s.context_exchange, Words<ContextExchange>(context_exchange_words));
  visit("schedule", s.schedule, Words<PipelineSchedule>(schedule_words));
}

struct StackWord {
  std::string_view name;
  std::string word;
  bool assumed = false;
};

// The facts as they are, in the order of visit_facts().
[[nodiscard]] inline std::vector<StackWord> words_of(const SoftwareStack& s) {
  std::vector<StackWord> out;
  visit_facts(s, [&out](std::string_view name, const auto& fact, auto words) {
    out.push_back({name, word_of(fact.value, words), fact.assumed});
  });
  return out;
}

// where: the option, or the field's place. Throws Error(usage) for another word or fact.
inline void give(SoftwareStack& stack, std::string_view name, std::string_view word, std::string_view where) {
  bool known = false;
  visit_facts(stack, [&](std::string_view of, auto& fact, auto words) {
    if (of != name) return;
    known = true;
    std::string all;
    for (const auto& [text, value] : words) {
      if (text == word) {
        fact = value;
        return;
      }
      // Two words of one meaning: the first is the one to name.
      if (word_of(value, words) == text) all += (all.empty() ? "" : ", ") + std::string(text);
    }
    throw Error(Failure::usage, "bad_value", std::string(where),
                "must be one of " + all + ", got \"" + std::string(word) + "\"");
  });
  if (!known) {
    throw Error(Failure::usage, "unknown_name", std::string(where),
                "must be a fact of a software stack, got \"" + std::string(name) + "\"");
  }
}

// As it is, but a judgement and not a published fact.
inline void assume(SoftwareStack& stack, std::string_view name) {
  visit_facts(stack, [&](std::string_view of, auto& fact, auto) {
    if (of == name) fact.assumed = true;
  });
}

}  // namespace floplan::cluster
