// SPDX-License-Identifier: BSD-3-Clause
//
// How far a predicted throughput may be trusted: a class, and the band that the class earned where it was held out.
//
//   const Confidence c = confidence_of(model, device, cut, formats);      c.of, rate / c.factor_low to rate * c.factor_high
//
//   dense, part and arithmetic measured   1.15: 19 of 20 dense rows with their model or their part left out of the fit
//   dense, part or arithmetic not         1.5: kipply's A100, not fitted, is within 1.15; no other vendor's part was tried
//   mixture of experts                    2 down, 1.5 up: Qwen3-235B left out is 1.3 times too fast, 1.6 at the 90th percentile
//
// Source: calibration.hpp over TensorRT-LLM 1.0's rows; a test compares the first and the last with what hold-outs give. The
// last is wider than its one family earned, since it is one. Level .9.
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
  Confidence out;
  const auto factors = [&out](const char* of, double low, double high) {
    out.of = of;
    out.factor_low = low;
    out.factor_high = high;
  };
  if (m.has_experts()) {
    factors("mixture of experts", 2, 1.5);
    out.warnings.push_back({"experts_optimistic",
                            "one mixture of experts on one part is all that was measured, and left out of the fit its "
                            "rates came out 28% too high on average: the rate is more likely lower than higher"});
  } else if (cut.accelerators > d.scale_up_domain) {
    factors("dense, beyond one scale-up domain", 2, 2);
  } else if (measured_part(d, f)) {
    factors("dense, part and arithmetic measured", 1.15, 1.15);
  } else {
    factors("dense, part or arithmetic not measured", 1.5, 1.5);
  }
  return out;
}

}  // namespace floplan::serving
