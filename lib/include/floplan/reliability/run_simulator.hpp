// SPDX-License-Identifier: BSD-3-Clause
//
// One run of the process of process.hpp, event by event: when it ended, what interrupted it, and where the time went.
//
//   RunSimulator simulator(process);   RandomStream random(seed, i);   SimulatedRun run = simulator(random, useful);
//
// Between two interruptions nothing is random, so the checkpoints in between are counted by division and not stepped
// through: the cost is that of the interruptions, one exponential each (about 15 ns), whatever the checkpoint interval. A
// failure's clock runs on through a restart, which is one draw for both: what is left of it after the restart is, for any
// law, the time to the next failure.
//
// `martingales` are sums whose expectation is zero whatever happens (failures of a class less their share of the running
// time over M, planned stops less their rate times the working time, waits less their means): the control variates that
// simulation.hpp regresses on. Exact for exponential failures; for another law the classes' split takes their place.
// Source: the process is that of process.hpp; control variates, Glasserman 2003, 4.1.
// Holds: as process.hpp says, after its check(); a run of more than 1e9 failures is refused as one that never ends.
// Pitfall: lost work is useful work thrown away; the stalls that it held are under `stalled`, kept or not.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/random/exponential_distribution.hpp>

#include "floplan/core/random.hpp"
#include "floplan/reliability/process.hpp"
#include "floplan/reliability/simulated_run.hpp"

namespace floplan::reliability {

class RunSimulator {
 public:
  explicit RunSimulator(const RunProcess& process) : p_(process) {
    check(p_);
    const CheckpointTiers& t = p_.checkpoints;
    interval_ = t.interval.value;
    memory_stall_ = t.memory_stall.value;
    storage_stall_ = t.storage_stall.value;
    every_ = t.storage_every;
    per_block_ = 1 / t.cycle().value;
    const FailureLaw& f = p_.failures;
    mtbf_ = f.mtbf.value;
    if (f.kind == FailureLaw::Kind::weibull) scale_ = mtbf_ / boost::math::tgamma(1 + 1 / f.shape);
    manual_below_ = threshold(p_.manual_share);
    memory_below_ = threshold(p_.manual_share + p_.share_of_memory());
    planned_rate_ = p_.planned.per_day / seconds_per_day;
    plain_ = f.kind == FailureLaw::Kind::exponential && f.in_restarts && p_.one_tier() && memory_stall_ == 0 &&
             t.persist.value == 0 && !p_.spares && p_.slowdown.steady == 0 && !slowest_sets_pace() &&
             p_.planned.every.value == 0 && p_.storage.wait.always_the_same() && p_.storage.restart.always_the_same();
  }

