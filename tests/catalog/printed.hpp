// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a count is the one that a source prints, given the digits that it prints.
//
//   printed::agrees(12879925248, 12.9e9)     a figure of three digits
//   printed::agrees(8030261248, 8030261248)  a figure to the last parameter
//
// A figure with six zeros or more at its end is rounded to its last other digit, or to the billion: 280e9 stands for 280
// billion, not for 28 times ten. Any other figure is exact.
#pragma once

#include <cmath>

namespace printed {

// Of the last digit that is printed; 1 for an exact figure.
inline double unit(double figure) {
  double out = 1;
  while (out < 1e9 && std::fmod(figure, 10 * out) == 0) out *= 10;
  return out < 1e6 ? 1 : out;
}

inline bool agrees(double count, double figure) {
  const double digit = unit(figure);
  return digit == 1 ? count == figure : std::abs(count - figure) <= digit / 2;
}

}  // namespace printed
