// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/fit/form_fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/detail/form_problem.hpp"
#include "floplan/fit/detail/form_search.hpp"
#include "floplan/fit/detail/robust_sd.hpp"
#include "floplan/law/input.hpp"

namespace floplan::fit {

namespace {

using detail::Coordinates;
using detail::FormMinimum;
using detail::FormProblem;

law::FitRange range_of(const FormModel& model, const FormProblem& problem) {
  law::FitRange out;
  const auto extend = [](std::optional<double>& low, std::optional<double>& high, double value) {
    low = low ? std::min(*low, value) : value;
    high = high ? std::max(*high, value) : value;
  };
  const std::size_t count = model.inputs.size();
  for (std::size_t i = 0; i < problem.rows(); ++i) {
    std::optional<double> n, d, flop;
    for (std::size_t k = 0; k < count; ++k) {
      const double x = problem.inputs[i * count + k];
      switch (model.inputs[k]) {
        case law::Input::parameters:
        case law::Input::active_parameters:
          // Of a mixture's two counts the active one makes the FLOP, as law::outside has it.
          n = n ? std::min(*n, x) : x;
          extend(out.parameters_low, out.parameters_high, x);
          break;
        case law::Input::tokens: extend(out.tokens_low, out.tokens_high, *(d = x)); break;
        case law::Input::flop: extend(out.flop_low, out.flop_high, *(flop = x)); break;
        default: {
          const auto same = [&](const law::InputRange& r) { return r.input == model.inputs[k]; };
          auto at = std::find_if(out.others.begin(), out.others.end(), same);
          if (at == out.others.end()) at = out.others.insert(at, {model.inputs[k], {}, {}});
          extend(at->low, at->high, x);
        }
      }
    }
    if (n && d && !flop) extend(out.flop_low, out.flop_high, 6 * *n * *d);
  }
  return out;
}

void judge(FormReport& report, const FormProblem& problem, const Coordinates& u) {
  std::vector<std::size_t> moving;
  for (std::size_t k = 0; k < problem.size; ++k) {
    if (problem.box.fixed[k]) continue;
    const std::string& name = report.model.coefficients[k].name;
    if (!problem.at_end(u, k)) {
      moving.push_back(k);
      continue;
    }
    report.at_bound.push_back(name);
    if (!report.options.bounds.contains(name)) report.at_end.push_back(name);
  }
  const std::vector<double> theta = problem.coefficients(u);
  const auto n = static_cast<Eigen::Index>(problem.rows());
  const auto p = static_cast<Eigen::Index>(moving.size());
  if (p == 0) return;
  Eigen::MatrixXd jacobian(n, p);
  Coordinates row(problem.size);
  for (std::size_t i = 0; i < problem.rows(); ++i) {
    (void)problem.residual(i, theta.data(), row.data());
    for (std::size_t j = 0; j < moving.size(); ++j)
      jacobian(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) =
          row[moving[j]] * std::sqrt(problem.weight[i]);
  }
  const Eigen::VectorXd lengths = jacobian.colwise().norm().transpose().cwiseMax(1e-300);
  jacobian *= lengths.cwiseInverse().asDiagonal();
  // The triangle of a QR has the singular values of the whole, and is small.
  const Eigen::HouseholderQR<Eigen::MatrixXd> qr(jacobian);
  Eigen::MatrixXd triangle = Eigen::MatrixXd::Zero(p, p);
  triangle.topRows(std::min(n, p)) =
      qr.matrixQR().topRows(std::min(n, p)).triangularView<Eigen::Upper>().toDenseMatrix();
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(triangle, Eigen::ComputeFullV);
  const Eigen::VectorXd singular = svd.singularValues();
  Identifiability& out = report.identifiability;
  out.eigenvalues.clear();
  for (Eigen::Index k = p; k-- > 0;) out.eigenvalues.push_back(singular(k) * singular(k));
  const double smallest = std::max(singular(p - 1), 1e-150);
  out.condition = std::pow(singular(0) / smallest, 2);
  out.identifiable = out.condition < 1e12;
  for (Eigen::Index j = 0; j < p && !out.identifiable; ++j) {
    if (std::pow(svd.matrixV()(j, p - 1), 2) > 0.05)
      report.unidentified.push_back(report.model.coefficients[moving[static_cast<std::size_t>(j)]].name);
  }
  const auto listed = [](const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  };
  if (!out.identifiable) {
    out.reason = "the rows cannot tell " + listed(report.unidentified) + " apart (condition " +
                 print_number(out.condition, 2) + ")";
    return;
  }
  if (report.degrees_of_freedom == 0) return;
  // What the standard error of least squares would be, in logarithms or relative to the value.
  const double mean_weight = problem.total_weight / static_cast<double>(problem.rows());
  std::vector<std::string> loose;
  for (Eigen::Index j = 0; j < p; ++j) {
    const std::size_t k = moving[static_cast<std::size_t>(j)];
    double variance = 0;
    for (Eigen::Index m = 0; m < p; ++m) variance += std::pow(svd.matrixV()(j, m) / singular(m), 2);
    const double error = report.residual_sd * std::sqrt(variance * mean_weight) / lengths(j);
    const double relative = problem.logarithmic[k] ? error : error / std::abs(u[k]);
    if (1.645 * relative > 1) loose.push_back(report.model.coefficients[k].name);
  }
  if (!loose.empty()) {
    report.warnings.push_back({"flat_valley", listed(loose) +
                                                  " may be off by a factor of e or of either sign within 90%: these "
                                                  "runs hardly determine " +
                                                  (loose.size() > 1 ? "them" : "it")});
  }
}

void remark(FormReport& report) {
  const auto warn = [&report](const char* code, const std::string& message) {
    report.warnings.push_back({code, message});
  };
  const auto text = [](double x) { return print_number(x, 3); };
  if (!report.search.converged)
    warn("not_converged",
         "the search stopped before the gradient vanished (" + text(report.search.gradient) + " of the objective)");
  if (report.search.agreeing < 2 && report.search.starts > 1)
    warn("single_start", "only one of " + std::to_string(report.search.starts) +
                             " starts found this minimum: there may be a lower one");
  for (const std::string& name : report.at_bound)
    warn("parameter_at_bound", name + " ended at a bound; the others were fitted given that");
  if (report.duplicates() > 0)
    warn("duplicates", std::to_string(report.duplicates()) +
                           " rows repeat another's inputs and output exactly; they count in the fit and not as "
                           "evidence");
  if (report.degrees_of_freedom == 0)
    warn("no_degrees_of_freedom", "as many coefficients as distinct rows: no residual, no interval");
  if (!report.identifiability.identifiable) warn("not_identified", report.identifiability.reason);
  const Estimator& estimator = report.options.estimator;
  if (estimator.loss == Loss::huber && report.robust_residual_sd > 3 * estimator.delta)
    warn("delta_below_noise", "delta " + text(estimator.delta) + " is " +
                                  text(estimator.delta / report.robust_residual_sd) +
                                  " of the residual sd: close to least absolute deviations; 1.345 sd would be " +
                                  text(1.345 * report.robust_residual_sd));
}

}  // namespace

FormReport fit_form(const FormModel& model, const std::vector<FormRow>& rows, const FormOptions& options) {
  FormReport out;
  out.model = model;
  out.options = options;
  FormProblem problem(model, rows, options);
  out.rows_used = problem.rows_used;
  out.distinct_rows = problem.rows();
  out.free_coefficients = problem.free();
  if (out.distinct_rows < std::max<std::size_t>(1, out.free_coefficients)) {
    throw Error(Failure::no_answer, "too_few_rows", "fit",
                "needs at least as many distinct rows as free coefficients (" + std::to_string(out.free_coefficients) +
                    "), got " + std::to_string(out.distinct_rows) + "; add runs, or fix coefficients");
  }
  out.degrees_of_freedom = out.distinct_rows - out.free_coefficients;
  out.range = range_of(model, problem);

  const detail::FormSearch search = detail::search_form(problem, options);
  const FormMinimum& best = search.best;
  out.options.estimator = problem.estimator;
  out.search.starts = search.starts;
  out.search.agreeing = search.agreeing;
  out.search.evaluations = search.evaluations;
  out.search.converged = best.converged;
  out.search.gradient = best.gradient;
  out.objective = best.objective;
  out.coefficients = problem.law(best.at);
  out.form = model.form(out.coefficients);

  out.residuals = problem.residuals(best.at);
  double squares = 0;
  for (std::size_t i = 0; i < problem.rows(); ++i) squares += problem.weight[i] * std::pow(out.residuals[i], 2);
  out.residual_sd = out.degrees_of_freedom == 0
                        ? std::numeric_limits<double>::quiet_NaN()
                        : std::sqrt(squares / problem.total_weight * static_cast<double>(problem.rows()) /
                                    static_cast<double>(out.degrees_of_freedom));
  out.robust_residual_sd = detail::robust_sd(out.residuals, problem.weight.data(), out.free_coefficients);
  std::sort(out.residuals.begin(), out.residuals.end());
  judge(out, problem, best.at);
  remark(out);
  return out;
}

double objective(const FormModel& model, const std::vector<FormRow>& rows, const std::vector<double>& coefficients,
                 const Estimator& estimator) {
  check(estimator, "objective");
  double sum = 0;
  for (const FormRow& row : rows)
    sum += row.weight * rho(estimator, residual(estimator, model.value(coefficients.data(), row.inputs.data(), nullptr),
                                                row.output));
  return sum;
}

void require_trusted(const FormReport& report) {
  const std::string cure = "; run a wider range of what it depends on, or fix a coefficient (--fix " +
                           report.model.coefficients.front().name + "=VALUE); --anyway shows what there is";
  if (!report.at_end.empty()) {
    std::string ends;
    for (std::size_t k = 0; k < report.coefficients.size(); ++k) {
      const std::string& name = report.model.coefficients[k].name;
      if (std::find(report.at_end.begin(), report.at_end.end(), name) == report.at_end.end()) continue;
      ends += (ends.empty() ? "" : ", ") + name + " at " + print_number(report.coefficients[k], 4);
    }
    const bool asymptotes = law::is_share(report.model.output);
    throw Error(Failure::no_answer, asymptotes ? "unidentified_asymptote" : "not_identified", "fit",
                std::string(asymptotes ? "an asymptote of the curve is unidentified, since no run comes near it: "
                                       : "these runs do not identify the law: ") +
                    ends + " ran to the end of the search" + cure);
  }
  if (!report.identifiability.identifiable) {
    throw Error(Failure::no_answer, "not_identified", "fit",
                "these runs do not identify the law: " + report.identifiability.reason + cure);
  }
  if (!report.search.converged) {
    throw Error(Failure::no_answer, "not_converged", "fit",
                "the search did not reach a minimum (gradient " + print_number(report.search.gradient, 2) +
                    " of the objective)" + cure);
  }
}

std::string FormReport::describe() const {
  std::string out;
  for (std::size_t k = 0; k < coefficients.size(); ++k)
    out += (k > 0 ? ", " : "") + model.coefficients[k].name + " " + print_number(coefficients[k], 6);
  out += "; " + to_text(options.estimator.loss) + " of " + to_text(options.estimator.residual) + " residuals " +
         print_number(objective, 8) + " over " + std::to_string(rows_used) + " rows; " +
         std::to_string(search.agreeing) + " of " + std::to_string(search.starts) + " starts agree; " +
         (search.converged ? "converged" : "not converged");
  if (!identifiability.identifiable) out += "; not identified";
  for (const std::string& name : at_bound) out += "; " + name + " at a bound";
  return out;
}

}  // namespace floplan::fit
