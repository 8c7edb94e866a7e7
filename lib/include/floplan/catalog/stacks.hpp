// SPDX-License-Identifier: BSD-3-Clause
//
// What is known of publishers' training software, as the words that data/catalog/stacks.csv has for it.
//
//   const Stack stack = stack_named(catalog, "nvidia-bridge", "--stack");
//   stack.facts.at("attention")                                  "current"; a fact that is not there is not known
//   stack.assumes("host")                                        true where the word is a judgement, not a published fact
//
// A stack belongs to a measured row by its group (name or alias), else by words in the row's source, else by the row's year
// (stacks that have years have every fact assumed). What the facts mean: cluster/software_stack.hpp.
//
// Source: each row's. Pitfall: a fact is of the publisher's runs as a whole; a row that says otherwise wins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/catalog/read_records.hpp"
#include "floplan/catalog/record_reader.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"
#include "floplan/core/provenance.hpp"

namespace floplan::catalog {

struct Stack {
  std::string name;
  std::vector<std::string> aliases;
  std::string title;
  std::string source_contains;               // in the source of a measured row
  std::optional<double> year_from, year_to;  // of a row of an unknown publisher
  std::map<std::string, std::string> facts;  // by column; blank cells are not there
  std::vector<std::string> assumed;          // of the facts, those that are a judgement
  Provenance provenance;

  // Its word, or nothing where it is not known.
  [[nodiscard]] std::string fact(const std::string& of) const {
    const auto found = facts.find(of);
    return found == facts.end() ? std::string() : found->second;
  }
  [[nodiscard]] bool assumes(std::string_view fact) const {
    return std::find(assumed.begin(), assumed.end(), fact) != assumed.end();
  }
  // Whether it is a publisher's own, and not what was usual in a year.
  [[nodiscard]] bool is_publishers() const { return !year_from && !year_to; }
};

[[nodiscard]] inline const std::vector<std::string>& stack_facts() {
  static const std::vector<std::string> names{
      "attention",      "elementwise",   "host",      "sequence_parallel", "overlap",     "scatter_gather",
      "gradient_bytes", "data_parallel", "selective", "context_exchange",  "schedule",    "network_gbps",
      "interleave",     "precision",     "sharding",  "recompute",         "accelerator", "vocabulary"};
  return names;
}

[[nodiscard]] inline std::vector<Stack> read_stacks(const CsvTable& table) {
  std::vector<std::string> columns{"name", "aliases", "title", "source_contains", "year_from", "year_to", "assumed"};
  columns.insert(columns.end(), stack_facts().begin(), stack_facts().end());
  return detail::read_rows(table, columns, [](const RecordReader& r) {
    Stack s;
    s.aliases = r.list("aliases");
    s.title = r.text("title");
    s.source_contains = r.text("source_contains");
    s.year_from = r.number("year_from");
    s.year_to = r.number("year_to");
    for (const std::string& fact : stack_facts()) {
      if (std::string cell = lower_case(r.text(fact)); !cell.empty()) s.facts.emplace(fact, std::move(cell));
    }
    s.assumed = r.list("assumed");
    for (const std::string& fact : s.assumed) {
      if (!s.facts.contains(fact)) throw r.fail("assumed", "must name facts that the row gives, got \"" + fact + "\"");
    }
    s.provenance = r.provenance();
    return s;
  });
}

[[nodiscard]] inline std::vector<Stack> stacks(const Catalog& catalog) {
  return catalog.read("stacks.csv", read_stacks);
}

// Throws Error(usage) with the nearest names where there is none.
[[nodiscard]] inline Stack stack_named(const Catalog& catalog, std::string_view name, std::string_view where) {
  const std::string wanted = lower_case(name);
  std::vector<std::string> names;
  for (Stack& stack : stacks(catalog)) {
    if (stack.name == wanted || std::find(stack.aliases.begin(), stack.aliases.end(), wanted) != stack.aliases.end())
      return std::move(stack);
    names.push_back(stack.name);
    names.insert(names.end(), stack.aliases.begin(), stack.aliases.end());
  }
  throw Error(
      Failure::usage, "unknown_name", std::string(where),
      "must be a software stack of the catalog, got \"" + std::string(name) + "\"" + nearest_names_text(wanted, names));
}

}  // namespace floplan::catalog
