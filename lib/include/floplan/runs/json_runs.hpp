// SPDX-License-Identifier: BSD-3-Clause
//
// Runs from JSON and JSONL, by nlohmann-json (3.11); read_any takes these and tables alike.
//
//   const RunTable table = read_any(text, "runs.jsonl", options);   // what begins with { or [ is JSON
//
// Taken: an array of objects; an object with such an array ({"runs": [...]}); one object a file, or one a line (JSONL);
// an object a run with an array of results inside ({"hyperparameters": {...}, "results": [{"loss": ...}, ...]}): each
// result is a row and finds what it lacks in the objects around it. Nested objects give titles joined by points:
// hyperparameters.params. A row is an object of the outermost array that holds a loss. Arrays of plain values are
// joined by spaces. NaN and Infinity, which Python writes, are taken as cells without a number. A line of JSONL that is
// no JSON is skipped with its reason; anywhere else it is an error.
//
// Limits: nesting 64 deep, titles of 1,024 bytes; linear in the text up to a logarithm.
// Pitfall: a result's own "tokens" may be those of the validation set; fields of config, args and hyperparameters
// therefore go first when columns are guessed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/located_json.hpp"
#include "floplan/runs/column_map.hpp"
#include "floplan/runs/read_runs.hpp"
#include "floplan/runs/run_table.hpp"
#include "floplan/runs/sheet.hpp"

namespace floplan::runs {

namespace detail {

// Grows a Tree from nlohmann's SAX events.
class TreeBuilder {
 public:
  TreeBuilder(Tree& tree, const std::size_t& line) : tree_(tree), line_(line) {}

  bool null() { return value(""); }
  bool boolean(bool v) { return value(v ? "true" : "false"); }
  bool number_integer(std::int64_t v) { return value(std::to_string(v)); }
  bool number_unsigned(std::uint64_t v) { return value(std::to_string(v)); }
  bool number_float(double, const std::string& text) { return value(text); }
  bool string(const std::string& text) { return value(text); }
  bool binary(const nlohmann::json::binary_t&) { return value(""); }
  bool key(const std::string& k) {
    key_ = k;
    return true;
  }
  bool start_object(std::size_t) {
    if (!deeper()) return false;
    Frame frame;
    frame.object = true;
    frame.outer_prefix = prefix_;
    if (!frames_.empty() && frames_.back().object) {
      prefix_ += key_ + ".";
      frame.node = frames_.back().node;
      if (prefix_.size() > longest_json_name)
        return fail("names nested into each other must be at most 1024 bytes long");
    } else {
      prefix_.clear();
      const std::size_t parent = frames_.empty() ? no_node : frames_.back().node;
      const std::size_t array = frames_.empty() ? 0 : frames_.back().array;
      frame.node = tree_.nodes.size();
      tree_.nodes.push_back({parent, line_, array});
    }
    frames_.push_back(std::move(frame));
    return true;
  }
  bool end_object() {
    prefix_ = std::move(frames_.back().outer_prefix);
    frames_.pop_back();
    return true;
  }
  bool start_array(std::size_t) {
    if (!deeper()) return false;
    Frame frame;
    frame.outer_prefix = prefix_;
    const bool inside_object = !frames_.empty() && frames_.back().object;
    if (!frames_.empty()) frame.node = frames_.back().node;
    frame.title = inside_object ? prefix_ + key_ : "";
    // An array is one of a kind with those of the same name in the same kind of object.
    const std::size_t kind = frame.node == no_node ? 0 : tree_.nodes[frame.node].array;
    const auto name = array_names_.emplace(frame.title, array_names_.size()).first->second;
    frame.array = array_kinds_.emplace(std::pair(kind, name), array_kinds_.size() + 1).first->second;
    frames_.push_back(std::move(frame));
    return true;
  }
  bool end_array() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    prefix_ = std::move(frame.outer_prefix);
    if (frame.values > 0 && !frames_.empty() && frames_.back().object) add(frame.title, frame.joined);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    const std::string_view what = error.what();
    const std::size_t rule = what.find("syntax error");
    return fail("must be JSON: " + shown(rule == std::string_view::npos ? what : what.substr(rule), 160));
  }

  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] std::size_t problem_line() const { return problem_line_; }
  [[nodiscard]] std::size_t kinds() const { return array_kinds_.size() + 1; }

  // Forgets a document that did not end well.
  void roll_back(std::size_t nodes, std::size_t entries) {
    tree_.nodes.resize(nodes);
    tree_.entries.resize(entries);
    frames_.clear();
    prefix_.clear();
    problem_.clear();
  }

