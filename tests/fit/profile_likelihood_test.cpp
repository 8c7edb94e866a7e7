// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "fit/fit_data.hpp"
#include "fit/form_data.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/random.hpp"
#include "floplan/fit/allocation.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/covariance.hpp"
#include "floplan/fit/form_fit.hpp"
#include "floplan/fit/profile_likelihood.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using Law = law::Chinchilla<double>;
using Rows = std::vector<runs::Observation>;
using fit_data::noisy;
using fit_data::truth;

fit::ChinchillaOptions squares(fit::Residual residual = fit::Residual::log) {
  fit::ChinchillaOptions out;
  out.estimator = {residual, fit::Loss::least_squares, 1e-3};
  return out;
}

fit::ChinchillaOptions huber(double delta) {
  fit::ChinchillaOptions out;
  out.estimator.delta = delta;
  return out;
}

const fit::CoefficientProfile& of(const fit::ProfileReport& report, const std::string& name) {
  const auto found = std::find_if(report.coefficients.begin(), report.coefficients.end(),
                                  [&](const fit::CoefficientProfile& p) { return p.name == name; });
  REQUIRE(found != report.coefficients.end());
  return *found;
}

double quantity(const Law& law, const std::string& name) {
  if (name == "A") return law.parameter_coefficient;
  if (name == "B") return law.token_coefficient;
  if (name == "E") return law.irreducible_loss;
  if (name == "alpha") return law.parameter_exponent;
  if (name == "beta") return law.token_exponent;
  REQUIRE(name == "a");
  return fit::allocation(law).exponent_parameters;
}

// The lowest objective of a whole search with one coefficient fixed.
double brute_force(const Rows& rows, fit::ChinchillaOptions options, const std::string& name, double value) {
  if (name == "A") options.bounds.parameter_coefficient = fit::Bounds::fixed(value);
  if (name == "B") options.bounds.token_coefficient = fit::Bounds::fixed(value);
  if (name == "E") options.bounds.irreducible_loss = fit::Bounds::fixed(value);
  if (name == "alpha") options.bounds.parameter_exponent = fit::Bounds::fixed(value);
  if (name == "beta") options.bounds.token_exponent = fit::Bounds::fixed(value);
  if (name != "a") return fit::chinchilla(rows, options).objective;
  // The ratio of exponents is not a bound: a golden section over alpha with beta = a / (1 - a) alpha.
  const auto at = [&](double alpha) {
    options.bounds.parameter_exponent = fit::Bounds::fixed(alpha);
    options.bounds.token_exponent = fit::Bounds::fixed(alpha * value / (1 - value));
    return fit::chinchilla(rows, options).objective;
  };
  double low = 0.15, high = 0.8;
  const double golden = (std::sqrt(5.0) - 1) / 2;
  for (int i = 0; i < 45; ++i) {
    const double left = high - golden * (high - low);
    const double right = low + golden * (high - low);
    (at(left) < at(right) ? high : low) = at(left) < at(right) ? right : left;
  }
  return at((low + high) / 2);
}

}  // namespace

TEST_CASE("a profile is the lowest objective of a whole search with the coefficient fixed, at every value") {
  const Rows rows = noisy(0.01, 61, 6, 7);
  for (const fit::ChinchillaOptions& options : {squares(), squares(fit::Residual::raw), huber(0.01)}) {
    const fit::ChinchillaReport report = fit::chinchilla(rows, options);
    const fit::ProfileReport profile = fit::profile_likelihood(rows, report, {.level = 0.9, .points = 4});
    REQUIRE(profile.available);
    CHECK(profile.warnings.empty());
    REQUIRE(profile.coefficients.size() == 6);
    for (const fit::CoefficientProfile& one : profile.coefficients) {
      CAPTURE(one.name);
      REQUIRE(one.available());
      CHECK(one.curve.size() == 9);
      CHECK(one.estimate == near(quantity(report.law, one.name), 1e-12));
      for (std::size_t i = 0; i < one.curve.size(); ++i) {
        if (i > 0) CHECK(one.curve[i].value > one.curve[i - 1].value);
        const double expected = brute_force(rows, options, one.name, one.curve[i].value);
        CHECK(one.curve[i].objective == near(expected, 1e-8));
        CHECK(one.curve[i].objective >= report.objective * (1 - 1e-12));
      }
      for (const auto& end : {one.low, one.high}) {
        REQUIRE(end);
        CHECK(brute_force(rows, options, one.name, *end) == near(one.threshold, 1e-7));
      }
      CHECK(*one.low < one.estimate);
      CHECK(one.estimate < *one.high);
    }
  }
}

