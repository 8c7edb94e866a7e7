// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "cli/cli.hpp"
#include "cli/json_shape.hpp"
#include "fit/fit_data.hpp"
#include "floplan/core/quantity_text.hpp"
#include "support/near.hpp"
#include "support/temporary_folder.hpp"

namespace {

using cli::Arguments;
using cli::ask;
using cli::check_refused;
using cli::Json;
using cli::operator+;

}  // namespace

TEST_CASE("the answer of optimum has every key of the interface") {
  const Json answer = ask({"optimum", "--law", "besiroglu-2024", "--flop", "5.76e23", "--inference-tokens", "1T"});
  const Json& result = answer["result"];
  for (const std::string key : {"parameters", "tokens", "tokens_per_parameter", "loss", "training_flop",
                                "inference_flop", "total_flop", "epochs", "extrapolation_decades", "saving_fraction"}) {
    INFO(key);
    CHECK(result.at(key).is_number());
  }
  for (const std::string key : {"cost_usd", "interval", "training_only"}) CHECK(result.contains(key));
  for (const std::string key : {"parameters", "tokens", "total_flop"})
    CHECK(result["training_only"].at(key).is_number());
  CHECK(result["total_flop"].get<double>() ==
        near(result["training_flop"].get<double>() + result["inference_flop"].get<double>(), 1e-12));
  CHECK(cli::warns(answer, "no_interval"));
  CHECK(cli::warns(answer, "extrapolation"));
}

TEST_CASE("several laws stand side by side, and the first is the answer") {
  const Json result =
      ask({"optimum", "--law", "hoffmann-2022,besiroglu-2024,hoffmann-2022-rounded", "--flop", "1e24"})["result"];
  REQUIRE(result["laws"].size() == 3);
  CHECK(result["law"] == "hoffmann-2022");
  CHECK(result["laws"][1]["law"] == "besiroglu-2024");
  CHECK(result["laws"][1]["parameters"].get<double>() > 1.5 * result["parameters"].get<double>());
  check_refused({"optimum", "--law", "hoffmann-2022,none", "--flop", "1e24"}, 2, "none");
}

TEST_CASE("dollars move the optimum where serving and training are priced apart, and only then are there dollars") {
  const cli::Arguments base{"optimum",        "--law", "besiroglu-2024",  "--loss", "2.0",
                            "--input-tokens", "10T",   "--output-tokens", "2T"};
  const Json flop = ask(base)["result"];
  CHECK(flop["cost_usd"].is_null());
  const Json dollars =
      ask(cli::operator+(base, {"--train-accelerator", "h100-sxm", "--train-price", "$2/h"}))["result"];
  CHECK(dollars["cost_usd"].get<double>() > 0);
  // Writing at 1% of the peak costs far more than its FLOP say.
  CHECK(dollars["parameters"].get<double>() < flop["parameters"].get<double>());
  const Json cheap = ask(cli::operator+(
      base, {"--train-accelerator", "h100-sxm", "--train-price", "$2/h", "--output-mfu", "50%"}))["result"];
  CHECK(cheap["parameters"].get<double>() == near(flop["parameters"].get<double>(), 1e-6));
}

TEST_CASE("questions that have no answer say which limit and by how much") {
  check_refused({"optimum", "--law", "hoffmann-2022", "--loss", "1.69"}, 3, "1.69337");
  check_refused({"optimum", "--loss", "2.0", "--params", "1B"}, 3, "any number of tokens");
  check_refused({"optimum"}, 2, "--flop");
  check_refused({"optimum", "--flop", "1e24", "--loss", "2"}, 2, "--flop");
  check_refused({"optimum", "--flop", "-1"}, 2, "--flop");
  check_refused({"optimum", "--flop", "0"}, 2, "budget");
  check_refused({"optimum", "--flop", "1e24", "--params", "1B", "--tokens", "1T"}, 2, "one of");
  check_refused({"optimum", "--flop", "1e24", "--inference-tokens", "1T", "--input-tokens", "1T"}, 2,
                "--inference-tokens");
  const Json absurd = ask({"optimum", "--law", "hoffmann-2022", "--loss", "1.70"});
  CHECK(cli::warns(absurd, "absurd_budget"));
  const Json repeated = ask({"optimum", "--flop", "3.8e25", "--unique-tokens", "3T"});
  CHECK(repeated["result"]["epochs"].get<double>() > 1);
  CHECK(cli::warns(repeated, "repeated_tokens"));
}

TEST_CASE("a fit's file gives the optimum an interval that grows with the budget") {
  const TemporaryFolder folder;
  auto rows = fit_data::planned({1.72, 480, 2100, 0.35, 0.37});
  floplan::RandomStream random(12);
  fit_data::add_noise(rows, 0.005, random);
  std::string text = "N,D,loss\n";
  for (const auto& row : rows)
    text += floplan::print_number(row.parameters) + "," + floplan::print_number(row.tokens) + "," +
            floplan::print_number(row.loss) + "\n";
  const std::string runs = folder.file("runs.csv", text);
  const std::string fit = folder / "fit.json";
  REQUIRE(cli::run({"fit", runs, "--bootstrap", "300", "--out", fit}).status == 0);
  double before = 0;
  for (const std::string budget : {"1e21", "1e23", "1e25"}) {
    const Json interval = ask({"optimum", "--law", fit, "--flop", budget})["result"]["interval"]["parameters"];
    cli::check_interval(interval, budget);
    const double width = std::log(interval["high"].get<double>() / interval["low"].get<double>());
    CHECK(width > before);
    before = width;
  }
}

