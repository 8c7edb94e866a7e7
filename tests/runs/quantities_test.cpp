// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "floplan/runs/json_runs.hpp"
#include "floplan/runs/quantity_title.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using runs::quantity_rank;

const std::string table =
    "N,D,U,epochs,acc_hellaswag,loss\n"
    "1e8,2e9,1e9,2,0.31,3.2\n"
    "2e8,4e9,,2,0.35,3.0\n"
    "4e8,8e9,1e9,8,n/a,2.9\n"
    "4e8,8e9,1e9,8,0.41,2.9\n"
    "1e8,2e9,1e9,2,0.31,3.2\n";

runs::RunTable read(const std::vector<runs::Quantity>& quantities, const std::string& text = table) {
  runs::ReadOptions options;
  options.quantities = quantities;
  return runs::read_any(text, "runs.csv", options);
}

const runs::Quantity parameters{"parameters", 1, 1e24}, tokens{"tokens", 1, 1e24}, unique{"unique_tokens", 1, 1e24},
    loss{"loss", 1e-6, 1e3}, accuracy{"accuracy", -1, 2}, flop{"flop", 1, 1e36};

}  // namespace

TEST_CASE("a title says which quantity of a law it holds, by its key, another name or its symbol") {
  CHECK(quantity_rank("unique_tokens", "unique_tokens") == 0);
  CHECK(quantity_rank("Unique Tokens", "unique_tokens") == 0);
  CHECK(quantity_rank("config/unique_train_tokens", "unique_tokens") == 1);
  CHECK(quantity_rank("U", "unique_tokens") == 2);
  CHECK(quantity_rank("num_experts", "experts") == 1);
  CHECK(quantity_rank("lr", "learning_rate") == 1);
  CHECK(quantity_rank("acc_hellaswag", "accuracy") == 3);
  CHECK(quantity_rank("acc", "accuracy") == 1);
  CHECK_FALSE(quantity_rank("acc_stderr", "accuracy"));
  CHECK_FALSE(quantity_rank("u", "unique_tokens"));
  CHECK_FALSE(quantity_rank("batch_size", "batch"));
  CHECK_FALSE(quantity_rank("tokens", "unique_tokens"));
}

TEST_CASE("runs are read for the quantities of a law, and rows without one of them are skipped with its column") {
  const runs::RunTable found = read({parameters, tokens, unique, loss});
  REQUIRE(found.quantities.size() == 4);
  CHECK(found.quantities[0] == std::vector<double>{1e8, 2e9, 1e9, 3.2});
  REQUIRE(found.rows.skipped.size() == 1);
  CHECK(found.rows.skipped[0].title == "U");
  CHECK(found.rows.skipped[0].line == 3);
  CHECK(found.rows.duplicates == 2);
  CHECK(found.describe().find("unique_tokens from U") != std::string::npos);
  // Columns that the law does not ask for are not said to be anything.
  CHECK(found.describe().find("flop") == std::string::npos);
}

TEST_CASE("a law of loss alone needs neither N nor D, and a column can be named") {
  const runs::RunTable found = read({loss, accuracy});
  REQUIRE(found.quantities.size() == 4);
  CHECK(found.quantities[2] == std::vector<double>{2.9, 0.41});
  runs::ReadOptions options;
  options.quantities = {loss, accuracy};
  options.columns = {{"accuracy", "epochs"}};
  const runs::RunTable named = runs::read_any(table, "runs.csv", options);
  CHECK(named.quantities.size() == 3);
  REQUIRE(named.rows.skipped.size() == 2);
  CHECK(named.rows.skipped[0].reason == "epochs must be from -1 to 2 to be accuracy, got \"8\"");
  options.columns = {{"accuracy", "acc_hellaswg"}};
  CHECK(thrown::says(thrown::by([&] { (void)runs::read_any(table, "runs.csv", options); }), "acc_hellaswag"));
  options.columns = {{"granularity", "epochs"}};
  CHECK(thrown::by([&] { (void)runs::read_any(table, "runs.csv", options); }).code() == "unknown_role");
  CHECK(thrown::by([] { (void)read({loss, {"granularity", 1, 1e4}}); }).code() == "missing_column");
}

TEST_CASE("FLOP are 6ND where a law asks for them and no column has them") {
  const runs::RunTable found = read({flop, loss});
  REQUIRE(found.quantities.size() == 5);
  CHECK(found.quantities[1][0] == doctest::Approx(6 * 2e8 * 4e9));
  CHECK(found.describe().find("6ND") != std::string::npos);
}
