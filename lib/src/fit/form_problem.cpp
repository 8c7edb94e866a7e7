// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/fit/detail/form_problem.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <tuple>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/detail/robust_sd.hpp"
#include "floplan/law/input.hpp"

namespace floplan::fit::detail {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void check(const FormModel& model, const FormRow& row, std::size_t index, bool positive) {
  const auto refuse = [index](const std::string& rule) {
    return Error(Failure::data, "out_of_range", "row " + std::to_string(index + 1), rule);
  };
  if (row.inputs.size() != model.inputs.size()) {
    throw refuse("must have one value for each of the form's " + std::to_string(model.inputs.size()) + " inputs, got " +
                 std::to_string(row.inputs.size()));
  }
  for (std::size_t k = 0; k < row.inputs.size(); ++k) {
    const law::InputInfo& input = law::info(model.inputs[k]);
    if (row.inputs[k] >= input.low && row.inputs[k] <= input.high) continue;
    throw refuse(std::string(input.key) + " must be from " + print_number(input.low, 6) + " to " +
                 print_number(input.high, 6) + ", got " + print_number(row.inputs[k], 17));
  }
  const std::string output = law::info(model.output).key;
  if (!(std::abs(row.output) < 1e100)) throw refuse(output + " must be finite, got " + print_number(row.output, 17));
  if (positive && !(row.output > 0)) {
    throw refuse(output + " must be positive where residuals are logarithms (--residual raw takes any), got " +
                 print_number(row.output, 17));
  }
  if (!(row.weight >= 0 && row.weight < 1e100))
    throw refuse("weight must be zero or positive, and finite, got " + print_number(row.weight, 17));
}

// The caller's range of a coefficient, or the form's own.
Bounds range_of(const SearchedCoefficient& c, const FormOptions& options) {
  const auto given = options.bounds.find(c.name);
  if (given == options.bounds.end()) return {c.low, c.high};
  const Bounds own = given->second;
  const bool free_of_range = c.low == c.high;  // power's offset, which is zero unless it is asked for
  if (own.low <= own.high && std::isfinite(own.low) && std::isfinite(own.high) &&
      (free_of_range || (own.low >= c.low && own.high <= c.high)))
    return own;
  throw Error(Failure::usage, "out_of_range", "fit",
              c.name + " must be bounded within " + print_number(c.low, 6) + " to " + print_number(c.high, 6) +
                  ", low end first, got " + print_number(own.low, 6) + " to " + print_number(own.high, 6));
}

void check_names(const FormModel& model, const FormOptions& options) {
  for (const auto& [name, bounds] : options.bounds) {
    const auto same = [&n = name](const SearchedCoefficient& c) { return c.name == n; };
    if (std::any_of(model.coefficients.begin(), model.coefficients.end(), same)) continue;
    std::string known;
    for (const SearchedCoefficient& c : model.coefficients) known += (known.empty() ? "" : ", ") + c.name;
    throw Error(Failure::usage, "unknown_name", "fit",
                "bounds must name a coefficient of " + model.name + " (" + known + "), got \"" + name + "\"");
  }
}

}  // namespace

FormProblem::FormProblem(const FormModel& form, const std::vector<FormRow>& given, const FormOptions& options)
    : model(&form), estimator(options.estimator), size(form.coefficients.size()) {
  fit::check(estimator, "fit");
  check_names(form, options);
  for (const SearchedCoefficient& c : form.coefficients) {
    const Bounds& ends = range.emplace_back(range_of(c, options));
    logarithmic.push_back(c.logarithmic && ends.low > 0);
    unit.push_back(c.high > c.low ? (c.high - c.low) / 8 : ends.high > ends.low ? (ends.high - ends.low) / 8 : 1);
    const bool is_log = logarithmic.back();
    box.low.push_back(is_log ? std::log(ends.low) : ends.low / unit.back());
    box.high.push_back(is_log ? std::log(ends.high) : ends.high / unit.back());
    box.fixed.push_back(ends.low == ends.high);
  }
  const bool is_log = estimator.residual == Residual::log;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < given.size(); ++i) {
    check(form, given[i], i, is_log);
    if (given[i].weight > 0) order.push_back(i);
  }
  rows_used = order.size();
  std::sort(order.begin(), order.end(), [&given](std::size_t a, std::size_t b) {
    return std::tie(given[a].inputs, given[a].output, given[a].weight) <
           std::tie(given[b].inputs, given[b].output, given[b].weight);
  });
  double sizes = 0;
  for (std::size_t j = 0; j < order.size(); ++j) {
    const FormRow& row = given[order[j]];
    total_weight += row.weight;
    sizes += row.weight * std::abs(row.output);
    if (j > 0 && row.inputs == given[order[j - 1]].inputs && row.output == given[order[j - 1]].output) {
      weight.back() += row.weight;
      continue;
    }
    inputs.insert(inputs.end(), row.inputs.begin(), row.inputs.end());
    observed.push_back(row.output);
    weight.push_back(row.weight);
  }
  if (!is_log && sizes > 0) typical = sizes / total_weight;
}

