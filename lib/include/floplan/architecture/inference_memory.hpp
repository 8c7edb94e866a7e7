// SPDX-License-Identifier: BSD-3-Clause
//
// How many accelerators hold a model's weights for inference.
//
//   weights = N x bytes a weight          (2 BF16, 1 FP8)
//   accelerators = ceil(weights / (capacity x usable))
//
//   accelerators_to_hold(Parameters(405853388800), 2, Bytes(80e9))   11: 811.7 GB; at 1 byte 405.9 GB and 6
//
// Source: sizes of Llama 3.1 405B's stored checkpoints (model card). kv_cache.hpp counts what generation adds.
// Holds: weights cut evenly. Pitfall: tensor parallelism wants a divisor of the heads, so a node of 8 where 6 would do; and a
// mixture of experts must hold all of its parameters, not the active ones.
#pragma once

#include <cmath>
#include <string>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::architecture {

[[nodiscard]] inline Bytes weight_bytes(Parameters n, double bytes_per_weight = 2) {
  return Bytes(n.value * bytes_per_weight);
}

// usable: the share of a device's memory that weights may take, above 0 and at most 1.
[[nodiscard]] inline Count accelerators_to_hold(Parameters n, double bytes_per_weight, Bytes capacity,
                                                Fraction usable = Fraction(1)) {
  const auto require = [](bool holds, const char* rule, const std::string& got) {
    if (!holds) throw Error(Failure::usage, "out_of_range", "accelerators_to_hold", rule + (", got " + got));
  };
  const auto positive = [](double x) { return x > 0 && std::isfinite(x); };
  require(positive(n.value), "parameters must be positive and finite", print(n));
  require(positive(bytes_per_weight), "bytes a weight must be positive and finite", print_number(bytes_per_weight));
  require(positive(capacity.value), "capacity must be positive and finite", print(capacity));
  require(positive(usable.value) && usable.value <= 1, "usable share must be above 0 and at most 1", print(usable));
  return Count(std::ceil(weight_bytes(n, bytes_per_weight) / (capacity * usable.value)));
}

}  // namespace floplan::architecture
