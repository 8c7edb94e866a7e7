// SPDX-License-Identifier: BSD-3-Clause
//
// When did a line of a log happen?
//
//   read_timestamp("2024-05-01T12:00:00+02:00", clock)   seconds since 1970 UTC
//   read_timestamp("2024-05-01 12:00:00", clock)         the same by clock.zone, or a refusal where none is given
//   read_timestamp("1714557600", clock)                  epoch seconds; also in ms, us and ns, told by their size
//   read_timestamp("12.75", clock)                       a time since the log's own beginning, in the log's unit
//
// Taken: ISO 8601 dates and times with T, t or a space between, / for - in dates, seconds with a fraction after . or , ,
// Z, UTC, GMT, +hh, +hhmm or +hh:mm. A date alone is its midnight. Numbers below 1e8 are relative. Instants lie in 1973 to
// 2100, so that 20240501120000 is refused and not taken for milliseconds.
//
// A local time that daylight saving leaves out does not exist and is refused; one that it repeats is refused, or read as
// clock.repeated says. Day-first and month-first dates (5/1/2024) are refused: nobody can tell which is meant.
// Pitfall: a log without zones is nearly always in the zone of the machine, not in UTC.
#pragma once

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "floplan/core/error.hpp"
#include "floplan/reliability/time_zone.hpp"

namespace floplan::reliability {

// What to do with a local time that the end of daylight saving repeats.
enum class RepeatedHour { refuse, earlier, later, in_order };

struct Clock {
  std::optional<TimeZone> zone;  // of times that name none
  RepeatedHour repeated = RepeatedHour::refuse;
};

struct Timestamp {
  double seconds = 0;           // since 1970 UTC; of a relative time the number as it is written
  bool relative = false;        // since the log's own beginning
  std::optional<double> later;  // the second reading of a repeated local time
};

namespace detail {

[[nodiscard]] inline Error bad_time(std::string_view where, std::string_view text, const std::string& rule,
                                    const char* code = "bad_time") {
  return {Failure::data, code, std::string(where), "a time " + rule + ", got \"" + shown(text) + "\""};
}

// Digits, exactly `width` of them.
[[nodiscard]] inline bool take_digits(std::string_view& text, std::size_t width, int& out) {
  if (text.size() < width) return false;
  out = 0;
  for (std::size_t i = 0; i < width; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    out = 10 * out + (text[i] - '0');
  }
  text.remove_prefix(width);
  return true;
}
[[nodiscard]] inline bool take_one(std::string_view& text, std::string_view of) {
  if (text.empty() || of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

// "+02:00", "-0530", "+08", "Z", "UTC", "GMT": seconds east of Greenwich.
[[nodiscard]] inline std::optional<std::int64_t> read_offset(std::string_view text) {
  if (text == "Z" || text == "z" || text == "UTC" || text == "GMT") return 0;
  const bool minus = !text.empty() && text.front() == '-';
  int hours = 0;
  int minutes = 0;
  if (!take_one(text, "+-") || !take_digits(text, 2, hours)) return std::nullopt;
  if (!text.empty()) {
    (void)take_one(text, ":");
    if (!take_digits(text, 2, minutes) || !text.empty()) return std::nullopt;
  }
  if (hours > 18 || minutes > 59) return std::nullopt;
  const std::int64_t out = std::int64_t{hours} * 3600 + std::int64_t{minutes} * 60;
  return minus ? -out : out;
}

[[nodiscard]] inline Timestamp numeric_time(double value, std::string_view text, std::string_view where) {
  constexpr double least_epoch = 1e8;
  constexpr double year_2100 = 4102444800.0;
  if (!std::isfinite(value) || value < 0) throw bad_time(where, text, "must be finite and not negative");
  if (value < least_epoch) return {value, true, std::nullopt};
  double seconds = value;
  for (int thousand = 0; thousand < 3 && seconds > 1e11; ++thousand) seconds /= 1000;
  if (seconds > year_2100)
    throw bad_time(where, text, "as a number must be seconds, ms, us or ns since 1970 and before 2100");
  return {seconds, false, std::nullopt};
}

}  // namespace detail

// Throws Error(data) that begins with `where`.
[[nodiscard]] inline Timestamp read_timestamp(std::string_view text, const Clock& clock, std::string_view where) {
  using detail::bad_time, detail::take_digits, detail::take_one;
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  const std::string_view whole = text;
  {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (!text.empty() && error == std::errc() && end == text.data() + text.size())
      return detail::numeric_time(value, whole, where);
  }
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  constexpr const char* form = "must be ISO 8601 (2024-05-01T12:00:00Z) or seconds since 1970";
  if (!take_digits(text, 4, year) || !take_one(text, "-/") || !take_digits(text, 2, month) || !take_one(text, "-/") ||
      !take_digits(text, 2, day))
    throw bad_time(where, whole, form);
  double fraction = 0;
  if (!text.empty() && (text.front() == 'T' || text.front() == 't' || text.front() == ' ')) {
    text.remove_prefix(1);
    if (!take_digits(text, 2, hour) || !take_one(text, ":") || !take_digits(text, 2, minute))
      throw bad_time(where, whole, form);
    if (take_one(text, ":") && !take_digits(text, 2, second)) throw bad_time(where, whole, form);
    if (take_one(text, ".,")) {
      double unit = 0.1;
      std::size_t digits = 0;
      for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; ++digits, unit /= 10) {
        fraction += unit * (text.front() - '0');
        text.remove_prefix(1);
      }
      if (digits == 0) throw bad_time(where, whole, form);
    }
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  // A leap second, 23:59:60, is the second after it.
  if (!date.ok() || year < 1973 || year > 2099 || hour > 23 || minute > 59 || second > 60)
    throw bad_time(where, whole, "must exist, between 1973 and 2100");
  const std::int64_t local =
      detail::days_since_1970(year, static_cast<unsigned>(month), static_cast<unsigned>(day)) * 86400 +
      std::int64_t{hour} * 3600 + std::int64_t{minute} * 60 + second;
  if (!text.empty()) {
    const auto offset = detail::read_offset(text);
    if (!offset) throw bad_time(where, whole, form);
    return {static_cast<double>(local - *offset) + fraction, false, std::nullopt};
  }
  if (!clock.zone) {
    throw bad_time(where, whole, "must name its zone (Z, +02:00), or --timezone must (Europe/Berlin, UTC)",
                   "no_time_zone");
  }
  const auto found = clock.zone->instants(local);
  if (found.empty()) {
    throw bad_time(where, whole, "must exist, and daylight saving leaves this one out in " + clock.zone->name(),
                   "no_such_local_time");
  }
  const double first = static_cast<double>(found.front()) + fraction;
  if (found.size() == 1) return {first, false, std::nullopt};
  const double last = static_cast<double>(found.back()) + fraction;
  switch (clock.repeated) {
    case RepeatedHour::earlier: return {first, false, std::nullopt};
    case RepeatedHour::later: return {last, false, std::nullopt};
    case RepeatedHour::in_order: return {first, false, last};
    case RepeatedHour::refuse: break;
  }
  throw bad_time(where, whole,
                 "must be one instant, and the end of daylight saving repeats this one in " + clock.zone->name() +
                     ": give offsets, or --repeated-hour earlier or later",
                 "repeated_local_time");
}

}  // namespace floplan::reliability
