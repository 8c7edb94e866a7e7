// SPDX-License-Identifier: BSD-3-Clause
//
// Comparison by relative error alone: CHECK(found == near(expected, 1e-12)). A plain doctest::Approx adds 1 to the
// magnitude, so that anything is close to anything once both are small.
#pragma once

#include <cmath>
#include <ostream>

struct Near {
  double expected;
  double relative;

  friend bool operator==(double found, const Near& n) {
    return std::abs(found - n.expected) <= n.relative * std::abs(n.expected);
  }
  friend std::ostream& operator<<(std::ostream& out, const Near& n) {
    const auto digits = out.precision(17);
    out << n.expected << " to " << n.relative << " relative";
    out.precision(digits);
    return out;
  }
};

[[nodiscard]] inline Near near(double expected, double relative) { return {expected, relative}; }
