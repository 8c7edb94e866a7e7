// SPDX-License-Identifier: BSD-3-Clause
//
// Which instant does a clock on the wall mean?
//
//   const TimeZone zone = TimeZone::from_tzif(bytes_of_the_zone_file, "Europe/Berlin");
//   zone.instants(local)      0, 1 or 2 instants (seconds since 1970 UTC) at which the clocks there show `local`
//
// local is seconds since 1970 as if the clock were UTC's. An instant u is shown as u + offset(u). A time that a change of
// daylight saving leaves out has no instant, one that it repeats has two: the caller decides, nothing is guessed here.
//
// Source: RFC 8536 (TZif, versions 1 to 4: the 64-bit block where there is one) and the POSIX TZ rule in its footer, which
// holds after the last listed change; times of a rule may be from -167 to 167 hours. Leap seconds are not counted.
// Holds: whatever the zone's file says; years 1900 to 2400.
// Pitfall: names of three letters (CST) mean several zones; give the IANA name of a place.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"

namespace floplan::reliability {

namespace detail {

[[nodiscard]] inline std::int64_t days_since_1970(int year, unsigned month, unsigned day) {
  using namespace std::chrono;
  return sys_days(std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day))
      .time_since_epoch()
      .count();
}

// The rule of a POSIX TZ text: standard and daylight offsets (east of Greenwich, s) and when each begins.
struct PosixRule {
  struct Change {
    char kind = 'M';  // M month.week.weekday, J day of the year from 1 without 29 February, 0 day of the year from 0
    int month = 1, week = 1, day = 0;
    std::int64_t seconds = 7200;  // after local midnight

    [[nodiscard]] std::int64_t local(int year) const {
      const bool leap = std::chrono::year(year).is_leap();
      if (kind == '0') return (days_since_1970(year, 1, 1) + day) * 86400 + seconds;
      if (kind == 'J') {
        const int after_february = leap && day >= 60 ? 1 : 0;
        return (days_since_1970(year, 1, 1) + day - 1 + after_february) * 86400 + seconds;
      }
      const std::int64_t first = days_since_1970(year, static_cast<unsigned>(month), 1);
      const std::int64_t weekday = ((first + 4) % 7 + 7) % 7;  // 1 January 1970 was a Thursday, 4
      std::int64_t on = first + (day - weekday + 7) % 7 + std::int64_t{7} * (week - 1);
      const std::int64_t next =
          month == 12 ? days_since_1970(year + 1, 1, 1) : days_since_1970(year, static_cast<unsigned>(month) + 1, 1);
      while (on >= next) on -= 7;  // week 5 is the last one
      return on * 86400 + seconds;
    }
  };

  std::int64_t standard = 0;
  std::optional<std::int64_t> daylight;
  Change begins, ends;

  [[nodiscard]] std::int64_t offset(std::int64_t utc) const {
    if (!daylight) return standard;
    const auto day =
        std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(utc + standard)));
    const int year = static_cast<int>(std::chrono::year_month_day(day).year());
    const std::int64_t from = begins.local(year) - standard;
    const std::int64_t to = ends.local(year) - *daylight;
    const bool summer = from < to ? utc >= from && utc < to : utc >= from || utc < to;
    return summer ? *daylight : standard;
  }
};

// Takes one piece of a POSIX TZ text after the other; false where it is malformed.
class PosixText {
 public:
  explicit PosixText(std::string_view text) : text_(text) {}

  [[nodiscard]] std::optional<PosixRule> read() {
    PosixRule out;
    if (!name() || !time(out.standard)) return std::nullopt;
    out.standard = -out.standard;
    if (text_.empty()) return out;
    if (!name()) return std::nullopt;
    std::int64_t daylight = -(out.standard + 3600);
    if (!text_.empty() && text_.front() != ',' && !time(daylight)) return std::nullopt;
    out.daylight = -daylight;
    if (!change(out.begins) || !change(out.ends) || !text_.empty()) return std::nullopt;
    return out;
  }

 private:
  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool name() {
    std::size_t length = 0;
    if (take('<')) {
      length = text_.find('>');
      if (length == std::string_view::npos) return false;
      text_.remove_prefix(length + 1);
      return length > 0;
    }
    while (length < text_.size() && ((text_[length] | 32) >= 'a' && (text_[length] | 32) <= 'z')) ++length;
    text_.remove_prefix(length);
    return length >= 3;
  }
  bool number(int& out, int most) {
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), out);
    if (error != std::errc() || out < 0 || out > most || text_.front() == '-') return false;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return true;
  }
  bool time(std::int64_t& out) {
    const bool minus = take('-');
    if (!minus) (void)take('+');
    int part = 0;
    if (!number(part, 167)) return false;
    out = std::int64_t{part} * 3600;
    for (const int unit : {60, 1}) {
      if (!take(':')) break;
      if (!number(part, 59)) return false;
      out += std::int64_t{part} * unit;
    }
    if (minus) out = -out;
    return true;
  }
  bool change(PosixRule::Change& out) {
    if (!take(',')) return false;
    if (take('M')) {
      if (!number(out.month, 12) || out.month < 1 || !take('.') || !number(out.week, 5) || out.week < 1 || !take('.') ||
          !number(out.day, 6))
        return false;
    } else {
      out.kind = take('J') ? 'J' : '0';
      if (!number(out.day, 365) || (out.kind == 'J' && out.day < 1)) return false;
    }
    return !take('/') || time(out.seconds);
  }

  std::string_view text_;
};

}  // namespace detail

