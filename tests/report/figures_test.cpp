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
#include "floplan/report/figures.hpp"
#include "plan/requests.hpp"
#include "report/figure_table.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using figure_table::at;

namespace {

CsvTable table_of(const std::string& name, const plan::Request& request) {
  return figure_table::of(name, {catalog::Catalog(), request});
}

plan::Request request() {
  plan::Request r = requests::llama3_405b();
  r.draws = 100;
  return r;
}

}  // namespace

TEST_CASE("figures have unique names, and every column of each a name of its own and a meaning") {
  std::set<std::string> names;
  for (const report::Figure& figure : report::figures()) {
    CHECK(names.insert(figure.name).second);
    CHECK_FALSE(figure.title.empty());
    std::set<std::string> columns;
    for (const report::FigureColumn& column : figure.columns) {
      CHECK(columns.insert(column.name).second);
      CHECK_FALSE(column.meaning.empty());
    }
  }
  for (const char* first : {"interruptions_by_category", "ettr_by_cluster_size", "timeline_by_stage"})
    CHECK(names.contains(first));
}

TEST_CASE("the shares of interruptions follow from the counts, and the printed ones are beside them") {
  const CsvTable t = table_of("interruptions_by_category", request());
  double count = 0, share = 0, printed = 0, gpu = 0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    count += at(t, i, "count");
    share += at(t, i, "share_percent");
    printed += at(t, i, "printed_percent");
    if (t.row(i)[t.column("category")] == "GPU") gpu += at(t, i, "share_percent");
    CHECK(at(t, i, "share_percent") == doctest::Approx(100 * at(t, i, "count") / 419));
    CHECK(at(t, i, "per_1000_node_days") == doctest::Approx(1000 * at(t, i, "count") / (2048 * 54.0)));
    CHECK(at(t, i, "per_million_accelerator_hours") == doctest::Approx(1e6 * at(t, i, "count") / (16384 * 54 * 24.0)));
  }
  CHECK(count == 419);
  CHECK(share == doctest::Approx(100));
  CHECK(printed == doctest::Approx(94.9));
  CHECK(at(t, 0, "printed_total_percent") == doctest::Approx(94.9));
  CHECK(gpu == doctest::Approx(64.0).epsilon(0.001));
}

TEST_CASE("effective training time falls with the size of the cluster from 1,024 to a million") {
  const CsvTable t = table_of("ettr_by_cluster_size", request());
  CHECK(at(t, 0, "accelerators") == 1024);
  CHECK(at(t, t.size() - 1, "accelerators") == 1e6);
  bool has_100k = false;
  for (std::size_t i = 0; i < t.size(); ++i) {
    has_100k = has_100k || at(t, i, "accelerators") == 100000;
    CHECK(at(t, i, "ettr") > 0);
    CHECK(at(t, i, "ettr") + at(t, i, "waste_checkpoint") + at(t, i, "waste_lost_work") + at(t, i, "waste_restart") ==
          doctest::Approx(1));
    CHECK(at(t, i, "mtbf_hours") * at(t, i, "interruptions_per_day") == doctest::Approx(24));
    CHECK(at(t, i, "mtbf_hours") * at(t, i, "accelerators") == doctest::Approx(50677).epsilon(1e-5));
    CHECK(at(t, i, "exact_interval_s") <= at(t, i, "young_interval_s"));
    if (i == 0) continue;
    CHECK(at(t, i, "accelerators") > at(t, i - 1, "accelerators"));
    CHECK(at(t, i, "ettr") < at(t, i - 1, "ettr"));
    CHECK(at(t, i, "exact_interval_s") < at(t, i - 1, "exact_interval_s"));
  }
  CHECK(has_100k);
}

TEST_CASE("the stages follow each other on the calendar, and their days are accounted for") {
  for (const std::string unexplained : {"0", "0.1"}) {
    plan::Request r = requests::llama3_405b({{"reliability.unexplained_stops", unexplained}});
    r.draws = 100;
    const CsvTable t = table_of("timeline_by_stage", r);
    REQUIRE(t.size() == 3);
    CHECK(at(t, 0, "start_day") == 0);
    CHECK(at(t, 2, "cumulative_tokens") == doctest::Approx(15.6e12));
    for (std::size_t i = 0; i < t.size(); ++i) {
      if (i > 0) CHECK(at(t, i, "start_day") == at(t, i - 1, "end_day"));
      const double length = at(t, i, "end_day") - at(t, i, "start_day");
      double parts = 0;
      for (const char* part :
           {"useful_days", "checkpoint_days", "lost_work_days", "restart_days", "planned_days", "unexplained_days"})
        parts += at(t, i, part);
      CHECK(parts == doctest::Approx(length));
      CHECK(at(t, i, "accelerator_hours") == doctest::Approx(24 * length * at(t, i, "accelerators")));
      CHECK(at(t, i, "ideal_accelerator_hours") < at(t, i, "accelerator_hours"));
    }
  }
}

