// SPDX-License-Identifier: BSD-3-Clause
//
// The lowest minimum that many starts find, of a fit of any form.
//
// Points of a low-discrepancy sequence fill the box of the coordinates; at each, the coefficients in which the form is
// affine are solved for by least squares; the best go down. Those that come near to one place go on from it once.
// Sources: Roberts 2018 (the sequence), Golub and Pereyra 1973 (variable projection).
//
// Pitfall: a start counts as agreeing when its minimum is as low, not when its coefficients are the same.
#pragma once

#include <cstddef>

#include "floplan/fit/detail/form_problem.hpp"
#include "floplan/fit/form_fit.hpp"

namespace floplan::fit::detail {

struct FormSearch {
  FormMinimum best;
  std::size_t starts = 0;
  std::size_t agreeing = 0;
  int evaluations = 0;
};

// Resolves an automatic delta into the problem's estimator. Throws Error(no_answer) where no start has a value.
[[nodiscard]] FormSearch search_form(FormProblem& problem, const FormOptions& options);

}  // namespace floplan::fit::detail
