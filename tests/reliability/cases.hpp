// SPDX-License-Identifier: BSD-3-Clause
//
// The reference runs of tests/reference/completion_cases.csv as conditions, and Table 5's rate from its counts.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "floplan/core/quantity.hpp"
#include "floplan/reliability/checkpoint_interval.hpp"
#include "floplan/reliability/completion.hpp"
#include "floplan/reliability/interruption_rate.hpp"
#include "support/reference.hpp"

namespace cases {

struct Case {
  floplan::Seconds useful;
  floplan::reliability::Conditions conditions;
};

inline Case of(const reference::Row& row) {
  using floplan::Seconds;
  const auto seconds = [&row](const char* column) { return Seconds(row.number(column)); };
  floplan::reliability::Conditions c;
  c.mtbf = seconds("mtbf_s");
  c.stall = seconds("stall_s");
  if (row.has("interval_s")) {
    c.interval = seconds("interval_s");
  } else {
    REQUIRE(row.text("interval_rule") == "daly");
    c.interval = floplan::reliability::daly_interval(c.stall, c.mtbf);
  }
  c.restart = seconds("restart_s");
  c.wait = seconds("wait_s");
  c.manual_share = row.number("manual_share");
  c.manual_wait = seconds("manual_wait_s");
  c.planned_per_day = row.number("planned_per_day");
  c.planned_duration = seconds("planned_s");
  return {seconds("useful_s"), c};
}

inline Case named(const std::string& name) { return of(reference::row("completion_cases.csv", name)); }

// 419 interruptions in 54 days on 16,384 accelerators, eight a node.
inline floplan::reliability::InterruptionRate table5() {
  const reference::Row row = reference::row("table5_window.csv", "Llama 3 405B");
  return floplan::reliability::rate_from_events(row.number("events"), floplan::Count(row.number("accelerators")),
                                                floplan::days(row.number("days")),
                                                floplan::Count(row.number("accelerators_per_node")));
}

}  // namespace cases
