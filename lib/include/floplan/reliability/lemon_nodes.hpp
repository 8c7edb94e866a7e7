// SPDX-License-Identifier: BSD-3-Clause
//
// Which nodes fail too often to be unlucky?
//
//   LemonReport r = find_lemons(counts, fleet_nodes, 0.05);      r.lemons, r.share, r.events_without
//
// If all nodes were alike, each of n failures would fall on a given one with probability 1/nodes: its count is binomial, and
// p = P(count or more). Over all nodes of the fleet, those without a failure included, Benjamini and Hochberg's procedure
// keeps the share of good nodes among the named ones below false_discovery on average: q = min over later ranks of
// p nodes / rank.
//
// Source: Benjamini and Hochberg 1995. Kokolis et al. 2025 (arXiv 2410.21680): 40 lemon nodes, 1.2% of a fleet; removing
// them cut failures of jobs of 512 and more GPUs from 14% to 4%.
// Holds: nodes that were watched alike; a node that was repaired half-way is two.
// Pitfall: the lemons' failures are part of the common rate they are held against, so a few large ones hide smaller ones.
#pragma once

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::reliability {

struct LemonNode {
  std::size_t node = 0;  // index of its count
  double events = 0;
  double p = 1;
  double q = 1;  // p corrected for the number of nodes
};

struct LemonReport {
  double nodes = 0;
  double events = 0;    // on known nodes
  double expected = 0;  // a node
  double false_discovery = 0.05;
  std::vector<LemonNode> lemons;  // by falling count
  double lemon_events = 0;
  double share = 0;         // of the events, on lemons
  double rate_without = 1;  // rate of the other nodes over the common rate

  [[nodiscard]] std::string describe() const {
    if (lemons.empty())
      return "no node fails more often than chance allows (" + print_number(nodes, 6) + " nodes, " +
             print_number(events, 6) + " failures)";
    return std::to_string(lemons.size()) + " of " + print_number(nodes, 6) + " nodes carry " +
           print_number(100 * share, 3) + "% of the failures; without them the rate is " +
           print_number(rate_without, 3) + " times as high";
  }
};

// counts: of the nodes that the log names; fleet_nodes at least as many.
[[nodiscard]] inline LemonReport find_lemons(std::span<const double> counts, double fleet_nodes,
                                             double false_discovery = 0.05) {
  if (!(fleet_nodes >= 1) || !std::isfinite(fleet_nodes))
    throw Error(Failure::usage, "out_of_range", "find_lemons",
                "nodes must be at least 1, got " + print_number(fleet_nodes, 6));
  if (!(false_discovery > 0 && false_discovery < 1))
    throw Error(Failure::usage, "out_of_range", "find_lemons",
                "the false discovery rate must be between 0 and 1, got " + print_number(false_discovery, 6));
  LemonReport out;
  out.false_discovery = false_discovery;
  out.nodes = std::max(std::round(fleet_nodes), static_cast<double>(counts.size()));
  std::vector<LemonNode> ranked;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!(counts[i] >= 0) || !std::isfinite(counts[i]))
      throw Error(Failure::usage, "out_of_range", "find_lemons",
                  "a count must be at least 0, got " + print_number(counts[i], 6));
    out.events += counts[i];
    ranked.push_back({i, counts[i], 1, 1});
  }
  out.expected = out.events / out.nodes;
  if (!(out.events > 0) || out.nodes < 2) return out;
  for (LemonNode& node : ranked) {
    // P(X >= c) of Binomial(n, 1/nodes) is the incomplete beta function I_x(c, n - c + 1).
    if (node.events > 0) node.p = boost::math::ibeta(node.events, out.events - node.events + 1, 1 / out.nodes);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const LemonNode& a, const LemonNode& b) { return a.events > b.events; });
  double q = 1;
  for (std::size_t i = ranked.size(); i-- > 0;) {
    q = std::min(q, ranked[i].p * out.nodes / static_cast<double>(i + 1));
    ranked[i].q = q;
  }
  for (const LemonNode& node : ranked) {
    if (node.q > false_discovery) break;
    out.lemons.push_back(node);
    out.lemon_events += node.events;
  }
  out.share = out.lemon_events / out.events;
  const double others = out.nodes - static_cast<double>(out.lemons.size());
  out.rate_without = others > 0 ? (out.events - out.lemon_events) / others / out.expected : 0;
  return out;
}

}  // namespace floplan::reliability
