// SPDX-License-Identifier: BSD-3-Clause
//
// What the readers of a plan's tables share: values by word or name, whole numbers, and the list of what was filled in.
//
//   choose(section, "basis", EnergyBasis::node, {{"tdp", EnergyBasis::tdp}, {"node", EnergyBasis::node}})
//   named(value, [&](auto text, auto where) { return catalog.model(text, where); })
//   whole(section, "seed", 9e15)
//   assumed.costs.push_back("a PUE of 1.2");      one remark in the end for each of work, failures and costs
//
// Source: data/plans/README.md, which describes every key and its default.
// Pitfall: what a reader takes from a catalog may be unverified there; remark_unverified says so.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/provenance.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/request.hpp"
#include "floplan/plan/request_document.hpp"

namespace floplan::plan::detail {

// What was filled in, by what it bears on; one remark each.
struct Assumed {
  std::vector<std::string> work, failures, costs;

  void work_once(const std::string& what) {
    if (std::find(work.begin(), work.end(), what) == work.end()) work.push_back(what);
  }
  void name_in(Request& r) const {
    const auto name = [&r](const char* of, const std::vector<std::string>& what) {
      if (what.empty()) return;
      std::string all;
      for (const std::string& one : what) all += (all.empty() ? "" : "; ") + one;
      r.assumptions.push_back({"assumed", of + all});
    };
    name("for the work: ", work);
    name("for the stops: ", failures);
    name("for cost and energy: ", costs);
  }
};

template <class Choice>
[[nodiscard]] Choice choose(const Section& section, std::string_view key, Choice fallback,
                            const std::vector<std::pair<std::string, Choice>>& choices) {
  const auto value = section.value(key);
  if (!value) return fallback;
  std::string names;
  for (const auto& [name, choice] : choices) {
    if (value->text == name) return choice;
    names += (names.empty() ? "" : ", ") + name;
  }
  throw value->refuse("must be one of " + names + ", got \"" + value->text + "\"");
}

// Calls look_up(name, where) with the errors of a file's value.
template <class LookUp>
[[nodiscard]] auto named(const Value& value, LookUp look_up) {
  return value.as([&](std::string_view text, std::string_view where) { return look_up(text, where); });
}

inline void remark_unverified(Request& r, const char* code, const std::string& name, const Provenance& from) {
  if (!from.verified)
    r.assumptions.push_back({code, name + " is not verified" + (from.note.empty() ? "" : ": " + from.note)});
}

[[nodiscard]] inline std::optional<double> whole(const Section& s, std::string_view key, double most) {
  const auto count = s.quantity<Count>(key);
  if (count && (count->value != std::floor(count->value) || count->value > most)) {
    throw s.value(key)->refuse("must be a whole number up to " + print_number(most) + ", got " + print(*count));
  }
  return count ? std::optional(count->value) : std::nullopt;
}

}  // namespace floplan::plan::detail
