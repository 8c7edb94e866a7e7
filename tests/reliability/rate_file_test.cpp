// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/reliability/rate_file.hpp"

#include <doctest/doctest.h>

#include <string>

#include "floplan/reliability/failure_log_reader.hpp"
#include "floplan/report/reliability_fit.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

FailureStudy study(const std::string& counts) {
  LogOptions options;
  options.accelerators = Count(1024);
  options.accelerators_per_node = Count(4);
  options.window = days(30);
  return study_failures(read_failure_log("category,count\n" + counts, "log.csv", options));
}

std::string written(const FailureStudy& s) {
  return report::json_text({{"command", "reliability fit"}, {"result", report::failure_study_json(s)}});
}

}  // namespace

TEST_CASE("a written rate is read again to the same rate") {
  const FailureStudy s = study("GPU,40\nNIC,2\n");
  const RateFile file = read_rate_file(written(s), "RATE.json");
  const InterruptionRate rate = file.rate(Count(4096));
  CHECK(rate.per_accelerator_hour == near(s.per_accelerator_hour.value, 1e-14));
  CHECK(rate.per_job_hour == 0);
  CHECK(rate.accelerators_per_node.value == 4);
  CHECK(*rate.events == near(42.5, 1e-12));  // Jeffreys' half more than were counted
  CHECK(file.observed_on.value == near(1024, 1e-12));
}

TEST_CASE("what the run does itself is a rate an hour of job, from a log and from its file, as the projection has it") {
  LogOptions options;
  options.accelerators = Count(1024);
  options.window = days(30);
  StudyOptions sizes;
  sizes.project = {Count(16384)};
  const FailureStudy s =
      study_failures(read_failure_log("category,count\nGPU,40\nSoftware Bug,20\n", "log.csv", options), sizes);
  const RateFile file = read_rate_file(written(s), "RATE.json");
  for (const Count size : {Count(1024), Count(16384)}) {
    const RateProjection& expected = s.projections[size.value == 1024 ? 0 : 1];
    const InterruptionRate rate = s.rate(size);
    CHECK(rate.per_day(size) == near(expected.per_day.value, 1e-12));
    CHECK(in_hours(rate.mtbf(size)) == near(expected.mtbf_hours.value, 1e-12));
    CHECK(rate.per_node_day(size) * size.value / 8 == near(rate.per_day(size), 1e-12));
    const InterruptionRate again = file.rate(size);
    CHECK(again.per_accelerator_hour == near(rate.per_accelerator_hour, 1e-12));
    CHECK(again.per_job_hour == near(rate.per_job_hour, 1e-12));
    CHECK(*again.events == near(*rate.events, 1e-9));
  }
  CHECK(*s.rate(Count(1024)).events == near(60.5, 1e-12));
  CHECK(*s.rate(Count(16384)).events == near(40.5, 0.1));
}

TEST_CASE("bursts widen the rate that is planned with, through the file too") {
  std::string log = "time_s\n";
  for (int burst = 0; burst < 12; ++burst) {
    for (int i = 0; i < 8; ++i) log += std::to_string(burst * 200000 + 1000 * i) + "\n";
  }
  LogOptions options;
  options.accelerators = Count(1024);
  options.window = days(30);
  options.start = "0s";
  const FailureStudy s = study_failures(read_failure_log(log, "log.csv", options));
  REQUIRE(s.dispersion.overdispersed);
  const double events = *s.rate(Count(1024)).events;
  CHECK(events == near((s.failures + 0.5) / s.dispersion.index, 1e-9));
  CHECK(*read_rate_file(written(s), "RATE.json").rate(Count(1024)).events == near(events, 1e-9));
}

TEST_CASE("a file without a rate is refused, a bound too") {
  const auto code = [](const std::string& text) {
    return thrown::by([&] { (void)read_rate_file(text, "R.json"); }).code();
  };
  CHECK(code("{}") == "missing_key");
  CHECK(code("{\"error\": {\"code\": \"x\"}}") == "bad_value");
  CHECK(code("{\"result\": {\"events\": \"many\"}}") == "bad_value");
  CHECK(code("[") == "bad_json");
  const Error bound = thrown::by([] { (void)read_rate_file(written(study("GPU,0\n")), "R.json"); });
  CHECK(bound.failure() == Failure::no_answer);
}
