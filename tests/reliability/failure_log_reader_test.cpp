// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/reliability/failure_log_reader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "floplan/reliability/time_zone_file.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

LogOptions of_size(double accelerators) {
  LogOptions out;
  out.accelerators = Count(accelerators);
  out.accelerators_per_node = Count(8);
  return out;
}

FailureLog read(const std::string& text, const LogOptions& options = of_size(80)) {
  return read_failure_log(text, "log", options);
}
double counted(const FailureLog& log, Ending ending = Ending::failure) {
  double out = 0;
  for (const Interruption& e : log.events) out += e.ending == ending ? e.count : 0;
  return out;
}
bool warned(const FailureLog& log, const std::string& code) {
  return std::any_of(log.warnings.begin(), log.warnings.end(), [&](const Warning& w) { return w.code == code; });
}
void refused(const std::string& text, const std::string& code, const std::string& where,
             const LogOptions& options = of_size(80)) {
  CAPTURE(text);
  const Error error = thrown::by([&] { (void)read(text, options); });
  CHECK(error.code() == code);
  CHECK(error.where() == where);
}

LogOptions ten_days() {
  LogOptions out = of_size(80);
  out.start = "2024-05-01T00:00:00Z";
  out.window = days(10);
  return out;
}

const std::string list =
    "time,node,category,planned,automatic,downtime_min\n"
    "2024-05-01T10:00:00Z,n1,GPU,false,true,10\n"
    "2024-05-02T10:05:00+02:00,n1,GPU,no,manual,20\n"
    "2024-05-03T12:00:00Z,n2,maintenance,,true,10\n"
    "2024-05-04T11:00:00Z,n3,host,true,true,10\n"
    "2024-05-05T11:00:00Z,n3,preempted by another,,,\n"
    "2024-05-06T11:00:00Z,n4,Unplanned Maintenance,,,\n";

}  // namespace

TEST_CASE("an interruption list gives failures, what is none by reason, and the exposure of its window") {
  const FailureLog log = read(list, ten_days());
  CHECK(log.format == LogFormat::list);
  CHECK(counted(log) == 3);
  CHECK(counted(log, Ending::maintenance) == 1);
  CHECK(counted(log, Ending::planned) == 1);
  CHECK(counted(log, Ending::preemption) == 1);
  CHECK(log.exposure.accelerator_hours == near(80 * 240, 1e-14));
  CHECK(log.exposure.node_days == near(100, 1e-14));
  CHECK(*log.events[1].end - *log.events[1].time == near(1200, 1e-12));
  CHECK(log.events[1].automatic == false);
  CHECK(log.warnings.empty());
}

TEST_CASE("a list says the same as CSV, with semicolons, as JSON and as JSONL") {
  std::string semicolons = list;
  std::replace(semicolons.begin(), semicolons.end(), ',', ';');
  const std::string json =
      R"([{"time": 1714557600, "node": "n1", "category": "GPU", "planned": false},
          {"time": "2024-05-02T08:05:00Z", "node": "n1", "category": "GPU", "planned": false}])";
  std::string lines =
      "{\"time\": 1714557600, \"node\": \"n1\", \"category\": \"GPU\"}\n"
      "{\"time\": \"2024-05-02T08:05:00Z\", \"node\": \"n1\", \"category\": \"GPU\"}\n";
  const FailureLog csv = read(list, ten_days());
  for (const std::string& text : {semicolons, json, lines}) {
    const FailureLog other = read(text, ten_days());
    CHECK(other.format == LogFormat::list);
    REQUIRE(other.events.size() >= 2);
    CHECK(other.events[0].time == csv.events[0].time);
    CHECK(other.events[1].time == csv.events[1].time);
    CHECK(other.exposure.node_days == csv.exposure.node_days);
  }
}

