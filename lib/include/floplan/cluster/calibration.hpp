// SPDX-License-Identifier: BSD-3-Clause
//
// Fitting the efficiencies of the step-time model to measured steps.
//
//   const Calibration fit = calibrate(measured);            fit.efficiencies, fit.values, fit.describe()
//   const Calibration without = calibrate(measured, options, rows_to_use)
//
//   minimise  sum over rows  w^2 rho((ln(predicted / measured) / 0.05)^2)  +  sum over values  ((value - mean) / deviation)^2
//     rho(z) = 2 (sqrt(1 + z) - 1)     soft L1: a row that is wrong for another reason pulls with a constant force
//     w = n^(-1/4)                     n rows of the row's publisher, whose share of the sum grows as sqrt(n)
//   each value stays inside its bounds by value = low + (high - low) / (1 + exp(-u)); Levenberg-Marquardt in u.
//
// The interval is a bootstrap over cells (a model on a part of a publisher), not over rows: releases repeat configurations.
// identified: the share of the prior's width that the curvature leaves: below 0.5 yes, below 0.8 weakly, else no.
//
// Source: Huber 1964 for the idea of the loss; the weights, priors and bounds are ours (efficiencies.hpp).
// Cost: 10 to 20 evaluations of each row a value; 1,700 rows with 12 values half a second, the bootstrap 100 times that.
// Pitfall: rows left out one by one are not held out, since a publisher's rows are near-copies: leave out publishers.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/cluster/efficiencies.hpp"
#include "floplan/cluster/measured_steps.hpp"
#include "floplan/cluster/step_terms.hpp"
#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/parallel_for.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/core/random.hpp"

namespace floplan::cluster {

struct CalibrationOptions {
  Efficiencies start{};        // values that are not fitted, and where the fit starts
  double loss_scale = 0.05;    // of ln(predicted / measured)
  double group_power = 0.25;   // w = n^-power
  std::size_t replicates = 0;  // of the bootstrap over cells; 0: no intervals but the curvature's
  double level = 0.9;
  std::uint64_t seed = 1;
  unsigned threads = 0;  // 0: all
  int iterations = 60;
};

struct CalibratedValue {
  std::string_view name;
  double value = 0;
  double low = 0, high = 0;  // of the bootstrap, or of the curvature where there was none
  double prior_mean = 0, prior_deviation = 0;
  double width_left = 1;  // curvature's deviation over the prior's
  bool at_bound = false;
  bool at_prior = false;  // within a tenth of the prior's deviation, and not identified
  [[nodiscard]] std::string_view identified() const {
    return width_left < 0.5 ? "yes" : width_left < 0.8 ? "weakly" : "no";
  }
};

struct Calibration {
  Efficiencies efficiencies{};
  std::vector<CalibratedValue> values;
  std::size_t rows = 0;
  double cost = 0;
  bool converged = false;
  int iterations = 0;

  [[nodiscard]] std::string describe() const {
    std::string unknown;
    for (const CalibratedValue& v : values) {
      if (v.width_left >= 0.8) unknown += (unknown.empty() ? "" : ", ") + std::string(v.name);
    }
    return std::to_string(values.size()) + " efficiencies from " + std::to_string(rows) + " rows" +
           (converged ? "" : ", not converged") + (unknown.empty() ? "" : "; not identified: " + unknown);
  }
};

namespace detail {

// Rows, with how much each counts.
struct CalibrationRow {
  const MeasuredStep* step = nullptr;
  double weight = 1;  // of its squared residual
};

class CalibrationProblem {
 public:
  CalibrationProblem(std::vector<CalibrationRow> rows, const CalibrationOptions& options)
      : rows_(std::move(rows)), options_(options) {}

