// SPDX-License-Identifier: BSD-3-Clause
//
// From the runs to a law's file, and from there to a loss and a plan with its uncertainty.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "fit/fit_data.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/core/random.hpp"
#include "support/temporary_folder.hpp"

namespace {

using cli::ask;
using cli::Json;
using cli::operator+;
using namespace floplan;

const law::Chinchilla<double> truth{1.72, 480, 2100, 0.35, 0.37};

std::string text_of(const std::vector<runs::Observation>& rows, const std::string& parameters_title = "N") {
  std::string out = parameters_title + ",D,loss\n";
  for (const runs::Observation& row : rows)
    out += print_number(row.parameters) + "," + print_number(row.tokens) + "," + print_number(row.loss) + "\n";
  return out;
}

std::string sweep(const std::string& parameters_title = "N") {
  auto rows = fit_data::planned(truth);
  RandomStream random(11);
  fit_data::add_noise(rows, 0.005, random);
  return text_of(rows, parameters_title);
}

}  // namespace

TEST_CASE("a fit's file predicts with intervals that hold the truth, the wider one for a further run") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", sweep());
  const std::string fit = folder / "fit.json";
  const cli::Result made = cli::run({"fit", runs, "--bootstrap", "300", "--out", fit});
  REQUIRE(made.status == 0);
  CHECK(made.out.find("What it says to buy") != std::string::npos);  // people still see the answer
  const Json answer = ask({"predict", "--law", fit, "--params", "10B", "--tokens", "200B"});
  const Json& result = answer["result"];
  const double loss = truth.loss(10e9, 200e9);
  const Json& curve = result["interval"];
  CHECK(curve["level"] == 0.9);
  CHECK(curve["low"].get<double>() < loss);
  CHECK(curve["high"].get<double>() > loss);
  CHECK(result["new_run_interval"]["low"].get<double>() < curve["low"].get<double>());
  CHECK(result["new_run_interval"]["high"].get<double>() > curve["high"].get<double>());
  CHECK(result["extrapolation_decades"].get<double>() > 0);
  CHECK_FALSE(cli::warns(answer, "no_interval"));
  const Json narrow = ask({"predict", "--law", fit, "--params", "10B", "--tokens", "200B", "--level", "50%"})["result"];
  CHECK(narrow["interval"]["low"].get<double>() > curve["low"].get<double>());
}

TEST_CASE("a plan takes a fit's file as its law, named by an option or beside the plan") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", sweep());
  REQUIRE(cli::run({"fit", runs, "--bootstrap", "200", "--out", folder / "fit.json"}).status == 0);
  const Json by_option = ask({"plan", cli::plan_405b, "--runs", "200", "--law", folder / "fit.json"})["result"];
  CHECK(by_option["loss"].get<double>() == by_option["loss_estimate"]["value"].get<double>());
  CHECK(by_option["loss_estimate"]["low"].get<double>() < by_option["loss"].get<double>());
  CHECK(by_option["loss_estimate"]["level"] == 0.8);
  CHECK(by_option["loss_new_run"]["high"].get<double>() > by_option["loss_estimate"]["high"].get<double>());
  const std::string plan = folder.file("mine.toml",
                                       "model = \"llama-3.1-405b\"\naccelerator = \"h100-sxm\"\nlaw = \"fit.json\"\n"
                                       "tokens = \"15.6T\"\n[[stage]]\ncount = 16384\nachieved = \"400TFLOP/s\"\n");
  const Json in_file = ask({"plan", plan, "--runs", "200"})["result"];
  CHECK(in_file["loss_estimate"]["value"].get<double>() ==
        doctest::Approx(by_option["loss"].get<double>()).epsilon(1e-3));
  const Json published = ask({"plan", cli::plan_405b, "--runs", "200"})["result"];
  CHECK(published["loss_estimate"].is_null());
  const cli::Result text = cli::run({"plan", plan, "--runs", "200"});
  CHECK(text.out.find("for one run with its noise") != std::string::npos);
  cli::check_refused({"plan", cli::plan_405b, "--law", folder / "none.json"}, 4, "none.json");
  cli::check_refused({"plan", cli::plan_405b, "--law", runs}, 2, "--law");
}

