// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/cli.hpp"
#include "cli/json_shape.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/request.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/temporary_folder.hpp"

using cli::Arguments;
using cli::ask;
using cli::check_refused;
using cli::Json;
using cli::operator+;

namespace {

const Arguments plan = {"plan", "llama3_405b", "--runs", "200"};
const Arguments no_file = {"plan",    "--model", "llama-3.1-8b", "--accelerator", "h100-sxm", "--tokens", "1T",
                           "--count", "1024",    "--achieved",   "400TFLOP/s",    "--runs",   "200"};

Json at(const Json& from, const std::string& pointer) { return from.at(Json::json_pointer(pointer)); }

struct Case {
  std::string option, path, value, pointer;  // the pointer's value changes
  Arguments beside = {};                     // what the option needs
};

std::vector<Case> cases() {
  const Arguments memory = {"--memory-stall", "0.3s"};
  return {
      {"--model", "model", "llama-3.1-70b", "/result/parameters"},
      {"--params", "parameters", "6.738415616B", "/result/parameters"},
      {"--tokens", "tokens", "20T", "/result/tokens"},
      {"--law", "law", "hoffmann-2022", "/result/loss"},
      {"--loss", "target_loss", "1.9", "/result/tokens"},
      {"--attention", "attention", "full", "/result/training_flop"},
      {"--accelerator", "accelerator", "h200-sxm", "/inputs/accelerator"},
      {"--precision", "precision", "fp8", "/result/mfu"},
      {"--peak", "peak", "1000TFLOP/s", "/result/mfu"},
      {"--count", "stage[*].count", "32768", "/result/mtbf_hours"},
      {"--seq", "stage[*].sequence_length", "16Ki", "/result/training_flop"},
      {"--global-batch", "stage[*].global_batch", "4096", "/result/step_time_s"},
      {"--achieved", "stage[*].achieved", "390TFLOP/s", "/result/ideal_days"},
      {"--mfu", "stage[*].mfu", "38%", "/result/mfu"},
      {"--vp", "stage[*].layout.vp", "4", "/result/stages/1/model/step_time_s"},
      {"--ep", "stage[*].layout.ep", "2", "/inputs/stage"},
      {"--microbatch", "stage[*].layout.microbatch", "2", "/inputs/stage"},
      {"--sharding", "stage[*].layout.sharding", "zero3", "/result/stages/1/memory_bytes/weights"},
      {"--recompute", "stage[*].layout.recompute", "full", "/result/stages/1/memory_bytes/activations"},
      {"--layout", "stage[*].layout", "search", "/result/rate"},
      {"--attention-kernel", "stack.attention", "early", "/result/stages/1/model/step_time_s"},
      {"--elementwise", "stack.elementwise", "eager", "/result/stages/1/model/step_time_s"},
      {"--host", "stack.host", "slow", "/inputs/stack/host/value"},
      {"--sequence-parallel", "stack.sequence_parallel", "no", "/inputs/stack/sequence_parallel/value"},
      {"--overlap", "stack.overlap", "yes", "/result/stages/1/model/step_time_s"},
      {"--scatter-gather", "stack.scatter_gather", "no", "/inputs/stack/scatter_gather/value"},
      {"--gradient-bytes", "stack.gradient_bytes", "2", "/result/stages/1/model/step_time_s"},
      {"--stack", "stack.name", "mosaicml-2023", "/result/stages/1/model/step_time_s"},
      {"--context-exchange", "stack.context_exchange", "ring", "/result/stages/2/model/step_time_s"},
      {"--network", "machine.network", "25GB/s", "/result/stages/1/model/step_time_s"},
      {"--pod", "machine.pod", "3072", "/inputs/machine"},
      {"--achieved-spread", "achieved_spread", "10%", "/result/wall_clock_days/sd"},
      {"--rate-from", "reliability.rate_from", "kokolis-2024-rsc-1", "/result/mtbf_hours"},
      {"--rate", "reliability.rate_per_node_day", "8e-3", "/result/mtbf_hours"},
      {"--restart", "reliability.restart", "20min", "/result/ettr"},
      {"--wait", "reliability.wait", "15min", "/result/ettr"},
      {"--manual-per-day", "reliability.manual_per_day", "1", "/result/ettr"},
      {"--manual-wait", "reliability.manual_wait", "12h", "/result/ettr"},
      {"--planned-per-day", "reliability.planned_per_day", "3", "/result/waste/maintenance"},
      {"--planned-duration", "reliability.planned_duration", "1h", "/result/waste/maintenance"},
      {"--unexplained-stops", "reliability.unexplained_stops", "18%", "/result/unexplained"},
      {"--team", "reliability.team", "practised", "/result/unexplained_factor"},
      {"--stall", "checkpoint.stall", "60s", "/result/checkpoint_interval_s"},
      {"--interval", "checkpoint.interval", "30min", "/result/checkpoint_interval_s"},
      {"--memory-stall", "checkpoint.memory.stall", "0.3s", "/result/memory_checkpoint_interval_s"},
      {"--memory-share", "checkpoint.memory.share", "80%", "/result/ettr", memory},
      {"--memory-restart", "checkpoint.memory.restart", "1min", "/result/ettr", memory},
      {"--memory-wait", "checkpoint.memory.wait", "10s", "/result/ettr", memory},
      {"--price", "price.accelerator_hour", "$4/h", "/result/cost_usd/p50"},
      {"--accelerator-power", "power.accelerator", "1kW", "/result/energy_mwh"},
      {"--node-power", "power.node", "1.4kW", "/result/peak_power_mw"},
      {"--pue", "power.pue", "1.3", "/result/co2e_tonnes"},
      {"--carbon", "power.carbon", "50g/kWh", "/result/co2e_tonnes"},
      {"--energy-basis", "power.basis", "node", "/result/energy_mwh"},
      {"--deadline", "deadline", "95d", "/result/deadline"},
      {"--runs", "draws", "300", "/result/draws"},
      {"--seed", "seed", "2", "/result/wall_clock_days/mean"},
  };
}

}  // namespace

