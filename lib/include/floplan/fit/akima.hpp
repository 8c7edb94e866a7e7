// SPDX-License-Identifier: BSD-3-Clause
//
// A curve through points that does not swing where one point is off: Akima's interpolation, and its lowest point.
//
//   between x_i and x_{i+1} the cubic with the values y_i, y_{i+1} and the slopes t_i, t_{i+1} at its ends
//   m_i = (y_{i+1} - y_i) / (x_{i+1} - x_i)
//   t_i = (|m_{i+1} - m_i| m_{i-1} + |m_{i-1} - m_{i-2}| m_i) / (|m_{i+1} - m_i| + |m_{i-1} - m_{i-2}|)
//   and (m_{i-1} + m_i) / 2 where both weights vanish; two slopes beyond each end continue m linearly.
//
// Source: Akima 1970, "A new method of interpolation and smooth curve fitting based on local procedures", J. ACM 17.
// Holds: at least two points, x strictly rising; two points give a straight line. Cost: linear in the points.
// The lowest point is exact: the roots of each cubic's derivative are compared with the points themselves. A grid gives
// the answer of analyses that searched on one (Porian 2024: 25 points an interval).
//
// Pitfall: it passes through every point, so the noise of the lowest run moves the minimum; bootstrap it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::fit {

class Akima {
 public:
  struct Point {
    double x = 0;
    double y = 0;
    bool at_end = false;  // the lowest point is the first or the last of all
  };

  Akima(std::vector<double> x, std::vector<double> y) : x_(std::move(x)), y_(std::move(y)) {
    if (x_.size() != y_.size() || x_.size() < 2) {
      throw Error(Failure::usage, "too_few_points", "akima",
                  "needs as many y as x and at least two points, got " + std::to_string(x_.size()) + " x and " +
                      std::to_string(y_.size()) + " y");
    }
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (!std::isfinite(x_[i]) || !std::isfinite(y_[i]) || (i > 0 && !(x_[i] > x_[i - 1]))) {
        throw Error(Failure::usage, "out_of_range", "akima",
                    "x must rise strictly and all be finite, got x = " + print_number(x_[i], 6) +
                        ", y = " + print_number(y_[i], 6) + " at point " + std::to_string(i + 1));
      }
    }
    set_slopes();
  }

  [[nodiscard]] const std::vector<double>& slopes() const { return slope_; }

  // Beyond the ends, the cubic of the end interval goes on.
  [[nodiscard]] double operator()(double x) const {
    const auto above = std::upper_bound(x_.begin() + 1, x_.end() - 1, x);
    return in_interval(static_cast<std::size_t>(above - x_.begin()) - 1, x);
  }

  [[nodiscard]] Point lowest() const {
    Point best{x_[0], y_[0], true};
    const auto take = [&](double x, double y, bool at_end) {
      if (y < best.y) best = {x, y, at_end};
    };
    for (std::size_t i = 0; i + 1 < x_.size(); ++i) {
      for (const double s : turning_points(i)) {
        if (s > 0 && s < x_[i + 1] - x_[i]) take(x_[i] + s, in_interval(i, x_[i] + s), false);
      }
      take(x_[i + 1], y_[i + 1], i + 2 == x_.size());
    }
    return best;
  }

  // The lowest of (points - 1) per_interval evenly spaced x, both ends among them.
  [[nodiscard]] Point lowest_on_grid(std::size_t per_interval) const {
    const std::size_t count = std::max<std::size_t>(2, (x_.size() - 1) * per_interval);
    Point best{x_[0], y_[0], true};
    for (std::size_t i = 1; i < count; ++i) {
      const bool last = i + 1 == count;
      const double share = static_cast<double>(i) / static_cast<double>(count - 1);
      const double x = last ? x_.back() : x_.front() + share * (x_.back() - x_.front());
      const double y = (*this)(x);
      if (y < best.y) best = {x, y, last};
    }
    return best;
  }

 private:
  struct Cubic {
    double linear, square, cube;  // y_i + s (linear + s (square + s cube))
  };
  [[nodiscard]] Cubic cubic(std::size_t i) const {
    const double h = x_[i + 1] - x_[i];
    const double m = (y_[i + 1] - y_[i]) / h;
    return {slope_[i], (3 * m - 2 * slope_[i] - slope_[i + 1]) / h, (slope_[i] + slope_[i + 1] - 2 * m) / (h * h)};
  }
  [[nodiscard]] double in_interval(std::size_t i, double x) const {
    const Cubic c = cubic(i);
    const double s = x - x_[i];
    return y_[i] + s * (c.linear + s * (c.square + s * c.cube));
  }
  // Roots of linear + 2 square s + 3 cube s^2, without the cancellation of the school formula; nan where there is none.
  [[nodiscard]] std::array<double, 2> turning_points(std::size_t i) const {
    const Cubic c = cubic(i);
    const double root = std::sqrt(c.square * c.square - 3 * c.cube * c.linear);
    const double q = -(c.square + std::copysign(root, c.square));
    return {q / (3 * c.cube), c.linear / q};
  }

  void set_slopes() {
    const std::size_t n = x_.size();
    std::vector<double> m(n + 3);  // m[i + 2] is the slope of interval i
    for (std::size_t i = 0; i + 1 < n; ++i) m[i + 2] = (y_[i + 1] - y_[i]) / (x_[i + 1] - x_[i]);
    slope_.assign(n, m[2]);
    if (n == 2) return;
    m[1] = 2 * m[2] - m[3];
    m[0] = 2 * m[1] - m[2];
    m[n + 1] = 2 * m[n] - m[n - 1];
    m[n + 2] = 2 * m[n + 1] - m[n];
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      largest = std::max(largest, std::abs(m[i + 3] - m[i + 2]) + std::abs(m[i + 1] - m[i]));
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double left = std::abs(m[i + 3] - m[i + 2]);
      const double right = std::abs(m[i + 1] - m[i]);
      // Weights that are rounding alone say nothing: on a straight stretch both are.
      slope_[i] = left + right > 1e-9 * largest ? (left * m[i + 1] + right * m[i + 2]) / (left + right)
                                                : (m[i + 1] + m[i + 2]) / 2;
    }
  }

  std::vector<double> x_, y_, slope_;
};

}  // namespace floplan::fit
