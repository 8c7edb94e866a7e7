// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/runs/read_runs.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/core/file.hpp"
#include "run_text.hpp"
#include "support/reference.hpp"
#include "support/shared_data.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using run_text::mapped;
using run_text::notes;
using run_text::warns;
using runs::ReadOptions;
using runs::Role;
using runs::RunTable;

TEST_CASE("public data sets give the row counts and the columns that are known of them") {
  for (const auto& row : reference::rows("runs_row_counts.csv")) {
    CAPTURE(row.place());
    CAPTURE(row.name());
    const auto path = shared_data::folder() / row.text("file");
    if (!std::filesystem::exists(path)) {
      MESSAGE("skipped: no " << path.string() << " (see FLOPLAN_DATA in data/README.md)");
      continue;
    }
    ReadOptions options;
    options.where = row.text("where");
    if (row.has("columns")) options.columns = runs::parse_column_names(row.text("columns"));
    const RunTable table = runs::read(read_text_file(path), row.text("file"), options);
    run_text::check_sound(table);
    CHECK(table.rows.read == static_cast<std::size_t>(row.number("read")));
    CHECK(table.rows.used == static_cast<std::size_t>(row.number("used")));
    CHECK(table.rows.filtered == static_cast<std::size_t>(row.number("filtered")));
    CHECK(table.rows.skipped_count == static_cast<std::size_t>(row.number("skipped")));
    CHECK(table.rows.duplicates == static_cast<std::size_t>(row.number("duplicates")));
    CHECK(mapped(table, Role::parameters).title == row.text("parameters"));
    CHECK(mapped(table, Role::tokens).title == row.text("tokens"));
    CHECK(mapped(table, Role::flop).title == row.text("flop"));
    CHECK(mapped(table, Role::loss).title == row.text("loss"));
    CHECK_FALSE(warns(table, "suspect_units"));
  }
}

TEST_CASE("budgets in GFLOP become FLOP, and the row without values is skipped with its place") {
  const auto path = shared_data::folder() / ".." / "known" / "k08_gflops.csv";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no " << path.string());
    return;
  }
  const RunTable table = runs::read(read_text_file(path), "k08_gflops.csv");
  run_text::check_sound(table);
  REQUIRE(table.rows.used == 2);
  CHECK(table.flop[0] == 1e19);
  CHECK(table.flop[1] == 3e19);
  CHECK(table.observations[0].parameters == 3e8);
  CHECK(table.observations[1].loss == 2.648);
  CHECK(mapped(table, Role::flop).unit == "GFLOP");
  REQUIRE(table.rows.skipped.size() == 1);
  CHECK(table.rows.skipped[0].place() == "k08_gflops.csv:4:5");
  CHECK(table.rows.skipped[0].title == "eval/macro_loss");
  CHECK(table.rows.skipped[0].reason == "eval/macro_loss is blank");
}

TEST_CASE("a long table of a sweep is read by its budget column, and its outliers are pointed out") {
  constexpr std::string_view text =
      "source,dataset,model,condition,experiment,tokens,params,budget,loss,outlier,reason\n"
      "s,d,m,c,e1,1e10,1e8,6e+18,3.1,False,none\n"
      "s,d,m,c,e1,5e9,2e8,6e+18,3.0,True,spline_outlier\n"
      "s,d,m,c,e2,2e10,5e8,6e+19,2.8,False,none\n";
  const RunTable table = runs::read(text, "isoflops.csv");
  run_text::check_sound(table);
  CHECK(table.rows.used == 3);
  CHECK(mapped(table, Role::flop).title == "budget");
  CHECK(table.six_nd_over_c.rows == 3);
  CHECK(table.six_nd_over_c.median == doctest::Approx(1));
  CHECK(notes(table, "outlier marks 1 rows"));
  ReadOptions options;
  options.where = "outlier==False && reason==none";
  CHECK(runs::read(text, "isoflops.csv", options).rows.used == 2);
  CHECK_FALSE(notes(runs::read(text, "isoflops.csv", options), "outlier"));
}

