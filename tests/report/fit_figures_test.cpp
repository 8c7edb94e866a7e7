// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fit/fit_data.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/report/figures.hpp"
#include "plan/requests.hpp"
#include "report/figure_table.hpp"
#include "support/reference.hpp"

using namespace floplan;
using figure_table::text;

namespace {

report::FigureRuns quick() {
  report::FigureRuns runs = report::FigureRuns::example();
  runs.resamples = 200;
  return runs;
}

CsvTable table_of(const std::string& name, const report::FigureRuns& runs) {
  return figure_table::of(name, {catalog::Catalog(), requests::llama3_405b(), runs});
}

double at(const CsvTable& t, std::size_t row, const std::string& column) {
  return fit_data::number(text(t, row, column));
}

// The only row whose cells are these.
std::size_t find(const CsvTable& t, const std::map<std::string, std::string>& cells) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < t.size(); ++i) {
    const bool all =
        std::all_of(cells.begin(), cells.end(), [&](const auto& c) { return text(t, i, c.first) == c.second; });
    if (all) found.push_back(i);
  }
  INFO(cells.begin()->second);
  REQUIRE(found.size() == 1);
  return found.front();
}

std::optional<report::FigureRuns> public_runs(const std::string& file, const std::string& where) {
  const auto table = fit_data::table(file);
  if (!table) return std::nullopt;
  report::FigureRuns runs = quick();
  runs.name = file;
  runs.rows = fit_data::rows(*table, where);
  runs.flop.clear();
  for (const CsvRow row : table->rows()) {
    if (where.empty() || row[table->column(where.substr(0, where.find('=')))] == where.substr(where.find('=') + 1))
      runs.flop.push_back(fit_data::number(row[table->column("C")]));
  }
  return runs;
}

double reference_of(const std::string& name, const std::string& quantity) {
  const CsvTable goldens = fit_data::reference("fit_goldens.csv");
  for (const CsvRow row : goldens.rows()) {
    if (row[goldens.column("case")] == name && row[goldens.column("quantity")] == quantity)
      return fit_data::number(row[goldens.column("value")]);
  }
  FAIL("no golden " << name << " " << quantity);
  return 0;
}

}  // namespace

TEST_CASE("every figure says what it is computed from") {
  std::map<std::string, report::FigureInput> inputs;
  for (const report::Figure& figure : report::figures()) inputs[figure.name] = figure.input;
  CHECK(inputs.at("timeline_by_stage") == report::FigureInput::plan);
  CHECK(inputs.at("example_runs") == report::FigureInput::catalog);
  for (const char* name : {"fit_law_comparison", "fit_residuals", "fit_by_estimator", "held_out_extrapolation",
                           "isoflop_curves", "isoflop_minima", "isoflop_power_laws", "parabola_bias"})
    CHECK(inputs.at(name) == report::FigureInput::runs);
}

TEST_CASE("the simulated sweep is what its header says, and the planted law lies in the refit's intervals") {
  const CsvTable runs = table_of("example_runs", quick());
  REQUIRE(runs.size() == 68);
  const law::Chinchilla<double>& planted = report::example_law;
  double squares = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const double n = at(runs, i, "parameters"), d = at(runs, i, "tokens");
    CHECK(6 * n * d == doctest::Approx(at(runs, i, "flop")).epsilon(1e-8));
    const double noise = std::log(at(runs, i, "loss") / planted.loss(n, d));
    CHECK(std::abs(noise) < 4 * report::example_noise);
    squares += noise * noise;
  }
  CHECK(std::sqrt(squares / 68) == doctest::Approx(report::example_noise).epsilon(0.25));

  const CsvTable laws = table_of("fit_law_comparison", report::FigureRuns::example());
  const std::map<std::string, double> truth = {{"E", planted.irreducible_loss},
                                               {"A", planted.parameter_coefficient},
                                               {"B", planted.token_coefficient},
                                               {"alpha", planted.parameter_exponent},
                                               {"beta", planted.token_exponent}};
  for (const auto& coefficient : truth) {
    const std::string& name = coefficient.first;
    const double value = coefficient.second;
    const std::size_t row = find(laws, {{"law", "refit"}, {"quantity", name}});
    INFO(name << " " << value << " " << text(laws, row, "low") << " " << text(laws, row, "high"));
    CHECK(at(laws, row, "low") < value);
    CHECK(value < at(laws, row, "high"));
    CHECK(at(laws, row, "level") == 0.9);
  }
}

