// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

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

const Arguments llama = {"serve", "--model", "llama-3.1-405b", "--accelerator", "h100-sxm", "--tp", "8"};

}  // namespace

TEST_CASE("serving has its rate and a band about it, its latencies, its batch and why, its memory and its cost") {
  const Json answer = ask(llama + Arguments{"--precision", "fp8", "--price", "2.5USD/h", "--batch", "max"});
  const Json& result = answer["result"];
  const double rate = result["output_tokens_per_s"].get<double>();
  CHECK(result["band"]["low"].get<double>() < rate);
  CHECK(result["band"]["high"].get<double>() > rate);
  CHECK(result["band"]["level"] == 0.9);
  CHECK(result["fits"] == true);
  CHECK(result["kv_bytes_per_token"] == 258048.0);
  CHECK(result["batch_limit"] == "memory");
  CHECK(result["tpot_s"].get<double>() == near(result["batch"].get<double>() / rate, 1e-12));
  CHECK(result["usd_per_million_output_tokens"].get<double>() == near(2.5 * 8 / 3600 * 1e6 / rate, 1e-12));
  double sum = 0;
  for (const Json& seconds : result["breakdown_s"]) sum += seconds.get<double>();
  CHECK(sum == near(result["step_time_s"].get<double>(), 1e-12));
  for (const char* key : {"ttft_s", "ttft_beside_batch_s", "bound", "bound_shares", "memory_bytes", "requests_per_s"})
    CHECK(result.contains(key));
}

TEST_CASE("serving takes formats apart, limits, prefixes, drafts and a demand") {
  const Arguments fp8 = llama + Arguments{"--precision", "fp8"};
  const Json plain = ask(fp8)["result"];
  const double rate = plain["output_tokens_per_s"].get<double>();
  CHECK(cli::warns(ask(fp8), "assumed_price"));
  CHECK(ask(fp8 + Arguments{"--kv-precision", "bf16"})["result"]["batch"] < plain["batch"]);
  CHECK(ask(fp8 + Arguments{"--arithmetic", "bf16"})["result"]["output_tokens_per_s"] < rate);
  CHECK(ask(fp8 + Arguments{"--tpot", "50ms"})["result"]["batch_limit"] == "TPOT");
  CHECK(ask(fp8 + Arguments{"--ttft", "200ms"})["result"]["batch_limit"] == "TTFT");
  CHECK(ask(fp8 + Arguments{"--cached-share", "0.5"})["result"]["output_tokens_per_s"] > rate);
  CHECK(ask(fp8 + Arguments{"--batch", "1", "--draft-acceptance", "0.8"})["result"]["tpot_s"] <
        ask(fp8 + Arguments{"--batch", "1"})["result"]["tpot_s"]);
  CHECK(ask(fp8 + Arguments{"--ideal"})["result"]["output_tokens_per_s"] > rate);
  const Json fleet = ask(fp8 + Arguments{"--requests-per-day", "1M", "--peak-to-average", "2"})["result"];
  CHECK(fleet["replicas"] == 8);
  CHECK(fleet["accelerators"] == 64);
  const Json frontier = ask({"serve", "--model", "llama-3.1-8b", "--accelerator", "h100", "--frontier"})["result"];
  CHECK(frontier["frontier"].size() > 20);
  CHECK(cli::warns(ask({"serve", "--model", "llama-3.1-8b", "--accelerator", "h100"}), "assumed_tp"));
  CHECK(cli::warns(ask({"serve", "--model", "llama-3.1-8b", "--accelerator", "a100-80gb", "--precision", "fp8"}),
                   "arithmetic"));
}

TEST_CASE("a serving request that cannot be is refused by its rule") {
  check_refused(llama + Arguments{"--precision", "bf16"}, 3, "1.24 times");
  check_refused(llama + Arguments{"--precision", "fp8", "--batch", "100000"}, 3, "at most");
  check_refused(llama + Arguments{"--precision", "fp8", "--output-tokens", "0"}, 2, "output tokens");
  check_refused(llama + Arguments{"--precision", "fp8", "--tpot", "1ms"}, 3, "TPOT");
  check_refused({"serve", "--model", "llama-3.1-405b", "--accelerator", "h100", "--tp", "3"}, 3, "TP must divide");
  check_refused({"serve", "--model", "llama-3.1-405b", "--accelerator", "h100", "--tp", "256"}, 3, "128");
  check_refused({"serve", "--accelerator", "h100"}, 2, "--model");
  check_refused({"serve", "--model", "llama-3.1-8b"}, 2, "--accelerator");
  check_refused(llama + Arguments{"--left-out"}, 2, "--left-out");
  check_refused(llama + Arguments{"--peak-to-average", "2", "--precision", "fp8"}, 2, "--peak-to-average");
}

TEST_CASE("measured rates are compared by model and part, and refitted into a file that serve takes") {
  const TemporaryFolder folder;
  const std::string head = "model,gpu,n_gpus,tp,precision,batch,input_len,output_len,output_tokens_per_s\n";
  const std::string rows = folder
                               .file("rows.csv", head +
                                                     "llama-3.1-8b,h100,1,1,fp8,64,1000,500,5000\n"
                                                     "llama-3.1-8b,h100,1,1,fp8,256,1000,500,8000\n"
                                                     "llama-3.1-8b,h100,1,1,fp8,8,100,100,1000\n"
                                                     "llama-3.1-8b,h1000,1,1,fp8,8,100,100,1000\n")
                               .string();
  const Json validated = ask({"serve", "--validate", rows})["result"];
  CHECK(validated["rows"].size() == 3);
  CHECK(validated["skipped"].size() == 1);
  const std::string mine = (folder.path() / "mine.json").string();
  REQUIRE(cli::run({"serve", "calibrate", rows, "--out", mine}).status == 0);
  const Json after = ask({"serve", "--validate", rows, "--efficiencies", mine})["result"];
  CHECK(after["all"]["mean_absolute_ln_error"] < validated["all"]["mean_absolute_ln_error"]);
  CHECK(cli::warns(ask({"serve", "calibrate", rows}), "at_prior"));
  CHECK(ask({"serve", "calibrate", rows, "--from", "priors"})["command"] == "serve calibrate");
  check_refused({"serve", "--validate", folder.file("empty.csv", head).string()}, 4, "empty.csv");
  check_refused({"serve", "--validate", "no/such.csv"}, 4, "no/such.csv");
  check_refused(llama + Arguments{"--efficiencies", rows}, 4, "rows.csv");
}
