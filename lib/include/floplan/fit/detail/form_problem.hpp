// SPDX-License-Identifier: BSD-3-Clause
//
// Rows, box and objective of a fit of any form, in the coordinates that the search moves in.
//
//   u = ln coefficient          where it is searched by its logarithm and its lower end is positive
//   u = 8 coefficient / (high - low)     otherwise, so that a step across the whole box is one that newton() allows
//
// Rows are sorted and merged where they repeat: sums do not depend on their order, and copies are no evidence.
// Second derivatives are central differences of the rows' exact gradients, with steps that move predictions by 1e-5.
//
// Pitfall: with a Gauss-Newton Hessian a row beyond delta counts with the weight delta / |r| (iterated reweighting), which
// converges from afar and slowly at the end; the full Hessian is the other way round.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "floplan/fit/detail/newton.hpp"
#include "floplan/fit/form_fit.hpp"
#include "floplan/fit/form_model.hpp"

namespace floplan::fit::detail {

using Coordinates = std::vector<double>;

struct FormDerivatives {
  double value = std::numeric_limits<double>::infinity();
  Coordinates gradient;
  std::vector<Coordinates> hessian;
};

using FormBox = BoxOf<Coordinates, std::vector<bool>>;
using FormScale = NewtonScaleOf<Coordinates>;
using FormDescent = NewtonReportOf<FormDerivatives>;

enum class Curvature { none, gauss_newton, full };

struct FormMinimum {
  Coordinates at;
  double objective = std::numeric_limits<double>::infinity();  // as the estimator defines it
  bool converged = false;
  double gradient = 0;  // largest |dF/du| of a free coordinate over F
  int evaluations = 0;
};

struct FormProblem {
  const FormModel* model = nullptr;
  Estimator estimator;
  std::size_t size = 0;  // of coordinates
  FormBox box;
  std::vector<bool> logarithmic;
  Coordinates unit;                              // d coefficient / du where it is not
  std::vector<Bounds> range;                     // of the coefficients: the box before it is rounded
  std::vector<double> inputs, observed, weight;  // of distinct rows; inputs row by row
  double total_weight = 0;
  double typical = 1;         // of an observation, in the unit of a residual: 1 for logarithms
  std::size_t rows_used = 0;  // of the caller

  FormProblem(const FormModel& model, const std::vector<FormRow>& rows, const FormOptions& options);

  [[nodiscard]] std::size_t rows() const { return observed.size(); }
  [[nodiscard]] std::size_t free() const;
  [[nodiscard]] bool at_end(const Coordinates& u, std::size_t k) const;  // of the box; not where it is fixed
  // The rows with a count, each with its weight times it.
  [[nodiscard]] FormProblem resampled(const std::vector<unsigned>& counts) const;
  [[nodiscard]] double clip() const;  // delta, infinite for least squares
  [[nodiscard]] std::vector<double> coefficients(const Coordinates& u) const;
  // The same within the ranges to the last bit, which logarithms do not keep.
  [[nodiscard]] std::vector<double> law(const Coordinates& u) const;
  [[nodiscard]] Coordinates position(const std::vector<double>& coefficients) const;

  // Of row i; gradient in u, or null. Not finite where the form has no value there.
  [[nodiscard]] double residual(std::size_t i, const double* coefficients, double* gradient) const;
  [[nodiscard]] std::vector<double> residuals(const Coordinates& u) const;
  // SUM w rho with rho = r^2 / 2 near zero and slope delta beyond it, whatever the estimator.
  [[nodiscard]] FormDerivatives derivatives(const Coordinates& u, double delta, Curvature curvature) const;
  // F itself.
  [[nodiscard]] double objective(const Coordinates& u) const;
  // Root mean square of dr/du, with what does not move residuals at all kept away from zero.
  [[nodiscard]] Coordinates comparable(const Coordinates& u) const;

  // To the bottom of the basin of u. near: u is thought to be close, so that the ladder of deltas is for a failure.
  [[nodiscard]] FormMinimum minimise(const Coordinates& u, bool near = false) const;
  // The same from afar, for the first and large part of the way.
  [[nodiscard]] FormMinimum approach(const Coordinates& u, int evaluations = 60) const;

 private:
  [[nodiscard]] FormDescent descend(const Coordinates& u, double delta, Curvature curvature, int evaluations) const;
};

}  // namespace floplan::fit::detail
