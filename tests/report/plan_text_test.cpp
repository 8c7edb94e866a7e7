// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "floplan/core/csv.hpp"
#include "floplan/report/plan_explanation.hpp"
#include "floplan/report/plan_text.hpp"
#include "plan/requests.hpp"

using namespace floplan;

namespace {

plan::Plan plan_405b(const std::vector<std::pair<std::string, std::string>>& overrides = {}) {
  plan::Request r = requests::llama3_405b(overrides);
  r.draws = 500;
  return plan::make_plan(r);
}

bool says(const std::string& text, const std::string& words) {
  INFO("\"" << words << "\" in\n" << text);
  CHECK(text.find(words) != std::string::npos);
  return true;
}

}  // namespace

TEST_CASE("the text of a plan names what every figure depends on") {
  const std::string text = report::plan_text(plan_405b({{"deadline", "90d"}}));
  says(text, "Llama 3.1 405B on h100-sxm");
  says(text, "405.9B parameters, 15.6T tokens");
  says(text, "6N + causal attention");
  says(text, "besiroglu-2024");
  says(text, "dense bf16 peak of 989 TFLOP/s");
  says(text, "llama3-2024");
  says(text, "the exact optimum");
  says(text, "as model cards count");
  says(text, "node power 970W an accelerator x PUE 1.08");
  says(text, "finished within 90 d with probability");
  says(text, "80% from");
  CHECK(text.find("nan") == std::string::npos);
  CHECK(text.find("inf") == std::string::npos);
}

TEST_CASE("the attention convention stands beside every MFU") {
  says(report::plan_text(plan_405b({{"attention", "none"}})), "MFU: 6N FLOP over the dense");
  says(report::plan_text(plan_405b({{"attention", "full"}})), "MFU: 6N + full attention FLOP over the dense");
  says(report::plan_text(plan_405b({{"parameters", "405B"}})), "MFU: 6N FLOP over the dense");
}

TEST_CASE("the formulas are printed with the plan's own numbers in place") {
  const plan::Plan p = plan_405b();
  const std::string text = report::explain_text(p);
  says(text, "6 x 126 x 16384 x 8192");
  says(text, "4.058533888e11");
  says(text, print_number(p.main().conditions.interval.value, 5) + " s");
  says(text, print_number(p.main().completion.ettr, 5));
  says(text, print_number(p.expected_hours.value, 5) + " accelerator-hours expected");
  says(text, "x 0.383 kg/kWh x PUE 1.08");
  says(report::explain_text(plan_405b({{"attention", "full"}})), "6 N + 12 L a s");
  says(report::explain_text(plan_405b({{"attention", "none"}})), "f = 6 N = 6 x");
  says(report::explain_text(plan_405b({{"checkpoint.interval", "30min"}})), "tau = 1800 s, as given");
  says(report::explain_text(plan_405b({{"reliability.unexplained_stops", "0.1"}})), "T x (1 + 0.1)");
}

TEST_CASE("the formulas of two checkpoint tiers are printed with the plan's own numbers in place") {
  const plan::Plan p = plan_405b({{"checkpoint.memory.stall", "0.3s"}, {"checkpoint.memory.restart", "2min"}});
  const std::string text = report::explain_text(p);
  const reliability::Conditions& c = p.main().conditions;
  says(text, "t1 = " + print_number(c.memory->interval.value, 5) + " s, c1 = 0.3 s");
  says(text, "R1 = 120 s");
  says(text, "T = sum of these = " + print_number(p.main().completion.wall_clock.value, 5) + " s");
  says(text, print_number(p.main().completion.ettr, 5));
  CHECK(text.find("Daly 2006") == std::string::npos);
}

TEST_CASE("an ETTR beside a stage's days is that of those days, with unexplained stops too") {
  const plan::Plan p = plan_405b({{"reliability.unexplained_stops", "0.2"}});
  const CsvTable t = parse_csv(report::stage_table(p).csv(), "stages.csv");
  for (std::size_t i = 0; i < t.size(); ++i) {
    const auto value = [&](const char* column) { return std::stod(std::string(t.row(i)[t.column(column)])); };
    CHECK(value("ETTR") ==
          doctest::Approx(value("ideal accelerator-hours") / value("accelerator-hours")).epsilon(1e-12));
  }
  says(report::explain_text(p), "ETTR with them");
}

TEST_CASE("all draws or none within a deadline give a bound on the probability") {
  says(report::plan_text(plan_405b({{"deadline", "300d"}})), "finished within 300 d with probability over 0.998");
  says(report::plan_text(plan_405b({{"deadline", "82.5d"}, {"achieved_spread", "0"}})),
       "finished within 82.5 d with probability under 0.002");
  CHECK(report::detail::probability_text(1, 10000) == "over 0.9999");
  CHECK(report::detail::probability_text(0, 10000) == "under 0.0001");
  CHECK(report::detail::probability_text(0.25, 10000) == "0.25");
}

