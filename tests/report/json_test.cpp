// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "floplan/core/random.hpp"
#include "floplan/report/catalog_json.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/plan_json.hpp"
#include "plan/requests.hpp"

using namespace floplan;
using report::Json;

TEST_CASE("numbers round-trip through JSON to the last bit") {
  RandomStream stream(11);
  for (int i = 0; i < 20000; ++i) {
    const double x = (i % 2 == 0 ? 1 : -1) * std::pow(10, -300 + 600 * stream.uniform());
    const double back = Json::parse(report::json_text(Json(x))).get<double>();
    CHECK(std::memcmp(&x, &back, sizeof x) == 0);
  }
}

TEST_CASE("a whole count is an integer, and what is no integer stays a number") {
  CHECK(report::count_json(Parameters(405853388800)).dump() == "405853388800");
  CHECK(report::count_json(Tokens(15.6e12)).dump() == "15600000000000");
  CHECK(report::count_json(Tokens(0.5)).dump() == "0.5");
  CHECK(report::count_json(9007199254740992.0).is_number_integer());
  CHECK(report::count_json(1e300).is_number_float());
  CHECK(report::count_json(1e300).get<double>() == 1e300);
  CHECK(report::count_json(std::optional<Count>()).is_null());
}

TEST_CASE("distributions, intervals, estimates and envelopes have the keys of the interface") {
  const Json d = report::to_json(Distribution{1, 2, 3, 4, 5, 6, 7});
  CHECK(d.dump() == R"({"mean":1.0,"sd":2.0,"p05":3.0,"p10":4.0,"p50":5.0,"p90":6.0,"p95":7.0})");
  CHECK(report::to_json(Interval{1, 2, 0.9}).dump() == R"({"low":1.0,"high":2.0,"level":0.9})");
  CHECK(report::to_json(Estimate{1, 2, {3, 4, 0.8}}).dump() ==
        R"({"value":1.0,"se":2.0,"low":3.0,"high":4.0,"level":0.8})");
  CHECK(
      report::envelope("plan", "1", Json::object(), Json{{"x", 1}}, {{"code", "text"}}).dump() ==
      R"({"command":"plan","version":"1","inputs":{},"result":{"x":1},"warnings":[{"code":"code","message":"text"}]})");
  CHECK(report::envelope("plan", "1", "usage", "text", "--x").dump() ==
        R"({"command":"plan","version":"1","error":{"code":"usage","message":"text","where":"--x"}})");
}

TEST_CASE("bytes that are not UTF-8 do not stop an answer from being printed") {
  const std::string text = report::json_text(Json{{"where", "\xff\xfe.toml"}});
  CHECK(Json::accept(text));
  CHECK(text.back() == '\n');
}

TEST_CASE("an exact input is a number and an uncertain one an interval of 80%") {
  CHECK(report::to_json(plan::Uncertain<Seconds>(Seconds(5))).dump() == "5.0");
  const Json u = report::to_json(plan::Uncertain<Seconds>::range(Seconds(100), Seconds(400)));
  CHECK(u["low"] == 100);
  CHECK(u["central"] == 200);
  CHECK(u["high"] == 400);
  CHECK(u["level"] == 0.8);
}

TEST_CASE("a plan's JSON holds the plan's own numbers") {
  plan::Request r = requests::llama3_405b({{"deadline", "90d"}});
  r.draws = 200;
  const plan::Plan p = plan::make_plan(r);
  const Json j = Json::parse(report::json_text(report::to_json(p)));
  CHECK(j["ettr"].get<double>() == p.ettr);
  CHECK(j["training_flop"].get<double>() == p.training_flop.value);
  CHECK(j["wall_clock_days"]["p90"].get<double>() == p.wall_clock_days.p90);
  CHECK(j["cost_usd"]["mean"].get<double>() == p.cost_usd->mean);
  CHECK(j["deadline"]["probability"].get<double>() == p.deadline->probability);
  CHECK(j["stages"].size() == p.stages.size());
  CHECK(j["sensitivity"].size() == p.sensitivity.size());
  CHECK(j["draws"] == 200);
  CHECK(j["complete"] == true);
  const Json inputs = report::inputs_json(p.request);
  CHECK(inputs["stage"][0]["count"] == 8192);
  CHECK(inputs["reliability"]["restart_s"]["low"] == 240);
  CHECK(inputs["deadline_days"] == 90);
}
