// SPDX-License-Identifier: BSD-3-Clause
//
// fit --law FORM: any form from people's columns, and the file of the fit as a law.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "cli/cli.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/core/random.hpp"
#include "support/shared_data.hpp"
#include "support/temporary_folder.hpp"

namespace {

using cli::ask;
using cli::Json;
using cli::operator+;
using namespace floplan;

double noise(RandomStream& random, double sd) {
  return std::exp(sd * std::sqrt(-2 * std::log(random.uniform())) * std::cos(6.283185307179586 * random.uniform()));
}

// Runs of L = .5 + 1000 N^-.3 on three budgets of data, under titles that only a person understands.
std::string powers() {
  RandomStream random(3);
  std::string out = "size,seen,final\n";
  for (int i = 0; i < 40; ++i) {
    const double n = 1e7 * std::pow(1.3, i);
    out += print_number(n) + "," + print_number(20 * n) + "," +
           print_number((0.5 + 1000 * std::pow(n, -0.3)) * noise(random, 0.002)) + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("a power is fitted in named columns, and its file predicts with an interval that holds the truth") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", powers());
  const std::string fit = folder / "fit.json";
  REQUIRE(cli::run({"fit", runs, "--law", "power", "--inputs", "parameters", "--columns", "parameters=size,loss=final",
                    "--bootstrap", "200", "--out", fit})
              .status == 0);
  const Json result = Json::parse(read_text_file(fit))["result"];
  CHECK(result["law"] == "power");
  CHECK(result["inputs"] == Json{"parameters"});
  CHECK(result["output"] == "loss");
  CHECK(result["rows"]["used"] == 40);
  CHECK(result["identifiable"] == true);
  CHECK(result["at_bound"].empty());
  CHECK(result["search"]["converged"] == true);
  const Json& exponent = result["parameters"]["parameters_exponent"];
  CHECK(exponent["low"].get<double>() < -0.3);
  CHECK(exponent["high"].get<double>() > -0.3);
  CHECK(result["fit_range"]["parameters"]["low"] == 1e7);
  const Json predicted = ask({"predict", "--law", fit, "--params", "10B"})["result"];
  const double truth = 0.5 + 1000 * std::pow(1e10, -0.3);
  CHECK(predicted["interval"]["low"].get<double>() < truth);
  CHECK(predicted["interval"]["high"].get<double>() > truth);
}

TEST_CASE("a kaplan fit answers in every form and is the same at any thread count") {
  const TemporaryFolder folder;
  RandomStream random(4);
  std::string text = "N,D,loss\n";
  for (int i = 0; i < 60; ++i) {
    const double n = 1e7 * std::pow(1000, random.uniform());
    const double d = 1e9 * std::pow(1000, random.uniform());
    const double loss = std::pow(std::pow(6.4e13 / n, 0.076 / 0.103) + 1.8e13 / d, 0.103) * noise(random, 0.003);
    text += print_number(n) + "," + print_number(d) + "," + print_number(loss) + "\n";
  }
  const std::string runs = folder.file("runs.csv", text);
  const Json one = ask({"fit", runs, "--law", "kaplan", "--bootstrap", "100", "--threads", "1"})["result"];
  const Json two = ask({"fit", runs, "--law", "kaplan", "--bootstrap", "100", "--threads", "2"})["result"];
  CHECK(one["parameters"] == two["parameters"]);
  CHECK(one["replicates"] == two["replicates"]);
  CHECK(one["parameters"]["aN"]["value"].get<double>() == doctest::Approx(0.076).epsilon(0.05));
  const cli::Result csv = cli::run({"fit", runs, "--law", "kaplan", "--bootstrap", "0", "--csv"});
  CHECK(csv.status == 0);
  CHECK(csv.out.find("aD,") != std::string::npos);
  const Json fixed = ask({"fit", runs, "--law", "kaplan", "--bootstrap", "0", "--fix", "aN=0.08"})["result"];
  CHECK(fixed["parameters"]["aN"]["value"] == 0.08);
}

TEST_CASE("what belongs to the Chinchilla form alone, and what no form has, is refused by name") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", powers());
  const auto status = [&](std::vector<std::string> more) {
    std::vector<std::string> all = {"fit", runs, "--columns", "parameters=size,tokens=seen,loss=final"};
    all.insert(all.end(), more.begin(), more.end());
    return cli::run(all).status;
  };
  CHECK(status({"--law", "kaplan", "--at", "1e24"}) == 2);
  CHECK(status({"--law", "kaplan", "--profile", "alike"}) == 2);
  CHECK(status({"--law", "kaplan", "--inputs", "flop"}) == 2);
  CHECK(status({"--law", "kaplan", "--fix", "gamma=1"}) == 2);
  CHECK(status({"--law", "power"}) == 2);
  CHECK(status({"--law", "power", "--inputs", "flops"}) == 2);
  CHECK(status({"--law", "repeated-data"}) == 4);  // no column of unique tokens
}

TEST_CASE("the sigmoid of 32 small models is refused for its asymptote, that of all 35 is the published one") {
  if (!shared_data::table("gadre_rpj.csv")) return;
  const std::string file = (shared_data::folder() / "gadre_rpj.csv").string();
  const std::vector<std::string> common = {
      "fit",         file,     "--law", "sigmoid",   "--residual",
      "raw",         "--loss", "mse",   "--columns", "loss=loss_c4_val,accuracy=acc_hellaswag_zeroshot",
      "--bootstrap", "0"};
  std::vector<std::string> all = common;
  all.insert(all.end(), {"--where", "dataset==rpj"});
  const Json found = ask(all)["result"];
  CHECK(found["objective"].get<double>() == doctest::Approx(0.0008905117579).epsilon(1e-9));
  std::vector<std::string> few = common;
  few.insert(few.end(), {"--where", "dataset==rpj && N<500M", "--json"});
  const cli::Result refused = cli::run(few);
  CHECK(refused.status == 5);
  CHECK(Json::parse(refused.out)["error"]["code"] == "unidentified_asymptote");
}

TEST_CASE("accuracies that cannot be, a sigmoid without its middle, and columns that are as likely are refused") {
  const TemporaryFolder folder;
  const auto curve = [](double from, double to, double times) {
    RandomStream random(5);
    std::string out = "loss,accuracy\n";
    for (int i = 0; i < 30; ++i) {
      const double loss = from + (to - from) * i / 29;
      const double accuracy = 0.9 - 0.65 / (1 + std::exp(-6 * (loss - 0.8))) + 0.003 * (random.uniform() - 0.5);
      out += print_number(loss) + "," + print_number(accuracy * times) + "\n";
    }
    return out;
  };
  const auto fit = [&folder](const std::string& text) {
    return cli::run({"fit", folder.file("runs.csv", text).string(), "--law", "sigmoid", "--residual", "raw", "--loss",
                     "mse", "--bootstrap", "100", "--json"});
  };
  CHECK(fit(curve(0.3, 1.4, 1)).status == 0);
  const cli::Result percent = fit(curve(0.3, 1.4, 100));
  CHECK(percent.status == 4);
  CHECK(percent.out.find("accuracy") != std::string::npos);
  CHECK(fit(curve(1.0, 1.6, 1)).status == 5);
  const cli::Result one = fit(curve(0.3, 1.4, 1) + "0.5,1.2\n");
  CHECK(one.status == 0);
  CHECK(Json::parse(one.out)["result"]["rows"]["skipped"].size() == 1);
}
