// SPDX-License-Identifier: BSD-3-Clause
//
// Which layers of a model are of a kind (hold experts, attend within a window), one flag a layer from the first.
//
//   LayerPattern::parse("[0]*3+[1]*58", where)     DeepSeek V3: three dense layers, then 58 of experts
//   LayerPattern::parse("([1]*5+[0]*1)*8", where)  five local layers to one global, eight times
//   LayerPattern::from(3, 61), LayerPattern::every(2, 48)
//
// The notation is that of Megatron-LM's --moe-layer-freq: lists of 0 and 1, joined by +, repeated by * and a number, with
// parentheses. text() writes it back as runs, or as a repeated block of runs where that is shorter.
//
// Limits: 100,000 layers, nesting 16 deep. Errors: Error(usage) at `where`, with the column in the text.
// Pitfall: flags count from 0, and "every 2" holds the second, the fourth, ... (Hugging Face's (i + 1) % 2 == 0).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"

namespace floplan::architecture {

class LayerPattern {
 public:
  LayerPattern() = default;
  explicit LayerPattern(std::vector<bool> flags) : flags_(std::move(flags)) {}

  // All of `layers` from number `first` on, counted from 0.
  [[nodiscard]] static LayerPattern from(std::int64_t first, std::int64_t layers) {
    std::vector<bool> flags(static_cast<std::size_t>(std::max<std::int64_t>(layers, 0)));
    for (std::size_t i = static_cast<std::size_t>(std::max<std::int64_t>(first, 0)); i < flags.size(); ++i)
      flags[i] = true;
    return LayerPattern(std::move(flags));
  }
  [[nodiscard]] static LayerPattern all(std::int64_t layers) { return from(0, layers); }
  // The last of each `period` layers; period at least 1.
  [[nodiscard]] static LayerPattern every(std::int64_t period, std::int64_t layers) {
    std::vector<bool> flags(static_cast<std::size_t>(std::max<std::int64_t>(layers, 0)));
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = (static_cast<std::int64_t>(i) + 1) % period == 0;
    return LayerPattern(std::move(flags));
  }
  [[nodiscard]] static LayerPattern parse(std::string_view text, std::string_view where);

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(flags_.size()); }
  [[nodiscard]] std::int64_t count() const { return std::count(flags_.begin(), flags_.end(), true); }
  // Whether layer i, from 0, is of the kind; a layer beyond the flags is not.
  [[nodiscard]] bool operator[](std::int64_t i) const {
    return i >= 0 && i < size() && flags_[static_cast<std::size_t>(i)];
  }
  // The other layers.
  [[nodiscard]] LayerPattern inverted() const {
    std::vector<bool> flags = flags_;
    flags.flip();
    return LayerPattern(std::move(flags));
  }
  [[nodiscard]] std::string text() const;
  friend bool operator==(const LayerPattern&, const LayerPattern&) = default;

 private:
  std::vector<bool> flags_;
};

namespace detail {

class LayerPatternReader {
 public:
  LayerPatternReader(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  [[nodiscard]] std::vector<bool> read() {
    std::vector<bool> out = sum(0);
    if (at_ != text_.size()) throw fail("must end here, or go on with + or *");
    if (out.empty()) throw fail("must have at least one layer");
    return out;
  }

 private:
  static constexpr std::size_t most_layers = 100'000;
  static constexpr int deepest = 16;

  [[nodiscard]] Error fail(const std::string& rule) const {
    const std::string shown(text_.substr(0, 60));
    return Error(Failure::usage, "bad_pattern", std::string(where_),
                 "a pattern of layers, as ([0]*3+[1]*58), " + rule + ", at its character " + std::to_string(at_ + 1) +
                     ", got \"" + shown + (text_.size() > 60 ? "..." : "") + "\"");
  }
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  [[nodiscard]] bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_blanks();
    return true;
  }
  [[nodiscard]] std::size_t number() {
    const std::size_t begin = at_;
    std::size_t out = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && out <= most_layers)
      out = 10 * out + static_cast<std::size_t>(text_[at_++] - '0');
    if (at_ == begin) throw fail("must have a whole number here");
    if (out > most_layers) throw fail("must not repeat more than 100000 times");
    skip_blanks();
    return out;
  }

  [[nodiscard]] std::vector<bool> sum(int depth) {
    std::vector<bool> out = product(depth);
    while (take('+')) {
      const std::vector<bool> more = product(depth);
      if (out.size() + more.size() > most_layers) throw fail("must not have more than 100000 layers");
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }
  [[nodiscard]] std::vector<bool> product(int depth) {
    std::vector<bool> block = term(depth);
    while (take('*')) {
      const std::size_t times = number();
      if (block.size() * times > most_layers) throw fail("must not have more than 100000 layers");
      std::vector<bool> out;
      for (std::size_t i = 0; i < times; ++i) out.insert(out.end(), block.begin(), block.end());
      block = std::move(out);
    }
    return block;
  }
  [[nodiscard]] std::vector<bool> term(int depth) {
    if (depth > deepest) throw fail("must not nest deeper than 16");
    if (take('(')) {
      std::vector<bool> out = sum(depth + 1);
      if (!take(')')) throw fail("must close a parenthesis");
      return out;
    }
    if (!take('[')) throw fail("must have [ or ( here");
    std::vector<bool> out;
    if (take(']')) return out;
    do {
      const std::size_t flag = number();
      if (flag > 1) throw fail("must have 0 or 1 in its lists");
      if (out.size() == most_layers) throw fail("must not have more than 100000 layers");
      out.push_back(flag == 1);
    } while (take(','));
    if (!take(']')) throw fail("must close a list");
    return out;
  }

  std::string_view text_, where_;
  std::size_t at_ = 0;
};

// "[0]*3+[1]*58" of the first `size` flags.
[[nodiscard]] inline std::string layer_runs(const std::vector<bool>& flags, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size;) {
    std::size_t end = i;
    while (end < size && flags[end] == flags[i]) ++end;
    out += std::string(out.empty() ? "" : "+") + (flags[i] ? "[1]*" : "[0]*") + std::to_string(end - i);
    i = end;
  }
  return out;
}

}  // namespace detail

inline LayerPattern LayerPattern::parse(std::string_view text, std::string_view where) {
  return LayerPattern(detail::LayerPatternReader(text, where).read());
}

inline std::string LayerPattern::text() const {
  std::string best = detail::layer_runs(flags_, flags_.size());
  for (std::size_t block = 1; 2 * block <= flags_.size() && block <= 64; ++block) {
    const std::size_t whole = flags_.size() / block;
    bool repeats = true;
    for (std::size_t i = block; repeats && i < whole * block; ++i) repeats = flags_[i] == flags_[i % block];
    if (!repeats) continue;
    std::string shorter = "(" + detail::layer_runs(flags_, block) + ")*" + std::to_string(whole);
    const std::vector<bool> rest(flags_.begin() + static_cast<std::ptrdiff_t>(whole * block), flags_.end());
    if (!rest.empty()) shorter += "+" + detail::layer_runs(rest, rest.size());
    if (shorter.size() < best.size()) best = shorter;
  }
  return best;
}

}  // namespace floplan::architecture
