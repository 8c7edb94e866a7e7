// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/json_shape.hpp"
#include "support/reference.hpp"

using cli::Arguments;
using cli::ask;
using cli::check_refused;
using cli::Json;
using cli::operator+;

namespace {

const Arguments interval = {"reliability", "interval", "--mtbf", "6h", "--write", "5min"};
const Arguments goodput = {"reliability", "goodput", "--count", "16384", "--stall", "10s", "--restart", "5min"};

double sum_of_shares(const Json& result) {
  double sum = result.at("ettr").get<double>();
  for (const std::string key : {"checkpoint", "lost_work", "restart", "maintenance", "stragglers"})
    sum += result.at("waste").at(key).get<double>();
  return sum;
}

}  // namespace

TEST_CASE("the best intervals are those of Daly's table") {
  for (const reference::Row& row : reference::rows("plan_intervals.csv")) {
    const Json result = ask({"reliability", "interval", "--mtbf", row.text("mtbf"), "--write", "5min"})["result"];
    reference::check(row, result.at(row.text("key")).get<double>() / row.number("unit_s"));
  }
}

TEST_CASE("effective training time and run time are those of Daly's figures and of Llama 3's rate") {
  for (const reference::Row& row : reference::rows("plan_goodput.csv")) {
    Arguments command = {"reliability", "goodput",           "--stall",    row.text("stall"),
                         "--restart",   row.text("restart"), "--interval", row.text("interval")};
    command = command + (row.has("mtbf") ? Arguments{"--mtbf", row.text("mtbf")}
                                         : Arguments{"--count", "16384", "--rate-from", "llama3-2024"});
    if (row.has("work")) command = command + Arguments{"--work", row.text("work")};
    reference::check(row, ask(command)["result"].at(row.text("key")).get<double>());
  }
}

TEST_CASE("interval and goodput have the keys of the interface") {
  const Json best = ask(interval + Arguments{"--restart", "10min"})["result"];
  for (const std::string key :
       {"mtbf_hours", "interval_s", "young_s", "daly_s", "exact_s", "ettr", "ettr_first_order"}) {
    INFO(key);
    CHECK(best.at(key).is_number());
  }
  CHECK(best["interval_s"] == best["exact_s"]);
  CHECK(sum_of_shares(best) == doctest::Approx(1));
  const Json result = ask(goodput + Arguments{"--work", "80d"})["result"];
  for (const std::string key : {"mtbf_hours", "rate_per_node_day", "interval_s", "young_s", "daly_s", "exact_s", "ettr",
                                "ettr_first_order", "failures"}) {
    INFO(key);
    CHECK(result.at(key).is_number());
  }
  cli::check_distribution(result.at("wall_clock_days"), "wall_clock_days");
  CHECK(sum_of_shares(result) == doctest::Approx(1));
  CHECK(result["mtbf_hours"].get<double>() == doctest::Approx(3.093).epsilon(1e-3));
  CHECK(result["rate_per_node_day"].get<double>() == doctest::Approx(3.79e-3).epsilon(1e-3));
  CHECK(result["accelerator_hours_per_interruption"].get<double>() == doctest::Approx(50677).epsilon(1e-4));
  CHECK(result["wall_clock_days"]["mean"].get<double>() == doctest::Approx(80 / result["ettr"].get<double>()));
}

TEST_CASE("no quantile of a run time is below the failure-free time, however few the failures") {
  for (const std::string count : {"1", "64", "1024", "16384"}) {
    INFO(count);
    const Json result = ask({"reliability", "goodput", "--count", count, "--stall", "10s", "--restart", "5min",
                             "--work", "10d", "--interval", "1h"})["result"];
    cli::check_distribution(result["wall_clock_days"], "wall_clock_days");
    CHECK(result["wall_clock_days"]["p05"].get<double>() >= 10 * (3610.0 / 3600) * (1 - 1e-12));
  }
}

