// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of a stage that asks for a search: of all that fit in memory, the one with the shortest predicted step.
//
//   search_layouts(request);      every stage with `search` then has a layout that leaves nothing open
//
// What is tried, and in which order equal steps come: cluster/layout_search.hpp.
//
// Source: cluster/layout_search.hpp. Cost: 1-2 us a layout, 0.1 s for 405B on 16,384 accelerators. Errors: infeasible where
// no layout can be run, or none fits, with the leanest and what it lacks.
// Pitfall: the first few differ by less than the band of the step-time model; a remark says how many, a measurement decides.
#pragma once

#include <cstddef>
#include <string>

#include "floplan/cluster/layout_search.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/layout_model.hpp"
#include "floplan/plan/request.hpp"

namespace floplan::plan {

// The search for the layout of a stage that has a batch and a whole sequence length.
[[nodiscard]] inline cluster::LayoutSearch layout_search(const Request& r, const Stage& stage) {
  cluster::LayoutSearch out;
  out.step = step_request(r, stage, {});
  out.accelerators = stage.accelerators;
  out.capacity = r.accelerator.memory;
  return out;
}

// Throws as layout_model() does for a prediction; `where` is the stage's field.
[[nodiscard]] inline cluster::LayoutSearchReport best_layouts(const Request& r, const Stage& stage) {
  detail::require_predictable(r, stage);
  return cluster::search_layouts(layout_search(r, stage));
}

inline void search_layouts(Request& r) {
  for (std::size_t i = 0; i < r.stages.size(); ++i) {
    Stage& stage = r.stages[i];
    if (!stage.search || stage.layout) continue;
    try {
      const cluster::LayoutSearchReport found = best_layouts(r, stage);
      const cluster::RankedLayout& best = found.best.front();
      stage.layout = StageLayout(best.layout);
      stage.layout->interleave = best.layout.interleave;
      stage.layout->microbatch = best.microbatch;
      stage.layout->sharding = best.sharding;
      stage.layout->recompute = best.recompute;
      r.assumptions.push_back(
          {"layout_searched",
           "stage \"" + stage.name + "\": of " + std::to_string(found.feasible) + " layouts that fit, " +
               best.describe() + " has the shortest predicted step; " + std::to_string(found.alike) + " of the next " +
               std::to_string(found.best.size() - 1) + " take at most 5% longer, less than the model can tell apart"});
    } catch (const Error& error) {
      const bool of_plan = error.where() == "precision" || error.where() == "accelerator" || error.where() == "machine";
      const std::string path = of_plan ? "accelerator" : "stage[" + std::to_string(i + 1) + "]." + error.where();
      throw Error(error.failure(), error.code(), "plan: " + path,
                  "stage \"" + stage.name + "\": " + detail::rule_of(error));
    }
  }
}

}  // namespace floplan::plan
