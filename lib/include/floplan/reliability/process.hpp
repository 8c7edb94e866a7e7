// SPDX-License-Identifier: BSD-3-Clause
//
// What happens to a training run, as plain data: its failures, checkpoints, recoveries, planned stops and spares.
//
// 1. Useful progress runs at rate 1. After every t1 useful seconds since the last recovery point comes a memory stall c1;
//    the checkpoint is valid at its end. At the first memory checkpoint with m or more since the last storage checkpoint a
//    storage stall c2 follows; valid at its end, or P seconds of running later if it persists in the background. None after
//    the last piece. One tier: t1 = tau, c1 = 0, m = 1.
// 2. Failures come while working, stalling or restarting (rate 1/M, or another law); none in waits and planned stops.
// 3. Each failure draws a class: manual, else memory, else storage. Memory: back to the last memory checkpoint, the count
//    kept. Storage or manual: back to the last storage checkpoint, count 0. Then a wait of that class, then a restart: R1 if
//    the worst class since work stopped is memory, else R2; a failure in it is rule 3 again, and the restart is drawn anew.
// 4. A storage write that a memory-class failure cuts short follows the next memory checkpoint.
// 5. Planned stops, Poisson while working or on fixed calendar times: save (c2), down d_p, progress kept, count 0.
// 6. With spares, each failed node goes to repair; while more than k are there the job waits, or runs on with fewer replicas.
//
// Source: the process of Llama 3 (arXiv 2407.21783) as data for Daly 2006 and two-level checkpointing (Vaidya 1995).
// Pitfall: a wait cannot be cut short by a failure, since nothing runs; a restart can. Hours for a person belong in a wait.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/completion.hpp"
#include "floplan/reliability/interruption_rate.hpp"
#include "floplan/reliability/time_law.hpp"

namespace floplan::reliability {

struct FailureLaw {
  enum class Kind {
    exponential,  // constant rate 1/M
    weibull,      // mean M between failures, the clock new after each (renewal)
    burn_in,  // a new fleet: rate (1/M) (age / settled)^(shape - 1) until `settled`, then 1/M; age counts running time
  };
  Kind kind = Kind::exponential;
  Seconds mtbf;             // M: of the whole job
  double shape = 1;         // of Weibull and burn-in
  Seconds settled;          // burn-in only
  bool in_restarts = true;  // whether a restart can fail
};

struct CheckpointTiers {
  Seconds interval;  // t1 (tau): useful time between memory checkpoints, or between storage ones if there is one tier
  Seconds memory_stall;   // c1
  int storage_every = 1;  // m: of the memory checkpoints
  Seconds storage_stall;  // c2
  Seconds persist;  // P: running time after the stall until a storage checkpoint is valid; it may not exceed a cycle

  [[nodiscard]] Seconds cycle() const {  // between two storage checkpoints, stalls included
    return (interval + memory_stall) * static_cast<double>(storage_every) + storage_stall;
  }
};

struct Recovery {
  TimeLaw wait;     // q: nothing runs
  TimeLaw restart;  // R: a failure cuts it short
};

struct PlannedStops {
  double per_day = 0;  // Poisson, a day of working time
  Seconds every;       // or else one each so much calendar time (put off while the job is down)
  Seconds duration;    // d_p
};

// A job of `replicas` that each do a share of `micro_batches` a step, one replica fewer for each node beyond the spares.
struct Shrink {
  int replicas = 0;
  int micro_batches = 0;
  int least = 1;  // replicas below which it waits
  Seconds grow;   // stop, after a save, when a node is back

  // A step takes ceil(B / (d - lost)) rounds instead of ceil(B / d).
  [[nodiscard]] double step_ratio(int lost) const {
    const auto rounds = [this](int d) { return (micro_batches + d - 1) / d; };
    return static_cast<double>(rounds(replicas - lost)) / rounds(replicas);
  }
};

struct SparePool {
  int count = 0;  // k
  TimeLaw repair;
  double node_share = 1;         // of the failures, those that take a node out
  std::optional<Shrink> shrink;  // absent: the job waits
};

struct Slowdown {
  double steady =
      0;  // extra share of useful time that every step takes: stragglers of a step, the mean of a daily swing
  double nodes = 0;       // nodes of which the slowest, for the whole run, sets the pace
  double lasting_cv = 0;  // spread of their speeds (log-normal, mean 1); one draw of the maximum a run
};

struct RunProcess {
  FailureLaw failures;
  CheckpointTiers checkpoints;
  double manual_share = 0;  // of all failures
  double memory_share = 0;  // of the others
  Recovery memory;
  Recovery storage;
  TimeLaw manual_wait;  // then the storage restart
  PlannedStops planned;
  std::optional<SparePool> spares;
  Slowdown slowdown;