TEST_CASE("a law of non-embedding counts says so wherever a bare count is given, and counts a model as its runs did") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", sweep("params_non_embedding"));
  const std::string fit = folder / "fit.json";
  REQUIRE(cli::run({"fit", runs, "--bootstrap", "0", "--out", fit}).status == 0);
  const Json bare = ask({"predict", "--law", fit, "--params", "6.7B", "--tokens", "1T"});
  CHECK(cli::warns(bare, "parameter_convention"));
  CHECK(cli::warns(bare, "no_interval"));
  CHECK(bare["result"]["parameter_convention"] == "non_embedding");
  const Json model = ask({"predict", "--law", fit, "--model", "llama-2-7b", "--tokens", "1T"});
  CHECK(model["inputs"]["parameters"] == 6738415616 - 2 * 32000 * 4096LL);
}

TEST_CASE("a file's name says its format, and a flag overrules it") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", sweep());
  REQUIRE(cli::run({"fit", runs, "--bootstrap", "0", "--out", folder / "table.csv"}).status == 0);
  CHECK(read_text_file(folder / "table.csv").starts_with("coefficient,value"));
  REQUIRE(cli::run({"fit", runs, "--bootstrap", "0", "--csv", "--out", folder / "table.json"}).status == 0);
  CHECK(read_text_file(folder / "table.json").starts_with("coefficient,value"));
  REQUIRE(cli::run({"fit", runs, "--bootstrap", "0", "--out", folder / "fit.txt"}).status == 0);
  CHECK_FALSE(Json::accept(read_text_file(folder / "fit.txt")));
}

TEST_CASE("runs that are held out are predicted, chosen by a filter or by their size") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", sweep());
  const Json by_size = ask({"fit", runs, "--bootstrap", "200", "--hold-out", "largest=9"})["result"]["held_out"];
  CHECK(by_size["rows"] == 9);
  CHECK(by_size["rms_error"].get<double>() < 0.02);
  const Json by_filter =
      ask({"fit", runs, "--bootstrap", "200", "--where", "N>1e7", "--hold-out", "loss<2.3"})["result"]["held_out"];
  for (const Json& row : by_filter["predictions"]) CHECK(row["loss"].get<double>() < 2.3);
  CHECK(by_filter["predictions"].size() == by_filter["rows"].get<std::size_t>());
  const Json groups =
      ask({"fit", runs, "--bootstrap", "100", "--leave-one-out", "budgets"})["result"]["leave_one_budget_out"];
  CHECK(groups["groups"].size() == 8);
  CHECK(groups["coverage"].get<double>() > 0.7);
  cli::check_refused({"fit", runs, "--hold-out", "largest=72"}, 2, "72");
  cli::check_refused({"fit", runs, "--hold-out", "nothing==1"}, 2, "nothing");
  cli::check_refused({"fit", runs, "--hold-out", "loss>0"}, 5, "rows");
}

