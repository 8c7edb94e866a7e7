// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/runs_files.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/core/file.hpp"
#include "support/reference.hpp"
#include "support/shared_data.hpp"
#include "support/temporary_folder.hpp"

using cli::Arguments;
using cli::ask;
using cli::check_refused;
using cli::Json;
using cli::operator+;

namespace {

const Arguments few = {"--bootstrap", "40"};

// The optimum of L = E + A / N^alpha + B / D^beta on 6 N D = flop, in closed form.
double optimal_parameters(const Json& p, double flop) {
  const double alpha = p.at("alpha").at("value"), beta = p.at("beta").at("value");
  const double a = p.at("A").at("value"), b = p.at("B").at("value");
  return std::pow(alpha * a / (beta * b), 1 / (alpha + beta)) * std::pow(flop / 6, beta / (alpha + beta));
}

void check_known(const std::string& quantity, double found) {
  for (const reference::Row& row : reference::rows("fit_known_faults.csv")) {
    if (row.text("quantity") != quantity) continue;
    INFO(quantity << ": " << found);
    CHECK(std::abs(found - row.value()) <= row.tolerance());
    return;
  }
  FAIL("no reference for " << quantity);
}

}  // namespace

TEST_CASE("fit answers with the documented keys") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", runs_files::sweep()).string();
  const Json answer = ask(Arguments{"fit", runs} + few);
  CHECK(answer.at("command") == "fit");
  const Json& result = answer.at("result");
  CHECK(result.at("law") == "chinchilla");
  CHECK(result.at("estimator").at("residual") == "log");
  CHECK(result["estimator"].at("loss") == "huber");
  CHECK(result["estimator"].at("delta") == 1e-3);
  CHECK(result.at("objective").get<double>() > 0);
  for (const char* name : {"E", "A", "B", "alpha", "beta"}) {
    INFO(name);
    const Json& p = result.at("parameters").at(name);
    for (const char* key : {"value", "se", "low", "high", "level"}) CHECK(p.at(key).is_number());
    CHECK(p["low"] <= p["high"]);
    CHECK(p["se"] > 0);
    CHECK(p["level"] == 0.9);
  }
  const Json& split = result.at("allocation");
  CHECK(split.at("exponent_parameters").get<double>() + split.at("exponent_tokens").get<double>() ==
        doctest::Approx(1));
  CHECK(split.at("coefficient").get<double>() > 0);
  const Json& rows = result.at("rows");
  CHECK(rows.at("read") == 36);
  CHECK(rows.at("used") == 36);
  CHECK(rows.at("duplicates") == 0);
  CHECK(rows.at("skipped").empty());
  const Json& search = result.at("search");
  for (const char* key : {"starts", "agreeing", "evaluations"}) CHECK(search.at(key) >= 1);
  CHECK(search["agreeing"] <= search["starts"]);
  CHECK(search.at("converged") == true);
  CHECK(result.at("identifiable") == true);
  CHECK(result.at("at_bound").empty());
  for (const char* key : {"parameters", "tokens", "flop"})
    CHECK(result.at("fit_range").at(key).at("low") < result["fit_range"][key].at("high"));
  CHECK(result.at("residual_sd") > 0);
  // The ripple of the file is 0.15%; the law is near.
  CHECK(result["parameters"]["alpha"]["value"].get<double>() == doctest::Approx(0.35).epsilon(0.15));
  CHECK(result["parameters"]["E"]["value"].get<double>() == doctest::Approx(1.72).epsilon(0.1));
}

TEST_CASE("the estimator is chosen by options, and is named in the answer") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", runs_files::sweep()).string();
  const Arguments none = {"--bootstrap", "0"};
  const Json base = ask(Arguments{"fit", runs} + none)["result"];
  CHECK(base["parameters"]["alpha"]["se"].is_null());
  CHECK(base["parameters"]["alpha"]["low"].is_null());
  const Json wide = ask(Arguments{"fit", runs, "--delta", "1e-2"} + none)["result"];
  CHECK(wide["estimator"]["delta"] == 1e-2);
  CHECK(wide["parameters"]["alpha"]["value"] != base["parameters"]["alpha"]["value"]);
  for (const auto& choice : {std::pair{"mse", "raw"}, std::pair{"lad", "log"}}) {
    const char* const loss = choice.first;
    const char* const residual = choice.second;
    const Json other = ask(Arguments{"fit", runs, "--loss", loss, "--residual", residual} + none)["result"];
    INFO(loss);
    CHECK(other["estimator"]["residual"] == residual);
    CHECK(other["estimator"]["delta"].is_null());
    CHECK(other["parameters"]["alpha"]["value"].get<double>() == doctest::Approx(0.35).epsilon(0.2));
  }
}

