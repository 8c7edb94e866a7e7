// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/fit/detail/form_search.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/parallel_for.hpp"
#include "floplan/core/random.hpp"
#include "floplan/fit/detail/robust_sd.hpp"

namespace floplan::fit::detail {

namespace {

// Point `index` of the sequence of Roberts 2018: multiples of the powers of 1/g modulo 1, with g^(d + 1) = g + 1.
class PointSequence {
 public:
  PointSequence(std::size_t dimensions, std::uint64_t seed) : step_(dimensions), shift_(dimensions) {
    double g = 2;
    for (int i = 0; i < 60; ++i) g = std::pow(1 + g, 1 / (static_cast<double>(dimensions) + 1));
    RandomStream random(seed, std::uint64_t{1} << 63);
    double power = 1;
    for (std::size_t k = 0; k < dimensions; ++k) {
      step_[k] = power /= g;
      shift_[k] = random.uniform();
    }
  }
  [[nodiscard]] double at(std::size_t index, std::size_t dimension) const {
    const double x = shift_[dimension] + static_cast<double>(index) * step_[dimension];
    return x - std::floor(x);
  }

 private:
  std::vector<double> step_, shift_;
};

// Free coefficients in which the form is jointly affine, as far as a few rows and two places of the box show: their
// derivatives do not change when any of them does. A wrong guess costs starts, not correctness.
std::vector<std::size_t> affine_coefficients(const FormProblem& problem, const PointSequence& sequence) {
  std::vector<std::size_t> out;
  const auto gradients = [&](const std::vector<double>& theta) {
    std::vector<double> all;
    Coordinates row(problem.size);
    const std::size_t rows = std::min<std::size_t>(5, problem.rows());
    for (std::size_t i = 0; i < rows; ++i) {
      const std::size_t at = i * (problem.rows() - 1) / std::max<std::size_t>(1, rows - 1);
      (void)problem.model->value(theta.data(), problem.inputs.data() + at * problem.model->inputs.size(), row.data());
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  };
  const auto affine_with = [&](std::size_t k) {
    for (std::size_t place = 0; place < 2; ++place) {
      Coordinates u(problem.size);
      // The middle half of the box: at its ends powers vanish or overflow.
      for (std::size_t j = 0; j < problem.size; ++j) {
        const double share = 0.3 + 0.4 * sequence.at(place + 1, j);
        u[j] = problem.box.low[j] + share * (problem.box.high[j] - problem.box.low[j]);
      }
      std::vector<double> theta = problem.coefficients(u);
      const std::vector<double> before = gradients(theta);
      theta[k] += theta[k] != 0 ? theta[k] : 1;
      const std::vector<double> after = gradients(theta);
      for (std::size_t i = 0; i < before.size(); ++i) {
        const std::size_t j = i % problem.size;
        if (j != k && std::find(out.begin(), out.end(), j) == out.end()) continue;
        if (!(std::abs(before[i]) > 0) || !(std::abs(after[i] - before[i]) <= 1e-9 * std::abs(before[i]))) return false;
      }
    }
    return true;
  };
  for (std::size_t k = 0; k < problem.size; ++k) {
    if (!problem.box.fixed[k] && affine_with(k)) out.push_back(k);
  }
  return out;
}

// Sets the affine coefficients to the least squares of relative (log) or plain residuals within the box, given the others.
bool solve_affine(const FormProblem& problem, const std::vector<std::size_t>& affine, Coordinates& u) {
  std::vector<double> theta = problem.coefficients(u);
  const auto n = static_cast<Eigen::Index>(problem.rows());
  Eigen::MatrixXd slopes(n, static_cast<Eigen::Index>(affine.size()));
  Eigen::VectorXd rest(n);
  Coordinates row(problem.size);
  for (std::size_t i = 0; i < problem.rows(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    double y = problem.model->value(theta.data(), problem.inputs.data() + i * problem.model->inputs.size(), row.data());
    const bool is_log = problem.estimator.residual == Residual::log;
    const double scale = std::sqrt(problem.weight[i]) / (is_log ? problem.observed[i] : 1);
    for (std::size_t k = 0; k < affine.size(); ++k) {
      slopes(at, static_cast<Eigen::Index>(k)) = row[affine[k]] * scale;
      y -= row[affine[k]] * theta[affine[k]];
    }
    rest(at) = (problem.observed[i] - y) * scale;
  }
  if (!slopes.allFinite() || !rest.allFinite()) return false;
  std::vector<std::size_t> open(affine.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  while (!open.empty()) {
    Eigen::MatrixXd part(n, static_cast<Eigen::Index>(open.size()));
    for (std::size_t j = 0; j < open.size(); ++j)
      part.col(static_cast<Eigen::Index>(j)) = slopes.col(static_cast<Eigen::Index>(open[j]));
    const Eigen::VectorXd lengths = part.colwise().norm().transpose().cwiseMax(1e-300);
    part *= lengths.cwiseInverse().asDiagonal();
    const Eigen::VectorXd found = part.colPivHouseholderQr().solve(rest).cwiseQuotient(lengths);
    if (!found.allFinite()) return false;
    // The coefficient farthest outside, as it counts in predictions, goes to its end and the others are solved for again.
    std::optional<std::size_t> worst;
    double farthest = 0, end = 0;
    for (std::size_t j = 0; j < open.size(); ++j) {
      const auto at = static_cast<Eigen::Index>(j);
      const std::size_t k = affine[open[j]];
      const Coordinates ends[] = {problem.box.low, problem.box.high};
      const double low = problem.coefficients(ends[0])[k];
      const double high = problem.coefficients(ends[1])[k];
      const double nearest = std::clamp(found(at), low, high);
      const double out = std::abs(found(at) - nearest) * lengths(at);
      if (!(out > farthest)) continue;
      farthest = out;
      worst = j;
      end = nearest;
    }
    if (!worst) {
      for (std::size_t j = 0; j < open.size(); ++j) theta[affine[open[j]]] = found(static_cast<Eigen::Index>(j));
      break;
    }
    theta[affine[open[*worst]]] = end;
    rest -= slopes.col(static_cast<Eigen::Index>(open[*worst])) * end;
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(*worst));
  }
  u = problem.position(theta);
  return true;
}

struct Start {
  Coordinates at;
  double objective = std::numeric_limits<double>::infinity();
};

// The best points of the box, the caller's own starts first.
std::vector<Start> starts_of(const FormProblem& problem, const FormOptions& options) {
  const PointSequence sequence(problem.size, options.seed);
  const std::vector<std::size_t> affine = affine_coefficients(problem, sequence);
  const double wide = 0.05 * problem.typical;
  const std::size_t curved = std::min<std::size_t>(problem.free() - affine.size(), 8);
  std::vector<Start> points(options.points > 0 ? options.points
                                               : std::max<std::size_t>(512, std::size_t{64} << curved));
  (void)parallel_for(points.size(), options.threads, [&](std::size_t i) {
    Coordinates u(problem.size);
    for (std::size_t k = 0; k < problem.size; ++k)
      u[k] = problem.box.low[k] + sequence.at(i + 1, k) * (problem.box.high[k] - problem.box.low[k]);
    if (!affine.empty() && !solve_affine(problem, affine, u)) return;
    points[i] = {u, problem.derivatives(u, wide, detail::Curvature::none).value};
  });
  std::stable_sort(points.begin(), points.end(),
                   [](const Start& a, const Start& b) { return a.objective < b.objective; });
  std::vector<Start> out;
  for (const std::vector<double>& given : options.given_starts) {
    if (given.size() != problem.size) {
      throw Error(Failure::usage, "wrong_size", "fit",
                  "a start must have one value for each of the " + std::to_string(problem.size) +
                      " coefficients, got " + std::to_string(given.size()));
    }
    out.push_back({problem.position(given), 0});
  }
  const std::size_t count = options.starts > 0 ? options.starts : curved < 6 ? 24 : 128;
  for (std::size_t i = 0; i < points.size() && i < count; ++i) {
    if (std::isfinite(points[i].objective)) out.push_back(points[i]);
  }
  return out;
}

bool lower(const FormMinimum& a, const FormMinimum& b) { return a.objective < b.objective; }

// Long valleys, as those of forms with a dozen coefficients, take longer than most starts are worth: the best that have not
// come to an end go on.
void go_on(const FormProblem& problem, const FormOptions& options, std::vector<FormMinimum>& minima) {
  if (std::min_element(minima.begin(), minima.end(), lower)->converged) return;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < minima.size(); ++i) {
    if (!minima[i].converged) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lower(minima[a], minima[b]); });
  order.resize(std::min(order.size(), std::max<std::size_t>(8, minima.size() / 3)));
  (void)parallel_for(order.size(), options.threads, [&](std::size_t j) {
    FormMinimum& near = minima[order[j]];
    const int before = near.evaluations;
    near = problem.approach(near.at, 600);
    near.evaluations += before;
  });
}

// From where the starts came near to the last digits: once for those that came to one place, and not for those in basins
// that are far higher, of which there are many.
void descend_on(const FormProblem& problem, const FormOptions& options, std::vector<FormMinimum>& minima) {
  const FormMinimum& lowest = *std::min_element(minima.begin(), minima.end(), lower);
  const double worth = 4 * lowest.objective;
  const Coordinates scale = problem.comparable(lowest.at);
  const auto same_place = [&](const FormMinimum& a, const FormMinimum& b) {
    for (std::size_t k = 0; k < problem.size; ++k) {
      if (std::abs(a.at[k] - b.at[k]) * scale[k] > 1e-5 * problem.typical) return false;
    }
    return true;
  };
  std::vector<std::size_t> place(minima.size());
  std::vector<std::size_t> first;
  for (std::size_t i = 0; i < minima.size(); ++i) {
    const auto known =
        std::find_if(first.begin(), first.end(), [&](std::size_t j) { return same_place(minima[i], minima[j]); });
    place[i] = known == first.end() ? i : *known;
    if (known == first.end()) first.push_back(i);
  }
  (void)parallel_for(first.size(), options.threads, [&](std::size_t j) {
    FormMinimum& near = minima[first[j]];
    if (near.objective <= worth || first[j] < options.given_starts.size()) {
      near = problem.minimise(near.at);
    } else {
      near.objective = problem.objective(near.at);
      near.evaluations = 0;
    }
  });
  for (std::size_t i = 0; i < minima.size(); ++i) {
    if (place[i] == i) continue;
    minima[i] = minima[place[i]];
    minima[i].evaluations = 0;
  }
}

}  // namespace

FormSearch search_form(FormProblem& problem, const FormOptions& options) {
  FormSearch out;
  const std::vector<Start> starts = starts_of(problem, options);
  if (starts.empty()) {
    throw Error(
        Failure::no_answer, "no_start", "fit",
        "the form " + problem.model->name + " has no value at these rows anywhere in the range of its coefficients");
  }
  std::vector<FormMinimum> minima(starts.size());
  (void)parallel_for(starts.size(), options.threads,
                     [&](std::size_t i) { minima[i] = problem.approach(starts[i].at); });
  go_on(problem, options, minima);
  for (const FormMinimum& near : minima) out.evaluations += near.evaluations;
  if (options.automatic_delta && problem.estimator.loss == Loss::huber) {
    problem.estimator.loss = Loss::least_absolute_deviations;
    const FormMinimum pilot = problem.minimise(std::min_element(minima.begin(), minima.end(), lower)->at);
    out.evaluations += pilot.evaluations;
    problem.estimator.loss = Loss::huber;
    const double sd = robust_sd(problem.residuals(pilot.at), problem.weight.data(), problem.free());
    // Rows without noise have no scale; any delta above rounding fits them alike.
    problem.estimator.delta = std::max(1.345 * sd, 1e-11 * problem.typical);
  }
  descend_on(problem, options, minima);
  out.best = *std::min_element(minima.begin(), minima.end(), lower);
  out.starts = minima.size();
  // Residuals are known to 1e-13 of their unit, which is all that runs without noise leave.
  const double rounding = problem.total_weight * rho(problem.estimator, 1e-13 * problem.typical);
  for (const FormMinimum& found : minima) {
    out.evaluations += found.evaluations;
    out.agreeing += found.objective <= out.best.objective * (1 + 1e-6) + rounding ? 1 : 0;
  }
  return out;
}

}  // namespace floplan::fit::detail
