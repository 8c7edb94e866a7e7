// SPDX-License-Identifier: BSD-3-Clause
//
// The distribution of a result over many runs, in memory that does not grow with their number.
//
//   RunSummary days;   for (...) days.add(x);   days.mean(), days.standard_error(), days.quantile(0.9), days.at_most(90)
//
// Mean and standard deviation are exact (Welford 1962). Quantiles are those of the sorted values (R's type 7) up to 2^16 of
// them; from then on they are counted in 2^14 cells of equal width, that double whenever a value falls outside, and a
// quantile or a probability is right to one cell: `resolution()`, at most 1/2^12 of the range of the values that were seen.
// What comes out depends on the order of the values alone: add them in the order of the runs.
//
// Cost: 128 KiB, then 640 KiB at the first counting; some 10 ns a value.
// Holds: finite values. Pitfall: the standard error of the deviation takes the sample's own fourth moment; with fewer than a
// hundred values of a long tail it is too small.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "floplan/core/distribution.hpp"

namespace floplan::reliability {

class RunSummary {
 public:
  static constexpr std::size_t kept = std::size_t{1} << 16;
  static constexpr std::size_t cells = std::size_t{1} << 14;

  void add(double x) {
    if (!std::isfinite(x))
      throw Error(Failure::no_answer, "not_finite", "RunSummary",
                  "every value must be finite, got " + std::to_string(x));
    ++count_;
    const double n = static_cast<double>(count_);
    const double step = x - mean_;
    const double part = step / n;
    const double square = step * part * (n - 1);
    mean_ += part;
    fourth_ += square * part * part * (n * n - 3 * n + 3) + 6 * part * part * squares_ - 4 * part * cubes_;
    cubes_ += square * part * (n - 2) - 3 * part * squares_;
    squares_ += square;
    least_ = count_ == 1 ? x : std::min(least_, x);
    most_ = count_ == 1 ? x : std::max(most_, x);
    if (counted_.empty()) {
      values_.push_back(x);
      if (values_.size() > kept) start_counting();
    } else {
      tally(x);
    }
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double most() const { return most_; }
  [[nodiscard]] double standard_deviation() const {
    return count_ > 1 ? std::sqrt(squares_ / static_cast<double>(count_ - 1)) : 0;
  }
  [[nodiscard]] double standard_error() const {
    return count_ > 0 ? standard_deviation() / std::sqrt(static_cast<double>(count_)) : 0;
  }
  // Of the standard deviation.
  [[nodiscard]] double deviation_error() const {
    const double n = static_cast<double>(count_);
    const double variance = squares_ / n;
    return variance > 0 ? std::sqrt(std::max(0.0, fourth_ / n - variance * variance) / n) / (2 * std::sqrt(variance))
                        : 0;
  }
  // Zero: quantiles are those of the values themselves.
  [[nodiscard]] double resolution() const { return counted_.empty() ? 0 : width_; }

  [[nodiscard]] double quantile(double p) const {
    if (counted_.empty()) {
      std::vector<double> sorted = values_;
      std::sort(sorted.begin(), sorted.end());
      return quantile_of_sorted(sorted, p);
    }
    const double position = std::clamp(p, 0.0, 1.0) * static_cast<double>(count_ - 1) + 0.5;
    double before = 0;
    for (std::size_t i = 0; i < cells; ++i) {
      const double here = static_cast<double>(counted_[i]);
      if (before + here >= position && here > 0) {
        return std::clamp(low_ + width_ * (static_cast<double>(i) + (position - before) / here), least_, most_);
      }
      before += here;
    }
    return most_;
  }

  // Share of the values that are at most x.
  [[nodiscard]] double at_most(double x) const {
    const double n = static_cast<double>(count_);
    if (count_ == 0 || x < least_) return 0;
    if (x >= most_) return 1;
    double below = 0;
    if (counted_.empty()) {
      for (const double v : values_) below += v <= x ? 1 : 0;
      return below / n;
    }
    const double position = (x - low_) / width_;
    const std::size_t cell = std::min(cells - 1, static_cast<std::size_t>(position));
    for (std::size_t i = 0; i < cell; ++i) below += static_cast<double>(counted_[i]);
    return (below + (position - static_cast<double>(cell)) * static_cast<double>(counted_[cell])) / n;
  }

  [[nodiscard]] Distribution distribution() const {
    if (count_ == 0) throw Error(Failure::usage, "no_draws", "RunSummary", "needs at least one value, got none");
    if (counted_.empty()) {
      Distribution out = summarise(values_);
      out.mean = mean_;
      out.standard_deviation = standard_deviation();
      return out;
    }
    return {mean_,          standard_deviation(), quantile(0.05), quantile(0.10),
            quantile(0.50), quantile(0.90),       quantile(0.95)};
  }

 private:
  void start_counting() {
    // The range so far in the middle half, so that it seldom has to double at once.
    const double range = std::max(most_ - least_, 1e-12 * std::max(std::abs(most_), std::abs(least_)) + 1e-300);
    low_ = least_ - range / 2;
    width_ = 2 * range / static_cast<double>(cells);
    counted_.assign(cells, 0);
    for (const double v : values_) tally(v);
    values_.clear();
    values_.shrink_to_fit();
  }
  void tally(double x) {
    while (x < low_ || x >= low_ + width_ * static_cast<double>(cells)) widen(x < low_);
    ++counted_[std::min(cells - 1, static_cast<std::size_t>((x - low_) / width_))];
  }
  // Twice the range: cells join in pairs, and the new half is on the side that was too short.
  void widen(bool downwards) {
    std::vector<std::uint64_t> wider(cells, 0);
    const std::size_t shift = downwards ? cells / 2 : 0;
    for (std::size_t i = 0; i < cells; ++i) wider[shift + i / 2] += counted_[i];
    if (downwards) low_ -= width_ * static_cast<double>(cells);
    width_ *= 2;
    counted_ = std::move(wider);
  }

  std::size_t count_ = 0;
  double mean_ = 0, squares_ = 0, cubes_ = 0, fourth_ = 0;
  double least_ = 0, most_ = 0;
  std::vector<double> values_;
  std::vector<std::uint64_t> counted_;
  double low_ = 0, width_ = 0;
};

}  // namespace floplan::reliability
