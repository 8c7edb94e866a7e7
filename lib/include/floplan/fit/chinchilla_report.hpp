// SPDX-License-Identifier: BSD-3-Clause
//
// What a Chinchilla fit is asked (ChinchillaOptions) and what it answers (ChinchillaReport).
//
// The report is a value: the law, the objective at it, how the search went, which coefficients ended at a bound, whether
// the design can tell them apart, how large the residuals are, and the remarks an expert would make. Nothing in it is an
// interval: those come from bootstrap.hpp and covariance.hpp, which take the report and the same rows.
//
// Bounds are in the caller's units (A belongs to N in units of one). Equal ends fix a coefficient; low 0 allows a term
// to vanish. A bound on A or B makes the fit work on uncentred data, at some cost in conditioning.
//
// Pitfall: exponents and coefficients are correlated to .999; round alpha to two digits and A no longer belongs to it.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/estimator.hpp"
#include "floplan/fit/identifiability.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/law/scaling_law.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit {

struct Bounds {
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
  [[nodiscard]] static constexpr Bounds fixed(double value) { return {value, value}; }
  friend bool operator==(const Bounds&, const Bounds&) = default;
};

struct ChinchillaBounds {
  Bounds irreducible_loss;              // E
  Bounds parameter_coefficient;         // A
  Bounds token_coefficient;             // B
  Bounds parameter_exponent{0.001, 4};  // alpha
  Bounds token_exponent{0.001, 4};      // beta
};

enum class StartPolicy { global, hoffmann_grid };

struct ChinchillaOptions {
  Estimator estimator;
  // 1.345 robust residual sd of the least-absolute-deviations fit, instead of the delta above
  bool automatic_delta = false;
  StartPolicy start = StartPolicy::global;
  std::optional<law::Chinchilla<double>> given_start;  // competes with the others on equal terms
  ChinchillaBounds bounds;
  unsigned threads = 1;  // of the grid of starts; 0 all cores. Results do not depend on it
};

struct SearchReport {
  std::size_t starts = 0;
  std::size_t agreeing = 0;  // starts that ended within 1e-6 (relative) of the lowest objective
  int evaluations = 0;       // of the objective with its derivatives
  bool converged = false;
  double gradient = 0;      // largest |dF/d(a, b, e, alpha, beta)| over F of a coefficient that is free
  double best_of_grid = 0;  // hoffmann_grid only: the lowest objective that its own starts reached
};

// A row far from the law that was fitted.
struct FarRow {
  std::size_t row = 0;  // of the caller's, from 0
  double residual = 0;  // in the estimator's unit
  runs::Observation observed;

  // "row 8 (N 1.2e+09, D 3e+10, loss 11)": as people count, from 1
  [[nodiscard]] std::string describe() const {
    return "row " + std::to_string(row + 1) + " (N " + print_number(observed.parameters, 4) + ", D " +
           print_number(observed.tokens, 4) + ", loss " + print_number(observed.loss, 5) + ")";
  }
};

struct ChinchillaReport {
  law::Chinchilla<double> law;
  ChinchillaOptions options;  // as used: delta resolved
  double objective = 0;       // the SUM over rows
  SearchReport search;
  std::vector<std::string> at_bound;  // of E, A, B, alpha, beta
  Identifiability identifiability;
  std::size_t rows_used = 0;      // of positive weight
  std::size_t distinct_rows = 0;  // without exact repetitions of (N, D, loss)
  std::size_t free_coefficients = 0;
  std::size_t degrees_of_freedom = 0;  // distinct rows less free coefficients
  double residual_sd = 0;              // sqrt(weighted mean of r^2 * distinct / degrees_of_freedom); nan without any
  double robust_residual_sd = 0;       // median |r| / .6745, without the smallest as many as are free
  std::vector<FarRow> far_rows;        // at most three, beyond far_residual robust sd; the furthest first
  law::FitRange range;                 // FLOP counted as 6 N D
  std::vector<Warning> warnings;

  [[nodiscard]] std::size_t duplicates() const { return rows_used - distinct_rows; }
  // One line: what was fitted, how well, and whether to believe it.
  [[nodiscard]] std::string describe() const {
    std::string out =
        "E " + print_number(law.irreducible_loss, 6) + ", A " + print_number(law.parameter_coefficient, 6) +
        ", alpha " + print_number(law.parameter_exponent, 6) + ", B " + print_number(law.token_coefficient, 6) +
        ", beta " + print_number(law.token_exponent, 6) + "; " + to_text(options.estimator.loss) + " of " +
        to_text(options.estimator.residual) + " residuals " + print_number(objective, 8) + " over " +
        std::to_string(rows_used) + " rows; " + std::to_string(search.agreeing) + " of " +
        std::to_string(search.starts) + " starts agree; " + (search.converged ? "converged" : "not converged");
    if (!identifiability.identifiable) out += "; not identified";
    for (const std::string& name : at_bound) out += "; " + name + " at a bound";
    return out;
  }
};

namespace detail {

// Where normal residuals have none in 1e14, and heavy tails few.
inline constexpr double far_residual = 8;

[[nodiscard]] inline std::string far_rows_text(const ChinchillaReport& report) {
  std::string out;
  for (const FarRow& far : report.far_rows) {
    out += (out.empty() ? "" : ", ") + far.describe() + " by " +
           print_number(std::abs(far.residual) / report.robust_residual_sd, 3);
  }
  return out;
}

}  // namespace detail

// Throws Error(no_answer) for a fit that no decision should rest on: its runs do not pin the law down, or the search got
// nowhere. Says what would help.
inline void require_trusted(const ChinchillaReport& report) {
  if (!report.identifiability.identifiable) {
    throw Error(Failure::no_answer, "not_identified", "fit",
                "these runs do not identify the law: " + report.identifiability.reason +
                    (report.far_rows.empty() ? std::string("; run a wider range of N and of D, look for a run that is "
                                                           "far off,")
                                             : "; far off, in residual sd: " + detail::far_rows_text(report) +
                                                   "; look at those runs first, or run a wider range of N and of D,") +
                    " or fix a coefficient (--fix E=1.69); --anyway shows what there is");
  }
  if (!report.search.converged) {
    throw Error(Failure::no_answer, "not_converged", "fit",
                "the search did not reach a minimum (gradient " + print_number(report.search.gradient, 2) +
                    " of the objective" +
                    (report.degrees_of_freedom == 0 ? ", and there are no more runs than coefficients" : "") +
                    "); add runs or fix a coefficient (--fix E=1.69); --anyway shows what there is");
  }
}

}  // namespace floplan::fit