TEST_CASE("the threshold is Student's t on the residual variance") {
  const Rows rows = noisy(0.01, 62);
  const fit::ChinchillaReport report = fit::chinchilla(rows, squares());
  const fit::ProfileReport profile = fit::profile_likelihood(rows, report);
  // t of 67 degrees of freedom at 95%: 1.667916.
  CHECK(profile.quantile == near(1.667916 * 1.667916, 1e-6));
  CHECK(of(profile, "B").threshold ==
        near(report.objective + profile.quantile * report.residual_sd * report.residual_sd, 1e-10));
  // Weights that are all alike are a unit of the objective and no evidence.
  Rows weighted = rows;
  for (runs::Observation& row : weighted) row.weight = 4;
  const fit::ProfileReport heavy = fit::profile_likelihood(weighted, fit::chinchilla(weighted, squares()));
  CHECK(*of(heavy, "beta").low == near(*of(profile, "beta").low, 1e-8));
  CHECK(*of(heavy, "A").high == near(*of(profile, "A").high, 1e-7));
}

TEST_CASE("where noise is small the profile's intervals are those of the covariance") {
  const Rows rows = noisy(1e-4, 63, 8, 9);
  for (const fit::ChinchillaOptions& options : {squares(), huber(1.345e-4)}) {
    const fit::ChinchillaReport report = fit::chinchilla(rows, options);
    const fit::CovarianceReport covariance = fit::covariance(rows, report);
    const fit::ProfileReport profile = fit::profile_likelihood(rows, report);
    REQUIRE(profile.available);
    for (const fit::CoefficientProfile& one : profile.coefficients) {
      CAPTURE(one.name);
      const Estimate curved = fit::estimate(covariance, covariance.inverse_hessian,
                                            [&](const Law& law) { return quantity(law, one.name); });
      // Huber's psi' is a count of rows within delta, which changes along the way; least squares has no such steps.
      const double tolerance = options.estimator.loss == fit::Loss::huber ? 0.06 : 0.006;
      const double reach = std::sqrt(profile.quantile) * curved.standard_error;
      CHECK((*one.high - *one.low) / (2 * reach) == doctest::Approx(1).epsilon(tolerance));
      CHECK((*one.high - one.estimate) / reach == doctest::Approx(1).epsilon(2 * tolerance));
    }
  }
}

TEST_CASE("an interval does not depend on the coordinate in which a coefficient is held") {
  const Rows rows = noisy(0.01, 64, 6, 6);
  const fit::ChinchillaReport report = fit::chinchilla(rows, squares());
  const fit::ProfileReport profile = fit::profile_likelihood(rows, report);
  // The fit of any form, with the coefficient held there, reaches the objective of an end.
  for (const char* name : {"A", "B", "E"}) {
    for (const auto& end : {of(profile, name).low, of(profile, name).high}) {
      REQUIRE(end);
      fit::FormOptions general;
      general.estimator = report.options.estimator;
      general.bounds[name] = fit::Bounds::fixed(*end);
      const fit::FormReport held = fit::fit_form(fit::form_model("chinchilla"), form_data::rows(rows), general);
      CHECK(held.search.converged);
      CHECK(held.objective == near(of(profile, name).threshold, 1e-6));
    }
  }
  // Losses in another unit scale E, A and B; tokens in another unit leave E, the exponents and A alone.
  Rows scaled = rows;
  for (runs::Observation& row : scaled) {
    row.loss *= 1.4426950408889634;
    row.tokens /= 1e6;
  }
  const fit::ProfileReport other = fit::profile_likelihood(scaled, fit::chinchilla(scaled, squares()));
  for (const char* name : {"E", "A"}) {
    CHECK(*of(other, name).low == near(*of(profile, name).low * 1.4426950408889634, 1e-6));
    CHECK(*of(other, name).high == near(*of(profile, name).high * 1.4426950408889634, 1e-6));
  }
  for (const char* name : {"alpha", "beta", "a"}) {
    CHECK(*of(other, name).low == near(*of(profile, name).low, 1e-7));
    CHECK(*of(other, name).high == near(*of(profile, name).high, 1e-7));
  }
}

