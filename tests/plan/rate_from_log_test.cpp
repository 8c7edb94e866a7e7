// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/file.hpp"
#include "floplan/plan/planner.hpp"
#include "floplan/plan/request_file.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/reliability_fit.hpp"
#include "plan/requests.hpp"
#include "support/near.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using plan::make_plan;
using plan::Plan;
using plan::Request;

namespace {

const std::string counts = "category,count\nFaulty GPU,240\nNetwork Switch,60\nSoftware Bug,100\n";
const std::string facts = "[reliability.log]\naccelerators = 4096\nwindow = \"50d\"\n";

// A plan in a folder of its own, beside a log.
struct Beside {
  TemporaryFolder folder;
  explicit Beside(const std::string& log, const std::string& name = "log.csv") { (void)folder.file(name, log); }
  [[nodiscard]] std::string file(const std::string& name) const { return (folder / name).string(); }
  // rate_from and what follows it stand on lines 8 and on.
  [[nodiscard]] Request read(const std::string& after, const std::vector<plan::Override>& set = {},
                             const std::string& rate_from = "log.csv") const {
    const std::string text =
        "model = \"llama-3.1-8b\"\naccelerator = \"h100-sxm\"\n[[stage]]\ntokens = \"1T\"\ncount = 16384\n"
        "achieved = \"400TFLOP/s\"\n[reliability]\nrate_from = \"" +
        rate_from + "\"\n";
    return plan::read_request(text + after, file("p.toml"), set, catalog::Catalog());
  }
  void refused(const std::string& after, Failure failure, const std::string& where, const std::string& words,
               const std::vector<plan::Override>& set = {}) const {
    const Error e = thrown::by([&] { (void)read(after, set); });
    INFO(std::string(e.what()));
    CHECK(e.failure() == failure);
    CHECK(e.where().find(where) != std::string::npos);
    CHECK(thrown::says(e, words));
  }
};

bool warns(const std::vector<Warning>& all, const std::string& code, const std::string& words = "") {
  return std::any_of(all.begin(), all.end(),
                     [&](const Warning& w) { return w.code == code && w.message.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("a plan takes its failure rate from a log beside it, the run's own causes apart from those that grow") {
  const Beside beside(counts);
  const Request r = beside.read(facts);
  const reliability::InterruptionRate& rate = r.reliability.rate;
  CHECK(rate.per_accelerator_hour == near(300 / (4096 * 50.0 * 24), 1e-12));
  CHECK(rate.per_job_hour == near(100 / (50.0 * 24), 1e-12));
  CHECK(rate.per_day(Count(16384)) == near(4 * 300 / 50.0 + 100 / 50.0, 1e-12));
  // As `reliability fit --project 16384` has it, and its Gamma too.
  reliability::LogOptions options;
  options.accelerators = Count(4096);
  options.window = days(50);
  reliability::StudyOptions sizes;
  sizes.project = {Count(16384)};
  const reliability::FailureStudy study =
      reliability::study_failures(reliability::read_failure_log(counts, "log.csv", options), sizes);
  CHECK(rate.per_day(Count(16384)) == near(study.projections[1].per_day.value, 1e-12));
  CHECK(*rate.events == near(study.projections[1].shape, 1e-12));
  CHECK(r.reliability.rate_source == "log.csv");
  CHECK(warns(r.assumptions, "rate_extrapolated", "log.csv"));
  const Plan p = make_plan(r);
  CHECK(in_hours(p.main().conditions.mtbf) == near(24 / rate.per_day(Count(16384)), 1e-12));
}

TEST_CASE("what few failures leave open of the rate is in the days of the plan") {
  const Beside few("category,count\nGPU,5\n");
  Request r = few.read("[reliability.log]\naccelerators = 4096\nwindow = \"5d\"\n");
  CHECK(*r.reliability.rate.events == near(5.5, 1e-12));
  CHECK(warns(r.assumptions, "few_failures"));
  r.achieved_spread = Fraction(0);
  r.stages[0].tokens = Tokens(1e14);
  r.draws = 2000;
  const Plan open = make_plan(r);
  r.reliability.rate.events.reset();
  const Plan known = make_plan(r);
  CHECK(open.wall_clock_days.standard_deviation > 1.5 * known.wall_clock_days.standard_deviation);
  CHECK(open.expected_wall_clock == known.expected_wall_clock);
}

TEST_CASE("a RATE.json that was made of a log gives the plan what the log gives it") {
  reliability::LogOptions options;
  options.accelerators = Count(4096);
  options.window = days(50);
  const reliability::FailureStudy study =
      reliability::study_failures(reliability::read_failure_log(counts, "log.csv", options));
  const Beside beside(report::json_text({{"result", report::failure_study_json(study)}}), "RATE.json");
  const reliability::InterruptionRate from_file = beside.read("", {}, "RATE.json").reliability.rate;
  const Beside log(counts);
  const reliability::InterruptionRate from_log = log.read(facts).reliability.rate;
  CHECK(from_file.per_accelerator_hour == near(from_log.per_accelerator_hour, 1e-12));
  CHECK(from_file.per_job_hour == near(from_log.per_job_hour, 1e-12));
  CHECK(*from_file.events == near(*from_log.events, 1e-9));
  CHECK(warns(beside.read(facts, {}, "RATE.json").assumptions, "log_facts_unused"));
}

TEST_CASE("an option's log lies where the user is, and its word replaces the file's rate") {
  const Beside beside(counts);
  const std::string log = beside.file("log.csv");
  const std::vector<plan::Override> set = {{"reliability.rate_from", log, "--rate-from"},
                                           {"reliability.log.accelerators", "4096", "--set"},
                                           {"reliability.log.window", "50d", "--set"}};
  CHECK(beside.read("", set, "llama3-2024").reliability.rate.per_job_hour > 0);
  CHECK(beside.read(facts, {{"reliability.rate_from", "llama3-2024", "--rate-from"}}).reliability.rate.per_job_hour ==
        0);
  CHECK(warns(beside.read(facts, {{"reliability.rate_from", "llama3-2024", "--rate-from"}}).assumptions,
              "log_facts_unused"));
}

TEST_CASE("a log that cannot give a rate is refused where it, or the fact that is wrong of it, stands") {
  using F = Failure;
  const Beside beside(counts);
  beside.refused("", F::data, "p.toml:8:13 (reliability.rate_from)", "reliability.log.window");
  beside.refused("[reliability.log]\nwindow = \"50d\"\n", F::data, "p.toml:8:13", "reliability.log.accelerators");
  beside.refused(facts + "nodes = 500\nper_node = 8\n", F::data, "p.toml:12:9 (reliability.log.nodes)", "4096");
  beside.refused("[reliability.log]\naccelerators = 0\n", F::data, "p.toml:10:16 (reliability.log.accelerators)",
                 "whole number");
  beside.refused("[reliability.log]\nwindow = 54\n", F::data, "p.toml:10:10", "unit");
  beside.refused("[reliability.log]\nwindwo = \"54d\"\n", F::data, "p.toml:10:1", "window");
  beside.refused("[reliability.log]\ntimezone = \"Mars/Olympus\"\n", F::data, "p.toml:10:12", "Mars");
  beside.refused("[reliability.log]\nformat = \"best\"\n", F::data, "p.toml:10:10", "goodput");
  beside.refused(facts, F::usage, "--rate-from", "no file nowhere.csv",
                 {{"reliability.rate_from", "nowhere.csv", "--rate-from"}});
  beside.refused(facts, F::usage, "--rate-from", "llama3-2024", {{"reliability.rate_from", "nowhere", "--rate-from"}});

  const Beside none("category,count\nGPU,0\n");
  none.refused(facts, F::no_answer, "log.csv", "below");
  const Beside zone("time\n2024-05-01 00:00:00\n");
  zone.refused(facts, F::data, "log.csv:2:1", "reliability.log.timezone");
  const Beside backwards("time,end,node\n2024-05-02T00:00:00Z,2024-05-01T00:00:00Z,n1\n");
  backwards.refused(facts, F::data, "log.csv:2:2", "before its start");
}

TEST_CASE("a plan on a rate from a log has the failures that the log's causes make at each stage's size") {
  const Beside beside(counts);
  Request r = beside.read(facts);
  plan::Stage small = r.stages[0];
  small.accelerators = Count(1024);
  small.tokens = Tokens(1e11);
  r.stages.push_back(small);
  r.draws = 200;
  const Plan p = make_plan(r);
  for (const plan::StagePlan& stage : p.stages) {
    const Count size = stage.request.accelerators;
    CHECK(24 / in_hours(stage.conditions.mtbf) == near(size.value / 4096 * 300 / 50 + 100 / 50.0, 1e-12));
  }
}
