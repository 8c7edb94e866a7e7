// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/reliability/time_zone.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>

#include "floplan/core/random.hpp"
#include "floplan/reliability/time_zone_file.hpp"
#include "floplan/reliability/timestamp.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

double seconds(const std::string& text, const Clock& clock = {}) {
  return read_timestamp(text, clock, "a:1:2").seconds;
}

Clock in(const std::string& zone) { return {find_time_zone(zone, "--timezone"), RepeatedHour::refuse}; }

}  // namespace

TEST_CASE(
    "local times are read by the rules of their zone, and those that daylight saving takes or doubles are refused") {
  for (const reference::Row& row : reference::rows("daylight_saving_cases.csv")) {
    INFO(row.name());
    Clock clock = in(row.text("zone"));
    const std::string local = row.text("local");
    if (row.number("instants") == 1) {
      CHECK(seconds(local, clock) == seconds(row.text("utc")));
      continue;
    }
    const Error error = thrown::by([&] { (void)seconds(local, clock); });
    CHECK(error.failure() == Failure::data);
    CHECK(error.where() == "a:1:2");
    if (row.number("instants") == 0) {
      CHECK(error.code() == "no_such_local_time");
      continue;
    }
    CHECK(error.code() == "repeated_local_time");
    clock.repeated = RepeatedHour::earlier;
    CHECK(seconds(local, clock) == seconds(row.text("utc")));
    clock.repeated = RepeatedHour::later;
    CHECK(seconds(local, clock) == seconds(row.text("utc")) + 3600);
  }
}

TEST_CASE("offsets are those of the system's own library in zones of every kind, past the end of their files too") {
  RandomStream stream(7);
  for (const std::string zone :
       {"Europe/Berlin", "America/New_York", "America/Nuuk", "Asia/Shanghai", "Australia/Lord_Howe",
        "Africa/Casablanca", "America/Santiago", "Europe/Dublin", "Asia/Jerusalem", "UTC"}) {
    INFO(zone);
    const TimeZone own = find_time_zone(zone, "test");
    REQUIRE(::setenv("TZ", zone.c_str(), 1) == 0);
    ::tzset();
    for (int i = 0; i < 2000; ++i) {
      // 1973 to 2099
      const auto utc = static_cast<std::int64_t>(1e8 + stream.uniform() * 4e9);
      const std::time_t t = utc;
      std::tm broken{};
      ::localtime_r(&t, &broken);
      REQUIRE(own.offset(utc) == broken.tm_gmtoff);
      const auto found = own.instants(utc + own.offset(utc));
      REQUIRE_FALSE(found.empty());
      REQUIRE(found.size() <= 2);
      REQUIRE((found.front() == utc || found.back() == utc));
    }
  }
  ::unsetenv("TZ");
  ::tzset();
}

TEST_CASE("an instant is the same however it is written") {
  const double t = seconds("1714557600");
  for (const std::string same :
       {"2024-05-01T10:00:00Z", "2024-05-01 10:00:00 UTC", "2024-05-01T12:00:00+02:00", "2024-05-01T12:00:00.000+0200",
        "2024/05/01 05:00-05", "1714557600000", "1714557600000000", "1.7145576e9", "2024-05-01T10:00Z"}) {
    INFO(same);
    CHECK(seconds(same) == near(t, 1e-15));
  }
  CHECK(seconds("2024-05-01T10:00:00.25Z") == near(t + 0.25, 1e-15));
  CHECK(seconds("2024-05-01 10:00:00,250", in("UTC")) == near(t + 0.25, 1e-15));
  CHECK(read_timestamp("12.75", {}, "").relative);
}

TEST_CASE("a time that may mean two things is refused at its place") {
  for (const auto& [text, code] : {std::pair{"2024-05-01 10:00:00", "no_time_zone"},
                                   {"5/1/2024", "bad_time"},
                                   {"01-05-2024 10:00", "bad_time"},
                                   {"2024-13-01T00:00:00Z", "bad_time"},
                                   {"2023-02-29T00:00:00Z", "bad_time"},
                                   {"2024-05-01T24:00:00Z", "bad_time"},
                                   {"2024-05-01T10:00:00 CST", "bad_time"},
                                   {"20240501120000", "bad_time"},
                                   {"nan", "bad_time"},
                                   {"inf", "bad_time"},
                                   {"-5", "bad_time"},
                                   {"", "bad_time"},
                                   {"2024-05-01T10:00:00Zx", "bad_time"},
                                   {"2024-05-01T10:00:00+25:00", "bad_time"}}) {
    const std::string copy = text;
    INFO(copy);
    const Error error = thrown::by([&] { (void)seconds(copy); });
    CHECK(error.failure() == Failure::data);
    CHECK(error.code() == code);
    CHECK(error.where() == "a:1:2");
  }
}

TEST_CASE("names that are no zone's are refused, paths above all") {
  for (const std::string name :
       {"", "CST6", "Europe/Atlantis", "../../etc/passwd", "/etc/localtime", "Europe/", "a b"}) {
    INFO(name);
    CHECK(thrown::by([&] { (void)find_time_zone(name, "--timezone"); }).code() == "unknown_time_zone");
  }
  CHECK(find_time_zone("+05:30", "").offset(0) == 19800);
  CHECK(find_time_zone("UTC", "").offset(0) == 0);
}

TEST_CASE("a zone file that is cut or changed is refused or read, and never read past its end") {
  const std::string bytes = read_text_file("/usr/share/zoneinfo/Europe/Berlin");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    try {
      (void)TimeZone::from_tzif(std::string(bytes, 0, length), "cut");
    } catch (const Error& error) {
      CHECK(error.code() == "bad_time_zone");
    }
  }
  RandomStream stream(3);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = bytes;
    for (int k = 0; k < 3; ++k)
      changed[stream.below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<char>(stream.below(256));
    try {
      (void)TimeZone::from_tzif(changed, "changed").instants(1714557600);
    } catch (const Error& error) {
      CHECK(error.code() == "bad_time_zone");
    }
  }
}
