// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/plan/request_file.hpp"
#include "plan/requests.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using plan::Override;
using plan::read_request;
using plan::Request;

namespace {

const std::string top = "model = \"llama-3.1-8b\"\naccelerator = \"h100-sxm\"\n";
const std::string stage = "[[stage]]\ntokens = \"1T\"\ncount = 1024\nachieved = \"400TFLOP/s\"\n";

Request read(const std::string& text, const std::vector<Override>& overrides = {}) {
  return read_request(text, "p.toml", overrides, catalog::Catalog());
}

// An error of the file: exit status 4 (or another), at line:column, with words of the rule.
void wrong(const std::string& text, const std::string& place, const std::string& words = "",
           Failure failure = Failure::data) {
  const Error e = thrown::by([&] { (void)read(text); });
  INFO(text << "\n" << e.what());
  CHECK(e.failure() == failure);
  CHECK(e.where().starts_with("p.toml:" + place));
  CHECK(thrown::says(e, words));
}

// An error of an override: exit status 2, at its origin.
void wrong_option(const std::string& path, const std::string& value, const std::string& words = "",
                  Failure failure = Failure::usage) {
  const Error e = thrown::by([&] { (void)read(top + stage, {{path, value, "--option"}}); });
  INFO(path << " = " << value << "\n" << e.what());
  CHECK(e.failure() == failure);
  CHECK(e.where() == "--option");
  CHECK(thrown::says(e, words));
}

bool assumes(const Request& r, const std::string& code) {
  return std::any_of(r.assumptions.begin(), r.assumptions.end(), [&](const Warning& w) { return w.code == code; });
}

}  // namespace

TEST_CASE("a file and the same fields as overrides give the same request") {
  const Request from_file = read(top + stage + "[reliability]\nrestart = [\"4min\", \"8min\"]\n");
  const Request from_options = read_request("", "",
                                            {{"model", "llama-3.1-8b", "--model"},
                                             {"accelerator", "h100-sxm", "--accelerator"},
                                             {"stage[*].tokens", "1T", "--set"},
                                             {"stage[1].count", "1024", "--count"},
                                             {"stage[*].achieved", "400TFLOP/s", "--achieved"},
                                             {"reliability.restart", "4min..8min", "--restart"}},
                                            catalog::Catalog());
  CHECK(from_file.model == from_options.model);
  CHECK(from_file.stages[0].tokens == from_options.stages[0].tokens);
  CHECK(from_file.stages[0].accelerators == from_options.stages[0].accelerators);
  CHECK(from_file.stages[0].achieved == from_options.stages[0].achieved);
  CHECK(from_file.reliability.restart.low == from_options.reliability.restart.low);
  CHECK(from_file.reliability.restart.high == from_options.reliability.restart.high);
}

TEST_CASE("quantities of a file keep every digit") {
  CHECK(read("parameters = \"6.738415616B\"\naccelerator = \"h100-sxm\"\n" + stage).parameters->value == 6738415616.0);
  const Request r = read(top + "[[stage]]\ntokens = 15_600_000_000_000\ncount = \"16Ki\"\nmfu = \"40.4%\"\n");
  CHECK(r.stages[0].tokens.value == 15.6e12);
  CHECK(r.stages[0].accelerators.value == 16384);
  CHECK(r.stages[0].mfu->value == 0.404);
}

TEST_CASE("a mistyped key is named with its place and its nearest neighbour") {
  wrong(top + stage + "coutn = 5\n", "7:1", "\"stage[1].coutn\" (nearest: count");
  wrong(top + stage + "[reliability]\nrestrat = \"5min\"\n", "8:1", "restart");
  wrong(top + stage + "[relability]\nrestart = \"5min\"\n", "7:2", "reliability");
  wrong(top + "acheived_spread = 0.1\n" + stage, "3:1", "achieved_spread");
  wrong(top + stage + "layout = { tp = 8, microbach = 16, dp = 64 }\n", "7:20", "microbach");
}

TEST_CASE("a mistyped key that a plan cannot do without is named rather than called missing") {
  wrong("model = \"llama-3.1-8b\"\nacelerator = \"h100-sxm\"\n" + stage, "2:1", "acelerator");
  wrong(top + "[[stages]]\ntokens = 5\n", "3:3", "stages");
  wrong(top + "[[stage]]\ntoken = \"1T\"\ncount = 8\nmfu = 0.4\n", "4:1", "token");
}

