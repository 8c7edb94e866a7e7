// SPDX-License-Identifier: BSD-3-Clause
//
// Which N and D reach a loss for the fewest dollars of training and serving, when serving is priced by the serving model.
//
//   const LifetimePurchase p = buy_for_lifetime(law, question);    p.best, p.flat (1% and 5% regions), p.describe()
//
//   minimise  6 N D / (F U) price / 3600 + requests x seconds(N) n price / 3600     with L(N, D) = loss
//
//   seconds a request of a full replica of n accelerators, n of 1, 2, 4, 8 the cheapest that holds the model and keeps the
//   limits; D from the law. Several samples a request are requests that find their prompt cached.
//   The shape of N: d = 128 L, L^3 = N / 196608 (12 x 128^2), feed-forward 3.25 d, heads of 128, 8 of them for keys and values,
//   128,256 words: Llama 3's family, taken continuously (405B has L 127, 8B 34).
//
// Source: Sardana et al. 2024 (arXiv 2401.00448) with typed utilisations, which optimum/lifetime.hpp answers in closed form;
// the serving side is serving_report.hpp. Cost: 60 ms.
// Holds: full replicas. Errors: infeasible where no size keeps the limits; those of optimum/compute_optimal.hpp for the loss.
// Pitfall: steps of n make the cost piecewise and its minimum may lie at a step, so that a grid is searched and not a slope;
// the regions within 1% and 5% say more than the minimum. One node bounds N: what it cannot hold is not asked.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/optimum/choose.hpp"
#include "floplan/serving/serving_report.hpp"

