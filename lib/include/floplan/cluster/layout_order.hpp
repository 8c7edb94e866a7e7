// SPDX-License-Identifier: BSD-3-Clause
//
// Does the step-time model put layouts in the right order, and what does it cost to take the one that it calls the best?
//
//   for (const LayoutSet& s : layout_sets(measured)) ...      s.spearman, s.loss
//   for (const OrderError& o : order_errors(sets)) ...        means by publisher, "all" last
//
// A set is the measured rows of one question: the same model, machine, accelerators, batch, sequence and precision, laid out
// in at least `fewest` ways. Spearman's rho is Pearson's correlation of ranks, ties sharing their mean rank. The loss is
// measured time of the predicted best / that of the real best - 1; of equal predictions the first row counts.
//
// Source: Spearman 1904; what it is asked of is ours.
// Holds: whatever the efficiencies: a common factor of all predictions changes neither number.
// Pitfall: pooled over batches rho is near 1 for any model, since larger batches take longer: only one batch says something.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "floplan/cluster/measured_steps.hpp"
#include "floplan/cluster/step_terms.hpp"

namespace floplan::cluster {

struct LayoutSet {
  std::string group;              // of its first row
  std::vector<std::size_t> rows;  // numbers in MeasuredSteps::steps
  double spearman = 0;
  double loss = 0;
};

namespace detail {

// Of one question: all that decides the work, and nothing of how it is laid out.
[[nodiscard]] inline bool same_question(const StepRequest& a, const StepRequest& b) {
  return a.global_batch == b.global_batch && a.sequence_length == b.sequence_length && a.precision == b.precision &&
         a.layout.accelerators() == b.layout.accelerators() && a.machine.accelerator == b.machine.accelerator &&
         a.machine.network == b.machine.network && a.shape == b.shape;
}

// One layout that was measured in several releases of its software is one way to lay a question out.
[[nodiscard]] inline std::size_t distinct_layouts(const MeasuredSteps& measured, const std::vector<std::size_t>& rows) {
  const auto request = [&](std::size_t row) -> const StepRequest& { return measured.steps[row].request; };
  std::size_t out = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out += std::none_of(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(i), [&](std::size_t earlier) {
      const StepRequest& a = request(earlier);
      const StepRequest& b = request(rows[i]);
      return a.layout == b.layout && a.microbatch == b.microbatch && a.sharding == b.sharding &&
             a.recompute == b.recompute;
    });
  }
  return out;
}

// Ranks from 1; equals share their mean.
[[nodiscard]] inline std::vector<double> ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> out(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) out[order[i]] = 1 + 0.5 * static_cast<double>(first + last);
    first = last + 1;
  }
  return out;
}

}  // namespace detail

// Spearman's rho of two samples of one length; nan where either is constant.
[[nodiscard]] inline double spearman(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = detail::ranks(a);
  const std::vector<double> y = detail::ranks(b);
  const double mean = 0.5 * (static_cast<double>(x.size()) + 1);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

// Sets in the order of their first rows. Cost: rows x sets comparisons.
[[nodiscard]] inline std::vector<LayoutSet> layout_sets(const MeasuredSteps& measured, std::size_t fewest = 3) {
  std::vector<LayoutSet> sets;
  for (std::size_t i = 0; i < measured.steps.size(); ++i) {
    const MeasuredStep& step = measured.steps[i];
    const auto set = std::find_if(sets.begin(), sets.end(), [&](const LayoutSet& s) {
      return s.group == step.group && detail::same_question(measured.steps[s.rows.front()].request, step.request);
    });
    if (set == sets.end()) {
      sets.push_back({step.group, {i}});
    } else {
      set->rows.push_back(i);
    }
  }
  std::erase_if(sets, [&](const LayoutSet& s) {
    return detail::distinct_layouts(measured, s.rows) < std::max<std::size_t>(fewest, 2);
  });
  for (LayoutSet& set : sets) {
    std::vector<double> predicted, seconds;
    for (const std::size_t row : set.rows) {
      predicted.push_back(step_terms(measured.steps[row].request).step);
      seconds.push_back(measured.steps[row].measured.value);
    }
    set.spearman = spearman(predicted, seconds);
    const auto best = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
    set.loss = seconds[static_cast<std::size_t>(best)] / *std::min_element(seconds.begin(), seconds.end()) - 1;
  }
  return sets;
}

// Means over the sets of a publisher.
struct OrderError {
  std::string group;
  std::size_t sets = 0;
  std::size_t ranked = 0;  // of them, those that have a rho: neither predictions nor measurements are all alike
  double spearman = 0;
  double loss = 0;
};

// By publisher in the order of their first sets, and "all" at the end; empty where there are no sets.
[[nodiscard]] inline std::vector<OrderError> order_errors(const std::vector<LayoutSet>& sets) {
  std::vector<OrderError> out;
  OrderError all{.group = "all"};
  const auto add = [](OrderError& to, const LayoutSet& set) {
    ++to.sets;
    to.loss += set.loss;
    if (std::isnan(set.spearman)) return;
    ++to.ranked;
    to.spearman += set.spearman;
  };
  for (const LayoutSet& set : sets) {
    auto of = std::find_if(out.begin(), out.end(), [&](const OrderError& o) { return o.group == set.group; });
    if (of == out.end()) of = out.insert(out.end(), OrderError{.group = set.group});
    add(*of, set);
    add(all, set);
  }
  if (!sets.empty()) out.push_back(all);
  for (OrderError& o : out) {
    o.loss /= static_cast<double>(o.sets);
    if (o.ranked > 0) o.spearman /= static_cast<double>(o.ranked);
  }
  return out;
}

}  // namespace floplan::cluster