 private:
  static constexpr std::size_t longest_joined = 256;
  struct Frame {
    bool object = false;
    std::size_t node = no_node;
    std::size_t array = 0;
    std::size_t values = 0;
    std::string title;
    std::string joined;
    std::string outer_prefix;
  };

  bool fail(const std::string& rule) {
    problem_ = rule;
    problem_line_ = line_;
    return false;
  }
  bool deeper() {
    return frames_.size() < deepest_json || fail("may nest " + std::to_string(deepest_json) + " deep, got more");
  }

  bool value(std::string_view text) {
    if (frames_.empty()) return true;
    Frame& frame = frames_.back();
    if (frame.object) return add(prefix_ + key_, text);
    if (frame.joined.size() < longest_joined) {
      if (frame.values > 0) frame.joined += ' ';
      frame.joined += text.substr(0, longest_joined);
    }
    ++frame.values;
    return true;
  }

  bool add(const std::string& title, std::string_view text) {
    if (title.size() > longest_json_name) return fail("a name must be at most 1024 bytes long");
    const auto [found, added] = columns_.emplace(title, tree_.titles.size());
    if (added) tree_.titles.push_back(title);
    tree_.entries.push_back({frames_.back().node, found->second, tree_.text.size(), text.size()});
    tree_.text += text;
    return true;
  }

  Tree& tree_;
  const std::size_t& line_;
  std::vector<Frame> frames_;
  std::string prefix_;
  std::string key_;
  std::string problem_;
  std::size_t problem_line_ = 0;
  std::unordered_map<std::string, std::size_t> columns_;
  std::unordered_map<std::string, std::size_t> array_names_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> array_kinds_;
};

// NaN, Infinity and -Infinity outside strings as strings.
[[nodiscard]] inline std::string with_quoted_infinities(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 64);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size();) {
    if (quoted && text[i] == '\\') {
      out += text.substr(i, 2);
      i += 2;
      continue;
    }
    std::string_view word;
    for (const std::string_view special : {"NaN", "Infinity", "-Infinity"}) {
      if (!quoted && text.substr(i).starts_with(special)) word = special;
    }
    if (!word.empty()) {
      out += '"';
      out += word;
      out += '"';
      i += word.size();
      continue;
    }
    // A string ends with its line at the latest, so that one broken line of JSONL cannot turn the rest inside out.
    if (text[i] == '"') quoted = !quoted;
    if (text[i] == '\n') quoted = false;
    out += text[i++];
  }
  return out;
}

// Whether each line is an object: the first line opens and closes one, and another follows.
[[nodiscard]] inline bool is_jsonl(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return false;
  const std::string_view first = trimmed(text.substr(0, end));
  const std::string_view second = trimmed(text.substr(end + 1, 4096));
  return first.starts_with('{') && first.ends_with('}') && second.starts_with('{');
}

// Chooses the objects that are records, those of the outermost array whose objects hold a wanted column (or all that hold
// no others, where none does), and puts each object's cells in order.
inline void finish(Tree& tree, const TreeBuilder& builder, const std::vector<bool>& wanted) {
  std::vector<bool> holds_wanted(builder.kinds(), false);
  for (const Tree::Entry& entry : tree.entries) {
    if (wanted[entry.column]) holds_wanted[tree.nodes[entry.node].array] = true;
  }
  std::vector<bool> inner(tree.nodes.size(), false);
  for (const Tree::Node& node : tree.nodes) {
    if (node.parent != no_node) inner[node.parent] = true;
  }
  const bool any = std::find(holds_wanted.begin(), holds_wanted.end(), true) != holds_wanted.end();
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    bool is_record = !any && !inner[i];
    if (any && holds_wanted[tree.nodes[i].array]) {
      is_record = true;
      for (std::size_t up = tree.nodes[i].parent; up != no_node; up = tree.nodes[up].parent) {
        is_record = is_record && !holds_wanted[tree.nodes[up].array];
      }
    }
    if (is_record) tree.records.push_back(i);
  }
  // Of a name that an object has twice, the last value counts.
  std::stable_sort(tree.entries.begin(), tree.entries.end(), [](const Tree::Entry& a, const Tree::Entry& b) {
    return std::pair(a.node, a.column) < std::pair(b.node, b.column);
  });
  std::size_t out = 0;
  for (std::size_t i = 0; i < tree.entries.size(); ++i) {
    const bool again = i + 1 < tree.entries.size() && tree.entries[i].node == tree.entries[i + 1].node &&
                       tree.entries[i].column == tree.entries[i + 1].column;
    if (!again) tree.entries[out++] = tree.entries[i];
  }
  tree.entries.resize(out);
  tree.begin.assign(tree.nodes.size() + 1, 0);
  for (const Tree::Entry& entry : tree.entries) ++tree.begin[entry.node + 1];
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) tree.begin[i + 1] += tree.begin[i];
}

}  // namespace detail