TEST_CASE("the answer of plan has every key of the interface, with the right kind of value") {
  const Json answer = ask({"plan", cli::plan_405b, "--deadline", "90d", "--runs", "500"});
  CHECK(answer["command"] == "plan");
  CHECK(answer["version"].is_string());
  const Json& result = answer["result"];
  for (const std::string key :
       {"parameters", "tokens", "training_flop", "loss", "mfu", "step_time_s", "ideal_days", "mtbf_hours", "ettr",
        "checkpoint_interval_s", "energy_mwh", "peak_power_mw", "co2e_tonnes"}) {
    INFO(key);
    REQUIRE(result.contains(key));
    CHECK(result[key].is_number());
  }
  for (const std::string key : {"wall_clock_days", "accelerator_hours", "interruptions", "cost_usd"}) {
    REQUIRE(result.contains(key));
    cli::check_distribution(result[key], key);
  }
  for (const std::string key : {"tp", "cp", "pp", "dp"}) CHECK(result.at("layout").at(key).is_number_integer());
  REQUIRE(result.at("stages").size() == 3);
  REQUIRE(result.at("sensitivity").is_array());
  for (const Json& s : result["sensitivity"]) {
    CHECK(s.at("input").is_string());
    CHECK(s.at("low").is_number());
    CHECK(s.at("high").is_number());
  }
  for (const std::string key : {"checkpoint", "lost_work", "restart", "maintenance", "stragglers"})
    CHECK(result.at("waste").at(key).is_number());
  CHECK(result.at("deadline").at("probability") > 0.3);
  CHECK(result.at("deadline").at("probability") < 0.7);
  // The conventions that the figures depend on.
  CHECK(result.at("law") == "besiroglu-2024");
  CHECK(result.at("flop_convention") == "6N + causal attention");
  CHECK(result.at("mfu_peak_tflops") == 989);
  CHECK(result.at("energy_basis") == "tdp");
  CHECK(result.at("complete") == true);
  CHECK(result.at("parameters").is_number_integer());
  CHECK(result.at("parameters") == 405853388800);
  // A published law has no known uncertainty, a rate that is given no band but its own, and the plan one checkpoint tier.
  cli::check_no_null(
      answer, "",
      {"result.band", "result.stages[].band", "result.stages[].hfu", "inputs.parameters", "inputs.active_parameters",
       "inputs.stage[].mfu", "inputs.checkpoint.interval_s", "inputs.checkpoint.memory", "inputs.reliability.team",
       "result.unexplained_factor", "result.memory_checkpoint_interval_s",
       "result.stages[].memory_checkpoint_interval_s", "inputs.target_loss", "result.target_loss",
       "result.tokens_to_loss", "result.loss_estimate", "result.loss_new_run"});
}

