// SPDX-License-Identifier: BSD-3-Clause
//
// How large are residuals, whatever a few rows do?
//
//   robust sd = median |r| / .6745        the standard deviation of Gaussian residuals (Huber 1981)
//
// Pitfall: a fit makes as many residuals small as it has free coefficients; those are left out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace floplan::fit::detail {

// The median of |r| over rows of positive weight, without the `skip` smallest, which a fit with as many free
// coefficients makes small by itself.
[[nodiscard]] inline double median_size(const std::vector<double>& residual, const double* weight, std::size_t skip) {
  std::vector<double> size;
  size.reserve(residual.size());
  for (std::size_t i = 0; i < residual.size(); ++i) {
    if (weight[i] > 0) size.push_back(std::abs(residual[i]));
  }
  if (size.size() <= skip) return 0;
  const std::size_t middle = skip + (size.size() - skip) / 2;
  std::nth_element(size.begin(), size.begin() + static_cast<std::ptrdiff_t>(middle), size.end());
  const double upper = size[middle];
  if ((size.size() - skip) % 2 == 1) return upper;
  return (upper + *std::max_element(size.begin(), size.begin() + static_cast<std::ptrdiff_t>(middle))) / 2;
}

// Median of |r| over .6745: the standard deviation of Gaussian residuals, whatever a few rows do.
[[nodiscard]] inline double robust_sd(const std::vector<double>& residual, const double* weight, std::size_t free) {
  return median_size(residual, weight, free) / 0.674489750196081743;
}

}  // namespace floplan::fit::detail
