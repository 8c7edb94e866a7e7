// SPDX-License-Identifier: BSD-3-Clause
//
// How a model and its batch are cut over accelerators.
//
//   accelerators = tensor x context x pipeline x data     (EP x ETP, of experts alone, lies inside tensor x context x data)
//
//   TP cuts each matrix, CP the sequence, PP the layers into stages, DP the batch; EP spreads the experts of a layer. A
//   stage may hold `interleave` chunks of layers (virtual pipeline), each worked in turn.
//
// Source: Narayanan 2021 (arXiv 2104.04473); Korthikanti 2022 (2205.05198) for sequence parallelism; Rajbhandari 2020
// (1910.02054) for ZeRO.
// Pitfall: DP is what remains when the others are chosen; a global batch must be a multiple of DP x microbatch.
#pragma once

#include <cstdint>

#include "floplan/core/quantity.hpp"

namespace floplan::architecture {

struct Layout {
  std::int64_t tensor = 1;      // TP
  std::int64_t context = 1;     // CP
  std::int64_t pipeline = 1;    // PP
  std::int64_t data = 1;        // DP
  std::int64_t expert = 1;      // EP
  std::int64_t interleave = 1;  // VP, chunks of layers a stage
  // ETP, ranks over which the matrices of one expert are cut; 0: TP where EP is 1, and not at all where experts are spread.
  std::int64_t expert_tensor = 0;

  [[nodiscard]] std::int64_t expert_tensor_ranks() const {
    return expert_tensor > 0 ? expert_tensor : expert == 1 ? tensor : 1;
  }
  // A product of any four degrees: as whole as a double holds, and never an overflow.
  [[nodiscard]] Count accelerators() const {
    return Count(static_cast<double>(tensor) * static_cast<double>(context) * static_cast<double>(pipeline) *
                 static_cast<double>(data));
  }
  friend bool operator==(const Layout&, const Layout&) = default;
};

// What data parallel ranks do not each keep whole, leanest last: nothing; optimizer state (a distributed optimizer);
// gradients too; weights too (FSDP), gathered once a microbatch and whole until its backward pass, or gathered twice.
enum class Sharding { none, zero1, zero2, zero3_no_reshard, zero3 };

[[nodiscard]] constexpr bool shards_weights(Sharding s) { return s >= Sharding::zero3_no_reshard; }

// What the backward pass computes again. selective: the attention core (scores and their product with values); full: each
// layer's forward pass. The output head is never recomputed.
enum class Recompute { none, selective, full };

}  // namespace floplan::architecture
