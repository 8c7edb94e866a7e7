// SPDX-License-Identifier: BSD-3-Clause
//
// Two times that overlap, but not perfectly: how long both take together.
//
//   smooth_max6(x, y)   = (x^6 + y^6)^(1/6)         a kernel bound by arithmetic and by memory: 12% over the larger at x = y
//   smooth_max(x, y, p) = (x^p + y^p)^(1/p)         the same with a power of its own
//   soft_excess(x, w)   = w ln(1 + exp(x / w))      max(0, x) with a knee of width w
//
// Source: ours. The knee makes a step time differentiable in the efficiencies, which calibration needs, and it is what is
// measured: a kernel near its ridge, or a host near its limit, is slower than the larger of the two alone.
// Holds: arguments of at least zero. Scalars: double, or a type of dual numbers with pow, exp and log1p.
// Pitfall: powers are taken of the ratio and never of the times, which would underflow.
#pragma once

#include <cmath>

namespace floplan::cluster {

template <class T>
[[nodiscard]] T smooth_max6(const T& x, const T& y) {
  using std::pow;
  const bool first = !(x < y);
  const T& larger = first ? x : y;
  const T& smaller = first ? y : x;
  if (!(smaller > larger * 1e-3)) return larger;  // 1e-18 of it and less
  const T ratio = smaller / larger;
  const T square = ratio * ratio;
  const T u = square * square * square;
  // The binomial series: the first term left out is below 1e-17. Most products are here, and roots are half their cost.
  if (ratio < 0.3) return larger * (1.0 + u * (1.0 / 6 - u * (5.0 / 72 - u * (55.0 / 1296 - u * (935.0 / 31104)))));
  return larger * pow(1.0 + u, 1.0 / 6);
}

template <class T>
[[nodiscard]] T smooth_max(const T& x, const T& y, double power) {
  using std::pow;
  const bool first = !(x < y);
  const T& larger = first ? x : y;
  const T& smaller = first ? y : x;
  if (!(smaller > 0.0)) return larger;
  return larger * pow(1.0 + pow(smaller / larger, power), 1 / power);
}

template <class T>
[[nodiscard]] T soft_excess(const T& x, const T& width) {
  using std::exp;
  using std::log1p;
  if (!(width > 0.0)) return x > 0.0 ? x : T(0.0);
  const T scaled = x / width;
  if (scaled > 40.0) return x;
  return width * log1p(exp(scaled));
}

}  // namespace floplan::cluster