TEST_CASE("the 405B file gives the published figures on the command line") {
  const Json own = ask({"plan", cli::plan_405b, "--runs", "200"})["result"];
  const Json at_100k = ask({"plan", cli::plan_405b, "--runs", "200", "--count", "100000"})["result"];
  for (const reference::Row& row : reference::rows("plan_405b.csv")) {
    reference::check(row, (row.has("count") ? at_100k : own).at(row.name()).get<double>());
  }
}

TEST_CASE("the inputs are echoed as they were resolved") {
  const Json inputs = ask({"plan", cli::plan_405b, "--restart", "5min", "--price", "$2/h..$3/h", "--deadline", "100d",
                           "--seed", "7", "--runs", "300", "--interval", "15min"})["inputs"];
  CHECK(at(inputs, "/model") == "llama-3.1-405b");
  CHECK(at(inputs, "/law") == "besiroglu-2024");
  CHECK(at(inputs, "/accelerator") == "h100-sxm");
  CHECK(at(inputs, "/peak_tflops") == 989);
  CHECK(at(inputs, "/stage/1/tokens") == 11930000000000);
  CHECK(at(inputs, "/stage/1/count") == 16384);
  CHECK(at(inputs, "/stage/1/achieved_tflops") == 400);
  CHECK(at(inputs, "/reliability/restart_s") == 300);
  CHECK(at(inputs, "/reliability/rate_per_node_day").get<double>() == doctest::Approx(3.789e-3).epsilon(1e-3));
  cli::check_interval(at(inputs, "/reliability/wait_s"), "wait_s");
  cli::check_interval(at(inputs, "/price/usd_per_accelerator_hour"), "price");
  CHECK(at(inputs, "/checkpoint/stall_s") == 10);
  CHECK(at(inputs, "/checkpoint/interval_s") == 900);
  CHECK(at(inputs, "/power/pue") == 1.08);
  CHECK(at(inputs, "/deadline_days") == 100);
  CHECK(at(inputs, "/draws") == 300);
  CHECK(at(inputs, "/seed") == 7);
  CHECK(at(inputs, "/plan") == cli::plan_405b);
}

TEST_CASE("every option of a field moves what it should and equals --set of the same field") {
  const Json alone = ask(plan);
  for (const Case& c : cases()) {
    INFO(c.option << " " << c.value);
    Arguments from = plan + c.beside;
    const Json base = c.beside.empty() ? alone : ask(from);
    if (c.option == "--runs") from = {"plan", "llama3_405b"};
    const Json by_option = ask(from + Arguments{c.option, c.value});
    const Json by_set = ask(from + Arguments{"--set", c.path + "=" + c.value});
    CHECK(at(by_option, c.pointer) != at(base, c.pointer));
    CHECK(by_option["result"] == by_set["result"]);
    CHECK(by_option["inputs"] == by_set["inputs"]);
    CHECK(by_option["warnings"] == by_set["warnings"]);
  }
}

TEST_CASE("the layout's options and an MTBF with its job's size work together") {
  const Json layout = ask(no_file + Arguments{"--tp", "8", "--cp", "2", "--pp", "4", "--dp", "16"})["result"]["layout"];
  for (const auto& [degree, value] : {std::pair("tp", 8), std::pair("cp", 2), std::pair("pp", 4), std::pair("dp", 16)})
    CHECK(layout[degree] == value);
  const Json rate = ask(plan + Arguments{"--mtbf", "6h", "--mtbf-count", "8192"})["result"];
  CHECK(rate["mtbf_hours"].get<double>() == doctest::Approx(3));
}

TEST_CASE("two tiers take both intervals or neither, and say what each is") {
  const Arguments memory = plan + Arguments{"--memory-stall", "0.3s"};
  const Json given = ask(memory + Arguments{"--interval", "20min", "--memory-interval", "60s"});
  CHECK(given["result"]["checkpoint_interval_s"] == 1200);
  CHECK(given["result"]["memory_checkpoint_interval_s"] == 60);
  CHECK(given["inputs"]["checkpoint"]["memory"]["interval_s"] == 60);
  const Json best = ask(memory)["result"];
  CHECK(best["ettr"] > given["result"]["ettr"]);
  CHECK(best["ettr"] > ask(plan)["result"]["ettr"]);
  CHECK(cli::run(memory).out.find("checkpoint to memory every") != std::string::npos);
  CHECK(ask(plan)["inputs"]["checkpoint"]["memory"].is_null());
  check_refused(memory + Arguments{"--memory-interval", "60s"}, 2, "--memory-interval");
  check_refused(memory + Arguments{"--interval", "20min"}, 2, "--interval");
  check_refused(memory + Arguments{"--interval", "100s", "--memory-interval", "60s"}, 2, "whole number");
  check_refused(plan + Arguments{"--memory-share", "80%"}, 2, "checkpoint.memory.stall");
}

