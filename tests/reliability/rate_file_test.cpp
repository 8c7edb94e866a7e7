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
  CHECK(file.rate.per_accelerator_hour == near(s.rate().per_accelerator_hour, 1e-14));
  CHECK(file.rate.accelerators_per_node.value == 4);
  CHECK(file.rate.events == 42);
  CHECK(file.observed_on.value == near(1024, 1e-12));
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
