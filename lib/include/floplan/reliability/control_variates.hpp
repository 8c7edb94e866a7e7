// SPDX-License-Identifier: BSD-3-Clause
//
// A sharper mean of a simulation, from sums whose expectation is known to be zero.
//
//   ControlVariates<5> v;   v.add(y, z);   v.mean()  =  mean(y) - b . mean(z),   b = Cov(z)^-1 Cov(z, y)
//
// The runs that happened to have more failures than their running time deserves are longer than the average run; regressing
// that out leaves the mean unbiased (to order 1/n) and its standard error smaller by sqrt(1 - R^2). `gain()` is how many
// times more plain runs would be needed for the same error.
// Source: Glasserman, Monte Carlo Methods in Financial Engineering (2003), 4.1. Cost: N^2/2 additions a run, one solve.
// Holds: at least a few dozen runs a control; fewer than N + 3 answer with the plain mean.
// Pitfall: it sharpens the mean alone; spread and quantiles are those of the plain runs.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

#include <Eigen/Dense>

namespace floplan::reliability {

template <int N>
class ControlVariates {
 public:
  void add(double y, const std::array<double, N>& z) {
    ++count_;
    Eigen::Matrix<double, N + 1, 1> x;
    for (int i = 0; i < N; ++i) x[i] = z[static_cast<std::size_t>(i)];
    x[N] = y;
    const Eigen::Matrix<double, N + 1, 1> step = x - mean_;
    mean_ += step / static_cast<double>(count_);
    products_ += step * (x - mean_).transpose();
  }

  [[nodiscard]] double mean() const { return mean_[N] - (enough() ? slopes().dot(mean_.template head<N>()) : 0); }
  [[nodiscard]] double standard_error() const {
    if (count_ < 2) return 0;
    const double n = static_cast<double>(count_);
    const double freedom = enough() ? n - 1 - N : n - 1;
    return std::sqrt(unexplained() / freedom / n);
  }
  [[nodiscard]] double gain() const {
    const double left = unexplained();
    return left > 0 ? products_(N, N) / left : 1;
  }

 private:
  [[nodiscard]] bool enough() const { return count_ > N + 3; }
  [[nodiscard]] Eigen::Matrix<double, N, 1> slopes() const {
    // A control may be zero throughout (no planned stops): the least-norm solution leaves it out.
    const Eigen::Matrix<double, N, N> zz = products_.template topLeftCorner<N, N>();
    const Eigen::Matrix<double, N, 1> zy = products_.template topRightCorner<N, 1>();
    Eigen::Matrix<double, N, 1> scale;
    for (int i = 0; i < N; ++i) scale[i] = zz(i, i) > 0 ? 1 / std::sqrt(zz(i, i)) : 0;
    const Eigen::Matrix<double, N, N> correlation = scale.asDiagonal() * zz * scale.asDiagonal();
    const Eigen::Matrix<double, N, 1> right = scale.cwiseProduct(zy);
    return scale.cwiseProduct(correlation.completeOrthogonalDecomposition().solve(right));
  }
  [[nodiscard]] double unexplained() const {
    if (!enough()) return products_(N, N);
    const Eigen::Matrix<double, N, 1> zy = products_.template topRightCorner<N, 1>();
    return std::max(0.0, products_(N, N) - slopes().dot(zy));
  }

  std::size_t count_ = 0;
  Eigen::Matrix<double, N + 1, 1> mean_ = Eigen::Matrix<double, N + 1, 1>::Zero();
  Eigen::Matrix<double, N + 1, N + 1> products_ = Eigen::Matrix<double, N + 1, N + 1>::Zero();
};

}  // namespace floplan::reliability
