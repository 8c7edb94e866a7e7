// SPDX-License-Identifier: BSD-3-Clause
//
// What the memory of a layout costs. Target on one core: well under a microsecond a stage.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "floplan/architecture/pipeline_stages.hpp"
#include "floplan/architecture/training_memory.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/random.hpp"

namespace {

using namespace floplan::architecture;

const Transformer llama_405b{.layers = 126,
                             .width = 16384,
                             .heads = 128,
                             .kv_heads = 8,
                             .head_width = 128,
                             .ffn_width = 53248,
                             .vocabulary = 128256};

std::vector<std::int64_t> ranks(std::int64_t pipeline) {
  floplan::RandomStream random(1);
  std::vector<std::int64_t> out;
  for (int i = 0; i < 4096; ++i) out.push_back(random.below(static_cast<std::uint32_t>(pipeline)));
  return out;
}

TrainingMemoryOptions options() {
  TrainingMemoryOptions out;
  out.microbatches = 64;
  out.sharding = Sharding::zero2;
  return out;
}

// Layout and stage both change: what a search over tensor, data and the rest pays for one stage.
void layout_and_stage(benchmark::State& state) {
  const PipelineStages stages(llama_405b, 16, state.range(0));
  const std::vector<std::int64_t> asked = ranks(16);
  const TrainingMemoryOptions o = options();
  while (state.KeepRunning()) {
    for (const std::int64_t rank : asked) {
      const Layout layout{.tensor = 1 + 7 * (rank % 2), .pipeline = 16, .data = 64, .interleave = state.range(0)};
      benchmark::DoNotOptimize(TrainingMemory(llama_405b, layout, stages, o).stage(rank));
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(asked.size()));
}

// The stages of one layout.
void stage(benchmark::State& state) {
  const PipelineStages stages(llama_405b, 16, state.range(0));
  const std::vector<std::int64_t> asked = ranks(16);
  const Layout layout{.tensor = 8, .pipeline = 16, .data = 64, .interleave = state.range(0)};
  const TrainingMemory memory(llama_405b, layout, stages, options());
  while (state.KeepRunning()) {
    for (const std::int64_t rank : asked) benchmark::DoNotOptimize(memory.stage(rank));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(asked.size()));
}

// Dealing out the layers, once a pipeline degree and interleaving.
void pipeline_stages(benchmark::State& state) {
  while (state.KeepRunning()) benchmark::DoNotOptimize(PipelineStages(llama_405b, 16, state.range(0)));
}

BENCHMARK(layout_and_stage)->Arg(1)->Arg(8);
BENCHMARK(stage)->Arg(1)->Arg(8);
BENCHMARK(pipeline_stages)->Arg(1)->Arg(8)->Unit(benchmark::kMicrosecond);

}  // namespace
