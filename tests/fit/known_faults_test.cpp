// SPDX-License-Identifier: BSD-3-Clause
//
// Faults that people meet when they fit (see the case names), each with the answer that is right.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "fit/fit_data.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/random.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "support/warned.hpp"

namespace {

using namespace floplan;
using Rows = std::vector<runs::Observation>;

const law::Chinchilla<double> truth{1.72, 480, 2100, 0.35, 0.37};

// 40 synthetic runs with .6% noise; the optimum and its tolerances are in the file's last columns.
Rows surface() { return fit_data::rows(fit_data::reference("fit_k01_surface.csv"), "", "params", "tokens", "loss"); }

double expected(const std::string& quantity, const char* column) {
  const CsvTable table = fit_data::reference("fit_known_faults.csv");
  for (const CsvRow row : table.rows()) {
    if (row[table.column("quantity")] == quantity) return fit_data::number(row[table.column(column)]);
  }
  FAIL("no reference for " << quantity);
  return 0;
}

Failure failure_of(const Rows& rows, const fit::ChinchillaOptions& options, const std::string& code) {
  try {
    (void)fit::chinchilla(rows, options);
  } catch (const Error& error) {
    CHECK(error.code() == code);
    CHECK(std::string(error.what()).size() > 20);
    return error.failure();
  }
  FAIL("no error");
  return Failure::internal;
}

}  // namespace

TEST_CASE("a mean objective does not stop early (K01)") {
  Rows rows = surface();
  REQUIRE(rows.size() == 40);
  const fit::ChinchillaReport sum = fit::chinchilla(rows);
  CHECK(sum.objective <= expected("k01_objective", "value") * (1 + expected("k01_objective", "tolerance")));
  CHECK(std::abs(sum.law.parameter_exponent - expected("k01_alpha", "value")) <= expected("k01_alpha", "tolerance"));
  CHECK(std::abs(sum.law.token_exponent - expected("k01_beta", "value")) <= expected("k01_beta", "tolerance"));
  for (const double scale : {1.0 / 40, 1e-12, 1e12}) {
    for (runs::Observation& row : rows) row.weight = scale;
    const fit::ChinchillaReport scaled = fit::chinchilla(rows);
    CHECK(scaled.search.converged);
    CHECK(scaled.law.parameter_exponent == doctest::Approx(sum.law.parameter_exponent).epsilon(1e-10));
    CHECK(scaled.law.token_coefficient == doctest::Approx(sum.law.token_coefficient).epsilon(1e-10));
    CHECK(scaled.objective == doctest::Approx(scale * sum.objective).epsilon(1e-10));
  }
}

TEST_CASE("a poor single start does not change the answer, and the report says how many starts agree (K03)") {
  const Rows rows = surface();
  const fit::ChinchillaReport best = fit::chinchilla(rows);
  fit::ChinchillaOptions options;
  options.given_start = law::Chinchilla<double>{std::exp(-0.5), std::exp(15.0), std::exp(15.0), 1, 1};
  const fit::ChinchillaReport started = fit::chinchilla(rows, options);
  CHECK(started.law.token_coefficient == doctest::Approx(best.law.token_coefficient).epsilon(1e-10));
  CHECK(started.law.parameter_exponent == doctest::Approx(best.law.parameter_exponent).epsilon(1e-10));
  CHECK(started.search.starts == best.search.starts + 1);
  options.start = fit::StartPolicy::hoffmann_grid;
  options.threads = 2;
  const fit::ChinchillaReport grid = fit::chinchilla(rows, options);
  CHECK(grid.search.starts == 4500);
  CHECK(grid.search.agreeing >= 1);
  CHECK(grid.search.agreeing <= 4500);
  CHECK(grid.law.token_coefficient == doctest::Approx(best.law.token_coefficient).epsilon(1e-10));
  CHECK(grid.at_bound.empty());
}

