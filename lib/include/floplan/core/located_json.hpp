// SPDX-License-Identifier: BSD-3-Clause
//
// A JSON document whose every value knows its line and the keys that lead to it, by nlohmann-json (3.11).
//
//   const LocatedJson document = LocatedJson::parse(text, "config.json");
//   const JsonValue heads = *document.root().find("num_attention_heads");
//   heads.whole_number(1, 2147483647)         64, or Error: "config.json:7: num_attention_heads must be a whole number
//                                             from 1 to 2147483647, got \"64\""
//   heads.fail("must divide hidden_size")     an Error at that place, to be thrown
//
// A number is whole if it is written so: 4096.0, 4.096e3 and "4096" are not. A byte order mark of UTF-8 is skipped.
//
// Errors: Error(data) at name:line for text that is no JSON or no UTF-8, for a key that an object has twice, for nesting
// deeper than 64, names longer than 1,024 bytes and more than 100,000 values: what exceeds these is no file of settings.
// Pitfall: values point into their document, which must outlive them.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"

namespace floplan {

inline constexpr std::size_t deepest_json = 64;
inline constexpr std::size_t longest_json_name = 1024;

// Counts lines as nlohmann's lexer takes the text, whose events carry no places.
struct CountingIterator {
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at = nullptr;
  const char** reached = nullptr;
  std::size_t* line = nullptr;

  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    if (*at == '\n') ++*line;
    *reached = ++at;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) { return a.at == b.at; }
};

class LocatedJson;

class JsonValue {
 public:
  enum class Kind { null, boolean, number, string, array, object };

  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool is_null() const { return kind() == Kind::null; }
  [[nodiscard]] std::size_t line() const;
  // "config.json:7"
  [[nodiscard]] std::string place() const;
  // The keys that lead here, "text_config.hidden_size" or "layer_types[3]"; empty for the document itself.
  [[nodiscard]] std::string path() const;
  // What stands there, as an error may show it.
  [[nodiscard]] std::string shown_value() const;

  // The value of a key; none when the object lacks it, or when this is no object.
  [[nodiscard]] std::optional<JsonValue> find(std::string_view key) const;
  // Of an array, or of an object in the file's order.
  [[nodiscard]] std::vector<JsonValue> items() const;
  [[nodiscard]] std::string_view key() const;

  // "config.json:7: hidden_size must be positive, got -1": rule and value.
  [[nodiscard]] Error fail(const std::string& rule, const std::string& code = "bad_value") const {
    return {Failure::data, code, place(), path() + (path().empty() ? "" : " ") + rule + ", got " + shown_value()};
  }
  [[nodiscard]] std::int64_t whole_number(std::int64_t least, std::int64_t most) const;
  [[nodiscard]] bool boolean() const {
    if (kind() != Kind::boolean) throw fail("must be true or false");
    return text() == "true";
  }
  [[nodiscard]] const std::string& string() const {
    if (kind() != Kind::string) throw fail("must be a string");
    return text();
  }
  // A string's content, or a number as it is written.
  [[nodiscard]] const std::string& text() const;

 private:
  friend class LocatedJson;
  JsonValue(const LocatedJson& document, std::size_t node) : document_(&document), node_(node) {}

  const LocatedJson* document_;
  std::size_t node_;
};

class LocatedJson {
 public:
  [[nodiscard]] static LocatedJson parse(std::string_view text, const std::string& name);

