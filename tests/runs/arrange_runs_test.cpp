// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/runs/arrange_runs.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "floplan/runs/read_runs.hpp"
#include "run_text.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using run_text::notes;
using run_text::warns;
using runs::GroupBy;
using runs::ReadOptions;
using runs::RunTable;

namespace {

constexpr std::string_view twice =
    "N,D,loss\n"
    "1e9,2e10,2.5\n"
    "2e9,2e10,2.4\n"
    "1e9,2e10,2.5\n"
    "1e9,2e10,2.6\n"
    "1e9,20B,2.50\n";

}  // namespace

TEST_CASE("exact duplicates are counted and kept, so that the objective is the one that others minimised") {
  const RunTable table = runs::read(twice, "runs.csv");
  run_text::check_sound(table);
  CHECK(table.rows.used == 5);
  CHECK(table.rows.duplicates == 2);
  CHECK(warns(table, "duplicates"));
  std::vector<bool> marked;
  for (const auto& origin : table.origins) marked.push_back(origin.duplicate);
  CHECK(marked == std::vector<bool>{false, false, true, false, true});
}

TEST_CASE("duplicates are dropped when asked, and still counted") {
  ReadOptions options;
  options.drop_duplicates = true;
  const RunTable table = runs::read(twice, "runs.csv", options);
  run_text::check_sound(table);
  CHECK(table.rows.used == 3);
  CHECK(table.rows.duplicates == 2);
  CHECK(table.rows.dropped == 2);
  CHECK(table.origins[2].line == 5);
}

TEST_CASE("cells may be told apart by other columns, and may allow for rounding of N and D") {
  constexpr std::string_view text =
      "N,D,set,loss\n"
      "1e9,2.00e10,a,2.5\n"
      "1e9,2.01e10,a,2.4\n"
      "1e9,2.00e10,b,2.3\n"
      "1e9,3e10,a,2.2\n";
  ReadOptions options;
  options.minimum_per_cell = true;
  CHECK(runs::read(text, "runs.csv", options).rows.used == 3);
  options.cell_columns = {"set"};
  CHECK(runs::read(text, "runs.csv", options).rows.used == 4);
  options.cell_tolerance = 0.02;
  const RunTable table = runs::read(text, "runs.csv", options);
  run_text::check_sound(table);
  REQUIRE(table.rows.used == 3);
  CHECK(table.observations[0].loss == 2.4);
}

TEST_CASE("runs are grouped by budget with jitter, by a column, or not at all") {
  constexpr std::string_view text =
      "N,D,C,sweep,loss\n"
      "1e9,2e10,1.2e20,x,2.5\n"
      "2e9,2e10,2.4e20,y,2.4\n"
      "1e9,2e10,1.3e20,y,2.3\n"
      "1e9,2e10,,x,2.2\n";
  const auto groups = [](const RunTable& table) {
    std::vector<int> out;
    for (const auto& run : table.observations) out.push_back(run.group);
    return out;
  };
  CHECK(groups(runs::read(text, "runs.csv")) == std::vector<int>{0, 0, 0, 0});
  ReadOptions options;
  options.group_by = GroupBy::budget;
  const RunTable budgets = runs::read(text, "runs.csv", options);
  CHECK(groups(budgets) == std::vector<int>{0, 1, 0, 2});
  REQUIRE(budgets.budgets.size() == 2);
  CHECK(budgets.budgets[1].flop == 2.4e20);
  options.budget_gap = 0.05;
  CHECK(groups(runs::read(text, "runs.csv", options)) == std::vector<int>{0, 2, 1, 3});
  options.group_by = GroupBy::column;
  options.group_column = "sweep";
  const RunTable columns = runs::read(text, "runs.csv", options);
  CHECK(groups(columns) == std::vector<int>{0, 1, 1, 0});
  CHECK(columns.group_labels == std::vector<std::string>{"x", "y"});
  options.group_column = "swep";
  CHECK(thrown::says(thrown::by([&] { (void)runs::read(text, "runs.csv", options); }), "nearest: sweep"));
}

TEST_CASE("budgets that run into one another are warned of") {
  ReadOptions options;
  options.group_by = GroupBy::budget;
  std::string text = "N,D,loss\n";
  for (int i = 0; i < 20; ++i) text += std::to_string(1000000.0 * (10 + i)) + ",1e9,3\n";
  CHECK(warns(runs::read(text, "runs.csv", options), "wide_budgets"));
  CHECK_FALSE(warns(runs::read("N,D,loss\n1e9,2e10,2\n1.1e9,2e10,2\n", "runs.csv", options), "wide_budgets"));
}

TEST_CASE("losses that no model has in nats a token are warned of") {
  CHECK(warns(runs::read("N,D,loss\n1e9,2e10,14.9\n2e9,2e10,12.5\n", "runs.csv"), "loss_scale"));
  // A diverged run among others is no scale.
  CHECK_FALSE(warns(runs::read("N,D,loss\n1e9,2e10,14.9\n2e9,2e10,2.5\n", "runs.csv"), "loss_scale"));
  CHECK_FALSE(warns(runs::read("N,D,loss\n1e9,2e10,11.9\n", "runs.csv"), "loss_scale"));
}

TEST_CASE("files are merged as if one file had held their rows") {
  ReadOptions options;
  options.group_by = GroupBy::budget;
  options.keep = {"name"};
  const RunTable a = runs::read("name,N,D,C,loss\na,1e9,2e10,1.2e20,2.5\nb,2e9,2e10,2.4e20,\n", "a.csv", options);
  const RunTable b =
      runs::read("loss,name,tokens,params,flops\n2.5,c,2e10,1e9,1.2e20\n2.3,d,3e10,1e9,1.8e20\n", "b.csv", options);
  const RunTable all = runs::merge({a, b}, options);
  run_text::check_sound(all);
  CHECK(all.rows.read == 4);
  CHECK(all.rows.used == 3);
  CHECK(all.rows.duplicates == 1);
  CHECK(all.rows.skipped_count == 1);
  CHECK(all.rows.skipped[0].place() == "a.csv:3:5");
  CHECK(all.files == std::vector<std::string>{"a.csv", "b.csv"});
  CHECK(all.origins[2].file == 1);
  CHECK(all.origins[2].line == 3);
  CHECK(all.kept.at("name") == std::vector<std::string>{"a", "c", "d"});
  CHECK(all.budgets.size() == 2);
  CHECK(all.six_nd_over_c.rows == 3);
  const RunTable again = runs::merge({all}, options);
  CHECK(again.rows.used == 3);
}

TEST_CASE("merging different conventions or loss units is warned of, and a missing column is refused") {
  const RunTable a = runs::read("N,D,loss\n1e9,2e10,2.5\n", "a.csv");
  const RunTable b = runs::read("N_no_emb,D,val_bpb\n1e9,2e10,0.9\n", "b.csv");
  const RunTable all = runs::merge({a, b});
  CHECK(warns(all, "parameter_convention"));
  CHECK(warns(all, "loss_unit"));
  ReadOptions options;
  options.group_by = GroupBy::column;
  options.group_column = "sweep";
  CHECK(thrown::by([&] { (void)runs::merge({a, b}, options); }).exit_status() == 2);
  CHECK(thrown::by([] { (void)runs::merge({}); }).exit_status() == 2);
}
