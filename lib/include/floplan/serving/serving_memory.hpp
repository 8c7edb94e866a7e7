// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a model fits the accelerators that serve it, and how many sequences beside it.
//
//   const ServingMemory m = serving_memory(model, device, cut, formats, {1000, 1000});      m.fits(), m.sequences
//
//   an accelerator:  weights + runtime + activations + sequences x K L b (i + o) / g <= usable x memory
//   weights          w x (attention + dense blocks) / s + w x experts / n, and tables and norms in 16 bits
//   activations      tokens a step x 2 bytes x (4 d + 2 f / s), f the widest block, and logits in 32 bits
//
//   K, b, g as in engine_step.hpp; i + o tokens are kept for each request, as schedulers that never evict do. Layers with a
//   window keep no more than it. usable .95 of what the runtime leaves free and 2.5 GiB of runtime: TensorRT-LLM 1.0.
//
// Holds: paged caches without fragmentation. Pitfall: every expert is in memory, whatever a token uses; beyond the key-value
// heads, tensor parallelism copies the cache; under attention data parallelism each rank holds all of attention.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/serving/engine_step.hpp"

namespace floplan::serving {

struct MemoryOptions {
  double usable = 0.95;
  double runtime_bytes = 2.5 * 1073741824;  // of one accelerator
  double tokens_a_step = 8192;              // the most, for activations; of a rank
};

// Bytes of one accelerator, unless said otherwise.
struct ServingMemory {
  Bytes weights;
  Bytes runtime;
  Bytes activations;
  Bytes capacity;
  Bytes room;            // for the cache; negative where the weights alone do not fit
  Bytes a_token;         // of cache, in all layers, before any window is full
  Bytes a_sequence;      // of cache, of a whole request
  double sequences = 0;  // of the replica that fit, not rounded; 0 where the weights do not fit

  [[nodiscard]] Bytes needed() const { return weights + runtime + activations + a_sequence; }
  [[nodiscard]] bool fits() const { return sequences >= 1; }
  [[nodiscard]] std::string describe() const {
    return "an accelerator needs " + print(weights, 4) + " of weights, " + print(runtime + activations, 3) +
           " of runtime and activations and " + print(a_sequence, 3) + " of cache for one request, and has " +
           print(capacity, 4);
  }
};

[[nodiscard]] inline double cached_bytes(const ServedModel& m, const NumberFormats& f, double tokens) {
  return m.cache_width * f.cache_bytes * (m.global_layers * tokens + m.local_layers() * std::min(tokens, m.window));
}

[[nodiscard]] inline Bytes weight_bytes_of_one(const ServedModel& m, const Cut& cut, const NumberFormats& f) {
  constexpr double sixteen_bits = 2;
  const double s = cut.weights();
  return Bytes(f.weight_bytes * ((m.attention + m.feed_forward) / s + m.experts / cut.accelerators) +
               sixteen_bits * (m.tables / s + m.other));
}

[[nodiscard]] inline ServingMemory serving_memory(const ServedModel& m, const Device& d, const Cut& cut,
                                                  const NumberFormats& f, const RequestTokens& r,
                                                  const MemoryOptions& o = {}) {
  ServingMemory out;
  const double s = cut.weights();
  out.weights = weight_bytes_of_one(m, cut, f);
  out.runtime = Bytes(o.runtime_bytes);
  const double dense_layers = m.layers - m.expert_layers;
  const double block = dense_layers > 0 ? m.inner_width / dense_layers : 0;
  const double widest = std::max(block / s, m.expert_active * m.expert_width / (cut.attention_data_parallel ? 1 : s));
  constexpr double logits_rows = 256;  // worked on at a time
  out.activations = Bytes(o.tokens_a_step * 2 * (4 * m.width + 2 * widest) + logits_rows * 4 * m.vocabulary / s);
  out.capacity = Bytes(d.memory);
  out.room = (out.capacity - out.weights - out.runtime - out.activations) * o.usable;
  const double g = cut.cache(m);
  out.a_token = Bytes(m.cache_width * f.cache_bytes * m.layers / g);
  out.a_sequence = Bytes(cached_bytes(m, f, r.input + r.output) / g);
  out.sequences = std::max(0.0, out.room / out.a_sequence) * cut.ranks();
  return out;
}

}  // namespace floplan::serving
