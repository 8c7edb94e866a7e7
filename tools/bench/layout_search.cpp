// SPDX-License-Identifier: BSD-3-Clause
//
// What a search over all layouts costs. Targets on two cores: 530B on 2,240 A100 under 1 s, 405B on 16,384 H100 under 5 s.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "floplan/catalog/catalog.hpp"
#include "floplan/cluster/layout_search.hpp"

namespace {

using namespace floplan;

cluster::LayoutSearch search(const char* model, const char* accelerator, double count, std::int64_t batch,
                             std::int64_t sequence) {
  const catalog::Catalog catalog;
  cluster::LayoutSearch out;
  out.step.shape = catalog.model(model).shape;
  const catalog::Accelerator on = catalog.accelerator(accelerator);
  out.step.machine = cluster::machine_of(on);
  out.step.global_batch = batch;
  out.step.sequence_length = sequence;
  out.accelerators = Count(count);
  out.capacity = on.memory;
  return out;
}

void run(benchmark::State& state, const cluster::LayoutSearch& s) {
  std::size_t evaluated = 0;
  for (auto _ : state) evaluated += cluster::search_layouts(s).evaluated;
  state.SetItemsProcessed(static_cast<std::int64_t>(evaluated));
  state.counters["layouts"] = benchmark::Counter(static_cast<double>(evaluated), benchmark::Counter::kAvgIterations);
}

void megatron_530b(benchmark::State& state) {
  cluster::LayoutSearch s = search("mt-nlg-530b", "a100-sxm-80gb", 2240, 1920, 2048);
  s.step.stack.attention = cluster::AttentionKernel::unfused;
  run(state, s);
}
void llama_405b(benchmark::State& state) { run(state, search("llama-3.1-405b", "h100-sxm", 16384, 2048, 8192)); }
void deepseek_v3(benchmark::State& state) { run(state, search("deepseek-v3", "h800-sxm", 2048, 15360, 4096)); }

BENCHMARK(megatron_530b)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(llama_405b)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(deepseek_v3)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace
