// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/runs/run_files.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "run_text.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using run_text::notes;
using run_text::warns;
using runs::read_files;
using runs::ReadOptions;
using runs::RunTable;

namespace {

// As mlfoundations/scaling writes a run: its settings, and a loss for each validation set.
std::string run(const std::string& name, const std::string& set, double parameters, double tokens, double loss) {
  return "{\"name\": \"" + name + "\", \"dataset_name\": \"" + set +
         "\",\n\"hyperparameters\": {\"params\": " + std::to_string(parameters) +
         ", \"tokens\": " + std::to_string(tokens) + "},\n\"results\": [\n{\"loss\": " + std::to_string(loss) +
         ", \"val_data\": [\"c4_val\"]},\n{\"loss\": " + std::to_string(loss + 0.1) +
         ", \"val_data\": [\"other\"]}]}\n";
}

std::vector<std::string> names(const TemporaryFolder& folder) { return {folder.path().string()}; }

}  // namespace

TEST_CASE("a folder with a file a run is read in the order of names, and broken files are skipped with their reasons") {
  const TemporaryFolder folder;
  (void)folder.file("b.json", run("b", "rpj", 2e8, 4e9, 3.1));
  (void)folder.file("a.json", run("a", "c4", 1e8, 2e9, 3.4));
  (void)folder.file("c.json", "{\"name\": \"c\", \"hyper");
  (void)folder.file("d.json", "{\"vocab_size\": 50432}");
  (void)folder.file("notes.txt", "not runs");
  (void)folder.file(".e.json", run("e", "c4", 1e8, 2e9, 3.4));
  std::filesystem::create_directory(folder / "old");
  ReadOptions options;
  options.keep = {"name"};
  options.where = "val_data ~ c4_val";
  const RunTable table = read_files(names(folder), options);
  run_text::check_sound(table);
  CHECK(table.kept.at("name") == std::vector<std::string>{"a", "b"});
  CHECK(table.rows.read == 4);
  CHECK(table.rows.filtered == 2);
  CHECK(table.files == std::vector<std::string>{(folder / "a.json").string(), (folder / "b.json").string()});
  REQUIRE(table.skipped_files.size() == 2);
  CHECK(table.skipped_files[0].file == (folder / "c.json").string());
  CHECK(table.skipped_files[0].reason.find("c.json:1: must be JSON") != std::string::npos);
  CHECK(table.skipped_files[1].reason.find("needs a column of") != std::string::npos);
  CHECK(notes(table, "has 4 files, read in the order of their names"));
  CHECK(table.describe().find("(2 files skipped)") != std::string::npos);
}

TEST_CASE("a filter may leave out every run of a file, whose rows are then counted as filtered") {
  const TemporaryFolder folder;
  (void)folder.file("a.json", run("a", "c4", 1e8, 2e9, 3.4));
  (void)folder.file("b.json", run("b", "rpj", 2e8, 4e9, 3.1));
  (void)folder.file("c.json", run("c", "rpj", 3e8, 4e9, -1));
  ReadOptions options;
  options.where = "dataset_name == rpj";
  const RunTable table = read_files(names(folder), options);
  run_text::check_sound(table);
  CHECK(table.skipped_files.empty());
  CHECK(table.rows.filtered == 2);
  CHECK(table.rows.used == 2);
  REQUIRE(table.rows.skipped.size() == 2);
  CHECK(table.rows.skipped[0].place() == (folder / "c.json").string() + ":4");
  options.where = "dataset_name == pile";
  const Error none = thrown::by([&] { (void)read_files(names(folder), options); });
  CHECK(none.exit_status() == 4);
  CHECK(thrown::says(none, "6 do not meet where dataset_name == pile"));
}

TEST_CASE("several tables are one, each by its own titles, and columns that differ are warned of once") {
  const TemporaryFolder folder;
  const std::string a = folder.file("a.csv", "N,D,loss\n1e9,2e10,2.5\n2e9,2e10,2.4\n").string();
  const std::string b = folder.file("b.csv", "loss,tokens,params\n2.3,3e10,1e9\n").string();
  const std::string c = folder.file("c.csv", "loss,tokens,params\n2.2,4e10,1e9\n").string();
  const RunTable table = read_files({b, a, c});
  run_text::check_sound(table);
  CHECK(table.rows.used == 4);
  CHECK(table.observations[0].loss == 2.3);
  CHECK(table.files == std::vector<std::string>{b, a, c});
  CHECK(table.origins[3].file == 2);
  CHECK(table.origins[2].row == 1);
  CHECK(warns(table, "columns_differ"));
  CHECK(notes(table, "C = 6ND"));
  CHECK_FALSE(warns(read_files({b, c}), "columns_differ"));
  CHECK(read_files(names(folder)).observations[0].loss == 2.5);
}

TEST_CASE("what is wrong with all files is the caller's mistake or unusable data, and a missing file always is") {
  const TemporaryFolder folder;
  const std::string a = folder.file("a.csv", "N,D,loss\n1e9,2e10,2.5\n").string();
  const std::string b = folder.file("b.csv", "N,D,loss,seed\n1e9,3e10,2.4,1\n").string();
  ReadOptions options;
  options.where = "seed == 1";
  CHECK(read_files({a, b}, options).skipped_files.size() == 1);
  options.where = "sed == 1";
  CHECK(thrown::by([&] { (void)read_files({a, b}, options); }).exit_status() == 2);
  const std::string broken = folder.file("broken.csv", "N,D\n1,2\n").string();
  const std::string empty = folder.file("empty.csv", "").string();
  const Error none = thrown::by([&] { (void)read_files({broken, empty}); });
  CHECK(none.exit_status() == 4);
  CHECK(thrown::says(none, "none of 2 files can be used"));
  CHECK(thrown::says(none, "broken.csv"));
  CHECK(thrown::by([&] { (void)read_files({a, (folder / "gone.csv").string()}); }).code() == "no_such_file");
  CHECK(thrown::by([&] { (void)read_files({a, a}); }).code() == "repeated_file");
  CHECK(thrown::by([] { (void)read_files({""}); }).exit_status() == 2);
  CHECK(thrown::by([] { (void)read_files({}); }).exit_status() == 2);
}

TEST_CASE("a folder without files of runs, or with tables beside JSON, is refused") {
  const TemporaryFolder folder;
  (void)folder.file("notes.txt", "");
  CHECK(thrown::by([&] { (void)read_files(names(folder)); }).code() == "no_files");
  (void)folder.file("a.JSON", run("a", "c4", 1e8, 2e9, 3.4));
  CHECK(read_files(names(folder)).rows.used == 2);
  (void)folder.file("summary.csv", "N,D,loss\n1e8,2e9,3.4\n");
  const Error mixed = thrown::by([&] { (void)read_files(names(folder)); });
  CHECK(mixed.code() == "mixed_files");
  CHECK(mixed.exit_status() == 4);
}
