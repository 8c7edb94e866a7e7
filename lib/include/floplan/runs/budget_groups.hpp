// SPDX-License-Identifier: BSD-3-Clause
//
// Which runs were made with one budget, when each spent a little more or less than it?
//
//   const BudgetGroups g = group_by_budget(flop, .2);   // g.groups[g.of_row[i]].flop is the budget of row i
//
// The values are sorted; a new group begins where the next one is more than (1 + gap) times the one before, so budgets
// within 20% of a neighbour are one by default. A group's budget is the median of its values (of an even count, the
// geometric mean of the middle two). Groups are numbered by ascending budget.
//
// Range: positive finite values; n log n. Pitfall: a chain of values, each a little larger than the last, is one group
// however long it is; `wide` tells of groups whose ends differ by more than a factor 1.5.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"

namespace floplan::runs {

struct Budget {
  double flop = 0;  // the nominal one: the median
  double low = 0;
  double high = 0;
  std::size_t rows = 0;

  [[nodiscard]] bool wide() const { return high > 1.5 * low; }
};

struct BudgetGroups {
  std::vector<Budget> groups;
  std::vector<int> of_row;
};

[[nodiscard]] inline BudgetGroups group_by_budget(std::span<const double> flop, double gap = 0.2) {
  if (!(gap >= 0) || !std::isfinite(gap)) {
    throw Error(Failure::usage, "bad_gap", "group_by_budget",
                "gap must be a fraction of at least 0, got " + std::to_string(gap));
  }
  std::vector<std::size_t> order(flop.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (const double value : flop) {
    if (!(value > 0) || !std::isfinite(value)) {
      throw Error(Failure::usage, "bad_budget", "group_by_budget",
                  "budgets must be positive and finite, got " + std::to_string(value) + " FLOP");
    }
  }
  std::stable_sort(order.begin(), order.end(), [flop](std::size_t a, std::size_t b) { return flop[a] < flop[b]; });
  BudgetGroups out;
  out.of_row.resize(flop.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && flop[order[end]] <= (1 + gap) * flop[order[end - 1]]) ++end;
    const std::size_t rows = end - begin;
    const double upper = flop[order[begin + rows / 2]];
    const double lower = flop[order[begin + (rows - 1) / 2]];
    // Equal values keep their bits: sqrt(x * x) may not, and overflows.
    const double median = lower == upper ? lower : lower * std::sqrt(upper / lower);
    for (std::size_t i = begin; i < end; ++i) out.of_row[order[i]] = static_cast<int>(out.groups.size());
    out.groups.push_back({median, flop[order[begin]], flop[order[end - 1]], rows});
    begin = end;
  }
  return out;
}

}  // namespace floplan::runs