TEST_CASE("an assumed rate is said, and a rate from a record, given or by MTBF agree") {
  CHECK(cli::warns(ask(goodput), "assumed"));
  const Json record = ask(goodput + Arguments{"--rate-from", "llama3-2024"});
  CHECK_FALSE(cli::warns(record, "assumed"));
  const std::string rate = record["result"]["rate_per_node_day"].dump();
  const double ettr = record["result"]["ettr"].get<double>();
  CHECK(ask(goodput + Arguments{"--rate", rate})["result"]["ettr"].get<double>() ==
        doctest::Approx(ettr).epsilon(1e-12));
  const std::string mtbf = record["result"]["mtbf_hours"].dump() + "h";
  CHECK(ask({"reliability", "goodput", "--mtbf", mtbf, "--stall", "10s", "--restart", "5min"})["result"]["ettr"]
            .get<double>() == doctest::Approx(ettr).epsilon(1e-12));
}

TEST_CASE("conditions that an expert would question are remarked on") {
  CHECK(cli::warns(ask({"reliability", "interval", "--mtbf", "6h", "--write", "7h"}), "checkpoint_exceeds_mtbf"));
  const Json slow = ask({"reliability", "goodput", "--count", "16384", "--stall", "10s", "--restart", "5h"});
  CHECK(cli::warns(slow, "first_order_breaks"));
  CHECK(cli::warns(slow, "restart_exceeds_mtbf"));
  CHECK(cli::warns(ask({"reliability", "goodput", "--count", "64", "--stall", "10s", "--restart", "5min"}),
                   "rate_at_small_scale"));
  CHECK(cli::warns(ask({"reliability", "goodput", "--count", "100000", "--stall", "10s", "--restart", "5min"}),
                   "rate_extrapolated"));
}

TEST_CASE("wrong values name their option") {
  check_refused({"reliability", "interval", "--mtbf", "0", "--write", "5min"}, 2, "--mtbf");
  check_refused({"reliability", "interval", "--mtbf", "6h", "--write", "0"}, 2, "--write");
  check_refused({"reliability", "interval", "--mtbf", "6h", "--write", "5"}, 2, "--write");
  check_refused({"reliability", "interval", "--mtbf", "6h", "--write", "1e300s"}, 2, "--write");
  check_refused({"reliability", "interval", "--mtbf", "6h"}, 2, "--write");
  check_refused({"reliability", "interval", "--write", "5min"}, 2, "--mtbf");
  check_refused(interval + Arguments{"--rate", "1e-3"}, 2, "--mtbf");
  check_refused(interval + Arguments{"--accelerators-per-node", "4"}, 2, "--accelerators-per-node");
  check_refused(interval + Arguments{"--restart", "-1s"}, 2, "--restart");
  check_refused(goodput + Arguments{"--interval", "0"}, 2, "--interval");
  check_refused({"reliability", "goodput", "--count", "8", "--stall", "1s", "--restart", "4min..8min"}, 2,
                "one value is wanted here");
  check_refused(goodput + Arguments{"--work", "0"}, 2, "--work");
  check_refused(goodput + Arguments{"--rate", "0"}, 2, "--rate");
  check_refused(goodput + Arguments{"--rate", "1", "--rate-from", "llama3-2024"}, 2, "--rate");
  check_refused({"reliability", "goodput", "--count", "0", "--stall", "1s", "--restart", "1s"}, 2, "--count");
  check_refused({"reliability", "goodput", "--count", "1.5", "--stall", "1s", "--restart", "1s"}, 2, "--count");
  check_refused({"reliability", "goodput", "--count", "1e300", "--stall", "1s", "--restart", "1s"}, 2, "--count");
  check_refused({"reliability", "goodput", "--count", "8", "--stall", "0", "--restart", "1s"}, 2, "--stall");
  CHECK(ask({"reliability", "goodput", "--count", "8", "--stall", "0", "--restart", "0", "--interval",
             "1h"})["result"]["ettr"] > 0.99);
}
