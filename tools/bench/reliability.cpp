// SPDX-License-Identifier: BSD-3-Clause
//
// What a simulated run costs: one tier (the plain process), two tiers, drawn times; and the closed forms beside it.
// items_per_second counts interruptions, of CPU time; one thread unless the last argument says otherwise.
#include <benchmark/benchmark.h>

#include "floplan/reliability/best_checkpoints.hpp"
#include "floplan/reliability/simulation.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

constexpr Seconds useful = Seconds(6037902.832);  // Llama 3.1 405B on 16,384 H100s at 400 TFLOP/s

// 419 failures in 54 days, as the reference runs G0, G1, G3 and G2 of tests/reference/simulation_cases.csv.
enum Kind { plain, manual_and_planned, two_tier, drawn };
RunProcess process(Kind kind) {
  RunProcess p;
  p.failures.mtbf = days(54) * (1.0 / 419);
  p.checkpoints.interval = Seconds(600);
  p.checkpoints.storage_stall = Seconds(10);
  p.storage = {TimeLaw::fixed(Seconds(120)), TimeLaw::fixed(Seconds(300))};
  if (kind == plain) return p;
  p.manual_share = 3.0 / 419;
  p.manual_wait = TimeLaw::fixed(hours(4));
  p.planned = {47.0 / 54, Seconds(0), Seconds(600)};
  if (kind == two_tier) {
    p.checkpoints = {Seconds(60), Seconds(0.3), 30, Seconds(10), Seconds(0)};
    p.memory = {TimeLaw::fixed(Seconds(60)), TimeLaw::fixed(Seconds(120))};
    p.memory_share = 0.9;
  }
  if (kind == drawn) p.storage = {TimeLaw::log_normal(Seconds(120), 1), TimeLaw::log_normal(Seconds(300), 0.5)};
  return p;
}

void one_run(benchmark::State& state) {
  const RunSimulator simulator(process(static_cast<Kind>(state.range(0))));
  double events = 0;
  std::uint64_t i = 0;
  for (auto _ : state) {
    RandomStream random(1, i++);
    const SimulatedRun run = simulator(random, useful);
    events += run.interruptions();
    benchmark::DoNotOptimize(run.wall_clock);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(events));
}
BENCHMARK(one_run)->Arg(plain)->Arg(manual_and_planned)->Arg(two_tier)->Arg(drawn)->Unit(benchmark::kMicrosecond);

void whole_simulation(benchmark::State& state) {
  const RunProcess p = process(two_tier);
  SimulationOptions options;
  options.runs = static_cast<std::size_t>(state.range(0));
  options.threads = static_cast<unsigned>(state.range(1));
  double gain = 0;
  for (auto _ : state) gain = simulate(useful, p, options).days_controlled.gain();
  state.counters["control_variate_gain"] = gain;
}
BENCHMARK(whole_simulation)->Args({100000, 2})->Unit(benchmark::kSecond)->MeasureProcessCPUTime()->UseRealTime();

void closed_form_of(benchmark::State& state) {
  const RunProcess p = process(static_cast<Kind>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(closed_form(useful, p));
}
BENCHMARK(closed_form_of)->Arg(manual_and_planned)->Arg(two_tier)->Arg(drawn);

void best_checkpoints_of(benchmark::State& state) {
  const RunProcess p = process(static_cast<Kind>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(best_checkpoints(p));
}
BENCHMARK(best_checkpoints_of)->Arg(plain)->Arg(two_tier);

}  // namespace
