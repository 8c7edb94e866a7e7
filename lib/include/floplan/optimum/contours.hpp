// SPDX-License-Identifier: BSD-3-Clause
//
// How a law looks from above: lines of equal loss, lines of equal FLOP, and the efficient frontier that touches both.
//
//   iso_loss(s, 2.0)           points N, D(N) with that loss, around its cheapest point
//   iso_flop(s, Flop(1e24))    points N, D = C / 6N with their losses, around the best of them
//   frontier(s, low, high)     N*(C), D*(C), L*(C)
//
// On the frontier the two lines are tangent: the cheapest point of a line of equal loss is the best point of the line of
// equal FLOP through it. Points are evenly spaced in ln N; those of an iso-loss line that no tokens reach are left out.
//
// Source: Hoffmann et al. 2022 (arXiv 2203.15556), figure 4. Cost: of a law without a closed form some 10 ms a line.
// Errors: those of choose.hpp; usage for fewer than two points or an empty span.
// Pitfall: a line is drawn wherever the law can be evaluated, far outside the runs that it was fitted on too.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/optimum/choose.hpp"
#include "floplan/optimum/surface.hpp"

namespace floplan::optimum {

struct ContourPoint {
  Split split;
  Flop training_flop;
  double loss = 0;
};

struct ContourOptions {
  double span = 30;         // from 1 / span of the best N to span times it
  std::size_t points = 61;  // of a line
};

struct Contour {
  ContourPoint best;                 // on the frontier
  std::vector<ContourPoint> points;  // by ascending N
};

namespace detail {

inline void check(const ContourOptions& o) {
  if (o.points >= 2 && o.span > 1 && std::isfinite(o.span)) return;
  throw Error(Failure::usage, "out_of_range", "contours",
              "needs two points or more and a span above 1, got " + std::to_string(o.points) + " and " +
                  print_number(o.span, 6));
}

[[nodiscard]] inline ContourPoint contour_point(const Surface& s, const Split& split) {
  return {split, split.training_flop() * s.active_share, loss_of(s, split)};
}

template <class Tokens_of>
[[nodiscard]] Contour contour(const Surface& s, const Split& best, const ContourOptions& o,
                              const Tokens_of& tokens_of) {
  check(o);
  Contour out{contour_point(s, best), {}};
  for (std::size_t i = 0; i < o.points; ++i) {
    const double place = 2 * static_cast<double>(i) / static_cast<double>(o.points - 1) - 1;  // -1 to 1
    const Parameters n = best.parameters * std::pow(o.span, place);
    if (const auto d = tokens_of(n)) out.points.push_back(contour_point(s, {n, *d}));
  }
  return out;
}

}  // namespace detail

[[nodiscard]] inline Contour iso_flop(const Surface& s, Flop budget, const ContourOptions& o = {}) {
  return detail::contour(s, for_budget(s, budget), o, [&](Parameters n) {
    return std::optional(Tokens(budget.value / (6 * s.active_share * n.value)));
  });
}

[[nodiscard]] inline Contour iso_loss(const Surface& s, double loss, const ContourOptions& o = {}) {
  return detail::contour(s, for_loss(s, loss), o, [&](Parameters n) -> std::optional<Tokens> {
    try {
      return tokens_for_loss(s, n, loss);
    } catch (const Error& error) {
      if (error.failure() != Failure::infeasible) throw;
      return std::nullopt;
    }
  });
}

// budgets evenly spaced in ln C, both ends included.
[[nodiscard]] inline std::vector<ContourPoint> frontier(const Surface& s, Flop low, Flop high,
                                                        std::size_t budgets = 25) {
  detail::require_positive(low.value, "the lowest budget", print(low));
  if (!(high > low) || budgets < 2 || !std::isfinite(high.value)) {
    throw Error(Failure::usage, "out_of_range", "frontier",
                "needs two budgets or more, from a low one to a higher one, got " + print(low) + " and " + print(high));
  }
  std::vector<ContourPoint> out;
  for (std::size_t i = 0; i < budgets; ++i) {
    const double place = static_cast<double>(i) / static_cast<double>(budgets - 1);
    const Flop budget(low.value * std::pow(high / low, place));
    out.push_back(detail::contour_point(s, for_budget(s, budget)));
  }
  return out;
}

}  // namespace floplan::optimum
