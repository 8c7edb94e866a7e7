// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/runs_files.hpp"
#include "support/temporary_folder.hpp"

using cli::Arguments;
using cli::ask;
using cli::check_refused;
using cli::Json;
using cli::operator+;

namespace {

const Arguments plain = {"--bootstrap", "0"};

// The sweep as a file a run, run-00.json and on, each in one line.
std::vector<std::string> file_a_run(const TemporaryFolder& folder) {
  std::vector<std::string> out;
  for (const std::string& line : cli::lines(runs_files::sweep())) {
    double n = 0, d = 0, c = 0, loss = 0;
    if (std::sscanf(line.c_str(), "%lf,%lf,%lf,%lf", &n, &d, &c, &loss) != 4) continue;
    const Json run = {{"hyperparameters", {{"params", n}, {"tokens", d}, {"flops", c}}},
                      {"results", Json::array({{{"loss", loss}, {"tokens", 1000}}})}};
    char name[32];
    std::snprintf(name, sizeof name, "run-%02d.json", static_cast<int>(out.size()));
    out.push_back(folder.file(name, run.dump()).string());
  }
  return out;
}

}  // namespace

TEST_CASE("a folder with a file a run gives the same law as one table of them, and names the files it cannot use") {
  const TemporaryFolder folder, other;
  const std::size_t count = file_a_run(folder).size();
  REQUIRE(count == 36);
  const std::string table = other.file("runs.csv", runs_files::sweep()).string();
  const Json one = ask(Arguments{"fit", table} + plain)["result"];
  const Json many = ask(Arguments{"fit", folder.path().string()} + plain);
  CHECK(many["result"]["rows"]["used"] == 36);
  CHECK(many["result"]["rows"]["files"].size() == count);
  CHECK(many["inputs"]["runs"] == folder.path().string());
  for (const char* name : {"E", "A", "B", "alpha", "beta"})
    CHECK(many["result"]["parameters"][name]["value"] == one["parameters"][name]["value"]);
  CHECK_FALSE(cli::warns(many, "skipped_files"));

  (void)folder.file("run-99.json", "{\"name\": \"cut off");
  (void)folder.file("run-98.json",
                    R"({"hyperparameters": {"params": 1e8, "tokens": 1e9}, "results": [{"loss": null}]})");
  const Json broken = ask(Arguments{"fit", folder.path().string()} + plain);
  CHECK(cli::warns(broken, "skipped_files"));
  const Json& rows = broken["result"]["rows"];
  REQUIRE(rows["skipped_files"].size() == 1);
  CHECK(rows["skipped_files"][0]["file"] == (folder / "run-99.json").string());
  REQUIRE(rows["skipped"].size() == 1);
  CHECK(rows["skipped"][0]["file"] == (folder / "run-98.json").string());
  CHECK(rows["used"] == 36);
}

TEST_CASE("several files of runs are read as one, by fit, isoflop, coverage and export") {
  const TemporaryFolder folder;
  const std::string title = "params,tokens,flops,loss\n";
  const std::string small =
      folder.file("small.csv", title + runs_files::rows(1e19, 0.2, 5, 9) + runs_files::rows(6e19, 0.2, 5, 9)).string();
  const std::string large =
      folder.file("large.csv", title + runs_files::rows(3e20, 0.2, 5, 9) + runs_files::rows(1e21, 0.2, 5, 9)).string();
  const Json fit = ask(Arguments{"fit", small, large} + plain);
  CHECK(fit["result"]["rows"]["used"] == 36);
  CHECK(fit["inputs"]["runs"] == Json({small, large}));
  CHECK(ask({"isoflop", small, large})["result"]["profiles"].size() == 4);
  CHECK(ask({"coverage", small, large, "--sets", "2", "--bootstrap", "20"})["result"]["cases"][0]["rows"] == 36);
  const Json exported =
      ask({"export", "isoflop_curves", "--runs", small, "--runs", large, "--out", (folder / "figures").string()});
  CHECK(exported["result"]["rows"]["used"] == 36);
  check_refused({"fit", small, small}, 2, "twice");
  check_refused({"coverage", small, "--recovery"}, 2, "--recovery");
  check_refused({"fit", small, (folder / "gone.csv").string()}, 4, "gone.csv");
}