TEST_CASE("the same seed gives the same bytes at any thread count, and another seed other intervals") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", runs_files::sweep()).string();
  const Arguments base = Arguments{"fit", runs, "--json"} + few;
  const std::string one = cli::run(base + Arguments{"--seed", "7", "--threads", "1"}).out;
  CHECK(one == cli::run(base + Arguments{"--seed", "7", "--threads", "3"}).out);
  const std::string other = cli::run(base + Arguments{"--seed", "8", "--threads", "1"}).out;
  CHECK(one != other);
  const Json a = Json::parse(one)["result"], b = Json::parse(other)["result"];
  CHECK(a["parameters"]["beta"]["value"] == b["parameters"]["beta"]["value"]);
  CHECK(a["parameters"]["beta"]["se"] != b["parameters"]["beta"]["se"]);
}

TEST_CASE("rows that cannot be used are skipped with their line, their column and the reason") {
  const TemporaryFolder folder;
  std::string text = runs_files::sweep();
  const auto line = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  text += "1e9,2e10,1.2e20,\n0,2e10,1.2e20,2.5\n1e9,2e10,1.2e20,abc\n";
  const std::string runs = folder.file("runs.csv", text).string();
  const Json result = ask(Arguments{"fit", runs, "--bootstrap", "0"})["result"];
  const Json& rows = result.at("rows");
  CHECK(rows.at("read") == 39);
  CHECK(rows.at("used") == 36);
  REQUIRE(rows.at("skipped").size() == 3);
  const std::size_t columns[] = {4, 1, 4};
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& row = rows["skipped"][i];
    CHECK(row.at("line") == line + i);
    CHECK(row.at("column") == columns[i]);
    CHECK_FALSE(row.at("reason").get<std::string>().empty());
  }
  CHECK(rows["skipped"][0]["reason"].get<std::string>().find("loss") != std::string::npos);
  const Json clean = ask({"fit", folder.file("clean.csv", runs_files::sweep()).string(), "--bootstrap", "0"})["result"];
  CHECK(clean["parameters"]["alpha"]["value"] == result["parameters"]["alpha"]["value"]);
}

TEST_CASE("rows are chosen with --where and columns with --columns, and repeated rows are counted") {
  const TemporaryFolder folder;
  std::string text = runs_files::sweep();
  const std::size_t body = text.find('\n') + 1;
  text.replace(0, body, "a,b,c,d\n");
  const std::string runs = folder.file("runs.csv", text + text.substr(8, text.find('\n', 8) + 1 - 8)).string();
  const Arguments named = {"fit", runs, "--columns", "parameters=a,tokens=b,flop=c,loss=d", "--bootstrap", "0"};
  const Json all = ask(named)["result"]["rows"];
  CHECK(all["used"] == 37);
  CHECK(all["duplicates"] == 1);
  const Json some = ask(named + Arguments{"--where", "c<5e20"})["result"]["rows"];
  CHECK(some["used"] == 28);
  check_refused({"fit", runs, "--columns", "parameters=a,tokens=b,loss=e"}, 2, "e");
  check_refused(named + Arguments{"--where", "q==1"}, 2, "q");
}

TEST_CASE("the answer goes into a file, or as a table to the standard output") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", runs_files::sweep()).string();
  const std::string out = (folder / "fit.json").string();
  const cli::Result written = cli::run(Arguments{"fit", runs, "--json", "--out", out} + few);
  CHECK(written.status == 0);
  CHECK(written.out.empty());
  CHECK(floplan::read_text_file(out) == cli::run(Arguments{"fit", runs, "--json"} + few).out);

  const floplan::CsvTable table = floplan::parse_csv(cli::run(Arguments{"fit", runs, "--csv"} + few).out, "out");
  const Json result = Json::parse(floplan::read_text_file(out))["result"];
  REQUIRE(table.size() >= 5);
  CHECK(std::stod(std::string(table.row(3)[table.column("value")])) == result["parameters"]["alpha"]["value"]);
  CHECK(std::stod(std::string(table.row(3)[table.column("low")])) == result["parameters"]["alpha"]["low"]);
}

TEST_CASE("fit refuses wrong usage, files it cannot use, and runs that support no law") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", runs_files::sweep()).string();
  check_refused({"fit"}, 2, "runs");
  check_refused({"fit", runs, "--delta", "0"}, 2, "delta");
  check_refused({"fit", runs, "--delta", "nan"}, 2, "--delta");
  check_refused({"fit", runs, "--loss", "l1"}, 2, "--loss");
  check_refused({"fit", runs, "--residual", "sqrt"}, 2, "--residual");
  check_refused({"fit", runs, "--law", "cubic"}, 2, "--law");
  check_refused({"fit", runs, "--bootstrap", "1.5"}, 2, "--bootstrap");
  check_refused({"fit", runs, "--level", "1"}, 2, "--level");
  check_refused({"fit", runs, "--seed", "-1"}, 2, "--seed");

  check_refused({"fit", (folder / "none.csv").string()}, 4, "none.csv");
  check_refused({"fit", folder.file("empty.csv", "").string()}, 4, "empty.csv");
  check_refused({"fit", folder.file("open.csv", "params,tokens,loss\n\"1,2,3\n").string()}, 4, "open.csv:2");

  check_refused({"fit", folder.file("four.csv", "params,tokens,loss\n1e8,2e9,3.5\n2e8,3e9,3.2\n").string()}, 5, "rows");
  std::string one_size = "params,tokens,loss\n";
  for (int i = 1; i < 12; ++i) one_size += "1e9," + std::to_string(i) + "e9,3." + std::to_string(30 - i) + "\n";
  check_refused({"fit", folder.file("one_size.csv", one_size).string()}, 5, "N");
}

