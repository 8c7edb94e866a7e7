// SPDX-License-Identifier: BSD-3-Clause
//
// What the planner's parts cost: the closed form, one random run, a whole plan, reading text.
#include <benchmark/benchmark.h>

#include "floplan/catalog/catalog.hpp"
#include "floplan/plan/planner.hpp"
#include "floplan/reliability/checkpoint_interval.hpp"
#include "floplan/reliability/completion.hpp"
#include "floplan/reliability/completion_draw.hpp"

namespace {

using namespace floplan;

reliability::Conditions conditions() {
  reliability::Conditions c;
  c.mtbf = hours(3.09);
  c.interval = Seconds(465);
  c.stall = Seconds(10);
  c.restart = Seconds(300);
  c.wait = Seconds(120);
  c.manual_share = 0.007;
  c.manual_wait = hours(4);
  c.planned_per_day = 0.87;
  c.planned_duration = Seconds(600);
  return c;
}

void completion(benchmark::State& state) {
  const reliability::Conditions c = conditions();
  for (auto _ : state) benchmark::DoNotOptimize(reliability::completion(days(70), c));
}
BENCHMARK(completion);

void draw_completion(benchmark::State& state) {
  const reliability::Conditions c = conditions();
  RandomStream stream(1);
  for (auto _ : state) benchmark::DoNotOptimize(reliability::draw_completion(stream, days(70), c));
}
BENCHMARK(draw_completion);

void exact_interval(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(reliability::exact_interval(Seconds(10), hours(3.09)));
}
BENCHMARK(exact_interval);

void make_plan(benchmark::State& state) {
  const catalog::Catalog catalog;
  plan::Request r;
  r.shape = catalog.model("llama-3.1-405b").shape;
  r.accelerator = catalog.accelerator("h100-sxm");
  r.reliability.rate = reliability::rate_from_events(419, Count(16384), days(54), Count(8));
  r.reliability.restart = plan::Uncertain<Seconds>::range(Seconds(300), Seconds(600));
  r.checkpoint.stall = Seconds(10);
  r.stages = {{.tokens = Tokens(15.6e12), .accelerators = Count(16384), .achieved = FlopPerSecond(400e12)}};
  r.draws = static_cast<std::size_t>(state.range(0));
  r.threads = static_cast<unsigned>(state.range(1));
  for (auto _ : state) benchmark::DoNotOptimize(plan::make_plan(r));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(make_plan)->Args({10000, 1})->Args({10000, 2})->Unit(benchmark::kMillisecond)->UseRealTime();

void catalog_lookup(benchmark::State& state) {
  const catalog::Catalog catalog;
  for (auto _ : state) benchmark::DoNotOptimize(catalog.accelerator("h100-sxm"));
}
BENCHMARK(catalog_lookup);

void parse_quantity(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(parse<Parameters>("6.738415616B"));
}
BENCHMARK(parse_quantity);

}  // namespace
