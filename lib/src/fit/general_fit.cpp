// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/fit/general_fit.hpp"

#include <ceres/autodiff_cost_function.h>
#include <ceres/loss_function.h>
#include <ceres/manifold.h>
#include <ceres/problem.h>
#include <ceres/solver.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/fit/detail/chinchilla_rows.hpp"
#include "floplan/fit/estimator.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit {

namespace {

template <class Form>
struct RowCost {
  Residual kind;
  double log_n, log_d, observed;  // ln L for log residuals, L for raw ones

  template <class T>
  bool operator()(const T* theta, T* residual) const {
    using std::exp;
    const T predicted = Form::log_loss(theta, log_n, log_d);
    residual[0] = kind == Residual::log ? predicted - observed : exp(predicted) - observed;
    return true;
  }
};

Error wrong_size(const char* what, std::size_t expected, std::size_t got) {
  return Error(Failure::usage, "wrong_size", "fit_general",
               std::string(what) + " must have one value for each of the " + std::to_string(expected) +
                   " coefficients, got " + std::to_string(got));
}

struct Descent {
  std::vector<double> theta;
  double objective = std::numeric_limits<double>::infinity();
  bool converged = false;
  int iterations = 0;
  std::string message;
};

template <class Form>
Descent descend(std::span<const runs::Observation> observations, std::vector<double> theta,
                const GeneralOptions& options) {
  constexpr int size = static_cast<int>(Form::names.size());
  ceres::Problem::Options ownership;
  ownership.loss_function_ownership = ceres::DO_NOT_TAKE_OWNERSHIP;
  ceres::Problem problem(ownership);
  std::vector<std::unique_ptr<ceres::LossFunction>> losses;
  const bool huber = options.estimator.loss == Loss::huber;
  problem.AddParameterBlock(theta.data(), size);
  for (const runs::Observation& row : observations) {
    if (!(row.weight > 0)) continue;
    auto* cost = new ceres::AutoDiffCostFunction<RowCost<Form>, 1, size>(
        new RowCost<Form>{options.estimator.residual, std::log(row.parameters), std::log(row.tokens),
                          options.estimator.residual == Residual::log ? std::log(row.loss) : row.loss});
    // Ceres minimises half the sum of rho(r^2); the weight goes into the loss, not the residual, as delta is unweighted.
    losses.push_back(std::make_unique<ceres::ScaledLoss>(
        huber ? new ceres::HuberLoss(options.estimator.delta) : nullptr, row.weight, ceres::TAKE_OWNERSHIP));
    problem.AddResidualBlock(cost, losses.back().get(), theta.data());
  }
  const auto fixed = [&](std::size_t k) { return !options.low.empty() && options.low[k] == options.high[k]; };
  for (std::size_t k = 0; k < options.low.size(); ++k) {
    theta[k] = std::clamp(theta[k], options.low[k], options.high[k]);
    if (fixed(k)) continue;
    problem.SetParameterLowerBound(theta.data(), static_cast<int>(k), options.low[k]);
    problem.SetParameterUpperBound(theta.data(), static_cast<int>(k), options.high[k]);
  }
  ceres::Solver::Options solver;
  solver.linear_solver_type = ceres::DENSE_QR;
  solver.logging_type = ceres::SILENT;
  solver.num_threads = 1;
  solver.max_num_iterations = options.max_iterations;
  // Relative to the cost and to the coefficients; the gradient's tolerance is absolute, and so would know the scale of F.
  solver.function_tolerance = 1e-15;
  solver.parameter_tolerance = 1e-13;
  solver.gradient_tolerance = 0;
  // Ceres cuts a step back into the box without turning it along the border, and so stalls where the valley meets a bound
  // at an angle. Coefficients at a bound with the gradient pointing out of it are therefore held while the others move.
  ceres::Solver::Summary summary;
  std::size_t iterations = 0;
  std::vector<int> held;
  for (std::size_t k = 0; k < theta.size(); ++k) {
    if (fixed(k)) held.push_back(static_cast<int>(k));
  }
  for (int round = 0; round < 20; ++round) {
    if (static_cast<int>(held.size()) < size) {
      problem.SetManifold(theta.data(), held.empty() ? nullptr : new ceres::SubsetManifold(size, held));
    }
    if (static_cast<int>(held.size()) == size) problem.SetParameterBlockConstant(theta.data());
    ceres::Solve(solver, &problem, &summary);
    iterations += summary.iterations.size();
    problem.SetParameterBlockVariable(theta.data());
    problem.SetManifold(theta.data(), nullptr);
    std::vector<double> gradient;
    problem.Evaluate({}, nullptr, nullptr, &gradient, nullptr);
    std::vector<int> now;
    for (std::size_t k = 0; k < theta.size(); ++k) {
      const bool bounded = !options.low.empty();
      const bool out_low = bounded && theta[k] <= options.low[k] && gradient[k] >= 0;
      const bool out_high = bounded && theta[k] >= options.high[k] && gradient[k] <= 0;
      if (fixed(k) || out_low || out_high) now.push_back(static_cast<int>(k));
    }
    if (now == held) break;
    held = now;
  }
  Descent out;
  out.theta = theta;
  out.objective = huber ? summary.final_cost : 2 * summary.final_cost;
  out.converged = summary.termination_type == ceres::CONVERGENCE && std::isfinite(summary.final_cost);
  out.iterations = static_cast<int>(iterations);
  out.message = summary.message;
  return out;
}

}  // namespace

template <class Form>
GeneralReport fit_general(std::span<const runs::Observation> observations,
                          const std::vector<std::vector<double>>& starts, const GeneralOptions& options) {
  constexpr std::size_t size = Form::names.size();
  check(options.estimator, "fit_general");
  if (options.estimator.loss == Loss::least_absolute_deviations) {
    throw Error(Failure::usage, "not_supported", "fit_general", "takes huber and mse; lad has an estimator of its own");
  }
  for (std::size_t i = 0; i < observations.size(); ++i) detail::check(observations[i], i);
  if (starts.empty()) throw Error(Failure::usage, "no_start", "fit_general", "needs at least one start, got none");
  for (const std::vector<double>& start : starts) {
    if (start.size() != size) throw wrong_size("a start", size, start.size());
  }
  for (const auto* ends : {&options.low, &options.high}) {
    if (options.low.empty() && options.high.empty()) break;
    if (ends->size() != size) throw wrong_size("bounds", size, ends->size());
  }
  for (std::size_t k = 0; k < options.low.size(); ++k) {
    if (options.low[k] <= options.high[k]) continue;
    throw Error(Failure::usage, "out_of_range", "fit_general",
                std::string("bounds of ") + Form::names[k] + " must satisfy low <= high");
  }
  std::vector<Descent> descents;
  for (const std::vector<double>& start : starts) descents.push_back(descend<Form>(observations, start, options));
  const Descent& best = *std::min_element(descents.begin(), descents.end(),
                                          [](const Descent& a, const Descent& b) { return a.objective < b.objective; });
  GeneralReport out;
  out.coefficients = best.theta;
  out.objective = best.objective;
  out.converged = best.converged;
  out.starts = starts.size();
  out.iterations = best.iterations;
  out.message = best.message;
  for (const Descent& descent : descents) out.agreeing += descent.objective <= best.objective * (1 + 1e-6) ? 1 : 0;
  return out;
}

template GeneralReport fit_general<ChinchillaForm>(std::span<const runs::Observation>,
                                                   const std::vector<std::vector<double>>&, const GeneralOptions&);

}  // namespace floplan::fit
