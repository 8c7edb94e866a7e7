// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/cluster/collectives.hpp"

#include <doctest/doctest.h>

#include "floplan/core/random.hpp"
#include "support/near.hpp"

namespace {

using namespace floplan;
using cluster::Algorithm;
using cluster::bus_rate;
using cluster::Collective;
using cluster::collective_time;
using cluster::Group;
using cluster::group_of;
using Rates = cluster::Rates<double>;

constexpr Rates rates{300, 25};

}  // namespace

TEST_CASE("a group with one rank a node owns one card, with eight ranks eight") {
  CHECK(bus_rate(rates, {64, 1}) == rates.network);
  CHECK(bus_rate(rates, {64, 8}) == 8 * rates.network);
  CHECK(bus_rate(rates, {64, 16}) == rates.scale_up);
  CHECK(bus_rate(rates, {8, 8}) == rates.scale_up);
  CHECK(bus_rate(rates, group_of(64, 8, 8)) == rates.network);
  CHECK(bus_rate(rates, group_of(64, 1, 8)) == 8 * rates.network);
  CHECK(bus_rate(rates, group_of(4, 2, 8)) == rates.scale_up);
}

TEST_CASE("an all-reduce is a reduce-scatter and an all-gather, and a group of one takes no time") {
  RandomStream random(1);
  for (int i = 0; i < 1000; ++i) {
    const Group g = group_of(1 + static_cast<double>(static_cast<int>(random.uniform() * 100)), 1, 8);
    const double bytes = 1e9 * random.uniform();
    for (const Algorithm a : {Algorithm::ring, Algorithm::tree, Algorithm::hierarchical}) {
      const auto time = [&](Collective c) { return collective_time(c, bytes, g, rates, a, 1e-6); };
      CHECK(time(Collective::all_reduce) ==
            near(time(Collective::reduce_scatter) + time(Collective::all_gather), 1e-12));
      if (g.ranks == 1) CHECK(time(Collective::all_reduce) == 0);
    }
    if (g.ranks == 1) CHECK(collective_time(Collective::all_to_all, bytes, g, rates) == 0);
  }
}

TEST_CASE("inside a domain the hierarchy is the ring, and across it sends least over the network") {
  CHECK(collective_time(Collective::all_reduce, 1e9, {8, 8}, rates, Algorithm::hierarchical) ==
        near(collective_time(Collective::all_reduce, 1e9, {8, 8}, rates), 1e-15));
  const double inside = 2 * 1e9 * 7 / 8 / rates.scale_up;
  const double across = 2 * (1e9 / 8) * 3 / 4 / rates.network;
  CHECK(collective_time(Collective::all_reduce, 1e9, {32, 8}, rates, Algorithm::hierarchical) ==
        near(inside + across, 1e-15));
}

TEST_CASE("a tree has the ring's bytes and the logarithm of its hops") {
  const Group g{64, 8};
  const double bytes = collective_time(Collective::all_gather, 1e6, g, rates);
  CHECK(collective_time(Collective::all_gather, 1e6, g, rates, Algorithm::ring, 1.0) == near(bytes + 63, 1e-12));
  CHECK(collective_time(Collective::all_gather, 1e6, g, rates, Algorithm::tree, 1.0) == near(bytes + 6, 1e-12));
}

TEST_CASE("an exchange of all with all is bound by the cards of those that leave the domain") {
  CHECK(collective_time(Collective::all_to_all, 64.0, {64, 8}, rates) == near(56.0 / rates.network, 1e-15));
  CHECK(collective_time(Collective::all_to_all, 64.0, {8, 8}, rates) == near(56.0 / rates.scale_up, 1e-15));
}

TEST_CASE("a token reaches as many remote domains as experts at most, and none from a lone domain") {
  CHECK(cluster::remote_domains(1, 8) == 0);
  double last = 0;
  for (const double domains : {2.0, 4.0, 8.0, 64.0, 1e6}) {
    const double reached = cluster::remote_domains(domains, 8);
    CHECK(reached > last);
    CHECK(reached < 8);
    last = reached;
  }
  CHECK(last == near(8, 1e-4));
}

TEST_CASE("oversubscription above a pod is felt once a ring has few members in a pod") {
  cluster::Machine m;
  m.pod = Count(64);
  m.oversubscription = 7;
  CHECK(uplink_share(m, group_of(8, 8, 8), 8) == 1);   // inside the pod
  CHECK(uplink_share(m, group_of(16, 8, 8), 8) == 1);  // eight members in a pod, one crossing
  CHECK(uplink_share(m, group_of(16, 64, 8), 64) == near(1.0 / 7, 1e-15));
}
