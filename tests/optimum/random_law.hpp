// SPDX-License-Identifier: BSD-3-Clause
//
// Laws of the Chinchilla form, over everything that papers have printed and somewhat more.
#pragma once

#include <cmath>

#include "floplan/core/random.hpp"
#include "floplan/law/chinchilla.hpp"

namespace random_law {

inline floplan::law::Chinchilla<double> draw(floplan::RandomStream& random) {
  const auto between = [&random](double low, double high) { return low * std::pow(high / low, random.uniform()); };
  return {between(0.3, 3), between(1, 1e6), between(1, 1e6), between(0.05, 1), between(0.05, 1)};
}

}  // namespace random_law
