// SPDX-License-Identifier: BSD-3-Clause
//
// The best N and D of a surface that has no closed form.
//
//   budget    min over x = ln N of L(x, ln(C / 6) - x)        slope dL/d ln N - dL/d ln D
//   loss      min over x of ln N + ln(D(x) + K), D(x) the fewest tokens that reach the loss with N parameters
//             slope 1 - D / (D + K) (dL/d ln N) / (dL/d ln D)  K: lifetime.hpp, 0 where nothing is served
//
// The curve is walked in steps of an eighth of ln N from 1 parameter to 1 token (or to the most parameters allowed); in
// each cell where the slope turns from falling to rising the turn is bisected on the sign of the exact slope down to the
// last bit, which kinks (repeated data) do not disturb, and the lowest of these basins is the answer.
//
// Agrees with the closed form to 1e-10 (tests). Cost: a budget 0.1 ms, a loss 5 ms.
// Errors: no_answer where the loss falls all the way to one parameter or one token; infeasible for a loss that no N and D
// up to 1e40 reach, or not the N (or D) given.
// Pitfall: two basins closer than an eighth of ln N are seen as one.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/optimum/compute_optimal.hpp"
#include "floplan/optimum/surface.hpp"

namespace floplan::optimum {

namespace detail {

inline constexpr double log_step = 0.125;
inline constexpr double log_most = 92.1;  // 1e40

struct CurvePoint {
  double value = std::numeric_limits<double>::infinity();  // infinite where the curve does not reach
  double slope = std::numeric_limits<double>::quiet_NaN();
};
using Curve = std::function<CurvePoint(double)>;

struct CurveMinimum {
  double x = 0;
  double value = std::numeric_limits<double>::infinity();
  bool low_end = false, high_end = false;
};

// The last double before `after` holds, which does not hold at low and holds at high.
template <class After>
[[nodiscard]] double turn(double low, double high, const After& after) {
  for (int i = 0; i < 200; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (after(middle) ? high : low) = middle;
  }
  return high;
}

// The lowest minimum of the curve between low and high; none where it is nowhere finite.
[[nodiscard]] inline std::optional<CurveMinimum> lowest_minimum(const Curve& curve, double low, double high) {
  const int cells = std::max(8, static_cast<int>(std::ceil((high - low) / log_step)));
  std::optional<CurveMinimum> best;
  const auto offer = [&best](const CurveMinimum& m) {
    if (!best || m.value < best->value) best = m;
  };
  double x = low;
  CurvePoint here = curve(x);
  if (std::isfinite(here.value) && here.slope >= 0) offer({x, here.value, true, false});
  for (int i = 1; i <= cells; ++i) {
    const double next = i == cells ? high : low + (high - low) * i / cells;
    const CurvePoint there = curve(next);
    const bool reached = std::isfinite(here.value), reaches = std::isfinite(there.value);
    if (reached && reaches && here.slope < 0 && there.slope >= 0) {
      const double at = turn(x, next, [&](double t) { return !(curve(t).slope < 0); });
      offer({at, curve(at).value});
    } else if (!reached && reaches && there.slope >= 0) {  // between a wall and here
      const double at = turn(x, next, [&](double t) {
        const CurvePoint p = curve(t);
        return std::isfinite(p.value) && p.slope >= 0;
      });
      offer({at, curve(at).value});
    } else if (reached && !reaches && here.slope < 0) {
      const double at = turn(x, next, [&](double t) {
        const CurvePoint p = curve(t);
        return !std::isfinite(p.value) || p.slope >= 0;
      });
      const CurvePoint p = curve(at);
      if (std::isfinite(p.value)) offer({at, p.value});
    }
    x = next;
    here = there;
  }
  if (std::isfinite(here.value) && here.slope < 0) {
    const CurveMinimum end{x, here.value, false, true};
    if (!best || end.value < best->value) best = end;
  }
  return best;
}

// The least x from 0 at which a loss that falls with x is reached. Where it rises again far out (quantisation after
// training), the first crossing.
template <class Loss>
[[nodiscard]] std::optional<double> first_reaching(const Loss& loss_at, double loss) {
  const auto reached = [&](double x) { return loss_at(x) <= loss; };
  if (reached(0)) return 0.0;
  if (reached(log_most)) return turn(0, log_most, reached);
  for (double x = 0; x < log_most; x += log_step) {
    if (reached(x + log_step)) return turn(x, x + log_step, reached);
  }
  return std::nullopt;
}

[[nodiscard]] inline std::optional<double> log_tokens_reaching(const Surface& s, double log_n, double loss) {
  return first_reaching([&](double u) { return s.at(log_n, u).loss; }, loss);
}

[[nodiscard]] inline double share_of(const Surface& s, double flop) { return flop / (6 * s.active_share); }

}  // namespace detail

// The loss that no N and D go below: the irreducible one, or what they reach at 1e40 each.
[[nodiscard]] inline double lowest_loss(const Surface& s) {
  return s.section ? s.section->irreducible_loss : s.at(detail::log_most, detail::log_most).loss;
}

// most: no more parameters than these.
[[nodiscard]] inline Split numeric_for_budget(const Surface& s, Flop budget,
                                              std::optional<Parameters> most = std::nullopt) {
  detail::require_positive(budget.value, "the budget", print(budget));
  const double log_product = std::log(detail::share_of(s, budget.value));
  if (!(log_product > 0)) {
    throw Error(Failure::usage, "out_of_range", "optimum",
                "the budget must pay for one parameter on one token, got " + print(budget));
  }
  const bool capped = most && std::log(most->value) < log_product;
  const double high = capped ? std::max(0.0, std::log(most->value)) : log_product;
  const detail::Curve curve = [&](double x) {
    const SurfacePoint p = s.at(x, log_product - x);
    return detail::CurvePoint{p.loss, p.by_parameters - p.by_tokens};
  };
  const auto best = detail::lowest_minimum(curve, 0, high);
  if (best && capped && best->high_end) return {*most, Tokens(std::exp(log_product) / most->value)};
  if (!best || best->low_end || best->high_end) {
    throw Error(Failure::no_answer, "no_optimum", "optimum",
                s.name + " has no best split of " + print(budget, 4) + ": its loss falls all the way to one " +
                    (best && best->high_end ? "token" : "parameter"));
  }
  return {Parameters(std::exp(best->x)), Tokens(std::exp(log_product - best->x))};
}

// The fewest tokens with which n parameters reach the loss.
[[nodiscard]] inline Tokens numeric_tokens_for_loss(const Surface& s, Parameters n, double loss) {
  detail::require_positive(n.value, "parameters", print(n));
  detail::require_positive(loss, "the loss", print_number(loss, 6));
  const double log_n = std::log(n.value);
  if (const auto found = detail::log_tokens_reaching(s, log_n, loss)) return Tokens(std::exp(*found));
  throw Error(Failure::infeasible, "too_few_parameters", "optimum",
              print(n, 4) + " parameters stay above a loss of " + print_number(s.at(log_n, detail::log_most).loss, 6) +
                  " on any number of tokens, got " + print_number(loss, 6));
}

// The fewest parameters that reach the loss on d tokens.
[[nodiscard]] inline Parameters numeric_parameters_for_loss(const Surface& s, Tokens d, double loss) {
  detail::require_positive(d.value, "tokens", print(d));
  detail::require_positive(loss, "the loss", print_number(loss, 6));
  const double log_d = std::log(d.value);
  if (const auto found = detail::first_reaching([&](double x) { return s.at(x, log_d).loss; }, loss))
    return Parameters(std::exp(*found));
  throw Error(Failure::infeasible, "too_few_tokens", "optimum",
              print(d, 4) + " tokens stay above a loss of " + print_number(s.at(detail::log_most, log_d).loss, 6) +
                  " with any number of parameters, got " + print_number(loss, 6));
}

// The least training and serving that reaches the loss; equivalent_tokens: K.
[[nodiscard]] inline Split numeric_for_loss(const Surface& s, double loss, double equivalent_tokens = 0,
                                            std::optional<Parameters> most = std::nullopt) {
  detail::require_positive(loss, "the loss", print_number(loss, 6));
  const detail::Curve curve = [&](double x) {
    const auto u = detail::log_tokens_reaching(s, x, loss);
    if (!u) return detail::CurvePoint{};
    const double d = std::exp(*u);
    const SurfacePoint p = s.at(x, *u);
    return detail::CurvePoint{x + std::log(d + equivalent_tokens),
                              1 - d / (d + equivalent_tokens) * p.by_parameters / p.by_tokens};
  };
  const double high = most ? std::clamp(std::log(most->value), 0.0, detail::log_most) : detail::log_most;
  const auto best = detail::lowest_minimum(curve, 0, high);
  if (!best) {
    const double floor = lowest_loss(s);
    if (loss > floor && most) (void)numeric_tokens_for_loss(s, *most, loss);  // says what they reach
    throw Error(Failure::infeasible, "below_irreducible_loss", "optimum",
                "the loss must be above the " + print_number(floor, 6) + " of " + s.name +
                    ", which no budget reaches, got " + print_number(loss, 6) + ", " + print_number(floor - loss, 3) +
                    " too low");
  }
  if (best->low_end || (best->high_end && !most)) {
    throw Error(Failure::no_answer, "no_optimum", "optimum",
                s.name + " has no cheapest way to a loss of " + print_number(loss, 6));
  }
  const double x = best->high_end ? std::log(most->value) : best->x;
  return {best->high_end ? *most : Parameters(std::exp(x)), Tokens(std::exp(*detail::log_tokens_reaching(s, x, loss)))};
}

}  // namespace floplan::optimum
