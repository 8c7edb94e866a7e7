// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/runs/json_runs.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "run_text.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using run_text::mapped;
using run_text::notes;
using runs::read_any;
using runs::ReadOptions;
using runs::Role;
using runs::RunTable;

TEST_CASE("an array of objects, and an object that holds one, are rows") {
  for (const std::string_view text :
       {R"([{"N": 1e9, "D": 2e10, "loss": 2.5}, {"N": 2000000000, "D": "20B", "loss": 2.4}])",
        R"({"meta": {"who": "me"}, "runs": [{"N": 1e9, "D": 2e10, "loss": 2.5}, {"N": 2e9, "D": 2e10, "loss": 2.4}]})",
        "{\"N\": 1e9, \"D\": 2e10, \"loss\": 2.5}\n{\"N\": 2e9, \"D\": 2e10, \"loss\": 2.4}\n",
        "\xEF\xBB\xBF  [ {\"loss\": 2.5, \"D\": 2e10, \"N\": 1e9},\n{\"N\": 2e9, \"D\": 2e10, \"loss\": 2.4}]\n",
        "{\n\"N\": 1e9,\n\"D\": 2e10,\n\"loss\": 2.5\n}\n{\n\"N\": 2e9, \"D\": 2e10, \"loss\": 2.4}"}) {
    CAPTURE(std::string(text));
    const RunTable table = read_any(text, "runs.json");
    run_text::check_sound(table);
    REQUIRE(table.rows.used == 2);
    CHECK(table.observations[0].parameters == 1e9);
    CHECK(table.observations[1].parameters == 2e9);
    CHECK(table.observations[1].tokens == 2e10);
    CHECK(table.observations[1].loss == 2.4);
  }
}

TEST_CASE("one file a run with a loss for each validation set gives a row each, with the run's own settings") {
  const std::string text = R"({
  "name": "run-1", "dataset_name": "c4",
  "hyperparameters": {"model": "m", "tokens": 2058081280, "warmup": 2000, "lr": 0.003, "wd": 0.033, "cd": 3e-05,
    "global_bs": 512, "acc": 1, "params": 411616256, "params_no_embed": 359973888, "chinchilla_multiplier": 0.25},
  "results": [
    {"loss": 3.64, "loss_tokens_lower_95": 3.6, "loss_tokens_upper_95": 3.7, "tokens": 1000,
     "val_data": ["s3://b/c4_val/x.tar"], "model": "m"},
    {"loss": 3.19, "loss_tokens_lower_95": 3.1, "loss_tokens_upper_95": 3.2, "tokens": 1000,
     "val_data": ["s3://b/openlm/x.tar"], "model": "m"}
  ]})";
  ReadOptions options;
  options.keep = {"name", "val_data"};
  const RunTable all = read_any(text, "run.json", options);
  run_text::check_sound(all);
  REQUIRE(all.rows.used == 2);
  CHECK(all.observations[0].parameters == 411616256);
  CHECK(all.observations[0].tokens == 2058081280);
  CHECK(all.kept.at("name") == std::vector<std::string>{"run-1", "run-1"});
  CHECK(mapped(all, Role::tokens).title == "hyperparameters.tokens");
  CHECK(mapped(all, Role::tokens).alternatives == std::vector<std::string>{"tokens"});
  CHECK(notes(all, "a loss for each validation set"));
  CHECK(notes(all, "hyperparameters.params_no_embed has the non-embedding one"));
  CHECK(all.origins[1].line == 8);
  options.where = "val_data ~ c4_val";
  const RunTable one = read_any(text, "run.json", options);
  CHECK(one.rows.used == 1);
  CHECK(one.observations[0].loss == 3.64);
  CHECK_FALSE(notes(one, "validation set"));
}

TEST_CASE("a run's lists of layers and its history of losses are not taken for runs") {
  const RunTable table = read_any(
      R"([{"N": 1e9, "D": 2e10, "loss": 2.5, "layers": [{"h": 1}, {"h": 2}], "history": [{"step": 1, "loss": 9}]},
          {"N": 1e9, "D": 3e10, "history": [{"step": 1, "loss": 9}]}])",
      "runs.json");
  CHECK(table.rows.read == 2);
  CHECK(table.rows.used == 1);
  CHECK(table.observations[0].loss == 2.5);
  CHECK(table.rows.skipped[0].reason == "loss is blank");
}