TEST_CASE("a stage without tokens, count or rate is refused where the stage begins") {
  wrong(top + "[[stage]]\ncount = 8\nmfu = 0.4\n", "3:1", "needs tokens");
  wrong(top + "[[stage]]\ntokens = \"1T\"\nmfu = 0.4\n", "3:1", "needs count");
  wrong(top + stage + "[[stage]]\ntokens = \"1T\"\ncount = 8\n", "7:1", "needs achieved");
  wrong(top + "[[stage]]\ntokens = 1\ncount = 8\nmfu = 0.4\nachieved = \"4TFLOP/s\"\n", "", "not both");
  wrong(top, "1:1", "needs a stage");
  wrong("", "1:1", "needs an accelerator");
  wrong("accelerator = \"h100-sxm\"\n" + stage, "1:1", "needs a model or a number of parameters");
}

TEST_CASE("a wrong type is refused at the value's line and column") {
  const auto tokens = [](const std::string& value) { return top + "[[stage]]\ntokens = " + value + "\ncount = 8\n"; };
  for (const std::string value : {"true", "1979-05-27", "{ a = 1 }", "[1, 2]", "\"many\"", "\"15.6TB\"", "\"1e400\"",
                                  "nan", "inf", "-inf", "-5", "\"\"", "[]", "[[1]]"}) {
    INFO(value);
    wrong(tokens(value), "4:10");
  }
  wrong(top + stage + "[reliability]\nrestart = 300\n", "8:11", "a unit is needed");
  wrong(top + "stage = 5\n", "3:9", "[[stage]]");
  wrong(top + "stage = [1, 2]\n", "3:9", "[[stage]]");
  wrong(top + "[stage]\ntokens = 5\n", "3:1", "[[stage]]");
  wrong(top + "reliability = 5\n" + stage, "3:15", "table");
  wrong(top + "[[reliability]]\nrestart = \"5min\"\n" + stage, "3:1", "table");
  wrong(top + stage + "layout = \"tp8\"\n", "7:10", "table");
  wrong(top + "seed = 1.5\n" + stage, "3:8", "whole");
  wrong(top + "draws = \"many\"\n" + stage, "3:9");
}

TEST_CASE("a value out of range in a file is unusable data at its place, and as an override wrong usage") {
  wrong(top + "[[stage]]\ntokens = 0\ncount = 8\nmfu = 0.4\n", "4:10", "got 0");
  wrong(top + "[[stage]]\ntokens = \"1T\"\ncount = 0\nmfu = 0.4\n", "5:9", "got 0");
  wrong(top + "[[stage]]\ntokens = \"1T\"\ncount = 1.5\nmfu = 0.4\n", "5:9", "got 1.5");
  wrong(top + stage + "[power]\npue = 0.5\n", "8:7", "PUE");
  wrong(top + stage + "[checkpoint]\nstall = 0\n", "8:9", "no best interval");
  wrong(top + stage + "[reliability]\nrate_per_node_day = 0\n", "8:21");
  wrong(top + stage + "[reliability]\nmtbf = \"0h\"\nmtbf_count = 8\n", "8:8");
  wrong(top + stage + "[reliability]\nunexplained_stops = 1e300\n", "8:21");
  wrong(top + "draws = 5\n" + stage, "3:9", "from 100");
  wrong(top + "precision = \"fp4\"\n" + stage, "3:13", "fp4");
  wrong_option("stage[*].count", "0", "got 0");
  wrong_option("stage[1].count", "1.5", "got 1.5");
  wrong_option("power.pue", "0.5", "PUE");
  wrong_option("checkpoint.stall", "0", "no best interval");
  wrong_option("reliability.rate_per_node_day", "0");
  wrong_option("tokens", "0", "got 0");
  wrong_option("draws", "5", "from 100");
}

TEST_CASE("what is infeasible names the file's line or the option that made it so") {
  wrong(top + stage + "layout = { tp = 8, pp = 16, dp = 63 }\n", "7:10", "8064 for 1024", Failure::infeasible);
  wrong(top + "[[stage]]\ntokens = \"1T\"\ncount = 8\nmfu = 1.4\n", "6:7", "1.4 times", Failure::infeasible);
  wrong_option("stage[1].achieved", "990TFLOP/s", "989 TFLOP/s", Failure::infeasible);
  wrong_option("peak", "300TFLOP/s", "1.33 times", Failure::infeasible);
  wrong_option("accelerator", "a100-sxm-80gb", "312 TFLOP/s", Failure::infeasible);
  wrong_option("accelerator", "maia-200", "no dense bf16 peak");
}

