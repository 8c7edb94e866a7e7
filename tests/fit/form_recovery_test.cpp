// SPDX-License-Identifier: BSD-3-Clause
//
// Planted recovery, for every form that floplan knows: runs simulated from a law of the catalog are fitted again.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/core/random.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/covariance.hpp"
#include "floplan/fit/form_fit.hpp"
#include "floplan/fit/form_uncertainty.hpp"
#include "floplan/law/any_form.hpp"

namespace {

using namespace floplan;

struct Range {
  double low, high;
};

// Where runs of each input usually lie, for laws that do not say where they were fitted.
Range usual(law::Input input) {
  switch (input) {
    case law::Input::parameters:
    case law::Input::active_parameters: return {1e7, 1e10};
    case law::Input::tokens: return {1e9, 1e12};
    case law::Input::unique_tokens: return {1e9, 1e11};
    case law::Input::flop: return {1e17, 1e22};
    case law::Input::steps: return {1e3, 1e5};
    case law::Input::batch: return {1e5, 1e7};
    case law::Input::loss: return {1.5, 4};
    case law::Input::experts: return {2, 128};
    case law::Input::granularity: return {1, 16};
    case law::Input::sparsity: return {0, 0.98};
    case law::Input::weight_sparsity: return {0, 0.9};
    case law::Input::activation_ratio: return {0.01, 1};
    case law::Input::shared_share: return {0, 0.5};
    case law::Input::weight_bits:
    case law::Input::activation_bits:
    case law::Input::kv_bits: return {3, 16};
    case law::Input::exponent_bits: return {1, 5};
    case law::Input::mantissa_bits: return {1, 7};
    case law::Input::block_size: return {16, 512};
    case law::Input::group_size: return {32, 1024};
    case law::Input::vocabulary_parameters: return {1e6, 1e9};
    case law::Input::characters: return {1e9, 1e12};
  }
  return {1, 2};
}

Range range_of(const law::AnyLaw& law, law::Input input) {
  const Range other = usual(input);
  const auto of = [&](std::optional<double> low, std::optional<double> high) {
    return Range{low.value_or(other.low), high.value_or(other.high)};
  };
  if (input == law::Input::flop) return of(law.range.flop_low, law.range.flop_high);
  if (input == law::Input::tokens) return of(law.range.tokens_low, law.range.tokens_high);
  if (input == law::Input::parameters) return of(law.range.parameters_low, law.range.parameters_high);
  for (const law::InputRange& r : law.range.others) {
    if (r.input == input) return of(r.low, r.high);
  }
  // Both ends of a sigmoid must be seen.
  if (const auto* sigmoid = std::get_if<law::Sigmoid<>>(&law.form))
    return {std::max(0.01, sigmoid->midpoint - 4 / sigmoid->steepness), sigmoid->midpoint + 4 / sigmoid->steepness};
  return other;
}

// A loss less a unigram model's is mostly negative, and has no logarithm.
bool positive(const law::AnyLaw& law) { return law::name_of(law.form) != "vocabulary"; }

double residual(const law::AnyLaw& law, double predicted, double observed) {
  return positive(law) ? std::log(predicted / observed) : predicted - observed;
}

std::vector<fit::FormRow> simulated(const law::AnyLaw& law, std::size_t count, double sd, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<fit::FormRow> out;
  const auto inputs = law::inputs(law.form);
  for (int tries = 0; out.size() < count && tries < 100000; ++tries) {
    fit::FormRow row;
    for (const law::Input input : inputs) {
      const Range range = range_of(law, input);
      const double u = random.uniform();
      row.inputs.push_back(range.low > 0 ? range.low * std::pow(range.high / range.low, u)
                                         : range.low + u * (range.high - range.low));
    }
    if (!law::refusal(law.form, row.inputs).empty()) continue;
    const double noise = std::sqrt(-2 * std::log(random.uniform())) * std::cos(6.283185307179586 * random.uniform());
    const double value = law::evaluate(law.form, std::span<const double>(row.inputs));
    row.output = positive(law) ? value * std::exp(sd * noise) : value + sd * noise;
    if (row.output > 0 || !positive(law)) out.push_back(std::move(row));
  }
  REQUIRE(out.size() == count);
  return out;
}

fit::FormModel model_of(const law::AnyForm& form) {
  if (const auto* power = std::get_if<law::Power<>>(&form)) return fit::power_model(power->arguments, power->output);
  return fit::form_model(law::name_of(form));
}

}  // namespace

TEST_CASE("every form's planted law is recovered from runs without noise, and within noise from others") {
  std::set<std::string> seen;
  for (const law::AnyLaw& law : catalog::any_laws(catalog::Catalog())) {
    const std::string form(law::name_of(law.form));
    if (!seen.insert(form).second) continue;
    CAPTURE(law.name);
    const fit::FormModel model = model_of(law.form);
    fit::FormOptions options;
    options.estimator = {positive(law) ? fit::Residual::log : fit::Residual::raw, fit::Loss::least_squares, 1e-3};
    options.threads = 0;
    const auto rows = simulated(law, 120, 0, 1);
    const auto exact = fit::fit_form(model, rows, options);
    CAPTURE(exact.describe());
    // What is recovered is the law: its value at runs that were not fitted.
    double farthest = 0;
    for (const fit::FormRow& row : simulated(law, 40, 0, 2)) {
      const double found = model.value(exact.coefficients.data(), row.inputs.data(), nullptr);
      farthest = std::max(farthest, std::abs(residual(law, found, row.output)));
    }
    CHECK(farthest < 1e-6);

    const double sd = 0.005;
    const auto noisy_rows = simulated(law, 120, sd, 3);
    const auto noisy = fit::fit_form(model, noisy_rows, options);
    CAPTURE(noisy.describe());
    CHECK(noisy.residual_sd > 0.75 * sd);
    CHECK(noisy.residual_sd < 1.25 * sd);
    // A law of p coefficients from n runs is off by sd sqrt(p / n) on average; thrice that is far.
    double squares = 0;
    const auto fresh = simulated(law, 40, 0, 4);
    for (const fit::FormRow& row : fresh) {
      const double found = model.value(noisy.coefficients.data(), row.inputs.data(), nullptr);
      squares += std::pow(residual(law, found, row.output), 2);
    }
    const double expected = sd * std::sqrt(static_cast<double>(noisy.free_coefficients) / 120);
    CHECK(std::sqrt(squares / 40) < 3 * expected);
  }
  MESSAGE(seen.size() << " forms");
}

