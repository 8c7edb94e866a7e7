// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/law/critical_batch.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/law/kaplan_steps.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/shared_data.hpp"

namespace {

using namespace floplan;
using law::CriticalBatch;

// batch and steps of runs that reach the same loss
using Trades = std::vector<std::pair<double, double>>;

// Least squares of ln S: at a given Bcrit the best Smin is a mean, so that one search over ln Bcrit is left.
CriticalBatch<> fitted(const Trades& trades) {
  const auto at = [&trades](double log_critical) {
    double mean = 0;
    for (const auto& [batch, steps] : trades)
      mean += (std::log(steps) - std::log1p(std::exp(log_critical) / batch)) / static_cast<double>(trades.size());
    return CriticalBatch<>{std::exp(mean), std::exp(log_critical)};
  };
  // The derivative of the sum of squares in ln Bcrit; Smin's share is zero at its own best.
  const auto slope = [&](double log_critical) {
    const CriticalBatch<> form = at(log_critical);
    double sum = 0;
    for (const auto& [batch, steps] : trades) sum += std::log(form(batch) / steps) / (1 + batch / form.critical_batch);
    return sum;
  };
  double low = std::log(1.0), high = std::log(1e6);
  REQUIRE(slope(low) < 0);
  REQUIRE(slope(high) > 0);
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (slope(middle) < 0 ? low : high) = middle;
  }
  return at((low + high) / 2);
}

}  // namespace

TEST_CASE("steps and tokens trade as (S / Smin - 1) (E / Emin - 1) = 1") {
  const CriticalBatch<> form{1e4, 2e6};
  const double least_tokens = form.least_steps * form.critical_batch;
  for (const double batch : {1e4, 2e6, 3e8}) {
    const double steps = form(batch);
    CHECK((steps / form.least_steps - 1) * (steps * batch / least_tokens - 1) == near(1, 1e-10));
  }
  CHECK(form(2e6) == near(2e4, 1e-15));
  CHECK(form(1e300) == form.least_steps);
  CHECK(form(1e-3) * 1e-3 == near(least_tokens, 1e-8));
}

TEST_CASE("a larger batch takes fewer steps and more tokens") {
  const CriticalBatch<> form{1e4, 2e6};
  CHECK(form(2e6) < form(1e6));
  CHECK(form(2e6) * 2e6 > form(1e6) * 1e6);
}

TEST_CASE("the batch of an overhead takes that many more steps than linear scaling promises") {
  const CriticalBatch<> form{1e4, 2e6};
  for (const double overhead : {0.05, 0.2, 1.0}) {
    const double batch = form.batch_of_overhead(overhead, 1e5);
    CHECK(form(batch) * batch == near((1 + overhead) * form(1e5) * 1e5, 1e-14));
  }
}

TEST_CASE("a planted trade of steps and tokens is recovered from noiseless runs") {
  const CriticalBatch<> planted{1234, 5678};
  Trades trades;
  for (double batch = 64; batch <= 16384; batch *= 2) trades.emplace_back(batch, planted(batch));
  const CriticalBatch<> found = fitted(trades);
  CHECK(found.least_steps == near(planted.least_steps, 1e-9));
  CHECK(found.critical_batch == near(planted.critical_batch, 1e-9));
}

TEST_CASE("Zhang's runs give the published critical batch of every size, and the law through them") {
  const auto table = shared_data::table("cbs_zhang2024.csv");
  if (!table) return;
  std::map<double, Trades> sizes;
  for (const CsvRow row : table->rows()) {
    const auto number = [&](const char* column) { return std::stod(std::string(row[table->column(column)])); };
    sizes[number("N_millions")].emplace_back(number("batch_seqs"), number("steps"));
  }
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  std::map<double, double> critical;
  for (const auto& [millions, trades] : sizes) {
    critical[millions] = fitted(trades).batch_of_overhead(0.2, 256);
    const double log_size = std::log(millions), log_batch = std::log(critical[millions]);
    n += 1, x += log_size, y += log_batch, xx += log_size * log_size, xy += log_size * log_batch;
  }
  for (const reference::Row& row : reference::rows("critical_batch.csv")) {
    if (row.has("size_millions")) reference::check(row, critical.at(row.number("size_millions")));
  }
  const double slope = (n * xy - x * y) / (n * xx - x * x);
  const double prefactor = std::exp((y - slope * x) / n);
  reference::check(reference::row("critical_batch.csv", "exponent"), slope);
  reference::check(reference::row("critical_batch.csv", "prefactor"), prefactor);
  const auto law = std::get<law::Power<>>(catalog::any_law(catalog::Catalog(), "zhang-2024-batch").form);
  CHECK(law.exponents[0] == near(slope, 1e-9));
  CHECK(law.coefficient == near(512 * prefactor, 1e-9));
}

TEST_CASE("a model's loss by steps falls with size and steps, to the loss of convergence") {
  const auto law = std::get<law::KaplanSteps<>>(catalog::any_law(catalog::Catalog(), "kaplan-2020-steps").form);
  CHECK(law(1.01e9, 1e5) < law(1e9, 1e5));
  CHECK(law(1e9, 1.01e5) < law(1e9, 1e5));
  CHECK(law(1e9, 1e300) == near(std::pow(law.parameter_scale / 1e9, law.parameter_exponent), 1e-13));
  // In the unit of each scale, both terms are 1.
  CHECK(law(law.parameter_scale, law.step_scale) == near(2, 1e-15));
}
