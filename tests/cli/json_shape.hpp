// SPDX-License-Identifier: BSD-3-Clause
//
// The kinds of value that the interface promises: distributions, intervals, numbers that are finite.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "cli/cli.hpp"

namespace cli {

inline void check_distribution(const Json& d, const std::string& name) {
  INFO(name << " = " << d.dump());
  REQUIRE(d.is_object());
  for (const std::string key : {"mean", "sd", "p05", "p10", "p50", "p90", "p95"}) {
    INFO(key);
    REQUIRE(d.contains(key));
    CHECK(d.at(key).is_number());
  }
  CHECK(d["sd"] >= 0);
  CHECK(d["p05"] <= d["p10"]);
  CHECK(d["p10"] <= d["p50"]);
  CHECK(d["p50"] <= d["p90"]);
  CHECK(d["p90"] <= d["p95"]);
}

inline void check_interval(const Json& i, const std::string& name) {
  INFO(name << " = " << i.dump());
  REQUIRE(i.is_object());
  for (const std::string key : {"low", "high", "level"}) {
    INFO(key);
    REQUIRE(i.contains(key));
    CHECK(i.at(key).is_number());
  }
  CHECK(i["low"] <= i["high"]);
  CHECK(i["level"] > 0);
  CHECK(i["level"] < 1);
}

// No number of the document is missing where `nulls` does not say so: JSON has no nan, so one would show as null.
inline void check_no_null(const Json& value, const std::string& path, const std::vector<std::string>& nulls) {
  if (value.is_null()) {
    bool allowed = false;
    for (const std::string& known : nulls) allowed = allowed || path == known;
    INFO(path << " is null");
    CHECK(allowed);
  } else if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) check_no_null(inner, path.empty() ? key : path + "." + key, nulls);
  } else if (value.is_array()) {
    for (const Json& inner : value) check_no_null(inner, path + "[]", nulls);
  }
}

}  // namespace cli