TEST_CASE("a rate is predicted from a layout or from a search, with its band, and what does not fit exits with 3") {
  const Arguments run = {"plan",    "--model", "llama-3.1-70b",  "--accelerator", "h100-sxm", "--tokens", "15T",
                         "--count", "2048",    "--global-batch", "1024",          "--runs",   "200"};
  const Json predicted = ask(run + Arguments{"--tp", "8", "--pp", "4"});
  const Json searched = ask(run + Arguments{"--layout", "search"});
  for (const Json& answer : {predicted, searched}) {
    const Json& result = answer["result"];
    const Json& stage = result["stages"][0];
    for (const std::string key : {"tp", "cp", "pp", "dp", "microbatch"})
      CHECK(result["layout"].at(key).is_number_integer());
    for (const std::string key : {"sharding", "recompute"}) CHECK(result["layout"].at(key).is_string());
    CHECK(result["step_time_s"] == stage["step_time_s"]);
    CHECK(result["band"]["low"] < result["step_time_s"]);
    CHECK(result["band"]["high"] > result["step_time_s"]);
    CHECK(stage["tokens_per_s"].get<double>() ==
          doctest::Approx(1024 * 8192 / stage["step_time_s"].get<double>()).epsilon(1e-9));
    CHECK(stage["fits"] == true);
    CHECK(stage["memory_bytes"]["total"] < stage["memory_bytes"]["capacity"]);
    CHECK(stage["model"]["convention"] == result["flop_convention"]);
    CHECK(cli::warns(answer, "assumed_for_steps"));
  }
  CHECK(predicted["result"]["rate"] == "predicted");
  CHECK(searched["result"]["rate"] == "searched");
  CHECK(cli::warns(searched, "layout_searched"));
  CHECK(searched["result"]["step_time_s"] <= predicted["result"]["step_time_s"]);
  const Json step = ask({"step", "--model", "llama-3.1-70b", "--accelerator", "h100-sxm", "--count", "2048",
                         "--global-batch", "1024", "--seq", "8192", "--tp", "8", "--pp", "4"})["result"];
  CHECK(predicted["result"]["step_time_s"] == step["step_time_s"]);
  CHECK(predicted["result"]["band"] == step["band"]);
  check_refused(run + Arguments{"--tp", "2"}, 3, "does not fit in 80GB");
  check_refused(run + Arguments{"--tp", "8", "--pp", "3"}, 3, "--pp");
  check_refused(run + Arguments{"--tp", "8", "--layout", "search"}, 2, "--layout");
  check_refused(run + Arguments{"--mfu", "40%", "--layout", "search"}, 2, "--layout");
  check_refused(run + Arguments{"--layout", "best"}, 2, "--layout");
  check_refused(run, 2, "--achieved");
}

TEST_CASE("schedule, efficiencies and what joins the pods go together with other fields") {
  const auto step = [](const Arguments& more) {
    return ask(plan + more).at("result").at("stages").at(1).at("model").at("step_time_s").get<double>();
  };
  CHECK(step({"--vp", "1", "--schedule", "zero_bubble"}) < step({"--vp", "1"}));
  CHECK(step({"--pod", "3072", "--oversubscription", "7"}) >= step({}));
  CHECK(step({"--pod", "64", "--oversubscription", "7"}) > step({"--pod", "64"}));
  const TemporaryFolder folder;
  CHECK(step({"--efficiencies", folder.file("mine.toml", "measured_factor = 1.1\n").string()}) ==
        near(1.1 * step({}), 1e-12));
}

