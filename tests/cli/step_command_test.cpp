// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "cli/cli.hpp"
#include "support/near.hpp"
#include "support/temporary_folder.hpp"

using cli::Arguments;
using cli::ask;
using cli::check_refused;
using cli::Json;
using cli::operator+;

namespace {

const Arguments llama = {"step", "--model", "llama-3.1-405b", "--accelerator", "h100-sxm", "--tp", "8",
                         "--pp", "16",      "--global-batch", "2048",          "--seq",    "8192"};

}  // namespace

TEST_CASE("a step has its time, a band about it, its rate by a named convention, its terms and its memory") {
  const Json answer = ask(llama + Arguments{"--count", "16384"});
  const Json& result = answer["result"];
  const double step = result["step_time_s"].get<double>();
  CHECK(result["band"]["low"].get<double>() < step);
  CHECK(result["band"]["high"].get<double>() > step);
  CHECK(result["band"]["level"] == 0.9);
  CHECK(result["tokens_per_s"].get<double>() == near(2048 * 8192 / step, 1e-12));
  CHECK(result["convention"] == "6N + causal attention");
  CHECK(result["tflops_per_accelerator"].get<double>() ==
        near(result["flop_per_token"].get<double>() * 2048 * 8192 / step / 16384 / 1e12, 1e-12));
  CHECK(result["mfu"].get<double>() == near(result["tflops_per_accelerator"].get<double>() / 989, 1e-12));
  CHECK(result["hfu"] == result["mfu"]);
  double sum = 0;
  for (const Json& seconds : result["breakdown_s"]) sum += seconds.get<double>();
  CHECK(sum == near(step, 1e-12));
  CHECK(result["memory_bytes"]["total"].get<double>() > 0);
  CHECK(result["fits"].is_boolean());
  CHECK(cli::warns(answer, "assumed_interleaving"));
  CHECK(cli::warns(answer, "overlap"));
  CHECK(ask(llama + Arguments{"--count", "16384", "--recompute", "full"})["result"]["hfu"] > result["mfu"]);
}

TEST_CASE("facts of the software narrow the band, and every one of them moves the time or none is assumed of it") {
  const Arguments known = {"--count",
                           "16384",
                           "--vp",
                           "8",
                           "--attention",
                           "current",
                           "--elementwise",
                           "fused",
                           "--host",
                           "fast",
                           "--sequence-parallel",
                           "yes",
                           "--overlap",
                           "no",
                           "--scatter-gather",
                           "yes",
                           "--gradient-bytes",
                           "4"};
  const Json guessed = ask(llama + Arguments{"--count", "16384"})["result"];
  const Json given = ask(llama + known)["result"];
  CHECK(given["step_time_s"] == guessed["step_time_s"]);
  CHECK(ask(llama + Arguments{"--count", "16384", "--overlap", "yes"})["result"]["step_time_s"] < given["step_time_s"]);
  CHECK(ask(llama + Arguments{"--count", "16384", "--attention", "early"})["result"]["step_time_s"] >
        given["step_time_s"]);
  CHECK(ask(llama + Arguments{"--count", "16384", "--vp", "1"})["result"]["step_time_s"] > given["step_time_s"]);
  check_refused(llama + Arguments{"--count", "16384", "--attention", "late"}, 2, "--attention");
}

TEST_CASE("schedule, resharding and the exchange of keys and values are choices") {
  const auto term = [](const Json& answer, const char* name) {
    return answer["result"]["breakdown_s"][name].get<double>();
  };
  const Arguments whole = llama + Arguments{"--count", "16384", "--vp", "1"};
  const Json filled = ask(whole + Arguments{"--schedule", "zero_bubble"});
  CHECK(term(filled, "bubble") < 0.7 * term(ask(whole), "bubble"));
  CHECK(ask(llama + Arguments{"--count", "16384", "--schedule", "zero_bubble"})["result"]["step_time_s"] ==
        filled["result"]["step_time_s"]);
  check_refused(llama + Arguments{"--count", "16384", "--vp", "8", "--schedule", "zero_bubble"}, 3,
                "must have VP of 1");

  const Arguments fsdp = {"step", "--model",        "llama-3.1-8b", "--accelerator", "h100-sxm", "--count",
                          "64",   "--global-batch", "512",          "--microbatch",  "2"};
  const Json twice = ask(fsdp + Arguments{"--sharding", "zero3"});
  const Json once = ask(fsdp + Arguments{"--sharding", "zero3_no_reshard"});
  CHECK(once["result"]["step_time_s"] < twice["result"]["step_time_s"]);
  CHECK(once["result"]["memory_bytes"]["total"] > twice["result"]["memory_bytes"]["total"]);

  const Arguments far = {"step",
                         "--model",
                         "llama-3.1-405b",
                         "--accelerator",
                         "h100-sxm",
                         "--seq",
                         "131072",
                         "--tp",
                         "8",
                         "--cp",
                         "16",
                         "--pp",
                         "16",
                         "--vp",
                         "8",
                         "--count",
                         "16384",
                         "--global-batch",
                         "128"};
  const Json gathered = ask(far);
  CHECK(cli::warns(gathered, "context_exchange"));
  const Json ring = ask(far + Arguments{"--context-exchange", "ring"});
  CHECK_FALSE(cli::warns(ring, "context_exchange"));
  CHECK(term(ring, "context_parallel") < term(gathered, "context_parallel"));
}