TEST_CASE("digitised points have colours in cells and no tokens, which come from C and N and are said to") {
  const RunTable table = runs::read(
      "x,y,color,Model Size,Training FLOP,hex_color,loss\n"
      "1.5,2.5,\"(0.9, 0.8, 0.7)\",1e9,6e19,#faebdd,2.9\n"
      "1.6,2.6,\"(0.9, 0.8, 0.7)\",2e9,6e19,#f8d1b8,2.8\n",
      "svg.csv");
  run_text::check_sound(table);
  REQUIRE(table.rows.used == 2);
  CHECK(table.observations[0].tokens == 1e10);
  CHECK_FALSE(table.origins[0].tokens_given);
  CHECK(table.origins[0].flop_given);
  CHECK(mapped(table, Role::tokens).derived());
  CHECK(notes(table, "D = C/(6N) in 2 rows, because no column holds tokens"));
  CHECK(table.six_nd_over_c.rows == 0);
}

TEST_CASE("tracker exports with every cell quoted are read whatever the order of their columns") {
  const RunTable table = runs::read(
      "\"Name\",\"learning_rate\",\"eval/paloma/macro_loss\",\"throughput/total_gflops\",\"throughput/total_tokens\","
      "\"parameter_count\",\"trainer.train_batch_size\",\"trainer.num_train_steps\",\"optimizer.learning_rate\","
      "\"model.hidden_dim\",\"model.num_layers\"\r\n"
      "\"isoflop-1e+18,d512\",\"0.003\",\"3.5\",\"1000000000.0\",\"2000000000\",\"83000000\",\"128\",\"3814\",\"\","
      "\"512\",\"6\"\r\n"
      "\"isoflop-1e+18,d640\",\"0.003\",\"\",\"1000000000.0\",\"1500000000\",\"110000000\",\"128\",\"2861\",\"\","
      "\"640\",\"7\"\r\n",
      "nemotron.csv");
  run_text::check_sound(table);
  REQUIRE(table.rows.used == 1);
  CHECK(table.flop[0] == 1e18);
  CHECK(table.observations[0].tokens == 2e9);
  CHECK(mapped(table, Role::loss).title == "eval/paloma/macro_loss");
  REQUIRE(table.rows.skipped.size() == 1);
  CHECK(table.rows.skipped[0].place() == "nemotron.csv:3:3");
}

TEST_CASE("hand-kept sheets have suffixes, percentages, headings between rows and failed runs") {
  const RunTable table = runs::read(
      "Params,total steps,lr,C,Approx_C_no_emb,Approx_C,D,N_no_emb,N,vocab,share,State,loss\n"
      "12.0M,1000,1e-3,7.2e16,5e16,7.3e16,1.0B,8.0M,12000128,32.0K,40.3%,finished,4.1\n"
      "Sweep two,,,,,,,,,,,,\n"
      "24.0M,1000,1e-3,1.44e17,1e17,1.4e17,1.0B,18.0M,24000128,32.0K,40.3%,failed,3.9\n"
      "24.0M,1000,1e-3,1.44e17,1e17,1.4e17,1.0B,18.0M,24000128,32.0K,40.3%,crashed,3.9\n"
      "24.0M,1000,1e-3,1.44e17,1e17,1.4e17,1.0B,18.0M,24000128,32.0K,40.3%,Finished,3.8\n",
      "data.csv");
  run_text::check_sound(table);
  CHECK(table.rows.used == 2);
  CHECK(table.observations[0].parameters == 12000128);
  CHECK(table.observations[0].tokens == 1e9);
  CHECK(mapped(table, Role::flop).title == "C");
  CHECK(notes(table, "N_no_emb has the non-embedding one"));
  REQUIRE(table.rows.skipped.size() == 3);
  CHECK(table.rows.skipped[0].place() == "data.csv:3:9");
  CHECK(table.rows.skipped[1].reason == "State says that the run did not finish, got \"failed\"");
  CHECK(table.rows.skipped[1].column == 12);
  ReadOptions options;
  options.keep_failed = true;
  options.columns["parameters"] = "Params";
  CHECK(runs::read("Params,D,State,loss\n24.0M,1e9,failed,3.9\n", "x.csv", options).observations[0].parameters == 24e6);
}

TEST_CASE("integers above 2^63 and last checkpoints are read as they stand") {
  const RunTable table = runs::read(
      "loss,C4 Eval Loss,N,N_no_emb,D,C,C_no_emb,C_6ND,C_6ND_no_emb,portion_steps_elapsed,model,train_tokens,"
      "total_steps,current_steps,total_epochs,current_epoch,peak_lr,sweep\n"
      "2.9,3.1,1000000000,900000000,20000000000,120000000000000000000,108000000000000000000,120000000000000000000,"
      "108000000000000000000,1.0,m,20000000000,100,100,1,1,0.001,s\n",
      "last.csv");
  CHECK(table.flop[0] == 1.2e20);
  CHECK(mapped(table, Role::loss).title == "loss");
  CHECK(mapped(table, Role::loss).alternatives == std::vector<std::string>{"C4 Eval Loss"});
  CHECK(mapped(table, Role::tokens).title == "D");
  CHECK(table.six_nd_over_c.median == 1);
}