TEST_CASE("help lists the fields of a plan, and every one that it lists is tested above") {
  const cli::Result help = cli::run({"plan", "--help"});
  CHECK(help.status == 0);
  std::set<std::string> tested = {"--tp",
                                  "--cp",
                                  "--pp",
                                  "--dp",
                                  "--mtbf",
                                  "--mtbf-count",
                                  "--set",
                                  "--active-params",
                                  "--schedule",
                                  "--efficiencies",
                                  "--oversubscription",
                                  "--memory-interval"};
  for (const Case& c : cases()) tested.insert(c.option);
  std::set<std::string> listed;
  bool fields = false;
  for (const std::string& line : cli::lines(help.out)) {
    fields = fields || line.starts_with("Fields of the plan");
    if (fields && line.starts_with("  --")) listed.insert(line.substr(2, line.find(' ', 2) - 2));
  }
  CHECK(listed == tested);
  for (const std::string option :
       {"--json", "--csv", "--out", "--quiet", "--color", "--catalog", "--threads", "--explain"})
    CHECK(help.out.find(option) != std::string::npos);
}

TEST_CASE("a range on the command line spreads the answer") {
  const Json exact = ask(plan + Arguments{"--restart", "5min", "--wait", "1min"})["result"];
  const Json range = ask(plan + Arguments{"--restart", "1min..25min", "--wait", "1min"})["result"];
  CHECK(range["wall_clock_days"]["sd"] > exact["wall_clock_days"]["sd"]);
  CHECK(range["sensitivity"].size() == exact["sensitivity"].size() + 1);
}

TEST_CASE("a plan needs no file, and keeps every digit of --params") {
  const Json bare = ask({"plan", "--params", "6.738415616B", "--accelerator", "a100-sxm-80gb", "--tokens", "2T",
                         "--count", "2048", "--mfu", "45%", "--runs", "200"});
  CHECK(bare["result"]["parameters"] == 6738415616);
  CHECK(bare["result"]["training_flop"].get<double>() == 6 * 6738415616.0 * 2e12);
  CHECK(cli::warns(bare, "attention_not_counted"));
  CHECK(cli::warns(bare, "assumed"));
  const Json named = ask(no_file);
  CHECK(named["result"]["parameters"] == 8030261248);
  CHECK(named["inputs"]["plan"] == "");
}

TEST_CASE("a ready plan is found by its name from any folder, and a file wins over it") {
  const TemporaryFolder folder;
  const cli::Setting elsewhere{.folder = folder.path().string()};
  const Json by_name = ask(plan, elsewhere);
  CHECK(by_name["inputs"]["plan"] == "llama3_405b");
  const Json by_file = ask({"plan", cli::plan_405b, "--runs", "200"});
  CHECK(by_name["result"] == by_file["result"]);
  (void)folder.file("llama3_405b", "accelerator = \"h100-sxm\"\n");
  check_refused(plan, 4, "llama3_405b:1:1", elsewhere);
}

TEST_CASE("the same seed gives the same bytes on 1, 2 and 3 threads, and twice in a row") {
  const auto bytes = [](const char* threads) {
    return cli::run({"plan", "llama3_405b", "--runs", "2000", "--seed", "5", "--threads", threads, "--json"}).out;
  };
  const std::string one = bytes("1");
  CHECK(one == bytes("1"));
  CHECK(one == bytes("2"));
  CHECK(one == bytes("3"));
}

TEST_CASE("another seed moves the draws by sampling noise and the expected values not at all") {
  const Json one = ask({"plan", "llama3_405b", "--runs", "2000", "--seed", "1"})["result"];
  const Json two = ask({"plan", "llama3_405b", "--runs", "2000", "--seed", "2"})["result"];
  const double difference = two["wall_clock_days"]["mean"].get<double>() - one["wall_clock_days"]["mean"].get<double>();
  CHECK(difference != 0);
  CHECK(std::abs(difference) < 4 * one["wall_clock_days"]["sd"].get<double>() * std::sqrt(2.0 / 2000));
  CHECK(one["expected_wall_clock_days"] == two["expected_wall_clock_days"]);
  CHECK(one["ettr"] == two["ettr"]);
}

TEST_CASE("an impossible deadline is infeasible by a number of days, and one that the spread meets has a probability") {
  check_refused(plan + Arguments{"--deadline", "75d"}, 3, "7.19 too few");
  check_refused(plan + Arguments{"--deadline", "1s"}, 3, "too few");
  const Json answer = ask(plan + Arguments{"--deadline", "80d", "--achieved-spread", "10%"});
  CHECK(answer["result"]["deadline"]["probability"] > 0.02);
  CHECK(cli::warns(answer, "deadline_below_ideal"));
  const std::string sure = cli::run(plan + Arguments{"--deadline", "300d", "--quiet"}).out;
  CHECK(sure.find("with probability over 0.995") != std::string::npos);
}

