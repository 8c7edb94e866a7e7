// SPDX-License-Identifier: BSD-3-Clause
//
// A time zone by its name, from the system's own zone files.
//
//   const TimeZone zone = find_time_zone("Europe/Berlin", "--timezone");     also UTC, Z, +02:00
//
// Reads /usr/share/zoneinfo/NAME, or the folder that the environment variable TZDIR names (tzset(3)), so daylight saving
// is what the system's tzdata package says: as current as that, and no copy of it in here.
//
// Errors: usage for a name that is none (a path, or letters that no zone file has), data for a file that is no zone's.
// Not part of the umbrella header: this one reads a file.
// Pitfall: EST and the like are files too, of a fixed offset without daylight saving.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "floplan/core/error.hpp"
#include "floplan/core/file.hpp"
#include "floplan/reliability/time_zone.hpp"
#include "floplan/reliability/timestamp.hpp"

namespace floplan::reliability {

[[nodiscard]] inline TimeZone find_time_zone(std::string_view name, std::string_view option) {
  if (const auto offset = detail::read_offset(name)) return TimeZone::fixed(*offset, std::string(name));
  const auto fail = [&] {
    return Error(
        Failure::usage, "unknown_time_zone", std::string(option),
        "must be an IANA name (Europe/Berlin, Asia/Shanghai), UTC or an offset (+02:00), and this system has no "
        "such zone, got \"" +
            shown(name) + "\"");
  };
  const bool letters = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '+' || c == '-' || c == '/';
  });
  if (name.empty() || name.size() > 64 || !letters || name.front() == '/' || name.back() == '/') throw fail();
  const char* named = std::getenv("TZDIR");
  const std::filesystem::path folder = named != nullptr && *named != '\0' ? named : "/usr/share/zoneinfo";
  const std::filesystem::path path = folder / std::string(name);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) throw fail();
  return TimeZone::from_tzif(read_text_file(path, 1 << 20), std::string(name));
}

}  // namespace floplan::reliability
