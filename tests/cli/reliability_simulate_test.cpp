// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <csignal>
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

TEST_CASE("an interrupt ends a long simulation with the runs that it has, says so, and exits with 130") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const cli::Result result =
        cli::run({"reliability", "simulate", "llama3_405b", "--runs", "9000000", "--threads", "1", "--json"},
                 {.signal = signal, .signal_after = std::chrono::milliseconds(1500)});
    CHECK(result.signal == 0);
    CHECK(result.status == 130);
    REQUIRE(Json::accept(result.out));
    const Json answer = Json::parse(result.out);
    if (answer.contains("error")) {  // a busy machine: interrupted before the first batch
      CHECK(answer["error"]["code"] == "interrupted");
      continue;
    }
    CHECK(answer["result"]["complete"] == false);
    CHECK(answer["result"]["asked"] == 9000000);
    CHECK(answer["result"]["runs"] > 0);
    CHECK(answer["result"]["runs"] < 9000000);
    CHECK(answer["inputs"]["draws"] == 9000000);
    CHECK(cli::warns(answer, "interrupted"));
  }
  const cli::Result text = cli::run({"reliability", "simulate", "llama3_405b", "--runs", "9000000", "--threads", "1"},
                                    {.signal = SIGINT, .signal_after = std::chrono::milliseconds(1500)});
  CHECK((text.out.find("of 9000000 runs (stopped early)") != std::string::npos ||
         text.err.find("interrupted") != std::string::npos));
}

TEST_CASE("a bar on a terminal tells how far a simulation is and goes away, and nowhere else is one drawn") {
  const Arguments plain = simulate;
  const cli::Result on_terminal = cli::run(plain, {.err_terminal = true});
  CHECK(on_terminal.status == 0);
  CHECK(on_terminal.err.find("300 of 300") != std::string::npos);
  CHECK(on_terminal.err.find("[====") != std::string::npos);
  CHECK(on_terminal.err.find("\r\033[K") != std::string::npos);
  const cli::Result piped = cli::run(plain);
  CHECK(on_terminal.out == piped.out);
  CHECK(piped.err.find("300 of 300") == std::string::npos);
  CHECK(piped.err.find('\r') == std::string::npos);
  const cli::Result quiet = cli::run(plain + Arguments{"--quiet"}, {.err_terminal = true});
  CHECK(quiet.err.find("300 of 300") == std::string::npos);
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
