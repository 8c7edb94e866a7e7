// SPDX-License-Identifier: BSD-3-Clause
//
// How long a run takes with two checkpoint tiers: memory every t1 (stall c1), storage every m-th of them (stall c2).
//
//   P of the failures need memory only, S = 1 - P storage; R1, R2 their restarts, phi = E[e^(-R/M)], u1 = 1 - phi1
//   g = 1 + c1/t1 + c2/(m t1)      a1 = t1 + c1      a2 = m a1 + c2
//   Y2 = M (1/phi2 - 1)            Y1 = u1 (M + S Y2) / (1 - u1 P)        time of a recovery, cuts included, waits not
//   Z2 = 1/phi2 - 1                Z1 = u1 (1 + S Z2) / (1 - u1 P)        cuts
//   V1 = u1 S / (1 - u1 P)         a memory recovery that a storage failure makes one of storage
//   L1 = M - a1/(e^(a1/M) - 1)     L2 = a2/2                              work lost
//   E = T_s g / (1 - [P (L1 + V1 L2) + S L2]/M)                           working time
//   T = E (1 + (P Y1 + S Y2)/M) + F q + nu E (c2 + d_p),    F = (E/M)(1 + P Z1 + S Z2)
//
// First order (Vaidya 1995, Di et al. 2014, Benoit et al. 2017): t1 = sqrt(2 c1 M/P), t2 = m t1 = sqrt(2 c2 M/S), and
// waste sqrt(2 c1 P/M) + sqrt(2 c2 S/M) + (P R1 + S R2)/M. The form above is right where that breaks: +.02% at Llama 3's
// rate, +.13% at a million accelerators, +.3% where R2 is the MTBF (first order: .04, 1.9 and 42%).
// Variance: each failure costs Z = q + Y + r L, r = run time a second of net working time; (E/M) [Var(Z) + (r - 1)^2 M^2].
// Holds: a1 well below M. Pitfall: a2 may exceed M only if P is near 1; beyond a2 S = M the run does not end.
#pragma once

#include <algorithm>
#include <cmath>

#include "floplan/reliability/one_tier.hpp"

