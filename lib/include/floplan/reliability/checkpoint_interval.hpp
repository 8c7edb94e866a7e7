// SPDX-License-Identifier: BSD-3-Clause
//
// How long to work between two checkpoints, for the shortest expected run.
//
//   young   tau = sqrt(2 d M)                                                          Young 1974
//   daly    tau = sqrt(2 d M) [1 + sqrt(d / 2M) / 3 + (d / 2M) / 9] - d if d < 2M, else M   Daly 2006, equation 37
//   exact   tau = M [1 + W0(-exp(-1 - d/M))]                                           minimum of Daly's exact run time
//
//   tau useful seconds between checkpoints, d seconds that writing one stops the work, M mean time between failures.
//
// All three assume exponential failures and are independent of the restart time. The exact one solves
// x + ln(1 - x) + d/M = 0 for x = tau/M, which is the same equation as Lambert's W but keeps all digits as d/M goes to 0,
// where -exp(-1 - d/M) rounds into W's branch point.
// Holds: d, M positive. Pitfall: d is the stall that the job feels; an asynchronous write that overlaps training costs its
// snapshot only, however long it persists.
#pragma once

#include <algorithm>
#include <cmath>

#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/interruption_rate.hpp"

namespace floplan::reliability {

[[nodiscard]] inline Seconds young_interval(Seconds write, Seconds mtbf) {
  detail::require_positive(write.value, "young_interval", "write time", print(write));
  detail::require_positive(mtbf.value, "young_interval", "MTBF", print(mtbf));
  return Seconds(std::sqrt(2 * write.value * mtbf.value));
}

[[nodiscard]] inline Seconds daly_interval(Seconds write, Seconds mtbf) {
  const double young = young_interval(write, mtbf).value;
  if (write.value >= 2 * mtbf.value) return mtbf;
  const double ratio = write.value / (2 * mtbf.value);
  return Seconds(young * (1 + std::sqrt(ratio) / 3 + ratio / 9) - write.value);
}

namespace detail {
// x + ln(1 - x) for 0 <= x < 1; the series below 0.1, where the two cancel.
[[nodiscard]] inline double x_plus_log_complement(double x) {
  if (x > 0.1) return x + std::log1p(-x);
  double sum = 0;
  double power = x * x;
  for (int k = 2; k < 20; ++k, power *= x) sum -= power / k;
  return sum;
}
}  // namespace detail

[[nodiscard]] inline Seconds exact_interval(Seconds write, Seconds mtbf) {
  const double delta = write.value / mtbf.value;
  // The left side is concave and falls from delta at 0 to minus infinity at 1. Both starting points lie right of the root
  // (Young's for any delta: x + ln(1 - x) < -x^2/2), so Newton comes down to it monotonely.
  double x = std::min(young_interval(write, mtbf) / mtbf, -std::expm1(-1 - delta));
  for (int i = 0; i < 60 && x < 1; ++i) {
    const double step = (detail::x_plus_log_complement(x) + delta) * (1 - x) / x;
    x += step;
    if (std::abs(step) <= 1e-16 * x) break;
  }
  return mtbf * x;
}

}  // namespace floplan::reliability