namespace floplan::serving {

struct LifetimeQuestion {
  double loss = 0;
  // Training.
  FlopPerSecond training_peak{989e12};
  Fraction training_utilisation{0.4};
  DollarsPerHour training_price{2.5};
  // Serving: device, formats, tokens and limits of each request; the model and the cut are set for each N.
  ServingRequest serving{};
  DollarsPerHour serving_price{2.5};
  double requests = 0;  // in a lifetime
  double samples = 1;   // answers to each
  std::vector<double> replica_sizes{1, 2, 4, 8};
};

struct LifetimePoint {
  Parameters parameters;
  Tokens tokens;
  Dollars training;
  Dollars serving;
  double replica = 0;  // accelerators; 0: nothing is served
  double batch = 0;
  [[nodiscard]] Dollars total() const { return training + serving; }
};

struct FlatRegion {
  double within = 0;  // of the least cost: 0.01, 0.05
  Parameters low, high;
};

struct LifetimePurchase {
  LifetimePoint best;
  std::vector<FlatRegion> flat;
  std::vector<LifetimePoint> grid;  // that was feasible, by N
  [[nodiscard]] std::string describe() const {
    return print(best.parameters, 3) + " parameters on " + print(best.tokens, 3) + " tokens, " +
           print(best.total(), 3) + "; within 5% from " + print(flat.back().low, 3) + " to " +
           print(flat.back().high, 3);
  }
};

// Llama 3's proportions at any size.
[[nodiscard]] inline ServedModel family_of(Parameters n) {
  constexpr double head_width = 128, kv_heads = 8, vocabulary = 128256, ffn_ratio = 3.25;
  const double layers = std::cbrt(n.value / 196608);
  const double d = 128 * layers;
  ServedModel m;
  m.layers = m.global_layers = layers;
  m.width = d;
  m.heads = 8 * std::ceil(d / head_width / 8);  // whole, for the cuts that a node takes
  m.kv_heads = kv_heads;
  m.vocabulary = vocabulary;
  m.attention = layers * (2 * d * d + 2 * d * kv_heads * head_width);
  m.feed_forward = layers * 3 * ffn_ratio * d * d;
  m.head = vocabulary * d;
  m.tables = 2 * m.head;
  m.other = (2 * layers + 1) * d;
  m.inner_width = layers * ffn_ratio * d;
  m.cache_width = 2 * kv_heads * head_width;
  m.projection_width = d + m.cache_width / 2;
  m.score_width = 2 * d;
  return m;
}

namespace detail {

[[nodiscard]] inline Dollars price_of(double accelerator_seconds, DollarsPerHour price) {
  return Dollars(accelerator_seconds / seconds_per_hour * price.value);
}

}  // namespace detail

// What one N costs; nothing where no replica holds it within the limits, or where no tokens reach the loss. Law: a law of the
// Chinchilla form, or an optimum::Surface of any.
template <class Law>
[[nodiscard]] std::optional<LifetimePoint> lifetime_point(const Law& law, const LifetimeQuestion& q, Parameters n) {
  LifetimePoint out;
  out.parameters = n;
  try {
    out.tokens = optimum::tokens_for_loss(law, n, q.loss);
  } catch (const Error& error) {
    if (error.failure() != Failure::infeasible) throw;
    return std::nullopt;
  }
  const Flop work = training_flop(n, out.tokens);
  out.training =
      detail::price_of(work.value / (q.training_peak.value * q.training_utilisation.value), q.training_price);
  if (!(q.requests > 0)) return out;
  ServingRequest r = q.serving;
  r.model = family_of(n);
  if (q.samples > 1) r.cached_share = 1 - (1 - r.cached_share) / q.samples;
  for (const double size : q.replica_sizes) {
    r.cut.accelerators = size;
    if (size > r.device.scale_up_domain) continue;
    try {
      const ServingReport s = serve(r);
      const Dollars cost = detail::price_of(q.requests * q.samples * size / s.requests_per_second, q.serving_price);
      if (out.replica > 0 && out.serving <= cost) continue;
      out.serving = cost;
      out.replica = size;
      out.batch = s.batch;
    } catch (const Error& error) {
      if (error.failure() != Failure::infeasible) throw;
    }
  }
  if (out.replica == 0) return std::nullopt;
  return out;
}

// Throws as optimum::for_loss() for a loss that the law does not reach.
template <class Law>
[[nodiscard]] LifetimePurchase buy_for_lifetime(const Law& law, const LifetimeQuestion& q) {
  const auto require = [](bool holds, const char* rule, double got) {
    if (!holds) throw Error(Failure::usage, "out_of_range", "lifetime", rule + (", got " + print_number(got, 6)));
  };
  require(q.requests >= 0 && std::isfinite(q.requests), "requests must be finite and at least 0", q.requests);
  require(q.samples >= 1 && q.samples <= 1e6, "samples of a request must be from 1 to 1e6", q.samples);
  require(q.training_utilisation.value > 0 && q.training_utilisation.value <= 1,
          "the training's utilisation must be above 0 and at most 1", q.training_utilisation.value);
  const Parameters unserved = optimum::for_loss(law, q.loss).parameters;
  LifetimePurchase out;
  constexpr int steps = 900;
  constexpr double smallest = 0.02, decades = 2.7;  // of the size that is best without serving
  const double first = unserved.value * smallest;
  for (int i = 0; i <= steps; ++i) {
    const Parameters n(first * std::pow(10, decades * i / steps));
    if (const auto point = lifetime_point(law, q, n)) out.grid.push_back(*point);
  }
  if (out.grid.empty()) {
    throw Error(Failure::infeasible, "no_size_serves", "lifetime",
                "a model must fit a replica and keep the limits: none from " + print(Parameters(first), 3) + " to " +
                    print(Parameters(first * std::pow(10, decades)), 3) + " parameters that reaches the loss does on " +
                    q.serving.device.name);
  }
  const auto cheaper = [](const LifetimePoint& a, const LifetimePoint& b) { return a.total() < b.total(); };
  out.best = *std::min_element(out.grid.begin(), out.grid.end(), cheaper);
  for (const double within : {0.01, 0.05}) {
    FlatRegion region{within, out.best.parameters, out.best.parameters};
    for (const LifetimePoint& p : out.grid) {
      if (p.total().value > (1 + within) * out.best.total().value) continue;
      region.low = std::min(region.low, p.parameters);
      region.high = std::max(region.high, p.parameters);
    }
    out.flat.push_back(region);
  }
  return out;
}

// Requests of a lifetime are not known: what each of several numbers of them wanted, and what one size costs over all.
struct DemandSpread {
  std::vector<Parameters> best;  // of each number of requests
  Parameters chosen;             // least mean cost
  std::vector<double> regret;    // of the chosen size, over the least cost of each number, as a share of it
};

// draws: requests of a lifetime, of which `p` was computed for `q.requests`. Serving costs are in proportion to them.
[[nodiscard]] inline DemandSpread under_demand(const LifetimePurchase& p, const LifetimeQuestion& q,
                                               const std::vector<double>& draws) {
  if (!(q.requests > 0) || draws.empty()) {
    throw Error(Failure::usage, "no_demand", "lifetime",
                "a spread of demand must have draws, and a purchase that serves, got " + std::to_string(draws.size()) +
                    " draws and " + print_number(q.requests, 6) + " requests");
  }
  const auto cost = [&](const LifetimePoint& at, double requests) {
    return at.training.value + at.serving.value * requests / q.requests;
  };
  DemandSpread out;
  double mean = 0;
  for (const double requests : draws) mean += requests / static_cast<double>(draws.size());
  const auto least = [&](double requests) {
    return *std::min_element(p.grid.begin(), p.grid.end(), [&](const LifetimePoint& a, const LifetimePoint& b) {
      return cost(a, requests) < cost(b, requests);
    });
  };
  const LifetimePoint chosen = least(mean);  // costs are linear in the requests, so the mean cost is that of the mean
  out.chosen = chosen.parameters;
  for (const double requests : draws) {
    const LifetimePoint best = least(requests);
    out.best.push_back(best.parameters);
    out.regret.push_back(cost(chosen, requests) / cost(best, requests) - 1);
  }
  return out;
}

}  // namespace floplan::serving