TEST_CASE("unsorted rows, duplicates and faults that overlap are each counted once and said") {
  const std::string text =
      "start,end,node,category\n"
      "2024-05-02T00:00:00Z,2024-05-03T00:00:00Z,n1,GPU\n"
      "2024-05-01T00:00:00Z,2024-05-01T12:00:00Z,n2,NIC\n"
      "2024-05-02T12:00:00Z,2024-05-04T00:00:00Z,n1,NIC\n"
      "2024-05-02T00:00:00Z,2024-05-03T00:00:00Z,n1,GPU\n"
      "2024-05-04T00:00:00Z,2024-05-04T06:00:00Z,n1,GPU\n"
      "2024-05-09T00:00:00Z,,n2,GPU\n";
  const FailureLog log = read(text, ten_days());
  CHECK(log.format == LogFormat::trace);
  CHECK(warned(log, "unsorted"));
  CHECK(counted(log, Ending::duplicate) == 1);
  CHECK(counted(log, Ending::overlapping) == 1);
  CHECK(counted(log) == 4);
  // n1 down from the 2nd to the 4th, 06:00; n2 for 12 hours and from the 9th to the end of the window, the 11th.
  CHECK(log.exposure.down_node_days == near(2.25 + 0.5 + 2, 1e-12));
  CHECK(log.exposure.node_days == near(100 - 4.75, 1e-12));
}

TEST_CASE("a trace of marks is that of its intervals") {
  const std::string marks =
      R"([{"node_id": 3, "event_time": 0.5, "event_type": "fault_start", "fault_type": {"Class": "GPU"}},
          {"node_id": 3, "event_time": 0.75, "event_type": "fault_start", "fault_type": {"Class": "NIC"}},
          {"node_id": 3, "event_time": 1.0, "event_type": "fault_end", "fault_type": {"Class": "GPU"}},
          {"node_id": 3, "event_time": 1.5, "event_type": "fault_end", "fault_type": {"Class": "NIC"}},
          {"node_id": 9, "event_time": 1.6, "event_type": "fault_end", "fault_type": {"Class": "NIC"}},
          {"node_id": 7, "event_time": 2.5, "event_type": "fault_start", "fault_type": {"Class": "GPU"}}])";
  LogOptions options;
  options.nodes = Count(400);
  options.window = days(348);
  const FailureLog log = read(marks, options);
  CHECK(log.format == LogFormat::trace);
  CHECK(log.relative);
  CHECK(warned(log, "assumed"));
  CHECK(warned(log, "end_without_start"));
  CHECK(counted(log) == 2);
  CHECK(counted(log, Ending::overlapping) == 1);
  CHECK(log.exposure.node_days == near(400 * 348 - 1 - 345.5, 1e-12));
}

TEST_CASE("three allocations with two crashes in 72 hours are two failures and three ends of allocation") {
  const std::string jobs =
      "JobID|State|Start|End|NNodes|NodeList\n"
      "1|TIMEOUT|2024-05-01T00:00:00|2024-05-02T00:00:00|64|n[1-64]\n"
      "1.batch|FAILED|2024-05-01T00:00:00|2024-05-02T00:00:00|1|n1\n"
      "1.0|FAILED|2024-05-01T00:01:00|2024-05-01T10:00:00|64|n[1-64]\n"
      "1.1|CANCELLED|2024-05-01T10:01:00|2024-05-02T00:00:00|64|n[1-64]\n"
      "2|TIMEOUT|2024-05-02T00:00:00|2024-05-03T00:00:00|64|n[1-64]\n"
      "2.0|NODE_FAIL|2024-05-02T00:01:00|2024-05-02T20:00:00|64|n[1-64]\n"
      "3|CANCELLED by 1001|2024-05-03T00:00:00|2024-05-04T00:00:00|64|n[1-64]\n";
  LogOptions options;
  options.clock.zone = find_time_zone("UTC", "test");
  const FailureLog log = read(jobs, options);
  CHECK(log.format == LogFormat::jobs);
  CHECK(counted(log) == 2);
  CHECK(counted(log, Ending::time_limit) + counted(log, Ending::cancelled) == 3);
  CHECK(log.exposure.hours == near(72, 1e-14));
  CHECK(log.exposure.node_days == near(3 * 64, 1e-14));
}

