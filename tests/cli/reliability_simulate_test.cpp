// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "cli/cli.hpp"
#include "cli/json_shape.hpp"

using cli::Arguments;
using cli::ask;
using cli::check_refused;
using cli::Json;
using cli::operator+;

namespace {

const Arguments simulate = {"reliability", "simulate", "llama3_405b", "--runs", "300", "--seed", "3"};
const Arguments spares = {"reliability", "spares", "--nodes", "2048", "--rate", "3.79e-3", "--repair", "24h"};
const Arguments project = {"reliability", "project", "--stall", "10s", "--restart", "5min"};

}  // namespace

TEST_CASE("the simulated ready plan has the closed form's days and shares that sum to one") {
  const Json r = ask(simulate + Arguments{"--fixed-inputs"})["result"];
  CHECK(r.at("runs") == 300);
  CHECK(r.at("complete") == true);
  const double days = r.at("mean_days").at("value").get<double>();
  const double se = r.at("mean_days").at("se").get<double>();
  const double expected = r.at("closed_form").at("wall_clock_days").get<double>();
  CHECK(std::abs(days - expected) <= 4 * se + 3e-4 * expected);
  double sum = r.at("ettr").get<double>();
  for (const auto& share : r.at("waste")) sum += share.get<double>();
  CHECK(std::abs(sum - 1) < 1e-9);
  CHECK(r.at("interruptions").at("p10") <= r.at("interruptions").at("p90"));
}

TEST_CASE("a simulation is the same at any thread count, spreads more with its inputs, and knows a deadline") {
  const Json one = ask(simulate + Arguments{"--threads", "1", "--deadline", "100d"})["result"];
  const Json two = ask(simulate + Arguments{"--threads", "2", "--deadline", "100d"})["result"];
  CHECK(one == two);
  const Json fixed = ask(simulate + Arguments{"--fixed-inputs"})["result"];
  CHECK(one.at("wall_clock_days").at("sd") > fixed.at("wall_clock_days").at("sd"));
  CHECK(one.at("deadline").at("probability") == 1);
}

TEST_CASE("spares are Erlang's and say so, with Palm's beside them") {
  const Json r = ask(spares)["result"];
  CHECK(r.at("spares") == 14);
  CHECK(r.at("rule") == "erlang_b");
  CHECK(r.at("palm").at("spares") == 15);
  const Json at = ask(spares + Arguments{"--spares", "8"})["result"].at("at");
  CHECK(at.at("spares") == 8);
  check_refused(spares + Arguments{"--level", "1.5"}, 2, "level must be between 0 and 1");
}

TEST_CASE("a projection falls with size, names the most useful one and the restart that a target allows") {
  const Json r = ask(project + Arguments{"--sizes", "16384,100000", "--work", "70d"})["result"];
  REQUIRE(r.at("sizes").size() == 2);
  CHECK(r.at("sizes")[0].at("ettr") > r.at("sizes")[1].at("ettr"));
  CHECK(r.at("sizes")[0].at("longest_restart_s").get<double>() > 600);
  CHECK(r.at("sizes")[1].at("longest_restart_s").is_null());
  CHECK(r.at("most_useful").at("count").get<double>() > 100000);
  CHECK(r.at("improvements").size() >= 4);
  const Json tiers = ask(project + Arguments{"--sizes", "100000", "--memory-stall", "0.3s"})["result"];
  CHECK(tiers.at("sizes")[0].at("longest_restart_s").get<double>() > 60);
}
