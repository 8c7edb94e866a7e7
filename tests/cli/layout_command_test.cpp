// SPDX-License-Identifier: BSD-3-Clause
//
// floplan layout: the search of layouts from the command line.
#include <doctest/doctest.h>

#include <string>

#include "cli/cli.hpp"

using cli::Arguments;
using cli::ask;
using cli::check_refused;
using cli::Json;
using cli::operator+;

namespace {

const Arguments search{"layout", "--model",        "llama-3.1-8b", "--accelerator", "h100-sxm", "--count",
                       "64",     "--global-batch", "256",          "--seq",         "8192"};

}  // namespace

TEST_CASE("a search from the command line gives what step says of the same layouts, best first") {
  const Json result = ask(search)["result"];
  REQUIRE(result.at("layouts").size() == 10);
  CHECK(result.at("evaluated") >= result.at("feasible"));
  CHECK(result.at("feasible") >= 10);
  double last = 0;
  for (const Json& layout : result["layouts"]) {
    CHECK(layout.at("step_time_s") >= last);
    last = layout["step_time_s"];
    CHECK(layout.at("fits") == true);
    CHECK(layout.at("memory_bytes").at("total") <= layout["memory_bytes"].at("capacity"));
  }
  const Json& best = result["layouts"][0];
  const auto degree = [&best](const char* name) { return std::to_string(best.at(name).get<int>()); };
  const Json step = ask({"step",
                         "--model",
                         "llama-3.1-8b",
                         "--accelerator",
                         "h100-sxm",
                         "--count",
                         "64",
                         "--global-batch",
                         "256",
                         "--seq",
                         "8192",
                         "--tp",
                         degree("tp"),
                         "--cp",
                         degree("cp"),
                         "--pp",
                         degree("pp"),
                         "--vp",
                         degree("vp"),
                         "--dp",
                         degree("dp"),
                         "--microbatch",
                         degree("microbatch"),
                         "--sharding",
                         best.at("sharding"),
                         "--recompute",
                         best.at("recompute")})["result"];
  CHECK(step.at("step_time_s") == best.at("step_time_s"));
  CHECK(step.at("mfu") == best.at("mfu"));
  CHECK(step.at("band") == best.at("band"));
  CHECK(step.at("memory_bytes").at("total") == best.at("memory_bytes").at("total"));
  for (std::size_t i = 1; i < result.at("pareto").size(); ++i) {
    CHECK(result["pareto"][i].at("step_time_s") >= result["pareto"][i - 1].at("step_time_s"));
    CHECK(result["pareto"][i].at("memory_bytes").at("total") < result["pareto"][i - 1].at("memory_bytes").at("total"));
  }
}

TEST_CASE("what is fixed of a layout stays, and a reserve of memory is kept") {
  const Json fixed = ask(search + Arguments{"--tp", "4", "--sharding", "zero3", "--top", "3"})["result"];
  REQUIRE(fixed.at("layouts").size() == 3);
  for (const Json& layout : fixed["layouts"]) {
    CHECK(layout.at("tp") == 4);
    CHECK(layout.at("sharding") == "zero3");
  }
  const Json lean = ask(search + Arguments{"--memory-reserve", "70GB"})["result"];
  for (const Json& layout : lean.at("layouts")) CHECK(layout.at("memory_bytes").at("total") <= 10e9);
  CHECK(lean["layouts"][0].at("step_time_s") >= ask(search)["result"]["layouts"][0].at("step_time_s"));
  CHECK(ask(search + Arguments{"--threads", "1"})["result"] == ask(search + Arguments{"--threads", "3"})["result"]);
}

TEST_CASE("a search that nothing answers is refused with what stands in the way") {
  check_refused(search + Arguments{"--memory-reserve", "79.9GB"}, 3, "too much");
  check_refused(search + Arguments{"--memory-reserve", "81GB"}, 2, "--memory-reserve");
  check_refused(search + Arguments{"--tp", "3"}, 3, "TP 3");
  check_refused(search + Arguments{"--pp", "3"}, 3, "PP 3");
  check_refused(search + Arguments{"--precision", "fp4"}, 3, "--precision");
  check_refused(search + Arguments{"--top", "0"}, 2, "--top");
  check_refused(search + Arguments{"--gemm-ceiling", "1979TFLOP/s"}, 2, "sparsity");
  check_refused({"layout", "--model", "llama-3.1-8b", "--accelerator", "h100-sxm", "--count", "64"}, 2,
                "--global-batch");
  check_refused({"layout", "--model", "llama-3.1-405b", "--accelerator", "h100-sxm", "--count", "100000",
                 "--global-batch", "2048", "--seq", "8192"},
                3, "98304");
}
