// SPDX-License-Identifier: BSD-3-Clause
//
// At which value of one input does a law give a value that is wanted? A loss, a batch, an accuracy turned round.
//
//   const std::array at = {70e9, 0.0};                           D is sought, its place is free
//   inverse(form, Input::tokens, at, 1.95)                       tokens after which 70e9 parameters reach a loss of 1.95
//
// The input is looked for in the range that such a quantity can have (input.hpp), by its logarithm where that range spans
// decades, to the last digits (Boost's TOMS 748). Every form that is monotone in the input has at most one answer; absent
// where the value is out of reach.
//
// Errors: usage for a law that does not take the input, and for a law that is not monotone in it between the ends of the
// range: a precision law of bits where it is undefined, say, or an unbounded repetition.
// Cost: some 20 evaluations, a microsecond. Pitfall: the answer may lie far outside what the law was fitted on.
#pragma once

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/any_form.hpp"

namespace floplan::law {

// values: one for each of the form's inputs; what stands for `sought` is not read.
[[nodiscard]] inline std::optional<double> inverse(const AnyForm& form, Input sought, std::span<const double> values,
                                                   double wanted) {
  const std::span<const Input> all = inputs(form);
  const auto place = static_cast<std::size_t>(std::find(all.begin(), all.end(), sought) - all.begin());
  if (place == all.size() || values.size() != all.size()) {
    throw Error(Failure::usage, "not_an_input", "inverse",
                std::string("the law must take ") + info(sought).key + ", and a value for each of its inputs");
  }
  const InputInfo& range = info(sought);
  const bool logarithmic = range.low > 0 && range.high >= 100 * range.low;
  const auto position = [&](double x) { return logarithmic ? std::log(x) : x; };
  const auto at = [&](double p) { return std::clamp(logarithmic ? std::exp(p) : p, range.low, range.high); };
  std::vector<double> point(values.begin(), values.end());
  const auto excess = [&](double p) {
    point[place] = at(p);
    return evaluate(form, point) - wanted;
  };
  // A coarse look at the whole range shows whether the law is monotone there, and where it crosses the value.
  constexpr int steps = 64;
  const double low = position(range.low), high = position(range.high);
  std::optional<double> before, after;  // around the crossing
  double last = excess(low);
  int direction = 0;
  for (int i = 1; i <= steps; ++i) {
    const double p = low + (high - low) * i / steps;
    const double now = excess(p);
    const double change = now - last;
    const int sign = std::isfinite(change) && std::abs(change) > 1e-12 * (std::abs(wanted) + std::abs(now))
                         ? (change > 0 ? 1 : -1)
                         : 0;
    if (!std::isfinite(now) || (direction != 0 && sign == -direction)) {
      throw Error(Failure::usage, "not_monotone", "inverse",
                  "the law must rise or fall in " + std::string(range.key) + " all the way from " +
                      print_number(range.low, 6) + " to " + print_number(range.high, 6));
    }
    if (sign != 0) direction = sign;
    if (!before && std::signbit(last) != std::signbit(now)) {
      before = low + (high - low) * (i - 1) / steps;
      after = p;
    }
    last = now;
  }
  if (!before) return std::nullopt;
  std::uintmax_t evaluations = 200;
  const auto [left, right] = boost::math::tools::toms748_solve(
      excess, *before, *after, boost::math::tools::eps_tolerance<double>(52), evaluations);
  return at(left + (right - left) / 2);
}

}  // namespace floplan::law
