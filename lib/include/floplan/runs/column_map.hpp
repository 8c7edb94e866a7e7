// SPDX-License-Identifier: BSD-3-Clause
//
// Which columns of a file are N, D, C and the loss?
//
//   const TitleIndex index(sheet.titles());
//   const auto mapping = map_columns(index, "runs.csv", {{"loss", "loss_c4_val"}, {"tokens", "steps*batch*2048"}});
//
// A column that the user names wins. Otherwise each role takes the column whose title means it with the lowest rank
// (runs/title_meaning.hpp has the order), the first in the file among equals, and the others are reported as
// alternatives. A user's value is a title, or a product of titles and numbers joined by * (titles that hold a * or
// spaces may stand in backticks). A title brings the unit that it names: throughput/total_gflops is x1e9. A product is
// taken literally.
//
// Quantities that only some laws know (unique tokens, accuracy, ...) are looked for when they are asked for
// (runs/quantity_title.hpp). Weight is never guessed. Pitfall: N, params and Model Size are taken as total counts because that is what most files
// mean; a file whose N leaves the embedding out cannot be told from its title.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"
#include "floplan/runs/cell_number.hpp"
#include "floplan/runs/quantity_title.hpp"
#include "floplan/runs/sheet.hpp"
#include "floplan/runs/title_meaning.hpp"

namespace floplan::runs {

struct Mapping {
  Role role = Role::loss;
  std::string title;                 // of the column, or the product or formula that it comes from
  std::vector<std::size_t> columns;  // multiplied; empty when the role is derived from other roles
  double factor = 1;                 // the cells' product times this is SI
  std::string unit;                  // that the title names: "GFLOP", "millions", "bits/byte"; often empty
  ParameterCount count = ParameterCount::total;
  std::string why;                        // "named by the caller", "its title", "no column of tokens"
  std::vector<std::string> alternatives;  // other columns that could have been meant, best first
  bool tied = false;                      // guessed, and the first alternative is as likely
  std::string quantity{};                 // a quantity of a law that is no role ("unique_tokens"), whatever `role` is

  [[nodiscard]] bool derived() const { return columns.empty(); }
  [[nodiscard]] std::string name() const { return quantity.empty() ? std::string(name_of(role)) : quantity; }
};

// A number that a row holds in one column or as a product of several.
struct Term {
  std::vector<std::size_t> columns;
  double factor = 1;
};

// `at` is the column that decided: the first whose cell is no number.
struct TermValue {
  CellNumber number;
  std::size_t at = 0;
};

[[nodiscard]] inline TermValue evaluate(const std::vector<std::size_t>& columns, double factor, const Sheet& sheet,
                                        std::size_t row) {
  TermValue out;
  double product = factor;
  for (const std::size_t column : columns) {
    const CellNumber number = read_number(sheet.cell(row, column), sheet.decimal_comma());
    out.at = column;
    if (number.kind != CellKind::number) {
      out.number = number;
      return out;
    }
    out.number.grouped = out.number.grouped || number.grouped;
    product *= number.value;
  }
  out.number.value = product;
  out.number.kind = std::isfinite(product) ? CellKind::number : CellKind::out_of_range;
  return out;
}

// Titles by name; of equal titles the first counts.
class TitleIndex {
 public:
  explicit TitleIndex(const std::vector<std::string>& titles) : titles_(titles) {
    for (std::size_t i = 0; i < titles.size(); ++i) index_.emplace(titles[i], i);
  }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view title) const {
    const auto found = index_.find(title);
    return found == index_.end() ? std::nullopt : std::optional<std::size_t>(found->second);
  }
  // " (nearest: a, b)"; looks at titles of ordinary length only, so that a hostile header costs little.
  [[nodiscard]] std::string nearest(std::string_view title) const {
    std::vector<std::string> candidates;
    for (const std::string& known : titles_) {
      if (!known.empty() && known.size() <= 64 && candidates.size() < 1000) candidates.push_back(known);
    }
    return nearest_names_text(title.substr(0, 64), candidates);
  }
  [[nodiscard]] const std::vector<std::string>& titles() const { return titles_; }

 private:
  const std::vector<std::string>& titles_;
  std::unordered_map<std::string_view, std::size_t> index_;
};

