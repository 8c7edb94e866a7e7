// SPDX-License-Identifier: BSD-3-Clause
//
// What a serving evaluation, a frontier of batches and replicas, and a lifetime's purchase cost.
#include <benchmark/benchmark.h>

#include "floplan/catalog/catalog.hpp"
#include "floplan/serving/frontier.hpp"
#include "floplan/serving/lifetime_purchase.hpp"

namespace {

using namespace floplan;
using namespace floplan::serving;

ServingRequest request(const char* model, double accelerators) {
  ServingRequest r;
  r.model = served_model(catalog::Catalog().model(model).shape);
  r.device = device_of(catalog::Catalog().accelerator("h100-sxm"));
  r.formats = formats_of(catalog::Precision::fp8, r.device);
  r.cut.accelerators = accelerators;
  return r;
}

void step(benchmark::State& state) {
  const ServingRequest r = request("llama-3.1-405b", 8);
  const EngineLoad load = steady_load(256, r.tokens, r.model);
  for (auto _ : state)
    benchmark::DoNotOptimize(engine_step(r.model, r.device, r.cut, r.formats, load, r.efficiencies).seconds());
}

void evaluation(benchmark::State& state) {
  const ServingRequest r = request("llama-3.1-405b", 8);
  for (auto _ : state) benchmark::DoNotOptimize(serve(r).output_tokens_per_second);
}

void evaluation_with_limit(benchmark::State& state) {
  ServingRequest r = request("llama-3.1-405b", 8);
  r.longest_tpot = Seconds(0.05);
  for (auto _ : state) benchmark::DoNotOptimize(serve(r).output_tokens_per_second);
}

// Batches and replicas in two precisions.
void whole_frontier(benchmark::State& state) {
  ServingRequest r = request("llama-3.1-8b", 1);
  for (auto _ : state) {
    for (const auto p : {catalog::Precision::bf16, catalog::Precision::fp8}) {
      r.formats = formats_of(p, r.device);
      benchmark::DoNotOptimize(frontier(r, {1, 2, 4, 8}).size());
    }
  }
}

void lifetime(benchmark::State& state) {
  LifetimeQuestion q;
  const law::Chinchilla<double> law{1.69, 406.4, 410.7, 0.336, 0.283};
  q.loss = law.loss(405.85e9, 15.6e12);
  q.serving = request("llama-3.1-8b", 1);
  q.serving.tokens = {1000, 250};
  q.serving.longest_tpot = Seconds(0.05);
  q.requests = 1e10;
  for (auto _ : state) benchmark::DoNotOptimize(buy_for_lifetime(law, q).best.parameters.value);
}

BENCHMARK(step);
BENCHMARK(evaluation);
BENCHMARK(evaluation_with_limit);
BENCHMARK(whole_frontier)->Unit(benchmark::kMillisecond);
BENCHMARK(lifetime)->Unit(benchmark::kMillisecond);

}  // namespace
