// SPDX-License-Identifier: BSD-3-Clause
//
// What a shell's $((...)) computes of whole numbers: + - * / % and parentheses.
//
//   shell_arithmetic("LAYERS + 2 * (3 + $X)", look_up)       none when a part is no number or the result is beyond 2^53
//
// look_up(name) gives a variable's text, for NAME, $NAME and ${NAME} alike; a name that it does not know spoils the result.
// Division truncates, as in the shell. Everything else that shells take (shifts, comparisons, assignments) is none too.
//
// Limits: nesting 32 deep. Pitfall: a shell takes an unset name for 0; here it is unknown.
#pragma once

#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace floplan::architecture {

namespace detail {

template <class LookUp>
class ShellArithmetic {
 public:
  ShellArithmetic(std::string_view text, const LookUp& look_up) : text_(text), look_up_(look_up) {}

  [[nodiscard]] std::optional<std::int64_t> value() {
    const std::int64_t out = sum(0);
    skip_blanks();
    return failed_ || at_ != text_.size() ? std::nullopt : std::optional(out);
  }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 53;

  void skip_blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  [[nodiscard]] bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::int64_t fail() {
    failed_ = true;
    return 0;
  }
  [[nodiscard]] std::int64_t within(std::int64_t v) { return v > most || v < -most ? fail() : v; }

  std::int64_t sum(int depth) {
    std::int64_t out = product(depth);
    while (!failed_) {
      if (take('+')) {
        out = within(out + product(depth));
      } else if (take('-')) {
        out = within(out - product(depth));
      } else {
        break;
      }
    }
    return out;
  }
  std::int64_t product(int depth) {
    std::int64_t out = term(depth);
    while (!failed_) {
      if (take('*')) {
        const std::int64_t by = term(depth);
        const std::int64_t size = out < 0 ? -out : out;
        out = by != 0 && size > most / (by < 0 ? -by : by) ? fail() : out * by;
      } else if (take('/')) {
        const std::int64_t by = term(depth);
        out = by == 0 ? fail() : out / by;
      } else if (take('%')) {
        const std::int64_t by = term(depth);
        out = by == 0 ? fail() : out % by;
      } else {
        break;
      }
    }
    return out;
  }
  std::int64_t term(int depth) {
    if (depth > 32) return fail();
    if (take('(')) {
      const std::int64_t out = sum(depth + 1);
      return take(')') ? out : fail();
    }
    if (take('-')) return -term(depth + 1);
    const bool braced = take('$') && take('{');
    skip_blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    const std::string word(text_.substr(begin, at_ - begin));
    if (word.empty() || (braced && !take('}'))) return fail();
    return number(std::isdigit(static_cast<unsigned char>(word[0])) ? word : look_up_(word));
  }
  std::int64_t number(const std::string& text) {
    std::int64_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error != std::errc() || end != text.data() + text.size() ? fail() : within(out);
  }

  std::string_view text_;
  const LookUp& look_up_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

}  // namespace detail

template <class LookUp>
[[nodiscard]] std::optional<std::int64_t> shell_arithmetic(std::string_view text, const LookUp& look_up) {
  return detail::ShellArithmetic<LookUp>(text, look_up).value();
}

}  // namespace floplan::architecture
