// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "fit/fit_data.hpp"
#include "floplan/core/error.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "support/thrown.hpp"
#include "support/warned.hpp"

using namespace floplan;

TEST_CASE("a diverged run is named with its row, whatever the estimator") {
  std::vector<runs::Observation> rows = fit_data::noisy(0.004, 3);
  rows[17].loss = 11;
  rows[30].weight = 0;
  for (const fit::Loss loss : {fit::Loss::huber, fit::Loss::least_absolute_deviations, fit::Loss::least_squares}) {
    fit::ChinchillaOptions options;
    options.estimator.loss = loss;
    const fit::ChinchillaReport report = fit::chinchilla(rows, options);
    INFO(fit::to_text(loss));
    REQUIRE_FALSE(report.far_rows.empty());
    CHECK(report.far_rows.front().row == 17);
    CHECK(report.far_rows.front().residual < 0);
    CHECK(report.far_rows.front().observed.loss == 11);
    CHECK(warned(report.warnings, "outlier_row", "row 18 (N "));
    CHECK(warned(report.warnings, "outlier_row", "loss 11) by "));
  }
}

TEST_CASE("a refusal for want of identification names the runs that are far off") {
  // One diverged run among few: the residual sd that it leaves hides both exponents.
  std::vector<runs::Observation> rows = fit_data::noisy(0.004, 3, 3, 4);
  rows[4].loss = 11;
  const fit::ChinchillaReport report = fit::chinchilla(rows);
  const Error refusal = thrown::by([&] { fit::require_trusted(report); });
  CHECK(refusal.code() == "not_identified");
  CHECK(thrown::says(refusal, "row 5 (N "));
  CHECK(thrown::says(refusal, "loss 11) by "));
}

TEST_CASE("honest noise has no far rows, and runs without noise have none either") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) CHECK(fit::chinchilla(fit_data::noisy(0.01, seed)).far_rows.empty());
  CHECK(fit::chinchilla(fit_data::planned(fit_data::truth)).far_rows.empty());
}