  // A pure function of the stream's seed and index. useful must be positive.
  [[nodiscard]] SimulatedRun operator()(RandomStream& random, Seconds useful) const {
    return plain_ ? run<true>(random, useful.value) : run<false>(random, useful.value);
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  static double threshold(double share) { return share * 4294967296.0; }
  [[nodiscard]] bool slowest_sets_pace() const { return p_.slowdown.nodes > 0 && p_.slowdown.lasting_cv > 0; }

  static double unit_exponential(RandomStream& random) {
    return boost::random::exponential_distribution<double>()(random);
  }

  // Running time until the next failure; age: running time so far.
  template <bool plain>
  [[nodiscard]] double next_failure(RandomStream& random, double age) const {
    const double e = unit_exponential(random);
    if constexpr (!plain) {
      const FailureLaw& f = p_.failures;
      if (f.kind == FailureLaw::Kind::weibull) return scale_ * std::pow(e, 1 / f.shape);
      if (f.kind == FailureLaw::Kind::burn_in) return age_after(f, age, e) - age;
    }
    return mtbf_ * e;
  }
  // The age at which the cumulated rate has grown by e: (settled/kM) (age/settled)^k up to settled, linear beyond.
  [[nodiscard]] double age_after(const FailureLaw& f, double age, double e) const {
    const double settled = f.settled.value;
    const double at_settled = settled / (f.shape * mtbf_);
    const double from =
        age < settled ? at_settled * std::pow(age / settled, f.shape) : at_settled + (age - settled) / mtbf_;
    const double to = from + e;
    return to < at_settled ? settled * std::pow(to / at_settled, 1 / f.shape) : settled + (to - at_settled) * mtbf_;
  }

  [[nodiscard]] FailureClass draw_class(RandomStream& random) const {
    if (!(memory_below_ > 0)) return FailureClass::storage;
    const double word = random();
    if (word < manual_below_) return FailureClass::manual;
    return word < memory_below_ ? FailureClass::memory : FailureClass::storage;
  }

  [[nodiscard]] double draw_stretch(RandomStream& random) const {
    double out = 1 + p_.slowdown.steady;
    if (slowest_sets_pace()) {
      // The maximum of n is at the normal score whose upper tail is 1 - U^(1/n).
      const double tail = -std::expm1(std::log(random.uniform()) / p_.slowdown.nodes);
      const double score = boost::math::quantile(boost::math::complement(boost::math::normal(), tail));
      const double sigma = std::sqrt(std::log1p(p_.slowdown.lasting_cv * p_.slowdown.lasting_cv));
      out *= std::exp(sigma * score - sigma * sigma / 2);
    }
    return out;
  }

  // Where `x` seconds of work since the last memory checkpoint have led.
  struct Position {
    double storage = 0;  // storage checkpoints written since
    double valid = 0;    // of them, those that persisted
    double since = 0;    // memory checkpoints since the last written (or since the start of x, if none was)
    double memory = 0;   // memory checkpoints since the start of x
    double piece = 0;    // seconds of work since the last memory checkpoint
    double first = 1;    // memory checkpoints before the first storage one
  };
  template <bool plain>
  [[nodiscard]] Position position(double x, double since, double piece) const {
    Position at;
    const double period = piece + memory_stall_;
    if constexpr (plain) {
      // In the stall the piece is done, and its checkpoint not yet valid. x is within the run, so the count fits.
      at.storage = at.valid = at.memory = static_cast<double>(static_cast<std::int64_t>(x * per_block_));
      at.piece = std::clamp(x - at.memory * (piece + storage_stall_), 0.0, piece);
      return at;
    }
    const double m = every_;
    const double block = m * period + storage_stall_;
    at.first = std::max(1.0, m - since);
    const double to_first = at.first * period + storage_stall_;
    double left = at.first;
    double in = x;
    if (x >= to_first) {
      const double more = std::floor((x - to_first) / block);
      in = x - to_first - more * block;
      at.storage = 1 + more;
      at.memory = at.first + more * m;
      left = m;
    }
    at.valid = x - p_.checkpoints.persist.value < to_first
                   ? 0
                   : 1 + std::floor((x - p_.checkpoints.persist.value - to_first) / block);
    at.since = std::min(std::floor(in / period), left);
    at.memory += at.since;
    at.piece = at.since == left ? 0 : std::clamp(in - at.since * period, 0.0, piece);
    return at;
  }

  // The plain process from failure to failure, for as long as neither a planned stop nor the end of the run can come
  // first: the same draws and sums as the general step, in few enough variables to stay in registers.
  [[nodiscard]] double fail_in_a_row(RandomStream& stream, double work, double from, double& failure, double& planned,
                                     double& worked, SimulatedRun& out) const {
    RandomStream random = stream;
    const double block = interval_ + storage_stall_;
    const double restart = p_.storage.restart.mean();
    const bool manual = memory_below_ > 0;
    double at = from, next = failure, until = planned, sum = 0, lost = 0, cut = 0, waited = 0;
    std::uint64_t rolled_back = 0, all = 0, by_hand = 0;
    while (next < until && next < work - at) {
      const double segments = static_cast<double>(static_cast<std::int64_t>(next * per_block_));
      lost += std::clamp(next - segments * block, 0.0, interval_);
      at += segments * interval_;
      sum += next;
      until -= next;
      ++rolled_back;
      for (;;) {
        ++all;
        if (manual && draw_class(random) == FailureClass::manual) {
          ++by_hand;
          waited += p_.manual_wait.draw(random);
        }
        next = mtbf_ * unit_exponential(random);
        if (next >= restart) break;
        cut += next;
      }
      next -= restart;
    }
    stream = random;
    failure = next;
    planned = until;
    worked += sum;
    const double handled = static_cast<double>(all - by_hand);
    out.failures[1] += handled;
    out.failures[2] += static_cast<double>(by_hand);
    out.restart_failures += static_cast<double>(all - rolled_back);
    out.lost_work += lost;
    out.restarting += cut + static_cast<double>(rolled_back) * restart;
    out.waiting += waited + handled * p_.storage.wait.mean();
    return at;
  }

  // Working time from a memory checkpoint to the end of the run, `remaining` useful seconds away.
  [[nodiscard]] double time_to_end(double remaining, double since, double stretch) const {
    const double memory = std::max(0.0, std::ceil(remaining / interval_ * (1 - 1e-14)) - 1);
    const double first = std::max(1.0, every_ - since);
    const double storage = memory >= first ? 1 + std::floor((memory - first) / every_) : 0;
    return remaining * stretch + memory * memory_stall_ + storage * storage_stall_;
  }

  // Nodes in repair: when each comes back.
  struct Repairs {
    std::vector<double> until;
    void mend(double now) {
      std::erase_if(until, [now](double t) { return t <= now; });
    }
    [[nodiscard]] double earliest() const {
      return until.empty() ? never : *std::min_element(until.begin(), until.end());
    }
  };
  [[nodiscard]] int lost_replicas(const Repairs& repairs) const {
    if (!p_.spares || !p_.spares->shrink) return 0;
    return std::max(0, static_cast<int>(repairs.until.size()) - p_.spares->count);
  }

  template <bool plain>
  [[nodiscard]] SimulatedRun run(RandomStream& random, double work) const;

  RunProcess p_;
  double interval_ = 0, memory_stall_ = 0, storage_stall_ = 0, every_ = 1, per_block_ = 0;
  double mtbf_ = 0, scale_ = 0, planned_rate_ = 0;
  double manual_below_ = 0, memory_below_ = 0;
  bool plain_ = false;
};

template <bool plain>
SimulatedRun RunSimulator::run(RandomStream& random, double work) const {
  SimulatedRun out;
  out.useful = work;
  const double run_stretch = plain ? 1 : draw_stretch(random);
  double age = 0;  // running time: working, stalling, restarting
  double now = 0;
  double worked = 0;   // with stalls
  double working = 0;  // without
  double memory_at = 0, storage_at = 0, since = 0;
  double failure = next_failure<plain>(random, 0);
  double planned = planned_rate_ > 0 ? unit_exponential(random) / planned_rate_ : never;
  double due = p_.planned.every.value > 0 ? p_.planned.every.value : never;
  Repairs repairs;
  for (;;) {
    if constexpr (plain) storage_at = memory_at = fail_in_a_row(random, work, memory_at, failure, planned, worked, out);
    double stretch = run_stretch;
    double grow = never;
    if constexpr (!plain) {
      if (due < never) planned = std::max(0.0, due - now);
      if (p_.spares && p_.spares->shrink) {
        repairs.mend(now);
        const int lost = lost_replicas(repairs);
        stretch *= p_.spares->shrink->step_ratio(lost);
        if (lost > 0) grow = repairs.earliest() - now;
      }
    }
    const double piece = interval_ * stretch;
    const double x = std::min({failure, planned, grow});
    const double remaining = work - memory_at;
    if (x >= remaining * stretch) {
      const double needed = time_to_end(remaining, since, stretch);
      if (x >= needed) {
        now += needed;
        worked += needed;
        age += needed;
        working += remaining * stretch;
        break;
      }
    }
    now += x;
    worked += x;
    age += x;
    failure -= x;
    planned -= x;
    const Position at = position<plain>(x, since, piece);
    const double kept = memory_at + at.memory * interval_;
    const double progress = kept + at.piece / stretch;
    working += at.memory * piece + at.piece;
    if (at.valid > 0) {
      storage_at = memory_at + (plain ? at.valid : at.first + (at.valid - 1) * every_) * interval_;
    }
    if (failure > 0) {  // a planned stop, or a replica comes back: what is done is saved
      const bool growing = grow <= x && grow < planned + x;
      const double stop = storage_stall_ + (growing ? p_.spares->shrink->grow.value : p_.planned.duration.value);
      now += stop;
      out.maintenance += stop;
      memory_at = storage_at = progress;
      since = 0;
      if (growing) continue;
      ++out.planned_stops;
      if (planned_rate_ > 0) planned = unit_exponential(random) / planned_rate_;
      while (due <= now) due += p_.planned.every.value;
      continue;
    }
    double rolled_back_to = kept;
    if constexpr (plain) {
      memory_at = storage_at;
    } else {
      since = at.storage > 0 ? at.since : since + at.since;
      if (at.storage > at.valid) since = std::max(since, every_);  // the write in the background is lost: write again
    }
    bool storage_lost = false;
    for (bool restarted = false; !restarted;) {
      const FailureClass kind = draw_class(random);
      ++out.failures[static_cast<std::size_t>(kind)];
      if (kind != FailureClass::memory && !storage_lost) {
        storage_lost = true;
        rolled_back_to = storage_at;
        since = 0;
      }
      const TimeLaw& wait_law = kind == FailureClass::manual   ? p_.manual_wait
                                : kind == FailureClass::memory ? p_.memory.wait
                                                               : p_.storage.wait;
      const double wait = plain && kind != FailureClass::manual ? wait_law.mean() : wait_law.draw(random);
      now += wait;
      out.waiting += wait;
      if constexpr (!plain) {
        if (p_.spares) {
          const SparePool& pool = *p_.spares;
          if (pool.node_share >= 1 || random.uniform() < pool.node_share)
            repairs.until.push_back(now - wait + pool.repair.draw(random));
          repairs.mend(now);
          const int bearable = pool.count + (pool.shrink ? pool.shrink->replicas - pool.shrink->least : 0);
          while (static_cast<int>(repairs.until.size()) > bearable) {
            const double back = repairs.earliest();
            out.starved += back - now;
            now = back;
            repairs.mend(now);
          }
        }
      }
      const TimeLaw& restart_law = storage_lost ? p_.storage.restart : p_.memory.restart;
      const double restart = plain ? restart_law.mean() : restart_law.draw(random);
      failure = next_failure<plain>(random, age);
      restarted = failure >= restart || !p_.failures.in_restarts;
      const double spent = restarted ? restart : failure;
      now += spent;
      out.restarting += spent;
      if (p_.failures.in_restarts) {
        age += spent;
        failure -= spent;
      }
      if (!restarted) ++out.restart_failures;
    }
    out.lost_work += progress - rolled_back_to;
    memory_at = rolled_back_to;
    if (!(out.failure_count() < 1e9)) {
      throw Error(Failure::infeasible, "never_ends", "simulation",
                  "a run must end within 1e9 failures, but with an MTBF of " + print(p_.failures.mtbf, 3) +
                      " one had done " + print_number(100 * memory_at / work, 3) + "% of its work by then");
    }
  }
  out.wall_clock = worked + out.down();
  out.slowed = plain ? 0 : working - out.lost_work - work;
  out.stalled = worked - work - out.lost_work - out.slowed;
  const double expected = p_.failures.kind == FailureLaw::Kind::exponential
                              ? (worked + (p_.failures.in_restarts ? out.restarting : 0)) / mtbf_
                              : out.failure_count();
  out.martingales = {out.failures[0] - p_.share_of_memory() * expected,
                     out.failures[1] - p_.share_of_storage() * expected, out.failures[2] - p_.manual_share * expected,
                     planned_rate_ > 0 ? out.planned_stops - planned_rate_ * worked : 0,
                     out.waiting - out.failures[0] * p_.memory.wait.mean() - out.failures[1] * p_.storage.wait.mean() -
                         out.failures[2] * p_.manual_wait.mean()};
  return out;
}

}  // namespace floplan::reliability
