// SPDX-License-Identifier: BSD-3-Clause
//
// What a serving machine can hold, and what a cluster can train before a deadline.
//
//   most parameters   N <= accelerators x memory x usable / bytes a parameter
//   training budget   C = accelerators x dense peak x MFU x seconds
//
//   Llama 3.1 405B on 8 H100 of 80 GB: 811.7 GB of weights in BF16 do not fit into 576 GB, 405.9 GB in FP8 do.
//
// usable: the share of the memory that weights may take, nine tenths unless given. The rest is for the runtime, activations
// and the keys and values of at least a few sequences.
//
// Errors: usage for counts, peaks, shares or times that are not positive and finite; infeasible for a model that does not
// fit, with both sizes.
// Pitfall: a machine that just holds the weights serves few sequences at a time; and a mixture of experts must hold all of
// them, not those that one token uses. The deadline's FLOP are those of a cluster that never fails.
#pragma once

#include <string>

#include "floplan/catalog/records.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/optimum/compute_optimal.hpp"

namespace floplan::optimum {

// Weights over memory at which servers are usually run full (vLLM's gpu_memory_utilization is .9).
inline constexpr double usual_usable_memory = 0.9;

struct ServingMachine {
  std::string accelerator;  // its name, for messages
  Count accelerators{1};
  Bytes memory;  // of one
  catalog::Precision precision = catalog::Precision::bf16;
  Fraction usable{usual_usable_memory};

  [[nodiscard]] Bytes room() const { return memory * (accelerators.value * usable.value); }
  [[nodiscard]] Bytes weights(Parameters n) const { return Bytes(n.value * catalog::bytes_per_value(precision)); }
  [[nodiscard]] Parameters most_parameters() const {
    return Parameters(room().value / catalog::bytes_per_value(precision));
  }
  [[nodiscard]] std::string describe() const {
    return print(accelerators) + " " + accelerator + " in " + to_text(precision) + " (" + print(room(), 4) + ", " +
           print(usable) + " of their memory)";
  }
};

inline void check(const ServingMachine& m) {
  detail::require_positive(m.accelerators.value, "the accelerators that serve", print(m.accelerators));
  detail::require_positive(m.memory.value, "their memory", print(m.memory));
  detail::require_positive(m.usable.value, "the usable share of it", print(m.usable));
  if (m.usable.value <= 1) return;
  throw Error(Failure::usage, "out_of_range", "optimum",
              "the usable share of the memory must be at most 1, got " + print(m.usable));
}

// n: all parameters, those of every expert.
inline void require_fit(const ServingMachine& m, Parameters n) {
  if (m.weights(n) <= m.room()) return;
  throw Error(Failure::infeasible, "does_not_fit", "optimum",
              print(n, 4) + " parameters are " + print(m.weights(n), 4) + " and must fit on " + m.describe() + ", " +
                  print_number(m.weights(n) / m.room(), 3) + " times over");
}

struct Deadline {
  Count accelerators;
  FlopPerSecond peak;  // dense, of one
  Fraction mfu;
  Seconds duration;

  [[nodiscard]] Flop budget() const {
    detail::require_positive(accelerators.value, "the accelerators", print(accelerators));
    detail::require_positive(peak.value, "the peak", print(peak));
    detail::require_positive(duration.value, "the deadline", print(duration));
    if (!(mfu.value > 0 && mfu.value <= 1)) {
      throw Error(Failure::usage, "out_of_range", "optimum",
                  "the MFU must be above 0 and at most 1, got " + print(mfu));
    }
    return Flop(accelerators.value * peak.value * mfu.value * duration.value);
  }
};

}  // namespace floplan::optimum
