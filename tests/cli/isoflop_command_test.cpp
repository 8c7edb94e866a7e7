// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "cli/cli.hpp"
#include "cli/json_shape.hpp"
#include "cli/runs_files.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/core/file.hpp"
#include "support/reference.hpp"
#include "support/shared_data.hpp"
#include "support/temporary_folder.hpp"

using cli::ask;
using cli::check_refused;
using cli::Json;
using cli::operator+;

namespace {

double expected(const std::string& name) { return reference::row("isoflop_exponents.csv", name).value(); }

// Within what the printed digits of the reference justify.
void check_reference(const std::string& name, double found) {
  reference::check(reference::row("isoflop_exponents.csv", name), found);
}

}  // namespace

TEST_CASE("isoflop answers with the documented keys") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", runs_files::sweep()).string();
  const Json answer = ask({"isoflop", runs, "--at", "3e22"});
  CHECK(answer.at("command") == "isoflop");
  const Json& result = answer.at("result");
  REQUIRE(result.at("profiles").size() == 4);
  for (const Json& profile : result["profiles"]) {
    for (const char* key : {"flop", "points", "parameters_opt", "tokens_opt", "loss_min", "low", "high"}) {
      INFO(key);
      CHECK(profile.at(key).is_number());
    }
    CHECK(profile.at("status") == "interior");
    CHECK(profile.at("reason") == "");
    CHECK(profile["low"] < profile["parameters_opt"]);
    CHECK(profile["parameters_opt"] < profile["high"]);
    CHECK(6 * profile["parameters_opt"].get<double>() * profile["tokens_opt"].get<double>() ==
          doctest::Approx(profile["flop"].get<double>()).epsilon(1e-3));
  }
  for (const char* law : {"power_law", "power_law_all_profiles"}) {
    for (const char* axis : {"parameters", "tokens"}) {
      const Json& line = result.at(law).at(axis);
      for (const char* key : {"exponent", "coefficient", "low", "high", "level"}) CHECK(line.at(key).is_number());
      CHECK(line["low"] < line["exponent"]);
      CHECK(line["exponent"] < line["high"]);
      CHECK(result.at("at").at(axis).get<double>() ==
            doctest::Approx(result["power_law"][axis]["coefficient"].get<double>() *
                            std::pow(3e22, result["power_law"][axis]["exponent"].get<double>())));
      cli::check_interval(result["at"].at(std::string(axis) + "_interval"), axis);
    }
  }
  CHECK(result["at"].at("flop") == 3e22);
  CHECK(result["power_law_all_profiles"].at("at").at("tokens") == result["at"]["tokens"]);
  CHECK(result.at("difference").is_null());  // the same profiles
  CHECK(result.at("leave_one_out").size() == 4);
  CHECK(cli::warns(answer, "extrapolation"));
  const floplan::CsvTable table = floplan::parse_csv(cli::run({"isoflop", runs, "--csv"}).out, "out");
  CHECK(table.size() == 4);
}

TEST_CASE("a profile without an interior minimum is a bound, and the answer says what it would have changed (K04)") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", runs_files::sweep() + runs_files::edge()).string();
  const Json answer = ask({"isoflop", runs, "--at", "3e22"});
  const Json& result = answer.at("result");
  REQUIRE(result.at("profiles").size() == 5);
  const Json& edge = result["profiles"][4];
  CHECK(edge.at("status") == "edge");
  CHECK(edge.at("parameters_opt").is_null());
  CHECK(edge.at("tokens_opt").is_null());
  CHECK(edge.at("used") == false);
  CHECK(edge.at("bound").at("at_most") == true);
  CHECK_FALSE(edge.at("reason").get<std::string>().empty());
  CHECK(cli::warns(answer, "no_interior_minimum"));
  CHECK(result.at("power_law_all_profiles").at("profiles") == 5);
  CHECK(result["power_law_all_profiles"]["tokens"]["exponent"] != result["power_law"]["tokens"]["exponent"]);
  CHECK(result["power_law_all_profiles"].at("at").at("tokens") != result["at"]["tokens"]);
  const std::string why = result.at("difference").get<std::string>();
  CHECK(why.find("only the first uses 3e21") != std::string::npos);
  const cli::Result text = cli::run({"isoflop", runs, "--at", "3e22"});
  CHECK(text.out.find(why) != std::string::npos);

  const Json all = ask({"isoflop", runs, "--at", "3e22", "--all-profiles"})["result"];
  CHECK(all["power_law"]["tokens"]["exponent"] == result["power_law_all_profiles"]["tokens"]["exponent"]);
  CHECK(all["at"]["tokens"] == result["power_law_all_profiles"]["at"]["tokens"]);
  CHECK(all["difference"].is_null());
  CHECK(all["power_law_interior"]["tokens"]["exponent"] == result["power_law"]["tokens"]["exponent"]);
  CHECK(all["power_law_interior"]["at"]["tokens"] == result["at"]["tokens"]);
  CHECK(all["difference_interior"].get<std::string>().find("only the second uses 3e21") != std::string::npos);
}

