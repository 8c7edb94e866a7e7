// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "fit/fit_data.hpp"
#include "floplan/core/random.hpp"
#include "floplan/fit/chinchilla.hpp"

namespace {

using namespace floplan;
using Rows = std::vector<runs::Observation>;

const law::Chinchilla<double> truth{1.72, 480, 2100, 0.35, 0.37};

double uniform(RandomStream& random, double low, double high) { return low + (high - low) * random.uniform(); }
double log_uniform(RandomStream& random, double low, double high) {
  return low * std::pow(high / low, random.uniform());
}

Rows noisy(double sd, std::uint64_t seed, int budgets = 8, int sizes = 9) {
  Rows out = fit_data::planned(truth, budgets, sizes);
  RandomStream random(seed);
  fit_data::add_noise(out, sd, random);
  return out;
}

void shuffle(Rows& rows, RandomStream& random) {
  for (std::size_t i = rows.size(); i > 1; --i) {
    std::swap(rows[i - 1], rows[random.below(static_cast<std::uint32_t>(i))]);
  }
}

const std::vector<fit::Estimator> estimators = {
    {fit::Residual::log, fit::Loss::huber, 1e-3},
    {fit::Residual::raw, fit::Loss::huber, 1e-2},
    {fit::Residual::log, fit::Loss::least_squares, 1},
    {fit::Residual::raw, fit::Loss::least_squares, 1},
    {fit::Residual::log, fit::Loss::least_absolute_deviations, 1},
    {fit::Residual::raw, fit::Loss::least_absolute_deviations, 1},
};

bool same_bits(const law::Chinchilla<double>& a, const law::Chinchilla<double>& b) {
  return a.irreducible_loss == b.irreducible_loss && a.parameter_coefficient == b.parameter_coefficient &&
         a.token_coefficient == b.token_coefficient && a.parameter_exponent == b.parameter_exponent &&
         a.token_exponent == b.token_exponent;
}

// Largest relative difference of the five coefficients.
double difference(const law::Chinchilla<double>& a, const law::Chinchilla<double>& b) {
  const auto relative = [](double x, double y) { return std::abs(x - y) / std::max(std::abs(y), 1e-300); };
  return std::max({relative(a.irreducible_loss, b.irreducible_loss),
                   relative(a.parameter_coefficient, b.parameter_coefficient),
                   relative(a.token_coefficient, b.token_coefficient),
                   relative(a.parameter_exponent, b.parameter_exponent), relative(a.token_exponent, b.token_exponent)});
}

}  // namespace

TEST_CASE("runs without noise give back the law that made them, to 1e-8, over exponents .05 to 1 and A, B 1 to 1e7") {
  double worst = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    RandomStream random(20260101, i);
    // N and D in units that keep both terms of the size of a loss: with A = 1 and alpha = 1 in units of one the term
    // would be 1e-9 of the loss, and no data in double precision could hold it.
    const law::Chinchilla<double> law{uniform(random, 0.5, 3), log_uniform(random, 1, 1e7), log_uniform(random, 1, 1e7),
                                      uniform(random, 0.05, 1), uniform(random, 0.05, 1)};
    const double n0 = std::pow(law.parameter_coefficient / uniform(random, 0.2, 2), 1 / law.parameter_exponent);
    const double d0 = std::pow(law.token_coefficient / uniform(random, 0.2, 2), 1 / law.token_exponent);
    if (n0 > 1e60 || d0 > 1e60) continue;
    Rows rows;
    for (int j = 0; j < 8; ++j) {
      for (int k = 0; k < 8; ++k) {
        const double n = n0 * std::pow(1000.0, (j - 3.5) / 7);
        const double d = d0 * std::pow(1000.0, (k - 3.5) / 7);
        rows.push_back({n, d, law.loss(n, d), 1.0, 0});
      }
    }
    for (const fit::Estimator& estimator : {estimators[0], estimators[2], estimators[4]}) {
      fit::ChinchillaOptions options;
      options.estimator = estimator;
      const fit::ChinchillaReport report = fit::chinchilla(rows, options);
      CAPTURE(i);
      CAPTURE(to_text(estimator.loss));
      CAPTURE(report.describe());
      CHECK(report.search.converged);
      const double off = difference(report.law, law);
      CHECK(off < 1e-8);
      worst = std::max(worst, off);
    }
  }
  MESSAGE("worst relative error " << worst);
}

TEST_CASE("the order of rows does not change a bit of the answer") {
  for (const fit::Estimator& estimator : estimators) {
    fit::ChinchillaOptions options;
    options.estimator = estimator;
    Rows rows = noisy(0.01, 5);
    const fit::ChinchillaReport first = fit::chinchilla(rows, options);
    RandomStream random(6);
    for (int i = 0; i < 3; ++i) {
      shuffle(rows, random);
      const fit::ChinchillaReport again = fit::chinchilla(rows, options);
      CHECK(same_bits(first.law, again.law));
      CHECK(first.objective == again.objective);
    }
  }
}

TEST_CASE("N in millions and D in billions give the same law, to 1e-10") {
  for (const fit::Estimator& estimator : estimators) {
    fit::ChinchillaOptions options;
    options.estimator = estimator;
    const Rows rows = noisy(0.01, 7);
    Rows scaled = rows;
    for (runs::Observation& row : scaled) {
      row.parameters /= 1e6;
      row.tokens /= 1e9;
    }
    const fit::ChinchillaReport one = fit::chinchilla(rows, options);
    fit::ChinchillaReport other = fit::chinchilla(scaled, options);
    other.law.parameter_coefficient *= std::pow(1e6, other.law.parameter_exponent);
    other.law.token_coefficient *= std::pow(1e9, other.law.token_exponent);
    CAPTURE(to_text(estimator.loss));
    CHECK(difference(other.law, one.law) < 1e-10);
    CHECK(other.objective == doctest::Approx(one.objective).epsilon(1e-12));
  }
}