TEST_CASE("one D throughout is refused, since B, beta and E cannot be told apart") {
  Rows rows;
  for (int i = 0; i < 8; ++i) {
    const double n = 7e7 * std::pow(2.0, i);
    rows.push_back({n, 299.89e9, truth.loss(n, 299.89e9) * (1 + 0.001 * (i % 3)), 1, 0});
  }
  CHECK(failure_of(rows, {}, "not_identified") == Failure::no_answer);
  for (runs::Observation& row : rows) std::swap(row.parameters, row.tokens);
  CHECK(failure_of(rows, {}, "not_identified") == Failure::no_answer);
}

TEST_CASE("two distinct D, or N and D in a fixed ratio with one exponent, are refused as not identified") {
  Rows rows;
  for (int i = 0; i < 8; ++i) {
    for (const double d : {1e10, 1e11}) {
      const double n = 7e7 * std::pow(2.0, i);
      rows.push_back({n, d, truth.loss(n, d), 1, 0});
    }
  }
  CHECK(failure_of(rows, {}, "not_identified") == Failure::no_answer);
  fit::ChinchillaOptions fixed;
  fixed.bounds.token_exponent = fit::Bounds::fixed(0.37);
  fixed.bounds.irreducible_loss = fit::Bounds::fixed(1.72);
  const fit::ChinchillaReport report = fit::chinchilla(rows, fixed);
  CHECK(report.free_coefficients == 3);
  CHECK(report.law.token_coefficient == doctest::Approx(2100).epsilon(1e-8));
  CHECK(report.law.parameter_exponent == doctest::Approx(0.35).epsilon(1e-8));
}

TEST_CASE("fewer distinct rows than free coefficients is refused, copies of rows notwithstanding") {
  Rows rows = fit_data::planned(truth, 2, 2);
  CHECK(failure_of(rows, {}, "too_few_rows") == Failure::no_answer);
  const Rows once = rows;
  rows.insert(rows.end(), once.begin(), once.end());
  rows.insert(rows.end(), once.begin(), once.end());
  CHECK(failure_of(rows, {}, "too_few_rows") == Failure::no_answer);
  CHECK(failure_of({}, {}, "too_few_rows") == Failure::no_answer);
  for (runs::Observation& row : rows) row.weight = 0;
  CHECK(failure_of(rows, {}, "too_few_rows") == Failure::no_answer);
}

TEST_CASE("as many rows as coefficients fit exactly and give no interval") {
  Rows rows = {
      {1e8, 2e9, 0, 1, 0}, {4e8, 1e10, 0, 1, 0}, {1e9, 4e9, 0, 1, 0}, {3e9, 8e10, 0, 1, 0}, {9e9, 2e10, 0, 1, 0}};
  for (runs::Observation& row : rows) row.loss = truth.loss(row.parameters, row.tokens);
  const fit::ChinchillaReport report = fit::chinchilla(rows);
  CHECK(report.degrees_of_freedom == 0);
  CHECK(std::isnan(report.residual_sd));
  CHECK(warned(report.warnings, "no_degrees_of_freedom"));
  const fit::BootstrapReport boot = fit::bootstrap(rows, report);
  CHECK_FALSE(boot.available);
  CHECK(warned(boot.warnings, "interval_not_available"));
  const Estimate alpha = fit::estimate(boot, [](const auto& law) { return law.parameter_exponent; });
  CHECK(alpha.value == report.law.parameter_exponent);
  CHECK(std::isnan(alpha.interval.low));
}

