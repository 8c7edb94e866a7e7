// SPDX-License-Identifier: BSD-3-Clause
//
// How long a run with one checkpoint tier takes where completion.hpp's fixed times and constant rate are too plain:
// waits and restarts that are drawn, checkpoints that persist in the background, failures that are not exponential.
//
//   Completion c = one_tier(useful, process);      n = T_s / tau segments of a = tau + w
//
//   between two failures X: kept K = floor((X - P)/a)+ segments           E[K] = sum over j >= 1 of S(P + j a)
//   run time  T = n (E[X] + E[q] + E[Y]) / E[K] + planned stops           renewal reward
//   variance  n Var(X + q + Y - r K) / E[K],  r = (E[X] + E[q] + E[Y]) / E[K]
//
//   exponential  S = e^(-x/M), so that T = n M e^(P/M) (e^(a/M) - 1) times what restart_time.hpp makes of Y: a write that
//                needs P more seconds multiplies the time by e^(P/M) and leaves the best interval where it was
//   Weibull      S = e^(-(x/theta)^k), theta = M / Gamma(1 + 1/k), clock new after each failure, none in restarts
//
// Source: renewal reward (Ross 1996, 3.6); Daly 2006 is P = 0, fixed R. Exact in the mean for exponential failures, else
// short by at most part of one cycle. Variance: the central limit of the same renewals, exact as n grows. Cost: a sum of
// at most 20,000 terms and three incomplete gamma functions for Weibull, none otherwise.
// Holds: one tier, P at most a. Pitfall: at equal M a Weibull shape from 0.5 to 1.5 moves T by less than 0.4%.
#pragma once

#include <cmath>

#include <boost/math/special_functions/gamma.hpp>

#include "floplan/reliability/process.hpp"
#include "floplan/reliability/restart_time.hpp"