TEST_CASE("a sweep of hyper-parameters gives the lowest loss of each cell when asked") {
  constexpr std::string_view text =
      "h,ffnh,numh,numl,lr,bs,ti,loss,smooth loss,exp_name,D,N,D/N\n"
      "512,1,1,8,1e-3,32,1,3.20,3.25,a,2e9,1e8,20\n"
      "512,1,1,8,2e-3,32,1,3.10,3.15,b,2e9,1e8,20\n"
      "512,1,1,8,4e-3,32,1,3.30,3.35,c,2e9,1e8,20\n"
      "512,1,1,8,1e-3,32,1,3.00,2.95,d,4e9,1e8,40\n";
  CHECK(runs::read(text, "dense.csv").rows.used == 4);
  ReadOptions options;
  options.minimum_per_cell = true;
  options.keep = {"exp_name"};
  const RunTable table = runs::read(text, "dense.csv", options);
  run_text::check_sound(table);
  REQUIRE(table.rows.used == 2);
  CHECK(table.rows.dropped == 2);
  CHECK(table.observations[0].loss == 3.10);
  CHECK(table.observations[0].tokens == 2e9);
  CHECK(table.kept.at("exp_name") == std::vector<std::string>{"b", "d"});
  CHECK(table.origins[0].line == 3);
  CHECK(notes(table, "from 1 to 3 runs a cell"));
}

TEST_CASE("five parameter counts and bits a byte are told apart") {
  const RunTable table = runs::read(
      "flops_budget,depth,model_dim,params_wte,params_value_embeds,params_lm_head,params_transformer,params_scalars,"
      "params_total,num_iterations,tokens_trained,val_bpb,core_score,train_time_sec\n"
      "1e18,12,768,25000000,0,25000000,85000000,100,135000000,1000,1200000000,0.91,0.1,600\n",
      "results.csv");
  CHECK(mapped(table, Role::parameters).title == "params_total");
  CHECK(mapped(table, Role::parameters).alternatives == std::vector<std::string>{"params_transformer"});
  CHECK(mapped(table, Role::flop).title == "flops_budget");
  CHECK(table.loss_unit == "bits/byte");
  CHECK(notes(table, "the loss is in bits/byte"));
}

TEST_CASE("marks of order, line ends, tabs, semicolons and decimal commas are no obstacle") {
  for (const std::string_view text :
       {"\xEF\xBB\xBFN,D,loss\r\n1e9,2e10,2.5\r\n", "N\tD\tloss\n1e9\t2e10\t2.5\n", "N;D;loss\n1e9;2e10;2,5\n",
        "N,D,loss\r1e9,2e10,2.5", "sep=;\r\nN;D;loss\r\n1e9;2e10;2,5\r\n",
        "\n\n N , D , loss \n\n 1e9 , 2e10 , 2.5 \n\n", "name;N;D;loss\n\"a;b\";1e9;2e10;\"2,5\"\n",
        "name\tN\tD\tloss\na, \"b\"\t1e9\t2e10\t2.5"}) {
    CAPTURE(std::string(text));
    const RunTable table = runs::read(text, "runs.txt");
    REQUIRE(table.rows.used == 1);
    CHECK(table.observations[0].parameters == 1e9);
    CHECK(table.observations[0].tokens == 2e10);
    CHECK(table.observations[0].loss == 2.5);
  }
  const RunTable table = runs::read("N,D,loss\n\"1,000,000,000\",2e10,2.5\n", "runs.csv");
  CHECK(table.observations[0].parameters == 1e9);
  CHECK(notes(table, "commas in N were read as separators of thousands"));
}

