// SPDX-License-Identifier: BSD-3-Clause
//
// Laws of every form from the command line: shown, asked for one run, and set side by side for a run's hyperparameters.
#include <doctest/doctest.h>

#include <string>

#include "cli/cli.hpp"
#include "support/reference.hpp"
#include "support/temporary_folder.hpp"

namespace {

using cli::ask;
using cli::check_refused;
using cli::Json;

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("every law of the catalog is shown with its formula, conventions and a sentence on when to trust it") {
  const Json laws = ask({"catalog", "laws"});
  CHECK(laws["result"]["entries"].size() > 80);
  for (const char* name :
       {"kaplan-2020", "muennighoff-2023", "kumar-2024", "step-law-2025-batch", "gadre-2024-error"}) {
    CAPTURE(name);
    const Json answer = ask({"law", "show", name});
    const Json& law = answer["result"];
    CHECK(law["name"] == name);
    for (const char* key : {"title", "form", "formula", "output", "parameter_convention", "trust", "source"})
      CHECK_FALSE(law.at(key).get<std::string>().empty());
    CHECK_FALSE(law["inputs"].empty());
    CHECK_FALSE(law["coefficients"].empty());
    const std::string text = cli::run({"law", "show", name}).out;
    CHECK(holds(text, law["trust"].get<std::string>().substr(0, 20)));
  }
  CHECK(holds(ask({"law", "show", "kaplan-2020"})["result"]["companions"].dump(), "kaplan-2020-allocation"));
  const cli::Result unknown = cli::run({"law", "show", "kaplan-2021"});
  CHECK(unknown.status == 2);
  CHECK(holds(unknown.err, "nearest: kaplan-2020"));
}

TEST_CASE("laws of other forms predict what their sources print, asked by their own inputs") {
  std::size_t asked = 0;
  for (const char* file :
       {"law_values_repeated_data.csv", "law_values_precision.csv", "law_values_mixture_of_experts.csv"}) {
    for (const reference::Row& row : reference::rows(file)) {
      CAPTURE(row.name());
      const Json law = ask({"law", "show", row.text("law")})["result"];
      cli::Arguments command = {"predict", "--law", row.text("law")};
      for (const Json& input : law["inputs"]) {
        const std::string key = input.get<std::string>();
        std::string option = key == "parameters" ? "params" : key;
        for (char& c : option) c = c == '_' ? '-' : c;
        command.push_back("--" + option);
        command.push_back(row.text(key));
      }
      reference::check(row, ask(command)["result"]["value"].get<double>());
      if (++asked % 6 == 0) break;  // a few of each file
    }
  }
  CHECK(asked > 10);
}

TEST_CASE("a law says what it needs, what it does not take, and where it is not defined") {
  check_refused({"predict", "--law", "krajewski-2024", "--params", "1B", "--tokens", "100B"}, 2, "--granularity");
  check_refused({"predict", "--law", "besiroglu-2024", "--params", "1B", "--tokens", "100B", "--experts", "8"}, 2,
                "--experts");
  check_refused({"predict", "--law", "kumar-2024", "--params", "1B", "--tokens", "20B", "--weight-bits", "8",
                 "--activation-bits", "3", "--kv-bits", "8"},
                2, "activation_bits");
  check_refused({"predict", "--law", "kaplan-2020", "--params", "1B", "--count-as", "total", "--tokens", "1B"}, 2,
                "--count-as");
  check_refused({"predict", "--law", "abnar-2025", "--params", "1B", "--tokens", "1B", "--sparsity", "110%"}, 2,
                "sparsity");
  const Json model = ask({"predict", "--law", "kaplan-2020", "--model", "llama-3.1-8b", "--tokens", "1T"});
  CHECK(model["inputs"]["parameters"] == ask({"model", "llama-3.1-8b"})["result"]["parameters"]["non_embedding"]);
  const Json half = ask({"predict", "--law", "abnar-2025", "--params", "10B", "--tokens", "100B", "--sparsity", "90%"});
  CHECK(half["result"]["training_flop"].is_null());  // N counts experts that a token does not use
}

TEST_CASE("repeated tokens are counted and warned of, by laws that know them and by laws that do not") {
  for (const char* law : {"muennighoff-2023", "besiroglu-2024"}) {
    CAPTURE(law);
    const Json answer = ask({"predict", "--law", law, "--params", "400B", "--tokens", "40T", "--unique-tokens", "15T"});
    CHECK(answer["result"]["epochs"].get<double>() == doctest::Approx(40.0 / 15));
    CHECK(cli::warns(answer, "repeated_tokens"));
  }
}

TEST_CASE("hyperparameters are asked of every law that gives them, each as it counts") {
  const Json answer = ask({"hyperparameters", "--model", "llama-3.1-8b", "--tokens", "15T"});
  CHECK(answer["result"]["batch"].size() > 5);
  CHECK(answer["result"]["learning_rate"].size() > 2);
  const Json count = ask({"model", "llama-3.1-8b"})["result"]["parameters"];
  for (const Json& one : answer["result"]["batch"]) {
    CAPTURE(one.dump());
    if (one["inputs"].contains("parameters") && one["parameter_convention"] == "non_embedding")
      CHECK(one["inputs"]["parameters"] == count["non_embedding"].get<double>());
    CHECK(one["value"].get<double>() > 1e5);
  }
  CHECK(cli::warns(answer, "laws_disagree"));
  CHECK(cli::warns(answer, "not_asked"));
  check_refused({"hyperparameters"}, 2, "--params");
}

TEST_CASE("hyperparameters of a mixture follow from what a token uses, and laws of dense models are marked") {
  const Json answer = ask({"hyperparameters", "--model", "deepseek-v3", "--tokens", "14.8T"});
  const Json count = ask({"model", "deepseek-v3"})["result"]["parameters"];
  const double active = count["active"].get<double>(), embedding = count["embedding"].get<double>();
  std::size_t marked = 0;
  for (const char* what : {"batch", "learning_rate"}) {
    for (const Json& one : answer["result"][what]) {
      CAPTURE(one.dump());
      const std::string law = one["law"].get<std::string>();
      const bool mixture = law.starts_with("ling-2025") || law.starts_with("ludziejewski-2025");
      CHECK(one["for"] == (mixture ? "mixture" : "dense"));
      marked += mixture ? 1 : 0;
      if (!one["inputs"].contains("flop") || one["flop_convention"] != "6N") continue;
      const double used = one["parameter_convention"] == "non_embedding" ? active - embedding : active;
      CHECK(one["inputs"]["flop"].get<double>() == doctest::Approx(6 * used * 14.8e12).epsilon(1e-12));
    }
  }
  CHECK(marked == 3);  // the learning rate that asks for experts among them, though --experts was not given
  CHECK(answer["inputs"]["experts"] == 256);
  CHECK(answer["inputs"]["sequence_length"] == 4096);
  std::size_t dense_warnings = 0;
  for (const Json& warning : answer["warnings"]) {
    if (warning["code"] != "dense_law") continue;
    ++dense_warnings;
    const std::string text = warning["message"].get<std::string>();
    CHECK(holds(text, "step-law-2025-batch"));
    CHECK(holds(text, "deepseek-2024-learning-rate"));
    CHECK_FALSE(holds(text, "ling-2025"));
  }
  CHECK(dense_warnings == 1);
  CHECK(cli::warns(answer, "active_experts"));
  CHECK_FALSE(cli::warns(ask({"hyperparameters", "--model", "llama-3.1-8b", "--tokens", "15T"}), "dense_law"));
}

TEST_CASE("a law's own count of FLOP takes a sequence length, and a count that was given is said to stand for it") {
  const auto flop = [](const cli::Arguments& more) {
    using cli::operator+;
    const Json answer = ask(cli::Arguments{"hyperparameters", "--tokens", "15T"} + more);
    for (const Json& one : answer["result"]["batch"]) {
      if (one["law"] == "deepseek-2024-batch") return one["inputs"]["flop"].get<double>();
    }
    return 0.0;
  };
  const double own = flop({"--model", "llama-3.1-8b"});
  CHECK(own == flop({"--model", "llama-3.1-8b", "--seq", "8192"}));
  // Llama 3 8B: 12 x 32 layers x 32 heads x 128 a token of sequence.
  CHECK(flop({"--model", "llama-3.1-8b", "--seq", "16384"}) - own == doctest::Approx(12.0 * 32 * 4096 * 8192 * 15e12));
  CHECK_FALSE(cli::warns(ask({"hyperparameters", "--model", "llama-3.1-8b", "--tokens", "15T"}), "flop_convention"));
  CHECK(cli::warns(ask({"hyperparameters", "--params", "8B", "--tokens", "15T"}), "flop_convention"));
  CHECK(cli::warns(ask({"hyperparameters", "--flop", "1e24"}), "flop_convention"));
  check_refused({"hyperparameters", "--params", "8B", "--tokens", "15T", "--seq", "8192"}, 2, "--seq");
}

TEST_CASE("a suggestion is inside its fit only where the range of every input is known") {
  const cli::Arguments command = {"hyperparameters", "--model", "mixtral-8x7b", "--tokens", "1T"};
  const Json answer = ask(command);
  for (const Json& one : answer["result"]["learning_rate"]) {
    if (one["law"] != "ludziejewski-2025-learning-rate") continue;
    CHECK(one["extrapolation_decades"].is_null());
    CHECK(one["range_unknown"] == Json{"active_parameters"});
  }
  CHECK(holds(cli::run(command).out, "Na not known, else inside"));
}

TEST_CASE("a weight decay stands beside each source's batch and learning rate") {
  const cli::Arguments command = {"hyperparameters", "--model", "llama-3.1-8b", "--tokens", "15T"};
  const Json decays = ask(command)["result"]["weight_decay"];
  CHECK(decays.size() >= 4);
  for (const Json& one : decays) {
    CAPTURE(one.dump());
    const Json& in = one["inputs"];
    CHECK(one["value"].get<double>() * in["learning_rate"].get<double>() * in["timescale"].get<double>() *
              in["tokens"].get<double>() ==
          doctest::Approx(in["batch"].get<double>()));
  }
  CHECK(holds(cli::run(command).out, "weight decay"));
  CHECK(ask({"hyperparameters", "--flop", "1e24"})["result"]["weight_decay"].empty());
}

TEST_CASE("a law that knows experts is asked with those of the model, and the refusal of a dense law names such laws") {
  const Json answer = ask({"predict", "--law", "ludziejewski-2025", "--model", "mixtral-8x7b", "--tokens", "1T"});
  CHECK(answer["inputs"]["experts"] == 8);
  CHECK(answer["inputs"]["from_model"] == Json({"active_parameters", "experts"}));
  CHECK(cli::warns(answer, "active_experts"));
  const Json given =
      ask({"predict", "--law", "ludziejewski-2025", "--model", "mixtral-8x7b", "--tokens", "1T", "--experts", "16"});
  CHECK(given["inputs"]["experts"] == 16);
  const Json sparse = ask({"predict", "--law", "abnar-2025", "--model", "mixtral-8x7b", "--tokens", "1T"});
  CHECK(sparse["inputs"]["sparsity"] == 0.75);
  const cli::Arguments dense = {"predict", "--law", "besiroglu-2024", "--model", "mixtral-8x7b", "--tokens", "1T"};
  for (const char* law : {"ludziejewski-2025", "abnar-2025", "krajewski-2024", "zhao-2025"})
    check_refused(dense, 2, law);
}

TEST_CASE("a law without an interval sends to the command that sets laws of its kind side by side") {
  const auto said = [](const cli::Arguments& command, const char* words) {
    const Json answer = ask(command);
    for (const Json& warning : answer["warnings"]) {
      if (warning["code"] == "no_interval" && holds(warning["message"].get<std::string>(), words)) return true;
    }
    return false;
  };
  CHECK(said({"predict", "--params", "8B", "--tokens", "1T", "--law", "kaplan-2020"}, "floplan optimum --law a,b,c"));
  CHECK(said({"predict", "--tokens", "1T", "--law", "step-law-2025-batch"}, "floplan hyperparameters"));
}

TEST_CASE("a mixture's share is refused by laws of dense models and of active parameters") {
  const cli::Arguments ask_for = {"optimum", "--flop", "1e22", "--active-share", "0.1"};
  using cli::operator+;
  check_refused(ask_for + cli::Arguments{"--law", "besiroglu-2024"}, 2, "--active-share");
  check_refused(ask_for + cli::Arguments{"--law", "ludziejewski-2025", "--experts", "8"}, 2, "--active-share");
}

TEST_CASE("serving never spends more than a deadline has, and more than a budget only with a warning") {
  check_refused({"optimum", "--deadline", "30d", "--count", "1024", "--inference-tokens", "10T"}, 3, "--deadline");
  const Json over = ask({"optimum", "--flop", "1e24", "--inference-tokens", "10T"});
  CHECK(over["result"]["training_flop"].get<double>() > 1e24);
  CHECK(cli::warns(over, "over_budget"));
  // A limit on N gives the loss up, not the budget.
  const Json limited = ask({"optimum", "--flop", "1e24", "--inference-tokens", "10T", "--max-params", "20B"});
  CHECK(limited["result"]["parameters"] == 20000000000);
  CHECK(limited["result"]["training_flop"].get<double>() == doctest::Approx(1e24));
  const Json fixed = ask({"optimum", "--flop", "1e24", "--inference-tokens", "10T", "--params", "30B"});
  CHECK(fixed["result"]["training_flop"].get<double>() == doctest::Approx(1e24));
  CHECK(fixed["result"]["saving_fraction"].get<double>() < 0.3);  // against the best split of the same loss
}

TEST_CASE("questions whose answer is no run, or that mean different things to two laws, are refused") {
  check_refused({"optimum", "--loss", "1e9"}, 3, "must be from 1 to 1e24");
  check_refused({"optimum", "--flop", "1"}, 3, "must be from 1 to 1e24");
  check_refused({"optimum", "--law", "besiroglu-2024,bhagia-2024-mmlu", "--loss", "2"}, 2, "--loss");
  check_refused({"plan", "--model", "llama-3.1-8b", "--tokens", "1T", "--accelerator", "h100-sxm", "--count", "8",
                 "--mfu", "40%", "--law", "kaplan-2020"},
                2, "predict and optimum take it");
}
