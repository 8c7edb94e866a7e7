// SPDX-License-Identifier: BSD-3-Clause
//
// What does a law of any form say about one run, how sure is it, and what follows from its loss?
//
//   const double run[] = {8e9, 15e12, 5e12};                                        in the order of law::inputs(form)
//   const Forecast f = fit::forecast(catalog, fit::find_any_law("muennighoff-2023", "--law", catalog), run);
//   f.value, f.estimate, f.new_run, f.outside, f.downstream
//
//   estimate     the value and its bias-corrected interval, of a law that comes with resamples (a fit's file)
//   new run      the interval of one further run with its noise (prediction.hpp), of a law of a loss with residuals
//   downstream   accuracy or error at that loss, by the companions of the law ("bhagia-2024-piqa-accuracy")
//
// Cost: microseconds, and one evaluation a resample. Errors: usage for values that the inputs cannot have.
// Pitfall: an interval knows how far the coefficients may be off, not whether the form holds: read `outside` with it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/core/distribution.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/prediction.hpp"
#include "floplan/law/any_form.hpp"

namespace floplan::fit {

struct Downstream {
  law::AnyLaw law;
  double value = 0;
  std::vector<law::Outside> outside;
};

struct Forecast {
  law::Output output = law::Output::loss;
  double value = 0;
  std::optional<law::LossTerms<double>> terms;  // of a form E + A / N^alpha + B / D^beta in N and D
  std::optional<Estimate> estimate;
  std::optional<Interval> new_run;
  std::vector<law::Outside> outside;
  bool range_known = true;  // whether an end of the range of any input is known
  std::vector<Downstream> downstream;

  [[nodiscard]] double extrapolation_decades() const {
    double out = 0;
    for (const law::Outside& o : outside) out = std::max(out, o.decades);
    return out;
  }
};

namespace detail {

// The three terms at N and D, once every other input is given; absent for forms that are not of three terms.
[[nodiscard]] inline std::optional<law::LossTerms<double>> terms_of(const law::AnyForm& form,
                                                                    std::span<const double> values) {
  const auto section = law::section(form, values);
  if (!section) return std::nullopt;
  const std::span<const law::Input> inputs = law::inputs(form);
  double n = 0, d = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == law::Input::tokens) {
      d = values[i];
    } else if (inputs[i] == law::Input::parameters || inputs[i] == law::Input::active_parameters) {
      n = values[i];
    }
  }
  return section->terms(n, d);
}

}  // namespace detail

// What follows from a loss, by the companions of the law that reached it.
[[nodiscard]] inline std::vector<Downstream> downstream(const catalog::Catalog& catalog, const law::AnyLaw& law,
                                                        double loss) {
  std::vector<Downstream> out;
  const std::array values = {loss};
  const std::vector<law::AnyLaw> laws = catalog::any_laws(catalog);
  for (const char* kind : {"accuracy", "error"}) {
    std::optional<law::AnyLaw> companion = catalog::companion(laws, law, kind);
    // A companion that refuses the loss has nothing to say of it: an error rate below zero, say.
    if (!companion || !law::refusal(companion->form, values).empty()) continue;
    const double value = law::evaluate(companion->form, values);
    std::vector<law::Outside> outside = law::outside(companion->range, law::inputs(companion->form), values);
    out.push_back({std::move(*companion), value, std::move(outside)});
  }
  return out;
}

// values: one for each of the law's inputs, in their order.
[[nodiscard]] inline Forecast forecast(const catalog::Catalog& catalog, const law::AnyLaw& law,
                                       std::span<const double> values, double level = 0.9) {
  law::check(law.form, values, law.name);
  Forecast out;
  out.output = law::output(law.form);
  out.value = law::evaluate(law.form, values);
  if (!std::isfinite(out.value) || (law::is_share(out.output) && !(out.value >= 0 && out.value <= 1))) {
    throw Error(Failure::no_answer, "impossible_value", law.name,
                "gives " + std::string(law::info(out.output).key) + " " + print_number(out.value, 5) +
                    ", which cannot be: it is asked far outside where it holds");
  }
  out.terms = detail::terms_of(law.form, values);
  out.outside = law::outside(law.range, law::inputs(law.form), values);
  out.range_known = law::knows_range(law.range, law::inputs(law.form));
  if (law.replicates.size() >= fewest_replicates) {
    std::vector<double> draws;
    draws.reserve(law.replicates.size());
    for (const law::AnyForm& form : law.replicates) draws.push_back(law::evaluate(form, values));
    out.estimate = estimate_of_draws(draws, out.value, level);
    if (out.output == law::Output::loss && !law.residuals.empty()) {
      for (double& draw : draws) draw = std::log(draw);
      draws = bias_corrected_draws(std::move(draws), std::log(out.value));
      const Interval log_loss = detail::interval_of_sums(draws, law.residuals, level);
      out.new_run = {std::exp(log_loss.low), std::exp(log_loss.high), level};
    }
  }
  if (out.output == law::Output::loss) out.downstream = downstream(catalog, law, out.value);
  return out;
}

}  // namespace floplan::fit