TEST_CASE("blank is never 0, and each bad cell is skipped with place, title and reason") {
  const RunTable table = runs::read(
      "N,D,C,loss\n"
      "1e9,2e10,,2.5\n"
      ",2e10,1.2e20,2.5\n"
      "1e9,NaN,1.2e20,2.5\n"
      "1e9,2e10,1.2e20,none\n"
      "1e9,2e10,1.2e20,-1\n"
      "0,2e10,1.2e20,2.5\n"
      "1e9,2e10,oops,2.5\n"
      "1e9,2e10,1.2e20,1e999\n"
      "a,b,1e9,2e10,1.2e20,2.5\n"
      "1e9,2e10\n"
      "1e9,2e10,1.2e20,2.5,,\n",
      "runs.csv");
  run_text::check_sound(table);
  CHECK(table.rows.used == 2);
  CHECK_FALSE(table.flop[0].has_value());
  CHECK(notes(table, "C is not known in 1 rows"));
  const std::vector<std::string> expected{
      "runs.csv:3:1: N is blank",
      "runs.csv:4:2: D holds no number, got \"NaN\"",
      "runs.csv:5:4: loss holds no number, got \"none\"",
      "runs.csv:6:4: loss must be positive, got \"-1\"",
      "runs.csv:7:1: N must be positive, got \"0\"",
      "runs.csv:8:3: C must be a number, got \"oops\"",
      "runs.csv:9:4: loss must be in the range of a double, got \"1e999\"",
      "runs.csv:10: the row has 6 cells where the header has 4 (a comma outside quotes?)",
      "runs.csv:11:4: loss is blank"};
  REQUIRE(table.rows.skipped.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(table.rows.skipped[i].place() + ": " + table.rows.skipped[i].reason == expected[i]);
  }
}

TEST_CASE("skipped rows are all counted, and listed up to a limit") {
  std::string text = "N,D,loss\n1e9,2e10,2.5\n";
  for (int i = 0; i < 50; ++i) text += "1e9,2e10,\n";
  ReadOptions options;
  options.skipped_listed = 10;
  const RunTable table = runs::read(text, "runs.csv", options);
  CHECK(table.rows.skipped_count == 50);
  CHECK(table.rows.skipped.size() == 10);
}

TEST_CASE("a file without a usable row is unusable data, and the commonest reason is named") {
  const Error blank = thrown::by([] { (void)runs::read("N,D,loss\n1e9,2e10,\n1e9,,2\n1e9,2e10,\n", "runs.csv"); });
  CHECK(blank.exit_status() == 4);
  CHECK(blank.where() == "runs.csv:2:3");
  CHECK(thrown::says(blank, "none of 3 rows can be used: in 2 loss is blank"));
  const Error none = thrown::by([] { (void)runs::read("N,D,loss\n", "runs.csv"); });
  CHECK(none.exit_status() == 4);
  ReadOptions options;
  options.where = "N > 1e12";
  const Error filtered = thrown::by([&] { (void)runs::read("N,D,loss\n1e9,2e10,2.5\n", "runs.csv", options); });
  CHECK(filtered.exit_status() == 4);
  CHECK(thrown::says(filtered, "1 do not meet where N > 1e12"));
  for (const std::string_view text : {"", "\n\n", "a,b\n1,2\n", "N,loss\n1,2\n", "N,D\n1,2\n", "D,loss\n1,2\n",
                                      "N,D,loss\n\"1e9,2e10,2.5\n", "\xFF\xFEN\0,\0", "[1,2]"}) {
    CAPTURE(std::string(text));
    CHECK(thrown::by([text] { (void)runs::read(text, "runs.csv"); }).exit_status() == 4);
  }
}

TEST_CASE("tokens are derived only where they are missing and only when told, and never recomputed") {
  constexpr std::string_view text = "N,D,C,loss\n1e9,5e9,6e19,2.5\n1e9,,6e19,2.4\n";
  const RunTable plain = runs::read(text, "runs.csv");
  CHECK(plain.rows.used == 1);
  CHECK(plain.rows.skipped[0].reason == "D is blank");
  ReadOptions options;
  options.derive_tokens = true;
  const RunTable table = runs::read(text, "runs.csv", options);
  REQUIRE(table.rows.used == 2);
  CHECK(table.observations[0].tokens == 5e9);
  CHECK(table.observations[1].tokens == 1e10);
  CHECK(table.origins[0].tokens_given);
  CHECK_FALSE(table.origins[1].tokens_given);
  CHECK(table.six_nd_over_c.rows == 1);
  CHECK(notes(table, "D = C/(6N) in 1 rows, where D is blank"));
  CHECK(runs::read("N,D,C,loss\n1e9,x,6e19,2\n1e9,1e9,6e19,2\n", "runs.csv", options).rows.skipped_count == 1);
}