TEST_CASE("a price without its currency is refused with how it is quoted") {
  for (const char* price : {".10/h", "2/h", "2.1", "0", "0/h", "bash.5/h", "2.10/h..3/h"}) {
    INFO(std::string(price));
    check_refused(plan + Arguments{"--price", price}, 2, "'$2.10/h' in single quotes or 2.10USD/h");
  }
  const Json dollars = ask(plan + Arguments{"--price", "$2.10/h"})["result"]["cost_usd"];
  for (const char* price : {"2.10USD/h", "2.10 USD/h", "USD 2.10/h"})
    CHECK(ask(plan + Arguments{"--price", price})["result"]["cost_usd"] == dollars);
}

TEST_CASE("a catalog price with a range spreads the cost, and the answer says so") {
  const Json answer = ask(plan + Arguments{"--price", "h100-sxm-estimate-2026-05"});
  cli::check_interval(at(answer, "/inputs/price/usd_per_accelerator_hour"), "price");
  CHECK(at(answer, "/inputs/price/usd_per_accelerator_hour/central") == 2.5);
  CHECK(at(answer, "/inputs/price/usd_per_accelerator_hour/low") == 1.7);
  CHECK(at(answer, "/inputs/price/usd_per_accelerator_hour/high") == 5);
  CHECK(cli::warns(answer, "price_range"));
}

TEST_CASE("help says what is taken where nothing is given") {
  const std::string help = cli::run({"plan", "--help"}).out;
  std::string flat;
  for (const std::string& line : cli::lines(help))
    flat += line.substr(line.find_first_not_of(' ') % (line.size() + 1)) + " ";
  const auto says = [&](const std::string& words) {
    INFO(words << " in\n" << help);
    CHECK(flat.find(words) != std::string::npos);
  };
  using namespace floplan;
  says(print_number(100 * plan::defaults::achieved_spread.value) + "% if not given");
  says("besiroglu-2024 if not given");
  says("causal if not given");
  says("llama3-2024 if no rate is given");
  says("5min..10min if not given");
  CHECK(plan::defaults::restart_low == parse<Seconds>("5min"));
  CHECK(plan::defaults::restart_high == parse<Seconds>("10min"));
  says(print(plan::defaults::stall) + " if not given");
  says(print_number(plan::defaults::pue) + " if not given");
  says(print(plan::defaults::grid) + " if not given");
  says(print_number(plan::defaults::node_power_factor, 3) + " times the rating if not given");
  says(std::to_string(plan::defaults::draws) + " if not given");
  says("'$2.10/h' in single quotes");
  says("128Ki, which is 131072");
}

TEST_CASE("interruptions are failures and planned stops, and the text says that both are counted") {
  const Json result = ask(plan)["result"];
  CHECK(result["expected_interruptions"].get<double>() ==
        doctest::Approx(result["expected_failures"].get<double>() + result["expected_planned_stops"].get<double>()));
  CHECK(result["expected_planned_stops"] > 1);
  const std::string text = cli::run(plan + Arguments{"--quiet"}).out;
  CHECK(text.find("interruptions, planned ones too") != std::string::npos);
  CHECK(text.find("a failure every 3.09 h") != std::string::npos);
}

TEST_CASE("a stage's ETTR is that of its days, and the model's has a key of its own") {
  const Json result = ask(plan + Arguments{"--unexplained-stops", "20%"})["result"];
  for (const Json& stage : result["stages"]) {
    const double ettr = stage["ideal_days"].get<double>() / stage["expected_wall_clock_days"].get<double>();
    CHECK(stage["ettr"].get<double>() == doctest::Approx(ettr).epsilon(1e-12));
    CHECK(stage["ettr_without_unexplained_stops"].get<double>() == doctest::Approx(1.2 * ettr).epsilon(1e-12));
    CHECK(stage["unexplained"].get<double>() == doctest::Approx(0.2 / 1.2));
  }
}