TEST_CASE("a total number of tokens that no stage can have is refused where the total was given") {
  const std::string two = top + stage + stage;
  const Error e = thrown::by([&] { (void)read(two, {{"tokens", "1e30", "--tokens"}}); });
  CHECK(e.where() == "--tokens");
  CHECK(e.failure() == Failure::usage);
  wrong("tokens = 1e30\n" + two, "1:10");
}

TEST_CASE("ranges are two ordered positive values, in an array or with two dots") {
  const auto restart = [](const std::string& value) {
    return top + stage + "[reliability]\nrestart = " + value + "\n";
  };
  const Request r = read(restart("[\"4min\", \"9min\"]"));
  CHECK(r.reliability.restart.low->value == 240);
  CHECK(r.reliability.restart.high->value == 540);
  CHECK(r.reliability.restart.central.value == doctest::Approx(360));
  CHECK(read(restart("\"4min..9min\"")).reliability.restart.central.value == doctest::Approx(360));
  CHECK_FALSE(read(restart("[\"5min\", \"5min\"]")).reliability.restart.spreads());
  for (const char* value :
       {"[\"9min\", \"4min\"]", "[\"0s\", \"4min\"]", "[\"4min\"]", "[\"1min\", \"2min\", \"3min\"]", "\"9min..4min\"",
        "\"..4min\"", "\"4min..\"", "\"1min..2min..3min\"", "[\"1s\", 5]", "[\"1s\", \"2GB\"]", "[\"1s\", [\"2s\"]]",
        "[\"1us\", \"300h\"]"}) {
    INFO(value);
    wrong(restart(value), "8:11");
  }
  wrong(top + stage + "[reliability]\nplanned_per_day = [1, 2]\n", "8:19", "one value");
}

TEST_CASE("a price may be a value, a range, or a name of the catalog") {
  const auto price = [](const std::string& value) {
    return read(top + stage + "[price]\naccelerator_hour = " + value + "\n").price.value();
  };
  CHECK(price("\"$2.10/h\"").accelerator_hour.central.value == 2.1);
  CHECK(price("[\"$2/h\", \"$3/h\"]").accelerator_hour.low->value == 2);
  CHECK(price("\"$2/h..$3/h\"").accelerator_hour.high->value == 3);
  CHECK(price("\"h100-sxm-contract-1y-2026-03\"").source == "h100-sxm-contract-1y-2026-03");
  CHECK(price("\"2.10USD/h\"").accelerator_hour.central.value == 2.1);
  CHECK(price("\"USD 2.10/h\"").accelerator_hour.central.value == 2.1);
  for (const std::string value : {"2.0", "\"2.0\"", "\"nosuch\"", "\"$-2/h\"", "\"-1\"", "\"$2\"", "true", "\".10/h\"",
                                  "\"2/h\"", "\"\"", "\"bash.5/h\"", "0"}) {
    INFO(value);
    wrong(top + stage + "[price]\naccelerator_hour = " + value + "\n", "8:20");
  }
}

TEST_CASE("a price of the catalog carries its range and says so, named or by default") {
  const Request named = read(top + stage + "[price]\naccelerator_hour = \"h100-sxm-estimate-2026-05\"\n");
  CHECK(named.price->accelerator_hour.low->value == 1.7);
  CHECK(named.price->accelerator_hour.central.value == 2.5);
  CHECK(named.price->accelerator_hour.high->value == 5);
  CHECK(assumes(named, "price_range"));
  const Request ends = read(top + stage + "[price]\naccelerator_hour = \"h100-sxm-contract-1y-2026-08\"\n");
  CHECK(ends.price->accelerator_hour.central.value == doctest::Approx(std::sqrt(2.4 * 3.2)));
  const Request exact = read(top + stage + "[price]\naccelerator_hour = \"h100-sxm-contract-1y-2026-03\"\n");
  CHECK_FALSE(exact.price->accelerator_hour.spreads());
  CHECK_FALSE(assumes(exact, "price_range"));
  const Request latest = read("model = \"llama-3.1-8b\"\naccelerator = \"mi325x\"\n" + stage);
  CHECK(latest.price->accelerator_hour.low->value == 1.95);
  CHECK(latest.price->accelerator_hour.central.value == 2.25);
}