  [[nodiscard]] static double value_of(const FittedEfficiency& f, double u) {
    return f.lowest + (f.highest - f.lowest) / (1 + std::exp(-u));
  }
  [[nodiscard]] static double position_of(const FittedEfficiency& f, double value) {
    const double share = std::clamp((value - f.lowest) / (f.highest - f.lowest), 1e-6, 1 - 1e-6);
    return std::log(share / (1 - share));
  }
  [[nodiscard]] Efficiencies at(const Eigen::VectorXd& u) const {
    Efficiencies e = options_.start;
    for (std::size_t i = 0; i < fitted_efficiencies().size(); ++i)
      e.*fitted_efficiencies()[i].member = value_of(fitted_efficiencies()[i], u[static_cast<Eigen::Index>(i)]);
    return e;
  }
  [[nodiscard]] Eigen::VectorXd start() const {
    Eigen::VectorXd u(static_cast<Eigen::Index>(fitted_efficiencies().size()));
    for (std::size_t i = 0; i < fitted_efficiencies().size(); ++i)
      u[static_cast<Eigen::Index>(i)] =
          position_of(fitted_efficiencies()[i], options_.start.*fitted_efficiencies()[i].member);
    return u;
  }
  [[nodiscard]] Eigen::VectorXd residuals(const Efficiencies& e) const {
    Eigen::VectorXd out(static_cast<Eigen::Index>(rows_.size()));
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const MeasuredStep& s = *rows_[i].step;
      out[static_cast<Eigen::Index>(i)] =
          std::log(step_terms(s.request, e).step / s.measured.value) / options_.loss_scale;
    }
    return out;
  }
  [[nodiscard]] double cost(const Eigen::VectorXd& r, const Efficiencies& e) const {
    double out = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      out +=
          rows_[i].weight * 2 * (std::sqrt(1 + r[static_cast<Eigen::Index>(i)] * r[static_cast<Eigen::Index>(i)]) - 1);
    for (const FittedEfficiency& f : fitted_efficiencies()) {
      const double z = (e.*f.member - f.prior_mean) / f.prior_deviation;
      out += z * z;
    }
    return out;
  }
  // Gradient and curvature of half the cost in u, each row's loss by its present slope.
  void normal(const Eigen::VectorXd& u, const Eigen::VectorXd& r, Eigen::VectorXd& gradient,
              Eigen::MatrixXd& curvature) const {
    const auto size = u.size();
    Eigen::MatrixXd j(r.size(), size);
    for (Eigen::Index k = 0; k < size; ++k) {
      Eigen::VectorXd moved = u;
      moved[k] += 1e-5;
      j.col(k) = (residuals(at(moved)) - r) / 1e-5;
    }
    Eigen::VectorXd w(r.size());
    for (Eigen::Index i = 0; i < r.size(); ++i)
      w[i] = rows_[static_cast<std::size_t>(i)].weight / std::sqrt(1 + r[i] * r[i]);
    gradient = j.transpose() * w.cwiseProduct(r);
    curvature = j.transpose() * w.asDiagonal() * j;
    const Efficiencies e = at(u);
    for (Eigen::Index k = 0; k < size; ++k) {
      const FittedEfficiency& f = fitted_efficiencies()[static_cast<std::size_t>(k)];
      const double value = e.*f.member;
      const double slope = (value - f.lowest) * (f.highest - value) / (f.highest - f.lowest);  // d value / d u
      gradient[k] += (value - f.prior_mean) * slope / (f.prior_deviation * f.prior_deviation);
      curvature(k, k) += slope * slope / (f.prior_deviation * f.prior_deviation);
    }
  }

  [[nodiscard]] Calibration fit() const {
    Calibration out;
    out.rows = rows_.size();
    Eigen::VectorXd u = start();
    Eigen::VectorXd r = residuals(at(u));
    double best = cost(r, at(u));
    double damping = 1e-3;
    Eigen::VectorXd gradient;
    Eigen::MatrixXd curvature;
    for (out.iterations = 0; out.iterations < options_.iterations && !out.converged; ++out.iterations) {
      normal(u, r, gradient, curvature);
      bool moved = false;
      while (!moved && damping < 1e10) {
        Eigen::MatrixXd damped = curvature;
        damped.diagonal() *= 1 + damping;
        const Eigen::VectorXd step = damped.ldlt().solve(-gradient);
        const Eigen::VectorXd next = u + step;
        const Efficiencies e = at(next);
        const Eigen::VectorXd there = residuals(e);
        const double value = cost(there, e);
        if (value < best) {
          out.converged = best - value < 1e-9 * best;
          u = next;
          r = there;
          best = value;
          damping = std::max(damping / 10, 1e-9);
          moved = true;
        } else {
          damping *= 10;
        }
      }
      if (!moved) out.converged = true;  // no step downhill is left
    }
    normal(u, r, gradient, curvature);
    const Eigen::MatrixXd covariance = curvature.ldlt().solve(Eigen::MatrixXd::Identity(u.size(), u.size()));
    out.efficiencies = at(u);
    out.cost = best;
    for (Eigen::Index k = 0; k < u.size(); ++k) {
      const FittedEfficiency& f = fitted_efficiencies()[static_cast<std::size_t>(k)];
      const double value = out.efficiencies.*f.member;
      const double slope = (value - f.lowest) * (f.highest - value) / (f.highest - f.lowest);
      const double deviation = slope * std::sqrt(covariance(k, k));
      CalibratedValue v{f.name,           value, value - 1.645 * deviation, value + 1.645 * deviation, f.prior_mean,
                        f.prior_deviation};
      v.width_left = deviation / f.prior_deviation;
      v.at_bound = std::min(value - f.lowest, f.highest - value) < 0.005 * (f.highest - f.lowest);
      v.at_prior = v.width_left >= 0.8 && std::abs(value - f.prior_mean) < 0.1 * f.prior_deviation;
      out.values.push_back(v);
    }
    return out;
  }