class TimeZone {
 public:
  TimeZone() = default;  // UTC
  [[nodiscard]] static TimeZone fixed(std::int64_t offset_seconds, std::string name) {
    TimeZone out;
    out.name_ = std::move(name);
    out.rule_ = detail::PosixRule{};
    out.rule_->standard = offset_seconds;
    return out;
  }
  // bytes: a zone file as /usr/share/zoneinfo has them. Throws Error(data) where they are none.
  [[nodiscard]] static TimeZone from_tzif(std::string_view bytes, std::string name);

  [[nodiscard]] const std::string& name() const { return name_; }

  // Seconds that the clocks are ahead of UTC at this instant.
  [[nodiscard]] std::int64_t offset(std::int64_t utc) const {
    if (changes_.empty() || (utc >= changes_.back().first && rule_)) return rule_ ? rule_->offset(utc) : before_;
    const auto after = std::upper_bound(changes_.begin(), changes_.end(), utc,
                                        [](std::int64_t u, const auto& change) { return u < change.first; });
    return after == changes_.begin() ? before_ : std::prev(after)->second;
  }
  // Ascending.
  [[nodiscard]] std::vector<std::int64_t> instants(std::int64_t local) const {
    std::vector<std::int64_t> out;
    // Offsets stay within a day, and no zone changes its clocks twice in two.
    for (const std::int64_t near : {local - 86400, local, local + 86400}) {
      const std::int64_t utc = local - offset(near);
      if (offset(utc) == local - utc && std::find(out.begin(), out.end(), utc) == out.end()) out.push_back(utc);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  std::string name_ = "UTC";
  std::int64_t before_ = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> changes_;  // instant, offset from then on
  std::optional<detail::PosixRule> rule_;
};

inline TimeZone TimeZone::from_tzif(std::string_view bytes, std::string name) {
  const auto fail = [&name](const char* what) {
    return Error(Failure::data, "bad_time_zone", name, std::string("must be a TZif file (RFC 8536): ") + what);
  };
  const auto number = [&](std::size_t at, std::size_t width) {
    if (width > bytes.size() || at > bytes.size() - width) throw fail("it ends early");
    std::uint64_t value = width == 8 || (static_cast<unsigned char>(bytes[at]) & 128U) == 0 ? 0 : ~std::uint64_t{0};
    for (std::size_t i = 0; i < width; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return static_cast<std::int64_t>(value);
  };
  constexpr std::size_t header = 44;
  if (!bytes.starts_with("TZif") || bytes.size() < header) throw fail("it does not begin as one");
  const bool wide = bytes[4] >= '2';
  // Counts of the header: UT indicators, standard indicators, leap seconds, transitions, types, characters.
  struct Block {
    std::array<std::size_t, 6> counts{};
    std::size_t begin = 0, end = 0;
  };
  const auto block_at = [&](std::size_t at, std::size_t width) {
    Block out;
    for (std::size_t i = 0; i < 6; ++i) {
      const std::int64_t n = number(at + 20 + 4 * i, 4);
      if (n < 0 || n > 100000) throw fail("a count is out of range");
      out.counts[i] = static_cast<std::size_t>(n);
    }
    const auto& c = out.counts;
    out.begin = at + header;
    out.end = out.begin + c[3] * (width + 1) + c[4] * 6 + c[5] + c[2] * (width + 4) + c[1] + c[0];
    if (out.end > bytes.size()) throw fail("it ends early");
    return out;
  };
  std::size_t width = 4;
  Block block = block_at(0, 4);
  if (wide) {
    width = 8;
    if (!bytes.substr(block.end).starts_with("TZif")) throw fail("its second part is missing");
    block = block_at(block.end, 8);
  }
  const std::size_t transitions = block.counts[3];
  const std::size_t types = block.counts[4];
  if (types == 0) throw fail("it has no offset");
  const std::size_t indices = block.begin + transitions * width;
  const std::size_t first_type = indices + transitions;
  const auto offset_of = [&](std::size_t type) {
    if (type >= types) throw fail("an offset is missing");
    const std::int64_t out = number(first_type + 6 * type, 4);
    if (out <= -90000 || out >= 93600) throw fail("an offset is out of range");
    return out;
  };
  TimeZone out;
  out.name_ = std::move(name);
  out.before_ = offset_of(0);
  for (std::size_t i = 0; i < transitions; ++i) {
    const std::int64_t at = number(block.begin + i * width, width);
    if (!out.changes_.empty() && at <= out.changes_.back().first) throw fail("its changes must be in order");
    out.changes_.emplace_back(at, offset_of(static_cast<unsigned char>(bytes[indices + i])));
  }
  if (wide) {
    std::string_view footer = bytes.substr(block.end);
    if (!footer.starts_with('\n')) throw fail("its rule is missing");
    footer.remove_prefix(1);
    footer = footer.substr(0, footer.find('\n'));
    if (!footer.empty()) {
      out.rule_ = detail::PosixText(footer).read();
      if (!out.rule_) throw fail("its rule is malformed");
    }
  }
  return out;
}

}  // namespace floplan::reliability