namespace detail {

inline constexpr std::array roles{Role::parameters, Role::tokens, Role::flop, Role::loss, Role::weight};

// The factors of "steps * `batch size` * 2048".
[[nodiscard]] inline std::vector<std::string> factors_of(std::string_view product) {
  std::vector<std::string> out(1);
  bool quoted = false;
  for (const char c : product) {
    if (c == '`') {
      quoted = !quoted;
    } else if (c == '*' && !quoted) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  for (std::string& factor : out) factor = std::string(trimmed(factor));
  return out;
}

// quantity: of one that is no role, else empty.
[[nodiscard]] inline Mapping named_mapping(Role role, const std::string& quantity, std::string_view value,
                                           const TitleIndex& index, const std::string& file) {
  Mapping out;
  out.role = role;
  out.quantity = quantity;
  out.title = std::string(trimmed(value));
  out.why = "named by the caller";
  std::string single = out.title;
  if (single.size() > 2 && single.front() == '`' && single.find('`', 1) == single.size() - 1)
    single = single.substr(1, single.size() - 2);
  if (const auto column = index.find(single)) {
    out.title = single;
    out.columns = {*column};
    const auto meaning = meaning_of(single, true);
    if (quantity.empty() && meaning && meaning->role == role) {
      out.factor = meaning->factor;
      out.unit = meaning->unit;
      out.count = meaning->count;
    }
    return out;
  }
  const std::vector<std::string> factors = factors_of(out.title);
  for (const std::string& factor : factors) {
    if (const auto column = index.find(factor)) {
      out.columns.push_back(*column);
      continue;
    }
    const CellNumber number = read_number(factor);
    if (factors.size() == 1 || number.kind != CellKind::number || !(number.value > 0)) {
      throw Error(Failure::usage, "unknown_column", "columns",
                  out.name() + "=" + shown(out.title) + ": " + file + " has no column \"" + shown(factor) + "\"" +
                      index.nearest(factor));
    }
    out.factor *= number.value;
  }
  if (out.columns.empty())
    throw Error(Failure::usage, "bad_column", "columns",
                std::string(name_of(role)) + "=" + out.title + " names no column");
  return out;
}

// The column of a quantity that is no role: as named, or the title that says it most plainly.
[[nodiscard]] inline std::optional<Mapping> map_quantity(const std::string& quantity, const TitleIndex& index,
                                                         const std::string& file,
                                                         const std::map<std::string, std::string>& named) {
  if (const auto own = named.find(quantity); own != named.end())
    return named_mapping(Role::weight, quantity, own->second, index, file);
  std::vector<std::pair<int, std::size_t>> found;
  for (std::size_t i = 0; i < index.titles().size(); ++i) {
    if (const auto rank = quantity_rank(index.titles()[i], quantity)) found.emplace_back(*rank, i);
  }
  if (found.empty()) return std::nullopt;
  std::sort(found.begin(), found.end());
  Mapping out;
  out.role = Role::weight;
  out.quantity = quantity;
  out.title = index.titles()[found[0].second];
  out.columns = {found[0].second};
  out.why = "guessed from its title";
  out.tied = found.size() > 1 && found[0].first == found[1].first;
  for (std::size_t i = 1; i < found.size() && i <= 8; ++i) out.alternatives.push_back(index.titles()[found[i].second]);
  return out;
}

}  // namespace detail

// "parameters=N,tokens=D,loss=`loss, c4`" as ReadOptions::columns takes it; a comma or = in backticks is part of a
// title.
[[nodiscard]] inline std::map<std::string, std::string> parse_column_names(std::string_view text,
                                                                           std::string_view where = "columns") {
  std::map<std::string, std::string> out;
  const auto bad = [where](const std::string& rule) {
    return Error(Failure::usage, "bad_columns", std::string(where), rule);
  };
  for (std::size_t begin = 0; begin <= text.size();) {
    std::size_t end = begin;
    std::size_t equals = std::string_view::npos;
    bool quoted = false;
    for (; end < text.size() && (quoted || text[end] != ','); ++end) {
      if (text[end] == '`') quoted = !quoted;
      if (text[end] == '=' && !quoted && equals == std::string_view::npos) equals = end;
    }
    const std::string_view part = detail::trimmed(text.substr(begin, end - begin));
    if (quoted) throw bad("a backtick must close, got \"" + detail::shown(part) + "\"");
    if (equals == std::string_view::npos)
      throw bad("must be ROLE=TITLE,ROLE=TITLE, got \"" + detail::shown(part) + "\"");
    const std::string role(detail::trimmed(text.substr(begin, equals - begin)));
    const std::string title(detail::trimmed(text.substr(equals + 1, end - equals - 1)));
    if (title.empty()) throw bad(detail::shown(role) + "= must be followed by a title");
    if (!out.emplace(role, title).second) throw bad(detail::shown(role) + " must be named once, got it twice");
    begin = end + 1;
  }
  return out;
}

// In the order of Role, then of the quantities asked for that are no role; what has no column is left out. Throws
// Error(usage) for a name that is no column, or neither role nor such a quantity.
[[nodiscard]] inline std::vector<Mapping> map_columns(const TitleIndex& index, const std::string& file,
                                                      const std::map<std::string, std::string>& named,
                                                      const std::vector<std::string>& quantities = {}) {
  std::vector<std::string> known;
  for (const Role r : detail::roles) known.emplace_back(name_of(r));
  std::vector<std::string> others;
  for (const std::string& quantity : quantities) {
    if (std::find(known.begin(), known.end(), quantity) == known.end()) others.push_back(quantity);
  }
  known.insert(known.end(), others.begin(), others.end());
  for (const auto& [role, title] : named) {
    if (std::find(known.begin(), known.end(), role) != known.end()) continue;
    std::string all;
    for (const std::string& name : known) all += (all.empty() ? "" : ", ") + name;
    throw Error(Failure::usage, "unknown_role", "columns",
                "must be one of " + all + ", got \"" + detail::shown(role) + "\"" + nearest_names_text(role, known));
  }
  struct Candidate {
    std::size_t column;
    TitleMeaning meaning;
  };
  std::array<std::vector<Candidate>, detail::roles.size()> candidates;
  const std::vector<std::string>& titles = index.titles();
  for (std::size_t i = 0; i < titles.size(); ++i) {
    const auto meaning = meaning_of(titles[i]);
    if (meaning) candidates[static_cast<std::size_t>(meaning->role)].push_back({i, *meaning});
  }
  std::vector<Mapping> out;
  for (const Role role : detail::roles) {
    auto& found = candidates[static_cast<std::size_t>(role)];
    std::stable_sort(found.begin(), found.end(),
                     [](const Candidate& a, const Candidate& b) { return a.meaning.order() < b.meaning.order(); });
    const auto own = named.find(std::string(name_of(role)));
    if (own != named.end()) {
      out.push_back(detail::named_mapping(role, "", own->second, index, file));
    } else if (!found.empty()) {
      const auto& [column, meaning] = found.front();
      out.push_back({role,
                     titles[column],
                     {column},
                     meaning.factor,
                     meaning.unit,
                     meaning.count,
                     "guessed from its title",
                     {},
                     found.size() > 1 && found[0].meaning.order() == found[1].meaning.order(),
                     {}});
    } else {
      continue;
    }
    constexpr std::size_t most_alternatives = 8;
    for (const Candidate& other : found) {
      const auto& used = out.back().columns;
      if (std::find(used.begin(), used.end(), other.column) != used.end()) continue;
      if (out.back().alternatives.size() < most_alternatives) out.back().alternatives.push_back(titles[other.column]);
    }
  }
  for (const std::string& quantity : others) {
    if (auto mapping = detail::map_quantity(quantity, index, file, named)) out.push_back(std::move(*mapping));
  }
  return out;
}

[[nodiscard]] inline const Mapping* find_quantity(const std::vector<Mapping>& mapping, std::string_view name) {
  const auto found =
      std::find_if(mapping.begin(), mapping.end(), [name](const Mapping& m) { return m.name() == name; });
  return found == mapping.end() ? nullptr : &*found;
}

[[nodiscard]] inline const Mapping* find_role(const std::vector<Mapping>& mapping, Role role) {
  const auto found = std::find_if(mapping.begin(), mapping.end(),
                                  [role](const Mapping& m) { return m.role == role && m.quantity.empty(); });
  return found == mapping.end() ? nullptr : &*found;
}

}  // namespace floplan::runs
