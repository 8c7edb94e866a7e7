// SPDX-License-Identifier: BSD-3-Clause
//
// How long a run takes when failures interrupt it, and where the time goes. One checkpoint tier, exponential failures;
// expected_run.hpp takes conditions of two.
//
// Every tau useful seconds the job stalls w seconds to write a checkpoint; a segment is a = tau + w. Failures come at rate
// 1/M while it works, stalls or restarts. After one the job waits q (nothing runs, so nothing fails), restarts for R
// (which a failure can cut short and begin anew), and redoes the segment. Planned stops (rate nu while working) save, take
// d_p, and lose nothing. With n = T_s / tau segments (Daly 2006, exact; the split of time by renewal):
//
//   working, with lost work   W = n M (e^(a/M) - 1)                    lost work = W - n a, checkpoints n w
//   failures                  F = n (e^(a/M) - 1) e^(R/M)              (cut-short restarts among them)
//   restarting                n (e^(a/M) - 1) M (e^(R/M) - 1)
//   run time                  T = n M e^(R/M) (e^(a/M) - 1) + F q + nu W (w + d_p)
//
// ETTR, the effective training time ratio, is T_s / T. The variance is that of the same process, exactly: a random sum of
// random costs, segment by segment. First order (Kokolis et al. 2025): ETTR = [1 - (R + q + tau/2)/M] / (1 + w/tau).
// Pitfall: the first order is within 0.5% only while (R + q + tau/2)/M < 0.1; at 0.5 it is 21% off.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/interruption_rate.hpp"

namespace floplan::reliability {

// A second, cheaper tier beside the store: checkpoints to memory or to local disks.
struct MemoryCheckpoints {
  Seconds interval;  // useful time between two; of those to the store it is a whole number of these
  Seconds stall;
  double share = 0;  // of the failures that are handled automatically, those that it mends
  Seconds restart;   // after those
  Seconds wait;
};

struct Conditions {
  Seconds mtbf;                // M: of the whole job, unplanned
  Seconds interval;            // tau: useful time between checkpoints (to the store, where there is a second tier)
  Seconds stall;               // w: what one checkpoint stops the job for
  Seconds restart;             // R: interruptible: load, rebuild, warm up
  Seconds wait;                // q: uninterruptible: detect, diagnose, replace, for a failure handled automatically
  double manual_share = 0;     // share of failures that wait for a person instead
  Seconds manual_wait;         // their q
  double planned_per_day = 0;  // nu: planned stops a day of working time
  Seconds planned_duration;    // d_p
  std::optional<MemoryCheckpoints> memory;  // absent: one tier