  [[nodiscard]] JsonValue root() const { return {*this, 0}; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  friend class JsonValue;
  static constexpr std::size_t no_node = static_cast<std::size_t>(-1);
  static constexpr std::size_t most_values = 100'000;

  struct Node {
    JsonValue::Kind kind = JsonValue::Kind::null;
    std::size_t line = 0;
    std::size_t parent = no_node;
    std::size_t position = 0;  // in its parent
    bool whole = false;
    std::string key;
    std::string text;
    std::vector<std::size_t> children;
  };

  // Grows the nodes from nlohmann's SAX events.
  class Builder {
   public:
    Builder(std::vector<Node>& nodes, const std::size_t& line, const char* const& reached, const char* begin)
        : nodes_(nodes), line_(line), reached_(reached), begin_(begin) {}

    bool null() { return value(JsonValue::Kind::null, ""); }
    bool boolean(bool v) { return value(JsonValue::Kind::boolean, v ? "true" : "false"); }
    bool number_integer(std::int64_t v) { return number(std::to_string(v), true); }
    bool number_unsigned(std::uint64_t v) { return number(std::to_string(v), true); }
    bool number_float(double, const std::string& text) { return number(text, false); }
    bool string(const std::string& text) { return value(JsonValue::Kind::string, text); }
    bool binary(const nlohmann::json::binary_t&) { return fail("must be text"); }
    bool key(const std::string& k) {
      if (k.size() > longest_json_name) return fail("a name must be at most 1024 bytes long, got more");
      const auto [found, added] = frames_.back().keys.emplace(k, line_);
      if (!added) {
        return fail("an object must have each key once, got " + path_of(k) + " again (first on line " +
                    std::to_string(found->second) + ")");
      }
      key_ = k;
      return true;
    }
    bool start_object(std::size_t) { return open(JsonValue::Kind::object); }
    bool start_array(std::size_t) { return open(JsonValue::Kind::array); }
    bool end_object() { return close(); }
    bool end_array() { return close(); }
    bool parse_error(std::size_t, const std::string& token, const nlohmann::json::exception& error) {
      const std::string at = frames_.empty() ? "" : path_of(nodes_[frames_.back().node].kind == object ? key_ : "");
      // 406: a number that no double holds.
      if (error.id == 406) return fail(at + " must be a number that a double can hold, got " + shown(token), true);
      const std::string_view what = error.what();
      const std::size_t rule = what.find("syntax error");
      return fail("must be JSON: " + shown(rule == std::string_view::npos ? what : what.substr(rule), 160) +
                  (at.empty() ? "" : ", after " + at));
    }
    [[nodiscard]] const std::string& problem() const { return problem_; }
    [[nodiscard]] std::size_t problem_line() const { return problem_line_; }

   private:
    static constexpr JsonValue::Kind object = JsonValue::Kind::object;
    struct Frame {
      std::size_t node = 0;
      std::unordered_map<std::string, std::size_t> keys;
    };

    // The lexer sees that a number ends by taking the character after it, which may have ended its line.
    [[nodiscard]] std::size_t line_of_number() const {
      return reached_ != begin_ && reached_[-1] == '\n' ? line_ - 1 : line_;
    }
    bool fail(const std::string& rule, bool number = false) {
      problem_ = rule;
      problem_line_ = number ? line_of_number() : line_;
      return false;
    }
    [[nodiscard]] std::string path_of(const std::string& key) const {
      std::string out;
      for (std::size_t i = 1; i < frames_.size(); ++i) {
        const Node& node = nodes_[frames_[i].node];
        if (!node.key.empty()) out += (out.empty() ? "" : ".") + node.key;
      }
      if (!key.empty()) out += (out.empty() ? "" : ".") + key;
      return shown(out, 200);
    }
    bool add(JsonValue::Kind kind, std::size_t line, std::string text, bool whole) {
      if (nodes_.size() == most_values) {
        return fail("must have at most " + std::to_string(most_values) +
                    " values, got more: it is no file of settings");
      }
      Node node;
      node.kind = kind;
      node.line = line;
      node.text = std::move(text);
      node.whole = whole;
      if (!frames_.empty()) {
        node.parent = frames_.back().node;
        Node& parent = nodes_[node.parent];
        if (parent.kind == object) node.key = key_;
        node.position = parent.children.size();
        parent.children.push_back(nodes_.size());
      }
      nodes_.push_back(std::move(node));
      return true;
    }
    bool value(JsonValue::Kind kind, std::string text) { return add(kind, line_, std::move(text), false); }
    bool number(std::string text, bool whole) {
      return add(JsonValue::Kind::number, line_of_number(), std::move(text), whole);
    }
    bool open(JsonValue::Kind kind) {
      if (frames_.size() == deepest_json)
        return fail("may nest " + std::to_string(deepest_json) + " deep, got more, in " + path_of(""));
      if (!add(kind, line_, "", false)) return false;
      frames_.push_back({nodes_.size() - 1, {}});
      return true;
    }
    bool close() {
      frames_.pop_back();
      return true;
    }

    std::vector<Node>& nodes_;
    const std::size_t& line_;
    const char* const& reached_;
    const char* begin_;
    std::vector<Frame> frames_;
    std::string key_;
    std::string problem_;
    std::size_t problem_line_ = 0;
  };

  std::string name_;
  std::vector<Node> nodes_;
};

inline LocatedJson LocatedJson::parse(std::string_view text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  LocatedJson out;
  out.name_ = name;
  std::size_t line = 1;
  const char* const begin = text.data();
  const char* reached = begin;
  Builder builder(out.nodes_, line, reached, begin);
  const CountingIterator first{begin, &reached, &line};
  const CountingIterator last{begin + text.size(), &reached, &line};
  if (!nlohmann::json::sax_parse(first, last, &builder))
    throw Error(Failure::data, "bad_json", name + ":" + std::to_string(builder.problem_line()), builder.problem());
  return out;
}

inline JsonValue::Kind JsonValue::kind() const { return document_->nodes_[node_].kind; }
inline std::size_t JsonValue::line() const { return document_->nodes_[node_].line; }
inline const std::string& JsonValue::text() const { return document_->nodes_[node_].text; }
inline std::string_view JsonValue::key() const { return document_->nodes_[node_].key; }
inline std::string JsonValue::place() const { return document_->name_ + ":" + std::to_string(line()); }

inline std::string JsonValue::path() const {
  std::string out;
  for (std::size_t at = node_; at != 0; at = document_->nodes_[at].parent) {
    const LocatedJson::Node& node = document_->nodes_[at];
    const bool in_object = document_->nodes_[node.parent].kind == Kind::object;
    const std::string step = in_object ? node.key : "[" + std::to_string(node.position) + "]";
    out = step + (out.empty() || out.front() == '[' ? "" : ".") + out;
  }
  return shown(out, 200);
}

inline std::string JsonValue::shown_value() const {
  switch (kind()) {
    case Kind::null: return "null";
    case Kind::array: return "a list of " + std::to_string(document_->nodes_[node_].children.size());
    case Kind::object: return "an object";
    case Kind::string: return "\"" + shown(text()) + "\"";
    case Kind::boolean:
    case Kind::number: break;
  }
  return shown(text());
}

inline std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  if (kind() != Kind::object) return std::nullopt;
  for (const std::size_t child : document_->nodes_[node_].children) {
    if (document_->nodes_[child].key == key) return JsonValue(*document_, child);
  }
  return std::nullopt;
}

inline std::vector<JsonValue> JsonValue::items() const {
  std::vector<JsonValue> out;
  for (const std::size_t child : document_->nodes_[node_].children) out.push_back(JsonValue(*document_, child));
  return out;
}

inline std::int64_t JsonValue::whole_number(std::int64_t least, std::int64_t most) const {
  std::int64_t value = 0;
  const std::string& digits = text();
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (kind() != Kind::number || !document_->nodes_[node_].whole || error != std::errc() ||
      end != digits.data() + digits.size() || value < least || value > most) {
    throw fail("must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

}  // namespace floplan