TEST_CASE("published laws give their published optima, without intervals, and budgets beyond their runs are flagged") {
  const CsvTable laws = table_of("fit_law_comparison", quick());
  const auto value = [&](const char* law, const char* quantity) {
    return at(laws, find(laws, {{"law", law}, {"quantity", quantity}, {"flop", "5.76e23"}}), "value");
  };
  // Rounded to two digits, the exponents move D* by a quarter.
  CHECK(value("hoffmann-2022-rounded", "tokens") / value("hoffmann-2022", "tokens") ==
        doctest::Approx(1.2538).epsilon(1e-3));
  CHECK(value("besiroglu-2024", "tokens_per_parameter") ==
        doctest::Approx(value("besiroglu-2024", "tokens") / value("besiroglu-2024", "parameters")));
  for (std::size_t i = 0; i < laws.size(); ++i) {
    const bool refit = text(laws, i, "law") == "refit";
    CHECK(text(laws, i, "kind") == (refit ? "refit" : "published"));
    CHECK(text(laws, i, "low").empty() != refit);
    if (text(laws, i, "flop").empty()) {
      CHECK(text(laws, i, "beyond_data").empty());
      continue;
    }
    CHECK((text(laws, i, "beyond_data") == "yes") == (at(laws, i, "decades_beyond_data") > 0));
    if (refit) CHECK(text(laws, i, "beyond_data") == (at(laws, i, "flop") > 3.1e21 ? "yes" : "no"));
    if (refit) CHECK(at(laws, i, "low") < at(laws, i, "high"));
  }
}

TEST_CASE("residuals are of the refit and of Hoffmann's law, for each run in its order") {
  const report::FigureRuns runs = quick();
  const CsvTable t = table_of("fit_residuals", runs);
  REQUIRE(t.size() == runs.rows.size());
  const law::Chinchilla<double> refit = fit::chinchilla(runs.rows).law;
  for (std::size_t i = 0; i < t.size(); ++i) {
    CHECK(at(t, i, "run") == static_cast<double>(i + 1));
    CHECK(at(t, i, "parameters") == runs.rows[i].parameters);
    CHECK(at(t, i, "predicted") == refit.loss(runs.rows[i].parameters, runs.rows[i].tokens));
    CHECK(at(t, i, "log_residual") == doctest::Approx(std::log(at(t, i, "loss") / at(t, i, "predicted"))));
    CHECK(at(t, i, "hoffmann_log_residual") ==
          doctest::Approx(std::log(at(t, i, "loss") / at(t, i, "hoffmann_predicted"))));
  }
}

TEST_CASE("estimators from least absolute deviations to least squares, with the replication's numbers on its rows") {
  const CsvTable example = table_of("fit_by_estimator", quick());
  CHECK(at(example, find(example, {{"estimator", "huber 1e-1"}}), "alpha") ==
        doctest::Approx(at(example, find(example, {{"estimator", "least squares"}}), "alpha")).epsilon(1e-9));
  const auto runs = public_runs("epoch_chinchilla.csv", "keep=1");
  if (!runs) return;
  const CsvTable t = table_of("fit_by_estimator", *runs);
  for (const char* delta : {"1e-4", "1e-3", "1e-2"}) {
    const std::size_t row = find(t, {{"estimator", std::string("huber ") + delta}});
    const std::string golden = std::string("epoch-240-huber-") + delta;
    CHECK(at(t, row, "objective") <= reference_of(golden, "objective") * (1 + 1e-7));
    CHECK(std::abs(at(t, row, "beta") - reference_of(golden, "beta")) < 2e-5);
    CHECK(text(t, row, "trusted") == "yes");
  }
}

TEST_CASE("runs above the cut are predicted from the others") {
  report::FigureRuns runs = quick();
  const CsvTable t = table_of("held_out_extrapolation", runs);
  REQUIRE(t.size() == 68);
  std::size_t held = 0, inside = 0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    const bool out = text(t, i, "role") == "held out";
    CHECK(out == (at(t, i, "flop") > 4e20));
    CHECK(out == (at(t, i, "decades_beyond") > 0));
    CHECK(text(t, i, "inside").empty() != out);
    if (!out) continue;
    ++held;
    inside += text(t, i, "inside") == "yes" ? 1 : 0;
    CHECK(at(t, i, "run_low") < at(t, i, "curve_low"));
    CHECK(at(t, i, "curve_low") < at(t, i, "curve_high"));
    CHECK(at(t, i, "curve_high") < at(t, i, "run_high"));
  }
  CHECK(held == 14);
  CHECK(inside >= 10);
  runs.hold_out = Flop(2e21);
  const CsvTable fewer = table_of("held_out_extrapolation", runs);
  CHECK(text(fewer, 0, "cut_flop") == "2e21");
  CHECK(text(fewer, 62, "role") == "fitted");
  CHECK(text(fewer, 63, "role") == "held out");
}

