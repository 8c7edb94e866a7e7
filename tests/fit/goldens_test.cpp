// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <string_view>

#include "fit/fit_data.hpp"
#include "floplan/fit/chinchilla.hpp"

namespace {

using namespace floplan;

fit::Estimator estimator_of(const CsvTable& table, const CsvRow& row) {
  fit::Estimator out;
  out.residual = row[table.column("residual")] == "log" ? fit::Residual::log : fit::Residual::raw;
  const std::string_view loss = row[table.column("loss")];
  out.loss = loss == "huber" ? fit::Loss::huber
             : loss == "mse" ? fit::Loss::least_squares
                             : fit::Loss::least_absolute_deviations;
  if (out.loss == fit::Loss::huber) out.delta = fit_data::number(row[table.column("delta")]);
  return out;
}

double quantity(const fit::ChinchillaReport& report, std::string_view name) {
  const law::Chinchilla<double>& law = report.law;
  if (name == "a") return std::log(law.parameter_coefficient);
  if (name == "b") return std::log(law.token_coefficient);
  if (name == "e") return std::log(law.irreducible_loss);
  if (name == "A") return law.parameter_coefficient;
  if (name == "B") return law.token_coefficient;
  if (name == "E") return law.irreducible_loss;
  if (name == "alpha") return law.parameter_exponent;
  if (name == "beta") return law.token_exponent;
  if (name == "objective") return report.objective;
  REQUIRE(name == "mean_objective");
  return report.objective / static_cast<double>(report.rows_used);
}

}  // namespace

TEST_CASE(
    "every golden fit is met, and none is undercut by more than its "
    "tolerance") {
  const CsvTable cases = fit_data::reference("fit_cases.csv");
  const CsvTable goldens = fit_data::reference("fit_goldens.csv");
  std::size_t checked = 0;
  for (const CsvRow row : cases.rows()) {
    const std::string name(row[cases.column("case")]);
    CAPTURE(name);
    const auto data = fit_data::table(std::string(row[cases.column("file")]));
    if (!data) continue;
    const auto rows = fit_data::rows(*data, row[cases.column("where")], row[cases.column("parameters")],
                                     row[cases.column("tokens")], row[cases.column("observed")]);
    fit::ChinchillaOptions options;
    options.estimator = estimator_of(cases, row);
    const fit::ChinchillaReport report = fit::chinchilla(rows, options);
    CHECK(report.search.converged);
    CHECK(report.identifiability.identifiable);
    CHECK(report.at_bound.empty());
    CHECK(report.search.agreeing >= 1);
    CHECK(fit::objective(rows, report.law, options.estimator) == doctest::Approx(report.objective).epsilon(1e-10));
    for (const CsvRow golden : goldens.rows()) {
      if (golden[goldens.column("case")] != name) continue;
      const std::string what(golden[goldens.column("quantity")]);
      CAPTURE(what);
      const double value = fit_data::number(golden[goldens.column("value")]);
      const double tolerance = fit_data::number(golden[goldens.column("tolerance")]);
      const std::string_view kind = golden[goldens.column("kind")];
      const double found = quantity(report, what);
      CAPTURE(found);
      // "at_most" is an objective: lower would be a better fit, but none is
      // known, and a jump down would be a changed definition.
      const double allowed = kind == "abs" ? tolerance : tolerance * std::abs(value);
      CHECK(std::abs(found - value) <= allowed);
      ++checked;
    }
  }
  MESSAGE(checked << " golden numbers checked");
}

TEST_CASE("the objective at published coefficients is the published objective") {
  const auto data = fit_data::table("epoch_chinchilla.csv");
  if (!data) return;
  const CsvTable table = fit_data::reference("fit_published_objectives.csv");
  const auto kept = fit_data::rows(*data, "keep=1");
  const auto all = fit_data::rows(*data);
  REQUIRE(kept.size() == 240);
  REQUIRE(all.size() == 245);
  for (const CsvRow row : table.rows()) {
    const std::string name(row[table.column("law")]);
    CAPTURE(name);
    const auto cell = [&](const char* column) { return fit_data::number(row[table.column(column)]); };
    const bool logs = row[table.column("coefficients")] == "log";
    const auto coefficient = [&](const char* column) { return logs ? std::exp(cell(column)) : cell(column); };
    const law::Chinchilla<double> law{coefficient("e"), coefficient("a"), coefficient("b"), cell("alpha"),
                                      cell("beta")};
    const double tolerance = cell("tolerance");
    CHECK(fit::objective(kept, law, {}) == doctest::Approx(cell("objective_240")).epsilon(tolerance));
    CHECK(fit::objective(all, law, {}) == doctest::Approx(cell("objective_245")).epsilon(tolerance));
  }
}

TEST_CASE(
    "most of Hoffmann's 4,500 starts miss the optimum that the map of "
    "exponents finds") {
  const auto rows = fit_data::epoch();
  if (!rows) return;
  fit::ChinchillaOptions options;
  options.start = fit::StartPolicy::hoffmann_grid;
  options.threads = 2;
  const fit::ChinchillaReport grid = fit::chinchilla(*rows, options);
  const fit::ChinchillaReport map = fit::chinchilla(*rows);
  CHECK(grid.search.starts == 4500);
  CHECK(grid.search.agreeing > 2250);
  CHECK(grid.search.agreeing < 4500);
  CHECK(grid.search.best_of_grid == doctest::Approx(map.objective).epsilon(1e-9));
  CHECK(grid.law.token_exponent == doctest::Approx(map.law.token_exponent).epsilon(1e-9));
  options.threads = 1;
  const fit::ChinchillaReport alone = fit::chinchilla(*rows, options);
  CHECK(alone.objective == grid.objective);
  CHECK(alone.law.parameter_coefficient == grid.law.parameter_coefficient);
  CHECK(alone.search.agreeing == grid.search.agreeing);
  CHECK(alone.search.evaluations == grid.search.evaluations);
}