TEST_CASE("a price of another accelerator is remarked on") {
  CHECK(assumes(read(top + stage + "[price]\naccelerator_hour = \"tpu-v5e-list-2026-08\"\n"),
                "price_of_another_accelerator"));
  CHECK_FALSE(assumes(read(top + stage + "[price]\naccelerator_hour = \"h100-sxm-contract-1y-2026-03\"\n"),
                      "price_of_another_accelerator"));
}

TEST_CASE("the later word is the override's, and two words from one place contradict each other") {
  const std::string with_rate = top + stage + "[reliability]\nrate_from = \"llama3-2024\"\n";
  CHECK(read(with_rate, {{"reliability.rate_per_node_day", "1e-3", "--rate"}}).reliability.rate.per_node_day() ==
        doctest::Approx(1e-3));
  CHECK(read(with_rate, {{"reliability.mtbf", "3h", "--mtbf"}, {"reliability.mtbf_count", "1024", "--mtbf-count"}})
            .reliability.rate.mtbf(Count(1024))
            .value == doctest::Approx(10800));
  wrong(with_rate + "rate_per_node_day = 1e-3\n", "9:21", "given once");
  const Request mfu = read(top + stage, {{"stage[*].mfu", "40%", "--mfu"}});
  CHECK_FALSE(mfu.stages[0].achieved.has_value());
  const Request bare = read(top + stage, {{"parameters", "70B", "--params"}});
  CHECK_FALSE(bare.shape.has_value());
  CHECK(bare.parameters->value == 70e9);
  CHECK(assumes(bare, "model_dropped"));
  wrong("parameters = \"70B\"\n" + top + stage, "1:14", "not both");
}

TEST_CASE("a number of accelerators without an MTBF beside it is refused, and an MTBF without the number too") {
  wrong(top + stage + "[reliability]\nmtbf_count = 100\n", "8:14", "needs mtbf");
  wrong(top + stage + "[reliability]\nmtbf = \"3h\"\n", "8:8", "mtbf_count");
  wrong(top + stage + "[reliability]\nmtbf = \"3h\"\nmtbf_count = 0\n", "9:14", "at least 1");
}

TEST_CASE(
    "another model drops the file's title, another count changes the file's layout or drops it, and each is said") {
  const std::string titled = "title = \"Small\"\n" + top + stage + "layout = { tp = 8, dp = 128 }\n";
  CHECK(read(titled).title == "Small");
  CHECK(read(titled, {{"model", "llama-3.1-70b", "--model"}}).title.empty());
  CHECK(read(titled, {{"model", "llama-3.1-70b", "--model"}, {"title", "Mine", "--set"}}).title == "Mine");
  CHECK(read(titled).stages[0].layout.has_value());
  const Request larger = read(titled, {{"stage[*].count", "2048", "--count"}});
  CHECK(larger.stages[0].layout->degrees.data == 256);
  CHECK(assumes(larger, "layout_follows_count"));
  const Request odd = read(titled, {{"stage[*].count", "2047", "--count"}});
  CHECK_FALSE(odd.stages[0].layout.has_value());
  CHECK(assumes(odd, "layout_dropped"));
  CHECK(assumes(larger, "rate_carried_over"));
}

TEST_CASE("two options for one field are refused by both names") {
  const auto refused = [](const std::vector<Override>& overrides) {
    const Error e = thrown::by([&] { (void)read(top + stage + stage, overrides); });
    INFO(e.what());
    CHECK(e.failure() == Failure::usage);
    CHECK(thrown::says(e, overrides[0].origin));
    CHECK(thrown::says(e, overrides[1].origin));
  };
  refused({{"tokens", "5T", "--tokens"}, {"stage[1].tokens", "1T", "--set stage[1].tokens"}});
  refused({{"tokens", "5T", "--tokens"}, {"stage[*].tokens", "1T", "--set stage[*].tokens"}});
  refused({{"stage[*].count", "64", "--count"}, {"stage[2].count", "32", "--set stage[2].count"}});
  refused({{"reliability.restart", "5min", "--restart"}, {"reliability.restart", "6min", "--set reliability.restart"}});
  refused({{"model", "llama-3.1-8b", "--model"}, {"parameters", "8B", "--params"}});
  refused(
      {{"reliability.rate_from", "llama3-2024", "--rate-from"}, {"reliability.rate_per_node_day", "1e-3", "--rate"}});
  refused({{"stage[*].mfu", "40%", "--mfu"}, {"stage[*].achieved", "400TFLOP/s", "--achieved"}});
}

