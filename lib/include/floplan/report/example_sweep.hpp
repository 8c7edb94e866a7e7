// SPDX-License-Identifier: BSD-3-Clause
//
// A SIMULATED sweep of training runs, to try `fit` and `isoflop` on: no model was trained for it.
//
//   L = (1.72 + 480 / N^0.35 + 2100 / D^0.37) exp(0.004 z)         nats/token, z standard normal
//
//   budgets   1e18, 3e18, 1e19, 3e19, 1e20, 3e20, 1e21 FLOP with nine sizes each from a fifth to five times the best N,
//             and 3e21 FLOP with five sizes that all lie below it, as a sweep ends when the machine is taken away
//   N         rounded to three digits; D = C / (6 N) to the token; L to four decimals, as a log prints it
//   z         number i of RandomStream(2203) for run i, by the inverse of the normal distribution
//
// The law is between published ones (Hoffmann et al. 2022, Besiroglu et al. 2024) and is none of them.
//
// Pitfall: noise here is Gaussian and the form is right by construction. Real runs have neither promise; what an interval
// is worth on them is for held-out runs to say.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "floplan/core/random.hpp"
#include "floplan/fit/allocation.hpp"
#include "floplan/fit/detail/normal.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::report {

inline constexpr law::Chinchilla<double> example_law{1.72, 480, 2100, 0.35, 0.37};
inline constexpr double example_noise = 0.004;  // sd of ln L
inline constexpr std::array<double, 8> example_budgets{1e18, 3e18, 1e19, 3e19, 1e20, 3e20, 1e21, 3e21};

// Observation::group is the index of the run's budget.
[[nodiscard]] inline std::vector<runs::Observation> example_sweep() {
  std::vector<runs::Observation> out;
  RandomStream random(2203);
  int group = 0;
  for (const double flop : example_budgets) {
    const double best = fit::allocation(example_law).parameters(Flop(flop)).value;
    const bool cut_short = flop > 2e21;
    const int sizes = cut_short ? 5 : 9;
    const double low = std::log(0.2), high = std::log(cut_short ? 0.8 : 5.0);
    for (int i = 0; i < sizes; ++i) {
      const double exact = best * std::exp(low + (high - low) * i / (sizes - 1));
      const double unit = std::pow(10.0, std::floor(std::log10(exact)) - 2);
      const double n = std::round(exact / unit) * unit;
      const double d = std::round(flop / (6 * n));
      const double z = fit::detail::normal_quantile(random.uniform());
      const double loss = example_law.loss(n, d) * std::exp(example_noise * z);
      out.push_back({n, d, std::round(loss * 1e4) / 1e4, 1.0, group});
    }
    ++group;
  }
  return out;
}

[[nodiscard]] inline double example_budget(const runs::Observation& run) {
  return example_budgets[static_cast<std::size_t>(run.group)];
}

}  // namespace floplan::report