TEST_CASE("rows that cannot be used are refused by number, and unusable options by name") {
  const Rows good = fit_data::planned(truth);
  const double nan = std::nan("");
  for (const double bad : {0.0, -1.2, nan, HUGE_VAL}) {
    for (int field = 0; field < 3; ++field) {
      Rows rows = good;
      (field == 0 ? rows[3].parameters : field == 1 ? rows[3].tokens : rows[3].loss) = bad;
      CHECK(failure_of(rows, {}, "out_of_range") == Failure::data);
    }
  }
  for (const double bad : {-1.0, nan, HUGE_VAL}) {
    Rows rows = good;
    rows[3].weight = bad;
    CHECK(failure_of(rows, {}, "out_of_range") == Failure::data);
  }
  fit::ChinchillaOptions options;
  for (const double bad : {0.0, -1e-3, nan, HUGE_VAL}) {
    options.estimator.delta = bad;
    CHECK(failure_of(good, options, "out_of_range") == Failure::usage);
  }
  options = {};
  options.bounds.token_exponent = {0.5, 0.2};
  CHECK(failure_of(good, options, "out_of_range") == Failure::usage);
  options.bounds.token_exponent = {0, 1};
  CHECK(failure_of(good, options, "out_of_range") == Failure::usage);
  options = {};
  options.bounds.irreducible_loss = {-1, 1};
  CHECK(failure_of(good, options, "out_of_range") == Failure::usage);
}

TEST_CASE("losses that fall without an asymptote put E at its bound, and the report says so") {
  const law::Chinchilla<double> no_floor{0, 30, 60, 0.15, 0.2};
  Rows rows = fit_data::planned(no_floor);
  RandomStream random(3);
  fit_data::add_noise(rows, 0.005, random);
  bool at_zero = false;
  for (int i = 0; i < 8; ++i) {
    fit_data::add_noise(rows, 0.003, random);
    const fit::ChinchillaReport report = fit::chinchilla(rows);
    CHECK(report.search.converged);
    if (report.law.irreducible_loss > 0) {
      CHECK(warned(report.warnings, "unidentified_asymptote"));
      continue;
    }
    at_zero = true;
    CHECK(report.at_bound == std::vector<std::string>{"E"});
    CHECK(warned(report.warnings, "parameter_at_bound"));
  }
  CHECK(at_zero);
}

TEST_CASE("losses that do not depend on D put B at zero and are not identified in beta") {
  Rows rows = fit_data::planned(truth);
  for (runs::Observation& row : rows) row.loss = 1.7 + 400 * std::pow(row.parameters, -0.33);
  RandomStream random(4);
  fit_data::add_noise(rows, 0.002, random);
  const fit::ChinchillaReport report = fit::chinchilla(rows);
  CAPTURE(report.describe());
  CHECK_FALSE(report.identifiability.identifiable);
  CHECK(warned(report.warnings, "flat_valley"));
}

TEST_CASE("noise that swamps the token term is reported as a flat valley, with the exponent's standard error") {
  Rows rows = fit_data::planned({1.72, 480, 20, 0.35, 0.37}, 5, 5);
  RandomStream random(12);
  fit_data::add_noise(rows, 0.02, random);
  const fit::ChinchillaReport report = fit::chinchilla(rows);
  CAPTURE(report.describe());
  CHECK_FALSE(report.identifiability.identifiable);
  CHECK_FALSE(report.identifiability.reason.empty());
}

