// SPDX-License-Identifier: BSD-3-Clause
//
// What fitting costs. 240 synthetic rows shaped like the replication's data (1% noise, a few wild rows), or as many as a
// case says. Targets on two cores, release build for the machine: objective with gradient 2 us, exact global Huber fit
// .5 ms, 4,000 resamples .12 s, Hoffmann's 4,500 starts 3 s, 1,000,000 rows 5 s.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "floplan/core/random.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/covariance.hpp"
#include "floplan/fit/coverage.hpp"
#include "floplan/fit/prediction.hpp"
#include "floplan/fit/profile_likelihood.hpp"

namespace {

using namespace floplan;

std::vector<runs::Observation> rows_like_the_replication(std::size_t count) {
  const law::Chinchilla<double> truth{1.817, 478, 2143, 0.347, 0.367};
  std::vector<runs::Observation> out;
  RandomStream random(20240415);
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double flop = 1.4e18 * std::pow(1e4, random.uniform());
    const double n = std::sqrt(flop / 120) * std::pow(10.0, 1.4 * random.uniform() - 0.7);
    const double z = std::sqrt(-2 * std::log(random.uniform())) * std::cos(6.283185307179586 * random.uniform());
    const double wild = random.uniform() < 0.02 ? 5 : 1;
    const double d = flop / (6 * n);
    out.push_back({n, d, truth.loss(n, d) * std::exp(0.005 * wild * z), 1, 0});
  }
  return out;
}

fit::ChinchillaOptions with(fit::Loss loss) {
  fit::ChinchillaOptions options;
  options.estimator.loss = loss;
  return options;
}

template <bool with_hessian>
void objective_and_gradient(benchmark::State& state) {
  const auto rows = fit::detail::prepare_rows(rows_like_the_replication(static_cast<std::size_t>(state.range(0))), {});
  fit::detail::Theta theta = fit::detail::to_theta({1.8, 480, 2100, 0.35, 0.37}, rows);
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(theta);
    benchmark::DoNotOptimize(fit::detail::evaluate<with_hessian>(rows.kernel(), fit::Residual::log, theta, 1e-3));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void exact_fit(benchmark::State& state, fit::Loss loss) {
  const auto rows = rows_like_the_replication(static_cast<std::size_t>(state.range(0)));
  while (state.KeepRunning()) benchmark::DoNotOptimize(fit::chinchilla(rows, with(loss)));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void resamples(benchmark::State& state, fit::Loss loss) {
  const auto rows = rows_like_the_replication(240);
  const auto report = fit::chinchilla(rows, with(loss));
  fit::BootstrapOptions options;
  options.resamples = 4000;
  options.threads = static_cast<unsigned>(state.range(0));
  while (state.KeepRunning()) benchmark::DoNotOptimize(fit::bootstrap(rows, report, options));
}

void hoffmann_starts(benchmark::State& state) {
  const auto rows = rows_like_the_replication(240);
  fit::ChinchillaOptions options;
  options.start = fit::StartPolicy::hoffmann_grid;
  options.threads = static_cast<unsigned>(state.range(0));
  while (state.KeepRunning()) benchmark::DoNotOptimize(fit::chinchilla(rows, options));
}

void covariances(benchmark::State& state) {
  const auto rows = rows_like_the_replication(240);
  const auto report = fit::chinchilla(rows, with(fit::Loss::least_squares));
  while (state.KeepRunning()) benchmark::DoNotOptimize(fit::covariance(rows, report));
}

void a_further_run(benchmark::State& state) {
  const auto rows = rows_like_the_replication(240);
  const auto report = fit::chinchilla(rows, with(fit::Loss::huber));
  const auto boot = fit::bootstrap(rows, report);
  const auto noise = fit::run_noise(rows, report);
  while (state.KeepRunning())
    benchmark::DoNotOptimize(fit::predict(boot, noise, report.range, Parameters(70e9), Tokens(1.4e12)));
}

void profiles(benchmark::State& state) {
  const auto rows = rows_like_the_replication(240);
  const auto report = fit::chinchilla(rows, with(fit::Loss::least_squares));
  while (state.KeepRunning())
    benchmark::DoNotOptimize(
        fit::profile_likelihood(rows, report, {.points = static_cast<std::size_t>(state.range(0))}));
}

void coverage_set(benchmark::State& state) {
  const fit::CoverageCase one = fit::reference_cases().front();
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(
        fit::coverage(one.design, one.law, one.noise, one.options, {.sets = 8, .resamples = 400, .threads = 1}));
  }
  state.SetItemsProcessed(state.iterations() * 8);
}

BENCHMARK(objective_and_gradient<false>)->Arg(240);
BENCHMARK(objective_and_gradient<true>)->Arg(240);
BENCHMARK_CAPTURE(exact_fit, huber, fit::Loss::huber)->Arg(240)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(exact_fit, least_squares, fit::Loss::least_squares)->Arg(240)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(exact_fit, least_absolute, fit::Loss::least_absolute_deviations)
    ->Arg(240)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(exact_fit, huber_large, fit::Loss::huber)
    ->Arg(10000)
    ->Arg(100000)
    ->Arg(1000000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(resamples, huber, fit::Loss::huber)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(resamples, least_absolute, fit::Loss::least_absolute_deviations)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(hoffmann_starts)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(covariances)->Unit(benchmark::kMicrosecond);
BENCHMARK(a_further_run)->Unit(benchmark::kMicrosecond);
BENCHMARK(profiles)->Arg(0)->Arg(12)->Unit(benchmark::kMillisecond);
BENCHMARK(coverage_set)->Unit(benchmark::kMillisecond);

}  // namespace
