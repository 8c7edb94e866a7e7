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

using cli::ask;
using cli::check_refused;
using cli::Json;

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
