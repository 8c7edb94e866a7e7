// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "floplan/core/csv.hpp"
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

TEST_CASE("the table of stages holds every digit as CSV") {
  const plan::Plan p = plan_405b();
  const CsvTable t = parse_csv(report::stage_table(p).csv(), "stages.csv");
  REQUIRE(t.size() == p.stages.size());
  for (std::size_t i = 0; i < t.size(); ++i) {
    const auto value = [&](const char* column) { return std::stod(std::string(t.row(i)[t.column(column)])); };
    CHECK(t.row(i)[t.column("stage")] == p.stages[i].request.name);
    CHECK(value("tokens") == p.stages[i].request.tokens.value);
    CHECK(value("MFU") == p.stages[i].mfu);
    CHECK(value("accelerator-hours") == p.stages[i].expected_hours.value);
    CHECK(value("ETTR") == p.stages[i].completion.ettr);
  }
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