TEST_CASE("a valley without an end leaves the side open and gives no number") {
  // Tokens within a factor of two, and noise that hides the curve of the token term.
  Rows rows;
  RandomStream random(72);
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 4; ++j) {
      const double n = 1e8 * std::pow(2.0, i);
      const double d = 1e10 * std::pow(1.7, j / 3.0);
      rows.push_back({n, d, truth.loss(n, d), 1.0, i});
    }
  }
  fit_data::add_noise(rows, 0.01, random);
  const fit::ChinchillaReport report = fit::chinchilla(rows, squares());
  const fit::ProfileReport profile = fit::profile_likelihood(rows, report);
  REQUIRE(profile.available);
  const fit::CoefficientProfile& floor = of(profile, "E");
  CHECK_FALSE(floor.low);
  CHECK_FALSE(floor.low_reason.empty());
  REQUIRE(floor.high);
  CHECK(floor.high_reason.empty());
  CHECK(*floor.high > floor.estimate);
  CHECK(floor.curve.front().value == 0);
  CHECK(floor.curve.front().objective < floor.threshold);
  CHECK(floor.curve.front().objective == near(brute_force(rows, squares(), "E", 0), 1e-7));
  // So is the exponent of tokens, upwards: any will do, and B with it.
  const fit::CoefficientProfile& beta = of(profile, "beta");
  MESSAGE("beta " << beta.estimate << ", low " << beta.low.value_or(-1) << ", high " << beta.high.value_or(-1));
  for (const double far : {3.0, 3.99}) CHECK(brute_force(rows, squares(), "beta", far) < beta.threshold);
  CHECK_FALSE(beta.high);
  CHECK_FALSE(of(profile, "B").high);
  CHECK_FALSE(of(profile, "a").high);
}

TEST_CASE("among several basins an end is that of the lowest one") {
  // Designs so small and noisy that the basin of the optimum is left on the way to an end.
  std::size_t ends = 0;
  for (const std::uint64_t seed : {24U, 283U, 287U, 318U, 326U, 342U, 370U, 372U}) {
    RandomStream random(seed);
    const double sd = std::pow(10.0, -2.5 + 1.5 * random.uniform());
    const double parameters_span = std::pow(10.0, 0.3 + 1.5 * random.uniform());
    const double tokens_span = std::pow(10.0, 0.3 + 1.5 * random.uniform());
    const int sizes = 3 + static_cast<int>(random.below(4));
    const int lengths = 3 + static_cast<int>(random.below(4));
    Rows rows;
    for (int i = 0; i < sizes; ++i) {
      for (int j = 0; j < lengths; ++j) {
        const double n = 1e8 * std::pow(parameters_span, i / (sizes - 1.0));
        const double d = 5e9 * std::pow(tokens_span, j / (lengths - 1.0));
        rows.push_back({n, d, truth.loss(n, d), 1.0, i});
      }
    }
    fit_data::add_noise(rows, sd, random);
    const fit::ChinchillaReport report = fit::chinchilla(rows, squares());
    const fit::ProfileReport profile = fit::profile_likelihood(rows, report, {.points = 0});
    REQUIRE(profile.available);
    for (const fit::CoefficientProfile& one : profile.coefficients) {
      if (one.name == "a") continue;
      CAPTURE(seed);
      CAPTURE(one.name);
      for (const auto& end : {one.low, one.high}) {
        if (!end) continue;
        ++ends;
        CHECK(brute_force(rows, squares(), one.name, *end) >= one.threshold * (1 - 1e-6));
      }
    }
  }
  CHECK(ends > 40);
}

TEST_CASE("fixed coefficients have no profile, and the others are given them") {
  const Rows rows = noisy(0.01, 66);
  fit::ChinchillaOptions options = squares();
  options.bounds.irreducible_loss = fit::Bounds::fixed(1.72);
  options.bounds.token_exponent = fit::Bounds::fixed(0.37);
  const fit::ChinchillaReport report = fit::chinchilla(rows, options);
  const fit::ProfileReport profile = fit::profile_likelihood(rows, report, {.level = 0.9, .points = 3});
  REQUIRE(profile.available);
  CHECK_FALSE(of(profile, "E").available());
  CHECK_FALSE(of(profile, "beta").available());
  for (const char* name : {"A", "B", "alpha"}) {
    const fit::CoefficientProfile& one = of(profile, name);
    REQUIRE(one.low);
    CHECK(brute_force(rows, options, name, *one.low) == near(one.threshold, 1e-7));
    CHECK(one.curve.size() == 7);
  }
  // With beta fixed, a says what alpha says.
  const auto a_of = [](double alpha) { return 0.37 / (0.37 + alpha); };
  CHECK(*of(profile, "a").low == near(a_of(*of(profile, "alpha").high), 1e-8));
  CHECK(*of(profile, "a").high == near(a_of(*of(profile, "alpha").low), 1e-8));
}