TEST_CASE("Llama 3's points give 16.1T tokens at 3.8e25 FLOP, and 9.8T without the flagged ones, side by side") {
  if (!shared_data::table("isoflop_llama_3_raw_loss.csv")) return;
  const std::string file = (shared_data::folder() / "isoflop_llama_3_raw_loss.csv").string();
  const std::string all_name = "llama_3_raw_loss all parabola raw ";
  const std::string kept_name = "llama_3_raw_loss unflagged parabola raw ";
  const Json all = ask({"isoflop", file, "--at", "3.8e25"})["result"];
  check_reference(all_name + "tokens_exponent", all["power_law"]["tokens"]["exponent"]);
  check_reference(all_name + "tokens_at_3.8e25", all["at"]["tokens"]);
  check_reference(all_name + "tokens_at_3.8e25", all["power_law_all_profiles"]["at"]["tokens"]);
  // The largest budget decides it.
  double most = 0, flop = 0;
  for (const Json& left : all.at("leave_one_out")) {
    const double moved = std::abs(left.at("tokens_exponent").get<double>() - expected(all_name + "tokens_exponent"));
    if (moved > most) {
      most = moved;
      flop = left.at("flop");
    }
  }
  CHECK(flop == 1e22);

  // Nobody chose: the runs that the file itself does not mark stand beside, with why they differ.
  const Json both = ask({"isoflop", file, "--at", "3.8e25"})["result"];
  check_reference(kept_name + "tokens_exponent", both["power_law_unmarked_runs"]["tokens"]["exponent"]);
  check_reference(kept_name + "tokens_at_3.8e25", both["power_law_unmarked_runs"]["at"]["tokens"]);
  CHECK(both["difference_unmarked_runs"].get<std::string>().find("only the second uses 3e21, 1e22") !=
        std::string::npos);

  const Json kept = ask({"isoflop", file, "--at", "3.8e25", "--where", "outlier==0"})["result"];
  check_reference(kept_name + "tokens_exponent", kept["power_law"]["tokens"]["exponent"]);
  check_reference(kept_name + "tokens_at_3.8e25", kept["at"]["tokens"]);
  check_reference(all_name + "tokens_exponent", kept["power_law_all_runs"]["tokens"]["exponent"]);
  check_reference(all_name + "tokens_at_3.8e25", kept["power_law_all_runs"]["at"]["tokens"]);
  CHECK(kept["difference_all_runs"].get<std::string>().find("only the first uses 3e21, 1e22") != std::string::npos);
}

TEST_CASE("one budget with all sizes on one side, runs of no budget, and two rows have no answer (K04, K08)") {
  for (const char* name : {"k01_surface.csv", "k04_edge.csv", "k08_gflops.csv"}) {
    const auto file = shared_data::known(name);
    if (!file) continue;
    check_refused({"isoflop", *file}, 5, "needs two budgets with an interior minimum");
  }
  const auto edge = shared_data::known("k04_edge.csv");
  if (edge) check_refused({"isoflop", *edge}, 5, "N* is at most 524M");
  const auto units = shared_data::known("k08_gflops.csv");
  if (!units) return;
  check_refused({"isoflop", *units}, 5, "1e19 FLOP");  // GFLOP in the file, and not 1e10
  check_refused({"isoflop", *units}, 5, "3e19 FLOP");
  check_refused({"isoflop", *units}, 5, "k08_gflops.csv:4");  // the blank row
}

