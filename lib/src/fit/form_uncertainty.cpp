// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/fit/form_uncertainty.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/parallel_for.hpp"
#include "floplan/core/random.hpp"
#include "floplan/fit/detail/form_problem.hpp"
#include "floplan/fit/detail/form_search.hpp"
#include "floplan/fit/detail/normal.hpp"

namespace floplan::fit {

namespace {

using detail::Coordinates;
using detail::FormMinimum;
using detail::FormProblem;

// The problem that the report answered: with the delta that it used.
FormProblem problem_of(const std::vector<FormRow>& rows, const FormReport& report) {
  FormOptions options = report.options;
  options.automatic_delta = false;
  return FormProblem(report.model, rows, options);
}

struct FormReplicate {
  std::vector<double> law;
  bool reached = false, answered = false, searched = false, at_bound = false;
};

FormReplicate refit(const FormProblem& whole, const FormReport& report, const Coordinates& start,
                    const std::vector<unsigned>& counts) {
  FormReplicate out;
  out.reached = true;
  FormProblem problem = whole.resampled(counts);
  if (problem.rows() < report.free_coefficients) return out;
  FormMinimum found = problem.minimise(start, true);
  if (!found.converged) {
    out.searched = true;
    FormOptions fewer;
    fewer.points = 64;
    fewer.starts = 4;
    fewer.seed = report.options.seed;
    fewer.given_starts = {report.coefficients};
    found = detail::search_form(problem, fewer).best;
  }
  out.answered = found.converged && std::isfinite(found.objective);
  out.law = problem.law(found.at);
  for (std::size_t k = 0; k < problem.size; ++k) {
    out.at_bound = out.at_bound || problem.at_end(found.at, k);
  }
  return out;
}

using Rows = std::vector<std::vector<double>>;

Rows scaled(const Eigen::MatrixXd& matrix, const std::vector<std::size_t>& moving, const Coordinates& unit, double by) {
  Rows out(unit.size(), Coordinates(unit.size()));
  for (std::size_t i = 0; i < moving.size(); ++i) {
    for (std::size_t j = 0; j < moving.size(); ++j)
      out[moving[i]][moving[j]] =
          matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) * unit[moving[i]] * unit[moving[j]] * by;
  }
  return out;
}

}  // namespace

FormBootstrap bootstrap_form(const std::vector<FormRow>& rows, const FormReport& report,
                             const FormBootstrapOptions& options) {
  FormBootstrap out;
  out.estimate = report.coefficients;
  out.resamples = options.resamples;
  const FormProblem problem = problem_of(rows, report);
  const Coordinates start = problem.position(report.coefficients);
  const auto units = static_cast<std::uint32_t>(problem.rows());
  out.units = units;
  if (report.degrees_of_freedom == 0) {
    out.warnings.push_back({"interval_not_available", "as many free coefficients as distinct rows"});
    return out;
  }
  std::vector<FormReplicate> replicates(out.resamples);
  const auto one = [&](std::size_t b) {
    RandomStream random(options.seed, b);
    std::vector<unsigned> counts(units);
    for (std::uint32_t i = 0; i < units; ++i) ++counts[random.below(units)];
    replicates[b] = refit(problem, report, start, counts);
  };
  out.stopped = !parallel_for(out.resamples, options.threads, one, options.stop);
  for (std::size_t b = 0; b < replicates.size(); ++b) {
    FormReplicate& replicate = replicates[b];
    if (!replicate.reached) continue;
    out.searched += replicate.searched ? 1 : 0;
    out.failed += replicate.answered ? 0 : 1;
    if (!replicate.answered) continue;
    out.at_bound += replicate.at_bound ? 1 : 0;
    out.laws.push_back(std::move(replicate.law));
    out.replicates.push_back(b);
  }
  detail::conclude(out);
  return out;
}