TEST_CASE("40 runs have the optimum of their sum, whatever the start, and JSON keeps its digits (K01, K02, K03)") {
  const auto file = shared_data::known("k01_surface.csv");
  if (!file) return;
  const Json result = ask(Arguments{"fit", *file} + few)["result"];
  check_known("k01_alpha", result["parameters"]["alpha"]["value"]);
  check_known("k01_beta", result["parameters"]["beta"]["value"]);
  CHECK(result["objective"] < 3.76e-5);
  const double n = optimal_parameters(result["parameters"], 5.76e23);
  const Json& split = result["allocation"];
  CHECK(n == doctest::Approx(split["coefficient"].get<double>() *
                             std::pow(5.76e23 / 6, split["exponent_parameters"].get<double>()))
                 .epsilon(1e-9));
  const Json grid = ask({"fit", *file, "--starts", "hoffmann", "--bootstrap", "0"})["result"];
  CHECK(grid["search"]["starts"] == 4500);
  CHECK(grid["search"]["agreeing"] >= 1);
  CHECK(grid["search"]["agreeing"] < 4500);
  CHECK(grid["at_bound"].empty());
  for (const char* name : {"E", "A", "B", "alpha", "beta"}) {
    CHECK(grid["parameters"][name]["value"].get<double>() ==
          doctest::Approx(result["parameters"][name]["value"].get<double>()).epsilon(1e-6));
  }
}

TEST_CASE("budgets in GFLOP are read as such, and a blank cell is a skipped row and never a zero (K08, K09)") {
  const auto file = shared_data::known("k08_gflops.csv");
  if (!file) return;
  check_refused({"fit", *file}, 5, "got 2");  // two rows are left for five coefficients
  // The same file with enough rows below it: what is left is fitted.
  const TemporaryFolder folder;
  std::string text = floplan::read_text_file(*file);
  for (const double flop : {1e19, 1e20, 1e21}) {
    for (const double share : {0.3, 0.6, 1.2, 2.4}) {
      const double n = std::sqrt(flop / 120) * share, d = flop / (6 * n);
      const double loss = 1.72 + 480 / std::pow(n, 0.35) + 2100 / std::pow(d, 0.37);
      text += "\"run, " + std::to_string(share) + "\",\"" + std::to_string(n) + "\",\"" + std::to_string(d) + "\",\"" +
              std::to_string(flop / 1e9) + "\",\"" + std::to_string(loss) + "\"\n";
    }
  }
  const Json result = ask({"fit", folder.file("gflops.csv", text).string(), "--bootstrap", "0"})["result"];
  CHECK(result["rows"]["used"] == 14);
  REQUIRE(result["rows"]["skipped"].size() == 1);
  CHECK(result["rows"]["skipped"][0]["line"] == 4);
  CHECK(result["rows"]["skipped"][0]["column"] == 5);
  CHECK(result["rows"]["skipped"][0]["reason"].get<std::string>().find("eval/macro_loss") != std::string::npos);
  CHECK(result["fit_range"]["flop"]["low"].get<double>() == doctest::Approx(1e19).epsilon(0.01));
  CHECK(result["fit_range"]["flop"]["high"].get<double>() == doctest::Approx(1e21).epsilon(0.01));
}

TEST_CASE("the replication of Chinchilla from the command line, 240 rows of 245") {
  if (!shared_data::table("epoch_chinchilla.csv")) return;
  const std::string file = (shared_data::folder() / "epoch_chinchilla.csv").string();
  const Json kept = ask({"fit", file, "--where", "keep==1", "--bootstrap", "0"})["result"];
  CHECK(kept["rows"]["read"] == 245);
  CHECK(kept["rows"]["used"] == 240);
  const Json all = ask({"fit", file, "--bootstrap", "0"})["result"];
  CHECK(all["rows"]["used"] == 245);
  for (const reference::Row& row : reference::rows("fit_goldens.csv")) {
    const bool first = row.text("case") == "epoch-240-huber-1e-3";
    if (!first && row.text("case") != "epoch-245-huber-1e-3") continue;
    const Json& result = first ? kept : all;
    const std::string quantity = row.text("quantity");
    INFO(row.text("case") << " " << quantity);
    if (quantity == "objective") {
      CHECK(result["objective"].get<double>() == doctest::Approx(row.value()).epsilon(1e-7));
    } else if (quantity == "alpha" || quantity == "beta") {
      CHECK(std::abs(result["parameters"][quantity]["value"].get<double>() - row.value()) <= row.tolerance());
    }
  }
}
