// SPDX-License-Identifier: BSD-3-Clause
//
// How far a predicted throughput may be trusted: a class, and the band that the class earned where it was held out.
//
//   const Confidence c = confidence_of(model, device, cut, formats);      c.of, rate / c.factor_low to rate * c.factor_high
//
//   dense, part and arithmetic measured   nine in ten of the dense rows, with their model left out of the fit
//   dense, part or arithmetic not         a part without any row: kipply's A100 and Pope's TPU v4 were tried, not fitted
//   mixture of experts                    Qwen3-235B left out: too fast, every time
//
// Source: calibration.hpp over TensorRT-LLM 1.0's rows (tests/serving keeps the numbers to it); the second class from 12 rows
// of two publishers, rounded up. Level .9.
// Pitfall: bands are of a full engine's throughput with fixed lengths. No measured row tests a time to the first token, a
// latency under load, or a replica beyond one scale-up domain.
#pragma once

#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/serving/engine_step.hpp"

namespace floplan::serving {

struct Confidence {
  std::string of;
  double factor_low = 1;   // the rate over it is the low end
  double factor_high = 1;  // the rate times it is the high end
  double level = 0.9;
  std::vector<Warning> warnings{};
};

// Whether rows of this part in this arithmetic are in the fit.
[[nodiscard]] inline bool measured_part(const Device& d, const NumberFormats& f) {
  return (d.name == "h100-sxm" || d.name == "h200-sxm") && f.arithmetic == catalog::Precision::fp8;
}

[[nodiscard]] inline Confidence confidence_of(const ServedModel& m, const Device& d, const Cut& cut,
                                              const NumberFormats& f) {
  if (m.has_experts()) {
    return {"mixture of experts",
            2,
            2,
            0.9,
            {{"experts_optimistic",
              "one mixture of experts on one part is all that was measured; left out of the fit, its rates came out a "
              "third too high"}}};
  }
  if (cut.accelerators > d.scale_up_domain) return {"dense, beyond one scale-up domain", 2, 2, 0.9, {}};
  if (measured_part(d, f)) return {"dense, part and arithmetic measured", 1.2, 1.2, 0.9, {}};
  return {"dense, part or arithmetic not measured", 1.5, 1.5, 0.9, {}};
}

}  // namespace floplan::serving