FormCovariance covariance_form(const std::vector<FormRow>& rows, const FormReport& report) {
  FormCovariance out;
  const FormProblem problem = problem_of(rows, report);
  for (std::size_t k = 0; k < problem.size; ++k)
    out.of.push_back((problem.logarithmic[k] ? "ln " : "") + report.model.coefficients[k].name);
  if (problem.estimator.loss == Loss::least_absolute_deviations) {
    out.reason = "least absolute deviations have no Hessian; use the bootstrap";
    return out;
  }
  if (report.degrees_of_freedom == 0) {
    out.reason = "as many free coefficients as distinct rows";
    return out;
  }
  const Coordinates u = problem.position(report.coefficients);
  std::vector<std::size_t> moving;
  for (std::size_t k = 0; k < problem.size; ++k) {
    if (!problem.box.fixed[k] && !problem.at_end(u, k)) moving.push_back(k);
  }
  const double clip = problem.clip();
  const detail::FormDerivatives at = problem.derivatives(u, clip, detail::Curvature::full);
  const auto p = static_cast<Eigen::Index>(moving.size());
  Eigen::MatrixXd hessian(p, p);
  Eigen::MatrixXd meat = Eigen::MatrixXd::Zero(p, p);
  for (Eigen::Index i = 0; i < p; ++i) {
    for (Eigen::Index j = 0; j < p; ++j)
      hessian(i, j) = at.hessian[moving[static_cast<std::size_t>(i)]][moving[static_cast<std::size_t>(j)]];
  }
  double squares = 0, inside = 0;
  std::size_t rows_inside = 0;
  Coordinates row(problem.size);
  const std::vector<double> theta = problem.coefficients(u);
  for (std::size_t i = 0; i < problem.rows(); ++i) {
    const double r = problem.residual(i, theta.data(), row.data());
    const double psi = std::clamp(r, -clip, clip);
    Eigen::VectorXd score(p);
    for (Eigen::Index k = 0; k < p; ++k) score(k) = problem.weight[i] * psi * row[moving[static_cast<std::size_t>(k)]];
    meat += score * score.transpose();
    squares += problem.weight[i] * psi * psi;
    if (std::abs(r) > clip) continue;
    inside += problem.weight[i];
    ++rows_inside;
  }
  if (rows_inside < 2 * report.free_coefficients) {
    out.reason = "only " + std::to_string(rows_inside) + " rows lie within delta; use the bootstrap or a wider delta";
    return out;
  }
  const Eigen::LLT<Eigen::MatrixXd> factors(hessian);
  if (factors.info() != Eigen::Success) {
    out.reason = "the Hessian is not positive definite";
    return out;
  }
  const Eigen::MatrixXd inverse = factors.solve(Eigen::MatrixXd::Identity(p, p));
  const double freedom = static_cast<double>(report.degrees_of_freedom);
  Coordinates unit = problem.unit;
  for (std::size_t k = 0; k < problem.size; ++k) unit[k] = problem.logarithmic[k] ? 1 : unit[k];
  out.inverse_hessian = scaled(inverse, moving, unit, squares / freedom / (inside / problem.total_weight));
  out.sandwich = scaled(inverse * meat * inverse, moving, unit, static_cast<double>(problem.rows()) / freedom);
  out.available = true;
  return out;
}

Estimate estimate(const FormReport& report, const FormCovariance& covariance,
                  const std::vector<std::vector<double>>& matrix, std::size_t k, double level) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const double value = report.coefficients[k];
  if (!covariance.available) return {value, nan, {nan, nan, level}};
  const double error = std::sqrt(std::max(0.0, matrix[k][k]));
  const double reach = detail::normal_quantile((1 + level) / 2) * error;
  if (covariance.of[k] == report.model.coefficients[k].name)
    return {value, error, {value - reach, value + reach, level}};
  return {value, value * error, {value * std::exp(-reach), value * std::exp(reach), level}};
}

}  // namespace floplan::fit
