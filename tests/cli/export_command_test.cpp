// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/core/file.hpp"
#include "support/temporary_folder.hpp"

using cli::ask;
using cli::check_refused;
using cli::Json;
using floplan::CsvTable;
using floplan::parse_csv;
using floplan::read_text_file;

TEST_CASE("every figure's file has exactly the documented columns") {
  const TemporaryFolder folder;
  const Json list = ask({"export", "list"})["result"]["figures"];
  REQUIRE(list.size() >= 3);
  const std::string to = (folder / "a" / "b").string();  // made as needed
  const Json files = ask({"export", "all", "--out", to})["result"]["files"];
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
    for (const Json& column : list[i].at("columns")) {
      documented.push_back(column.at("name"));
      CHECK_FALSE(column.at("meaning").get<std::string>().empty());
    }
    CHECK(table.header() == documented);
    CHECK(table.size() == files[i].at("rows").get<std::size_t>());
    CHECK(table.size() > 0);
    for (const floplan::CsvRow row : table.rows()) {
      CHECK(row.size() == documented.size());
      for (std::size_t c = 0; c < row.size(); ++c) CHECK_FALSE(row[c].empty());
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

TEST_CASE("an export without a folder, to a file, or of an unknown figure is refused") {
  const TemporaryFolder folder;
  check_refused({"export", "all"}, 2, "--out");
  check_refused({"export"}, 2, "figure");
  check_refused({"export", "all", "--out", folder.file("x", "").string()}, 4, "x");
  check_refused({"export", "all", "--out", "/proc/nothing"}, 4, "/proc/nothing");
  check_refused({"export", "nothing", "--out", folder.path().string()}, 2, "nothing");
  check_refused({"export", "all", "--out", folder.path().string(), "--count", "0"}, 2, "--count");
}
