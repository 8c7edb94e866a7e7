// SPDX-License-Identifier: BSD-3-Clause
//
// Quantities as text: one parser and one printer for the command line, for files and for tables.
//
//   parse<Parameters>("405B", "--params")   -> Parameters(405e9)
//   print(Parameters(405853388800))         -> "405.8533888B"   the shortest text that parses to the same bits
//   print(Parameters(405853388800), 3)      -> "406B"           rounded, for people (and "400 TFLOP/s", "3.09 h")
//
// Counts take k, M, B (or G), T and Ki, Mi, Gi, Ti; a lower-case m is never million. Bytes, rates, times, powers need
// their unit: 80GB (1e9) and 80GiB (2^30) differ, 400Gb/s is bits, 6h30m and 54d are times. Dollars need their currency,
// $2.10/h or 2.10USD/h: a shell makes .10/h of an unquoted $2.10/h. Digits may be grouped: 1_000_000. Decimal suffixes
// move the decimal point before the text becomes a double, so that 6.738415616B is 6738415616 exactly. Refused, with the
// kind that was expected: another kind's unit, nan, inf, overflow, a negative value, trailing characters.
//
// Pitfall: a plain number is taken only where it has one meaning (counts, FLOP, shares), never for a time, bytes, a rate
// or money.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_units.hpp"

namespace floplan::detail {

struct DecimalText {
  std::string digits;  // mantissa as from_chars takes it: digits and at most one point
  long exponent = 0;
  std::size_t length = 0;  // characters consumed
};

[[nodiscard]] constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads digits with single '_' between digits, at most one point, and an exponent if digits follow its 'e'.
[[nodiscard]] inline std::optional<DecimalText> read_decimal(std::string_view text) {
  DecimalText out;
  std::size_t i = 0;
  bool point = false;
  bool any = false;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (is_digit(c)) {
      out.digits += c;
      any = true;
    } else if (c == '.' && !point) {
      out.digits += c;
      point = true;
    } else if (c == '_' && i > 0 && is_digit(text[i - 1]) && i + 1 < text.size() && is_digit(text[i + 1])) {
      continue;
    } else {
      break;
    }
  }
  if (!any) return std::nullopt;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::size_t j = i + 1;
    if (j < text.size() && (text[j] == '+' || text[j] == '-')) ++j;
    const std::size_t first_digit = j;
    while (j < text.size() && is_digit(text[j])) ++j;
    if (j > first_digit) {
      const std::size_t start = text[i + 1] == '+' ? i + 2 : i + 1;
      // A billion is out of double's range whatever the digits, and leaves room to add a unit's own exponent.
      constexpr long beyond = 1000000000;
      if (std::from_chars(text.data() + start, text.data() + j, out.exponent).ec != std::errc()) {
        out.exponent = text[i + 1] == '-' ? -beyond : beyond;
      }
      out.exponent = std::clamp(out.exponent, -beyond, beyond);
      i = j;
    }
  }
  out.length = i;
  return out;
}

[[nodiscard]] inline Error refused(std::string_view text, const KindText& kind, std::string_view where,
                                   const std::string& why) {
  return Error(Failure::usage, "bad_quantity", std::string(where),
               "expected " + std::string(kind.name) + " such as " + std::string(kind.example) + ", got \"" +
                   std::string(text) + "\": " + why);
}

[[nodiscard]] inline std::string unit_refusal(std::string_view suffix, const KindText& kind) {
  if (suffix.empty()) {
    return "a unit is needed";
  }
  if (suffix == "m" && kind.units.size() > 4 && kind.units[3].suffix == "M") {
    return "a lower-case m is never million, write M";
  }
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::string other_case;
  for (const Unit& u : kind.units) {
    if (std::equal(u.suffix.begin(), u.suffix.end(), suffix.begin(), suffix.end(),
                   [lower](char a, char b) { return lower(a) == lower(b); }))
      other_case += (other_case.empty() ? "" : " or ") + std::string(u.suffix);
  }
  if (!other_case.empty()) return "\"" + std::string(suffix) + "\" is no unit of it, write " + other_case;
  const auto in = [suffix](std::span<const Unit> units) {
    return std::any_of(units.begin(), units.end(),
                       [suffix](const Unit& u) { return !u.suffix.empty() && u.suffix == suffix; });
  };
  std::string why = "\"" + std::string(suffix) + "\" is no unit of it";
  if (in(byte_units)) return why + " but of bytes";
  if (in(byte_rate_units)) return why + " but of bytes a second";
  if (in(flop_per_second_units)) return why + " but of FLOP a second";
  if (in(flop_units)) return why + " but of FLOP";
  if (in(time_units)) return why + " but of time";
  if (in(watt_units)) return why + " but of power";
  if (in(count_units)) return why + " but of counts";
  return why;
}

