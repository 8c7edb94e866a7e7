// SPDX-License-Identifier: BSD-3-Clause
//
// Fitting any law's form by Levenberg-Marquardt from given starts: the path for forms without a specialised estimator,
// and an independent check of the one that has it.
//
//   minimise over theta in [low, high]:   F = SUM over rows of weight * rho(r)      (estimator.hpp)
//
// A form is a type with names of its coefficients and ln L in terms of ln N and ln D, for double and for a ceres::Jet:
//
//   struct PowerLaw {
//     static constexpr std::array names = {"ln A", "alpha"};
//     template <class T> static T log_loss(const T* theta, double log_n, double log_d);
//   };
//
// fit_general<Form> is compiled in lib/src/fit/general_fit.cpp, once a form: add a line there for a new one. Part of
// floplan::fit, which needs Ceres; floplan::floplan does not have it.
//
// Holds: huber and least_squares. Source of the algorithm: Ceres Solver 2.1, dense QR, automatic derivatives.
// Pitfall: it goes to the bottom of the basin that a start lies in, linearly where delta is far below the residuals; give
// it several starts, and read `agreeing`.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "floplan/fit/estimator.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit {

struct GeneralOptions {
  Estimator estimator;
  std::vector<double> low;   // of each coefficient; empty: no bounds
  std::vector<double> high;  // the same; low == high fixes a coefficient
  int max_iterations = 2000;
};

struct GeneralReport {
  std::vector<double> coefficients;
  double objective = 0;
  bool converged = false;
  std::size_t starts = 0;
  std::size_t agreeing = 0;  // starts that ended within 1e-6 (relative) of the lowest objective
  int iterations = 0;        // of the best start
  std::string message;       // Ceres' own last word on the best start
};

// Throws Error(usage) for starts, bounds or a loss that do not fit the form, Error(data) for unusable rows.
template <class Form>
[[nodiscard]] GeneralReport fit_general(std::span<const runs::Observation> observations,
                                        const std::vector<std::vector<double>>& starts,
                                        const GeneralOptions& options = {});

// L = E + A / N^alpha + B / D^beta by its logarithms, as approach 3 of Hoffmann 2022 writes it.
struct ChinchillaForm {
  static constexpr std::array names = {"ln A", "ln B", "ln E", "alpha", "beta"};

  template <class T>
  [[nodiscard]] static T log_loss(const T* theta, double log_n, double log_d) {
    using std::exp;
    using std::log;
    const T parameters = theta[0] - theta[3] * log_n;
    const T tokens = theta[1] - theta[4] * log_d;
    const T irreducible = theta[2];
    T largest = parameters > tokens ? parameters : tokens;
    if (irreducible > largest) largest = irreducible;
    return largest + log(exp(parameters - largest) + exp(tokens - largest) + exp(irreducible - largest));
  }
};

}  // namespace floplan::fit