TEST_CASE("a failed job and its failed step are one failure, requeues of one job are stretches of it") {
  const std::string jobs =
      "JobID|State|Start|End|NNodes\n"
      "7|NODE_FAIL|2024-05-01T00:00:00Z|2024-05-01T10:00:00Z|8\n"
      "7.0|FAILED|2024-05-01T00:00:00Z|2024-05-01T10:00:00Z|8\n"
      "7|PREEMPTED|2024-05-01T11:00:00Z|2024-05-01T20:00:00Z|8\n"
      "7|COMPLETED|2024-05-01T21:00:00Z|2024-05-02T00:00:00Z|8\n"
      "8|OUT_OF_ME+|2024-05-01T00:00:00Z|2024-05-01T01:00:00Z|1\n"
      "9|CANCELLED|Unknown|2024-05-01T01:00:00Z|0\n"
      "10|RUNNING|2024-05-01T12:00:00Z|Unknown|2\n";
  const FailureLog log = read(jobs, {});
  CHECK(counted(log) == 2);
  CHECK(counted(log, Ending::preemption) == 1);
  CHECK(counted(log, Ending::completed) == 1);
  CHECK(counted(log, Ending::never_started) == 1);
  CHECK(counted(log, Ending::still_running) == 1);
  CHECK(log.exposure.node_days == near((8 * 22 + 1 + 2 * 12) / 24.0, 1e-12));
  const FailureLog twice = read(jobs + jobs.substr(jobs.find('\n') + 1), {});
  CHECK(twice.exposure.node_days == near(log.exposure.node_days, 1e-12));
  CHECK(counted(twice) == 2);
  CHECK(counted(twice, Ending::duplicate) == 5);
}

TEST_CASE("a goodput stream gives restarts, repeated steps and planned ends") {
  std::string text =
      "{\"job_name\": \"r\", \"job_start_time\": 1704070800.0}\n"
      "{\"job_name\": \"r\", \"step_count\": 0, \"step_start_time\": 1704070810.0}\n"
      "{\"job_name\": \"r\", \"step_count\": 1, \"step_start_time\": 1704070813.0}\n"
      "{\"job_name\": \"r\", \"step_count\": 2, \"step_start_time\": 1704070816.0}\n"
      "{\"job_name\": \"r\", \"job_start_time\": 1704070900.0}\n"
      "{\"job_name\": \"r\", \"step_count\": 1, \"step_start_time\": 1704070910.0}\n"
      "{\"job_name\": \"r\", \"step_count\": 2, \"step_start_time\": 1704070913.0}\n"
      "{\"job_name\": \"r\", \"step_count\": 3, \"step_start_time\": 1704070916.0}\n"
      "{\"job_name\": \"r\", \"job_end_time\": 1704070919.0}\n"
      "{\"job_name\": \"r\", \"job_start_time\": 1704071000.0}\n";
  const FailureLog log = read(text);
  CHECK(log.format == LogFormat::goodput);
  CHECK(counted(log) == 1);
  CHECK(counted(log, Ending::planned) == 1);
  REQUIRE(log.training);
  // Step 1 was finished before and is done twice; step 2 was only begun.
  CHECK(log.training->repeated == 1);
  CHECK(log.training->lost_hours == near(3.0 / 3600, 1e-6));
  CHECK(log.training->restart_hours == near(94.0 / 3600, 1e-9));
  CHECK(log.exposure.hours == near(200.0 / 3600, 1e-9));
  refused(text + "{\"job_name\": \"other\", \"job_start_time\": 1704071100.0}\n", "several_jobs", "log:11");
}

TEST_CASE("a training log gives restarts, repeated iterations and speed, and planned exits apart") {
  const auto line = [](const std::string& time, int iteration) {
    return " [" + time + "] iteration " + std::to_string(iteration) +
           "/ 500 | consumed samples: 1 | elapsed time per iteration (ms): 20000.0 | throughput per GPU "
           "(TFLOP/s/GPU): 400.5 | learning rate: 1E-05 | global batch size:   128 | lm loss: 1.0E+01 |\n";
  };
  std::string text = "using world size: 64, data-parallel-size: 8\n  seq_length ............... 8192\n";
  text += line("2025-08-01 07:00:20", 1) + line("2025-08-01 07:00:40", 2) + line("2025-08-01 07:00:40", 2);
  text += "using world size: 64, data-parallel-size: 8\n" + line("2025-08-01 07:10:40", 2);
  text += "[exiting program at iteration 2] datetime\nusing world size: 64\n" + line("2025-08-01 07:20:40", 3);
  LogOptions options;
  CHECK(thrown::by([&] { (void)read(text, options); }).code() == "no_time_zone");
  options.clock.zone = find_time_zone("America/New_York", "test");
  const FailureLog log = read(text, options);
  CHECK(log.format == LogFormat::training);
  CHECK(counted(log) == 1);
  CHECK(counted(log, Ending::planned) == 1);
  REQUIRE(log.training);
  CHECK(log.training->iterations == 4);
  CHECK(log.training->repeated == 1);
  CHECK(log.training->tokens_per_second == near(128 * 8192 / 20.0, 1e-6));
  CHECK(log.training->tflops_per_accelerator == near(400.5, 1e-6));
  CHECK(log.exposure.accelerators() == near(64, 1e-12));
  CHECK(log.exposure.hours == near((20 * 60 + 40.0) / 3600, 1e-9));
}

