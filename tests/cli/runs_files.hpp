// SPDX-License-Identifier: BSD-3-Clause
//
// Files of training runs for tests of the command line: a sweep of four budgets around the best size of
// L = 1.72 + 480 / N^.35 + 2100 / D^.37, with a ripple in the place of noise, and rows that break it.
#pragma once

#include <cmath>
#include <sstream>
#include <string>

namespace runs_files {

inline std::string rows(double flop, double from, double to, int count) {
  std::ostringstream out;
  out.precision(12);
  for (int i = 0; i < count; ++i) {
    // 20 tokens a parameter are near the best.
    const double n = std::sqrt(flop / 120) * from * std::pow(to / from, static_cast<double>(i) / (count - 1));
    const double d = flop / (6 * n);
    const double loss = 1.72 + 480 / std::pow(n, 0.35) + 2100 / std::pow(d, 0.37);
    out << n << "," << d << "," << flop * (1 + 1e-4 * (i % 3)) << ","
        << loss * (1 + 0.0015 * std::sin(7.0 * i + flop / 1e18)) << "\n";
  }
  return out.str();
}

inline std::string sweep() {
  std::string out = "params,tokens,flops,loss\n";
  for (const double flop : {1e19, 6e19, 3e20, 1e21}) out += rows(flop, 0.2, 5, 9);
  return out;
}

// A budget of which only sizes above the best were run.
inline std::string edge() { return rows(3e21, 2.5, 12, 6); }

}  // namespace runs_files