 private:
  std::vector<CalibrationRow> rows_;
  const CalibrationOptions& options_;
};

}  // namespace detail

// A publisher's model on a part.
[[nodiscard]] inline std::string cell_of(const MeasuredStep& s) {
  const architecture::Transformer& t = s.request.shape;
  return s.group + "/" + s.request.machine.accelerator + "/" + std::to_string(t.layers) + "x" + std::to_string(t.width);
}

// use: numbers of the rows that count; a row twice counts twice.
[[nodiscard]] inline Calibration calibrate(const MeasuredSteps& measured, const CalibrationOptions& options,
                                           const std::vector<std::size_t>& use) {
  std::map<std::string, double> sizes;
  for (const std::size_t i : use) sizes[measured.steps[i].group] += 1;
  std::vector<detail::CalibrationRow> rows;
  for (const std::size_t i : use) {
    const MeasuredStep& s = measured.steps[i];
    rows.push_back({&s, std::pow(sizes.at(s.group), -2 * options.group_power)});
  }
  return detail::CalibrationProblem(std::move(rows), options).fit();
}

[[nodiscard]] inline Calibration calibrate(const MeasuredSteps& measured, const CalibrationOptions& options = {}) {
  std::vector<std::size_t> all(measured.steps.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return calibrate(measured, options, all);
}

// Puts the bootstrap's intervals in the place of the curvature's: cells drawn with replacement, and fitted again.
inline void bootstrap_cells(const MeasuredSteps& measured, CalibrationOptions options, Calibration& fit) {
  std::map<std::string, std::vector<std::size_t>> cells;
  for (std::size_t i = 0; i < measured.steps.size(); ++i) cells[cell_of(measured.steps[i])].push_back(i);
  std::vector<std::vector<std::size_t>> list;
  for (auto& [name, rows] : cells) list.push_back(std::move(rows));
  options.start = fit.efficiencies;
  std::vector<Efficiencies> fits(options.replicates);
  parallel_for(options.replicates, options.threads, [&](std::size_t replicate) {
    RandomStream random(options.seed, replicate);
    std::vector<std::size_t> use;
    for (std::size_t k = 0; k < list.size(); ++k) {
      const auto& rows = list[random.below(static_cast<std::uint32_t>(list.size()))];
      use.insert(use.end(), rows.begin(), rows.end());
    }
    fits[replicate] = calibrate(measured, options, use).efficiencies;
  });
  if (fits.empty()) return;
  for (std::size_t k = 0; k < fit.values.size(); ++k) {
    std::vector<double> values;
    for (const Efficiencies& e : fits) values.push_back(e.*fitted_efficiencies()[k].member);
    std::sort(values.begin(), values.end());
    fit.values[k].low = quantile_of_sorted(values, 0.5 - options.level / 2);
    fit.values[k].high = quantile_of_sorted(values, 0.5 + options.level / 2);
  }
}

// The shipped values with their report.
[[nodiscard]] inline Calibration published_calibration() {
  Calibration out;
  for (const FittedEfficiency& f : fitted_efficiencies()) {
    out.values.push_back(
        {f.name, out.efficiencies.*f.member, f.low, f.high, f.prior_mean, f.prior_deviation, f.width_left});
  }
  out.converged = true;
  return out;
}

// What a user's few rows say of his cluster as a whole: exp(n / (n + 2) median of ln(measured / predicted)). One row is a
// third believed, since a row's own scatter of 7% comes along; the median of five is five sevenths.
[[nodiscard]] inline double measured_factor(std::vector<double> log_ratios) {
  if (log_ratios.empty()) return 1;
  std::sort(log_ratios.begin(), log_ratios.end());
  const double n = static_cast<double>(log_ratios.size());
  return std::exp(n / (n + 2) * quantile_of_sorted(log_ratios, 0.5));
}

// The published efficiencies with the factor of a user's rows: nothing else can be learnt from few of them.
[[nodiscard]] inline Efficiencies anchored(const MeasuredSteps& measured, Efficiencies published = {}) {
  published.measured_factor = 1;
  std::vector<double> log_ratios;
  for (const MeasuredStep& s : measured.steps)
    log_ratios.push_back(std::log(s.measured.value / step_terms(s.request, published).step));
  published.measured_factor = measured_factor(std::move(log_ratios));
  return published;
}

}  // namespace floplan::cluster
