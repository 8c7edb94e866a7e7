// SPDX-License-Identifier: BSD-3-Clause
//
// What it costs to propose shapes. Target on one core: under 10 ms for any request, also for ten trillion parameters with a
// head of keys and values for each of queries, whose grid of widths is the finest.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>

#include "floplan/architecture/realise.hpp"

namespace {

using namespace floplan;
using architecture::realise;
using architecture::RealiseRequest;

// state.range(0): the exponent of the target.
RealiseRequest dense(const benchmark::State& state) {
  return {.target = Parameters(std::pow(10.0, static_cast<double>(state.range(0))))};
}

void run(benchmark::State& state, const RealiseRequest& request) {
  std::uint64_t examined = 0;
  while (state.KeepRunning()) {
    const auto report = realise(request);
    examined = report.examined;
    benchmark::DoNotOptimize(report.proposals.data());
  }
  state.counters["shapes"] = static_cast<double>(examined);
}

void grouped(benchmark::State& state) { run(state, dense(state)); }

void multi_head(benchmark::State& state) {
  RealiseRequest request = dense(state);
  request.heads_per_kv = 1;
  run(state, request);
}

void experts(benchmark::State& state) {
  RealiseRequest request = dense(state);
  request.given.experts = architecture::Experts{.count = 256, .active = 8};
  request.shared_experts = 1;
  request.first_dense_layers = 3;
  run(state, request);
}

BENCHMARK(grouped)->DenseRange(7, 13, 2)->Unit(benchmark::kMillisecond);
BENCHMARK(multi_head)->DenseRange(7, 13, 2)->Unit(benchmark::kMillisecond);
BENCHMARK(experts)->DenseRange(10, 13)->Unit(benchmark::kMillisecond);

}  // namespace
