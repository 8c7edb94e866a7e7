// SPDX-License-Identifier: BSD-3-Clause
//
// A file of runs as titled cells with the place of each, whatever it was written in.
//
//   const Sheet sheet = read_sheet(text, "runs.csv");   // commas, tabs or semicolons
//   sheet.cell(row, column), sheet.place(row, column)   // "runs.csv:17:4"
//
// Separator: the one of comma, tab and semicolon that the first line holds most of outside quotes, a tie goes to the
// comma; or the one that a first line "sep=;" names, as Excel writes it. Text separated by tabs or semicolons is
// rewritten with commas, so one RFC 4180 reader (core/csv.hpp) sees it all, and lines and columns keep their numbers.
// JSON (runs/json_runs.hpp) fills the same class from a tree: a cell that a record lacks is looked for in the objects
// around it.
//
// Cost: linear in the text; a cell of a delimited file is an index, of a tree a binary search in each enclosing object.
// Pitfall: a row with more cells than titles (a comma in a name that lost its quotes) has its cells in the wrong
// columns; problem() says so, and no cell of such a row should be believed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/csv.hpp"
#include "floplan/core/error.hpp"
#include "floplan/runs/cell_number.hpp"

namespace floplan::runs {

namespace detail {

inline constexpr std::size_t no_node = static_cast<std::size_t>(-1);

// Objects nested in objects; cells of node k are entries[begin[k]] to entries[begin[k + 1]], by ascending column.
struct Tree {
  struct Node {
    std::size_t parent = no_node;
    std::size_t line = 0;
    std::size_t array = 0;  // which array of which kind of object it is an element of
  };
  struct Entry {
    std::size_t node = 0;
    std::size_t column = 0;
    std::size_t offset = 0;  // in text
    std::size_t length = 0;
  };
  std::string text;
  std::vector<std::string> titles;
  std::vector<Node> nodes;
  std::vector<Entry> entries;
  std::vector<std::size_t> begin;    // nodes + 1 of them
  std::vector<std::size_t> records;  // the nodes that are runs
};

using floplan::shown;

[[nodiscard]] inline char guess_separator(std::string_view text) {
  std::size_t commas = 0;
  std::size_t tabs = 0;
  std::size_t semicolons = 0;
  bool quoted = false;
  bool any = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '\n' || c == '\r') && any) break;
    any = any || (c != '\n' && c != '\r');
    if (quoted) continue;
    commas += c == ',' ? 1 : 0;
    tabs += c == '\t' ? 1 : 0;
    semicolons += c == ';' ? 1 : 0;
  }
  if (commas >= tabs && commas >= semicolons) return ',';
  return tabs >= semicolons ? '\t' : ';';
}

// The same cells separated by commas.
[[nodiscard]] inline std::string with_commas(std::string_view text, char separator) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == separator) {
      out += ',';
      ++i;
    } else if (text[i] == '\n' || text[i] == '\r') {
      out += text[i++];
    } else if (text[i] == '"') {
      const std::size_t begin = i++;
      while (i < text.size() && text[i] != '"') ++i;  // a doubled quote opens and closes again
      i = std::min(i + 1, text.size());
      out.append(text.substr(begin, i - begin));
    } else {
      const std::size_t begin = i;
      while (i < text.size() && text[i] != separator && text[i] != '\n' && text[i] != '\r') ++i;
      out += csv_cell(text.substr(begin, i - begin));
    }
  }
  return out;
}

}  // namespace detail

class Sheet {
 public:
  Sheet(CsvTable csv, char separator) : csv_(std::move(csv)), name_(csv_.name()), separator_(separator) {}
  Sheet(std::string name, detail::Tree tree) : name_(std::move(name)), separator_('\0'), tree_(std::move(tree)) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool is_tree() const { return separator_ == '\0'; }
  [[nodiscard]] char separator() const { return separator_; }
  [[nodiscard]] bool decimal_comma() const { return separator_ == ';'; }
  [[nodiscard]] const std::vector<std::string>& titles() const { return is_tree() ? tree_.titles : csv_.header(); }
  [[nodiscard]] std::size_t size() const { return is_tree() ? tree_.records.size() : csv_.size(); }
  [[nodiscard]] std::size_t line(std::size_t row) const {
    return is_tree() ? tree_.nodes[tree_.records[row]].line : csv_.row(row).line();
  }
  // Blank when the row does not have it.
  [[nodiscard]] std::string_view cell(std::size_t row, std::size_t column) const {
    return is_tree() ? tree_cell(tree_.records[row], column) : csv_.row(row)[column];
  }
  // The column as people count it, from 1; 0 where a file has no columns (JSON).
  [[nodiscard]] std::size_t column_number(std::size_t column) const { return is_tree() ? 0 : column + 1; }
  // "name:line:column", or "name:line" where a file has no columns.
  [[nodiscard]] std::string place(std::size_t row, std::size_t column) const {
    std::string out = name_ + ":" + std::to_string(line(row));
    return is_tree() ? out : out + ":" + std::to_string(column + 1);
  }
  // Why no cell of this row can be believed.
  [[nodiscard]] std::optional<std::string> problem(std::size_t row) const {
    if (is_tree()) return std::nullopt;
    const CsvRow cells = csv_.row(row);
    for (std::size_t i = titles().size(); i < cells.size(); ++i) {
      if (detail::trimmed(cells[i]).empty()) continue;
      return "has " + std::to_string(cells.size()) + " cells where the header has " + std::to_string(titles().size()) +
             " (a comma outside quotes?)";
    }
    return std::nullopt;
  }
  // Runs whose records share an enclosing object: several losses of one run.
  [[nodiscard]] bool shares_parent(std::size_t a, std::size_t b) const {
    if (!is_tree()) return false;
    const std::size_t parent = tree_.nodes[tree_.records[a]].parent;
    return parent != detail::no_node && parent == tree_.nodes[tree_.records[b]].parent;
  }

 private:
  [[nodiscard]] std::string_view tree_cell(std::size_t node, std::size_t column) const {
    for (; node != detail::no_node; node = tree_.nodes[node].parent) {
      const auto first = tree_.entries.begin() + static_cast<std::ptrdiff_t>(tree_.begin[node]);
      const auto last = tree_.entries.begin() + static_cast<std::ptrdiff_t>(tree_.begin[node + 1]);
      const auto found = std::lower_bound(
          first, last, column, [](const detail::Tree::Entry& e, std::size_t wanted) { return e.column < wanted; });
      if (found != last && found->column == column)
        return std::string_view(tree_.text).substr(found->offset, found->length);
    }
    return {};
  }

  CsvTable csv_;
  std::string name_;
  char separator_;
  detail::Tree tree_;
};

// Throws Error(data) for text that is no table: empty, UTF-16, a quote that never closes.
[[nodiscard]] inline Sheet read_sheet(std::string_view text, std::string name) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    throw Error(Failure::data, "bad_encoding", name + ":1:1", "must be UTF-8, got UTF-16: save it as UTF-8");
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  char separator = detail::guess_separator(text);
  // Excel's own first line. Its line end stays, so that lines keep their numbers.
  if (text.size() > 5 && text.starts_with("sep=") && (text[5] == '\n' || text[5] == '\r')) {
    separator = text[4];
    text.remove_prefix(5);
  }
  if (separator == ',') return {parse_csv(text, std::move(name)), separator};
  return {parse_csv(detail::with_commas(text, separator), std::move(name)), separator};
}

}  // namespace floplan::runs