TEST_CASE("FLOP is derived where no column holds it, or where it is blank and the user says so") {
  CHECK(runs::read("N,D,loss\n1e9,2e10,2.5\n", "runs.csv").flop[0] == 1.2e20);
  constexpr std::string_view text = "N,D,C,loss\n1e9,2e10,,2.5\n1e9,2e10,9e19,2.4\n";
  CHECK_FALSE(runs::read(text, "runs.csv").flop[0].has_value());
  ReadOptions options;
  options.derive_flop = true;
  const RunTable table = runs::read(text, "runs.csv", options);
  CHECK(table.flop[0] == 1.2e20);
  CHECK(table.flop[1] == 9e19);
  CHECK(notes(table, "C = 6ND in 1 rows, where C is blank"));
}

TEST_CASE("tokens come from batch, steps and sequence length when told") {
  ReadOptions options;
  options.columns["tokens"] = "batch*steps*seq_len";
  const RunTable table =
      runs::read("N,batch,steps,seq_len,loss\n1e9,512,1000,2048,3\n1e9,512,,2048,3\n", "r.csv", options);
  REQUIRE(table.rows.used == 1);
  CHECK(table.observations[0].tokens == 512.0 * 1000 * 2048);
  CHECK(table.rows.skipped[0].place() == "r.csv:3:3");
}

TEST_CASE("units that do not fit together are warned of") {
  const RunTable gflop = runs::read("N,D,C,loss\n1e9,2e10,1.2e11,2.5\n", "runs.csv");
  CHECK(warns(gflop, "suspect_units"));
  CHECK(gflop.six_nd_over_c.median == doctest::Approx(1e9));
  CHECK(warns(runs::read("N,D,loss\n405,15.6,2.5\n", "runs.csv"), "suspect_units"));
  CHECK_FALSE(warns(runs::read("N,D,C,loss\n1e9,2e10,1.8e20,2.5\n", "runs.csv"), "suspect_units"));
}

TEST_CASE("weights are read when named, may be 0, and may not be negative") {
  ReadOptions options;
  options.columns["weight"] = "w";
  const RunTable table = runs::read("N,D,loss,w\n1e9,2e10,2,0\n1e9,2e10,3,2.5\n1e9,2e10,4,-1\n", "runs.csv", options);
  REQUIRE(table.rows.used == 2);
  CHECK(table.observations[0].weight == 0);
  CHECK(table.observations[1].weight == 2.5);
  CHECK(table.rows.skipped[0].title == "w");
}

TEST_CASE("kept columns follow their runs and become numbers when asked") {
  ReadOptions options;
  options.keep = {"U", "name"};
  const RunTable table =
      runs::read("name,N,D,U,loss\na,1e9,2e10,1e9,2\nb,1e9,,2e9,2\nc,1e9,2e10,,2\n", "runs.csv", options);
  CHECK(table.kept.at("name") == std::vector<std::string>{"a", "c"});
  const Error blank = thrown::by([&] { (void)runs::kept_numbers(table, "U"); });
  CHECK(blank.exit_status() == 4);
  CHECK(thrown::says(blank, "runs.csv:4: U is blank"));
  CHECK(thrown::by([&] { (void)runs::kept_numbers(table, "epochs"); }).exit_status() == 2);
  options.where = "U > 0";
  CHECK(runs::kept_numbers(runs::read("name,N,D,U,loss\na,1e9,2e10,1e9,2\nb,1e9,2e10,,2\n", "r.csv", options), "U") ==
        std::vector<double>{1e9});
  ReadOptions comma;
  comma.keep = {"U"};
  CHECK(runs::kept_numbers(runs::read("N;D;U;loss\n1e9;2e10;2,791;2,5\n", "r.csv", comma), "U") ==
        std::vector<double>{2.791});
  options.keep = {"Name"};
  CHECK(thrown::says(thrown::by([&] { (void)runs::read("name,N,D,U,loss\na,1,1,1,1\n", "r.csv", options); }),
                     "nearest: name"));
}

TEST_CASE("a title that stands twice is read once, and said") {
  CHECK(notes(runs::read("N,D,loss,loss\n1e9,2e10,2,3\n", "runs.csv"), "the title loss stands over 2 columns"));
}

TEST_CASE("a table describes itself in one line") {
  CHECK(runs::read("N,D,total_gflops,loss\n1e9,2e10,1.2e11,2\n1e9,2e10,1.2e11,\n", "runs.csv").describe() ==
        "runs.csv: 2 rows read, 1 used, 1 skipped; parameters from N, tokens from D, flop from total_gflops (GFLOP), "
        "loss from loss");
}