  [[nodiscard]] Seconds mean_wait() const {
    return (1 - manual_share) * automatic(wait, &MemoryCheckpoints::wait) + manual_share * manual_wait;
  }
  // Of a failure that is handled automatically.
  [[nodiscard]] Seconds automatic(Seconds stored, Seconds MemoryCheckpoints::*kept) const {
    return memory ? (1 - memory->share) * stored + memory->share * ((*memory).*kept) : stored;
  }
};

// Shares of the run time; with the useful share (ETTR) they sum to 1.
struct Waste {
  double checkpoint = 0;
  double lost_work = 0;
  double restart = 0;      // restarts and the waits before them
  double maintenance = 0;  // planned stops
};

struct Completion {
  Seconds useful;
  Seconds wall_clock;          // expected
  Seconds standard_deviation;  // of the run time, under fixed inputs
  double failures = 0;         // expected, unplanned
  double planned_stops = 0;    // expected
  double ettr = 0;
  double ettr_first_order = 0;  // planned stops not in it
  Waste waste;
};

inline void check(const Conditions& c) {
  constexpr const char* here = "completion";
  detail::require_positive(c.mtbf.value, here, "MTBF", print(c.mtbf));
  detail::require_positive(c.interval.value, here, "checkpoint interval", print(c.interval));
  detail::require_not_negative(c.stall.value, here, "checkpoint stall", print(c.stall));
  detail::require_not_negative(c.restart.value, here, "restart time", print(c.restart));
  detail::require_not_negative(c.wait.value, here, "wait", print(c.wait));
  detail::require_not_negative(c.manual_wait.value, here, "manual wait", print(c.manual_wait));
  detail::require_not_negative(c.planned_per_day, here, "planned stops a day", print_number(c.planned_per_day, 6));
  detail::require_not_negative(c.planned_duration.value, here, "planned duration", print(c.planned_duration));
  detail::require_not_negative(c.manual_share, here, "manual share", print_number(c.manual_share, 6));
  if (c.memory) {
    throw Error(Failure::usage, "no_closed_form", here, "is of one checkpoint tier: expected_run() takes two");
  }
  if (c.manual_share > 1) {
    throw Error(Failure::usage, "out_of_range", here,
                "manual share must be at most 1, got " + print_number(c.manual_share, 6));
  }
}

// Kokolis et al. 2025; useful time over run time. It is negative where the first order has broken down altogether.
[[nodiscard]] inline double ettr_first_order(Seconds mtbf, Seconds interval, Seconds stall, Seconds restart) {
  return (1 - (restart.value + interval.value / 2) / mtbf.value) / (1 + stall / interval);
}

// Mean and variance of an exponential time of mean M, given that it is below `cut`.
struct TruncatedTime {
  double mean = 0;
  double variance = 0;
};
[[nodiscard]] inline TruncatedTime truncated_exponential(double mtbf, double cut) {
  const double u = cut / mtbf;
  if (u < 0.01) {
    // The closed forms cancel. The next terms are below 1e-14 relative.
    return {cut * (0.5 - u / 12 + u * u * u / 720), cut * cut * (1.0 / 12 - u * u / 240 + u * u * u * u / 6048)};
  }
  const double half = cut / (2 * std::sinh(u / 2));
  return {mtbf - cut / std::expm1(u), mtbf * mtbf - half * half};
}

// Throws Error(usage) for inputs out of range and Error(infeasible) where the run would never end (beyond 1e15 s).
[[nodiscard]] inline Completion completion(Seconds useful, const Conditions& c) {
  check(c);
  detail::require_positive(useful.value, "completion", "useful time", print(useful));
  const double m = c.mtbf.value;
  const double segment = c.interval.value + c.stall.value;
  const double segments = useful.value / c.interval.value;
  const double retries = std::expm1(segment / m);                  // expected failures of work a segment
  const double restart_retries = std::expm1(c.restart.value / m);  // expected failures a restart
  const double work_failures = segments * retries;
  const double failures = work_failures * (1 + restart_retries);
  const double working = segments * m * retries;
  const double restarting = work_failures * m * restart_retries;
  const double waiting = failures * c.mean_wait().value;
  const double planned = c.planned_per_day * working / seconds_per_day;
  const double maintenance = planned * (c.stall.value + c.planned_duration.value);
  const double total = working + restarting + waiting + maintenance;
  if (!(total < 1e15)) {
    throw Error(Failure::infeasible, "never_ends", "completion",
                "the run must end, but a segment of " + print(Seconds(segment), 3) + " and a restart of " +
                    print(c.restart, 3) + " are too long for an MTBF of " + print(c.mtbf, 3));
  }

  // Var(T), exactly: a segment fails K times, geometric of mean `retries`. Each time costs the work lost, a wait and a
  // restart, and as often as the restart is cut short (geometric too) that attempt and another wait. Planned stops are
  // Poisson in the working time, which varies with the work lost.
  const TruncatedTime lost = truncated_exponential(m, segment);
  const TruncatedTime cut = c.restart.value > 0 ? truncated_exponential(m, c.restart.value) : TruncatedTime{};
  const double retries_variance = retries * (1 + retries);
  const double wait = c.mean_wait().value;
  const double wait_spread = c.manual_wait.value - c.wait.value;
  const double wait_variance = c.manual_share * (1 - c.manual_share) * wait_spread * wait_spread;
  const double again = cut.mean + wait;
  const double a_failure = lost.mean + wait + c.restart.value + restart_retries * again;
  const double a_failure_variance = lost.variance + wait_variance + restart_retries * (cut.variance + wait_variance) +
                                    restart_retries * (1 + restart_retries) * again * again;
  const double stop = c.stall.value + c.planned_duration.value;
  const double stopped = c.planned_per_day / seconds_per_day * stop;  // a second of working time
  const double work_variance = retries * lost.variance + retries_variance * lost.mean * lost.mean;
  const double work_covariance = retries * lost.variance + retries_variance * lost.mean * a_failure;
  const double variance = segments * (retries * a_failure_variance + retries_variance * a_failure * a_failure) +
                          segments * stopped * (stopped * work_variance + 2 * work_covariance) + planned * stop * stop;

  Completion out;
  out.useful = useful;
  out.wall_clock = Seconds(total);
  out.standard_deviation = Seconds(std::sqrt(variance));
  out.failures = failures;
  out.planned_stops = planned;
  out.ettr = useful.value / total;
  out.ettr_first_order = ettr_first_order(c.mtbf, c.interval, c.stall, c.restart + c.mean_wait());
  // W - n a, without its cancellation.
  out.waste = {segments * c.stall.value / total, work_failures * lost.mean / total, (restarting + waiting) / total,
               maintenance / total};
  return out;
}

// What an expert would remark on these conditions.
[[nodiscard]] inline std::vector<Warning> cautions(const Conditions& c) {
  std::vector<Warning> out;
  // What a person mends comes back from the store.
  const auto mean = [&c](Seconds stored, Seconds MemoryCheckpoints::*kept) {
    return c.manual_share * stored + (1 - c.manual_share) * c.automatic(stored, kept);
  };
  const Seconds restart = mean(c.restart, &MemoryCheckpoints::restart);
  const Seconds interval = mean(c.interval, &MemoryCheckpoints::interval);
  const double load = (restart.value + c.mean_wait().value + interval.value / 2) / c.mtbf.value;
  if (load > 0.25) {
    out.push_back({"first_order_breaks",
                   "restart plus half an interval is " + print_number(load, 3) +
                       " of the MTBF: the first-order ETTR is several percent off above 0.25, read the exact one"});
  }
  if (c.memory) {
    // Against simulations the mean is within 0.4% up to there, and 2% to 6% too long beyond.
    const double stored = 1 - (1 - c.manual_share) * c.memory->share;
    const Seconds cycle = (c.interval / c.memory->interval) * (c.memory->interval + c.memory->stall) + c.stall;
    if (c.memory->interval + c.memory->stall > 0.3 * c.mtbf || stored * cycle > 0.15 * c.mtbf) {
      out.push_back({"two_tiers_rough", "checkpoints " + print(c.memory->interval + c.memory->stall, 3) + " and " +
                                            print(cycle, 3) + " apart are long for an MTBF of " + print(c.mtbf, 3) +
                                            ": the closed form of two tiers is up to 6% too long there, and floplan "
                                            "reliability simulate is exact"});
    }
  }
  if (c.stall.value >= c.mtbf.value) {
    out.push_back({"checkpoint_exceeds_mtbf", "a checkpoint stalls the job for " + print(c.stall, 3) +
                                                  ", as long as the mean time between failures, " + print(c.mtbf, 3) +
                                                  ": most of them never finish"});
  }
  const Seconds down =
      c.automatic(c.restart, &MemoryCheckpoints::restart) + c.automatic(c.wait, &MemoryCheckpoints::wait);
  if (down >= c.mtbf) {
    out.push_back({"restart_exceeds_mtbf", "a restart takes " + print(down, 3) +
                                               ", as long as the mean time between failures, " + print(c.mtbf, 3) +
                                               ": the job is mostly restarting"});
  }
  return out;
}

}  // namespace floplan::reliability
