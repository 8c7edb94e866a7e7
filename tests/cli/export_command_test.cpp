// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/runs_files.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/core/file.hpp"
#include "support/temporary_folder.hpp"

using cli::ask;
using cli::check_refused;
using cli::Json;
using floplan::CsvTable;
using floplan::parse_csv;
using floplan::read_text_file;

namespace {

const std::string measured_step =
    "id,group,layers,d_model,heads,ffn,vocab,accelerator,n_gpus,tp,pp,dp,mbs,gbs,seq,precision,iter_time_s\n"
    "a,mine,40,5120,40,20480,51200,a100-sxm-80gb,64,4,2,8,2,512,2048,bf16,20\n";

}  // namespace

TEST_CASE("every figure's file has exactly the documented columns") {
  const TemporaryFolder folder;
  const Json list = ask({"export", "list"})["result"]["figures"];
  REQUIRE(list.size() >= 3);
  const std::string to = (folder / "a" / "b").string();  // made as needed
  const std::string steps = folder.file("steps.csv", measured_step).string();
  const Json files = ask({"export", "all", "--steps", steps, "--out", to})["result"]["files"];
  REQUIRE(files.size() == list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string name = list[i].at("name");
    INFO(name);
    CHECK_FALSE(list[i].at("title").get<std::string>().empty());
    CHECK(files[i].at("figure") == name);
    const std::string path = files[i].at("path");
    CHECK(path == (std::filesystem::path(to) / (name + ".csv")).string());
    const std::string text = read_text_file(path);
    const CsvTable table = parse_csv(text, path);
    std::vector<std::string> documented;
    std::vector<bool> may_be_blank;
    const std::string input = list[i].at("input");
    CHECK((input == "catalog" || input == "plan" || input == "runs" || input == "steps"));
    for (const Json& column : list[i].at("columns")) {
      documented.push_back(column.at("name"));
      may_be_blank.push_back(column.at("meaning").get<std::string>().find("blank") != std::string::npos);
      CHECK_FALSE(column.at("meaning").get<std::string>().empty());
    }
    CHECK(table.header() == documented);
    CHECK(table.size() == files[i].at("rows").get<std::size_t>());
    CHECK(table.size() > 0);
    for (const floplan::CsvRow row : table.rows()) {
      CHECK(row.size() == documented.size());
      for (std::size_t c = 0; c < row.size(); ++c) CHECK((may_be_blank[c] || !row[c].empty()));
    }
    for (const std::string word : {"nan", "inf", "null"}) CHECK(text.find("," + word) == std::string::npos);
  }
  std::size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(to)) left += entry.exists() ? 1 : 0;
  CHECK(left == list.size());
}

TEST_CASE("one figure may be exported, of another plan, into the folder that is there, again and again") {
  const TemporaryFolder folder;
  for (int i = 0; i < 2; ++i) {
    const Json files = ask({"export", "ettr_by_cluster_size", "--rate", "1e-3", "--stall", "60s", "--out",
                            folder.path().string()})["result"]["files"];
    REQUIRE(files.size() == 1);
    const CsvTable table = parse_csv(read_text_file(folder / "ettr_by_cluster_size.csv"), "e.csv");
    CHECK(std::stod(std::string(table.row(0)[table.column("mtbf_hours")])) == doctest::Approx(24 / (1e-3 * 128)));
  }
}

TEST_CASE("the simulated runs are a file that fit, isoflop and export take, and export says that they are simulated") {
  const TemporaryFolder folder;
  const std::string to = folder.path().string();
  const Json answer = ask({"export", "all", "--out", to});
  CHECK(answer.at("result").at("simulated_runs") == true);
  REQUIRE(answer["result"].at("left_out").size() == 1);
  CHECK(answer["result"]["left_out"][0].at("figure") == "step_validation");  // of measured steps, and none were given
  CHECK(answer["inputs"].at("runs").is_null());
  CHECK(cli::run({"export", "fit_residuals", "--out", to}).out.find("simulated") != std::string::npos);
  const std::string runs = (folder / "example_runs.csv").string();
  const Json fit = ask({"fit", runs, "--bootstrap", "0"})["result"];
  CHECK(fit.at("rows").at("skipped").empty());
  const Json isoflop = ask({"isoflop", runs, "--at", "3.8e25"})["result"];
  CHECK(isoflop.at("profiles").size() == 8);
  CHECK(isoflop["profiles"][7].at("status") == "edge");
  CHECK(isoflop["profiles"][7].at("bound").at("at_most") == false);

  // The same runs from the file give the same figures, but for what C = 6 N D loses to rounding.
  const std::string again = (folder / "again").string();
  const Json mine = ask({"export", "all", "--runs", runs, "--out", again});
  CHECK(mine["result"].at("simulated_runs") == false);
  CHECK(mine["inputs"].at("runs") == runs);
  CHECK(mine["result"].at("rows").at("used") == 68);
  std::vector<std::string> left_out;
  for (const Json& one : mine["result"].at("left_out")) {
    CHECK_FALSE(one.at("reason").get<std::string>().empty());
    left_out.push_back(one.at("figure"));
  }
  CHECK(left_out == std::vector<std::string>{"ettr_by_cluster_size", "timeline_by_stage", "waste_by_size",
                                             "interval_flatness", "finish_distribution", "improvements_by_size",
                                             "step_breakdown", "mfu_by_count", "layout_frontier", "step_validation",
                                             "example_runs"});
  for (const Json& file : mine["result"].at("files")) {
    const std::string name = file.at("figure").get<std::string>() + ".csv";
    INFO(name);
    CHECK(read_text_file((std::filesystem::path(again) / name).string()) == read_text_file(folder / name));
  }
}

