// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <string>

#include "cli/cli.hpp"
#include "cli/json_shape.hpp"
#include "support/reference.hpp"
#include "support/temporary_folder.hpp"

using cli::Arguments;
using cli::ask;
using cli::check_refused;
using cli::Json;
using cli::operator+;

namespace {

const std::string counts = "component,category,count\nFaulty GPU,GPU,148\nSwitch,Network,35\nBug,Dependency,54\n";

}  // namespace

TEST_CASE("reliability fit has the keys of the interface, and its file gives goodput its rate") {
  const TemporaryFolder folder;
  const std::string log = folder.file("log.csv", counts).string();
  const Arguments command = {"reliability", "fit",       log,  "--accelerators", "16384", "--window",
                             "54d",         "--project", "1e5"};
  const Json result = ask(command)["result"];
  CHECK(result["format"] == "counts");
  CHECK(result["events"] == 237);
  CHECK(result["exposure"]["node_days"] == 110592);
  CHECK(result["exposure"]["accelerator_hours"] == 21233664);
  for (const std::string key : {"rate_per_node_day", "mtbf_hours", "rate_per_accelerator_hour"}) {
    INFO(key);
    const Json& estimate = result.at(key);
    CHECK(estimate["low"].get<double>() < estimate["value"].get<double>());
    CHECK(estimate["high"].get<double>() > estimate["value"].get<double>());
    CHECK(estimate["level"] == 0.9);
  }
  for (const std::string key : {"excluded", "trend", "dispersion", "lemons", "project", "by_category"}) {
    INFO(key);
    CHECK(result.contains(key));
  }
  CHECK(result["by_category"].size() == 3);
  CHECK(result["project"].size() == 2);
  const std::string rate = (folder / "rate.json").string();
  CHECK(cli::run(command + Arguments{"--out", rate}).status == 0);
  const Json goodput = ask({"reliability", "goodput", "--count", "16384", "--stall", "10s", "--restart", "5min",
                            "--rate-from", rate})["result"];
  CHECK(goodput["mtbf_hours"].get<double>() == doctest::Approx(result["mtbf_hours"]["value"].get<double>()));
  CHECK(goodput["rate_source"] == rate);
  // A plan takes the log itself, or the file.
  const Arguments plan = {"plan", "llama3_405b", "--runs", "200", "--rate-from"};
  const Json by_log =
      ask(plan + Arguments{log, "--set", "reliability.log.accelerators=16384", "--set", "reliability.log.window=54d"});
  const Json by_file = ask(plan + Arguments{rate});
  for (const Json& answer : {by_log, by_file}) {
    CHECK(answer["result"]["mtbf_hours"].get<double>() == doctest::Approx(result["mtbf_hours"]["value"].get<double>()));
    CHECK(answer["inputs"]["reliability"]["rate_per_job_day"].is_number());
  }
  CHECK(by_log["inputs"]["reliability"]["rate_source"] == log);
  check_refused(plan + Arguments{log}, 2, "reliability.log.window");
}

TEST_CASE("a log without failures has a bound and null for what is not known") {
  const TemporaryFolder folder;
  const std::string log = folder.file("log.csv", "time,node\n").string();
  const Json answer = ask({"reliability", "fit", log, "--nodes", "10", "--per-node", "8", "--start",
                           "2024-05-01T00:00:00Z", "--end", "2024-05-11T00:00:00Z"});
  CHECK(answer["result"]["mtbf_hours"]["value"].is_null());
  CHECK(answer["result"]["mtbf_hours"]["high"].is_null());
  CHECK(answer["result"]["mtbf_hours"]["low"].get<double>() > 0);
  CHECK(answer["result"]["rate_per_node_day"]["high"].get<double>() > 0);
  CHECK(answer["result"]["events"] == 0);
}

TEST_CASE("logs that cannot be read are refused with their place and exit status") {
  const TemporaryFolder folder;
  const std::string log = folder.file("log.csv", "time,node\n2024-05-01 10:00,n1\n").string();
  const Arguments size = {"--accelerators", "80"};
  check_refused(Arguments{"reliability", "fit", log} + size, 4, log + ":2:1");
  check_refused(Arguments{"reliability", "fit", log, "--timezone", "Atlantis"} + size, 2, "--timezone");
  check_refused(Arguments{"reliability", "fit", log, "--timezone", "UTC"} + size, 5, log);
  check_refused({"reliability", "fit", log, "--timezone", "UTC", "--window", "1d", "--start", "2024-05-01"}, 2,
                "--accelerators");
  check_refused(Arguments{"reliability", "fit", log, "--format", "diary"} + size, 2, "--format");
}
