// SPDX-License-Identifier: BSD-3-Clause
#include <floplan/floplan.hpp>
#include <floplan/report/table.hpp>
#include <iostream>

using namespace floplan;

int main() {
  const catalog::Catalog catalog;
  plan::Request run;
  run.shape = catalog.model("llama-3.1-405b").shape;
  run.accelerator = catalog.accelerator("h100-sxm");
  run.reliability.rate = reliability::rate_from_events(419, Count(16384), days(54), Count(8));
  run.reliability.restart = plan::Uncertain<Seconds>::range(Seconds(300), Seconds(600));
  run.checkpoint.stall = Seconds(10);
  report::Table table({"H100s", "days, median", "80% from", "to", "accelerator-hours", "MTBF (h)", "ETTR (%)"});
  for (const double count : {8192, 16384, 32768, 65536, 100000}) {
    run.stages = {{.tokens = Tokens(15.6e12), .accelerators = Count(count), .achieved = FlopPerSecond(400e12)}};
    const plan::Plan p = plan::make_plan(run);
    const Distribution& days = p.wall_clock_days;
    table.add({{count, 6},
               {days.p50, 3},
               {days.p10, 3},
               {days.p90, 3},
               {p.accelerator_hours.p50, 3},
               {in_hours(p.main().conditions.mtbf), 3},
               {100 * p.ettr, 3}});
  }
  std::cout << table.text();
}
