// SPDX-License-Identifier: BSD-3-Clause
//
// What a user meant who wrote a key that is none of a plan's.
//
//   meant_field("stage[1]", "coutn", asked)  -> " (nearest: count)"
//   meant_field("", "runs", asked)           -> ": a plan file calls it draws"
//   meant_field("", "restart", asked)        -> ": it belongs under [reliability]"
//
// In this order: an option's name used as a key, a key of another table, the nearest key of the same table.
// Pitfall: the answer is words for an error; nothing is read under another name than its own.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/names.hpp"

namespace floplan::plan {

using AskedFields = std::map<std::string, std::set<std::string>>;  // path of a table -> keys that a reader asked it for

// Options whose names are not those of the fields that they set.
[[nodiscard]] inline std::string_view field_of_option(std::string_view option) {
  for (const auto& [name, field] : {std::pair<std::string_view, std::string_view>{"runs", "draws"},
                                    {"params", "parameters"},
                                    {"active_params", "active_parameters"},
                                    {"loss", "target_loss"},
                                    {"seq", "sequence_length"},
                                    {"rate", "reliability.rate_per_node_day"},
                                    {"price", "price.accelerator_hour"},
                                    {"accelerator_power", "power.accelerator"},
                                    {"node_power", "power.node"},
                                    {"energy_basis", "power.basis"}}) {
    if (option == name) return field;
  }
  return "";
}

// As a plan file writes the table: "reliability" is [reliability], "stage[2]" [[stage]].
[[nodiscard]] inline std::string table_text(const std::string& path) {
  const auto bracket = path.find('[');
  if (path.empty()) return "the top";
  if (bracket == std::string::npos) return "[" + path + "]";
  const auto dot = path.find('.');
  return (dot == std::string::npos ? "" : path.substr(dot + 1) + " of a ") + "[[" + path.substr(0, bracket) + "]]";
}

[[nodiscard]] inline std::string meant_field(const std::string& path, std::string_view key, const AskedFields& asked) {
  std::string option(key);
  for (char& c : option) c = c == '-' ? '_' : c;
  if (const auto field = field_of_option(option); !field.empty()) return ": a plan file calls it " + std::string(field);
  // Of several tables the one that is not within another is meant first: restart is reliability's, not checkpoint.memory's.
  const std::string* nearest = nullptr;
  const auto depth = [](const std::string& table) { return std::count(table.begin(), table.end(), '.'); };
  for (const auto& [other, keys] : asked) {
    if (other == path || !keys.contains(std::string(key))) continue;
    if (nearest == nullptr || depth(other) < depth(*nearest)) nearest = &other;
  }
  if (nearest != nullptr) return ": it belongs under " + table_text(*nearest);
  const auto here = asked.find(path);
  if (here == asked.end()) return "";
  return nearest_names_text(key, std::vector<std::string>(here->second.begin(), here->second.end()));
}

}  // namespace floplan::plan
