// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/cluster/efficiencies.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "cluster/random_request.hpp"
#include "floplan/cluster/step_terms.hpp"
#include "floplan/law/dual.hpp"
#include "support/near.hpp"

namespace {

using namespace floplan;
using cluster::step_terms;
using law::Dual;

}  // namespace

TEST_CASE("a step differentiates by each fitted efficiency as difference quotients say") {
  const auto& fitted = cluster::fitted_efficiencies();
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const cluster::StepRequest r = random_request::request(seed);
    const double plain = step_terms(r).step;
    for (std::size_t i = 0; i < fitted.size(); ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      auto dual = cluster::lift<Dual>(r.efficiencies);
      const double value = cluster::fitted_values(dual)[i]->value;
      CHECK(value == r.efficiencies.*fitted[i].member);
      cluster::fitted_values(dual)[i]->first = value;
      const Dual step = step_terms(r, dual).step;
      CHECK(step.value == near(plain, 1e-14));
      const auto moved = [&](double by) {
        cluster::StepRequest other = r;
        other.efficiencies.*fitted[i].member = value * (1 + by);
        return step_terms(other).step;
      };
      const double h = 1e-6;
      const double up = (moved(h) - plain) / h;
      const double down = (plain - moved(-h)) / h;
      // At a kink, between two links or two exposures, the derivative is that of one side.
      const double low = std::min(up, down) - 2e-5 * plain;
      const double high = std::max(up, down) + 2e-5 * plain;
      CHECK(step.first >= low);
      CHECK(step.first <= high);
    }
  }
}

TEST_CASE("every default lies in its interval, and the interval in the bounds of a fit") {
  for (const cluster::FittedEfficiency& f : cluster::fitted_efficiencies()) {
    CAPTURE(std::string(f.name));
    const double value = cluster::Efficiencies{}.*f.member;
    CHECK(f.low < value);
    CHECK(value < f.high);
    CHECK(f.prior_deviation > 0);
    CHECK(f.width_left > 0);
    CHECK(f.identified() == (f.width_left < 0.5 ? "yes" : f.width_left < 0.8 ? "weakly" : "no"));
    CHECK(f.lowest < f.low);
    CHECK(f.high < f.highest);
  }
}
