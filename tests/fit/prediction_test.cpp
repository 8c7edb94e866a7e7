// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "fit/fit_data.hpp"
#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/random.hpp"
#include "floplan/fit/allocation.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/covariance.hpp"
#include "floplan/fit/prediction.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using Law = law::Chinchilla<double>;
using Rows = std::vector<runs::Observation>;
using fit_data::noisy;
using fit_data::truth;

struct Fitted {
  fit::ChinchillaReport report;
  fit::BootstrapReport boot;
  fit::RunNoise noise;
};

Fitted fitted(const Rows& rows, fit::Loss loss = fit::Loss::least_squares, std::size_t resamples = 500) {
  fit::ChinchillaOptions options;
  options.estimator.loss = loss;
  fit::BootstrapOptions resampling;
  resampling.resamples = resamples;
  Fitted out;
  out.report = fit::chinchilla(rows, options);
  out.boot = fit::bootstrap(rows, out.report, resampling);
  out.noise = fit::run_noise(rows, out.report);
  return out;
}

double width(const Interval& i) { return i.high - i.low; }

}  // namespace

TEST_CASE("the noise of runs is the residual sd of the fit, and comes sorted") {
  const Rows rows = noisy(0.01, 31);
  const Fitted f = fitted(rows);
  REQUIRE(f.noise.available);
  CHECK(f.noise.reason.empty());
  CHECK(f.noise.log_residuals.size() == rows.size());
  CHECK(std::is_sorted(f.noise.log_residuals.begin(), f.noise.log_residuals.end()));
  CHECK(f.noise.standard_deviation() == near(f.report.residual_sd, 1e-10));
  // A run above the law is a positive residual.
  const Law& law = f.report.law;
  double highest = 0;
  for (const auto& row : rows) highest = std::max(highest, std::log(row.loss / law.loss(row.parameters, row.tokens)));
  CHECK(f.noise.log_residuals.back() == near(highest * std::sqrt(72.0 / 67.0), 1e-10));
}

TEST_CASE("copies and weights of a row add no residual, and rows of weight zero none at all") {
  Rows rows = noisy(0.01, 32);
  const fit::RunNoise once = fitted(rows).noise;
  Rows twice = rows;
  twice.insert(twice.end(), rows.begin(), rows.end());
  twice.push_back({1e9, 1e10, 9.0, 0.0, 0});
  const fit::RunNoise copied = fitted(twice).noise;
  for (runs::Observation& row : rows) row.weight = 3;
  const fit::RunNoise weighted = fitted(rows).noise;
  REQUIRE(copied.log_residuals.size() == once.log_residuals.size());
  REQUIRE(weighted.log_residuals.size() == once.log_residuals.size());
  for (std::size_t i = 0; i < once.log_residuals.size(); ++i) {
    CHECK(std::abs(copied.log_residuals[i] - once.log_residuals[i]) < 1e-9);
    CHECK(std::abs(weighted.log_residuals[i] - once.log_residuals[i]) < 1e-9);
  }
}

TEST_CASE("without degrees of freedom there is no noise and no interval, and the curve is still predicted") {
  Rows rows = noisy(0.01, 33);
  rows = {rows[0], rows[8], rows[30], rows[63], rows[71]};
  const Fitted f = fitted(rows);
  CHECK(f.report.degrees_of_freedom == 0);
  CHECK_FALSE(f.noise.available);
  CHECK_FALSE(f.noise.reason.empty());
  CHECK(std::isnan(f.noise.standard_deviation()));
  const fit::Prediction p = fit::predict(f.boot, f.noise, f.report.range, Parameters(1e9), Tokens(2e10));
  CHECK(p.loss.value == f.report.law.loss(1e9, 2e10));
  CHECK(std::isnan(p.new_run.low));
  CHECK(std::isnan(p.new_run.high));
}

TEST_CASE("the sums of two lists are ranked exactly") {
  RandomStream random(34);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> x(1 + random.below(12)), u(1 + random.below(9)), all;
    for (double& value : x) value = random.uniform();
    // Ties, too.
    for (double& value : u) value = static_cast<double>(random.below(4)) / 4;
    std::sort(x.begin(), x.end());
    std::sort(u.begin(), u.end());
    for (const double a : x) {
      for (const double b : u) all.push_back(a + b);
    }
    std::sort(all.begin(), all.end());
    for (std::size_t k = 0; k < all.size(); ++k) {
      CHECK(std::abs(fit::detail::sum_of_rank(x, u, static_cast<double>(k + 1)) - all[k]) < 2e-14);
    }
  }
}