std::size_t FormProblem::free() const {
  return static_cast<std::size_t>(std::count(box.fixed.begin(), box.fixed.end(), false));
}

bool FormProblem::at_end(const Coordinates& u, std::size_t k) const {
  const double reach = 1e-9 * (box.high[k] - box.low[k]);
  return !box.fixed[k] && !(u[k] > box.low[k] + reach && u[k] < box.high[k] - reach);
}

FormProblem FormProblem::resampled(const std::vector<unsigned>& counts) const {
  FormProblem out = *this;
  out.inputs.clear();
  out.observed.clear();
  out.weight.clear();
  out.total_weight = 0;
  const std::size_t width = model->inputs.size();
  for (std::size_t i = 0; i < rows(); ++i) {
    if (counts[i] == 0) continue;
    const auto first = inputs.begin() + static_cast<std::ptrdiff_t>(i * width);
    out.inputs.insert(out.inputs.end(), first, first + static_cast<std::ptrdiff_t>(width));
    out.observed.push_back(observed[i]);
    out.weight.push_back(weight[i] * counts[i]);
    out.total_weight += out.weight.back();
  }
  return out;
}

double FormProblem::clip() const { return estimator.loss == Loss::huber ? estimator.delta : infinity; }

std::vector<double> FormProblem::coefficients(const Coordinates& u) const {
  std::vector<double> out(size);
  for (std::size_t k = 0; k < size; ++k) out[k] = logarithmic[k] ? std::exp(u[k]) : u[k] * unit[k];
  return out;
}

std::vector<double> FormProblem::law(const Coordinates& u) const {
  std::vector<double> out = coefficients(u);
  for (std::size_t k = 0; k < size; ++k) out[k] = std::clamp(out[k], range[k].low, range[k].high);
  return out;
}

Coordinates FormProblem::position(const std::vector<double>& coefficients) const {
  Coordinates out(size);
  for (std::size_t k = 0; k < size; ++k) {
    const double u = logarithmic[k] ? std::log(coefficients[k]) : coefficients[k] / unit[k];
    out[k] = std::clamp(std::isfinite(u) ? u : box.low[k], box.low[k], box.high[k]);
  }
  return out;
}

double FormProblem::residual(std::size_t i, const double* coefficients, double* gradient) const {
  const double y = model->value(coefficients, inputs.data() + i * model->inputs.size(), gradient);
  const bool is_log = estimator.residual == Residual::log;
  if (gradient != nullptr) {
    for (std::size_t k = 0; k < size; ++k)
      gradient[k] *= (logarithmic[k] ? coefficients[k] : unit[k]) / (is_log ? y : 1);
  }
  return fit::residual(estimator, y, observed[i]);
}

std::vector<double> FormProblem::residuals(const Coordinates& u) const {
  const std::vector<double> theta = coefficients(u);
  std::vector<double> out(rows());
  for (std::size_t i = 0; i < rows(); ++i) out[i] = residual(i, theta.data(), nullptr);
  return out;
}

double FormProblem::objective(const Coordinates& u) const {
  const std::vector<double> r = residuals(u);
  double sum = 0;
  for (std::size_t i = 0; i < rows(); ++i) sum += weight[i] * rho(estimator, r[i]);
  return std::isfinite(sum) ? sum : infinity;
}

Coordinates FormProblem::comparable(const Coordinates& u) const {
  const std::vector<double> theta = coefficients(u);
  Coordinates sum(size), row(size);
  for (std::size_t i = 0; i < rows(); ++i) {
    if (!std::isfinite(residual(i, theta.data(), row.data()))) continue;
    for (std::size_t k = 0; k < size; ++k) sum[k] += weight[i] * row[k] * row[k];
  }
  for (double& s : sum) s = std::max(std::sqrt(s / total_weight), 1e-9 * typical);
  return sum;
}

