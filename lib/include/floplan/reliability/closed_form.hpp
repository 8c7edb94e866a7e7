// SPDX-License-Identifier: BSD-3-Clause
//
// The expected run of any process that has a closed form, and which form that is; the rest must be simulated.
//
//   ClosedForm f = closed_form(useful, process);      f.completion.wall_clock, f.method, f.exact
//
//   one tier, exponential or Weibull failures       one_tier.hpp      mean exact, variance
//   two tiers, exponential                          two_tiers.hpp     mean within 0.3%, variance within 5%
//   steady stragglers and a lasting slowest node    useful time and interval stretched by the mean of expected_maximum.hpp
//   spares, the job waiting                         time / (1 - Erlang B(k + 1, a)), a = share of node failures x r / M
//
// Source: those headers. Cost: a few microseconds; with lasting stragglers some 20 more.
// Holds: as those headers say. Pitfall: planned stops save work in the middle of a segment, which no form here counts: with
// 0.87 a day the mean is 0.01% too long. A burn-in, a job that shrinks and two tiers with a background write are refused.
#pragma once

#include <string>

#include "floplan/reliability/expected_maximum.hpp"
#include "floplan/reliability/spares.hpp"
#include "floplan/reliability/two_tiers.hpp"

namespace floplan::reliability {

struct ClosedForm {
  Completion completion;
  double unmended = 0;    // share of the time that waits for a node in repair
  double stragglers = 0;  // share of the time that slow steps take
  std::string method;     // "one tier", "two tiers"
  bool exact = true;      // the mean is exact
};

// What slow nodes multiply useful time by, on average.
[[nodiscard]] inline double mean_stretch(const Slowdown& s) {
  return (1 + s.steady) * (s.nodes > 1 && s.lasting_cv > 0 ? expected_log_normal_maximum(s.nodes, s.lasting_cv) : 1);
}

[[nodiscard]] inline ClosedForm closed_form(Seconds useful, const RunProcess& process) {
  check(process);
  RunProcess p = process;
  const double stretch = mean_stretch(p.slowdown);
  p.slowdown = {};
  p.spares.reset();
  p.checkpoints.interval = p.checkpoints.interval * stretch;
  ClosedForm out;
  out.method = p.one_tier() ? "one tier" : "two tiers";
  out.completion = p.one_tier() ? one_tier(useful * stretch, p) : two_tiers(useful * stretch, p);
  out.exact = p.one_tier() && process.planned.per_day == 0 && !process.spares;
  Completion& c = out.completion;
  double longer = 1;
  if (process.spares) {
    const SparePool& pool = *process.spares;
    if (pool.shrink) {
      throw Error(Failure::usage, "no_closed_form", "closed_form",
                  "a job that shrinks has no closed form: simulate instead");
    }
    // Nodes fail with the running share of the time only; a stop for other reasons gives repairs a rest as well.
    const double running = c.failures * p.failures.mtbf.value / c.wall_clock.value;
    const double load = running * pool.node_share * pool.repair.mean() / p.failures.mtbf.value;
    out.unmended = erlang_b(pool.count + 1, load);
    longer = 1 / (1 - out.unmended);
  }
  c.wall_clock = c.wall_clock * longer;
  c.useful = useful;
  c.ettr = useful / c.wall_clock;
  c.ettr_first_order /= stretch;
  for (double* share : {&c.waste.checkpoint, &c.waste.lost_work, &c.waste.restart, &c.waste.maintenance})
    *share /= longer;
  out.stragglers = (stretch - 1) * c.ettr;
  return out;
}

}  // namespace floplan::reliability