TEST_CASE("a log cannot be read without its size and its time, and says which is missing") {
  CHECK(thrown::by([] { (void)read(list, {}); }).code() == "missing_option");
  const std::string counts = "category,count\nGPU,3\n";
  CHECK(thrown::by([&] { (void)read(counts); }).code() == "missing_option");
  const std::string one = "time,node\n2024-05-01T10:00:00Z,n1\n";
  CHECK(thrown::by([&] { (void)read(one); }).code() == "no_window");
  CHECK(counted(read(one, ten_days())) == 1);
  const std::string none = "time,node\n";
  CHECK(thrown::by([&] { (void)read(none); }).code() == "missing_option");
  CHECK(counted(read(none, ten_days())) == 0);
  LogOptions clash = of_size(80);
  clash.nodes = Count(11);
  clash.window = days(1);
  CHECK(thrown::by([&] { (void)read(counts, clash); }).code() == "conflict");
}

TEST_CASE("a window from the first event to the last leaves the first one out and says so") {
  const FailureLog log = read(list);
  CHECK(warned(log, "window_from_events"));
  CHECK(counted(log) == 2);
  CHECK(counted(log, Ending::opens_window) == 1);
  CHECK(log.exposure.begin_derived);
}

TEST_CASE("rows that cannot be believed are refused at their line and column") {
  refused("time,end,node\n2024-05-02T00:00:00Z,2024-05-01T00:00:00Z,n1\n", "end_before_start", "log:2:2");
  refused("time,node\n2024-05-02T00:00:00Z,n1\nyesterday,n1\n", "bad_time", "log:3:1");
  refused("time,node\n,n1\n", "no_time", "log:2:1");
  refused("time,downtime\n2024-05-02T00:00:00Z,5\n", "no_unit", "log:2:2");
  refused("time,planned\n2024-05-02T00:00:00Z,perhaps\n", "bad_value", "log:2:2");
  refused("time,node\n2024-05-02T00:00:00Z,n1\n12,n1\n", "mixed_times", "log:3:1");
  refused("time,node\n12,n1\n", "no_unit", "log:2:1");
  refused("time,node\n2024-05-02T00:00:00Z,n1,n2\n", "bad_row", "log:2:1");
  refused("category,count\nGPU,2.5\n", "bad_value", "log:2:2");
  refused("category,count\nGPU,nan\n", "bad_value", "log:2:2");
  refused("a,b\n1,2\n", "unknown_format", "log:1");
  refused("", "empty_file", "log:1:1");
  refused("{\"a\":", "bad_json", "log:1");
  refused("JobID|State|Start|End|NNodes\n1|EXPLODED|2024-05-01T00:00:00Z|2024-05-02T00:00:00Z|1\n", "unknown_state",
          "log:2:2");
  refused("JobID|State|Start|End|NNodes\n1|FAILED|2024-05-03T00:00:00Z|2024-05-02T00:00:00Z|1\n", "end_before_start",
          "log:2:4");
}

TEST_CASE(
    "events that their category's name alone makes no failures are said, and a column planned has the last word") {
  LogOptions options;
  options.accelerators = Count(16384);
  options.window = days(54);
  const auto read = [&](const std::string& text) { return read_failure_log(text, "log.csv", options); };
  const FailureLog by_word = read("component,count\nFaulty GPU,148\nHost Maintenance,32\n");
  CHECK(warned(by_word, "excluded_by_word"));
  CHECK(by_word.events[1].ending == Ending::maintenance);
  const FailureLog said = read("component,count,planned\nFaulty GPU,148,no\nHost Maintenance,32,no\n");
  CHECK_FALSE(warned(said, "excluded_by_word"));
  CHECK(said.events[1].ending == Ending::failure);
  CHECK_FALSE(warned(read("component,count\nFaulty GPU,148\nUnplanned Maintenance,32\n"), "excluded_by_word"));
  CHECK_FALSE(warned(read("component,count\nFaulty GPU,148\nHost Maintenance,0\n"), "excluded_by_word"));
}
