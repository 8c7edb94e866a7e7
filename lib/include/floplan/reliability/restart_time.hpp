// SPDX-License-Identifier: BSD-3-Clause
//
// What a restart really takes when failures cut it short and each attempt draws its time anew.
//
//   RestartCost r = restart_cost(restart, wait, mtbf);   r.mean = M (1 - phi)/phi + (1/phi - 1) q
//
//   phi = E[e^(-R/M)] is the chance that an attempt succeeds. An attempt that is cut short took X given X < R; one that
//   succeeds is R tilted by e^(-R/M). The number of cuts is geometric, 1/phi - 1 on average; each brings another wait q.
//   With a fixed R these are Daly's (2006): M (e^(R/M) - 1) and e^(R/M) - 1 cuts.
//
// Mean and variance are exact for exponential failures. The wait of the first failure is not in it.
// Source: geometric sums of truncated times; checked by event simulation (tests/reference/restart_redrawn.csv).
// Holds: any law of time_law.hpp. Pitfall: a restart whose long attempts are given up is drawn anew, so that a long tail
// costs less than its mean says: log-normal of mean 1 h and cv 1 at M = 3.1 h takes 3,670 s where a fixed one takes 4,250.
#pragma once

#include "floplan/core/quantity.hpp"
#include "floplan/reliability/completion.hpp"
#include "floplan/reliability/interruption_rate.hpp"
#include "floplan/reliability/time_law.hpp"

namespace floplan::reliability {

// Mean and variance of a time, in seconds.
struct TimeMoments {
  double mean = 0;
  double variance = 0;
  [[nodiscard]] double square() const { return variance + mean * mean; }
};

// One attempt: its chance, and the time of one that succeeds or is cut short.
struct RestartAttempt {
  double success = 1;  // phi
  TimeMoments succeeds;
  TimeMoments cut;
};

[[nodiscard]] inline RestartAttempt restart_attempt(const TimeLaw& restart, Seconds mtbf) {
  const double m = mtbf.value;
  const TiltedMoments t = restart.tilted(1 / m);
  RestartAttempt out;
  out.success = t.zero;
  if (restart.mean() == 0) return out;
  if (t.zero > 0) {
    const double mean = t.one / t.zero;
    out.succeeds = {mean, std::max(0.0, t.two / t.zero - mean * mean)};
  }
  if (restart.always_the_same()) {
    const TruncatedTime cut = truncated_exponential(m, restart.mean());
    out.cut = {cut.mean, cut.variance};
    return out;
  }
  const double fails = 1 - t.zero;
  const double mean = m - t.one / fails;
  out.cut = {mean, std::max(0.0, (2 * m * m * fails - 2 * m * t.one - t.two) / fails - mean * mean)};
  return out;
}

struct RestartCost {
  double mean = 0;  // seconds, cuts and the waits after them included
  double variance = 0;
  double cuts = 0;     // expected: failures in it
  double running = 0;  // of the mean, seconds without the waits
};

[[nodiscard]] inline RestartCost restart_cost(const TimeLaw& restart, const TimeMoments& wait, Seconds mtbf) {
  detail::require_positive(mtbf.value, "restart_cost", "MTBF", print(mtbf));
  const RestartAttempt a = restart_attempt(restart, mtbf);
  RestartCost out;
  out.cuts = restart.always_the_same() ? std::expm1(restart.mean() / mtbf.value) : (1 - a.success) / a.success;
  out.running = mtbf.value * out.cuts;
  out.mean = out.running + out.cuts * wait.mean;
  const double again = a.cut.mean + wait.mean;
  out.variance =
      a.succeeds.variance + out.cuts * (a.cut.variance + wait.variance) + out.cuts * (1 + out.cuts) * again * again;
  return out;
}

}  // namespace floplan::reliability
