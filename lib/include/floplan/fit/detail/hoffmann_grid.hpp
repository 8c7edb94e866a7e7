// SPDX-License-Identifier: BSD-3-Clause
//
// The 4,500 starts of Hoffmann et al. 2022 (section D.3): alpha, beta in {0, .5, 1, 1.5, 2}, e in {-1, -.5, 0, .5, 1},
// a, b in {0, 5, 10, 15, 20, 25}, where a, b, e are the logarithms of A, B, E with N and D in units of one.
//
// Pitfall: how many of them arrive says more about the optimiser than about the data: nine in ten by the descent of
// chinchilla_search.hpp, one in twelve by SciPy's L-BFGS-B with its defaults (240 rows of Besiroglu 2024). The grid is
// there to compare with published work, not to find anything.
#pragma once

#include <array>
#include <vector>

#include "floplan/fit/detail/chinchilla_kernel.hpp"

namespace floplan::fit::detail {

// a, b, e, alpha, beta, not centred.
[[nodiscard]] inline std::vector<Theta> hoffmann_grid() {
  constexpr std::array<double, 5> exponents = {0, 0.5, 1, 1.5, 2};
  constexpr std::array<double, 5> levels = {-1, -0.5, 0, 0.5, 1};
  constexpr std::array<double, 6> logs = {0, 5, 10, 15, 20, 25};
  std::vector<Theta> out;
  out.reserve(4500);
  for (const double alpha : exponents) {
    for (const double beta : exponents) {
      for (const double e : levels) {
        for (const double a : logs) {
          for (const double b : logs) out.push_back({a, b, e, alpha, beta});
        }
      }
    }
  }
  return out;
}

}  // namespace floplan::fit::detail