TEST_CASE("two options for one field are refused by both names") {
  const auto both = [](const Arguments& more, const std::string& other) {
    check_refused(plan + more, 2, more[0]);
    check_refused(plan + more, 2, other);
  };
  both({"--tokens", "10T", "--set", "stage[1].tokens=1T"}, "--set stage[1].tokens");
  both({"--count", "8192", "--set", "stage[1].count=4096"}, "--set stage[1].count");
  both({"--restart", "5min", "--set", "reliability.restart=6min"}, "--set reliability.restart");
}

TEST_CASE("warnings have the codes that scripts look for") {
  const Json base = ask(plan);
  CHECK(cli::warns(base, "extrapolation"));
  CHECK(cli::warns(base, "unexplained_stops"));
  CHECK_FALSE(cli::warns(base, "assumed"));
  for (const Json& warning : base["warnings"]) {
    CHECK_FALSE(warning.at("code").get<std::string>().empty());
    CHECK_FALSE(warning.at("message").get<std::string>().empty());
  }
  const auto warns = [](const Arguments& more, const char* code) {
    INFO(code);
    CHECK(cli::warns(ask(plan + more), code));
  };
  warns({"--peak", "1979TFLOP/s"}, "sparse_peak");
  warns({"--law", "hoffmann-2022-rounded"}, "rounded_law");
  warns({"--count", "100000"}, "rate_extrapolated");
  warns({"--count", "100000"}, "rate_carried_over");
  warns({"--count", "100000"}, "layout_dropped");
  warns({"--params", "70B"}, "model_dropped");
  warns({"--tokens", "10T"}, "stages_rescaled");
  warns({"--accelerator", "b200"}, "rate_of_another_accelerator");
  warns({"--price", "tpu-v5e-list-2026-08"}, "price_of_another_accelerator");
  warns({"--restart", "2h"}, "first_order_breaks");
  warns({"--restart", "5h"}, "restart_exceeds_mtbf");
  warns({"--stall", "4h"}, "checkpoint_exceeds_mtbf");
  warns({"--count", "1024"}, "rate_at_small_scale");
  warns({"--count", "64"}, "state_does_not_fit");
  warns({"--tokens", "15.6B"}, "few_tokens");
  warns({"--set", "stage[1].tokens=16M"}, "less_than_a_step");
  warns({"--manual-per-day", "100"}, "manual_above_failures");
  warns({"--unexplained-stops", "5"}, "unexplained_above_one");
  warns({"--planned-per-day", "80"}, "planned_above_half");
}

TEST_CASE(
    "extremes have an answer: few accelerators, few tokens, no stall with an interval, an interval beyond the MTBF") {
  for (const Arguments& more : std::vector<Arguments>{{"--count", "11"},
                                                      {"--tokens", "10M"},
                                                      {"--params", "405B", "--seq", "1e9"},
                                                      {"--stall", "0", "--interval", "10min"},
                                                      {"--interval", "5h"},
                                                      {"--restart", "0", "--wait", "0"},
                                                      {"--restart", "5h"},
                                                      {"--stall", "10h"},
                                                      {"--count", "1e6"},
                                                      {"--achieved-spread", "0"},
                                                      {"--price", "$0/h"},
                                                      {"--carbon", "0"},
                                                      {"--law", "none"},
                                                      {"--rate", "1e-9"},
                                                      {"--deadline", "1e9d"},
                                                      {"--threads", "64"}}) {
    INFO(cli::line(more));
    const Json answer = ask(plan + more);
    cli::check_distribution(answer["result"]["wall_clock_days"], "wall_clock_days");
    const cli::Result text = cli::run(plan + more + Arguments{"--quiet"});
    CHECK(text.status == 0);
    for (const char* word : {"nan", "inf ", "-inf", "null"}) CHECK(text.out.find(word) == std::string::npos);
  }
}

TEST_CASE("--explain shows the formulas, also in JSON") {
  const cli::Result text = cli::run(plan + Arguments{"--explain", "--quiet"});
  CHECK(text.status == 0);
  CHECK(text.out.find("tau = M [1 + W(-exp(-1 - w/M))]") != std::string::npos);
  CHECK(ask(plan + Arguments{"--explain"})["result"]["explanation"] == text.out);
  check_refused(plan + Arguments{"--explain", "--csv"}, 2, "--csv");
  const TemporaryFolder folder;
  const cli::Result as_csv = cli::run(plan + Arguments{"--explain", "--out", (folder / "x.csv").string()});
  CHECK(as_csv.status == 2);
  CHECK(as_csv.err.find("no table") != std::string::npos);
}
