// SPDX-License-Identifier: BSD-3-Clause
//
// How far a measured step may lie from a predicted one.
//
//   const StepBand b = step_band(report, shape.experts.has_value());    b.low * s.step ... b.high * s.step, nine of ten times
//   b.factor(z)      measured / predicted at the standard normal score z: 0 is the prediction, +-1.645 are the band's ends
//
//   measured / predicted is log-normal on each side of 1, with the width of that side: a step that is wrong is more often
//   slower than predicted, so the sides need not be alike.
//
// Source of the bands: 90th percentiles of the error with each publisher left out (facts of software_stack.hpp and
// efficiencies.hpp): dense models on a known part with a known stack 16%; a part or a stack that is guessed 40%; mixtures of
// experts 60%.
// Pitfall: the bands are of published runs, which are the good ones; and one error is common to all that one model predicts.
#pragma once

#include <cmath>
#include <string>

#include "floplan/cluster/step_time.hpp"

namespace floplan::cluster {

struct StepBand {
  std::string of;  // the class
  double low = 1;  // measured / predicted
  double high = 1;
  double level = 0.9;  // share of measured steps between them

  // At a standard normal score.
  [[nodiscard]] double factor(double score) const {
    constexpr double normal_p95 = 1.6448536269514722;  // of level 0.9
    return std::pow(score < 0 ? low : high, std::abs(score) / normal_p95);
  }
};

[[nodiscard]] inline StepBand step_band(const StepReport& s, bool experts) {
  const auto within = [](const char* of, double error) { return StepBand{of, 1 / (1 + error), 1 + error}; };
  if (experts) return within("mixture of experts", 0.6);
  return s.assumptions.empty() ? within("dense, known part and stack", 0.16)
                               : within("dense, part or stack assumed", 0.4);
}

}  // namespace floplan::cluster
