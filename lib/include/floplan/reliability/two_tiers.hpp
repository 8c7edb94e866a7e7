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
#include <array>
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

// A kind of failure of work: what is lost, and what it takes until work goes on, waits and cuts included.
struct FailureCost {
  double share = 0;  // of the failures of work
  TimeMoments recovery;
  TimeMoments loss;
};

struct TierCosts {
  double stretch = 1;     // g
  FailureCost memory;     // mended by memory
  FailureCost escalated;  // by memory, until a failure in its restart needed storage
  FailureCost storage;
  FailureCost manual;
  double memory_cuts = 0, storage_cuts = 0;        // Z1, Z2
  double memory_running = 0, storage_running = 0;  // Y1, Y2

  [[nodiscard]] std::array<const FailureCost*, 4> kinds() const { return {&memory, &escalated, &storage, &manual}; }
  [[nodiscard]] double mean_loss() const {
    double out = 0;
    for (const FailureCost* kind : kinds()) out += kind->share * kind->loss.mean;
    return out;
  }
};

inline void check_two_tiers(const RunProcess& p) {
  check(p);
  if (p.failures.kind != FailureLaw::Kind::exponential || !p.failures.in_restarts || p.checkpoints.persist.value > 0) {
    throw Error(Failure::usage, "no_closed_form", "two_tiers",
                "needs exponential failures and synchronous checkpoints: simulate instead");
  }
}

[[nodiscard]] inline TierCosts tier_costs(const RunProcess& p) {
  const auto moments = [](const TimeLaw& law) { return TimeMoments{law.mean(), law.variance()}; };
  const auto sum = [](const TimeMoments& a, const TimeMoments& b) {
    return TimeMoments{a.mean + b.mean, a.variance + b.variance};
  };
  const double m = p.failures.mtbf.value;
  const CheckpointTiers& t = p.checkpoints;
  const double memory = p.share_of_memory();
  const double storage = 1 - memory;
  const RestartAttempt r1 = restart_attempt(p.memory.restart, p.failures.mtbf);
  const double u1 = 1 - r1.success;
  const RestartCost second = restart_cost(p.storage.restart, wait_moments(p), p.failures.mtbf);
  TierCosts out;
  out.stretch = t.cycle() / (t.interval * static_cast<double>(t.storage_every));
  out.storage_running = second.running;
  out.storage_cuts = second.cuts;
  out.memory_running = u1 * (m + storage * second.running) / (1 - u1 * memory);
  out.memory_cuts = u1 * (1 + storage * second.cuts) / (1 - u1 * memory);
  const double escalates = u1 * storage / (1 - u1 * memory);

  const double a2 = t.cycle().value;
  const TruncatedTime l1 = truncated_exponential(m, t.interval.value + t.memory_stall.value);
  const TimeMoments memory_loss{l1.mean, l1.variance};
  const TimeMoments storage_loss{a2 / 2, a2 * a2 / 12};
  const TimeMoments from_storage{second.mean, second.variance};
  const double cuts = u1 * memory / (1 - u1 * memory);  // of a memory restart by memory failures
  const TimeMoments again = sum(r1.cut, moments(p.memory.wait));
  const TimeMoments cut{cuts * again.mean, cuts * again.variance + cuts * (1 + cuts) * again.mean * again.mean};
  const TimeMoments until_cut = sum(moments(p.memory.wait), cut);
  out.memory = {memory * (1 - escalates), sum(until_cut, r1.succeeds), memory_loss};
  // A restart is cut by a failure of storage or by one for a person, as they come.
  TimeMoments cut_wait = moments(p.storage.wait);
  if (p.manual_share > 0) {
    const double by_hand = p.manual_share / storage;
    const double square = (1 - by_hand) * cut_wait.square() + by_hand * moments(p.manual_wait).square();
    cut_wait.mean = (1 - by_hand) * p.storage.wait.mean() + by_hand * p.manual_wait.mean();
    cut_wait.variance = std::max(0.0, square - cut_wait.mean * cut_wait.mean);
  }
  // L1 + L2 as the form above has it: an L1 too much, times the V1 of the failures.
  out.escalated = {memory * escalates,
                   sum(until_cut, sum(r1.cut, sum(cut_wait, from_storage))),
                   {memory_loss.mean + storage_loss.mean, storage_loss.variance}};
  out.storage = {p.share_of_storage(), sum(moments(p.storage.wait), from_storage), storage_loss};
  out.manual = {p.manual_share, sum(moments(p.manual_wait), from_storage), storage_loss};
  return out;
}

// Of working time; what does not end is refused.
[[nodiscard]] inline double working_time(Seconds useful, const RunProcess& p, const TierCosts& costs) {
  const double left = 1 - costs.mean_loss() / p.failures.mtbf.value;
  if (!(left > 0)) {
    throw Error(Failure::infeasible, "never_ends", "two_tiers",
                "storage checkpoints must be closer than the failures that need them, got " +
                    print(p.checkpoints.cycle(), 3) + " between checkpoints and " +
                    print(Seconds(p.failures.mtbf.value / (1 - p.share_of_memory())), 3) + " between failures");
  }
  return useful.value * costs.stretch / left;
}

}  // namespace detail

[[nodiscard]] inline Completion two_tiers(Seconds useful, const RunProcess& p) {
  detail::check_two_tiers(p);
  detail::require_positive(useful.value, "two_tiers", "useful time", print(useful));
  const double m = p.failures.mtbf.value;
  const CheckpointTiers& t = p.checkpoints;
  const double memory = p.share_of_memory();
  const double storage = 1 - memory;
  const detail::TierCosts costs = detail::tier_costs(p);
  const double worked = detail::working_time(useful, p, costs);
  const double failures = worked / m * (1 + memory * costs.memory_cuts + storage * costs.storage_cuts);
  const double restarting = worked * (memory * costs.memory_running + storage * costs.storage_running) / m;
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

  const double rate = total / (useful.value * costs.stretch);
  double mean_cost = 0, square_cost = 0;
  for (const detail::FailureCost* kind : costs.kinds()) {
    const double cost = kind->recovery.mean + rate * kind->loss.mean;
    mean_cost += kind->share * cost;
    square_cost += kind->share * (cost * cost + kind->recovery.variance + rate * rate * kind->loss.variance);
  }
  const double slack = (rate - (1 + (total - before_stops) / worked)) * m;
  const double stop = t.storage_stall.value + p.planned.duration.value;
  const double stops = p.planned.every.value > 0 ? 0 : out.planned_stops * stop * stop;
  out.standard_deviation =
      Seconds(std::sqrt(worked / m * (square_cost - mean_cost * mean_cost + slack * slack) + stops));

  const double t1 = t.interval.value;
  const double first = memory * (t1 / 2 + p.memory.restart.mean()) +
                       storage * (t.storage_every * t1 / 2 + p.storage.restart.mean()) + p.mean_wait();
  out.ettr_first_order = (1 - first / m) / costs.stretch;
  const double stalled = useful.value * (costs.stretch - 1);
  out.waste = {stalled / total, (worked - useful.value - stalled) / total, (restarting + waiting) / total,
               (total - before_stops) / total};
  return out;
}

}  // namespace floplan::reliability
