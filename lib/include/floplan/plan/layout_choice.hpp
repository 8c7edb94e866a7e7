// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of a stage that asks for a search: of all that fit, the one with the shortest predicted step.
//
//   search_layouts(request);      every stage with `search` then has a layout that leaves nothing open
//
// Pitfall: the first few differ by less than the band of the step-time model; the search says which, a measurement decides.
#pragma once

#include "floplan/core/error.hpp"
#include "floplan/plan/request.hpp"

namespace floplan::plan {

inline void search_layouts(Request& r) {
  for (const Stage& stage : r.stages) {
    if (stage.search && !stage.layout)
      throw Error(Failure::no_answer, "no_search", "plan: stage \"" + stage.name + "\"",
                  "layouts are not searched yet");
  }
}

}  // namespace floplan::plan
