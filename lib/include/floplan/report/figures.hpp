// SPDX-License-Identifier: BSD-3-Clause
//
// Every figure that floplan can export, as tidy CSV with documented columns, for notebooks and for anybody's plots.
//
//   for (const Figure& f : figures()) write(f.name + ".csv", f.make(context).csv());
//
//   plan_figures.hpp      of a plan, and of the catalog's published run
//   reliability_figures.hpp   of what failures do to a plan at three sizes, and of whole runs that are over
//   cluster_figures.hpp   of a plan's layouts: where a step's time goes, and what the size of the cluster does to it
//   law_figures.hpp       of the catalog's laws: what each would buy, contours, serving, repetition, tasks
//   serving_figures.hpp   of serving: latency against throughput, and what a model's lifetime of requests costs
//   fit_figures.hpp       of training runs: the law, its residuals, its predictions, against published laws
//   isoflop_figures.hpp   of training runs: the profiles at fixed budgets, their minima, the parabola's bias
//
// Pitfall: a column's meaning is part of the interface (Figure::columns); add columns, never change one.
#pragma once

#include <iterator>
#include <utility>
#include <vector>

#include "floplan/report/cluster_figures.hpp"
#include "floplan/report/figure.hpp"
#include "floplan/report/fit_figures.hpp"
#include "floplan/report/isoflop_figures.hpp"
#include "floplan/report/law_figures.hpp"
#include "floplan/report/plan_figures.hpp"
#include "floplan/report/reliability_figures.hpp"
#include "floplan/report/serving_figures.hpp"

namespace floplan::report {

[[nodiscard]] inline std::vector<Figure> figures() {
  std::vector<Figure> out = plan_figures();
  for (std::vector<Figure> more :
       {reliability_figures(), cluster_figures(), law_figures(), serving_figures(), fit_figures(), isoflop_figures()}) {
    std::move(more.begin(), more.end(), std::back_inserter(out));
  }
  return out;
}

}  // namespace floplan::report