TEST_CASE("an option for one stage's tokens replaces the file's total, and says so") {
  const std::string file = "tokens = \"5T\"\n" + top + stage;
  CHECK(read(file).stages[0].tokens.value == 5e12);
  const Request own = read(file, {{"stage[1].tokens", "3T", "--set stage[1].tokens"}});
  CHECK(own.stages[0].tokens.value == 3e12);
  CHECK(assumes(own, "total_dropped"));
}

TEST_CASE("a key that is another's name or stands in the wrong table is answered with where it belongs") {
  wrong(top + "runs = 500\n" + stage, "3:1", "a plan file calls it draws");
  wrong("params = \"70B\"\naccelerator = \"h100-sxm\"\n" + stage, "1:1", "a plan file calls it parameters");
  wrong(top + stage + "seq = 4096\n", "7:1", "sequence_length");
  wrong(top + "restart = \"5min\"\n" + stage, "3:1", "it belongs under [reliability]");
  wrong(top + "count = 8\n" + stage, "3:1", "it belongs under [[stage]]");
  wrong(top + stage + "tp = 8\n", "7:1", "it belongs under layout of a [[stage]]");
  wrong(top + "tokens = \"1T\"\ncount = 8\nmfu = 0.4\n", "4:9", "put it under [[stage]]");
  wrong(top + "tokens = \"1T\"\nmfu = 0.4\n", "4:7", "put it under [[stage]]");
  wrong(top + "tokens = \"1T\"\nachieved = \"400TFLOP/s\"\n", "4:12", "put it under [[stage]]");
}

TEST_CASE("a total of tokens rescales several stages, and fills the only one") {
  const Request two =
      read(top + stage + "[[stage]]\ntokens = \"3T\"\ncount = 64\nmfu = 0.4\n", {{"tokens", "8T", "--tokens"}});
  CHECK(two.stages[0].tokens.value == doctest::Approx(2e12));
  CHECK(two.stages[1].tokens.value == doctest::Approx(6e12));
  CHECK(assumes(two, "stages_rescaled"));
  CHECK(read("tokens = \"5T\"\n" + top + "[[stage]]\ncount = 64\nmfu = 0.4\n").stages[0].tokens.value == 5e12);
}

TEST_CASE("an odd path is refused at the option") {
  for (const std::string path : {"",
                                 ".",
                                 "..",
                                 "a",
                                 "stage",
                                 "stage[1]",
                                 "stage[0].count",
                                 "stage[2].count",
                                 "stage[-1].count",
                                 "stage[1.5].count",
                                 "stage[].count",
                                 "stage[*].",
                                 "stage.count",
                                 "stage[1][2].count",
                                 "stage[1.count",
                                 "stage1].count",
                                 "stage[1]x.count",
                                 "stage[99999999999999999999].count",
                                 "reliability",
                                 "reliability.",
                                 "reliability..restart",
                                 ".reliability.restart",
                                 "reliability.restart.x",
                                 "model.x",
                                 "model[1].x",
                                 "stage[1].layout",
                                 "new.table.x",
                                 "foo[*].x",
                                 "foo[2].x",
                                 "Model",
                                 "stage[1].Count",
                                 "relability.restart"}) {
    INFO(path);
    wrong_option(path, "5");
  }
  wrong_option("stage.count", "5", "stage[*].count");
}

