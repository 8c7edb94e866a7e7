// SPDX-License-Identifier: BSD-3-Clause
//
// Reads what a plan costs: [price] and [power].
//
//   price.accelerator_hour   '$2.10/h', a range, or a name of the catalog, whose low and high become the 10th and 90th
//                            percentiles about its typical value; absent: the accelerator's latest price
//   power                    accelerator (its rating), node (measured), pue, carbon, basis
//
// Defaults stand in request.hpp, so that a request made in code has the same; each that is used is named.
// Source of the node's power in proportion: arXiv 2506.14551.
// Pitfall: a catalog price of another accelerator is taken as it is, and remarked on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/plan/request.hpp"
#include "floplan/plan/request_document.hpp"
#include "floplan/plan/request_values.hpp"

namespace floplan::plan::detail {

// Exact where a record has one value, else the range about its typical one; nothing where it has one end only.
[[nodiscard]] inline std::optional<Uncertain<DollarsPerHour>> price_of(const catalog::Price& p) {
  if (p.low && p.high) {
    return p.typical ? Uncertain<DollarsPerHour>::range(*p.low, *p.typical, *p.high)
                     : Uncertain<DollarsPerHour>::range(*p.low, *p.high);
  }
  return p.typical ? std::optional<Uncertain<DollarsPerHour>>(*p.typical) : std::nullopt;
}

inline void read_price(const Section& top, const catalog::Catalog& catalog, Request& r, Assumed& assumed) {
  const std::vector<Value> given = top.section("price").values("accelerator_hour");
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_name = [&](const std::string& text) {
    return !text.empty() && is_letter(text.front()) && !text.starts_with("USD") && text.find('/') == text.npos;
  };
  if (given.size() == 1 && is_name(given[0].text)) {
    const catalog::Price price = named(given[0], [&](auto text, auto where) { return catalog.price(text, where); });
    const auto value = price_of(price);
    if (!value) throw given[0].refuse(price.name + " has neither a typical price nor a range");
    r.price = Price{*value, price.name};
    if (value->spreads()) {
      r.assumptions.push_back({"price_range", price.name + " is a range, " + range_text(*value) +
                                                  ": its ends are taken as the 10th and 90th percentiles"});
    }
    if (price.accelerator != r.accelerator.name) {
      r.assumptions.push_back({"price_of_another_accelerator", price.name + " is a price of " + price.accelerator +
                                                                   " and is used for " + r.accelerator.name});
    }
    remark_unverified(r, "unverified_price", price.name, price.provenance);
  } else if (!given.empty()) {
    r.price = Price{*top.section("price").range<DollarsPerHour>("accelerator_hour"), "given"};
  } else if (const auto latest = catalog.latest_price(r.accelerator.name)) {
    r.price = Price{price_of(*latest).value(), latest->name};
    assumed.costs.push_back("the price " + latest->name + ", " + range_text(r.price->accelerator_hour) + " (" +
                            latest->kind + ", " + latest->provenance.date + ")");
    remark_unverified(r, "unverified_price", latest->name, latest->provenance);
  } else {
    r.assumptions.push_back({"no_price", "no price is known for " + r.accelerator.name + ": give one to have a cost"});
  }
}

inline void read_power(const Section& top, Request& r, Assumed& assumed) {
  const Section s = top.section("power");
  const auto accelerator = s.quantity<Watts>("accelerator");
  const auto node = s.quantity<Watts>("node");
  const auto pue = s.number("pue");
  const auto carbon = s.quantity<KilogramsPerKwh>("carbon");
  const auto basis =
      choose<EnergyBasis>(s, "basis", EnergyBasis::node, {{"tdp", EnergyBasis::tdp}, {"node", EnergyBasis::node}});
  const auto rated = accelerator ? accelerator : r.accelerator.power;
  if (!rated) {
    r.assumptions.push_back({"no_power", "no power is published for " + r.accelerator.name +
                                             ": give power.accelerator to have energy and CO2e"});
    return;
  }
  Power out;
  out.accelerator = *rated;
  out.basis = basis;
  out.node = node.value_or(*rated * defaults::node_power_factor);
  out.pue = pue.value_or(defaults::pue);
  out.grid = carbon.value_or(defaults::grid);
  if (!node) {
    assumed.costs.push_back("node power of " + print(out.node, 3) +
                            " an accelerator, in proportion to a measured 8 x H100 node");
  }
  if (!pue) assumed.costs.push_back("a PUE of " + print_number(out.pue, 3));
  if (!carbon)
    assumed.costs.push_back("a grid of " + print_number(out.grid.value, 3) +
                            " kg CO2e a kWh, the US average that LLaMA's card used");
  r.power = out;
}

}  // namespace floplan::plan::detail