TEST_CASE("the unit of the loss scales E, A and B and leaves the exponents, to 1e-10") {
  for (const fit::Estimator& estimator : estimators) {
    fit::ChinchillaOptions options;
    options.estimator = estimator;
    const Rows rows = noisy(0.01, 8);
    const fit::ChinchillaReport nats = fit::chinchilla(rows, options);
    Rows scaled = rows;
    for (runs::Observation& row : scaled) row.loss /= 0.6931471805599453;
    if (estimator.residual == fit::Residual::raw) options.estimator.delta /= 0.6931471805599453;
    fit::ChinchillaReport bits = fit::chinchilla(scaled, options);
    bits.law.irreducible_loss *= 0.6931471805599453;
    bits.law.parameter_coefficient *= 0.6931471805599453;
    bits.law.token_coefficient *= 0.6931471805599453;
    CHECK(difference(bits.law, nats.law) < 1e-10);
  }
}

TEST_CASE("weights multiply the objective and nothing else, and a weight of 2 is a row written twice") {
  for (const fit::Estimator& estimator : estimators) {
    fit::ChinchillaOptions options;
    options.estimator = estimator;
    const Rows rows = noisy(0.01, 9);
    const fit::ChinchillaReport plain = fit::chinchilla(rows, options);
    Rows weighted = rows;
    for (runs::Observation& row : weighted) row.weight = 1e-6;
    const fit::ChinchillaReport light = fit::chinchilla(weighted, options);
    CHECK(difference(light.law, plain.law) < 1e-10);
    CHECK(light.objective == doctest::Approx(1e-6 * plain.objective).epsilon(1e-10));
    CHECK(light.residual_sd == doctest::Approx(plain.residual_sd).epsilon(1e-10));

    Rows some = rows;
    Rows twice = rows;
    for (std::size_t i = 0; i < rows.size(); i += 3) {
      some[i].weight = 2;
      twice.push_back(rows[i]);
    }
    some[1].weight = 0;
    twice.erase(twice.begin() + 1);
    const fit::ChinchillaReport a = fit::chinchilla(some, options);
    const fit::ChinchillaReport b = fit::chinchilla(twice, options);
    CHECK(same_bits(a.law, b.law));
    CHECK(a.objective == b.objective);
    CHECK(a.duplicates() == 0);
    CHECK(b.duplicates() == (rows.size() + 2) / 3);
    CHECK(a.degrees_of_freedom == b.degrees_of_freedom);
  }
}

TEST_CASE("the gradient vanishes at the answer and every neighbour is worse") {
  const Rows rows = noisy(0.01, 10);
  for (const fit::Estimator& estimator : estimators) {
    fit::ChinchillaOptions options;
    options.estimator = estimator;
    const fit::ChinchillaReport report = fit::chinchilla(rows, options);
    CHECK(report.search.gradient < 1e-9);
    RandomStream random(11);
    for (int i = 0; i < 200; ++i) {
      const double size = log_uniform(random, 1e-5, 1e-1);
      law::Chinchilla<double> other = report.law;
      other.irreducible_loss *= std::exp(size * uniform(random, -1, 1));
      other.parameter_exponent *= std::exp(size * uniform(random, -1, 1));
      other.token_exponent *= std::exp(size * uniform(random, -1, 1));
      // Along the valley: a change of exponent with the coefficient that keeps the term at the middle of the data.
      other.parameter_coefficient *= std::exp(size * uniform(random, -1, 1)) *
                                     std::pow(1e9, other.parameter_exponent - report.law.parameter_exponent);
      other.token_coefficient *=
          std::exp(size * uniform(random, -1, 1)) * std::pow(2e10, other.token_exponent - report.law.token_exponent);
      CHECK(fit::objective(rows, other, estimator) > report.objective);
    }
  }
}

TEST_CASE("a fine robust search finds no lower point than the map does, also among outliers") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rows rows = noisy(0.01, 100 + seed, 6, 6);
    RandomStream random(1000, seed);
    for (runs::Observation& row : rows) {
      if (random.uniform() < 0.1) row.loss *= std::exp(uniform(random, -0.3, 0.6));
    }
    for (const fit::Estimator& estimator : estimators) {
      fit::ChinchillaOptions options;
      options.estimator = estimator;
      const fit::ChinchillaReport report = fit::chinchilla(rows, options);
      CAPTURE(seed);
      CAPTURE(to_text(estimator.loss));
      CAPTURE(report.describe());
      const bool absolute = estimator.loss == fit::Loss::least_absolute_deviations;
      CHECK(report.search.converged);
      double lowest = report.objective;
      for (int i = 0; i < 30; ++i) {
        options.given_start = law::Chinchilla<double>{uniform(random, 0.3, 2.5), 0, 0, log_uniform(random, 0.05, 1.5),
                                                      log_uniform(random, 0.05, 1.5)};
        options.given_start->parameter_coefficient =
            uniform(random, 0.05, 2) * std::pow(5e8, options.given_start->parameter_exponent);
        options.given_start->token_coefficient =
            uniform(random, 0.05, 2) * std::pow(1e10, options.given_start->token_exponent);
        lowest = std::min(lowest, fit::chinchilla(rows, options).objective);
      }
      CHECK(report.objective <= lowest * (1 + (absolute ? 1e-4 : 1e-9)));
    }
  }
}
