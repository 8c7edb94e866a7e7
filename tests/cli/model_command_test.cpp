// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <string>

#include "cli/cli.hpp"
#include "support/reference.hpp"
#include "support/temporary_folder.hpp"

using cli::Arguments;
using cli::ask;
using cli::check_refused;
using cli::Json;
using cli::operator+;

namespace {

// The small model of tests/reference/parameter_conventions.csv, as people keep it.
const Json small_config = {{"model_type", "gpt_neox"},   {"hidden_size", 512},        {"num_hidden_layers", 8},
                           {"num_attention_heads", 8},   {"intermediate_size", 2048}, {"vocab_size", 50257},
                           {"tie_word_embeddings", true}};

bool warned(const Json& answer, const std::string& code) {
  for (const Json& warning : answer["warnings"]) {
    if (warning["code"] == code) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("several models stand side by side at one length, in JSON, CSV and text") {
  const Arguments three = {"model", "llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b"};
  const Json answer = ask(three + Arguments{"--context", "128Ki"});
  REQUIRE(answer["result"]["models"].size() == 3);
  CHECK(answer["inputs"]["context"] == 131072);
  for (const Json& model : answer["result"]["models"]) {
    CHECK(model["context"] == 131072);
    CHECK(model["kv_bytes"] == 131072 * model["kv_bytes_per_token"].get<long>());
  }
  const cli::Result csv = cli::run(three + Arguments{"--csv"});
  CHECK(csv.status == 0);
  CHECK(cli::lines(csv.out).size() == 4);
  CHECK(cli::run(three).out.find("llama-3.1-405b") != std::string::npos);
  check_refused({"model", "llama-3.1-8b", "llama-3.1-9b"}, 2, "llama-3.1-8b");
}

TEST_CASE("a configuration file is a model wherever a name is, and gives every count that a law may want") {
  const TemporaryFolder folder;
  const std::string config = folder.file("config.json", small_config.dump()).string();
  const Json counts = ask({"model", config})["result"]["parameters"];
  reference::check(reference::row("parameter_conventions.csv", "non-embedding"), counts["non_embedding"].get<double>());
  reference::check(reference::row("parameter_conventions.csv", "embedding"), counts["embedding"].get<double>());
  const Json body = ask({"predict", "--law", "kaplan-2020-n-d", "--model", config, "--tokens", "1B"});
  CHECK(body["inputs"]["parameters"] == counts["non_embedding"]);
  const Json all = ask({"predict", "--law", "besiroglu-2024", "--model", config, "--tokens", "1B"});
  CHECK(all["inputs"]["parameters"] == counts["total"]);
  CHECK(ask({"hyperparameters", "--model", config, "--tokens", "1B"})["result"].size() > 0);
  check_refused({"predict", "--law", "kaplan-2020-n-d", "--params", "50.9M", "--count-as", "total", "--tokens", "1B"},
                2, "--count-as");
  // A plan's own path is relative to the plan.
  const std::string plan = folder
                               .file("plan.toml",
                                     "model = \"config.json\"\naccelerator = \"h100-sxm\"\n[[stage]]\ntokens = \"1B\"\n"
                                     "count = 8\nmfu = \"30%\"\n")
                               .string();
  const Json planned = ask({"plan", plan})["result"];
  CHECK(planned["parameters"] == counts["total"]);
  CHECK(planned["training_flop"].get<double>() > planned["training_flop_six_nd"].get<double>());
}

TEST_CASE("a mixture of experts trains with its active parameters and is held whole") {
  const Json model = ask({"model", "mixtral-8x7b"})["result"];
  const double active = model["parameters"]["active"].get<double>();
  CHECK(active < model["parameters"]["total"].get<double>());
  CHECK(model["flop_per_token"]["six_n"].get<double>() == 6 * active);
  CHECK(model["weights_bytes"] == 2 * model["parameters"]["total"].get<long>());
  const Arguments machine = {"--accelerator", "h100-sxm", "--count", "1024", "--mfu", "40%", "--tokens", "2T"};
  const Json planned = ask(Arguments{"plan", "--model", "mixtral-8x7b"} + machine);
  CHECK(planned["result"]["active_parameters"] == model["parameters"]["active"]);
  CHECK(planned["result"]["training_flop_six_nd"].get<double>() == doctest::Approx(6 * active * 2e12));
  CHECK(planned["result"]["loss"].is_null());
  CHECK(warned(planned, "dense_law"));
  const Json bare = ask(Arguments{"plan", "--params", "64B", "--active-params", "8B"} + machine)["result"];
  reference::check(reference::row("plan_known_faults.csv", "K06 training flop"), bare["training_flop"].get<double>());
  CHECK(bare["parameters"] == 64000000000);
  check_refused(Arguments{"plan", "--model", "mixtral-8x7b", "--active-params", "8B"} + machine, 2, "--active-params");
  check_refused(Arguments{"plan", "--params", "8B", "--active-params", "64B"} + machine, 2, "--active-params");
  check_refused({"predict", "--law", "besiroglu-2024", "--model", "mixtral-8x7b", "--tokens", "2T"}, 2, "--model");
}

TEST_CASE("a file that is no model is refused with its place and what is wrong") {
  const TemporaryFolder folder;
  const auto refused = [&](const Json& config, const std::string& key) {
    check_refused({"model", folder.file("config.json", config.dump(2)).string()}, 4, key);
  };
  for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"}) {
    Json config = small_config;
    config.erase(key);
    refused(config, key);
    config[key] = 0;
    refused(config, key);
    config[key] = "512";
    refused(config, key);
    config[key] = 1e400;
    refused(config, key);
  }
  Json unknown = small_config;
  unknown["model_type"] = "lama";
  refused(unknown, "llama");
  check_refused({"model", folder.file("junk.json", std::string(10 << 20, '[')).string()}, 4, "junk.json:1");
  check_refused({"model", folder.file("empty.json", "").string()}, 4, "empty.json");
  check_refused({"model", "no/such/config.json"}, 4, "no/such/config.json");
}