TEST_CASE(
    "runs that do not identify the law are refused, unless a coefficient is fixed or they are asked all the same") {
  const TemporaryFolder folder;
  // Without an asymptote: E ends at zero, and what it shares with the slower term is lost.
  auto rows = fit_data::planned({0.0, 60, 80, 0.15, 0.17}, 4, 5);
  RandomStream random(13);
  fit_data::add_noise(rows, 0.02, random);
  const std::string runs = folder.file("few.csv", text_of(rows));
  cli::check_refused({"fit", runs, "--bootstrap", "50"}, 5, "--fix");
  const Json anyway = ask({"fit", runs, "--bootstrap", "50", "--anyway"})["result"];
  CHECK(anyway["identifiable"] == false);
  const Json fixed = ask({"fit", runs, "--bootstrap", "50", "--fix", "E=0.5"})["result"];
  CHECK(fixed["identifiable"] == true);
  CHECK(fixed["parameters"]["E"]["value"].get<double>() == doctest::Approx(0.5).epsilon(1e-12));
  const Json bounded = ask({"fit", runs, "--bootstrap", "0", "--bound", "E=0.4..0.6"})["result"];
  CHECK(bounded["parameters"]["E"]["value"].get<double>() >= 0.4 * (1 - 1e-12));
  CHECK(bounded["at_bound"] == Json::array({"E"}));
  // A fit that was asked for all the same is no law.
  REQUIRE(cli::run({"fit", runs, "--bootstrap", "0", "--anyway", "--out", folder / "fit.json"}).status == 0);
  cli::check_refused({"predict", "--law", folder / "fit.json", "--params", "1B", "--tokens", "1T"}, 5, "identify");
  cli::check_refused({"fit", runs, "--fix", "gamma=1"}, 2, "gamma");
  cli::check_refused({"fit", runs, "--fix", "E"}, 2, "--fix");
  cli::check_refused({"fit", runs, "--bound", "E=3..1"}, 2, "E");
}

TEST_CASE("a loss to reach carries the fit's uncertainty to the finish date") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", sweep());
  const std::string fit = folder / "fit.json";
  REQUIRE(cli::run({"fit", runs, "--bootstrap", "400", "--out", fit}).status == 0);
  const cli::Arguments plan{"plan", "--model", "llama-3-8b", "--accelerator", "h100-sxm", "--count", "1024", "--mfu",
                            "40%",  "--law",   fit,          "--runs",        "2000",     "--loss",  "2.0"};
  const Json result = ask(plan)["result"];
  CHECK(result["loss"].get<double>() == doctest::Approx(2.0).epsilon(1e-12));
  const Json& tokens = result["tokens_to_loss"];
  CHECK(tokens["p10"].get<double>() < result["tokens"].get<double>());
  CHECK(tokens["p90"].get<double>() > result["tokens"].get<double>());
  // The same tokens, taken as exact, give the same middle and a narrower finish.
  const Json exact =
      ask({"plan", "--model", "llama-3-8b", "--accelerator", "h100-sxm", "--count", "1024", "--mfu", "40%", "--law",
           fit, "--runs", "2000", "--tokens", print_number(std::round(result["tokens"].get<double>()))})["result"];
  const Json& days = result["wall_clock_days"];
  const Json& sure = exact["wall_clock_days"];
  CHECK(days["sd"].get<double>() > 1.5 * sure["sd"].get<double>());
  CHECK(days["p50"].get<double>() == doctest::Approx(sure["p50"].get<double>()).epsilon(0.05));
  CHECK(result["expected_wall_clock_days"].get<double>() ==
        doctest::Approx(exact["expected_wall_clock_days"].get<double>()).epsilon(1e-6));
  bool named = false;
  for (const Json& input : result["sensitivity"]) named = named || input["input"] == "tokens to the loss";
  CHECK(named);
  // By a published law the tokens are exact, and that is said; stages keep their shares.
  const Json published = ask({"plan", cli::plan_405b, "--runs", "200", "--loss", "1.9"});
  CHECK(cli::warns(published, "tokens_without_interval"));
  const Json& stages = published["result"]["stages"];
  CHECK(stages[1]["tokens"].get<double>() / stages[0]["tokens"].get<double>() ==
        doctest::Approx(11.93 / 2.87).epsilon(1e-9));
  CHECK(published["result"]["loss"].get<double>() == doctest::Approx(1.9).epsilon(1e-12));
}

