// SPDX-License-Identifier: BSD-3-Clause
//
// A table of a plan's document, asked for its values by key.
//
//   const Section reliability = document.root().section("reliability");
//   reliability.range<Seconds>("restart")        one value, or [low, high], or "low..high"
//   reliability.number("manual_per_day")
//
// Whatever is asked for is known to the document from then on; a key that nobody asked for is refused in the end. An absent
// table reads as empty. Errors name the value's place (field_value.hpp).
//
// Source: TOML 1.0, by toml++. Its members are defined beside Document, in request_document.hpp: include that.
// Pitfall: asking for a key that is a table as a value is an error; holds_table() says which it is.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <toml++/toml.h>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/field_value.hpp"
#include "floplan/plan/request.hpp"

namespace floplan::plan {

class Document;

// A table of the document. Absent tables read as empty.
class Section {
 public:
  Section(Document& document, const toml::table* table, std::string path)
      : document_(&document), table_(table), path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool present() const { return table_ != nullptr; }
  [[nodiscard]] bool holds_table(std::string_view key) const;
  // The text that an option's value replaced, where the document had one.
  [[nodiscard]] std::optional<std::string> replaced(std::string_view key) const;
  // That a field is missing, at this table's place; or that another one is its name mistyped, at that one's.
  [[nodiscard]] Error missing(std::string_view key, const std::string& what) const;
  // Where a key stands, without asking for it: what nobody asks for is refused in the end.
  [[nodiscard]] std::optional<Place> place_of(std::string_view key) const;

  [[nodiscard]] std::optional<Value> value(std::string_view key) const;
  [[nodiscard]] std::vector<Value> values(std::string_view key) const;  // of an array, or the one value
  [[nodiscard]] Section section(std::string_view key) const;
  [[nodiscard]] std::vector<Section> sections(std::string_view key) const;

  [[nodiscard]] std::optional<std::string> text(std::string_view key) const {
    const auto v = value(key);
    return v ? std::optional(v->text) : std::nullopt;
  }
  template <class Q>
  [[nodiscard]] std::optional<Q> quantity(std::string_view key) const {
    const auto v = value(key);
    if (!v) return std::nullopt;
    return v->as([](std::string_view text, std::string_view where) { return parse<Q>(text, where); });
  }
  [[nodiscard]] std::optional<double> number(std::string_view key) const {
    const auto v = value(key);
    if (!v) return std::nullopt;
    return v->as([](std::string_view text, std::string_view where) { return parse_number(text, where); });
  }
  // One value, or [low, high] (in a file an array, on the command line "low..high"): the 10th and 90th percentiles.
  template <class Q>
  [[nodiscard]] std::optional<Uncertain<Q>> range(std::string_view key) const {
    std::vector<Value> ends = values(key);
    if (ends.empty()) return std::nullopt;
    if (ends.size() == 1) {
      if (const auto dots = ends[0].text.find(".."); dots != std::string::npos) {
        Value high = ends[0];
        if (high.text.find("..", dots + 2) != std::string::npos)
          throw high.refuse("a range has two ends, low..high, got \"" + high.text + "\"");
        high.text = high.text.substr(dots + 2);
        ends[0].text = ends[0].text.substr(0, dots);
        ends.push_back(std::move(high));
      }
    }
    const auto read = [](std::string_view text, std::string_view where) { return parse<Q>(text, where); };
    if (ends.size() == 1) return Uncertain<Q>(ends[0].as(read));
    const Q low = ends[0].as(read);
    const Q high = ends[1].as(read);
    if (ends.size() != 2 || !(low.value > 0) || high < low) {
      throw ends[0].refuse("a range needs two values with 0 < low <= high, got " + print(low) + " and " + print(high));
    }
    return Uncertain<Q>::range(low, high);
  }

 private:
  Document* document_;
  const toml::table* table_;
  std::string path_;
};

}  // namespace floplan::plan