namespace floplan::reliability {

struct FirstOrderTiers {
  Seconds memory;   // t1
  Seconds storage;  // t2
  double waste = 0;
};
// P: share of the failures that memory can mend, between 0 and 1.
[[nodiscard]] inline FirstOrderTiers first_order_tiers(Seconds mtbf, double memory_share, Seconds memory_stall,
                                                       Seconds storage_stall, Seconds memory_restart,
                                                       Seconds storage_restart) {
  detail::require_positive(mtbf.value, "first_order_tiers", "MTBF", print(mtbf));
  detail::require_share(memory_share, "first_order_tiers", "memory share");
  const double l1 = memory_share / mtbf.value;
  const double l2 = (1 - memory_share) / mtbf.value;
  return {Seconds(std::sqrt(2 * memory_stall.value / l1)), Seconds(std::sqrt(2 * storage_stall.value / l2)),
          std::sqrt(2 * memory_stall.value * l1) + std::sqrt(2 * storage_stall.value * l2) + l1 * memory_restart.value +
              l2 * storage_restart.value};
}

namespace detail {

// Mean and square of the cost Z of a failure, by class, mixed.
struct CostSum {
  double mean = 0;
  double square = 0;
  void add(double share, const TimeMoments& recovery, const TimeMoments& loss, double rate) {
    const double m = recovery.mean + rate * loss.mean;
    mean += share * m;
    square += share * (m * m + recovery.variance + rate * rate * loss.variance);
  }
};

}  // namespace detail

[[nodiscard]] inline Completion two_tiers(Seconds useful, const RunProcess& p) {
  check(p);
  detail::require_positive(useful.value, "two_tiers", "useful time", print(useful));
  if (p.failures.kind != FailureLaw::Kind::exponential || !p.failures.in_restarts || p.checkpoints.persist.value > 0) {
    throw Error(Failure::usage, "no_closed_form", "two_tiers",
                "needs exponential failures and synchronous checkpoints: simulate instead");
  }
  const double m = p.failures.mtbf.value;
  const CheckpointTiers& t = p.checkpoints;
  const double memory = p.share_of_memory();
  const double storage = 1 - memory;
  const double g = t.cycle() / (t.interval * static_cast<double>(t.storage_every));
  const double a1 = t.interval.value + t.memory_stall.value;
  const double a2 = t.cycle().value;
  const RestartAttempt r1 = restart_attempt(p.memory.restart, p.failures.mtbf);
  const double u1 = 1 - r1.success;
  const RestartCost second = restart_cost(p.storage.restart, detail::wait_moments(p), p.failures.mtbf);
  const double y2 = second.running;
  const double z2 = second.cuts;
  const double y1 = u1 * (m + storage * y2) / (1 - u1 * memory);
  const double z1 = u1 * (1 + storage * z2) / (1 - u1 * memory);
  const double v1 = u1 * storage / (1 - u1 * memory);
  const TruncatedTime l1 = truncated_exponential(m, a1);
  const double l2 = a2 / 2;
  const double left = 1 - (memory * (l1.mean + v1 * l2) + storage * l2) / m;
  if (!(left > 0)) {
    throw Error(Failure::infeasible, "never_ends", "two_tiers",
                "storage checkpoints must be closer than the failures that need them, got " + print(t.cycle(), 3) +
                    " between checkpoints and " + print(Seconds(m / storage), 3) + " between failures");
  }
  const double worked = useful.value * g / left;
  const double failures = worked / m * (1 + memory * z1 + storage * z2);
  const double restarting = worked * (memory * y1 + storage * y2) / m;
  const double waiting = failures * p.mean_wait();
  double total = worked + restarting + waiting;
  detail::refuse_endless(total, "two_tiers", p);
  Completion out;
  out.useful = useful;
  out.failures = failures;
  const double before_stops = total;
  detail::add_planned(p.planned, t.storage_stall.value, worked, total, out);
  out.wall_clock = Seconds(total);
  out.ettr = useful.value / total;

  const auto moments = [](const TimeLaw& law) { return TimeMoments{law.mean(), law.variance()}; };
  const auto sum = [](const TimeMoments& a, const TimeMoments& b) {
    return TimeMoments{a.mean + b.mean, a.variance + b.variance};
  };
  const double rate = total / (useful.value * g);
  const TimeMoments from_storage{second.mean, second.variance};
  const TimeMoments memory_loss{l1.mean, l1.variance};
  const TimeMoments storage_loss{l2, a2 * a2 / 12};
  const double cuts = u1 * memory / (1 - u1 * memory);  // of a memory restart by memory failures
  const TimeMoments again = sum(r1.cut, moments(p.memory.wait));
  const TimeMoments cut{cuts * again.mean, cuts * again.variance + cuts * (1 + cuts) * again.mean * again.mean};
  const TimeMoments memory_recovery = sum(moments(p.memory.wait), sum(cut, r1.succeeds));
  const TimeMoments escalated =
      sum(moments(p.memory.wait), sum(cut, sum(r1.cut, sum(moments(p.storage.wait), from_storage))));
  detail::CostSum cost;
  cost.add(memory * (1 - v1), memory_recovery, memory_loss, rate);
  cost.add(memory * v1, escalated, storage_loss, rate);
  cost.add(p.share_of_storage(), sum(moments(p.storage.wait), from_storage), storage_loss, rate);
  cost.add(p.manual_share, sum(moments(p.manual_wait), from_storage), storage_loss, rate);
  const double slack = (rate - (1 + (total - before_stops) / worked)) * m;
  const double stop = t.storage_stall.value + p.planned.duration.value;
  const double stops = p.planned.every.value > 0 ? 0 : out.planned_stops * stop * stop;
  out.standard_deviation =
      Seconds(std::sqrt(worked / m * (cost.square - cost.mean * cost.mean + slack * slack) + stops));

  const double t1 = t.interval.value;
  const double first = memory * (t1 / 2 + p.memory.restart.mean()) +
                       storage * (t.storage_every * t1 / 2 + p.storage.restart.mean()) + p.mean_wait();
  out.ettr_first_order = (1 - first / m) / g;
  const double stalled = useful.value * (g - 1);
  out.waste = {stalled / total, (worked - useful.value - stalled) / total, (restarting + waiting) / total,
               (total - before_stops) / total};
  return out;
}

}  // namespace floplan::reliability