TEST_CASE("fixed and bounded coefficients are respected, and an end that is reached is named") {
  Rows rows = fit_data::planned(truth);
  RandomStream random(5);
  fit_data::add_noise(rows, 0.005, random);
  const fit::ChinchillaReport free = fit::chinchilla(rows);
  fit::ChinchillaOptions options;
  options.bounds.parameter_coefficient = fit::Bounds::fixed(480);
  const fit::ChinchillaReport fixed = fit::chinchilla(rows, options);
  CHECK(fixed.law.parameter_coefficient == doctest::Approx(480).epsilon(1e-14));
  CHECK(fixed.free_coefficients == 4);
  CHECK(fixed.objective >= free.objective);
  CHECK(fixed.at_bound.empty());
  options = {};
  options.bounds.token_exponent = {0.45, 0.6};
  const fit::ChinchillaReport bounded = fit::chinchilla(rows, options);
  CHECK(bounded.law.token_exponent == doctest::Approx(0.45).epsilon(1e-14));
  CHECK(bounded.at_bound == std::vector<std::string>{"beta"});
  CHECK(bounded.objective > free.objective);
  // Wide bounds on a coefficient give up centring, and nothing else.
  options = {};
  options.bounds.parameter_coefficient = {1e-3, 1e9};
  options.bounds.token_coefficient = {1e-3, 1e9};
  options.bounds.irreducible_loss = {0.1, 10};
  const fit::ChinchillaReport uncentred = fit::chinchilla(rows, options);
  CHECK(uncentred.objective == doctest::Approx(free.objective).epsilon(1e-9));
  CHECK(uncentred.law.token_coefficient == doctest::Approx(free.law.token_coefficient).epsilon(1e-6));
  // Without the parameter term the law is E + B / D^beta.
  options = {};
  options.bounds.parameter_coefficient = fit::Bounds::fixed(0);
  const fit::ChinchillaReport tokens_only = fit::chinchilla(rows, options);
  CHECK(tokens_only.law.parameter_coefficient == 0);
  CHECK(tokens_only.free_coefficients == 3);
}

TEST_CASE("delta auto is 1.345 robust standard deviations, and delta's place in the noise is remarked on") {
  Rows rows = fit_data::planned(truth, 8, 30);
  RandomStream random(6);
  fit_data::add_noise(rows, 0.01, random);
  fit::ChinchillaOptions options;
  options.automatic_delta = true;
  const fit::ChinchillaReport report = fit::chinchilla(rows, options);
  CHECK(report.options.estimator.delta == doctest::Approx(1.345 * 0.01).epsilon(0.15));
  CHECK_FALSE(warned(report.warnings, "delta_below_noise"));
  CHECK(report.robust_residual_sd == doctest::Approx(0.01).epsilon(0.15));
  CHECK(report.residual_sd == doctest::Approx(0.01).epsilon(0.15));
  CHECK(warned(fit::chinchilla(rows).warnings, "delta_below_noise"));
}

TEST_CASE("whatever positive rows are given, the answer is finite or a refusal") {
  int answered = 0;
  int refused = 0;
  for (std::uint64_t i = 0; i < 600; ++i) {
    RandomStream random(77, i);
    const auto spread = [&](double low, double high) { return low * std::pow(high / low, random.uniform()); };
    const bool wide = i % 3 == 0;
    Rows rows;
    for (std::uint32_t k = 0; k < 3 + i % 12; ++k) {
      rows.push_back({wide ? spread(1e-50, 1e50) : spread(1e6, 1e11), wide ? spread(1e-50, 1e50) : spread(1e8, 1e13),
                      wide ? spread(1e-50, 1e50) : spread(1, 10), spread(1e-9, 1e9), 0});
      if (i % 5 == 0) rows.back().loss = 2.5;
      if (i % 7 == 0) rows.back().tokens = 20 * rows.back().parameters;
    }
    fit::ChinchillaOptions options;
    options.estimator.loss = i % 4 == 0   ? fit::Loss::least_squares
                             : i % 4 == 1 ? fit::Loss::least_absolute_deviations
                                          : fit::Loss::huber;
    options.estimator.residual = i % 2 == 0 ? fit::Residual::log : fit::Residual::raw;
    options.automatic_delta = i % 4 == 3;
    CAPTURE(i);
    try {
      const fit::ChinchillaReport report = fit::chinchilla(rows, options);
      CAPTURE(report.describe());
      CHECK(std::isfinite(report.objective));
      CHECK(report.objective >= 0);
      CHECK(report.law.irreducible_loss >= 0);
      CHECK(std::isfinite(report.law.parameter_exponent));
      fit::BootstrapOptions few;
      few.resamples = 3;
      few.threads = 1;
      (void)fit::bootstrap(rows, report, few);
      ++answered;
    } catch (const Error& error) {
      CHECK(error.failure() == Failure::no_answer);
      ++refused;
    }
  }
  CHECK(answered > 100);
  CHECK(refused > 50);
}
