// SPDX-License-Identifier: BSD-3-Clause
//
// What a fleet does to one job: a new one fails more at first, and a job with too few nodes may shrink instead of waiting.
//
//   new fleet   N nodes of Weibull life (shape k, mean mu, theta = mu / Gamma(1 + 1/k)), all new at t = 0:
//               failures up to t at least N (t/theta)^k, since replaced nodes are new too; N t/mu when settled
//   as a rate   (1/M) (t/s)^(k-1) up to the age s at which it meets 1/M, M = mu/N:  s = theta (k mu/theta)^(1/(1-k))
//
//   shrink      d replicas, each failing at rate l and mended in r: running on average d / (1 + l r), all up with chance
//               (1 + l r)^-d. A step of B micro-batches takes ceil(B/(d-1)) / ceil(B/d) times as long, not d/(d-1)
//   per failure shrink t_shrink + t_grow + r delta, wait W: shrink where W is more
//
// Source: power-law process (Crow 1975), binomial availability, renewal theory; checked by event simulation.
// Holds: k below 1 for a burn-in. Pitfall: with 128 replicas and a day of repair all replicas are up 0.05% of the time, so
// that a job which can shrink nearly always has, and its rate must be quoted at the mean, not at full strength.
#pragma once

#include <cmath>
#include <string>

#include <boost/math/special_functions/gamma.hpp>

#include "floplan/reliability/process.hpp"

namespace floplan::reliability {

struct NewFleet {
  double nodes = 0;
  Seconds node_life;  // mu: mean time to failure of one node
  double shape = 0.7;
};

[[nodiscard]] inline Seconds life_scale(const NewFleet& f) {
  detail::require_positive(f.nodes, "fleet", "nodes", print_number(f.nodes, 6));
  detail::require_positive(f.node_life.value, "fleet", "life of a node", print(f.node_life));
  if (!(f.shape > 0.1) || !(f.shape < 1)) {
    throw Error(Failure::usage, "out_of_range", "fleet",
                "shape of a burn-in must be between 0.1 and 1, got " + print_number(f.shape, 6));
  }
  return f.node_life * (1 / boost::math::tgamma(1 + 1 / f.shape));
}

// The law of the whole job's failures while its fleet is new.
[[nodiscard]] inline FailureLaw burn_in(const NewFleet& f) {
  const Seconds theta = life_scale(f);
  FailureLaw out;
  out.kind = FailureLaw::Kind::burn_in;
  out.mtbf = f.node_life * (1 / f.nodes);
  out.shape = f.shape;
  out.settled = theta * std::pow(f.shape * (f.node_life / theta), 1 / (1 - f.shape));
  return out;
}

// Expected failures in the first `age` of running time.
[[nodiscard]] inline double failures_by(const FailureLaw& f, Seconds age) {
  detail::require_not_negative(age.value, "fleet", "age", print(age));
  if (f.kind != FailureLaw::Kind::burn_in) return age / f.mtbf;
  const double at_settled = f.settled / f.mtbf / f.shape;
  return age < f.settled ? at_settled * std::pow(age / f.settled, f.shape) : at_settled + (age - f.settled) / f.mtbf;
}

struct ShrinkQuestion {
  Shrink job;
  double failures_per_replica_day = 0;
  Seconds repair;          // r
  Seconds shrink_time;     // what shrinking costs a failure beyond its restart
  Seconds wait_for_spare;  // W, what waiting costs instead
};

struct ShrinkReport {
  double mean_alive = 1;  // share of the replicas
  double all_up = 1;
  double step_ratio = 1;  // with one replica fewer
  Seconds shrink_cost, wait_cost;
  [[nodiscard]] bool shrinks() const { return shrink_cost < wait_cost; }
  [[nodiscard]] std::string describe() const {
    return std::string(shrinks() ? "shrink" : "wait") + ": a failure costs " + print(shrink_cost, 3) +
           " if the job shrinks and " + print(wait_cost, 3) + " if it waits; " + print_number(100 * mean_alive, 3) +
           "% of the replicas are up on average";
  }
};

[[nodiscard]] inline ShrinkReport shrink_or_wait(const ShrinkQuestion& q) {
  check(SparePool{0, TimeLaw::fixed(q.repair), 1, q.job});
  detail::require_not_negative(q.failures_per_replica_day, "shrink", "failures a replica-day",
                               print_number(q.failures_per_replica_day, 6));
  detail::require_not_negative(q.shrink_time.value, "shrink", "time to shrink", print(q.shrink_time));
  detail::require_not_negative(q.wait_for_spare.value, "shrink", "wait for a spare", print(q.wait_for_spare));
  ShrinkReport out;
  const double load = q.failures_per_replica_day * in_days(q.repair);
  out.mean_alive = 1 / (1 + load);
  out.all_up = std::exp(-q.job.replicas * std::log1p(load));
  out.step_ratio = q.job.step_ratio(1);
  // In r seconds r / ratio are done: what is missing of r.
  out.shrink_cost = q.shrink_time + q.job.grow + q.repair * (1 - 1 / out.step_ratio);
  out.wait_cost = q.wait_for_spare;
  return out;
}

}  // namespace floplan::reliability
