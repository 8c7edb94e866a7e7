// SPDX-License-Identifier: BSD-3-Clause
//
// What a figure is: a name, documented columns, what it is computed from, and the function that does it.
//
//   const FigureContext context{catalog, request};            the runs are the simulated example
//   context.runs = FigureRuns{"mine.csv", rows, flop};        or one's own
//   figure.make(context).csv()
//
// A figure needs the catalog alone, a plan request, training runs, or measured steps (Figure::input). Units are in the column names or
// the columns' meanings; a blank cell is "not known" or "does not apply", as the meaning says, and never zero.
//
// Pitfall: make() throws Error(no_answer) where the runs do not support the figure: a law that is not identified has no
// residuals. Whoever writes all figures says so and goes on with the next.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/cluster/measured_steps.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/plan/request.hpp"
#include "floplan/report/example_sweep.hpp"
#include "floplan/report/table.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::report {

struct FigureColumn {
  std::string name;
  std::string meaning;
};

enum class FigureInput { catalog, plan, runs, steps };

[[nodiscard]] inline std::string to_text(FigureInput input) {
  switch (input) {
    case FigureInput::plan: return "plan";
    case FigureInput::runs: return "runs";
    case FigureInput::steps: return "steps";
    case FigureInput::catalog: break;
  }
  return "catalog";
}

// Training runs as figures see them.
struct FigureRuns {
  std::string name;
  std::vector<runs::Observation> rows;
  std::vector<double> flop = {};      // C of each row; empty: 6 N D
  double jitter = 0.1;                // runs within this of each other's budget are of one
  std::optional<Flop> hold_out = {};  // runs above it are predicted from the others; absent: a tenth of the largest C
  double level = 0.9;                 // of the intervals
  std::size_t resamples = 1000;       // behind them

  [[nodiscard]] static FigureRuns example() {
    FigureRuns out{"the simulated example", example_sweep()};
    for (const runs::Observation& run : out.rows) out.flop.push_back(example_budget(run));
    return out;
  }
  [[nodiscard]] double flop_of(std::size_t i) const {
    return flop.empty() ? training_flop(Parameters(rows[i].parameters), Tokens(rows[i].tokens)).value : flop[i];
  }
};

struct FigureContext {
  catalog::Catalog catalog;
  plan::Request request;
  FigureRuns runs = FigureRuns::example();
  std::optional<cluster::MeasuredSteps> steps = {};  // of training, that predictions are compared with
};

struct Figure {
  std::string name;  // also the file's name, without .csv
  FigureInput input = FigureInput::catalog;
  std::string title;
  std::vector<FigureColumn> columns;
  std::function<Table(const FigureContext&)> make;

  [[nodiscard]] std::vector<std::string> header() const {
    std::vector<std::string> out;
    for (const FigureColumn& c : columns) out.push_back(c.name);
    return out;
  }
};

[[nodiscard]] inline Figure make_figure(std::string name, FigureInput input, std::string title,
                                        std::vector<FigureColumn> columns,
                                        Table (*make)(const Figure&, const FigureContext&)) {
  Figure figure{std::move(name), input, std::move(title), std::move(columns), {}};
  figure.make = [make, figure](const FigureContext& context) { return make(figure, context); };
  return figure;
}

}  // namespace floplan::report
