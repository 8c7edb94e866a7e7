// SPDX-License-Identifier: BSD-3-Clause
//
// The requests that the tests of plan and report start from.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/core/file.hpp"
#include "floplan/plan/planner.hpp"
#include "floplan/plan/request_file.hpp"

namespace requests {

// The ready plan of Llama 3.1 405B, with overrides as "--set" has them: {"reliability.restart", "5min"}.
inline floplan::plan::Request llama3_405b(const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
  const std::filesystem::path path = std::filesystem::path(FLOPLAN_SOURCE_DIR) / "data" / "plans" / "llama3_405b.toml";
  std::vector<floplan::plan::Override> set;
  for (const auto& [field, value] : overrides) set.push_back({field, value, "--set " + field});
  return floplan::plan::read_request(floplan::read_text_file(path), "llama3_405b.toml", set,
                                     floplan::catalog::Catalog());
}

// One stage with nothing uncertain but the failures, and no stop but theirs.
inline floplan::plan::Request only_failures() {
  using namespace floplan;
  plan::Request r;
  r.parameters = Parameters(70e9);
  r.accelerator = catalog::Catalog().accelerator("h100-sxm");
  r.stages.push_back(
      {.name = "all", .tokens = Tokens(2e12), .accelerators = Count(8192), .achieved = FlopPerSecond(400e12)});
  r.achieved_spread = Fraction(0);
  r.reliability.rate = reliability::rate_from_mtbf(hours(6), Count(8192), Count(8));
  r.reliability.restart = Seconds(300);
  r.checkpoint.stall = Seconds(30);
  return r;
}

}  // namespace requests
