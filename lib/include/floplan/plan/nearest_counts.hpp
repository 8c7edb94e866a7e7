// SPDX-License-Identifier: BSD-3-Clause
//
// How many accelerators a layout can use, where the number asked for is none of them.
//
//   nearest_counts(100000, 128, 2048)        65536 (DP 512) and 131072 (DP 1024)
//   nearest_counts(100000, 128, {})          99968 (DP 781) and 100096 (DP 782)
//
//   count = group x DP, DP whole, and batch / (DP x microbatch) whole where the batch is known
//   group = TP x CP x PP, what one data-parallel rank takes
//
// Source: the definition of a layout (architecture/layout.hpp). Cost: the square root of the batch.
// Pitfall: another batch allows other counts, and changes the training; that is for whoever trains to weigh.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::plan {

struct NearestCounts {
  std::int64_t group = 1;
  std::optional<std::int64_t> below, above;  // data-parallel degrees

  // "; the nearest: 65536 (DP 512) and 131072 (DP 1024)"; empty where there is none.
  [[nodiscard]] std::string describe() const {
    std::string out;
    for (const auto& dp : {below, above}) {
      if (!dp) continue;
      out += (out.empty() ? "; the nearest: " : " and ") +
             print_short(Count(static_cast<double>(group) * static_cast<double>(*dp))) + " (DP " + std::to_string(*dp) +
             ")";
    }
    return out;
  }
};

// count, group and microbatch positive; batch in sequences.
[[nodiscard]] inline NearestCounts nearest_counts(double count, std::int64_t group, std::optional<double> batch,
                                                  std::int64_t microbatch = 1) {
  NearestCounts out{group, {}, {}};
  const double wanted = count / static_cast<double>(group);
  const auto consider = [&](std::int64_t dp) {
    const double degree = static_cast<double>(dp);
    if (degree <= wanted && dp >= out.below.value_or(1)) out.below = dp;
    if (degree >= wanted && (!out.above || dp < *out.above)) out.above = dp;
  };
  if (!batch) {
    if (wanted > 1e15) return out;
    if (wanted >= 1) consider(static_cast<std::int64_t>(std::floor(wanted)));
    consider(static_cast<std::int64_t>(std::ceil(wanted)));
    return out;
  }
  const double microbatches = *batch / static_cast<double>(microbatch);
  if (microbatches != std::floor(microbatches) || microbatches < 1 || microbatches > 1e12) return out;
  const auto all = static_cast<std::int64_t>(microbatches);
  for (std::int64_t i = 1; i <= all / i; ++i) {
    if (all % i != 0) continue;
    consider(i);
    consider(all / i);
  }
  return out;
}

}  // namespace floplan::plan