TEST_CASE("null, NaN, Infinity and missing fields are no numbers, and lines are named") {
  const RunTable table = read_any(
      "[{\"N\": 1e9, \"D\": 2e10, \"loss\": 2.5},\n"
      " {\"N\": 1e9, \"D\": 2e10, \"loss\": NaN},\n"
      " {\"N\": 1e9, \"D\": null, \"loss\": 2.5},\n"
      " {\"N\": -Infinity, \"D\": 2e10, \"loss\": 2.5, \"note\": \"NaN \\\" Infinity\"},\n"
      " {\"N\": 1e9, \"loss\": 2.5},\n"
      " {\"N\": 1e9, \"D\": 2e10, \"loss\": true}]",
      "runs.json");
  run_text::check_sound(table);
  CHECK(table.rows.used == 1);
  REQUIRE(table.rows.skipped.size() == 5);
  CHECK(table.rows.skipped[0].place() == "runs.json:2");
  CHECK(table.rows.skipped[0].reason == "loss holds no number, got \"NaN\"");
  CHECK(table.rows.skipped[1].reason == "D is blank");
  CHECK(table.rows.skipped[2].reason == "N must be a number, got \"-Infinity\"");
  CHECK(table.rows.skipped[3].place() == "runs.json:5");
  CHECK(table.rows.skipped[4].reason == "loss must be a number, got \"true\"");
}

TEST_CASE("integers above 2^63 keep their value, and the last of a name given twice counts") {
  const RunTable table =
      read_any(R"([{"N": 9223372036854775809, "D": 18446744073709551616, "loss": 9, "loss": 2}])", "r.json");
  CHECK(table.observations[0].parameters == 9223372036854775809.0);
  CHECK(table.observations[0].tokens == 18446744073709551616.0);
  CHECK(table.observations[0].loss == 2);
}

TEST_CASE("a broken line of JSONL is skipped with its number, and broken JSON is an error with its line") {
  const RunTable table = read_any(
      "{\"N\": 1e9, \"D\": 2e10, \"loss\": 2.5}\n"
      "{\"N\": 1e9, \"D\": 2e10, \"lo\n"
      "\n"
      "{\"N\": 1e9, \"D\": 3e10, \"loss\": 2.4}\n"
      "{\"N\": 1e9, \"D\": 3e10, \"loss\": 1e999}\n",
      "runs.jsonl");
  run_text::check_sound(table);
  CHECK(table.rows.read == 4);
  CHECK(table.rows.used == 2);
  REQUIRE(table.rows.skipped.size() == 2);
  CHECK(table.rows.skipped[0].place() == "runs.jsonl:2");
  CHECK(table.rows.skipped[1].place() == "runs.jsonl:5");
  CHECK(table.origins[1].line == 4);
  const Error error = thrown::by([] { (void)read_any("[{\"N\": 1e9,\n\"D\": }]", "runs.json"); });
  CHECK(error.exit_status() == 4);
  CHECK(error.where() == "runs.json:2");
}

TEST_CASE("JSON without a run is unusable data") {
  for (const std::string_view text :
       {"[]", "{}", "[[1, 2], [3]]", "[1, 2", "{\"a\"", "{\"N\": 1}", "[{\"N\": 1, \"D\": 2}]",
        "[{\"N\": 1, \"D\": 2, \"loss\": null}]", "{\"N\": 1}}", "[{}] x"}) {
    CAPTURE(std::string(text));
    CHECK(thrown::by([text] { (void)read_any(text, "runs.json"); }).exit_status() == 4);
  }
}

TEST_CASE("nesting is read to a depth of 64, and a clean error beyond") {
  const auto nested = [](std::size_t depth) {
    std::string text = R"({"N": 1e9, "D": 2e10, "loss": 2, "x": )";
    for (std::size_t i = 1; i < depth; ++i) text += "[";
    text += "1";
    for (std::size_t i = 1; i < depth; ++i) text += "]";
    return text + "}";
  };
  CHECK(read_any(nested(64), "runs.json").rows.used == 1);
  const Error error = thrown::by([&] { (void)read_any(nested(65), "runs.json"); });
  CHECK(error.exit_status() == 4);
  CHECK(thrown::says(error, "64"));
  CHECK(thrown::by([] { (void)read_any(std::string(10000000, '['), "runs.json"); }).exit_status() == 4);
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  CHECK(thrown::by([&] { (void)read_any(objects, "runs.json"); }).exit_status() == 4);
  const std::string long_name(2000, 'a');
  CHECK(thrown::by([&] { (void)read_any("{\"" + long_name + "\": 1}", "runs.json"); }).exit_status() == 4);
}

TEST_CASE("a table goes through the same door as JSON") {
  CHECK(read_any("N,D,loss\n1e9,2e10,2.5\n", "runs.csv").rows.used == 1);
}

TEST_CASE("a loss that the user names decides which objects are runs") {
  ReadOptions options;
  options.columns["loss"] = "score";
  const RunTable table =
      read_any(R"([{"N": 1e9, "D": 2e10, "evals": [{"score": 2.5, "set": "a"}, {"score": 2.6, "set": "b"}]}])",
               "r.json", options);
  CHECK(table.rows.used == 2);
}
