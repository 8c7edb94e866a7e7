// SPDX-License-Identifier: BSD-3-Clause
//
// Which runs belong to one compute budget?
//
//   const auto groups = fit::group_by_budget(rows);                               budgets found from C = 6 N D
//   const auto groups = fit::group_by_budget(rows, flop, {.nominal = {1e19, 3e19}})     given C, given budgets
//
// With nominal budgets a run joins the nearest one (in ln C) if C is within a factor 1 + tolerance of it. Without, runs
// sorted by C are cut where two neighbours differ by more than that factor; from the lowest C on, a group that would be
// wider than the factor squared is cut at its widest gap, so that runs that drift from one budget to the next are not
// chained together. A found budget is the geometric mean of its runs' C.
//
// Holds: N, D, loss positive and finite (Error(data) names the row); rows of weight 0 are left out.
//
// Pitfall: runs whose C differ by 10% differ in their best loss by about 1.8% of L - E for that reason alone (it falls
// with the exponent alpha beta / (alpha + beta), near .18), which can be more than the curve rises near its minimum.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/detail/chinchilla_rows.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit {

// The runs of one nominal budget.
struct BudgetRuns {
  double flop = 0;
  std::vector<runs::Observation> rows;
};

struct GroupOptions {
  double tolerance = 0.1;            // jitter: C within a factor 1 + tolerance of the budget
  std::vector<double> nominal = {};  // budgets in FLOP; empty: found from the runs
};

struct BudgetGroups {
  std::vector<BudgetRuns> budgets;    // by rising budget; rows in the caller's order
  std::vector<std::size_t> left_out;  // caller's rows that are near no nominal budget
  double largest_jitter = 0;          // the largest |C / budget - 1| in a group

  [[nodiscard]] std::string describe() const {
    std::size_t runs = 0;
    for (const BudgetRuns& budget : budgets) runs += budget.rows.size();
    std::string out = std::to_string(runs) + " runs in " + std::to_string(budgets.size()) + " budgets, C within " +
                      print_number(100 * largest_jitter, 2) + "% of them";
    if (!left_out.empty()) out += "; " + std::to_string(left_out.size()) + " runs near no budget left out";
    return out;
  }
};

namespace detail {

// Ends of the groups in sorted ln C, in rising order.
[[nodiscard]] inline std::vector<std::size_t> budget_ends(std::span<const double> log_flop, double reach) {
  std::vector<std::size_t> ends;
  // Rounding must not cut a budget whose jitter is the tolerance itself.
  const double slack = 1e-9;
  for (std::size_t begin = 0; begin < log_flop.size();) {
    std::size_t end = begin + 1;
    std::size_t cut = end;
    double widest = -1;
    for (; end < log_flop.size(); ++end) {
      const double step = log_flop[end] - log_flop[end - 1];
      if (step >= widest) {
        widest = step;
        cut = end;
      }
      if (step > reach + slack || log_flop[end] - log_flop[begin] > 2 * reach + slack) break;
    }
    ends.push_back(end == log_flop.size() ? end : cut);
    begin = ends.back();
  }
  return ends;
}

}  // namespace detail

// flop: C of each row; empty means 6 N D.
[[nodiscard]] inline BudgetGroups group_by_budget(std::span<const runs::Observation> rows,
                                                  std::span<const double> flop = {}, const GroupOptions& options = {}) {
  const auto refuse = [](Failure failure, const char* code, const std::string& where, const std::string& rule) {
    throw Error(failure, code, where, rule);
  };
  if (!(options.tolerance >= 0 && options.tolerance <= 1)) {
    refuse(Failure::usage, "out_of_range", "group_by_budget",
           "tolerance must be from 0 to 1, got " + print_number(options.tolerance, 6));
  }
  if (!flop.empty() && flop.size() != rows.size()) {
    refuse(Failure::usage, "wrong_size", "group_by_budget",
           "needs one C for each of " + std::to_string(rows.size()) + " rows, got " + std::to_string(flop.size()));
  }
  const double reach = std::log1p(options.tolerance);
  std::vector<double> log_flop(rows.size());
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    detail::check(rows[i], i);
    const double c =
        flop.empty() ? training_flop(Parameters(rows[i].parameters), Tokens(rows[i].tokens)).value : flop[i];
    if (!(c > 0 && std::isfinite(c))) {
      refuse(Failure::data, "out_of_range", "row " + std::to_string(i + 1),
             "budget must be positive and finite, got " + print_number(c, 17) + " FLOP");
    }
    log_flop[i] = std::log(c);
    if (rows[i].weight > 0) order.push_back(i);
  }
  std::vector<double> nominal = options.nominal;
  std::sort(nominal.begin(), nominal.end());
  nominal.erase(std::unique(nominal.begin(), nominal.end()), nominal.end());
  for (const double c : nominal) {
    if (!(c > 0 && std::isfinite(c))) {
      refuse(Failure::usage, "out_of_range", "group_by_budget",
             "a nominal budget must be positive and finite, got " + print_number(c, 6) + " FLOP");
    }
  }
  std::vector<std::vector<std::size_t>> members;
  BudgetGroups out;
  if (!nominal.empty()) {
    members.resize(nominal.size());
    for (const std::size_t i : order) {
      std::size_t nearest = 0;
      double distance = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < nominal.size(); ++k) {
        if (std::abs(log_flop[i] - std::log(nominal[k])) < distance) {
          distance = std::abs(log_flop[i] - std::log(nominal[k]));
          nearest = k;
        }
      }
      (distance <= reach + 1e-9 ? members[nearest] : out.left_out).push_back(i);
    }
  } else if (!order.empty()) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return log_flop[a] < log_flop[b]; });
    std::vector<double> sorted;
    for (const std::size_t i : order) sorted.push_back(log_flop[i]);
    std::size_t begin = 0;
    for (const std::size_t end : detail::budget_ends(sorted, reach)) {
      const auto first = order.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = order.begin() + static_cast<std::ptrdiff_t>(end);
      // The mean of what lies above the first is exact where all C agree.
      double above = 0;
      for (auto i = first; i != last; ++i) above += log_flop[*i] - log_flop[*first];
      const double base = flop.empty() ? std::exp(log_flop[*first]) : flop[*first];
      nominal.push_back(base * std::exp(above / static_cast<double>(end - begin)));
      members.emplace_back(first, last);
      std::sort(members.back().begin(), members.back().end());
      begin = end;
    }
  }
  for (std::size_t k = 0; k < members.size(); ++k) {
    if (members[k].empty()) continue;
    BudgetRuns& budget = out.budgets.emplace_back();
    budget.flop = nominal[k];
    for (const std::size_t i : members[k]) {
      budget.rows.push_back(rows[i]);
      out.largest_jitter = std::max(out.largest_jitter, std::abs(std::expm1(log_flop[i] - std::log(nominal[k]))));
    }
  }
  return out;
}

}  // namespace floplan::fit