TEST_CASE("a price that is a range reads as one, with its median") {
  says(report::plan_text(plan_405b({{"price.accelerator_hour", "$2/h..$3/h"}})),
       "price $2/h to $3/h (80%), median $2.45/h (given)");
  says(report::plan_text(plan_405b({{"price.accelerator_hour", "h100-sxm-estimate-2026-05"}})),
       "price $1.7/h to $5/h (80%), median $2.5/h (h100-sxm-estimate-2026-05)");
}

TEST_CASE("no figure that people read has more digits than they can use") {
  plan::Request r = requests::llama3_405b({{"stage[*].count", "33333"},
                                           {"power.node", "1.23456kW"},
                                           {"price.accelerator_hour", "$1/h..$7/h"},
                                           {"tokens", "9.8765T"},
                                           {"deadline", "77.7d"},
                                           {"reliability.unexplained_stops", "0.123456"}});
  r.draws = 200;
  r.power->node = r.power->accelerator * plan::defaults::node_power_factor * 1.01;
  const plan::Plan p = plan::make_plan(r);
  std::string all = report::plan_text(p) + report::explain_text(p);
  for (const Warning& w : p.warnings) all += w.message + "\n";
  constexpr const char* digits = "0123456789.";
  for (auto at = all.find_first_of(digits); at != std::string::npos; at = all.find_first_of(digits, at)) {
    const auto end = std::min(all.find_first_not_of(digits, at), all.size());
    std::string significant;
    for (const char c : all.substr(at, end - at)) {
      if (c != '.' && (c != '0' || !significant.empty())) significant += c;
    }
    while (significant.ends_with('0')) significant.pop_back();
    // The model's number of parameters, 405853388800, is meant to be exact.
    if (significant != "4058533888") CHECK_MESSAGE(significant.size() <= 7, all.substr(at, 40));
    at = end;
  }
}

TEST_CASE("the table of stages holds every digit as CSV") {
  const plan::Plan p = plan_405b();
  const CsvTable t = parse_csv(report::stage_table(p).csv(), "stages.csv");
  REQUIRE(t.size() == p.stages.size() + 1);
  for (std::size_t i = 0; i < p.stages.size(); ++i) {
    const auto value = [&](const char* column) { return std::stod(std::string(t.row(i)[t.column(column)])); };
    CHECK(t.row(i)[t.column("stage")] == p.stages[i].request.name);
    CHECK(value("tokens") == p.stages[i].request.tokens.value);
    CHECK(value("MFU") == p.stages[i].mfu);
    CHECK(value("accelerator-hours") == p.stages[i].expected_hours.value);
    CHECK(value("ETTR") == p.stages[i].ettr);
    for (const char* column : {"days p10", "accelerator-hours p50", "interruptions p90", "cost (USD) p50"})
      CHECK(t.row(i)[t.column(column)].empty());
  }
  // The last row is the whole run.
  const auto whole = [&](const char* column) { return std::stod(std::string(t.row(t.size() - 1)[t.column(column)])); };
  CHECK(t.row(t.size() - 1)[t.column("stage")] == "whole run");
  CHECK(whole("tokens") == p.tokens.value);
  CHECK(whole("days") == in_days(p.expected_wall_clock));
  CHECK(whole("failures") == p.expected_failures);
  CHECK(whole("planned stops") == p.expected_planned_stops);
  CHECK(whole("ETTR") == p.ettr);
  CHECK(whole("days p10") == p.wall_clock_days.p10);
  CHECK(whole("days p50") == p.wall_clock_days.p50);
  CHECK(whole("days p90") == p.wall_clock_days.p90);
  CHECK(whole("accelerator-hours p50") == p.accelerator_hours.p50);
  CHECK(whole("interruptions p90") == p.interruptions.p90);
  CHECK(whole("cost (USD) p10") == p.cost_usd->p10);
  for (const char* column : {"accelerators", "sequence length", "MFU", "MTBF (h)"})
    CHECK(t.row(t.size() - 1)[t.column(column)].empty());
}

TEST_CASE("a plan without price, power, law, batch or layout still reads well") {
  plan::Request r = requests::only_failures();
  r.draws = 200;
  const plan::Plan p = plan::make_plan(r);
  for (const std::string& text : {report::plan_text(p), report::explain_text(p)}) {
    CHECK(text.find("nan") == std::string::npos);
    CHECK(text.find("USD") == std::string::npos);
    CHECK(text.find("CO2e") == std::string::npos);
  }
}