TEST_CASE("bootstrap and sandwich of any form agree on well-posed runs, and are the same at any thread count") {
  const law::AnyLaw law = catalog::any_law(catalog::Catalog(), "kaplan-2020");
  const auto rows = simulated(law, 150, 0.01, 5);
  fit::FormOptions options;
  options.estimator.loss = fit::Loss::least_squares;
  const auto report = fit::fit_form(fit::form_model("kaplan"), rows, options);
  const auto one = fit::bootstrap_form(rows, report, {.resamples = 300, .seed = 7, .threads = 1});
  const auto three = fit::bootstrap_form(rows, report, {.resamples = 300, .seed = 7, .threads = 3});
  CHECK(one.available);
  CHECK(one.laws == three.laws);
  const auto covariance = fit::covariance_form(rows, report);
  REQUIRE(covariance.available);
  for (std::size_t k = 0; k < report.coefficients.size(); ++k) {
    const Estimate boot = fit::estimate(one, [k](const std::vector<double>& c) { return c[k]; });
    const Estimate sandwich = fit::estimate(report, covariance, covariance.sandwich, k);
    const Estimate alike = fit::estimate(report, covariance, covariance.inverse_hessian, k);
    CAPTURE(report.model.coefficients[k].name);
    CHECK(boot.value == report.coefficients[k]);
    CHECK(boot.interval.low < boot.value);
    CHECK(boot.interval.high > boot.value);
    CHECK(sandwich.standard_error == doctest::Approx(boot.standard_error).epsilon(0.3));
    CHECK(alike.standard_error == doctest::Approx(sandwich.standard_error).epsilon(0.3));
  }
}

TEST_CASE("the bootstrap and sandwich of any form are those of the Chinchilla form's own path") {
  const law::AnyLaw law = catalog::any_law(catalog::Catalog(), "besiroglu-2024");
  const auto rows = simulated(law, 120, 0.01, 6);
  std::vector<runs::Observation> observations;
  for (const fit::FormRow& row : rows) observations.push_back({row.inputs[0], row.inputs[1], row.output, 1, 0});
  const fit::Estimator estimator{fit::Residual::log, fit::Loss::huber, 0.01};
  fit::ChinchillaOptions own;
  own.estimator = estimator;
  fit::FormOptions any;
  any.estimator = estimator;
  const auto ours = fit::chinchilla(observations, own);
  const auto theirs = fit::fit_form(fit::form_model("chinchilla"), rows, any);
  const auto c = fit::covariance(observations, ours);
  const auto d = fit::covariance_form(rows, theirs);
  REQUIRE(c.available);
  REQUIRE(d.available);
  // ours is of ln A, ln B, ln E, alpha, beta; theirs of E, ln A, ln B, ln alpha, ln beta.
  CHECK(std::sqrt(d.sandwich[1][1]) == doctest::Approx(std::sqrt(c.sandwich[0][0])).epsilon(1e-4));
  CHECK(std::sqrt(d.inverse_hessian[2][2]) == doctest::Approx(std::sqrt(c.inverse_hessian[1][1])).epsilon(1e-4));
  CHECK(std::sqrt(d.sandwich[3][3]) * ours.law.parameter_exponent ==
        doctest::Approx(std::sqrt(c.sandwich[3][3])).epsilon(1e-4));
  const auto a = fit::bootstrap(observations, ours, {.resamples = 200, .seed = 3});
  const auto b = fit::bootstrap_form(rows, theirs, {.resamples = 200, .seed = 3});
  const Estimate alpha = fit::estimate(a, [](const law::Chinchilla<>& l) { return l.parameter_exponent; });
  const Estimate same = fit::estimate(b, [](const std::vector<double>& l) { return l[3]; });
  CHECK(b.available);
  CHECK(same.standard_error == doctest::Approx(alpha.standard_error).epsilon(0.15));
}

TEST_CASE("a bootstrap of any form without freedom, or of few resamples, has no interval and says so") {
  const law::AnyLaw law = catalog::any_law(catalog::Catalog(), "kaplan-2020");
  const auto rows = simulated(law, 40, 0.01, 8);
  const auto report = fit::fit_form(fit::form_model("kaplan"), rows);
  const auto few = fit::bootstrap_form(rows, report, {.resamples = fit::fewest_replicates - 1});
  CHECK_FALSE(few.available);
  REQUIRE(few.warnings.size() == 1);
  CHECK(few.warnings[0].code == "interval_not_available");
  const std::vector<fit::FormRow> four(rows.begin(), rows.begin() + 4);
  const auto tight = fit::fit_form(fit::form_model("kaplan"), four);
  CHECK(tight.degrees_of_freedom == 0);
  CHECK_FALSE(fit::bootstrap_form(four, tight).available);
  CHECK_FALSE(fit::covariance_form(four, tight).available);
}