FormDerivatives FormProblem::derivatives(const Coordinates& u, double delta, Curvature curvature) const {
  FormDerivatives out;
  out.gradient.assign(size, 0.0);
  out.hessian.assign(size, Coordinates(size));
  const std::vector<double> theta = coefficients(u);
  Coordinates row(size);
  std::vector<double> psi(rows());
  double value = 0;
  for (std::size_t i = 0; i < rows(); ++i) {
    const double r = residual(i, theta.data(), row.data());
    const double length = std::abs(r);
    if (!(length < infinity)) return out;
    const bool inside = length <= delta;
    value += weight[i] * (inside ? r * r / 2 : delta * (length - delta / 2));
    psi[i] = weight[i] * std::clamp(r, -delta, delta);
    const double curved = inside ? weight[i] : curvature == Curvature::gauss_newton ? weight[i] * delta / length : 0;
    for (std::size_t j = 0; j < size; ++j) {
      out.gradient[j] += psi[i] * row[j];
      for (std::size_t k = 0; k <= j && curvature != Curvature::none; ++k)
        out.hessian[j][k] += curved * row[j] * row[k];
    }
  }
  out.value = value;
  if (curvature == Curvature::full) {
    const Coordinates scale = comparable(u);
    std::vector<Coordinates> second(size, Coordinates(size));
    for (std::size_t k = 0; k < size; ++k) {
      if (box.fixed[k]) continue;
      const double step = std::min(1e-4, 1e-5 * typical / scale[k]);
      for (const double side : {step, -step}) {
        Coordinates moved = u;
        moved[k] += side;
        const std::vector<double> there = coefficients(moved);
        for (std::size_t i = 0; i < rows(); ++i) {
          (void)residual(i, there.data(), row.data());
          for (std::size_t j = 0; j < size; ++j) second[k][j] += psi[i] * row[j] / (2 * side);
        }
      }
    }
    for (std::size_t j = 0; j < size; ++j) {
      for (std::size_t k = 0; k <= j; ++k) out.hessian[j][k] += (second[j][k] + second[k][j]) / 2;
    }
  }
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = 0; k < j; ++k) out.hessian[k][j] = out.hessian[j][k];
  }
  return out;
}

FormDescent FormProblem::descend(const Coordinates& u, double delta, Curvature curvature, int evaluations) const {
  FormScale scale;
  scale.step = comparable(u);
  for (double& s : scale.step) s /= typical;
  scale.residual_rounding = 4e-15 * typical;  // of a sum of powers, each an exponential of some tens
  scale.total_weight = total_weight;
  scale.delta = delta;
  const auto objective = [&](const Coordinates& at) { return derivatives(at, delta, curvature); };
  return newton(objective, box, scale, u, evaluations, [](const auto&, const auto&) { return false; });
}

FormMinimum FormProblem::approach(const Coordinates& u, int evaluations) const {
  // Wide enough for noise and narrow enough for a run gone wrong, which least squares asked for must feel.
  const double delta = estimator.loss == Loss::least_squares ? infinity : std::max(clip(), 0.05 * typical);
  const double wide = estimator.loss == Loss::least_absolute_deviations ? 0.05 * typical : delta;
  const FormDescent found = descend(u, wide, Curvature::gauss_newton, evaluations);
  return {found.theta, found.at.value, found.converged, 0, found.evaluations};
}

FormMinimum FormProblem::minimise(const Coordinates& u, bool near) const {
  FormMinimum out;
  out.at = u;
  const auto to = [&](double delta, int evaluations) {
    const FormDescent found = descend(out.at, delta, Curvature::full, evaluations);
    out.at = found.theta;
    out.evaluations += found.evaluations;
    out.converged = found.converged;
    return found;
  };
  double last = clip();
  FormDescent found;
  const bool smooth = estimator.loss != Loss::least_absolute_deviations;
  if (near && smooth) found = to(last, 40);
  if (!out.converged) {
    // Far below the residuals few rows have a curvature to steer by; a ladder of wider deltas leads there.
    const double median = median_size(residuals(out.at), weight.data(), 0);
    const double floor = 1e-14 * typical;
    if (!smooth) last = std::max(1e-8 * median, floor);
    for (double delta = std::max(median, floor); delta > 4 * last; delta /= 4) (void)to(delta, 60);
    found = to(last, 200);
  }
  for (std::size_t k = 0; k < size; ++k) {
    const bool held = box.fixed[k] || found.theta[k] <= box.low[k] || found.theta[k] >= box.high[k];
    if (!held && found.at.value > 0)
      out.gradient = std::max(out.gradient, std::abs(found.at.gradient[k]) / found.at.value);
  }
  out.objective = objective(out.at);
  return out;
}

}  // namespace floplan::fit::detail
