// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "floplan/core/csv.hpp"
#include "floplan/report/reliability_figures.hpp"
#include "plan/requests.hpp"
#include "report/figure_table.hpp"
#include "support/near.hpp"

using namespace floplan;
using figure_table::at;
using figure_table::text;

namespace {

CsvTable table_of(const std::string& name, const plan::Request& request) {
  return figure_table::of(name, {catalog::Catalog(), request});
}

plan::Request request(const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
  plan::Request r = requests::llama3_405b(overrides);
  r.draws = 4000;
  return r;
}

}  // namespace

TEST_CASE("shares sum to one at every size, memory beside the store helps, and a larger cluster has less") {
  const CsvTable t = table_of("waste_by_size", request());
  REQUIRE(t.size() == 6);
  for (std::size_t i = 0; i < t.size(); ++i) {
    REQUIRE(text(t, i, "ends") == "yes");
    double sum = at(t, i, "ettr");
    for (const char* share : {"waste_checkpoint", "waste_lost_work", "waste_restart", "waste_maintenance"})
      sum += at(t, i, share);
    CHECK(sum == near(1, 1e-12));
    CHECK(at(t, i, "mtbf_hours") * at(t, i, "accelerators") == doctest::Approx(50677).epsilon(1e-5));
    if (i % 2 == 1) CHECK(at(t, i, "ettr") > at(t, i - 1, "ettr"));
    if (i > 1) CHECK(at(t, i, "ettr") < at(t, i - 2, "ettr"));
    if (i % 2 == 0) CHECK(at(t, i, "storage_every") == 1);
    // A restart that reaches 0.90 is longer where more than 0.90 is reached.
    if (at(t, i, "ettr") > 0.9) CHECK(at(t, i, "longest_restart_90_s") > 300);
  }
  // With seconds instead of minutes of waiting and restarting a million is of use.
  const CsvTable fast =
      table_of("waste_by_size", request({{"reliability.restart", "10s"}, {"reliability.wait", "5s"}}));
  CHECK(at(fast, 4, "ettr") > 5 * at(t, 4, "ettr"));
}

TEST_CASE("a plan's own memory tier takes the place of the assumed one") {
  const CsvTable t =
      table_of("waste_by_size", request({{"checkpoint.memory.stall", "3s"}, {"checkpoint.memory.share", "50%"}}));
  const CsvTable assumed = table_of("waste_by_size", request());
  CHECK(at(t, 0, "ettr") == near(at(assumed, 0, "ettr"), 1e-12));
  CHECK(at(t, 1, "ettr") < at(assumed, 1, "ettr"));
  CHECK(
      at(t, 1, "ettr") ==
      near(
          plan::make_plan(request({{"checkpoint.memory.stall", "3s"}, {"checkpoint.memory.share", "50%"}})).main().ettr,
          1e-4));
}

TEST_CASE("run time over the best is at least one, one at the best, and 1.01 at the ends of the flat region") {
  const CsvTable t = table_of("interval_flatness", request());
  std::map<std::string, double> least;
  for (std::size_t i = 0; i < t.size(); ++i) {
    const double over = at(t, i, "run_time_over_best");
    const double interval = at(t, i, "interval_s");
    CHECK(over >= 1 - 1e-9);
    const bool flat = interval >= at(t, i, "flat_low_s") && interval <= at(t, i, "flat_high_s");
    CHECK(flat == (over <= 1.01));
    const std::string curve = text(t, i, "accelerators") + text(t, i, "tiers");
    least.try_emplace(curve, over);
    least[curve] = std::min(least[curve], over);
    if (interval == at(t, i, "best_interval_s")) CHECK(over == near(1, 1e-9));
  }
  CHECK(least.size() == 6);
  for (const auto& [curve, over] : least) CHECK(over == near(1, 1e-9));
}

TEST_CASE("days rise with the probability, and each thing that is not known spreads them further") {
  const CsvTable t = table_of("finish_distribution", request());
  std::map<std::string, std::map<double, double>> days;
  for (std::size_t i = 0; i < t.size(); ++i) days[text(t, i, "what")][at(t, i, "probability")] = at(t, i, "days");
  REQUIRE(days.size() == 4);
  const auto width = [&days](const std::string& what) { return days[what][0.9] - days[what][0.1]; };
  for (const auto& [what, curve] : days) {
    CHECK(curve.size() == 99);
    double last = 0;
    for (const auto& [p, d] : curve) {
      CHECK(d >= last);
      last = d;
    }
  }
  CHECK(width("failures alone") < width("uncertain inputs"));
  CHECK(width("uncertain inputs") < width("and a practised team"));
  CHECK(width("and a practised team") < width("and a team of unknown kind"));
  const plan::Plan p = plan::make_plan(request());
  CHECK(days["uncertain inputs"][0.5] == near(p.wall_clock_days.p50, 1e-4));
}

TEST_CASE(
    "every improvement saves time, its dollars are its hours at the plan's price, and without a price they are blank") {
  const CsvTable t = table_of("improvements_by_size", request());
  std::set<std::string> sizes;
  for (std::size_t i = 0; i < t.size(); ++i) {
    sizes.insert(text(t, i, "accelerators"));
    CHECK(at(t, i, "days_saved") > 0);
    CHECK(at(t, i, "accelerator_hours_saved") == near(at(t, i, "days_saved") * 24 * at(t, i, "accelerators"), 1e-9));
    CHECK(at(t, i, "usd_saved") == near(2.35 * at(t, i, "accelerator_hours_saved"), 1e-9));
  }
  CHECK(sizes.size() == 3);
  plan::Request free = request();
  free.price.reset();
  const CsvTable unpriced = table_of("improvements_by_size", free);
  CHECK(text(unpriced, 0, "usd_saved").empty());
}

TEST_CASE("whole runs that test something have a prediction, a residual and a band, and the others have blanks") {
  const CsvTable t = table_of("whole_runs", request());
  int tested = 0, inside = 0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    const std::string kind = text(t, i, "hours_kind");
    const bool measured = kind == "occupancy" || kind == "part";
    CHECK(text(t, i, "predicted").empty() != measured);
    if (!measured) continue;
    CHECK(at(t, i, "residual") == near(at(t, i, "published") / at(t, i, "predicted"), 1e-9));
    tested += kind == "occupancy" ? 1 : 0;
    inside += kind == "occupancy" && text(t, i, "inside") == "yes" ? 1 : 0;
  }
  CHECK(tested == 8);
  CHECK(inside >= 7);
}