TEST_CASE("without a file every missing field is wrong usage") {
  const auto wrong_usage = [](const std::vector<Override>& overrides, const std::string& words) {
    const Error e = thrown::by([&] { (void)read_request("", "", overrides, catalog::Catalog()); });
    INFO(e.what());
    CHECK(e.failure() == Failure::usage);
    CHECK(thrown::says(e, words));
  };
  const Override model{"model", "llama-3.1-8b", "--model"};
  const Override accelerator{"accelerator", "h100-sxm", "--accelerator"};
  const Override tokens{"tokens", "1T", "--tokens"};
  const Override count{"stage[*].count", "1024", "--count"};
  const Override mfu{"stage[*].mfu", "40%", "--mfu"};
  wrong_usage({model}, "--accelerator: needs an accelerator");
  wrong_usage({model, accelerator}, "--count: needs a stage");
  wrong_usage({model, accelerator, count, mfu}, "--tokens: needs tokens");
  wrong_usage({model, accelerator, tokens, mfu}, "--count: needs count");
  wrong_usage({model, accelerator, tokens, count}, "--achieved: needs achieved");
  wrong_usage({accelerator, tokens, count, mfu}, "--model: needs a model");
  CHECK(read_request("", "", {model, accelerator, tokens, count, mfu}, catalog::Catalog()).stages.size() == 1);
}

TEST_CASE("what is not TOML is refused at its line and column, however it is broken") {
  wrong("model = \n", "1:", "TOML");
  wrong(top + "model = \"llama-3.1-8b\"\n", "3:", "redefine");
  wrong(top + stage + "[power]\n[power]\n", "8:", "TOML");
  wrong("\x01\x02", "1:", "TOML");
  wrong(
      "title = \"Gr\xf6\xdf"
      "e\"\n" +
          top + stage,
      "1:", "utf-8");
  wrong("a = " + std::string(100000, '[') + std::string(100000, ']'), "1:", "TOML");
  std::string tables = "a = ";
  for (int i = 0; i < 20000; ++i) tables += "{a=";
  wrong(tables, "1:", "TOML");
  wrong(std::string(1000, '\0'), "1:", "TOML");
}

TEST_CASE("Windows line ends, a byte-order mark and other scripts are read") {
  std::string crlf;
  for (const char c : "title = \"Größe 模型\"\n" + top + stage) crlf += c == '\n' ? "\r\n" : std::string(1, c);
  CHECK(read("\xEF\xBB\xBF" + crlf).title == "Größe 模型");
}

TEST_CASE("names that the catalog does not have are refused at their place with the nearest ones") {
  wrong("model = \"llama-3.1-9b\"\naccelerator = \"h100-sxm\"\n" + stage, "1:9", "llama-3.1-8b");
  wrong("model = \"llama-3.1-8b\"\naccelerator = \"h100-sxn\"\n" + stage, "2:15", "nearest");
  wrong(top + "law = \"hofmann-2022\"\n" + stage, "3:7", "hoffmann-2022");
  wrong(top + stage + "[reliability]\nrate_from = \"llama3\"\n", "8:13", "llama3-2024");
  wrong(top + "attention = \"CAUSAL\"\n" + stage, "3:13", "none, causal, full");
  wrong(top + stage + "[power]\nbasis = \"wall\"\n", "8:9", "tdp, node");
}

TEST_CASE("whatever a request leaves out is filled in and named") {
  const Request r = read(top + stage);
  std::string all;
  for (const Warning& w : r.assumptions) all += w.message + "\n";
  for (const std::string word :
       {"failure rate", "restart of 5 to 10 min", "no wait", "no failure that waits for a person", "no planned stops",
        "checkpoint", "price", "node power", "PUE of 1.2", "grid of 0.385", "the law besiroglu-2024",
        "causal attention in the FLOP", "achieved rate of 3%", "sequences of 8192 tokens"}) {
    INFO(word << " in\n" << all);
    CHECK(all.find(word) != std::string::npos);
  }
  CHECK(std::count_if(r.assumptions.begin(), r.assumptions.end(),
                      [](const Warning& w) { return w.code == "assumed"; }) == 3);
  CHECK(r.power->pue == plan::Power{}.pue);
  CHECK(r.power->grid == plan::Power{}.grid);
  // What is given in part is named in part.
  std::string partly;
  for (const Warning& w : read(top + stage + "[reliability]\nplanned_per_day = 1\n").assumptions) partly += w.message;
  CHECK(partly.find("no planned stops") == std::string::npos);
  CHECK(partly.find("planned stops that take no time") != std::string::npos);
  const Request full = requests::llama3_405b();
  for (const Warning& w : full.assumptions) CHECK_MESSAGE(w.code != "assumed", w.message);
}
