// SPDX-License-Identifier: BSD-3-Clause
//
// What floplan knows, the laws and models that it answers with, and a catalog of the user's own.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>

#include "cli/cli.hpp"
#include "cli/json_shape.hpp"
#include "support/reference.hpp"
#include "support/temporary_folder.hpp"

using cli::Arguments;
using cli::ask;
using cli::check_refused;
using cli::Json;

TEST_CASE("every entry of every catalog has a name of its own, a source and whether it was verified") {
  for (const std::string kind : {"laws", "models", "accelerators", "prices", "interruptions", "runs", "stacks"}) {
    INFO(kind);
    const Json answer = ask({"catalog", kind});
    const Json& entries = answer["result"].at("entries");
    REQUIRE(entries.size() > 3);
    std::set<std::string> names;
    bool unverified = false;
    for (const Json& entry : entries) {
      INFO(entry.dump());
      CHECK(names.insert(entry.at("name").get<std::string>()).second);
      CHECK_FALSE(entry.at("source").get<std::string>().empty());
      CHECK(entry.at("verified").is_boolean());
      unverified = unverified || entry["verified"] == false;
    }
    CHECK(cli::warns(answer, "unverified_entries") == unverified);
  }
}

TEST_CASE("the names that scripts use are there") {
  const auto has = [](const std::string& kind, const std::vector<std::string>& wanted) {
    std::set<std::string> names;
    const Json answer = ask({"catalog", kind});
    for (const Json& entry : answer["result"]["entries"]) names.insert(entry["name"].get<std::string>());
    for (const std::string& name : wanted) CHECK_MESSAGE(names.contains(name), name);
  };
  has("laws", {"hoffmann-2022", "hoffmann-2022-rounded", "besiroglu-2024", "besiroglu-2024-huber"});
  has("models", {"llama-3.1-405b", "llama-3.1-70b", "llama-3.1-8b", "llama-2-70b"});
  has("accelerators", {"h100-sxm", "h200-sxm", "a100-sxm-80gb", "b200", "gb200", "mi300x", "tpu-v5p"});
  has("interruptions", {"llama3-2024"});
}

TEST_CASE("an H100's peak is the dense one, with the measured ceiling beside it") {
  const Json answer = ask({"catalog", "accelerators"});
  for (const Json& entry : answer["result"]["entries"]) {
    if (entry["name"] != "h100-sxm") continue;
    CHECK(entry["bf16_dense_tflops"] == 989);
    CHECK(entry["fp8_dense_tflops"] == 1979);
    CHECK(entry["bf16_gemm_tflops_measured"] < 989);
  }
}

TEST_CASE("a model's counts are exact integers") {
  for (const reference::Row& row : reference::rows("plan_models.csv")) {
    const Json result = ask({"model", row.name()})["result"];
    CHECK(result["parameters"]["total"].is_number_integer());
    reference::check(row, result["parameters"]["total"].get<double>());
    CHECK(result["parameters"]["total"] ==
          result["parameters"]["embedding"].get<long>() + result["parameters"]["non_embedding"].get<long>());
    CHECK(result["flop_per_token"]["six_n"].get<double>() == 6 * row.value());
    CHECK(result["flop_per_token"]["causal"] > result["flop_per_token"]["six_n"]);
    CHECK(result["flop_per_token"]["full"] > result["flop_per_token"]["causal"]);
    CHECK(result["weights_bytes"] == 2 * result["parameters"]["total"].get<long>());
    CHECK(result["layers"].is_number_integer());
  }
  CHECK(ask({"model", "llama-3.1-405b"})["result"]["kv_bytes_per_token"] == 516096);
  CHECK(ask({"model", "llama-3.1-405b", "--precision", "fp8"})["result"]["kv_bytes_per_token"] == 258048);
  CHECK(ask({"model", "LLAMA-3.1-405B"})["result"]["name"] == "llama-3.1-405b");
}

TEST_CASE("a model's attention FLOP follow the sequence, and an impossible one is refused") {
  const Json at_8k = ask({"model", "llama-3.1-405b"})["result"]["flop_per_token"];
  const Json at_64k = ask({"model", "llama-3.1-405b", "--seq", "64Ki"})["result"]["flop_per_token"];
  const double six_n = at_8k["six_n"].get<double>();
  CHECK(at_64k["causal"].get<double>() - six_n == doctest::Approx(8 * (at_8k["causal"].get<double>() - six_n)));
  check_refused({"model", "llama-3.1-405b", "--seq", "0"}, 2, "--seq");
  check_refused({"model", "llama-3.1-405b", "--seq", "1e300"}, 2, "--seq");
  check_refused({"model", "llama-3.1-405b", "--precision", "int4"}, 2, "--precision");
}

TEST_CASE("laws predict the published losses") {
  for (const reference::Row& row : reference::rows("plan_losses.csv")) {
    const Json answer =
        ask({"predict", "--law", row.name(), "--params", row.text("params"), "--tokens", row.text("tokens")});
    const Json& result = answer["result"];
    reference::check(row, result["loss"].get<double>());
    const Json& terms = result["terms"];
    CHECK(terms["irreducible"].get<double>() + terms["parameters"].get<double>() + terms["tokens"].get<double>() ==
          doctest::Approx(result["loss"].get<double>()).epsilon(1e-14));
    CHECK(result.contains("interval"));
    CHECK(result["extrapolation_decades"] >= 0);
    CHECK(cli::warns(answer, "rounded_law") == (row.name() == "hoffmann-2022-rounded"));
  }
}

