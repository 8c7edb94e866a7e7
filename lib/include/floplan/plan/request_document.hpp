// SPDX-License-Identifier: BSD-3-Clause
//
// A TOML document that remembers where each of its values came from, and which of its keys were asked for.
//
//   Document document(text, "plan.toml");
//   document.set("stage[*].count", "100000", "--count");       an override from the command line
//   Section top = document.root();
//   auto restart = top.section("reliability").range<Seconds>("restart");
//   document.refuse_unknown_keys();
//
// A value is a string ("10min"), a number, or for a range an array of two. Errors from a file are Error(data) at
// file:line:column; from an override, or where there is no file, Error(usage) at the option's name. A key that nobody asked
// for is an error that names its place and the nearest key, so that a mistyped key is never silently ignored.
//
// Needs toml++ (a header that costs seconds to compile): not part of the umbrella header.
// Pitfall: a number for a quantity with units (a time, bytes, a rate) is refused, as on the command line.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/field_names.hpp"
#include "floplan/plan/field_value.hpp"
#include "floplan/plan/request_section.hpp"

namespace floplan::plan {

class Document {
 public:
  // place: the file's name for errors; empty where there is no file, and all that is set comes from options.
  Document(std::string_view text, std::string place) : place_(std::move(place)) {
    try {
      table_ = std::make_shared<toml::table>(toml::parse(text, place_));
    } catch (const toml::parse_error& error) {
      throw Error(Failure::data, "bad_toml", position(error.source()),
                  "must be TOML: " + std::string(error.description()));
    }
  }

  // path: "accelerator", "reliability.restart", "stage[2].tokens" (from 1) or "stage[*].count"; origin: the option's name.
  // A stage is made when the document has none.
  void set(std::string_view path, std::string value, const std::string& origin) {
    set_in(*table_, path, "", std::move(value), origin);
  }

  [[nodiscard]] Section root() { return {*this, table_.get(), ""}; }

  void refuse_unknown_keys() const { refuse_unknown_in(*table_, ""); }
  [[nodiscard]] const AskedFields& asked() const { return asked_; }

  // Where a field was set (itself, or one below it), or else where the nearest table around it begins.
  [[nodiscard]] Place place(std::string_view path) const {
    if (const std::string* origin = override_of(path)) return {*origin, Failure::usage};
    if (place_.empty()) return {"command line", Failure::usage};
    std::string found = place_ + ":1:1";
    for (std::string_view parent = path; !parent.empty();) {
      const toml::node* node = node_at(parent);
      if (node != nullptr && node->source().begin.line > 0) {
        found = position(node->source());
        break;
      }
      const auto dot = parent.rfind('.');
      parent = parent.substr(0, dot == std::string_view::npos ? 0 : dot);
    }
    return {path.empty() ? found : found + " (" + std::string(path) + ")", Failure::data};
  }

 private:
  friend class Section;

  [[nodiscard]] const toml::node* node_at(std::string_view path) const {
    const toml::node* node = table_.get();
    while (node != nullptr && !path.empty()) {
      const auto dot = path.find('.');
      std::string_view key = path.substr(0, dot);
      path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
      std::size_t index = 0;
      if (const auto bracket = key.find('['); bracket != std::string_view::npos) {
        std::from_chars(key.data() + bracket + 1, key.data() + key.size(), index);
        key = key.substr(0, bracket);
      }
      node = node->is_table() ? node->as_table()->get(key) : nullptr;
      if (node != nullptr && index > 0) node = node->is_array() ? node->as_array()->get(index - 1) : nullptr;
    }
    return node;
  }

  // The option that set this field or one below it, or nullptr.
  [[nodiscard]] const std::string* override_of(std::string_view path) const {
    if (path.empty()) return nullptr;
    const auto found = overridden_.lower_bound(std::string(path));
    for (auto i = found; i != overridden_.end() && i->first.starts_with(path); ++i) {
      const std::string_view rest = std::string_view(i->first).substr(path.size());
      if (rest.empty() || rest.front() == '.' || rest.front() == '[') return &i->second;
    }
    return nullptr;
  }

  [[nodiscard]] std::string position(const toml::source_region& region) const {
    return place_ + ":" + std::to_string(region.begin.line) + ":" + std::to_string(region.begin.column);
  }

  [[nodiscard]] static std::string child(const std::string& parent, std::string_view key) {
    return parent.empty() ? std::string(key) : parent + "." + std::string(key);
  }

  // Fields that are a word or a table, of which an option may put one in the place of the other.
  [[nodiscard]] static bool word_or_table(std::string_view key) { return key == "layout"; }

  // Of one value; nothing for a table, an array or a date.
  [[nodiscard]] static std::optional<std::string> text_of(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* whole = node.as_integer()) return std::to_string(whole->get());
    if (const auto* real = node.as_floating_point()) {
      // Negative and non-finite numbers keep their text, so that the parser refuses them by its own rule.
      const double x = real->get();
      return x < 0 ? "-" + print_number(-x) : print_number(x);
    }
    if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
    return std::nullopt;
  }

