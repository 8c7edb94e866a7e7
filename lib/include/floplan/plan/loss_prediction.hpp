// SPDX-License-Identifier: BSD-3-Clause
//
// How sure is the loss that a plan promises?
//
//   if (const auto sure = plan::loss_prediction(p)) sure->loss.interval, sure->new_run
//
// The law at the plan's N (as the law counts it) and D, with the interval of the curve and that of one run with its noise
// (fit/prediction.hpp). Only a law that comes with its uncertainty has one: a fit of one's own runs (fit/fit_file.hpp).
//
// Not part of the umbrella header: what it includes costs a second to compile.
// Pitfall: it speaks of the runs that the law was fitted on; another data set or architecture is another law.
#pragma once

#include <optional>

#include "floplan/fit/fit_file.hpp"
#include "floplan/fit/prediction.hpp"
#include "floplan/plan/model_size.hpp"
#include "floplan/plan/plan.hpp"

namespace floplan::plan {

// level: of the intervals; the default is that of a plan's p10 and p90.
[[nodiscard]] inline std::optional<fit::Prediction> loss_prediction(const Plan& plan, double level = 0.8) {
  const auto& law = plan.request.law;
  if (!law_covers(plan.request) || law->replicates.empty()) return std::nullopt;
  return fit::predict(fit::replicates_of(*law), fit::noise_of(*law), law->range, counted_parameters(plan.request),
                      plan.tokens, level);
}

}  // namespace floplan::plan