TEST_CASE("where the law is certain, one more of n alike runs falls outside with the probability asked for") {
  // One draw of n + 1 is as likely to be of any rank.
  for (const std::size_t n : {19u, 39u, 99u, 400u}) {
    std::vector<double> noise;
    for (std::size_t i = 0; i < n; ++i) noise.push_back(static_cast<double>(i + 1));
    const std::vector<double> law(1000, 0.0);
    const Interval i = fit::detail::interval_of_sums(law, noise, 0.9);
    const double outside = (i.low + static_cast<double>(n) + 1 - i.high) / (static_cast<double>(n) + 1);
    CHECK(std::abs(outside - 0.1) <= 1.0 / static_cast<double>(n + 1) + 1e-12);
    CHECK(i.low + i.high == near(static_cast<double>(n) + 1, 1e-12));
  }
}

TEST_CASE("without noise of its own a new run has the interval of the curve") {
  const Fitted f = fitted(noisy(0.01, 35), fit::Loss::huber);
  fit::RunNoise silent;
  silent.available = true;
  silent.log_residuals.assign(72, 0.0);
  const fit::Prediction p = fit::predict(f.boot, silent, f.report.range, Parameters(7e10), Tokens(1.4e12));
  // To half the distance between two replicates: one interval interpolates and the other takes an order statistic.
  CHECK(std::abs(p.new_run.low - p.loss.interval.low) < 0.02 * width(p.loss.interval));
  CHECK(std::abs(p.new_run.high - p.loss.interval.high) < 0.02 * width(p.loss.interval));
}

TEST_CASE("with Gaussian noise a new run has the interval of the textbook") {
  const Fitted f = fitted(noisy(0.005, 36, 12, 20));
  const fit::CovarianceReport covariance = fit::covariance(noisy(0.005, 36, 12, 20), f.report);
  for (const double n : {1e9, 1e11}) {
    const fit::Prediction p = fit::predict(f.boot, f.noise, f.report.range, Parameters(n), Tokens(20 * n));
    const Estimate curve =
        fit::estimate(covariance, covariance.inverse_hessian, [n](const Law& law) { return law.loss(n, 20 * n); });
    const double curve_sd = curve.standard_error / curve.value;
    const double sd = std::sqrt(curve_sd * curve_sd + f.report.residual_sd * f.report.residual_sd);
    CHECK(std::log(p.new_run.high / p.new_run.low) == doctest::Approx(2 * 1.645 * sd).epsilon(0.1));
    CHECK(std::log(p.loss.interval.high / p.loss.interval.low) == doctest::Approx(2 * 1.645 * curve_sd).epsilon(0.15));
  }
}

TEST_CASE("intervals widen with the distance from the runs, and the distance is said") {
  for (const fit::Loss loss : {fit::Loss::huber, fit::Loss::least_squares}) {
    const Fitted f = fitted(noisy(0.005, 37), loss);
    std::vector<fit::OptimumPrediction> far;
    std::vector<fit::Prediction> points;
    for (int decade = 0; decade <= 5; ++decade) {
      const Flop budget(*f.report.range.flop_high * std::pow(10.0, decade));
      far.push_back(fit::compute_optimal(f.boot, f.report.range, budget));
      points.push_back(fit::predict(f.boot, f.noise, f.report.range, Parameters(far.back().parameters.value),
                                    Tokens(far.back().tokens.value)));
      CHECK(std::abs(far.back().extrapolation_decades - decade) < 1e-12);
      CHECK(width(points.back().new_run) > width(points.back().loss.interval));
      if (decade == 0) continue;
      const auto ratio = [](const Interval& i) { return i.high / i.low; };
      const fit::OptimumPrediction& now = far[far.size() - 1];
      const fit::OptimumPrediction& before = far[far.size() - 2];
      CHECK(ratio(now.parameters.interval) > ratio(before.parameters.interval));
      CHECK(ratio(now.tokens.interval) > ratio(before.tokens.interval));
      CHECK(ratio(now.loss.interval) > ratio(before.loss.interval));
      CHECK(ratio(now.tokens_per_parameter.interval) > ratio(before.tokens_per_parameter.interval));
      CHECK(width(points[points.size() - 1].loss.interval) > width(points[points.size() - 2].loss.interval));
      CHECK(points[points.size() - 1].extrapolation_decades >= points[points.size() - 2].extrapolation_decades);
    }
    CHECK(points.front().extrapolation_decades == 0);
    CHECK(points.back().extrapolation_decades > 1);
  }
}