TEST_CASE("noise of a loss gives akima's minima and exponents their intervals, the same for the same seed") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", runs_files::sweep()).string();
  const cli::Arguments akima = {"isoflop", runs, "--method", "akima"};
  const Json plain = ask(akima)["result"];
  CHECK(plain["profiles"][0].at("low").is_null());
  CHECK(plain["power_law"]["parameters"].at("noise").is_null());
  const Json noisy = ask(akima + cli::Arguments{"--noise", "0.004", "--seed", "7"});
  CHECK(noisy["inputs"]["noise"] == 0.004);
  for (const Json& profile : noisy["result"]["profiles"]) {
    CHECK(profile["low"] < profile["parameters_opt"]);
    CHECK(profile["parameters_opt"] < profile["high"]);
    cli::check_interval(profile.at("tokens_interval"), "tokens_interval");
  }
  for (const char* axis : {"parameters", "tokens"})
    cli::check_interval(noisy["result"]["power_law"][axis].at("noise"), axis);
  CHECK(ask(akima + cli::Arguments{"--noise", "0.004", "--seed", "7"}) == noisy);
  CHECK(ask(akima + cli::Arguments{"--noise", "0.004", "--seed", "8"})["result"]["profiles"] !=
        noisy["result"]["profiles"]);
  // The file's ripple is 0.15% of losses near 3.
  const double of_the_law = ask(akima + cli::Arguments{"--noise", "auto"})["inputs"]["noise"];
  CHECK(of_the_law > 0.0005);
  CHECK(of_the_law < 0.01);
  for (const char* bad : {"0", "-1", "nan", "inf", "x", ""})
    check_refused(akima + cli::Arguments{"--noise", bad}, 2, "--noise");
  check_refused(akima + cli::Arguments{"--noise", "0.1", "--seed", "-1"}, 2, "--seed");
}

TEST_CASE("two profiles leave akima's exponents the interval of the noise") {
  const TemporaryFolder folder;
  const std::string runs = folder
                               .file("runs.csv", "params,tokens,flops,loss\n" + runs_files::rows(1e19, 0.2, 5, 9) +
                                                     runs_files::rows(1e21, 0.2, 5, 9))
                               .string();
  const Json law = ask({"isoflop", runs, "--method", "akima", "--noise", "0.004"})["result"]["power_law"]["parameters"];
  CHECK(law["low"] == law["noise"]["low"]);
  CHECK(law["low"] < law["exponent"]);
  CHECK(law["exponent"] < law["high"]);
}

TEST_CASE("isoflop takes every method, and refuses options out of range by their name") {
  const TemporaryFolder folder;
  const std::string runs = folder.file("runs.csv", runs_files::sweep()).string();
  double parabola = 0;
  for (const char* method : {"parabola", "lowest", "akima", "surface"}) {
    const Json result = ask({"isoflop", runs, "--method", method, "--at", "3e22"})["result"];
    INFO(method);
    const double tokens = result.at("at").at("tokens");
    if (parabola == 0) parabola = tokens;
    CHECK(tokens / parabola == doctest::Approx(1).epsilon(0.25));
    CHECK(result.at("methods").size() == 4);
  }
  for (const char* bad : {"-1", "nan", "inf", "101%", "x", ""})
    check_refused({"isoflop", runs, "--jitter", bad}, 2, "--jitter");
  for (const char* bad : {"0", "1", "100%", "-0.5", "nan", "90", "x"})
    check_refused({"isoflop", runs, "--level", bad}, 2, "--level");
  for (const char* bad : {"0", "-1", "nan", "1e400", "5B", "3.8e25x"})
    check_refused({"isoflop", runs, "--at", bad}, 2, "--at");
  check_refused({"isoflop", runs, "--method", "cubic"}, 2, "--method");
  check_refused({"isoflop", runs, "--columns", "loss=nothing"}, 2, "nothing");
  check_refused({"isoflop", (folder / "none.csv").string()}, 4, "none.csv");
  check_refused({"isoflop"}, 2, "runs");
  // A wide jitter makes one budget of all.
  check_refused({"isoflop", runs, "--jitter", "0"}, 5, "needs two budgets");
  CHECK(ask({"isoflop", runs, "--level", "50%"})["result"]["power_law"]["tokens"]["level"] == 0.5);
}