[[nodiscard]] inline double parse_value(std::string_view text, const KindText& kind, std::string_view where) {
  std::string_view rest = text;
  const auto skip_spaces = [&rest] {
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  };
  skip_spaces();
  while (!rest.empty() && rest.back() == ' ') rest.remove_suffix(1);
  if (rest.empty()) throw refused(text, kind, where, "it is empty");
  if (rest.find("..") != std::string_view::npos)
    throw refused(text, kind, where, "one value is wanted here, not a range");
  // Money is named before the number or after it: $2.10/h, USD 2.10/h, 2.10USD/h.
  constexpr std::string_view currency = "USD";
  const bool money = !kind.prefix.empty();
  bool named = false;
  for (const std::string_view mark : {kind.prefix, currency}) {
    if (!money || named || !rest.starts_with(mark)) continue;
    rest.remove_prefix(mark.size());
    skip_spaces();
    named = true;
  }
  if (rest.empty()) throw refused(text, kind, where, "it is not a number");
  if (rest.front() == '-') throw refused(text, kind, where, "it must not be negative");
  if (rest.front() == '+') rest.remove_prefix(1);

  // A time may have several terms in falling units, 1d6h30m; every other kind has one.
  const bool compound = kind.units.data() == time_units.data();
  double total = 0;
  double previous_factor = 0;
  bool first = true;
  while (!rest.empty()) {
    const auto number = read_decimal(rest);
    if (!number) {
      std::string lower(rest.substr(0, 3));
      std::transform(lower.begin(), lower.end(), lower.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
      throw refused(text, kind, where, lower == "nan" || lower == "inf" ? "it must be finite" : "it is not a number");
    }
    rest.remove_prefix(number->length);
    skip_spaces();
    std::size_t end = 0;
    while (end < rest.size() && !(compound && end > 0 && (is_digit(rest[end]) || rest[end] == ' '))) ++end;
    std::string_view suffix = rest.substr(0, end);
    rest.remove_prefix(end);
    skip_spaces();
    if (suffix.starts_with(',')) throw refused(text, kind, where, "write it without commas");
    if (money && !named) {
      const bool before_unit = suffix.starts_with(currency);
      if (!before_unit && !suffix.ends_with(currency))
        throw refused(text, kind, where,
                      "it names no currency (a shell takes the $2 of an unquoted $2.10 for its own)");
      (before_unit ? suffix.remove_prefix(currency.size()) : suffix.remove_suffix(currency.size()));
      while (suffix.ends_with(' ')) suffix.remove_suffix(1);
      named = true;
    }
    const auto unit =
        std::find_if(kind.units.begin(), kind.units.end(), [suffix](const Unit& u) { return u.suffix == suffix; });
    const std::string decimal =
        number->digits + "e" +
        std::to_string(number->exponent + (unit == kind.units.end() ? 0 : unit->decimal_exponent));
    double value = 0;
    const auto result = std::from_chars(decimal.data(), decimal.data() + decimal.size(), value);
    const bool zero = number->digits.find_first_of("123456789") == std::string::npos;
    // A plain 0 is 0 in every unit.
    if (unit == kind.units.end() && !(zero && suffix.empty() && first))
      throw refused(text, kind, where, unit_refusal(suffix, kind));
    if (zero) {
      value = 0;
    } else if (result.ec != std::errc() || result.ptr != decimal.data() + decimal.size()) {
      throw refused(text, kind, where, "it is outside the range of a double");
    }
    const double factor = unit == kind.units.end() ? 1 : unit->factor * std::pow(10.0, unit->decimal_exponent);
    if (!first && factor >= previous_factor) throw refused(text, kind, where, "units must fall from left to right");
    previous_factor = factor;
    total += value * (unit == kind.units.end() ? 1 : unit->factor);
    first = false;
  }
  if (first) throw refused(text, kind, where, "it is not a number");
  if (!std::isfinite(total)) throw refused(text, kind, where, "it is outside the range of a double");
  return total;
}

// "d.ddd" x 10^exponent as plain decimal text with the point moved.
[[nodiscard]] inline std::string shifted(const std::string& digits, int exponent) {
  const int count = static_cast<int>(digits.size());
  if (exponent < 0) return "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  if (exponent + 1 >= count) return digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0');
  return digits.substr(0, static_cast<std::size_t>(exponent) + 1) + "." +
         digits.substr(static_cast<std::size_t>(exponent) + 1);
}

struct Digits {
  bool negative = false;
  std::string digits;  // no point, no trailing zeros
  int exponent = 0;    // of the first digit
};

[[nodiscard]] inline Digits digits_of(double value, int significant) {
  std::array<char, 64> buffer{};
  const auto end = significant > 0 ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                                   std::chars_format::scientific, std::min(significant, 17) - 1)
                                   : std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                                   std::chars_format::scientific);
  std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  Digits out;
  if (text.front() == '-') {
    out.negative = true;
    text.remove_prefix(1);
  }
  const auto e = text.find('e');
  for (const char c : text.substr(0, e)) {
    if (c != '.') out.digits += c;
  }
  while (out.digits.size() > 1 && out.digits.back() == '0') out.digits.pop_back();
  std::string_view power = text.substr(e + 1);
  if (power.front() == '+') power.remove_prefix(1);
  std::from_chars(power.data(), power.data() + power.size(), out.exponent);
  return out;
}

