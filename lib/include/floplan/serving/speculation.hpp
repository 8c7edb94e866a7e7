// SPDX-License-Identifier: BSD-3-Clause
//
// What a draft model that proposes tokens for the large one to verify is worth.
//
//   tokens a step  E = (1 - a^(g+1)) / (1 - a)        g + 1 where a = 1
//   speed-up       E / (g c + 1)
//
//   Speculation s{.acceptance = 0.8, .drafted = 4, .draft_cost = 0.1};     s.tokens() 3.3616, s.speed_up() 2.401
//
//   a chance that a drafted token is accepted, g tokens drafted a step, c time of one draft step over one of the large model
//
// Source: Leviathan et al. 2023 (arXiv 2211.17192), equation 1 and theorem 3.8.
// Holds: acceptances independent and alike; the speed-up only where verifying g + 1 tokens takes no longer than one, which
// is while the weights' traffic decides: an engine at its critical batch pays for each of them (serving_report.hpp does).
// Pitfall: without the token that the large model adds itself, a (1 - a^g) / (1 - a) is another scheme's.
#pragma once

#include <cmath>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::serving {

struct Speculation {
  double acceptance = 0.8;
  double drafted = 4;
  double draft_cost = 0.1;

  [[nodiscard]] double tokens() const {
    if (acceptance >= 1) return drafted + 1;
    return -std::expm1((drafted + 1) * std::log(acceptance)) / (1 - acceptance);
  }
  [[nodiscard]] double speed_up() const { return tokens() / (drafted * draft_cost + 1); }
};

inline void check(const Speculation& s) {
  const auto require = [](bool holds, const char* rule, double got) {
    if (!holds) throw Error(Failure::usage, "out_of_range", "speculation", rule + (", got " + print_number(got, 6)));
  };
  require(s.acceptance > 0 && s.acceptance <= 1, "the acceptance must be above 0 and at most 1", s.acceptance);
  require(s.drafted >= 1 && s.drafted <= 64 && s.drafted == std::floor(s.drafted),
          "drafted tokens must be a whole number from 1 to 64", s.drafted);
  require(s.draft_cost >= 0 && s.draft_cost <= 10, "the draft's cost must be from 0 to 10 steps of the model",
          s.draft_cost);
}

}  // namespace floplan::serving
