// SPDX-License-Identifier: BSD-3-Clause
//
// Between which times nine of ten measured steps lie, given a predicted one: by how well the question was known.
//
//   const StepBand band = step_band(request);      band.low x step ... band.high x step, band.of, band.rows
//
//   known     dense, a part with a measured ceiling and a publisher's or the user's own stack     0.93 to 1.17
//   guessed   dense, part or software assumed                                                     0.80 to 1.91
//   experts   mixtures of experts, whatever is known: rough                                       0.54 to 1.94
//
// Sources: of dense rows, quantiles of measured / predicted with each publisher left out of the fit (left_out.hpp), 242
// published rows; of experts, 13 rows of one model on three parts, the predictive band with each part left out
// (predictive_band.hpp). Rows inside the band of the other publishers, or parts, alone: known 88%, guessed 93%, experts 92%.
// Pitfall: published runs are the good ones, and the model's structure was chosen with all of them in view.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "floplan/cluster/step_request.hpp"

namespace floplan::cluster {

struct StepBand {
  std::string of;            // the class
  double low = 1, high = 1;  // factors of the predicted step
  double level = 0.9;
  double coverage = 0;   // of rows of publishers, or parts, that the band was not made of
  std::size_t rows = 0;  // that the band was made of

  // measured / predicted at a standard normal score: log-normal on each side of 1, as wide as that side of the band.
  [[nodiscard]] double factor(double score) const {
    constexpr double normal_p95 = 1.6448536269514722;  // the band's ends, at level 0.9
    return std::pow(score < 0 ? low : high, std::abs(score) / normal_p95);
  }
};

enum class StepClass { known, guessed, experts };

[[nodiscard]] inline StepBand step_band(StepClass of) {
  switch (of) {
    case StepClass::known: return {"dense, known part and stack", 0.925, 1.174, 0.9, 0.88, 242};
    case StepClass::guessed: return {"dense, part or stack assumed", 0.797, 1.908, 0.9, 0.93, 242};
    case StepClass::experts: break;
  }
  return {"mixture of experts", 0.535, 1.935, 0.9, 0.92, 13};
}

// The parts that the published efficiencies were fitted to rows of, as the catalog calls them.
inline constexpr std::array<std::string_view, 5> measured_parts{"a100-sxm-40gb", "a100-sxm-80gb", "b200", "gb200",
                                                                "h100-sxm"};

// known_stack: the software is a publisher's, or was given. What is a judgement in a publisher's record does not count.
[[nodiscard]] inline StepClass step_class(const StepRequest& r, bool known_stack) {
  if (r.shape.experts) return StepClass::experts;
  const bool measured =
      std::find(measured_parts.begin(), measured_parts.end(), r.machine.accelerator) != measured_parts.end();
  const bool known_part = measured && r.machine.assumptions.empty();
  return known_stack && known_part ? StepClass::known : StepClass::guessed;
}

// Facts that were given or are a publisher's: kernels, host, overlap and parallel sequences.
[[nodiscard]] inline bool stack_is_given(const StepRequest& r) {
  const SoftwareStack& s = r.stack;
  const bool several = r.layout.tensor * r.layout.context * r.layout.expert * r.layout.pipeline > 1;
  return !s.attention.assumed && !s.elementwise.assumed && !s.host.assumed && !(several && s.overlap.assumed) &&
         !(r.layout.tensor > 1 && s.sequence_parallel.assumed);
}

[[nodiscard]] inline StepBand step_band(const StepRequest& r, bool known_stack = false) {
  return step_band(step_class(r, known_stack || stack_is_given(r)));
}

}  // namespace floplan::cluster