  void set_in(toml::table& table, std::string_view path, const std::string& prefix, std::string value,
              const std::string& origin) {
    const auto bad = [&](const std::string& rule) { return Error(Failure::usage, "bad_path", origin, rule); };
    auto dot = path.find_first_of(".[");
    std::string_view key = path.substr(0, dot);
    std::optional<std::string_view> index;
    if (dot != std::string_view::npos && path[dot] == '[') {
      const auto close = path.find(']', dot);
      if (close == std::string_view::npos || (close + 1 < path.size() && path[close + 1] != '.'))
        throw bad("a field's path must be like stage[1].tokens, got \"" + std::string(path) + "\"");
      index = path.substr(dot + 1, close - dot - 1);
      dot = close + 1 < path.size() ? close + 1 : std::string_view::npos;
    }
    if (key.empty())
      throw bad("a field's path must be like reliability.restart or stage[1].tokens, got \"" + std::string(path) +
                "\"");
    if (dot == std::string_view::npos && !index) {
      const std::string full = child(prefix, key);
      const toml::node* old = table.get(key);
      if (old != nullptr && (old->is_table() || old->is_array_of_tables())) {
        if (const std::string* below = override_of(full); below != nullptr && word_or_table(key))
          throw bad("contradicts " + *below + ": \"" + full + "\" is a word, or has fields of its own");
        if (!word_or_table(key)) throw bad("\"" + full + "\" holds fields of its own: name one of them");
      }
      if (const auto text = old != nullptr ? text_of(*old) : std::nullopt) replaced_.try_emplace(full, *text);
      if (const auto before = overridden_.find(full); before != overridden_.end())
        throw bad("sets " + full + ", which " + before->second + " sets too: give it once");
      overridden_[full] = origin;
      table.insert_or_assign(key, std::move(value));
      return;
    }
    if (dot == std::string_view::npos) throw bad("\"" + std::string(path) + "\" needs a field after the brackets");
    const std::string_view rest = path.substr(dot + 1);
    if (!index) {
      if (const toml::node* old = table.get(key); old != nullptr && text_of(*old) && word_or_table(key)) {
        if (const auto before = overridden_.find(child(prefix, key)); before != overridden_.end())
          throw bad("contradicts " + before->second + ": \"" + before->first +
                    "\" is a word, or has fields of its own");
        table.erase(key);
      }
      if (table.get(key) == nullptr) table.insert(key, toml::table{});
      toml::table* inner = table.get(key)->as_table();
      if (inner == nullptr) {
        const std::string full = child(prefix, key);
        throw bad(table.get(key)->is_array_of_tables()
                      ? "\"" + full + "\" is a list: write " + full + "[1]." + std::string(rest) + ", or " + full +
                            "[*]." + std::string(rest) + " for all of it"
                      : "\"" + full + "\" has no fields of its own");
      }
      set_in(*inner, rest, child(prefix, key), std::move(value), origin);
      return;
    }
    if (table.get(key) == nullptr) table.insert(key, toml::array{toml::table{}});
    toml::array* array = table.get(key)->as_array();
    if (array == nullptr) throw bad("\"" + child(prefix, key) + "\" is not a list of tables");
    std::size_t first = 0;
    std::size_t last = array->size();
    if (*index != "*") {
      std::size_t number = 0;
      const auto result = std::from_chars(index->data(), index->data() + index->size(), number);
      if (result.ec != std::errc() || result.ptr != index->data() + index->size() || number < 1 ||
          number > array->size()) {
        throw bad("the plan has " + std::string(key) + " 1 to " + std::to_string(array->size()) + ", got [" +
                  std::string(*index) + "]");
      }
      first = number - 1;
      last = number;
    }
    for (std::size_t i = first; i < last; ++i) {
      toml::table* inner = array->get(i)->as_table();
      if (inner == nullptr) throw bad("\"" + child(prefix, key) + "\" is not a list of tables");
      set_in(*inner, rest, child(prefix, key) + "[" + std::to_string(i + 1) + "]", value, origin);
    }
  }

  [[nodiscard]] Error unknown_key(const std::string& path, const toml::key& key, const std::string& meant) const {
    const std::string full = child(path, key.str());
    const std::string* origin = override_of(full);
    const bool in_file = origin == nullptr || (key.source().begin.line > 0 && !overridden_.contains(full));
    return {in_file ? Failure::data : Failure::usage, "unknown_key", in_file ? position(key.source()) : *origin,
            "must be a field of a plan, got \"" + full + "\"" + meant};
  }