TEST_CASE("an answer does not overwrite a file of the folder that is read") {
  const TemporaryFolder folder;
  const std::vector<std::string> files = file_a_run(folder);
  check_refused(Arguments{"fit", folder.path().string(), "--out", files[3]} + plain, 2, "--out");
  CHECK(std::filesystem::exists(files[3]));
}

TEST_CASE("no file and a folder without runs are refused, and no simulated sweep takes their place") {
  const TemporaryFolder folder;
  check_refused({"fit", folder.path().string()}, 4, folder.path().string());
  check_refused({"fit", ""}, 2, "runs");
  check_refused({"export", "all", "--runs", "", "--out", (folder / "figures").string()}, 2, "runs");
  CHECK_FALSE(std::filesystem::exists(folder / "figures"));
}

TEST_CASE("a far row and a row out of range are named by their place in the file") {
  const TemporaryFolder folder;
  const std::string title = "params,tokens,flops,loss\n";
  const std::string good = folder.file("good.csv", runs_files::sweep()).string();
  const std::string wild = folder.file("wild.csv", title + "1e9,blank,1e20,3\n1e9,2e10,1.2e20,11\n").string();
  // Least squares are bent so far that nothing is identified: the refusal names the run that does it.
  check_refused(Arguments{"fit", good, wild, "--loss", "mse"} + plain, 5, wild + ":3 (N 1e9");
  const Json fit = ask(Arguments{"fit", good, wild, "--anyway"} + plain);
  REQUIRE(cli::warns(fit, "outlier_row"));
  for (const Json& warning : fit["warnings"]) {
    if (warning["code"] == "outlier_row")
      CHECK(warning["message"].get<std::string>().find(wild + ":3 (N 1e9") != std::string::npos);
  }
  const std::string tiny = folder.file("tiny.csv", title + "1e9,2e10,1.2e20,1e-200\n").string();
  check_refused(Arguments{"fit", good, tiny} + plain, 4, tiny + ":2: loss must be positive");
}

TEST_CASE("five runs of five coefficients give the law with a warning, and four are refused") {
  const TemporaryFolder folder;
  const std::string all = "N,D,loss\n1e8,2e9,3.40\n4e8,1e10,2.85\n1e9,4e9,2.83\n3e9,8e10,2.29\n9e9,2e10,2.35\n";
  const std::string five = folder.file("five.csv", all).string();
  const std::string four = folder.file("four.csv", all.substr(0, all.rfind("9e9"))).string();
  check_refused(Arguments{"fit", four} + plain, 5, "at least as many distinct rows as free coefficients (5), got 4");
  const Json answer = ask({"fit", five, "--anyway", "--bootstrap", "50"});
  CHECK(cli::warns(answer, "no_degrees_of_freedom"));
  CHECK(answer["result"]["degrees_of_freedom"] == 0);
  CHECK(answer["result"]["parameters"]["alpha"]["low"].is_null());
  CHECK(cli::run({"fit", five, "--anyway"}).err.find("[no_degrees_of_freedom]") != std::string::npos);
}

TEST_CASE("runs that share a line of JSON are told apart when some are held out") {
  const TemporaryFolder folder;
  Json all = Json::array();
  for (const std::string& file : file_a_run(folder)) {
    Json run = Json::parse(floplan::read_text_file(file));
    all.push_back({{"N", run["hyperparameters"]["params"]},
                   {"D", run["hyperparameters"]["tokens"]},
                   {"C", run["hyperparameters"]["flops"]},
                   {"loss", run["results"][0]["loss"]}});
  }
  const TemporaryFolder other;
  const std::string file = other.file("runs.json", all.dump()).string();
  const Json held = ask({"fit", file, "--hold-out", "C > 9e20", "--bootstrap", "20"})["result"]["held_out"];
  CHECK(held["rows"] == 9);
}
