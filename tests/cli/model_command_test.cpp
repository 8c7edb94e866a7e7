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
  const Json body = ask({"predict", "--law", "kaplan-2020", "--model", config, "--tokens", "1B"});
  CHECK(body["inputs"]["parameters"] == counts["non_embedding"]);
  const Json all = ask({"predict", "--law", "besiroglu-2024", "--model", config, "--tokens", "1B"});
  CHECK(all["inputs"]["parameters"] == counts["total"]);
  CHECK(ask({"hyperparameters", "--model", config, "--tokens", "1B"})["result"].size() > 0);
  check_refused({"predict", "--law", "kaplan-2020", "--params", "50.9M", "--count-as", "total", "--tokens", "1B"}, 2,
                "--count-as");
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
  CHECK(cli::warns(planned, "dense_law"));
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
    config[key] = 4096.5;
    refused(config, key);
  }
  std::string too_large = small_config.dump();
  too_large.replace(too_large.find(":512"), 4, ":1e400");
  check_refused({"model", folder.file("config.json", too_large).string()}, 4, "config.json:1");
  Json unknown = small_config;
  unknown["model_type"] = "lama";
  refused(unknown, "llama");
  check_refused({"model", folder.file("junk.json", std::string(10 << 20, '[')).string()}, 4, "junk.json:1");
  check_refused({"model", folder.file("empty.json", "").string()}, 4, "empty.json");
  check_refused({"model", "no/such/config.json"}, 4, "no/such/config.json");
}

TEST_CASE("a layout's memory is held against an accelerator, stage by stage") {
  const Arguments layout = {"model",   "llama-3.1-405b", "--tp",           "8",   "--pp", "16",
                            "--count", "16384",          "--global-batch", "2048"};
  const Json fits = ask(layout + Arguments{"--sharding", "zero2", "--accelerator", "h100-sxm"})["result"];
  CHECK(fits["layout"]["dp"] == 128);
  CHECK(fits["fits"] == true);
  CHECK(fits["stages"].size() == 16);
  const Json& worst = fits["memory_bytes"];
  CHECK(worst["capacity"].get<double>() == 80e9);
  CHECK(worst["weights"].get<double>() + worst["gathered"].get<double>() + worst["gradients"].get<double>() +
            worst["optimizer"].get<double>() + worst["activations"].get<double>() ==
        doctest::Approx(worst["total"].get<double>()).epsilon(1e-12));
  for (const Json& stage : fits["stages"]) CHECK(stage["total"].get<double>() <= worst["total"].get<double>());
  CHECK(ask(layout + Arguments{"--sharding", "none", "--accelerator", "h100-sxm"})["result"]["fits"] == false);
  CHECK(ask(layout)["result"]["fits"].is_null());
  CHECK(fits["accelerators_to_hold"]["bf16"] == 11);
  CHECK(fits["accelerators_to_hold"]["fp8"] == 6);
  check_refused(layout + Arguments{"--dp", "64"}, 3, "--count");
  check_refused({"model", "llama-3.1-405b", "--tp", "8", "--pp", "16", "--dp", "128", "--global-batch", "4000"}, 3,
                "31.25");
  check_refused({"model", "llama-3.1-405b", "--pp", "17"}, 3, "layers");
  check_refused({"model", "llama-3.1-405b", "--tp", "3"}, 3, "heads");
  check_refused({"model", "llama-3.1-405b", "--microbatch", "0"}, 2, "--microbatch");
}

TEST_CASE("shapes are proposed for a number of parameters, like a known model or from ratios") {
  const Json bare = ask({"model", "--realise", "405B"})["result"]["proposals"][0];
  CHECK(bare["layers"] == 126);
  CHECK(bare["width"] == 16384);
  CHECK(bare["ffn_width"] == 53248);
  CHECK(bare["why"].get<std::string>().find("128 layers would have") != std::string::npos);
  const Json mixture = ask({"model", "--realise", "46.7B", "--like", "mixtral-8x7b"})["result"]["proposals"][0];
  const Json mixtral = ask({"model", "mixtral-8x7b"})["result"];
  CHECK(mixture["parameters"] == mixtral["parameters"]);
  CHECK(mixture["experts"] == mixtral["experts"]);
  const Json shapes =
      ask({"model", "--realise", "7B", "--tp", "8", "--pp", "4", "--proposals", "3"})["result"]["proposals"];
  REQUIRE(shapes.size() == 3);
  for (const Json& shape : shapes) {
    CHECK(shape["heads"].get<int>() % 8 == 0);
    CHECK(shape["layers"].get<int>() % 4 == 0);
  }
  check_refused({"model", "--realise", "1M", "--vocab", "128256"}, 3, "embedding");
  check_refused({"model", "--realise", "7B", "llama-3.1-8b"}, 2, "--like");
  check_refused({"model", "llama-3.1-8b", "--aspect", "100"}, 2, "--realise");
  check_refused({"model", "--realise", "7B", "--experts", "8"}, 2, "--active-experts");
}
