// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/serving/benchmark_run.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::serving;

const NumberFormats fp8{1, 1, catalog::Precision::fp8};

// What a schedule did, over all its steps.
struct Sums {
  double decoded = 0, prompts = 0, scores = 0, logits = 0, context = 0, most = 0, most_tokens = 0;
};

Sums sums(const std::vector<EngineLoad>& steps) {
  Sums out;
  for (const EngineLoad& load : steps) {
    out.decoded += load.steps * load.decoding;
    out.prompts += load.steps * load.prompt_tokens;
    out.scores += load.steps * load.scores;
    out.logits += load.steps * load.logits;
    out.context += load.steps * load.context;
    out.most = std::max(out.most, load.decoding);
    out.most_tokens = std::max(out.most_tokens, load.tokens());
  }
  return out;
}

}  // namespace

TEST_CASE("a schedule does every prompt and every token once, within its limits") {
  const ServedModel m = served_model(catalog::Catalog().model("gemma-3-27b").shape);
  for (const BenchmarkRun& run : {BenchmarkRun{100, {1000, 200}, {16, 2048}}, BenchmarkRun{37, {5000, 100}, {64, 2048}},
                                  BenchmarkRun{50, {128, 1}, {8, 300}}, BenchmarkRun{7.5, {10, 3}, {3, 16}}}) {
    CAPTURE(run.tokens.input);
    const Sums s = sums(schedule(run, m));
    const double requests = std::ceil(run.requests);
    CHECK(s.prompts == requests * run.tokens.input);
    CHECK(s.decoded == requests * (run.tokens.output - 1));
    CHECK(s.logits == requests * run.tokens.output);
    CHECK(s.scores == near(requests * run.tokens.input * run.tokens.input / 2, 1e-12));
    CHECK(s.most <= run.limits.sequences);
    CHECK(s.most_tokens <= run.limits.tokens_a_step);
  }
}

TEST_CASE("a run that would never end is refused") {
  const ServedModel m = served_model(catalog::Catalog().model("llama-3.1-8b").shape);
  for (const BenchmarkRun& run :
       {BenchmarkRun{0, {10, 10}, {1, 100}}, BenchmarkRun{1, {0, 10}, {1, 100}}, BenchmarkRun{1, {10, 0}, {1, 100}},
        BenchmarkRun{1, {10, 10}, {0.5, 100}}, BenchmarkRun{1, {10, 10}, {1, 0}}, BenchmarkRun{1e9, {10, 10}, {1, 100}},
        BenchmarkRun{10, {1e9, 10}, {1, 2}}}) {
    CHECK(thrown::by([&] { (void)schedule(run, m); }).failure() == Failure::usage);
  }
}

TEST_CASE("steps taken together cost what they cost one by one") {
  const ServedModel m = served_model(catalog::Catalog().model("llama-3.1-8b").shape);
  const Device d = device_of(catalog::Catalog().accelerator("h100-sxm"));
  const std::vector<EngineLoad> steps = schedule({8, {100, 50}, {8, 4096}}, m);
  double one_by_one = 0;
  for (const EngineLoad& load : steps) {
    for (double i = 0; i < load.steps; ++i) {
      EngineLoad one = load;
      one.context += load.decoding * (i - (load.steps - 1) / 2);
      one.local_context = one.context;
      one_by_one += engine_step(m, d, Cut{1}, fp8, one, Efficiencies{}).seconds();
    }
  }
  CHECK(seconds_of(steps, m, d, Cut{1}, fp8, Efficiencies{}) == near(one_by_one, 1e-12));
}

// Requests of one length that came together end together, and their prompts bunch where a steady engine spreads them.
TEST_CASE("steady state is a little faster than a long run whose equal requests move in waves") {
  const ServedModel m = served_model(catalog::Catalog().model("llama-3.1-8b").shape);
  const Device d = device_of(catalog::Catalog().accelerator("h100-sxm"));
  const RequestTokens tokens{1000, 250};
  const double batch = 128;
  const double steady = batch / engine_step(m, d, Cut{1}, fp8, steady_load(batch, tokens, m), Efficiencies{}).seconds();
  const double requests = 20000;
  const double run = requests * tokens.output /
                     seconds_of(schedule({requests, tokens, {batch, 8192}}, m), m, d, Cut{1}, fp8, Efficiencies{});
  CHECK(run < steady);
  CHECK(run > 0.95 * steady);
}

TEST_CASE("the shares of a benchmark's time are those that were printed of the same terms") {
  const catalog::Catalog catalog;
  for (const reference::Row& row : reference::rows("serving_step_shares.csv")) {
    const ServedModel m = served_model(catalog.model(row.text("model")).shape);
    const Device d = device_of(catalog.accelerator(row.text("accelerator")));
    const Cut cut{row.number("accelerators"), row.text("attention_data_parallel") == "yes"};
    const BenchmarkRun run = trtllm_bench_run(m, m.total(), d, cut, fp8, {row.number("input"), row.number("output")},
                                              row.number("requests"));
    const std::string term = row.text("term");
    double share = 0, all = 0;
    for (const EngineLoad& load : schedule(run, m)) {
      const EngineStep<double> s = engine_step(m, d, cut, fp8, load, Efficiencies{});
      all += load.steps * s.seconds();
      share += load.steps * (term == "products"        ? s.products
                             : term == "experts"       ? s.experts
                             : term == "cache"         ? s.cache
                             : term == "elementwise"   ? s.elementwise
                             : term == "communication" ? s.communication
                             : term == "layers"        ? s.layers
                                                       : s.host);
    }
    reference::check(row, 100 * share / all);
  }
}