[[nodiscard]] inline std::string print_seconds(double value, int significant) {
  if (significant > 0) {
    const double size = std::abs(value);
    struct Step {
      double from, unit;
      const char* name;
    };
    for (const Step step : {Step{172800, 86400, " d"}, Step{7200, 3600, " h"}, Step{120, 60, " min"}}) {
      if (size >= step.from) {
        const Digits d = digits_of(value / step.unit, significant);
        return (d.negative ? "-" : "") + shifted(d.digits, d.exponent) + step.name;
      }
    }
    if (value == 0) return "0 s";
    const Digits d = digits_of(value, significant);
    if (d.exponent < -4)
      return (d.negative ? "-" : "") + shifted(d.digits, 0) + "e" + std::to_string(d.exponent) + " s";
    return (d.negative ? "-" : "") + shifted(d.digits, d.exponent) + " s";
  }
  if (value == std::floor(value) && value >= 60 && value < 9e15) {
    std::string out;
    double rest = value;
    for (const auto& [name, size] :
         {std::pair{"d", 86400.0}, std::pair{"h", 3600.0}, std::pair{"m", 60.0}, std::pair{"s", 1.0}}) {
      const double whole = std::floor(rest / size);
      rest -= whole * size;
      if (whole > 0) out += std::to_string(static_cast<long long>(whole)) + name;
    }
    return out;
  }
  return "";
}

[[nodiscard]] inline std::string print_value(double value, const KindText& kind, int significant) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : (value < 0 ? "-inf" : "inf");
  if (kind.units.data() == time_units.data()) {
    if (std::string text = print_seconds(value, significant); !text.empty()) return text;
  }
  const std::string prefix(kind.prefix);
  const Digits d = digits_of(value, significant);
  // Each kind has a unit that is printed; of several, the largest that leaves a digit before the point.
  const Unit* chosen = &*std::find_if(kind.units.begin(), kind.units.end(), [](const Unit& u) { return u.printed; });
  for (const Unit& unit : kind.units) {
    if (unit.printed && value != 0 && unit.decimal_exponent <= d.exponent) chosen = &unit;
  }
  const std::string sign = d.negative ? "-" : "";
  // People read "400 TFLOP/s" but "405B" and "$2.1/h"; the exact text has no spaces, so that it is one word in a shell.
  const bool spaced = significant > 0 && !kind.units.front().suffix.empty() && kind.prefix.empty();
  const std::string space = spaced ? " " : "";
  const int exponent = value == 0 ? 0 : d.exponent - chosen->decimal_exponent;
  if (exponent >= 6 || exponent < -5) {
    const std::string mantissa = shifted(d.digits, 0);
    const int power = exponent >= 6 && kind.units.front().suffix.empty() ? d.exponent : exponent;
    const std::string_view suffix = exponent >= 6 && kind.units.front().suffix.empty() ? "" : chosen->suffix;
    return sign + prefix + mantissa + "e" + std::to_string(power) + space + std::string(suffix);
  }
  return sign + prefix + shifted(d.digits, exponent) + space + std::string(chosen->suffix);
}

}  // namespace floplan::detail

namespace floplan {

// Throws Error(usage) whose text begins with `where` (an option, or file:line:column) and names the expected kind.
template <class Kind>
[[nodiscard]] Quantity<Kind> parse_as(std::string_view text, std::string_view where) {
  return Quantity<Kind>(detail::parse_value(text, detail::TextOf<Kind>::text, where));
}
template <class Q>
[[nodiscard]] Q parse(std::string_view text, std::string_view where = "parse") {
  return [&]<class Kind>(Quantity<Kind>) { return parse_as<Kind>(text, where); }(Q());
}

// The shortest text that parses to the same bits.
template <class Kind>
[[nodiscard]] std::string print(Quantity<Kind> q) {
  return detail::print_value(q.value, detail::TextOf<Kind>::text, 0);
}
// Rounded to `digits` significant digits (1 to 17), in the unit that reads best.
template <class Kind>
[[nodiscard]] std::string print(Quantity<Kind> q, int digits) {
  return detail::print_value(q.value, detail::TextOf<Kind>::text, digits);
}
// For people: exact where that is short, as what a user typed is; else rounded.
template <class Kind>
[[nodiscard]] std::string print_short(Quantity<Kind> q, int digits = 4) {
  const bool is_short = !std::isfinite(q.value) || detail::digits_of(q.value, 0).digits.size() <= 6;
  return is_short ? print(q) : print(q, digits);
}
// A plain number that is no quantity (events a day, a power usage effectiveness), under the same rules.
[[nodiscard]] inline double parse_number(std::string_view text, std::string_view where = "parse") {
  return detail::parse_value(text, detail::plain_number, where);
}
[[nodiscard]] inline std::string print_number(double value, int digits = 0) {
  return detail::print_value(value, detail::plain_number, digits);
}

}  // namespace floplan
