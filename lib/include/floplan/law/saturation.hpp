// SPDX-License-Identifier: BSD-3-Clause
//
// A count whose effect begins late and wears off: the effective number of experts of routed models, and what is built like it.
//
//   1 / y = 1 / (x + 1 / (1/start - 1/maximum)) + 1 / maximum
//
//   y is `start` at x = 0 and goes to `maximum` as x grows; in between it is nearly x + start.
//
// Clark et al. 2022 (arXiv 2202.01169), equation 10, with x = E - 1 of E experts; Ludziejewski et al. 2025 (2502.05172),
// equation 4, the same; 2507.17702 with x the activation ratio.
//
// Holds: 0 < start < maximum and x >= 0; otherwise the result means nothing.
// Pitfall: a model without routing (E = 1) has `start` effective experts, 1.8 to 4.2 in the published laws, and not one.
#pragma once

namespace floplan::law {

template <class X, class Scalar>
[[nodiscard]] auto saturated(const X& x, const Scalar& start, const Scalar& maximum) {
  return 1.0 / (1.0 / (x + 1.0 / (1.0 / start - 1.0 / maximum)) + 1.0 / maximum);
}

}  // namespace floplan::law
