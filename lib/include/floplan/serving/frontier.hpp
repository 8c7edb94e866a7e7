// SPDX-License-Identifier: BSD-3-Clause
//
// Latency against throughput: what each number of accelerators a replica and each batch give, and which of them nothing beats.
//
//   for (const FrontierPoint& p : frontier(request, {1, 2, 4, 8})) ...        p.best: no other is faster and cheaper
//
// Batches are the powers of two up to what fits, and that itself. A number of accelerators that the model does not fit, or
// that does not divide its heads, gives no points. Order: accelerators, then batch.
//
// Source: serving_report.hpp for each point. A point is best if no other has a shorter time a token and more tokens a second
// for each accelerator. Cost: 3 microseconds a point, some 50 points.
// Pitfall: points are of a full engine; at less demand a replica runs at a smaller batch, and its idle time costs the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "floplan/serving/serving_report.hpp"

namespace floplan::serving {

struct FrontierPoint {
  double accelerators = 1;
  double batch = 1;
  double output_tokens_per_second_per_accelerator = 0;
  Seconds tpot;
  Seconds ttft;
  bool best = false;
};

[[nodiscard]] inline std::vector<FrontierPoint> frontier(ServingRequest r, const std::vector<double>& accelerators) {
  std::vector<FrontierPoint> out;
  for (const double n : accelerators) {
    r.cut.accelerators = n;
    r.batch.reset();
    double most = 0;
    try {
      most = serve(r).batch;
    } catch (const Error& error) {
      if (error.failure() != Failure::infeasible) throw;
      continue;
    }
    for (double batch = 1;; batch = std::min(2 * batch, most)) {
      r.batch = batch;
      const ServingReport s = serve(r);
      out.push_back({n, batch, s.output_tokens_per_second / n, s.tpot, s.ttft, false});
      if (batch >= most) break;
    }
  }
  for (FrontierPoint& p : out) {
    p.best = std::none_of(out.begin(), out.end(), [&p](const FrontierPoint& q) {
      return q.tpot <= p.tpot &&
             q.output_tokens_per_second_per_accelerator >= p.output_tokens_per_second_per_accelerator &&
             (q.tpot < p.tpot ||
              q.output_tokens_per_second_per_accelerator > p.output_tokens_per_second_per_accelerator);
    });
  }
  return out;
}

}  // namespace floplan::serving
