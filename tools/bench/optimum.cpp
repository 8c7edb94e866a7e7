// SPDX-License-Identifier: BSD-3-Clause
//
// What an optimum costs. Target on one core: a million optima of random budgets in under a second.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/core/random.hpp"
#include "floplan/optimum/choose.hpp"
#include "floplan/optimum/compute_optimal.hpp"
#include "floplan/optimum/lifetime.hpp"
#include "floplan/optimum/surface.hpp"

namespace {

using namespace floplan;

const law::Chinchilla<double> law_of_the_replication{1.8172181, 477.82587, 2143.4174, 0.3473104988, 0.3671724331};

std::vector<Flop> budgets() {
  RandomStream random(1);
  std::vector<Flop> out;
  for (std::size_t i = 0; i < 1000000; ++i) out.emplace_back(1e18 * std::pow(1e9, random.uniform()));
  return out;
}

void compute_optimal(benchmark::State& state) {
  const std::vector<Flop> asked = budgets();
  while (state.KeepRunning()) {
    for (const Flop budget : asked) benchmark::DoNotOptimize(optimum::for_budget(law_of_the_replication, budget));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(asked.size()));
}

// Of the loss that each budget reaches, with ten trillion tokens to serve.
void lifetime(benchmark::State& state) {
  const std::vector<Flop> asked = budgets();
  optimum::Demand demand;
  demand.output = Tokens(1e13);
  while (state.KeepRunning()) {
    for (const Flop budget : asked) {
      const optimum::Split best = optimum::for_budget(law_of_the_replication, budget);
      const double loss = law_of_the_replication.loss(best.parameters.value, best.tokens.value);
      benchmark::DoNotOptimize(optimum::for_lifetime(law_of_the_replication, loss, demand));
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(asked.size()));
}

// By the numeric search, of a law that has no closed form: a thousand budgets with 100B unique tokens.
void data_limited(benchmark::State& state) {
  const std::vector<Flop> asked = budgets();
  optimum::Setting setting;
  setting.set(law::Input::unique_tokens, 1e11);
  const optimum::Surface surface = optimum::surface(catalog::any_law(catalog::Catalog(), "muennighoff-2023"), setting);
  while (state.KeepRunning()) {
    for (std::size_t i = 0; i < 1000; ++i) benchmark::DoNotOptimize(optimum::for_budget(surface, asked[i]));
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}

BENCHMARK(compute_optimal)->Unit(benchmark::kMillisecond);
BENCHMARK(lifetime)->Unit(benchmark::kMillisecond);
BENCHMARK(data_limited)->Unit(benchmark::kMillisecond);

}  // namespace