TEST_CASE("the optimum spends the budget, and its estimates agree with each other") {
  const Fitted f = fitted(noisy(0.01, 38), fit::Loss::huber);
  const Flop budget(1e23);
  const fit::OptimumPrediction best = fit::compute_optimal(f.boot, f.report.range, budget, 0.8);
  CHECK(6 * best.parameters.value * best.tokens.value == near(budget.value, 1e-12));
  CHECK(best.tokens_per_parameter.value == near(best.tokens.value / best.parameters.value, 1e-12));
  CHECK(best.loss.value == near(f.report.law.loss(best.parameters.value, best.tokens.value), 1e-12));
  CHECK(best.without_optimum == 0);
  // N and D multiply to a constant, so the ends of one interval are those of the other.
  CHECK(6 * best.parameters.interval.low * best.tokens.interval.high == near(budget.value, 1e-4));
  CHECK(6 * best.parameters.interval.high * best.tokens.interval.low == near(budget.value, 1e-4));
  for (const Estimate& e : {best.parameters, best.tokens, best.loss, best.tokens_per_parameter}) {
    CHECK(e.interval.level == 0.8);
    CHECK(e.interval.low < e.value);
    CHECK(e.value < e.interval.high);
  }
}

TEST_CASE("predictions say what they cannot use") {
  const Fitted f = fitted(noisy(0.01, 39));
  for (const double bad : {0.0, -1.0, HUGE_VAL, std::numeric_limits<double>::quiet_NaN()}) {
    const Error n =
        thrown::by([&] { (void)fit::predict(f.boot, f.noise, f.report.range, Parameters(bad), Tokens(1e10)); });
    CHECK(n.failure() == Failure::usage);
    CHECK(thrown::says(n, "predict: parameters must be positive and finite"));
    const Error d =
        thrown::by([&] { (void)fit::predict(f.boot, f.noise, f.report.range, Parameters(1e9), Tokens(bad)); });
    CHECK(d.failure() == Failure::usage);
    CHECK(thrown::says(d, "tokens"));
    const Error c = thrown::by([&] { (void)fit::compute_optimal(f.boot, f.report.range, Flop(bad)); });
    CHECK(c.failure() == Failure::usage);
    CHECK(thrown::says(c, "budget must be positive and finite"));
  }
  CHECK(thrown::by([&] {
          (void)fit::predict(f.boot, f.noise, f.report.range, Parameters(1e9), Tokens(1e10), 1.0);
        }).failure() == Failure::usage);
  fit::BootstrapReport flat = f.boot;
  flat.estimate.token_coefficient = 0;
  const Error none = thrown::by([&] { (void)fit::compute_optimal(flat, f.report.range, Flop(1e22)); });
  CHECK(none.failure() == Failure::no_answer);
  CHECK(none.code() == "no_optimum");
}

TEST_CASE("replicates without an optimum are left out and counted") {
  Fitted f = fitted(noisy(0.01, 40));
  for (std::size_t i = 0; i < 7; ++i) f.boot.laws[i].parameter_coefficient = 0;
  const fit::OptimumPrediction best = fit::compute_optimal(f.boot, f.report.range, Flop(1e22));
  CHECK(best.without_optimum == 7);
  CHECK(best.parameters.interval.low > 0);
  CHECK(std::isfinite(best.tokens.standard_error));
}

TEST_CASE("the interval of a new run covers further runs about as often as it says") {
  constexpr std::size_t sets = 200;
  std::size_t covered = 0;
  for (std::size_t i = 0; i < sets; ++i) {
    const Fitted f = fitted(noisy(0.01, 9000 + i, 6, 7), fit::Loss::huber, 200);
    const double n = 3e9;
    const fit::Prediction p = fit::predict(f.boot, f.noise, f.report.range, Parameters(n), Tokens(20 * n));
    Rows run = {{n, 20 * n, truth.loss(n, 20 * n), 1.0, 0}};
    RandomStream random(77, i);
    fit_data::add_noise(run, 0.01, random);
    covered += p.new_run.low <= run[0].loss && run[0].loss <= p.new_run.high ? 1 : 0;
  }
  const double share = static_cast<double>(covered) / sets;
  MESSAGE("covered " << share);
  // Monte Carlo standard error 2.1 points.
  CHECK(share > 0.84);
  CHECK(share < 0.97);
}
