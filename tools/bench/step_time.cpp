// SPDX-License-Identifier: BSD-3-Clause
//
// How long one step's prediction takes: its terms alone, with the check that a layout is possible, and the whole report.
#include <benchmark/benchmark.h>

#include "floplan/catalog/catalog.hpp"
#include "floplan/cluster/step_time.hpp"

namespace {

using namespace floplan;

cluster::StepRequest llama3() {
  cluster::StepRequest r;
  r.shape = {.layers = 126,
             .width = 16384,
             .heads = 128,
             .kv_heads = 8,
             .head_width = 128,
             .ffn_width = 53248,
             .vocabulary = 128256};
  r.machine = cluster::machine_of(catalog::Catalog().accelerator("h100-sxm"));
  r.layout = {.tensor = 8, .pipeline = 16, .data = 64, .interleave = 8};
  r.global_batch = 2048;
  r.sequence_length = 8192;
  return r;
}

// 530B on 2,240 accelerators with unfused attention, as Korthikanti 2022 ran it on 280.
cluster::StepRequest gpt530b() {
  cluster::StepRequest r;
  r.shape = {.layers = 105,
             .width = 20480,
             .heads = 128,
             .kv_heads = 128,
             .head_width = 160,
             .ffn_width = 81920,
             .vocabulary = 51200,
             .tied_embeddings = true,
             .gated = false};
  r.machine = cluster::machine_of(catalog::Catalog().accelerator("a100-sxm-80gb"));
  r.layout = {.tensor = 8, .pipeline = 35, .data = 8, .interleave = 3};
  r.global_batch = 2240;
  r.sequence_length = 2048;
  r.recompute = architecture::Recompute::selective;
  r.stack.attention = cluster::AttentionKernel::unfused;
  return r;
}

cluster::StepRequest experts() {
  cluster::StepRequest r;
  r.shape = {.layers = 61, .width = 7168, .heads = 128, .ffn_width = 18432, .vocabulary = 129280};
  r.shape.latent = architecture::LatentAttention{1536, 512, 128, 64, 128};
  r.shape.experts = architecture::Experts{256, 8, 2048, 2048, architecture::LayerPattern::from(3, 61)};
  r.machine = cluster::machine_of(catalog::Catalog().accelerator("h800"));
  r.layout = {.pipeline = 16, .data = 128, .expert = 64};
  r.global_batch = 15360;
  r.sequence_length = 4096;
  r.precision = catalog::Precision::fp8;
  r.uneven_stages = true;
  return r;
}

void terms(benchmark::State& state, cluster::StepRequest (*make)()) {
  const cluster::StepRequest r = make();
  cluster::check(r);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(cluster::step_terms(r));
}

void check_and_terms(benchmark::State& state, cluster::StepRequest (*make)()) {
  const cluster::StepRequest r = make();
  for ([[maybe_unused]] auto _ : state) {
    cluster::check(r);
    benchmark::DoNotOptimize(cluster::step_terms(r));
  }
}

void report(benchmark::State& state, cluster::StepRequest (*make)()) {
  const cluster::StepRequest r = make();
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(cluster::step_time(r));
}

BENCHMARK_CAPTURE(terms, llama3_405b, llama3);
BENCHMARK_CAPTURE(terms, gpt_530b, gpt530b);
BENCHMARK_CAPTURE(terms, experts_671b, experts);
BENCHMARK_CAPTURE(check_and_terms, llama3_405b, llama3);
BENCHMARK_CAPTURE(check_and_terms, gpt_530b, gpt530b);
BENCHMARK_CAPTURE(check_and_terms, experts_671b, experts);
BENCHMARK_CAPTURE(report, llama3_405b, llama3);

}  // namespace
