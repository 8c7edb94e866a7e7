// SPDX-License-Identifier: BSD-3-Clause
//
// Which law of a given form do these runs support? Any form of law/any_form.hpp, in any inputs.
//
//   minimise over the coefficients:   F = SUM over rows of weight * rho(r)            (estimator.hpp)
//
//   const fit::FormReport report = fit::fit_form(fit::form_model("kaplan"), rows);
//   report.form, report.coefficients, report.objective, report.describe()
//
// Search: points of a low-discrepancy sequence (Roberts 2018) in the box of the coefficients, by logarithm where the form
// says so; coefficients in which the form is affine are solved for at each point (variable projection: Golub and Pereyra
// 1973); the best points go down by Levenberg-Marquardt and the exact Newton of detail/newton.hpp. Huber's delta and least
// absolute deviations are reached by a ladder of falling deltas, the latter to 1e-8 of the residuals. First derivatives are
// Ceres' Jets (form_model.hpp), second ones central differences of them.
//
// The same bits at any thread count and order of rows; the same answer, to 1e-8, in any unit of inputs or output.
// Errors: data for rows that cannot be used, usage for options that do not fit the form, no_answer (too_few_rows). A fit
// that is not to be trusted is a value; require_trusted refuses it.
// Cost: 240 rows, 5 coefficients: some .1 s; 11 coefficients: seconds. The Chinchilla form has a path of its own that is a
// hundred times faster and knows every basin (chinchilla.hpp).
// Pitfall: "lowest found" is not "lowest": read search.agreeing, and give more starts where it is small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/fit/chinchilla_report.hpp"
#include "floplan/fit/estimator.hpp"
#include "floplan/fit/form_model.hpp"
#include "floplan/fit/identifiability.hpp"
#include "floplan/law/any_form.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::fit {

struct FormRow {
  std::vector<double> inputs;  // one value for each of the model's inputs, in order
  double output = 0;           // as observed; positive where residuals are logarithms
  double weight = 1;           // 2 is the same as the row written twice, 0 leaves it out
};

struct FormOptions {
  Estimator estimator;
  bool automatic_delta = false;          // 1.345 robust residual sd of the least-absolute-deviations fit
  std::map<std::string, Bounds> bounds;  // by a coefficient's name, within the form's own range; equal ends fix it
  // Points of the box that are looked at; 0: 64 times 2 for each coefficient in which the form is not affine, from 512 to
  // 16,384.
  std::size_t points = 0;
  std::size_t starts = 0;  // of those that go down; 0: 24, or 128 where six or more coefficients are not affine
  std::uint64_t seed = 1;
  unsigned threads = 1;                             // 0 all cores. Results do not depend on it
  std::vector<std::vector<double>> given_starts{};  // coefficients; they go down too, on equal terms
};

struct FormReport {
  law::AnyForm form;
  FormModel model;
  FormOptions options;  // as used: delta resolved
  std::vector<double> coefficients;
  double objective = 0;  // the SUM over rows
  SearchReport search;
  std::vector<std::string> at_bound;      // coefficients at an end of the caller's range or of the search
  std::vector<std::string> at_end;        // those at an end of the search that nobody asked for
  std::vector<std::string> unidentified;  // coefficients that the rows cannot tell apart
  Identifiability identifiability;        // from the singular values of the Jacobian, its columns scaled to one length
  std::size_t rows_used = 0;              // of positive weight
  std::size_t distinct_rows = 0;          // without exact repetitions
  std::size_t free_coefficients = 0;
  std::size_t degrees_of_freedom = 0;
  double residual_sd = 0;  // as ChinchillaReport's
  double robust_residual_sd = 0;
  law::FitRange range;
  std::vector<double> residuals;  // of the distinct rows, ascending
  std::vector<Warning> warnings;

  [[nodiscard]] std::size_t duplicates() const { return rows_used - distinct_rows; }
  // One line: what was fitted, how well, and whether to believe it.
  [[nodiscard]] std::string describe() const;
};

[[nodiscard]] FormReport fit_form(const FormModel& model, const std::vector<FormRow>& rows,
                                  const FormOptions& options = {});

// F of any coefficients on these rows, by definition: what fit_form minimises.
[[nodiscard]] double objective(const FormModel& model, const std::vector<FormRow>& rows,
                               const std::vector<double>& coefficients, const Estimator& estimator);

// Throws Error(no_answer) where the rows do not identify the law, a coefficient ran to the end of its search, or the search
// did not converge. Says what would help.
void require_trusted(const FormReport& report);

}  // namespace floplan::fit
