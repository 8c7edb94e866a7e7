// SPDX-License-Identifier: BSD-3-Clause
//
// Does the fit find a law again that the runs follow exactly, and where it cannot, is that the fit or the arithmetic?
//
//   for (const fit::RecoveryReport& one : fit::recover(fit::recovery_lattice())) one.verdict(), one.error
//
// Plants a law, takes its own losses on 8 budgets over 3.2 decades with 9 sizes within 6x of its best one, fits, and
// compares all five coefficients.
//
//   error     the largest |found / planted - 1| of E, A, B, alpha, beta
//   possible  what rounding the residuals may do to that by itself: max over k of SUM over rows of |P_ki| eps, P the
//             pseudo-inverse of d ln L / d ln theta, eps = 4e-16 for a loss that was rounded, an exponential, a logarithm
//
// No estimator in doubles can promise an error below `possible`. A law whose `possible` is above the goal
// is out of reach; one whose `possible` is below it and whose error is not is a fault of the search.
//
// The lattice is every alpha, beta of .05, .1, .2, .35, .5, .7, 1 with A, B of 1, 1e2, 1e4, 1e7 and E = 1.72: 784 laws.
// Many are no language models: the best N of some is below one parameter.
// Cost: a fit and a 72 x 5 factorisation a law; some seconds for the lattice on one core.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/parallel_for.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/fit/allocation.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit {

enum class RecoveryVerdict { recovered, out_of_reach, missed };

[[nodiscard]] inline std::string_view to_text(RecoveryVerdict verdict) {
  switch (verdict) {
    case RecoveryVerdict::out_of_reach: return "out_of_reach";
    case RecoveryVerdict::missed: return "missed";
    case RecoveryVerdict::recovered: break;
  }
  return "recovered";
}

struct RecoveryReport {
  law::Chinchilla<double> planted;
  std::optional<ChinchillaReport> fit;  // absent where it was refused
  std::string reason;                   // of the refusal
  double error = std::numeric_limits<double>::infinity();
  double possible = std::numeric_limits<double>::infinity();

  [[nodiscard]] RecoveryVerdict verdict(double goal = 1e-8) const {
    if (error <= goal) return RecoveryVerdict::recovered;
    return possible <= goal ? RecoveryVerdict::missed : RecoveryVerdict::out_of_reach;
  }
};

[[nodiscard]] inline std::vector<law::Chinchilla<double>> recovery_lattice() {
  std::vector<law::Chinchilla<double>> out;
  constexpr double exponents[] = {0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1};
  constexpr double coefficients[] = {1, 1e2, 1e4, 1e7};
  for (const double alpha : exponents) {
    for (const double beta : exponents) {
      for (const double a : coefficients) {
        for (const double b : coefficients) out.push_back({1.72, a, b, alpha, beta});
      }
    }
  }
  return out;
}

// Runs that follow the law exactly.
[[nodiscard]] inline std::vector<runs::Observation> recovery_runs(const law::Chinchilla<double>& law, int budgets = 8,
                                                                  int sizes = 9) {
  const Allocation best = allocation(law);
  std::vector<runs::Observation> out;
  for (int i = 0; i < budgets; ++i) {
    const double flop = 1e18 * std::pow(10.0, 3.2 * i / std::max(1, budgets - 1));
    const double centre = best.parameters(Flop(flop)).value;
    for (int j = 0; j < sizes; ++j) {
      const double n = centre * std::pow(6.0, -1 + 2.0 * j / std::max(1, sizes - 1));
      const double d = flop / (6 * n);
      out.push_back({n, d, law.loss(n, d), 1, i});
    }
  }
  return out;
}

// `possible` of the opening comment, in extended precision.
[[nodiscard]] inline double rounding_error(const law::Chinchilla<double>& law,
                                           const std::vector<runs::Observation>& rows) {
  using Column = std::vector<long double>;
  const std::size_t n = rows.size();
  std::array<Column, 5> q;
  for (Column& column : q) column.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const long double x = std::log(static_cast<long double>(rows[i].parameters));
    const long double y = std::log(static_cast<long double>(rows[i].tokens));
    const long double e = law.irreducible_loss;
    const long double a = law.parameter_coefficient * std::exp(-law.parameter_exponent * x);
    const long double b = law.token_coefficient * std::exp(-law.token_exponent * y);
    const long double loss = e + a + b;
    q[0][i] = e / loss;
    q[1][i] = a / loss;
    q[2][i] = b / loss;
    q[3][i] = -law.parameter_exponent * x * a / loss;
    q[4][i] = -law.token_exponent * y * b / loss;
  }
  // Gram and Schmidt, twice; then the rows of R^-1 Q'.
  std::array<std::array<long double, 5>, 5> r{};
  for (std::size_t k = 0; k < 5; ++k) {
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t j = 0; j < k; ++j) {
        const long double share = std::inner_product(q[j].begin(), q[j].end(), q[k].begin(), 0.0L);
        for (std::size_t i = 0; i < n; ++i) q[k][i] -= share * q[j][i];
        r[j][k] += share;
      }
    }
    r[k][k] = std::sqrt(std::inner_product(q[k].begin(), q[k].end(), q[k].begin(), 0.0L));
    if (!(r[k][k] > 0)) return std::numeric_limits<double>::infinity();
    for (long double& value : q[k]) value /= r[k][k];
  }
  std::array<long double, 5> sum{};
  for (std::size_t i = 0; i < n; ++i) {
    std::array<long double, 5> column{};
    for (std::size_t k = 5; k-- > 0;) {
      column[k] = q[k][i];
      for (std::size_t j = k + 1; j < 5; ++j) column[k] -= r[k][j] * column[j];
      column[k] /= r[k][k];
      sum[k] += std::abs(column[k]);
    }
  }
  return static_cast<double>(4e-16L * *std::max_element(sum.begin(), sum.end()));
}

[[nodiscard]] inline RecoveryReport recovery(const law::Chinchilla<double>& law,
                                             const ChinchillaOptions& options = {}) {
  const std::vector<runs::Observation> rows = recovery_runs(law);
  RecoveryReport out;
  out.planted = law;
  out.possible = rounding_error(law, rows);
  try {
    out.fit = chinchilla(rows, options);
  } catch (const Error& error) {
    if (error.failure() != Failure::no_answer) throw;
    out.reason = error.what();
    return out;
  }
  out.error = 0;
  for (const law::NamedCoefficient& c : law::chinchilla_coefficients)
    out.error = std::max(out.error, std::abs(out.fit->law.*c.field / law.*c.field - 1));
  return out;
}

// The same of many laws, `threads` at a time (0: all cores).
[[nodiscard]] inline std::vector<RecoveryReport> recover(std::span<const law::Chinchilla<double>> laws,
                                                         const ChinchillaOptions& options = {}, unsigned threads = 0) {
  std::vector<RecoveryReport> out(laws.size());
  parallel_for(laws.size(), threads, [&](std::size_t i) { out[i] = recovery(laws[i], options); });
  return out;
}

}  // namespace floplan::fit