TEST_CASE("laws of every kind stand side by side, with their spread and what each counts") {
  const Json answer =
      ask({"optimum", "--law", "besiroglu-2024,llama3-2024,kaplan-2020,muennighoff-2023", "--flop", "1e24"});
  const Json& laws = answer["result"]["laws"];
  REQUIRE(laws.size() == 4);
  CHECK(laws[0]["method"] == "closed form");
  CHECK(laws[1]["method"] == "allocation law");
  CHECK(laws[1]["loss"].is_null());
  CHECK(laws[2]["allocation_law"] == "kaplan-2020-allocation");
  CHECK(laws[2]["parameter_convention"] == "non_embedding");
  CHECK(laws[3]["method"] == "numeric");
  const Json& n = answer["result"]["spread"]["parameters"];
  CHECK(n["low"] < n["high"]);
  for (const Json& law : laws) {
    CHECK(law["parameters"] >= n["low"]);
    CHECK(law["parameters"] <= n["high"]);
    CHECK(law["training_flop"].get<double>() == near(1e24, 1e-9));
  }
  for (const std::string code : {"law_choice", "companion_law", "no_loss", "parameter_convention"}) {
    INFO(code);
    CHECK(cli::warns(answer, code));
  }
  const cli::Result text = cli::run({"optimum", "--law", "kaplan-2020,besiroglu-2024", "--flop", "1e24"});
  CHECK(text.out.find("non-embedding parameters") != std::string::npos);
  CHECK(text.out.find("by these laws: N ") != std::string::npos);
}

TEST_CASE("15T unique tokens for a run of 40T: epochs, their worth, and a remark, by either kind of law") {
  for (const std::string law : {"muennighoff-2023", "besiroglu-2024"}) {
    const Json answer = ask({"optimum", "--law", law, "--flop", "1e26", "--tokens", "40T", "--unique-tokens", "15T"});
    const Json& result = answer["result"];
    CHECK(result["epochs"].get<double>() == near(40.0 / 15, 1e-12));
    CHECK(result["effective_tokens"].get<double>() == near(3.869369e13, 1e-6));
    CHECK(result["loss_with_repetition"].is_null() == (law == "muennighoff-2023"));
    CHECK(cli::warns(answer, "repeated_tokens"));
  }
  const Json best =
      ask({"optimum", "--law", "muennighoff-2023", "--flop", "1e25", "--unique-tokens", "100B"})["result"];
  CHECK(best["epochs"].get<double>() > 4);
}

TEST_CASE("Llama 3's digits: 10.46T as printed, 16.29T as in the figure, and the rounding is named") {
  const Json printed = ask({"optimum", "--law", "llama3-2024-rounded", "--flop", "3.8e25"});
  CHECK(printed["result"]["tokens"].get<double>() == near(10.46e12, 5e-4));
  CHECK(cli::warns(printed, "rounded_law"));
  const Json figure = ask({"optimum", "--law", "llama3-2024", "--flop", "3.8e25"});
  CHECK(figure["result"]["tokens"].get<double>() == near(16.29e12, 5e-4));
  const Json fixed = ask({"optimum", "--law", "llama3-2024", "--flop", "3.8e25", "--params", "405B"})["result"];
  CHECK(fixed["tokens"].get<double>() == near(15.6e12, 5e-3));
}

TEST_CASE("a machine that serves bounds N and says that it binds") {
  const cli::Arguments base{"optimum", "--law", "besiroglu-2024", "--flop", "3.8e25", "--serve-count", "8"};
  const Json bound = ask(base);
  CHECK(bound["result"]["limit"]["binds"] == "serving_memory");
  CHECK(bound["result"]["parameters"] == 288000000000);
  CHECK(bound["result"]["cost_usd"].is_null());
  CHECK(cli::warns(bound, "serving_memory_binds"));
  CHECK(bound["inputs"]["serving_machine"]["usable_bytes"] == 576e9);
  check_refused(cli::operator+(base, {"--params", "405B"}), 3, "must fit");
  const Json fp8 = ask(cli::operator+(base, {"--params", "405B", "--serve-precision", "fp8"}));
  CHECK(fp8["result"]["limit"]["binds"] == "none");
  check_refused({"optimum", "--flop", "1e24", "--serve-usable", "80%"}, 2, "--serve-count");
}

