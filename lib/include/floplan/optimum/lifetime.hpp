// SPDX-License-Identifier: BSD-3-Clause
//
// Which N and D reach a loss for the least, when the model will also serve?
//
//   FLOP:     minimise 6 N D + 2 N T                                    T tokens of a lifetime, in and out
//   dollars:  minimise 6 N D p_train + 2 N (T_in p_in + T_out p_out)    p in USD a useful FLOP
//
// Both are N (D + K) up to a factor, with K = T / 3, or K = (T_in p_in + T_out p_out) / (3 p_train). Under L(N, D) = loss
//
//   alpha A / N^alpha = beta B / D^beta (1 + K / D)
//
// leaves one equation in u = ln D, convex and falling: ln B - beta u + ln(1 + r + r K e^-u) = ln(loss - E), r = beta / alpha.
// Newton's method from the compute-optimal D (K = 0) climbs to the root without ever passing it. N follows from the
// condition, without a difference of nearly equal numbers.
//
// Source: Sardana et al. 2024 (arXiv 2401.00448), equations 1 and 2. Cost: 0.3 microseconds.
// Errors: those of compute_optimal.hpp; usage for tokens or prices that are negative or not finite.
// Pitfall: the answer leans on the law more than on T: 13B quality and 2T tokens save 10% by Hoffmann's rounded
// coefficients, 16% by the precise ones, 29% by the replication's. Compare laws.
#pragma once

#include <algorithm>
#include <cmath>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/optimum/compute_optimal.hpp"

namespace floplan::optimum {

// USD a useful FLOP.
struct FlopPrices {
  double training = 1;
  double input = 1;
  double output = 1;
};

// utilisation: useful FLOP over peak FLOP (MFU), between 0 and 1.
[[nodiscard]] inline double usd_per_flop(DollarsPerHour accelerator_hour, FlopPerSecond peak, Fraction utilisation) {
  detail::require_positive(accelerator_hour.value, "the price", print(accelerator_hour));
  detail::require_positive(peak.value, "the peak", print(peak));
  if (!(utilisation.value > 0 && utilisation.value <= 1)) {
    throw Error(Failure::usage, "out_of_range", "optimum",
                "the utilisation must be above 0 and at most 1, got " + print(utilisation));
  }
  return accelerator_hour.value / seconds_per_hour / (peak.value * utilisation.value);
}

// What a model serves in its life, and what that costs. Without prices a FLOP is a FLOP.
struct Demand {
  Tokens input;
  Tokens output;
  FlopPrices prices;

  // K: training tokens that cost as much per parameter as the serving does.
  [[nodiscard]] double equivalent_tokens() const {
    const double cost = input.value * prices.input + output.value * prices.output;
    return cost == 0 ? 0 : cost / (3 * prices.training);
  }
  [[nodiscard]] double training_cost(const Split& s) const { return s.training_flop().value * prices.training; }
  [[nodiscard]] double serving_cost(const Split& s) const {
    return 2 * s.parameters.value * (input.value * prices.input + output.value * prices.output);
  }
  [[nodiscard]] Flop serving_flop(const Split& s) const {
    return Flop(2 * s.parameters.value * (input.value + output.value));
  }
};

namespace detail {

inline void check(const Demand& demand) {
  const auto not_negative = [](double value, const char* what) {
    if (value >= 0 && std::isfinite(value)) return;
    throw Error(Failure::usage, "out_of_range", "optimum",
                std::string(what) + " must be zero or positive, and finite, got " + print_number(value, 6));
  };
  not_negative(demand.input.value, "input tokens");
  not_negative(demand.output.value, "output tokens");
  not_negative(demand.prices.input, "the price of input");
  not_negative(demand.prices.output, "the price of output");
  require_positive(demand.prices.training, "the price of training", print_number(demand.prices.training, 6));
  require_positive(1 + demand.equivalent_tokens(), "the serving's cost over the training's",
                   print_number(demand.equivalent_tokens(), 6));
}

}  // namespace detail

[[nodiscard]] inline Split for_lifetime(const law::Chinchilla<double>& law, double loss, const Demand& demand) {
  detail::check(demand);
  const Split start = for_loss(law, loss);
  const double k = demand.equivalent_tokens();
  if (k == 0) return start;
  const double ratio = law.token_exponent / law.parameter_exponent;
  const double target = std::log(law.token_coefficient / (loss - law.irreducible_loss));
  double u = std::log(start.tokens.value);
  for (int i = 0; i < 200; ++i) {
    const double serving = ratio * k * std::exp(-u);
    const double value = target - law.token_exponent * u + std::log(1 + ratio + serving);
    const double step = value / (law.token_exponent + serving / (1 + ratio + serving));
    u += step;
    if (std::abs(step) <= 1e-15 * std::max(1.0, std::abs(u))) break;
  }
  const double d = std::exp(u);
  const double parameter_term = ratio * law.token_coefficient * std::exp(-law.token_exponent * u) * (1 + k / d);
  return {Parameters(std::pow(law.parameter_coefficient / parameter_term, 1 / law.parameter_exponent)), Tokens(d)};
}

}  // namespace floplan::optimum