TEST_CASE("the terms of a step sum to it, and the given step stands beside the predicted one") {
  const CsvTable t = table_of("step_breakdown", request());
  double sum = 0;
  std::set<std::string> stages;
  for (std::size_t i = 0; i < t.size(); ++i) {
    const std::string stage(t.row(i)[t.column("stage")]);
    if (stages.insert(stage).second) sum = 0;
    sum += at(t, i, "seconds");
    CHECK(at(t, i, "share_percent") ==
          doctest::Approx(100 * at(t, i, "seconds") / at(t, i, "predicted_step_s")).epsilon(1e-9));
    if (t.row(i)[t.column("term")] == "waiting") CHECK(sum == doctest::Approx(at(t, i, "predicted_step_s")));
    CHECK(at(t, i, "given_step_s") > 0);
  }
  CHECK(stages.size() == 3);
}

TEST_CASE(
    "at a fixed batch a larger cluster has fewer microbatches and a lower MFU, and a batch that grows keeps it up") {
  const CsvTable t = table_of("mfu_by_count", request());
  std::map<std::string, double> last;
  bool at_its_size = false;
  double largest = 0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    const std::string scaling(t.row(i)[t.column("scaling")]);
    CHECK(at(t, i, "accelerators") == 128 * at(t, i, "dp"));
    CHECK(at(t, i, "microbatches") == doctest::Approx(at(t, i, "global_batch") / at(t, i, "dp")));
    CHECK(at(t, i, "step_low_s") < at(t, i, "step_s"));
    CHECK(at(t, i, "step_high_s") > at(t, i, "step_s"));
    if (scaling == "fixed batch") {
      CHECK(at(t, i, "global_batch") == 2048);
      largest = std::max(largest, at(t, i, "accelerators"));
      if (last.contains(scaling)) CHECK(at(t, i, "mfu") < last[scaling]);
    } else if (last.contains(scaling)) {
      CHECK(at(t, i, "mfu") > 0.9 * last[scaling]);
    }
    last[scaling] = at(t, i, "mfu");
    at_its_size = at_its_size || at(t, i, "accelerators") == 16384;
  }
  CHECK(at_its_size);
  CHECK(last.size() == 2);
  // Its own size is the largest at this batch: twice the ranks would leave half a microbatch to each of 16 stages.
  CHECK(largest == 16384);
}

TEST_CASE("along the frontier memory falls as steps grow, and the plan's own layout is not beyond it") {
  const CsvTable t = table_of("layout_frontier", request());
  REQUIRE(t.size() > 3);
  CHECK(t.row(0)[t.column("of")] == "plan");
  for (std::size_t i = 1; i < t.size(); ++i) {
    CHECK(t.row(i)[t.column("of")] == "frontier");
    CHECK((t.row(i)[t.column("fits")] == "yes") == (at(t, i, "memory_gb") <= at(t, i, "capacity_gb")));
    if (i > 1) CHECK(at(t, i, "step_s") >= at(t, i - 1, "step_s"));
    if (i > 1) CHECK(at(t, i, "memory_gb") < at(t, i - 1, "memory_gb"));
  }
  bool beaten = false;
  for (std::size_t i = 1; i < t.size(); ++i) {
    beaten = beaten || (at(t, i, "step_s") <= at(t, 0, "step_s") && at(t, i, "memory_gb") <= at(t, 0, "memory_gb"));
  }
  CHECK(beaten);
}

TEST_CASE("a plan without layouts has no figure of them") {
  for (const char* name : {"step_breakdown", "mfu_by_count", "layout_frontier", "step_validation"}) {
    const Error e = thrown::by([&] { (void)table_of(name, requests::only_failures()); });
    CHECK(e.failure() == Failure::no_answer);
  }
}

TEST_CASE("a figure of another run is the same call with another request") {
  plan::Request r = requests::llama3_405b({{"reliability.rate_per_node_day", "1e-3"}});
  const CsvTable t = table_of("ettr_by_cluster_size", r);
  CHECK(at(t, 0, "mtbf_hours") == doctest::Approx(24 / (1e-3 * 1024 / 8)));
}