  void refuse_unknown_in(const toml::table& table, const std::string& path) const {
    const auto asked = asked_.find(path);
    for (const auto& [key, node] : table) {
      const std::string full = child(path, key.str());
      const bool known = asked != asked_.end() && asked->second.contains(std::string(key.str()));
      if (!known) throw unknown_key(path, key, meant_field(path, key.str(), asked_));
      if (const toml::table* inner = node.as_table()) refuse_unknown_in(*inner, full);
      if (const toml::array* array = node.as_array()) {
        for (std::size_t i = 0; i < array->size(); ++i) {
          if (const toml::table* inner = array->get(i)->as_table())
            refuse_unknown_in(*inner, full + "[" + std::to_string(i + 1) + "]");
        }
      }
    }
  }

  std::string place_;
  std::shared_ptr<toml::table> table_;
  std::map<std::string, std::string> overridden_;  // path -> option
  std::map<std::string, std::string> replaced_;    // path -> the document's own text
  AskedFields asked_;
};

inline Error Section::missing(std::string_view wanted, const std::string& what) const {
  if (table_ != nullptr) {
    for (const auto& [key, node] : *table_) {
      const bool asked = document_->asked_[path_].contains(std::string(key.str()));
      if (!asked && !field_of_option(key.str()).empty())
        return document_->unknown_key(path_, key, meant_field(path_, key.str(), document_->asked_));
      if (!asked && edit_distance(lower_case(key.str()), wanted) <= 1 + wanted.size() / 5)
        return document_->unknown_key(path_, key, " (nearest: " + std::string(wanted) + ")");
    }
  }
  const std::string rule = "needs " + what;
  // Without a file, options give everything, and those of what cannot be missing are named as the fields are.
  if (document_->place_.empty()) {
    std::string option = "--" + std::string(wanted == "stage" ? "count" : wanted);
    std::replace(option.begin(), option.end(), '_', '-');
    return {Failure::usage, "missing_field", option, rule};
  }
  const bool placed = table_ != nullptr && table_->source().begin.line > 0;
  const std::string place = placed ? document_->position(table_->source()) : document_->place_ + ":1:1";
  return {Failure::data, "missing_field", path_.empty() ? place : place + " (" + path_ + ")", rule};
}

inline std::optional<Place> Section::place_of(std::string_view key) const {
  if (table_ == nullptr || table_->get(key) == nullptr) return std::nullopt;
  return document_->place(Document::child(path_, key));
}

inline bool Section::holds_table(std::string_view key) const {
  const toml::node* node = table_ != nullptr ? table_->get(key) : nullptr;
  return node != nullptr && node->is_table();
}

inline std::optional<std::string> Section::replaced(std::string_view key) const {
  const auto found = document_->replaced_.find(Document::child(path_, key));
  return found != document_->replaced_.end() ? std::optional(found->second) : std::nullopt;
}

inline std::vector<Value> Section::values(std::string_view key) const {
  document_->asked_[path_].emplace(key);
  const toml::node* node = table_ != nullptr ? table_->get(key) : nullptr;
  if (node == nullptr) return {};
  const std::string full = Document::child(path_, key);
  const Place place = document_->place(full);
  const Value base{"", place.where, place.failure};
  const auto read = [&base](const toml::node& from) {
    const auto text = Document::text_of(from);
    if (!text) throw base.refuse("must be text or a number");
    return Value{*text, base.where, base.failure};
  };
  std::vector<Value> out;
  if (const toml::array* array = node->as_array()) {
    for (const toml::node& element : *array) out.push_back(read(element));
    if (out.size() != 2)
      throw base.refuse("must be one value, or two as [low, high], got " + std::to_string(out.size()));
  } else {
    out.push_back(read(*node));
  }
  return out;
}

inline std::optional<Value> Section::value(std::string_view key) const {
  const std::vector<Value> all = values(key);
  if (all.empty()) return std::nullopt;
  if (all.size() > 1) throw all[0].refuse("must be one value, got a range");
  return all[0];
}

inline Section Section::section(std::string_view key) const {
  document_->asked_[path_].emplace(key);
  const toml::node* node = table_ != nullptr ? table_->get(key) : nullptr;
  const std::string full = Document::child(path_, key);
  if (node != nullptr && !node->is_table()) {
    const Place place = document_->place(full);
    throw Error(place.failure, "bad_value", place.where, "must be a table of fields");
  }
  return {*document_, node != nullptr ? node->as_table() : nullptr, full};
}

inline std::vector<Section> Section::sections(std::string_view key) const {
  document_->asked_[path_].emplace(key);
  const toml::node* node = table_ != nullptr ? table_->get(key) : nullptr;
  if (node == nullptr) return {};
  const std::string full = Document::child(path_, key);
  const toml::array* array = node->as_array();
  if (array == nullptr || !array->is_homogeneous(toml::node_type::table)) {
    const Place place = document_->place(full);
    throw Error(place.failure, "bad_value", place.where, "must be written as [[" + full + "]] tables");
  }
  std::vector<Section> out;
  for (std::size_t i = 0; i < array->size(); ++i) {
    out.emplace_back(*document_, array->get(i)->as_table(), full + "[" + std::to_string(i + 1) + "]");
  }
  return out;
}

}  // namespace floplan::plan