TEST_CASE("a step that cannot be is refused by its rule") {
  check_refused(llama + Arguments{"--count", "16384", "--dp", "100"}, 3, "--count");
  check_refused(llama + Arguments{"--dp", "100"}, 3, "20.48");
  check_refused({"step", "--model", "llama-3.1-405b", "--accelerator", "h100-sxm", "--tp", "3", "--global-batch", "8"},
                3, "TP must divide");
  check_refused({"step", "--accelerator", "h100-sxm", "--global-batch", "8"}, 2, "--model");
  check_refused({"step", "--model", "llama-3.1-8b", "--accelerator", "h100-sxm"}, 2, "--global-batch");
}

TEST_CASE("measured rows are compared by publisher, and those that cannot be asked are named") {
  const TemporaryFolder folder;
  const double predicted =
      ask(llama + Arguments{"--count", "16384", "--vp", "8"})["result"]["step_time_s"].get<double>();
  const std::string head =
      "id,group,model,accelerator,accelerators,tp,cp,pp,vp,dp,sharding,microbatch,global_batch,sequence_length,"
      "precision,"
      "recompute,step_s\n";
  const std::string row = "own,llama-3.1-405b,h100-sxm,16384,8,1,16,8,128,zero1,1,2048,8192,bf16,none,";
  const std::string rows = folder
                               .file("rows.csv", head + "a," + row + std::to_string(predicted) + "\nb," + row +
                                                     std::to_string(2 * predicted) + "\nc," + row + "\n")
                               .string();
  const Json result = ask({"step", "--validate", rows})["result"];
  REQUIRE(result["rows"].size() == 2);
  CHECK(result["rows"][0]["error"].get<double>() == doctest::Approx(0).epsilon(1e-5));
  CHECK(result["all"]["mean_absolute_error"].get<double>() == doctest::Approx(0.25).epsilon(1e-4));
  REQUIRE(result["skipped"].size() == 1);
  CHECK(result["skipped"][0]["place"].get<std::string>().find("rows.csv:4") != std::string::npos);
  check_refused({"step", "--validate", folder.file("empty.csv", head).string()}, 4, "empty.csv");
  check_refused({"step", "--validate", "no/such.csv"}, 4, "no/such.csv");
}

TEST_CASE("a publisher's software is taken as a whole and narrows the band") {
  const Json guessed = ask(llama + Arguments{"--count", "16384"})["result"];
  const Json known = ask(llama + Arguments{"--count", "16384", "--stack", "llama3-2024"})["result"];
  CHECK(guessed["band"]["class"] == "dense, part or stack assumed");
  CHECK(known["band"]["class"] == "dense, known part and stack");
  CHECK(known["band"]["high"] < guessed["band"]["high"]);
  check_refused(llama + Arguments{"--count", "16384", "--stack", "llama3-2042"}, 2, "llama3-2024");
}

TEST_CASE("a user's own rows make a file of efficiencies that moves his steps by what a few rows are worth") {
  const TemporaryFolder folder;
  const double predicted =
      ask(llama + Arguments{"--count", "16384", "--vp", "8"})["result"]["step_time_s"].get<double>();
  std::string rows =
      "model,accelerator,accelerators,tp,cp,pp,vp,dp,sharding,microbatch,global_batch,sequence_length,precision,"
      "recompute,step_"
      "s\n";
  for (int i = 0; i < 3; ++i)
    rows += "llama-3.1-405b,h100-sxm,16384,8,1,16,8,128,zero1,1,2048,8192,bf16,none," +
            std::to_string(1.1 * predicted) + "\n";
  const std::string file = folder.file("rows.csv", rows).string();
  const std::string mine = (folder.path() / "mine.toml").string();
  const Json fit = ask({"step", "calibrate", file, "--out", mine})["result"];
  const double factor = fit["measured_factor"].get<double>();
  CHECK(factor == near(std::pow(1.1, 0.6), 1e-5));
  CHECK(ask(llama + Arguments{"--count", "16384", "--vp", "8", "--efficiencies", mine})["result"]["step_time_s"]
            .get<double>() == near(factor * predicted, 1e-5));
  check_refused({"step", "--left-out", "--model", "llama-3.1-8b"}, 2, "--validate");
  check_refused(llama + Arguments{"--efficiencies", folder.file("bad.toml", "[values]\ngem = 1\n").string()}, 4, "gem");
}
