// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "fit/fit_data.hpp"
#include "floplan/core/error.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/general_fit.hpp"

namespace {

using namespace floplan;
using Rows = std::vector<runs::Observation>;

const law::Chinchilla<double> truth{1.72, 480, 2100, 0.35, 0.37};
const std::vector<double> hoffmann = {6.0073404, 6.0179186, 0.5267228, 0.33917084, 0.2849083};

Rows noisy(double sd, std::uint64_t seed) {
  Rows out = fit_data::planned(truth);
  RandomStream random(seed);
  fit_data::add_noise(out, sd, random);
  for (std::size_t i = 0; i < out.size(); i += 7) out[i].weight = 2.5;
  return out;
}

void compare(const Rows& rows, const fit::Estimator& estimator, const fit::ChinchillaBounds& bounds, double tolerance) {
  fit::ChinchillaOptions exact;
  exact.estimator = estimator;
  exact.bounds = bounds;
  const fit::ChinchillaReport ours = fit::chinchilla(rows, exact);
  fit::GeneralOptions general;
  general.estimator = estimator;
  const double infinity = HUGE_VAL;
  general.low = {-infinity, -infinity, -infinity, bounds.parameter_exponent.low, bounds.token_exponent.low};
  general.high = {infinity, infinity, infinity, bounds.parameter_exponent.high, bounds.token_exponent.high};
  const fit::GeneralReport theirs = fit::fit_general<fit::ChinchillaForm>(rows, {hoffmann}, general);
  CAPTURE(to_text(estimator.loss));
  CAPTURE(to_text(estimator.residual));
  CAPTURE(theirs.message);
  CHECK(theirs.converged);
  CHECK(ours.objective <= theirs.objective * (1 + 1e-10));
  CHECK(theirs.objective == doctest::Approx(ours.objective).epsilon(1e-8));
  CHECK(std::abs(theirs.coefficients[2] - std::log(ours.law.irreducible_loss)) < tolerance);
  CHECK(std::abs(theirs.coefficients[3] - ours.law.parameter_exponent) < tolerance);
  CHECK(std::abs(theirs.coefficients[4] - ours.law.token_exponent) < tolerance);
  CHECK(std::abs(theirs.coefficients[0] - std::log(ours.law.parameter_coefficient)) < 30 * tolerance);
  CHECK(std::abs(theirs.coefficients[1] - std::log(ours.law.token_coefficient)) < 30 * tolerance);
}

}  // namespace

TEST_CASE("Ceres finds the same optimum, with weights, for log and raw residuals, huber and least squares") {
  const Rows rows = noisy(0.01, 31);
  for (const fit::Residual residual : {fit::Residual::log, fit::Residual::raw}) {
    compare(rows, {residual, fit::Loss::least_squares, 1}, {}, 1e-6);
    compare(rows, {residual, fit::Loss::huber, 0.02}, {}, 1e-6);
    compare(rows, {residual, fit::Loss::huber, 0.003}, {}, 1e-5);
  }
}

TEST_CASE("Ceres finds the same optimum at a bound and with a fixed exponent") {
  const Rows rows = noisy(0.01, 32);
  fit::ChinchillaBounds bounds;
  bounds.token_exponent = {0.45, 0.6};
  compare(rows, {fit::Residual::log, fit::Loss::huber, 0.02}, bounds, 1e-6);
  bounds.token_exponent = fit::Bounds::fixed(0.3);
  compare(rows, {fit::Residual::log, fit::Loss::huber, 0.02}, bounds, 1e-6);
}

TEST_CASE("Ceres finds the same optimum on the replication's rows") {
  const auto rows = fit_data::epoch();
  if (!rows) return;
  compare(*rows, {fit::Residual::log, fit::Loss::least_squares, 1}, {}, 1e-6);
  compare(*rows, {fit::Residual::raw, fit::Loss::least_squares, 1}, {}, 1e-6);
  compare(*rows, {fit::Residual::log, fit::Loss::huber, 1e-2}, {}, 1e-5);
  compare(*rows, {fit::Residual::log, fit::Loss::huber, 1e-3}, {}, 1e-5);
}

TEST_CASE("a general fit refuses starts and bounds that do not fit the form, and losses that it cannot do") {
  const Rows rows = noisy(0.01, 33);
  const auto code = [&](const std::vector<std::vector<double>>& starts, const fit::GeneralOptions& options) {
    try {
      (void)fit::fit_general<fit::ChinchillaForm>(rows, starts, options);
    } catch (const Error& error) {
      CHECK(error.failure() == Failure::usage);
      return error.code();
    }
    return std::string("none");
  };
  CHECK(code({}, {}) == "no_start");
  CHECK(code({{1, 2, 3}}, {}) == "wrong_size");
  fit::GeneralOptions options;
  options.low = {0, 0, 0, 0};
  CHECK(code({hoffmann}, options) == "wrong_size");
  options.low = {0, 0, 0, 0.5, 0};
  options.high = {1, 1, 1, 0.4, 1};
  CHECK(code({hoffmann}, options) == "out_of_range");
  options = {};
  options.estimator.loss = fit::Loss::least_absolute_deviations;
  CHECK(code({hoffmann}, options) == "not_supported");
}
