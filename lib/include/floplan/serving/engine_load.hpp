// SPDX-License-Identifier: BSD-3-Clause
//
// What one step of an engine with continuous batching has to do: requests that decode, and pieces of prompts beside them.
//
//   steady_load(batch, {1000, 250}, model)     of an engine whose B places are always taken
//   prompt_load(tokens, at, beside, model)     one piece of a prompt, which begins after `at` tokens
//
//   steady:  B decode, B i/o prompt tokens a step, context C = B (i + o/2), scores U = B/o x i^2/2, rows of logits B (1 + 1/o)
//
//   i, o tokens in and out of a request. Scores are pairs of a prompt's token and one that it attends to.
//
// Holds: requests of one length, evenly spread over their lives, which is where a full engine settles.
// Pitfall: memory is kept for i + o tokens of each request while reading meets i + o/2 on average. Under attention data
// parallelism a load is of one rank.
#pragma once

#include <algorithm>

#include "floplan/serving/served_model.hpp"

namespace floplan::serving {

struct RequestTokens {
  double input = 0;
  double output = 0;
};

struct EngineLoad {
  double decoding = 0;       // requests, one token each
  double prompt_tokens = 0;  // computed in this step
  double context = 0;        // cached tokens that a layer of global attention reads, over all requests
  double scores = 0;         // of prompt tokens, in a layer of global attention
  double local_context = 0;  // the same in a layer with a window
  double local_scores = 0;
  double logits = 0;  // rows
  double steps = 1;   // how many alike follow one another; the context is their mean

  [[nodiscard]] double tokens() const { return decoding + prompt_tokens; }
  void operator+=(const EngineLoad& b) {
    decoding += b.decoding;
    prompt_tokens += b.prompt_tokens;
    context += b.context;
    scores += b.scores;
    local_context += b.local_context;
    local_scores += b.local_scores;
    logits += b.logits;
  }
};

namespace detail {

// Sum of min(x, window) for x from 0 to `length`, as an integral.
[[nodiscard]] inline double within_window(double length, double window) {
  return length <= window ? length * length / 2 : window * window / 2 + (length - window) * window;
}

}  // namespace detail

// Of `decoding` requests with `context` tokens each.
[[nodiscard]] inline EngineLoad decode_load(double decoding, double context, const ServedModel& m) {
  EngineLoad load;
  load.decoding = load.logits = decoding;
  load.context = decoding * context;
  load.local_context = decoding * std::min(context, m.window);
  return load;
}

// Of one piece of a prompt; finishes: its last token's logits give the first output.
[[nodiscard]] inline EngineLoad prompt_load(double tokens, double at, bool finishes, const ServedModel& m) {
  EngineLoad load;
  load.prompt_tokens = tokens;
  load.context = at;
  load.scores = tokens * at + tokens * tokens / 2;
  load.local_context = std::min(at, m.window);
  load.local_scores = detail::within_window(at + tokens, m.window) - detail::within_window(at, m.window);
  load.logits = finishes ? 1 : 0;
  return load;
}

// cached: tokens of each prompt, from its beginning, whose keys and values are there already (a prefix that requests share).
// speculated: tokens that a draft proposes for each request and the step verifies; yielded: tokens that
// one step brings it.
[[nodiscard]] inline EngineLoad steady_load(double batch, const RequestTokens& r, const ServedModel& m,
                                            double cached = 0, double speculated = 0, double yielded = 1) {
  EngineLoad load;
  const double finishing = batch * yielded / r.output;  // requests a step, and so prompts
  load.decoding = batch;
  load.prompt_tokens = finishing * (r.input - cached) + batch * speculated;
  load.context = batch * (r.input + r.output / 2);
  load.scores = finishing * (r.input * r.input - cached * cached) / 2 + speculated * load.context;
  const double end = r.input + r.output;
  const double begin = detail::within_window(r.input, m.window);
  load.local_context = batch / r.output * (detail::within_window(end, m.window) - begin);
  load.local_scores = finishing * (begin - detail::within_window(cached, m.window)) + speculated * load.local_context;
  load.logits = batch * (1 + speculated) + finishing;
  return load;
}

}  // namespace floplan::serving