namespace floplan::reliability {

namespace detail {

// Sums over the segments that a time between failures X keeps.
struct KeptSegments {
  double mean = 0;     // E[K]
  double square = 0;   // E[K^2]
  double product = 0;  // E[X K]
  TimeMoments between;
};

[[nodiscard]] inline KeptSegments kept_segments_exponential(double m, double a, double persist) {
  const double retries = std::expm1(a / m);  // 1/q - 1
  const double valid = std::exp(-persist / m);
  KeptSegments out;
  out.mean = valid / retries;
  out.square = valid * (1 + 2 / retries) / retries;
  out.product = valid * ((persist + m) / retries + a * (1 + 1 / retries) / retries);
  out.between = {m, m * m};
  return out;
}

[[nodiscard]] inline KeptSegments kept_segments_weibull(const FailureLaw& law, double a, double persist) {
  const double k = law.shape;
  const double theta = law.mtbf.value / boost::math::tgamma(1 + 1 / k);
  const auto survival = [&](double x) { return std::exp(-std::pow(x / theta, k)); };
  // Integrals of S and of x S from y on.
  const auto beyond = [&](double y, double power) {
    return std::pow(theta, power) / k * boost::math::tgamma(power / k, std::pow(y / theta, k));
  };
  KeptSegments out;
  constexpr int terms = 20000;
  int j = 1;
  for (; j <= terms; ++j) {
    const double y = persist + j * a;
    const double s = survival(y);
    if (s < 1e-18 && j > 1) break;
    out.mean += s;
    out.square += (2 * j - 1) * s;
    out.product += y * s + beyond(y, 1);
  }
  if (j > terms) {
    // The rest by the midpoint rule, whose error is the curvature of S over 20,000 segments.
    const double y = persist + (terms + 0.5) * a;
    const double s = beyond(y, 1);
    const double xs = beyond(y, 2);
    out.mean += s / a;
    out.square += 2 * (xs - persist * s) / (a * a) - s / a;
    out.product += (2 * xs - y * s) / a;
  }
  const double second = theta * theta * boost::math::tgamma(1 + 2 / k);
  out.between = {law.mtbf.value, second - law.mtbf.value * law.mtbf.value};
  return out;
}

// A wait of each failure: a mixture over the classes.
[[nodiscard]] inline TimeMoments wait_moments(const RunProcess& p) {
  const double square = [&] {
    const auto of = [](const TimeLaw& law) { return law.variance() + law.mean() * law.mean(); };
    return p.share_of_memory() * of(p.memory.wait) + p.share_of_storage() * of(p.storage.wait) +
           p.manual_share * of(p.manual_wait);
  }();
  const double mean = p.mean_wait();
  return {mean, std::max(0.0, square - mean * mean)};
}

inline void refuse_endless(double total, const char* here, const RunProcess& p) {
  if (total < 1e15) return;
  throw Error(Failure::infeasible, "never_ends", here,
              "the run must end within 1e15 s, but a cycle of " + print(p.checkpoints.cycle(), 3) +
                  " and a restart of " + p.storage.restart.describe() + " are too long for an MTBF of " +
                  print(p.failures.mtbf, 3));
}

// Planned stops on top of a run: `worked` seconds of working time, `total` of everything.
inline void add_planned(const PlannedStops& stops, double save, double worked, double& total, Completion& out) {
  const double stop = save + stops.duration.value;
  if (stops.every.value > 0) {
    const double without = total;
    total = without / (1 - stop / stops.every.value);
    out.planned_stops = total / stops.every.value;
  } else {
    out.planned_stops = stops.per_day * worked / seconds_per_day;
    total += out.planned_stops * stop;
  }
}

}  // namespace detail

[[nodiscard]] inline Completion one_tier(Seconds useful, const RunProcess& p) {
  check(p);
  detail::require_positive(useful.value, "one_tier", "useful time", print(useful));
  const FailureLaw& f = p.failures;
  const bool weibull = f.kind == FailureLaw::Kind::weibull;
  if (!p.one_tier() || f.kind == FailureLaw::Kind::burn_in || (weibull && f.in_restarts) ||
      p.checkpoints.memory_stall.value > 0) {
    throw Error(
        Failure::usage, "no_closed_form", "one_tier",
        "needs one checkpoint tier, and exponential failures or Weibull ones that spare restarts: simulate instead");
  }
  const double a = p.checkpoints.cycle().value;
  const double n = useful / p.checkpoints.interval;
  const double persist = p.checkpoints.persist.value;
  const detail::KeptSegments kept = weibull ? detail::kept_segments_weibull(f, a, persist)
                                            : detail::kept_segments_exponential(f.mtbf.value, a, persist);
  const TimeMoments wait = detail::wait_moments(p);
  RestartCost restart;
  if (f.in_restarts) {
    restart = restart_cost(p.storage.restart, wait, f.mtbf);
  } else {
    restart = {p.storage.restart.mean(), p.storage.restart.variance(), 0, p.storage.restart.mean()};
  }
  const double cycles = n / kept.mean;
  const double worked = cycles * kept.between.mean;
  const double cycle = kept.between.mean + wait.mean + restart.mean;
  double total = cycles * cycle;
  detail::refuse_endless(total, "one_tier", p);
  Completion out;
  out.useful = useful;
  out.failures = cycles * (1 + restart.cuts);
  const double before_stops = total;
  detail::add_planned(p.planned, p.checkpoints.storage_stall.value, worked, total, out);
  const double stopped = p.planned.every.value > 0 ? 0 : (total - before_stops) / worked;  // a second of working time
  const double rate = (cycle + stopped * kept.between.mean) / kept.mean;
  const double scale = 1 + stopped;
  const double per_cycle = scale * scale * kept.between.variance + rate * rate * (kept.square - kept.mean * kept.mean) -
                           2 * scale * rate * (kept.product - kept.between.mean * kept.mean) + wait.variance +
                           restart.variance;
  const double stop = p.checkpoints.storage_stall.value + p.planned.duration.value;
  out.standard_deviation = Seconds(
      std::sqrt(std::max(0.0, cycles * per_cycle) + (p.planned.every.value > 0 ? 0 : out.planned_stops * stop * stop)));
  out.wall_clock = Seconds(total);
  out.ettr = useful.value / total;
  out.ettr_first_order = ettr_first_order(f.mtbf, p.checkpoints.interval, p.checkpoints.storage_stall,
                                          Seconds(p.storage.restart.mean() + p.mean_wait() + persist));
  const double stalled = n * p.checkpoints.storage_stall.value;
  out.waste = {stalled / total, (worked - useful.value - stalled) / total, cycles * (wait.mean + restart.mean) / total,
               (total - before_stops) / total};
  return out;
}

}  // namespace floplan::reliability
