// SPDX-License-Identifier: BSD-3-Clause
//
// Mean and standard deviation of a sample with the standard error of each; the error of the deviation takes the
// sample's own kurtosis, so that skewed samples are not judged as if they were normal.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

struct Moments {
  double mean = 0;
  double standard_deviation = 0;
  double mean_error = 0;
  double deviation_error = 0;
};

[[nodiscard]] inline Moments moments(const std::vector<double>& sample) {
  const double n = static_cast<double>(sample.size());
  double sum = 0;
  for (const double x : sample) sum += x;
  const double mean = sum / n;
  double second = 0;
  double fourth = 0;
  for (const double x : sample) {
    const double square = (x - mean) * (x - mean);
    second += square;
    fourth += square * square;
  }
  const double variance = second / (n - 1);
  const double deviation = std::sqrt(variance);
  const double excess = fourth / n - variance * variance;
  return {mean, deviation, deviation / std::sqrt(n), std::sqrt(std::max(0.0, excess) / n) / (2 * deviation)};
}