TEST_CASE("curves pass through the sizes of each profile, and minima are theirs") {
  const report::FigureRuns runs = quick();
  const CsvTable curves = table_of("isoflop_curves", runs);
  const CsvTable minima = table_of("isoflop_minima", runs);
  CHECK(minima.size() == 32);
  std::map<std::string, std::set<std::string>> series;
  for (std::size_t i = 0; i < curves.size(); ++i) series[text(curves, i, "flop")].insert(text(curves, i, "series"));
  CHECK(series.size() == 8);
  for (const auto& [flop, kinds] : series) {
    CHECK(kinds == std::set<std::string>{"parabola", "run", "surface"});
    const std::size_t row = find(minima, {{"method", "parabola"}, {"flop", flop}});
    if (text(minima, row, "status") != "interior") continue;
    // No point of the drawn parabola is below the minimum of the table.
    double lowest = 1e9;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      if (text(curves, i, "flop") == flop && text(curves, i, "series") == "parabola")
        lowest = std::min(lowest, at(curves, i, "loss"));
    }
    CHECK(lowest >= at(minima, row, "loss") - 1e-12);
    CHECK(lowest == doctest::Approx(at(minima, row, "loss")).epsilon(1e-3));
  }
  const std::size_t edge = find(minima, {{"method", "parabola"}, {"flop", "3e21"}});
  CHECK(text(minima, edge, "status") == "edge");
  CHECK(text(minima, edge, "parameters").empty());
  CHECK(text(minima, edge, "bound") == "at least");
  CHECK(at(minima, edge, "bound_parameters") == 2.92e9);
  CHECK(text(minima, edge, "in_power_law") == "no");
  for (std::size_t i = 0; i < minima.size(); ++i) {
    if (text(minima, i, "parameters_low").empty()) continue;
    CHECK(at(minima, i, "parameters_low") <= at(minima, i, "parameters"));
    CHECK(at(minima, i, "parameters") <= at(minima, i, "parameters_high"));
  }
}

TEST_CASE("power laws through every profile and through interior ones stand side by side") {
  const CsvTable t = table_of("isoflop_power_laws", quick());
  for (const char* method : {"parabola", "lowest", "akima"}) {
    const std::size_t every = find(t, {{"method", method}, {"profiles", "every"}, {"quantity", "exponent_tokens"}});
    const std::size_t interior =
        find(t, {{"method", method}, {"profiles", "interior"}, {"quantity", "exponent_tokens"}});
    CHECK(at(t, every, "profiles_used") == 8);
    CHECK(at(t, interior, "profiles_used") == 7);
    CHECK(at(t, every, "value") != at(t, interior, "value"));
  }
  const auto all = public_runs("isoflop_llama_3_raw_loss.csv", "");
  const auto kept = public_runs("isoflop_llama_3_raw_loss.csv", "outlier=0");
  if (!all || !kept) return;
  const std::map<std::string, std::string> tokens = {
      {"method", "parabola"}, {"profiles", "every"}, {"quantity", "tokens"}, {"flop", "3.8e25"}};
  const CsvTable first = table_of("isoflop_power_laws", *all);
  const CsvTable second = table_of("isoflop_power_laws", *kept);
  reference::check(reference::row("isoflop_exponents.csv", "llama_3_raw_loss all parabola raw tokens_at_3.8e25"),
                   at(first, find(first, tokens), "value"));
  reference::check(reference::row("isoflop_exponents.csv", "llama_3_raw_loss unflagged parabola raw tokens_at_3.8e25"),
                   at(second, find(second, tokens), "value"));
}

TEST_CASE("the parabola's bias on published grids is the published one") {
  const CsvTable t = table_of("parabola_bias", quick());
  std::size_t checked = 0;
  for (const reference::Row& row : reference::rows("isoflop_bias.csv")) {
    const std::string name = row.name();
    for (std::size_t i = 0; i < t.size(); ++i) {
      if (text(t, i, "grid") == "these runs" || at(t, i, "factor") != row.number("factor")) continue;
      if (at(t, i, "alpha") != row.number("alpha") || at(t, i, "beta") != row.number("beta")) continue;
      const std::string grid = text(t, i, "grid");
      const std::string kind = row.number("offset") > 1 ? "offset" : row.number("drift") > 1 ? "drifting" : "centred";
      if (!grid.ends_with(kind)) continue;
      reference::check(row, at(t, i, row.text("quantity")));
      ++checked;
    }
  }
  CHECK(checked == reference::rows("isoflop_bias.csv").size());
}

TEST_CASE("runs that support no law are refused where one is needed, and draw what needs none") {
  report::FigureRuns runs = quick();
  const auto refused = [&runs](const std::string& name) {
    try {
      (void)table_of(name, runs);
    } catch (const Error& error) {
      return error.failure() == Failure::no_answer;
    }
    return false;
  };
  runs.rows.resize(9);  // one budget: a law, but no power law of profiles
  runs.flop.resize(9);
  CHECK(refused("parabola_bias"));
  const CsvTable laws = table_of("isoflop_power_laws", runs);
  for (std::size_t i = 0; i < laws.size(); ++i) CHECK(text(laws, i, "method") == "surface");
  runs.rows.resize(4);  // not even a law
  runs.flop.resize(4);
  for (const char* name :
       {"fit_law_comparison", "fit_residuals", "fit_by_estimator", "parabola_bias", "isoflop_power_laws"}) {
    INFO(std::string(name));
    CHECK(refused(name));
  }
  const CsvTable curves = table_of("isoflop_curves", runs);
  for (std::size_t i = 0; i < curves.size(); ++i) CHECK(text(curves, i, "series") != "surface");
  CHECK(table_of("isoflop_minima", runs).size() == 3);
}