TEST_CASE("measured steps are drawn beside their predictions") {
  const TemporaryFolder folder;
  const std::string steps = folder.file("steps.csv", measured_step).string();
  const std::string to = (folder / "out").string();
  const Json answer = ask({"export", "step_validation", "--steps", steps, "--out", to});
  CHECK(answer["result"]["files"][0].at("rows") == 1);
  const CsvTable table = parse_csv(read_text_file(std::filesystem::path(to) / "step_validation.csv"), "s");
  CHECK(table.row(0)[table.column("measured_s")] == "20");
  check_refused({"export", "step_validation", "--out", to}, 5, "--steps");
}

TEST_CASE("runs are chosen by options, a plan given beside them is drawn too, and a refused figure is left out") {
  const TemporaryFolder folder;
  const std::string to = (folder / "out").string();
  const std::string runs = folder.file("runs.csv", runs_files::sweep()).string();
  const Json both = ask({"export", "all", "--runs", runs, "--where", "flops<9e20", "--count", "8192", "--out", to});
  CHECK(both["result"]["left_out"].size() == 2);  // the example, and measured steps
  CHECK(parse_csv(read_text_file(std::filesystem::path(to) / "fit_residuals.csv"), "r").size() == 27);
  ask({"export", "held_out_extrapolation", "--runs", runs, "--hold-out-above", "2e20", "--out", to});
  const CsvTable held = parse_csv(read_text_file(std::filesystem::path(to) / "held_out_extrapolation.csv"), "h");
  CHECK(held.size() == 36);
  CHECK(held.row(17)[held.column("role")] == "fitted");
  CHECK(held.row(18)[held.column("role")] == "held out");
  // One budget supports neither a law nor a power law.
  const std::string edge = folder.file("edge.csv", "params,tokens,flops,loss\n" + runs_files::edge()).string();
  const Json some = ask({"export", "all", "--runs", edge, "--out", to});
  CHECK(cli::warns(some, "figure_left_out"));
  CHECK(cli::warning_codes(some).size() > 1);  // also what the fit of one budget has to say
  CHECK(some["result"]["files"].size() >= 2);
  check_refused({"export", "parabola_bias", "--runs", edge, "--out", to}, 5, "two budgets");
  check_refused({"export", "fit_residuals", "--runs", runs, "--where", "nothing==1", "--out", to}, 2, "nothing");
  check_refused({"export", "fit_residuals", "--runs", runs, "--jitter", "-1", "--out", to}, 2, "--jitter");
  for (const char* bad : {"0", "nan", "5B"})
    check_refused({"export", "all", "--hold-out-above", bad, "--out", to}, 2, "--hold-out-above");
  check_refused({"export", "held_out_extrapolation", "--hold-out-above", "1e30", "--out", to}, 2, "hold");
  check_refused({"export", "all", "--runs", (folder / "none.csv").string(), "--out", to}, 4, "none.csv");
}

TEST_CASE("an export without a folder, to a file, or of an unknown figure is refused") {
  const TemporaryFolder folder;
  check_refused({"export", "all"}, 2, "--out");
  check_refused({"export"}, 2, "figure");
  check_refused({"export", "all", "--out", folder.file("x", "").string()}, 4, "x");
  check_refused({"export", "all", "--out", "/proc/nothing"}, 4, "/proc/nothing");
  check_refused({"export", "nothing", "--out", folder.path().string()}, 2, "nothing");
  check_refused({"export", "all", "--out", folder.path().string(), "--count", "0"}, 2, "--count");
}