TEST_CASE("a deadline is a budget, which says what it leaves out") {
  const Json answer =
      ask({"optimum", "--deadline", "90d", "--accelerator", "h100-sxm", "--count", "16384", "--mfu", "40%"});
  const double flop = 16384 * 989e12 * 0.4 * 90 * 86400;
  CHECK(answer["result"]["deadline"]["flop"].get<double>() == near(flop, 1e-3));  // the catalog's peak has a digit more
  CHECK(answer["result"]["training_flop"].get<double>() ==
        near(answer["result"]["deadline"]["flop"].get<double>(), 1e-9));
  CHECK(cli::warns(answer, "deadline_without_failures"));
  check_refused({"optimum", "--deadline", "90d"}, 2, "--count");
  check_refused({"optimum", "--flop", "1e24", "--count", "8"}, 2, "--deadline");
  check_refused({"optimum", "--deadline", "90d", "--count", "8", "--flop", "1e24"}, 2, "--flop");
}

TEST_CASE("other inputs of a law are options, missing ones are named, useless ones refused") {
  const Json moe = ask({"optimum", "--law", "ludziejewski-2025", "--experts", "8", "--flop", "1e20"});
  CHECK(moe["result"]["method"] == "closed form");
  CHECK(moe["result"]["parameter_convention"] == "active");
  CHECK(moe["inputs"]["experts"] == 8);
  check_refused({"optimum", "--law", "ludziejewski-2025", "--flop", "1e20"}, 2, "--experts");
  check_refused({"optimum", "--law", "besiroglu-2024", "--experts", "8", "--flop", "1e20"}, 2, "--experts");
  check_refused({"optimum", "--law", "deepseek-2024-batch", "--flop", "1e20"}, 5, "answers batch");
  check_refused({"optimum", "--law", "llama3-2024", "--loss", "2"}, 5, "knows no loss");
}

TEST_CASE("a loss just above the irreducible one is answered, with how absurd it is") {
  const cli::Result text = cli::run({"optimum", "--law", "besiroglu-2024", "--loss", "1.8171"});
  CHECK(text.status == 0);
  CHECK(text.err.find("years of all of NVIDIA's chips") != std::string::npos);
}

TEST_CASE("a task's forecast stands beside the loss") {
  const Json answer = ask({"optimum", "--law", "bhagia-2024-piqa", "--flop", "1e22"});
  const Json& task = answer["result"]["downstream"].at(0);
  CHECK(task["law"] == "bhagia-2024-piqa-accuracy");
  CHECK(task["value"].get<double>() > 0.5);
  CHECK(task["value"].get<double>() < 1);
  CHECK(cli::warns(answer, "downstream_error"));
}

TEST_CASE("the file of a fit says for itself what it lacks") {
  const TemporaryFolder folder;
  const std::string fit =
      folder.file("fit.json", R"({"law": "chinchilla", "parameters": {"E": {"value": 1.8}, "A": {"value": 480},
      "B": {"value": 2100}, "alpha": {"value": 0.35}, "beta": {"value": 0.366}}})");
  for (const cli::Arguments& command : {cli::Arguments{"optimum", "--law", fit, "--flop", "1e24"},
                                        cli::Arguments{"predict", "--law", fit, "--params", "1B", "--tokens", "20B"}}) {
    const Json answer = ask(command);
    CHECK(cli::warns(answer, "unknown_fit_range"));
    CHECK(cli::warns(answer, "no_interval"));
    for (const Json& w : answer["warnings"]) {
      if (w["code"] == "no_interval")
        CHECK(w["message"].get<std::string>().find("holds no resamples") != std::string::npos);
    }
  }
}

TEST_CASE("a lifetime of requests is priced by the serving model, with its flat region, and keeps a limit of latency") {
  const Arguments base = {
      "optimum",       "--law",    "hoffmann-2022-rounded", "--loss", "1.95",        "--demand", "1e10",
      "--train-price", "2.5USD/h", "--serve-precision",     "fp8",    "--train-mfu", "0.4"};
  const Json answer = ask(base);
  const Json& free = answer["result"];
  CHECK(cli::warns(answer, "assumed_family"));
  CHECK(free["cost_usd"].get<double>() ==
        near(free["training_usd"].get<double>() + free["serving_usd"].get<double>(), 1e-12));
  REQUIRE(free["flat_regions"].size() == 2);
  CHECK(free["flat_regions"][1]["parameters"]["low"] < free["parameters"]);
  CHECK(free["flat_regions"][1]["parameters"]["high"] > free["parameters"]);
  CHECK(free["training_only"]["parameters"] > free["parameters"]);
  CHECK(free["saving_fraction"].get<double>() > 0);
  const Json tight = ask(base + Arguments{"--tpot", "15ms"})["result"];
  CHECK(tight["cost_usd"] > free["cost_usd"]);
  check_refused(base + Arguments{"--tpot", "1us"}, 3, "keep the limits");
  check_refused(base + Arguments{"--output-mfu", "0.2"}, 2, "--output-mfu");
  check_refused({"optimum", "--loss", "1.95", "--tpot", "15ms"}, 2, "--demand");
  check_refused({"optimum", "--loss", "1.95", "--flop", "1e24", "--demand", "1e10"}, 2, "--flop");
}
