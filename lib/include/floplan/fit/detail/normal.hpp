// SPDX-License-Identifier: BSD-3-Clause
//
// The standard normal distribution: probability and quantile.
//
//   Phi(z) = erfc(-z / sqrt 2) / 2,   Phi^-1(p) = -sqrt 2 erfc^-1(2 p)
//
// Holds: p strictly between 0 and 1. Boost.Math's inverse is good to the last digits.
// Pitfall: Phi of a large positive z rounds to 1; take the other tail there.
#pragma once

#include <boost/math/special_functions/erf.hpp>
#include <cmath>

namespace floplan::fit::detail {

[[nodiscard]] inline double normal_probability(double z) { return std::erfc(-z / 1.4142135623730951) / 2; }
[[nodiscard]] inline double normal_quantile(double p) { return -1.4142135623730951 * boost::math::erfc_inv(2 * p); }

}  // namespace floplan::fit::detail