TEST_CASE("a loss that the model never reaches, or reaches by some of the laws only, is refused with its limit") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", sweep());
  const std::string fit = folder / "fit.json";
  REQUIRE(cli::run({"fit", runs, "--bootstrap", "400", "--out", fit}).status == 0);
  const cli::Arguments plan{"plan", "--model", "llama-3-8b", "--accelerator", "h100-sxm", "--count",
                            "1024", "--mfu",   "40%",        "--law",         fit};
  const Json law = Json::parse(read_text_file(fit))["result"]["parameters"];
  const auto coefficient = [&law](const char* name) { return law[name]["value"].get<double>(); };
  const double floor = coefficient("E") + coefficient("A") / std::pow(8030261248.0, coefficient("alpha"));
  cli::check_refused(plan + cli::Arguments{"--loss", "1.5"}, 3, "--loss");
  cli::check_refused(plan + cli::Arguments{"--loss", print_number(floor + 1e-4)}, 5, "loss");
  cli::check_refused(plan + cli::Arguments{"--loss", "nan"}, 2, "--loss");
  cli::check_refused(plan + cli::Arguments{"--loss", "2.0", "--tokens", "1T"}, 2, "--tokens");
  cli::check_refused({"plan", cli::plan_405b, "--loss", "2.0", "--law", "none"}, 2, "--loss");
}

TEST_CASE("runs on one line of tokens and parameters, and a surface that is not identified, are refused") {
  const TemporaryFolder folder;
  std::vector<runs::Observation> line;
  for (int i = 0; i < 12; ++i) {
    const double n = 3e7 * std::pow(1.6, i);
    line.push_back({n, 20 * n, truth.loss(n, 20 * n), 1, i});
  }
  RandomStream random(14);
  fit_data::add_noise(line, 0.01, random);
  const std::string runs = folder.file("line.csv", text_of(line));
  cli::check_refused({"fit", runs, "--bootstrap", "50"}, 5, "straight line");
  cli::check_refused({"isoflop", runs, "--method", "surface"}, 5, "straight line");
}

TEST_CASE("a valley where all three terms live is found beside a basin where one is zero") {
  const TemporaryFolder folder;
  const law::Chinchilla<double> narrow{1.72, 1, 2100, 0.05, 0.2};
  std::vector<runs::Observation> rows;
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 8; ++j) {
      const double n = 1e7 * std::pow(3e3, i / 7.0);
      const double d = 1e8 * std::pow(3e3, j / 7.0);
      rows.push_back({n, d, narrow.loss(n, d), 1, i});
    }
  }
  RandomStream random(15);
  fit_data::add_noise(rows, 1e-5, random);
  const Json found =
      ask({"fit", folder.file("narrow.csv", text_of(rows)), "--bootstrap", "0", "--anyway"})["result"]["parameters"];
  CHECK(found["E"]["value"].get<double>() == doctest::Approx(1.72).epsilon(0.02));
}

TEST_CASE("a file that is read is never written over, and contradictions are named") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", sweep());
  cli::check_refused({"fit", runs, "--bootstrap", "0", "--out", runs}, 2, "--out");
  CHECK(read_text_file(runs) == sweep());
  cli::check_refused({"fit", runs, "--fix", "E=1", "--fix", "E=2"}, 2, "twice");
  cli::check_refused({"fit", runs, "--fix", "E=1..2"}, 2, "--fix");
  cli::check_refused({"fit", runs, "--bound", "E=2"}, 2, "--bound");
  cli::check_refused({"fit", runs, "--where", "loss<3,5"}, 2, "quotes");
  cli::check_refused({"optimum", "--flop", "1e24", "--train-mfu", "40%"}, 2, "--train-mfu");
  const Json few = ask({"fit", runs, "--bootstrap", "5"});
  CHECK(cli::warns(few, "interval_not_available"));
  CHECK(few["result"]["parameters"]["E"]["low"].is_null());
  const Json without = ask({"fit", runs, "--bootstrap", "50", "--fix", "B=0"});
  CHECK(without["result"]["optimum"].empty());
}