  [[nodiscard]] double share_of_memory() const { return (1 - manual_share) * memory_share; }
  [[nodiscard]] double share_of_storage() const { return (1 - manual_share) * (1 - memory_share); }
  [[nodiscard]] double mean_wait() const {
    return share_of_memory() * memory.wait.mean() + share_of_storage() * storage.wait.mean() +
           manual_share * manual_wait.mean();
  }
  [[nodiscard]] bool one_tier() const { return share_of_memory() == 0 && checkpoints.storage_every == 1; }
};

// The process of completion.hpp, with the second tier where there is one.
[[nodiscard]] inline RunProcess process_of(const Conditions& c) {
  RunProcess p;
  p.failures.mtbf = c.mtbf;
  p.checkpoints.interval = c.interval;
  p.checkpoints.storage_stall = c.stall;
  p.storage = {TimeLaw::fixed(c.wait), TimeLaw::fixed(c.restart)};
  p.memory = p.storage;
  p.manual_share = c.manual_share;
  p.manual_wait = TimeLaw::fixed(c.manual_wait);
  p.planned.per_day = c.planned_per_day;
  p.planned.duration = c.planned_duration;
  if (c.memory) {
    p.checkpoints.interval = c.memory->interval;
    p.checkpoints.memory_stall = c.memory->stall;
    p.checkpoints.storage_every = static_cast<int>(std::clamp(std::round(c.interval / c.memory->interval), 1.0, 1e9));
    p.memory_share = c.memory->share;
    p.memory = {TimeLaw::fixed(c.memory->wait), TimeLaw::fixed(c.memory->restart)};
  }
  return p;
}

namespace detail {
inline void require_share(double value, const char* function, const char* what) {
  if (!(value >= 0) || !(value <= 1)) {
    throw Error(Failure::usage, "out_of_range", function,
                std::string(what) + " must be from 0 to 1, got " + print_number(value, 6));
  }
}
inline void require_whole(double value, double least, const char* function, const char* what) {
  if (!(value >= least) || !(value <= 1e9)) {
    throw Error(Failure::usage, "out_of_range", function,
                std::string(what) + " must be a whole number from " + print_number(least, 6) + " to 1e9, got " +
                    print_number(value, 10));
  }
}
}  // namespace detail

inline void check(const SparePool& pool) {
  constexpr const char* here = "spares";
  detail::require_whole(pool.count, 0, here, "spares");
  detail::require_positive(pool.repair.mean(), here, "repair time", print(Seconds(pool.repair.mean())));
  detail::require_share(pool.node_share, here, "share of failures that take a node");
  if (!pool.shrink) return;
  detail::require_whole(pool.shrink->replicas, 2, here, "replicas");
  detail::require_whole(pool.shrink->micro_batches, pool.shrink->replicas, here, "micro-batches a step");
  detail::require_whole(pool.shrink->least, 1, here, "least replicas");
  detail::require_not_negative(pool.shrink->grow.value, here, "stop to grow", print(pool.shrink->grow));
  if (pool.shrink->least > pool.shrink->replicas) {
    throw Error(Failure::usage, "out_of_range", here,
                "least replicas must be at most the " + std::to_string(pool.shrink->replicas) + " there are, got " +
                    std::to_string(pool.shrink->least));
  }
}

inline void check(const RunProcess& p) {
  constexpr const char* here = "process";
  const FailureLaw& f = p.failures;
  detail::require_positive(f.mtbf.value, here, "MTBF", print(f.mtbf));
  if (f.kind != FailureLaw::Kind::exponential) {
    if (!(f.shape >= 0.1) || !(f.shape <= 10)) {
      throw Error(Failure::usage, "out_of_range", here,
                  "shape must be from 0.1 to 10, got " + print_number(f.shape, 6));
    }
    if (f.kind == FailureLaw::Kind::burn_in)
      detail::require_positive(f.settled.value, here, "settled age", print(f.settled));
  }
  const CheckpointTiers& t = p.checkpoints;
  detail::require_positive(t.interval.value, here, "checkpoint interval", print(t.interval));
  detail::require_not_negative(t.memory_stall.value, here, "memory stall", print(t.memory_stall));
  detail::require_not_negative(t.storage_stall.value, here, "storage stall", print(t.storage_stall));
  detail::require_not_negative(t.persist.value, here, "time to persist", print(t.persist));
  detail::require_whole(t.storage_every, 1, here, "memory checkpoints a storage checkpoint");
  if (t.persist > t.cycle()) {
    throw Error(Failure::infeasible, "persist_exceeds_interval", here,
                "time to persist must be at most the " + print(t.cycle(), 4) +
                    " between two storage checkpoints, got " + print(t.persist, 4) + ", " +
                    print(t.persist - t.cycle(), 3) + " more");
  }
  detail::require_share(p.manual_share, here, "manual share");
  detail::require_share(p.memory_share, here, "memory share");
  detail::require_not_negative(p.planned.per_day, here, "planned stops a day", print_number(p.planned.per_day, 6));
  detail::require_not_negative(p.planned.every.value, here, "time between planned stops", print(p.planned.every));
  detail::require_not_negative(p.planned.duration.value, here, "planned duration", print(p.planned.duration));
  if (p.planned.per_day > 0 && p.planned.every.value > 0) {
    throw Error(Failure::usage, "conflict", here, "planned stops come at random or at fixed times, not both");
  }
  const Seconds stop = t.storage_stall + p.planned.duration;
  if (p.planned.every.value > 0 && p.planned.every <= stop) {
    throw Error(Failure::infeasible, "never_ends", here,
                "time between planned stops must exceed the " + print(stop, 4) + " that one takes, got " +
                    print(p.planned.every, 4));
  }
  detail::require_not_negative(p.slowdown.steady, here, "slowdown", print_number(p.slowdown.steady, 6));
  detail::require_not_negative(p.slowdown.nodes, here, "nodes", print_number(p.slowdown.nodes, 6));
  detail::require_share(p.slowdown.lasting_cv, here, "spread of the nodes' speeds");
  if (p.spares) check(*p.spares);
}

}  // namespace floplan::reliability