TEST_CASE("a law's coefficients in JSON have the digits to repeat its predictions") {
  const Json laws = ask({"catalog", "laws"});
  for (const Json& law : laws["result"]["entries"]) {
    if (law["form"] != "chinchilla") continue;
    const auto c = [&law](const char* key) { return law.at(key).get<double>(); };
    const double loss = c("E") + c("A") / std::pow(70e9, c("alpha")) + c("B") / std::pow(1.4e12, c("beta"));
    const Json answer = ask({"predict", "--law", law["name"], "--params", "70B", "--tokens", "1.4T"});
    CHECK(answer["result"]["loss"].get<double>() == doctest::Approx(loss).epsilon(1e-13));
    for (const std::string key : {"parameter_convention", "flop_convention", "loss_unit"})
      CHECK_FALSE(law.at(key).get<std::string>().empty());
  }
}

TEST_CASE("predict refuses what is no model or no training, and never answers with an infinity") {
  const auto refused = [](const std::string& params, const std::string& tokens, const std::string& place) {
    check_refused({"predict", "--params", params, "--tokens", tokens}, 2, place);
  };
  refused("0", "1T", "--params");
  refused("1B", "0", "--tokens");
  refused("1e-300", "1T", "--params");
  refused("1B", "1e308", "--tokens");
  refused("nan", "1T", "--params");
  refused("1B", "15.6TB", "--tokens");
  refused("-1", "1T", "--params");
  check_refused({"predict", "--tokens", "1T"}, 2, "--params");
  check_refused({"predict", "--tokens", "1T", "--params", "1B", "--model", "llama-2-7b"}, 2, "--params");
  CHECK(ask({"predict", "--model", "llama-2-7b", "--tokens", "2T"})["inputs"]["parameters"] == 6738415616);
}

TEST_CASE("a catalog of the user's own adds and replaces entries, by option and by environment") {
  const TemporaryFolder folder;
  (void)folder.file("prices.csv",
                    "name,accelerator,usd_typical,source,date,verified\nmine,h100-sxm,1.25,our contract,2026-11,yes\n");
  (void)folder.file("models.csv",
                    "name,layers,width,heads,kv_heads,head_width,ffn_width,vocabulary,source\n"
                    "tiny,2,64,4,4,16,256,1000,us\n");
  const std::string dir = folder.path().string();
  const Arguments priced = {"plan", "llama3_405b", "--price", "mine", "--runs", "100"};
  check_refused(priced, 2, "--price");
  const auto price = [](const Json& answer) { return answer["inputs"]["price"]["usd_per_accelerator_hour"]; };
  using cli::operator+;
  CHECK(price(ask(priced + Arguments{"--catalog", dir})) == 1.25);
  CHECK(price(ask(priced, {.environment = {{"FLOPLAN_CATALOG", dir}}})) == 1.25);
  CHECK(ask({"model", "tiny", "--catalog", dir})["result"]["layers"] == 2);
  bool found = false;
  const Json prices = ask({"catalog", "prices", "--catalog", dir});
  for (const Json& entry : prices["result"]["entries"]) found = found || entry["name"] == "mine";
  CHECK(found);
}

TEST_CASE("a bad catalog folder is unusable data that names the file, line and column") {
  const Arguments list = {"catalog", "prices", "--catalog"};
  using cli::operator+;
  check_refused(list + Arguments{"/no/such/folder"}, 4, "/no/such/folder");
  const TemporaryFolder empty;
  check_refused(list + Arguments{empty.path().string()}, 4, empty.path().string());
  const auto wrong = [&list](const std::string& name, const std::string& text, const std::string& place) {
    const TemporaryFolder folder;
    (void)folder.file(name, text);
    check_refused(list + Arguments{folder.path().string()}, 4, place);
  };
  wrong("price.csv", "name\nx\n", "price.csv");
  wrong("prices.csv", "name,acelerator\nx,h100-sxm\n", "prices.csv:1:2");
  wrong("prices.csv", "name,accelerator,usd_typical\nx,h100-sxm,cheap\n", "prices.csv:2:3");
  wrong("prices.csv", "name,accelerator,usd_typical\nx,h100-sxm,-2\n", "prices.csv:2:3");
  wrong("prices.csv", "name,accelerator,usd_typical\n\"x,h100-sxm,2\n", "prices.csv:2:1");
  wrong("prices.csv", "", "prices.csv:1:1");
  wrong("prices.csv", std::string(1000, '\0'), "prices.csv");
  const TemporaryFolder file;
  check_refused(list + Arguments{file.file("x", "").string()}, 4, "must be a folder");
}

TEST_CASE("a law that counts non-embedding parameters warns of a bare count, and a plan refuses it") {
  const TemporaryFolder folder;
  (void)folder.file("chinchilla.csv",
                    "name,E,A,B,alpha,beta,parameter_convention,flop_convention,loss_unit,rounding,source\n"
                    "bare,1.7,400,2000,.35,.37,non_embedding,6N,nats/token,full,us\n");
  const std::string dir = folder.path().string();
  CHECK(cli::warns(ask({"predict", "--law", "bare", "--params", "8B", "--tokens", "1T", "--catalog", dir}),
                   "parameter_convention"));
  const Json model = ask({"predict", "--law", "bare", "--model", "llama-3.1-8b", "--tokens", "1T", "--catalog", dir});
  CHECK(model["inputs"]["parameters"] == ask({"model", "llama-3.1-8b"})["result"]["parameters"]["non_embedding"]);
  check_refused({"plan", "--params", "8B", "--law", "bare", "--tokens", "1T", "--accelerator", "h100-sxm", "--count",
                 "8", "--mfu", "40%", "--catalog", dir},
                2, "non_embedding");
}
