// SPDX-License-Identifier: BSD-3-Clause
//
// How many spare nodes a job needs, and what share of the time it stands still with fewer.
//
//   a = N lambda r     nodes in repair on average, if the fleet never stops: failures a day times the mean repair time
//   Palm      P(more than k in repair) = P(Poisson(a) > k)          the fleet runs on whatever the job does
//   Erlang B  B(k + 1, a),  B_0 = 1, B_i = a B_(i-1) / (i + a B_(i-1))
//             share of the time that a job stands still which stops while more than k are in repair: nothing fails then, so
//             the number in repair is that of a loss system with k + 1 places, whatever the law of the repair time
//
//   wait of one stop r/(k + 1);   share of failures that stop the job pi_k / (1 - pi_(k+1)), pi_i the system's states
//
// `spares` of the report is Erlang's, since a training job stops; Palm's overstates stopping 1.2 to 2.3 times and sizes a
// fleet that keeps running (several jobs, or one that shrinks).
// Source: Erlang 1917, Sevastyanov 1957 (insensitivity), Palm 1943. Holds: independent failures, repair places unlimited.
// Pitfall: one fault that drains a whole rack (NVL72) takes its nodes together: count racks as nodes then.
#pragma once

#include <cmath>
#include <string>

#include <boost/math/special_functions/gamma.hpp>

#include "floplan/core/quantity_text.hpp"
#include "floplan/reliability/interruption_rate.hpp"

namespace floplan::reliability {

[[nodiscard]] inline double erlang_b(int places, double load) {
  double b = 1;
  for (int i = 1; i <= places; ++i) b = load * b / (i + load * b);
  return b;
}

// P(Poisson(load) > k).
[[nodiscard]] inline double palm_excess(int spares, double load) {
  return load > 0 ? boost::math::gamma_p(static_cast<double>(spares) + 1, load) : 0;
}

struct SpareQuestion {
  double nodes = 0;
  double rate_per_node_day = 0;
  Seconds repair;       // mean
  double level = 0.99;  // share of the time that there must be enough
};

struct SpareLevel {
  int spares = 0;
  double stopped = 0;  // share of the time without enough
};

struct SpareReport {
  double load = 0;  // a
  SpareLevel erlang;
  SpareLevel palm;
  Seconds mean_stop;          // with Erlang's spares
  double stopping_share = 0;  // of the failures, those that then find no spare

  [[nodiscard]] int spares() const { return erlang.spares; }
  [[nodiscard]] std::string describe() const {
    return std::to_string(erlang.spares) + " spares (Erlang B: the job stops without one), " +
           std::to_string(palm.spares) + " if the fleet runs on (Palm), with " + print_number(load, 3) +
           " nodes in repair on average";
  }
};

// What k spares give.
[[nodiscard]] inline SpareReport spares_at(const SpareQuestion& q, int k) {
  detail::require_positive(q.nodes, "spares", "nodes", print_number(q.nodes, 6));
  detail::require_positive(q.rate_per_node_day, "spares", "rate a node-day", print_number(q.rate_per_node_day, 6));
  detail::require_positive(q.repair.value, "spares", "repair time", print(q.repair));
  if (k < 0)
    throw Error(Failure::usage, "out_of_range", "spares", "spares must be at least zero, got " + std::to_string(k));
  SpareReport out;
  out.load = q.nodes * q.rate_per_node_day * in_days(q.repair);
  out.erlang = {k, erlang_b(k + 1, out.load)};
  out.palm = {k, palm_excess(k, out.load)};
  out.mean_stop = q.repair * (1.0 / (k + 1));
  // pi_k = pi_(k+1) (k + 1) / a.
  out.stopping_share = out.erlang.stopped * (k + 1) / out.load / (1 - out.erlang.stopped);
  return out;
}

[[nodiscard]] inline SpareReport spares_for(const SpareQuestion& q) {
  if (!(q.level > 0) || !(q.level < 1)) {
    throw Error(Failure::usage, "out_of_range", "spares",
                "level must be between 0 and 1, got " + print_number(q.level, 6));
  }
  const double load = spares_at(q, 0).load;
  if (load > 1e7) {
    throw Error(Failure::infeasible, "too_many_spares", "spares",
                "nodes in repair must be at most 1e7 on average, got " + print_number(load, 4));
  }
  int k = 0;
  for (double b = erlang_b(1, load); b > 1 - q.level; ++k) b = load * b / (k + 2 + load * b);
  SpareReport out = spares_at(q, k);
  int palm = static_cast<int>(std::max(0.0, load - 1));  // at least half the time too few below the mean
  if (q.level < 0.6) palm = 0;
  while (palm_excess(palm, load) > 1 - q.level) ++palm;
  while (palm > 0 && palm_excess(palm - 1, load) <= 1 - q.level) --palm;
  out.palm = {palm, palm_excess(palm, load)};
  return out;
}

}  // namespace floplan::reliability
