// SPDX-License-Identifier: BSD-3-Clause
//
// What number does a cell of somebody's file hold?
//
//   read_number("12.0M").value == 12e6   read_number("40.3%").value == .403   read_number("NaN").kind == CellKind::blank
//
// Taken: plain decimals of any size (18446744073709551616 becomes the nearest double), a leading +, digits grouped by _
// or, in threes, by commas ("1,234,567"), the count suffixes k K M B G T and Ki Mi Gi Ti, %, and FLOP units (GFLOP ...
// YFLOP, PF-days). A suffix moves the decimal point before the text becomes a double, so 6.738415616B is 6738415616
// exactly. In files separated by semicolons a single comma is the decimal point, as spreadsheets write it where commas
// are decimal.
//
// Blank are "", nan, none, null, n/a, na, nil, - and --, in any case: no number was recorded. Blank is never 0. Refused
// as text: inf, hexadecimal, a lower-case m (never million), anything else. Out of a double's range is its own kind.
// Cost: a plain number is one std::from_chars.
//
// Pitfall: "2,791" in quotes is 2791, because commas group thousands; the reader notes where that happened.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

#include "floplan/core/names.hpp"

namespace floplan::runs {

enum class CellKind { number, blank, text, out_of_range };

struct CellNumber {
  double value = 0;  // meaningless unless kind is number
  CellKind kind = CellKind::blank;
  bool grouped = false;  // commas were read as separators of thousands
};

namespace detail {

[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(spaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(spaces) - first + 1);
}

struct CellSuffix {
  std::string_view text;
  int decimal_exponent;
  double factor;
};
inline constexpr auto cell_suffixes = std::to_array<CellSuffix>({{"", 0, 1},
                                                                 {"%", -2, 1},
                                                                 {"k", 3, 1},
                                                                 {"K", 3, 1},
                                                                 {"M", 6, 1},
                                                                 {"B", 9, 1},
                                                                 {"G", 9, 1},
                                                                 {"T", 12, 1},
                                                                 {"Ki", 0, 1024.0},
                                                                 {"Mi", 0, 1048576.0},
                                                                 {"Gi", 0, 1073741824.0},
                                                                 {"Ti", 0, 1099511627776.0},
                                                                 {"FLOP", 0, 1},
                                                                 {"MFLOP", 6, 1},
                                                                 {"GFLOP", 9, 1},
                                                                 {"TFLOP", 12, 1},
                                                                 {"PFLOP", 15, 1},
                                                                 {"EFLOP", 18, 1},
                                                                 {"ZFLOP", 21, 1},
                                                                 {"YFLOP", 24, 1},
                                                                 {"PF-days", 0, 8.64e19}});

[[nodiscard]] inline bool is_blank_word(std::string_view cell) {
  if (cell.empty()) return true;
  if (cell.size() > 4) return false;
  const std::string word = lower_case(cell);
  for (const std::string_view blank : {"nan", "none", "null", "n/a", "na", "nil", "-", "--", "#n/a"}) {
    if (word == blank) return true;
  }
  return false;
}

[[nodiscard]] inline bool is_digit_character(char c) { return c >= '0' && c <= '9'; }

// Digits with their separators, from text[i] on, as from_chars takes them; false when the separators are misplaced.
[[nodiscard]] inline bool take_mantissa(std::string_view text, std::size_t& i, bool decimal_comma, std::string& out,
                                        bool& grouped) {
  std::size_t digits = 0;
  std::size_t group = 0;  // digits since the last comma
  bool point = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (is_digit_character(c)) {
      out += c;
      ++digits;
      ++group;
    } else if ((c == '.' && !point && !(decimal_comma && grouped)) || (c == ',' && decimal_comma && !point)) {
      if (grouped && group != 3) return false;
      out += '.';
      point = true;
    } else if (c == ',' && !decimal_comma && !point) {
      if (digits == 0 || group == 0 || group > 3 || (grouped && group != 3)) return false;
      grouped = true;
      group = 0;
    } else if (c == '_' && i > 0 && is_digit_character(text[i - 1]) && i + 1 < text.size() &&
               is_digit_character(text[i + 1])) {
      continue;
    } else {
      break;
    }
  }
  return digits > 0 && (!grouped || point || group == 3);
}

[[nodiscard]] inline CellNumber read_decorated_number(std::string_view cell, bool decimal_comma) {
  constexpr std::size_t longest = 128;
  if (is_blank_word(cell)) return {0, CellKind::blank, false};
  CellNumber out;
  out.kind = CellKind::text;
  if (cell.size() > longest) return out;
  std::string decimal;
  std::size_t i = 0;
  if (cell[0] == '+' || cell[0] == '-') {
    if (cell[0] == '-') decimal += '-';
    i = 1;
  }
  if (!take_mantissa(cell, i, decimal_comma, decimal, out.grouped)) return out;
  int exponent = 0;
  bool has_exponent = false;
  if (i + 1 < cell.size() && (cell[i] == 'e' || cell[i] == 'E')) {
    std::size_t j = i + 1;
    if (cell[j] == '+') ++j;
    const auto [end, error] = std::from_chars(cell.data() + j, cell.data() + cell.size(), exponent);
    if (end != cell.data() + j) {
      has_exponent = true;
      // Too long for an int is out of a double's range whatever the digits are.
      if (error != std::errc()) exponent = cell[j] == '-' ? -100000 : 100000;
      i = static_cast<std::size_t>(end - cell.data());
    }
  }
  std::string_view suffix = trimmed(cell.substr(i));
  if (suffix.ends_with("FLOPs") || suffix.ends_with("FLOPS")) suffix.remove_suffix(1);
  for (const CellSuffix& known : cell_suffixes) {
    if (known.text != suffix || (has_exponent && suffix.size() == 1)) continue;
    decimal += 'e';
    decimal += std::to_string(exponent + known.decimal_exponent);
    const auto [end, error] = std::from_chars(decimal.data(), decimal.data() + decimal.size(), out.value);
    if (error == std::errc::result_out_of_range) {
      out.kind = CellKind::out_of_range;
    } else if (error == std::errc() && end == decimal.data() + decimal.size()) {
      out.value *= known.factor;
      out.kind = std::isfinite(out.value) ? CellKind::number : CellKind::out_of_range;
    }
    return out;
  }
  return out;
}

}  // namespace detail

[[nodiscard]] inline CellNumber read_number(std::string_view cell, bool decimal_comma = false) {
  cell = detail::trimmed(cell);
  CellNumber out;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), out.value);
  if (error == std::errc() && end == cell.data() + cell.size() && std::isfinite(out.value)) {
    out.kind = CellKind::number;
    return out;
  }
  return detail::read_decorated_number(cell, decimal_comma);
}

}  // namespace floplan::runs