// Objects as the rows of a sheet, and the lines of JSONL that are none.
struct JsonSheet {
  Sheet sheet;
  std::vector<SkippedRow> broken;
};

// choose(titles) says of each title whether an object that has it is a record. first_line is the text's own first line, for
// a part of a file. Throws Error(data) with the line for text that is no JSON, nests too deep, or holds no object.
template <class Choose>
[[nodiscard]] JsonSheet read_json_sheet(std::string_view text, const std::string& name, bool lines,
                                        const Choose& choose, std::size_t first_line = 1) {
  std::string patched;
  if (text.find("NaN") != std::string_view::npos || text.find("Infinity") != std::string_view::npos) {
    patched = detail::with_quoted_infinities(text);
    text = patched;
  }
  detail::Tree tree;
  std::size_t line = first_line;
  detail::TreeBuilder builder(tree, line);
  std::vector<SkippedRow> broken;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n')) line += *at++ == '\n' ? 1 : 0;
    if (at == end) break;
    const char* const stop = lines ? std::find(at, end, '\n') : end;
    const std::size_t nodes = tree.nodes.size();
    const std::size_t entries = tree.entries.size();
    const std::size_t begins_on = line;
    const char* reached = at;
    const CountingIterator first{at, &reached, &line};
    const CountingIterator last{stop, &reached, &line};
    if (nlohmann::json::sax_parse(first, last, &builder, nlohmann::json::input_format_t::json, lines)) {
      at = lines ? stop : reached;
      continue;
    }
    if (!lines)
      throw Error(Failure::data, "bad_json", name + ":" + std::to_string(builder.problem_line()), builder.problem());
    broken.push_back({name, begins_on, 0, "", "the line " + builder.problem()});
    builder.roll_back(nodes, entries);
    line = begins_on;
    at = stop;
  }
  if (tree.nodes.empty()) {
    if (!broken.empty())
      throw Error(Failure::data, "no_usable_rows", broken.front().place(),
                  "none of " + std::to_string(broken.size()) + " lines can be used: " + broken.front().reason);
    throw Error(Failure::data, "no_rows", name + ":" + std::to_string(first_line), "needs objects, got none");
  }
  detail::finish(tree, builder, choose(tree.titles));
  return {Sheet(name, std::move(tree)), std::move(broken)};
}

// Throws as read() and read_json_sheet() do.
[[nodiscard]] inline RunTable read_json(std::string_view text, const std::string& name,
                                        const ReadOptions& options = {}) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const bool lines = name.ends_with(".jsonl") || name.ends_with(".ndjson") || detail::is_jsonl(detail::trimmed(text));
  std::vector<std::string> named;
  if (const auto own = options.columns.find("loss"); own != options.columns.end()) {
    named = detail::factors_of(own->second);
    named.push_back(own->second);
  }
  auto [sheet, broken] = read_json_sheet(text, name, lines, [&named](const std::vector<std::string>& titles) {
    std::vector<bool> loss;
    for (const std::string& title : titles) {
      const auto meaning = meaning_of(title);
      loss.push_back(named.empty() ? meaning && meaning->role == Role::loss
                                   : std::find(named.begin(), named.end(), title) != named.end());
    }
    return loss;
  });
  RunTable out = read(std::move(sheet), options);
  out.rows.read += broken.size();
  out.rows.skipped_count += broken.size();
  for (SkippedRow& row : broken) {
    if (out.rows.skipped.size() < options.skipped_listed) out.rows.skipped.push_back(std::move(row));
  }
  std::stable_sort(out.rows.skipped.begin(), out.rows.skipped.end(),
                   [](const SkippedRow& a, const SkippedRow& b) { return a.line < b.line; });
  return out;
}

// A table or JSON, whichever the text is.
[[nodiscard]] inline RunTable read_any(std::string_view text, const std::string& name,
                                       const ReadOptions& options = {}) {
  const std::size_t first = text.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  const bool json = first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
  return json ? read_json(text, name, options) : read(text, name, options);
}

}  // namespace floplan::runs
