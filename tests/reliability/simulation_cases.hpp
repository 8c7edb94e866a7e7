// SPDX-License-Identifier: BSD-3-Clause
//
// The runs of tests/reference/simulation_cases.csv as processes.
#pragma once

#include <string>

#include "floplan/reliability/simulation.hpp"
#include "support/reference.hpp"

namespace simulation_cases {

struct Case {
  floplan::Seconds useful;
  floplan::reliability::RunProcess process;
  floplan::reliability::InputSpread spread;
};

inline Case of(const reference::Row& row) {
  using floplan::Seconds;
  using floplan::reliability::TimeLaw;
  const auto seconds = [&row](const char* column) { return Seconds(row.number(column)); };
  const auto fixed = [&](const char* column) { return TimeLaw::fixed(seconds(column)); };
  Case out;
  out.useful = seconds("useful_s");
  floplan::reliability::RunProcess& p = out.process;
  p.failures.mtbf = seconds("mtbf_s");
  p.checkpoints.interval = seconds("interval_s");
  p.checkpoints.memory_stall = seconds("memory_stall_s");
  p.checkpoints.storage_every = static_cast<int>(row.number("storage_every"));
  p.checkpoints.storage_stall = seconds("storage_stall_s");
  p.memory = {fixed("memory_wait_s"), fixed("memory_restart_s")};
  p.storage = {fixed("storage_wait_s"), fixed("storage_restart_s")};
  p.manual_share = row.number("manual_share");
  p.memory_share = row.number("memory_share");
  p.manual_wait = fixed("manual_wait_s");
  p.planned.per_day = row.number("planned_per_day");
  p.planned.duration = seconds("planned_s");
  if (row.text("laws") == "log-normal") {
    p.storage = {TimeLaw::log_normal(seconds("storage_wait_s"), 1),
                 TimeLaw::log_normal(seconds("storage_restart_s"), 0.5)};
    p.manual_wait = TimeLaw::log_normal(seconds("manual_wait_s"), 0.5);
  }
  // 419 failures counted; 3% on the rate; restart and wait log-normal of 0.5 and 0.7.
  if (row.text("laws") == "inputs") out.spread = {419, 0.03, 0.5, 0.7, 0};
  return out;
}

inline Case named(const std::string& name) { return of(reference::row("simulation_cases.csv", name)); }

}  // namespace simulation_cases
