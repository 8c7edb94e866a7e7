// SPDX-License-Identifier: BSD-3-Clause
//
// How long a collective takes among the ranks of a group, over the links that the group really crosses.
//
//   ring          all-reduce 2 (n-1)/n S / B + 2 (n-1) a;  reduce-scatter and all-gather half of it
//   tree          the same bytes, and log2(n) a in place of (n-1) a
//   hierarchical  within each domain at the scale-up rate, then across domains, each rank its share over its own card
//   all-to-all    each rank sends (n-1)/n S: what stays in its domain by the scale-up links, the rest by its card, at once
//   send          S / B + a
//
//   n ranks, k of them in each scale-up domain, S bytes of a rank's whole buffer, a seconds a hop,
//   B = scale-up rate if n <= k, else min(scale-up rate, k x network rate)
//
// B is what decides: a data parallel group with one rank a node owns one network card, with eight ranks a node eight.
// Sources: Thakur 2005 (ring, tree); Korthikanti 2022 (2205.05198) for what tensor parallelism sends.
// Holds: large messages and rings laid along the topology. Pitfall: bandwidths here are effective ones, an efficiency times
// the nominal rate; S is the buffer before a reduce-scatter and after an all-gather.
#pragma once

#include <algorithm>
#include <cmath>

#include "floplan/cluster/efficiencies.hpp"
#include "floplan/cluster/machine.hpp"

namespace floplan::cluster {

enum class Collective { all_reduce, reduce_scatter, all_gather, all_to_all, send };
enum class Algorithm { ring, tree, hierarchical };

// Effective rates of one rank, bytes a second.
template <class T>
struct Rates {
  T scale_up;
  T network;
};

template <class T>
[[nodiscard]] Rates<T> effective_rates(const Machine& m, const BasicEfficiencies<T>& e) {
  return {e.scale_up * m.scale_up.value, e.network * m.network.value};
}

struct Group {
  double ranks = 1;
  double per_domain = 1;  // of them, in one scale-up domain
};

// The ranks of a group that lie `stride` apart: how many of them one domain holds.
[[nodiscard]] inline Group group_of(double ranks, double stride, double domain) {
  return {ranks, std::max(1.0, std::min(ranks, std::floor(domain / stride)))};
}

// What the links of one rank give to a ring through the group.
template <class T>
[[nodiscard]] T bus_rate(const Rates<T>& rates, const Group& g) {
  if (g.ranks <= g.per_domain) return rates.scale_up;
  const T cards = rates.network * g.per_domain;
  return cards < rates.scale_up ? cards : rates.scale_up;
}

// Above a pod, a ring crosses each pod's uplinks once, which its members in the pod share: of a card's rate, this is left.
[[nodiscard]] inline double uplink_share(const Machine& m, const Group& g, double stride) {
  const double pod = m.pod.value;
  if (!(pod > 0) || g.ranks * stride <= pod) return 1;
  return std::min(1.0, std::max(1.0, pod / stride) / (g.per_domain * m.oversubscription));
}

namespace detail {

template <class T>
[[nodiscard]] T hierarchical_time(Collective kind, double bytes, const Group& g, const Rates<T>& rates,
                                  double hop_seconds) {
  const double inside = std::min(g.ranks, g.per_domain);
  const double outside = std::ceil(g.ranks / inside);
  const double passes = kind == Collective::all_reduce ? 2 : 1;
  return passes *
         (bytes * (inside - 1) / inside / rates.scale_up + bytes / inside * (outside - 1) / outside / rates.network +
          hop_seconds * ((inside - 1) + (outside - 1)));
}

}  // namespace detail

// bytes: of one rank's whole buffer. A group of one takes no time.
template <class T>
[[nodiscard]] T collective_time(Collective kind, double bytes, const Group& g, const Rates<T>& rates,
                                Algorithm algorithm = Algorithm::ring, double hop_seconds = 0,
                                double start_seconds = 0) {
  const double n = g.ranks;
  if (n <= 1) return T(0.0);
  if (kind == Collective::send) return bytes / bus_rate(rates, g) + hop_seconds + start_seconds;
  if (kind == Collective::all_to_all) {
    const double inside = std::min(n, g.per_domain);
    const T near = bytes * (inside - 1) / n / rates.scale_up;
    const T far = bytes * (n - inside) / n / rates.network;
    return (near < far ? far : near) + hop_seconds * (n - 1) + start_seconds;
  }
  if (algorithm == Algorithm::hierarchical)
    return detail::hierarchical_time(kind, bytes, g, rates, hop_seconds) + start_seconds;
  const double passes = kind == Collective::all_reduce ? 2 : 1;
  const double hops = algorithm == Algorithm::ring ? n - 1 : std::log2(n);
  return passes * (n - 1) / n * bytes / bus_rate(rates, g) + passes * hops * hop_seconds + start_seconds;
}

// Distinct remote domains that a token reaches when it is sent to `active` experts drawn evenly over q domains.
[[nodiscard]] inline double remote_domains(double domains, double active) {
  if (domains <= 1) return 0;
  return domains * (1 - std::pow(1 - 1 / domains, active)) * (domains - 1) / domains;
}

}  // namespace floplan::cluster