TEST_CASE("no profile is claimed without a scale for the rise of the objective") {
  const Rows rows = noisy(0.01, 67, 5, 5);
  fit::ChinchillaOptions absolute;
  absolute.estimator.loss = fit::Loss::least_absolute_deviations;
  const fit::ProfileReport lad = fit::profile_likelihood(rows, fit::chinchilla(rows, absolute));
  CHECK_FALSE(lad.available);
  CHECK(lad.reason.find("least absolute deviations") != std::string::npos);
  const fit::ProfileReport narrow = fit::profile_likelihood(rows, fit::chinchilla(rows, huber(1e-5)));
  CHECK_FALSE(narrow.available);
  CHECK(narrow.reason.find("delta") != std::string::npos);
  const Rows five = {rows[0], rows[4], rows[12], rows[20], rows[24]};
  CHECK_FALSE(fit::profile_likelihood(five, fit::chinchilla(five, squares())).available);
  const fit::ChinchillaReport report = fit::chinchilla(rows, squares());
  CHECK(thrown::by([&] { (void)fit::profile_likelihood(rows, report, {.level = 0}); }).failure() == Failure::usage);
}

TEST_CASE(
    "on the replication's data the profile scaled by the sandwich is as wide as the bootstrap, the plain one not") {
  const auto rows = fit_data::epoch();
  if (!rows) return;
  const fit::ChinchillaReport report = fit::chinchilla(*rows, huber(1e-2));
  const fit::ProfileReport plain = fit::profile_likelihood(*rows, report);
  const fit::ProfileReport robust = fit::profile_likelihood(*rows, report, {.scale = fit::ProfileScale::sandwich});
  const fit::CovarianceReport covariance = fit::covariance(*rows, report);
  fit::BootstrapOptions resampling;
  resampling.resamples = 2000;
  const fit::BootstrapReport boot = fit::bootstrap(*rows, report, resampling);
  MESSAGE(plain.evaluations << " evaluations");
  for (std::size_t k = 0; k < 6; ++k) {
    const fit::CoefficientProfile& one = robust.coefficients[k];
    const fit::CoefficientProfile& narrow = plain.coefficients[k];
    CAPTURE(one.name);
    REQUIRE(one.low);
    REQUIRE(one.high);
    REQUIRE(narrow.low);
    REQUIRE(narrow.high);
    const auto of_law = [&](const Law& law) { return quantity(law, one.name); };
    const Interval drawn = fit::estimate(boot, of_law).interval;
    MESSAGE(one.name << " " << one.estimate << ": plain [" << *narrow.low << ", " << *narrow.high << "], sandwich ["
                     << *one.low << ", " << *one.high << "], bootstrap [" << drawn.low << ", " << drawn.high << "]");
    const double width = std::log(*one.high / *one.low);
    CHECK(width == doctest::Approx(std::log(drawn.high / drawn.low)).epsilon(0.35));
    CHECK(std::log(*narrow.high / *narrow.low) < 0.85 * width);
    // Each is as wide as its covariance.
    const Estimate straight = fit::estimate(covariance, covariance.sandwich, of_law);
    CHECK(width == doctest::Approx(std::log(straight.interval.high / straight.interval.low)).epsilon(0.15));
  }
}

TEST_CASE("a 90% profile interval covers the planted truth about 90% of the time") {
  constexpr std::size_t sets = 400;
  std::vector<int> covered(6);
  for (std::size_t i = 0; i < sets; ++i) {
    const Rows rows = noisy(0.01, 7000 + i, 6, 6);
    const fit::ChinchillaReport report = fit::chinchilla(rows, squares());
    const fit::ProfileReport profile = fit::profile_likelihood(rows, report, {.level = 0.9, .points = 0});
    for (std::size_t k = 0; k < profile.coefficients.size(); ++k) {
      const fit::CoefficientProfile& one = profile.coefficients[k];
      const double planted = quantity(truth, one.name);
      covered[k] += (!one.low || *one.low <= planted) && (!one.high || planted <= *one.high) ? 1 : 0;
    }
  }
  for (const int count : covered) {
    const double share = static_cast<double>(count) / sets;
    MESSAGE("covered " << share);
    // Monte Carlo standard error 1.5 points.
    CHECK(share > 0.86);
    CHECK(share < 0.94);
  }
}
