// SPDX-License-Identifier: BSD-3-Clause
//
// Observations made ready for the kernel: checked, sorted, merged where they repeat, centred, laid out by column.
//
//   x = ln(N / N0), y = ln(D / D0)      N0, D0 the geometric means, or 1 where a coefficient is bounded by the caller
//
// Centring makes the fit's Hessian better conditioned by orders of magnitude and its result independent of the unit of N
// and D. Sorting makes it independent of the rows' order to the last bit. Rows of one group that agree in N, D and loss
// are one row with the sum of their weights: the objective is the same, and copies cannot pass for evidence. `unit`
// numbers the distinct (N, D, loss): what a bootstrap of rows draws.
//
// Refused with Error(data): N, D or loss not positive and finite or beyond 1e+-100, a weight negative or not finite.
//
// Pitfall: `row_of` maps the caller's rows to prepared ones; rows of weight 0 map to `no_row`.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/detail/chinchilla_kernel.hpp"
#include "floplan/fit/detail/pack.hpp"
#include "floplan/fit/estimator.hpp"
#include "floplan/runs/observation.hpp"

namespace floplan::fit::detail {

inline constexpr std::uint32_t no_row = std::numeric_limits<std::uint32_t>::max();

struct ChinchillaRows {
  Residual residual = Residual::log;
  // Padded to a whole number of packs.
  std::vector<double> x, y, observed, weight;
  std::vector<double> loss;           // of each prepared row
  std::vector<std::uint32_t> unit;    // distinct (N, D, loss) of each prepared row
  std::vector<std::int32_t> group;    // of each prepared row
  std::vector<std::uint32_t> row_of;  // prepared row of each of the caller's rows
  std::size_t size = 0;               // prepared rows
  std::size_t used = 0;               // caller's rows with a positive weight
  std::size_t units = 0;
  std::size_t distinct_parameters = 0, distinct_tokens = 0;
  double log_parameters_shift = 0, log_tokens_shift = 0;  // ln N0, ln D0
  double total_weight = 0;
  double lowest_loss = 0, mean_loss = 0;

  [[nodiscard]] KernelRows kernel() const {
    return {x.data(), y.data(), observed.data(), weight.data(), x.size() / pack_size};
  }
  // The same rows under other weights (padded likewise): a resample, or robust weights.
  [[nodiscard]] KernelRows kernel(const std::vector<double>& weights) const {
    return {x.data(), y.data(), observed.data(), weights.data(), x.size() / pack_size};
  }
};

[[nodiscard]] constexpr std::size_t padded(std::size_t rows) { return (rows + pack_size - 1) / pack_size * pack_size; }

inline void check(const runs::Observation& row, std::size_t index) {
  const auto positive = [index](double value, const char* what) {
    if (value > 1e-100 && value < 1e100) return;
    throw Error(Failure::data, "out_of_range", "row " + std::to_string(index + 1),
                std::string(what) + " must be positive and finite, got " + print_number(value, 17));
  };
  positive(row.parameters, "parameters");
  positive(row.tokens, "tokens");
  positive(row.loss, "loss");
  if (!(row.weight >= 0 && row.weight < 1e100)) {
    throw Error(Failure::data, "out_of_range", "row " + std::to_string(index + 1),
                "weight must be zero or positive, and finite, got " + print_number(row.weight, 17));
  }
}

inline std::size_t count_distinct(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return static_cast<std::size_t>(std::unique(values.begin(), values.end()) - values.begin());
}

// In place: ln(value / reference) of a padded column.
inline void to_log_ratio(std::vector<double>& column, double reference) {
  for (std::size_t i = 0; i < column.size(); i += pack_size) {
    Pack value, out;
    load_pack(column.data() + i, value);
    log_pack(value / reference, out);
    store_pack(out, column.data() + i);
  }
}

[[nodiscard]] inline double geometric_mean(const std::vector<double>& column, std::size_t rows) {
  double sum = 0;
  for (std::size_t i = 0; i < rows; ++i) sum += std::log(column[i]);
  return std::exp(sum / static_cast<double>(rows));
}

[[nodiscard]] inline ChinchillaRows prepare_rows(std::span<const runs::Observation> observations, Residual residual,
                                                 bool centre_parameters = true, bool centre_tokens = true) {
  if (observations.size() >= no_row) {
    throw Error(Failure::usage, "too_many_rows", "fit", "takes fewer than 2^32 - 1 rows");
  }
  ChinchillaRows out;
  out.residual = residual;
  out.row_of.assign(observations.size(), no_row);
  std::vector<std::uint32_t> order;
  order.reserve(observations.size());
  for (std::size_t i = 0; i < observations.size(); ++i) {
    check(observations[i], i);
    if (observations[i].weight > 0) order.push_back(static_cast<std::uint32_t>(i));
  }
  out.used = order.size();
  if (order.empty()) throw Error(Failure::no_answer, "too_few_rows", "fit", "needs rows of positive weight, got none");
  const auto key = [&observations](std::uint32_t i) {
    const runs::Observation& o = observations[i];
    return std::tie(o.parameters, o.tokens, o.loss, o.group, o.weight);
  };
  std::sort(order.begin(), order.end(), [&key](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  const std::size_t reserve = padded(order.size());
  for (auto* column : {&out.x, &out.y, &out.observed, &out.weight, &out.loss}) column->reserve(reserve);
  out.unit.reserve(order.size());
  out.group.reserve(order.size());
  const runs::Observation* last = nullptr;
  for (const std::uint32_t i : order) {
    const runs::Observation& o = observations[i];
    const bool same_unit =
        last != nullptr && last->parameters == o.parameters && last->tokens == o.tokens && last->loss == o.loss;
    if (same_unit && last->group == o.group) {
      out.weight.back() += o.weight;
    } else {
      if (!same_unit) ++out.units;
      if (last == nullptr || last->parameters != o.parameters) ++out.distinct_parameters;
      out.x.push_back(o.parameters);
      out.y.push_back(o.tokens);
      out.loss.push_back(o.loss);
      out.weight.push_back(o.weight);
      out.unit.push_back(static_cast<std::uint32_t>(out.units - 1));
      out.group.push_back(o.group);
    }
    out.row_of[i] = static_cast<std::uint32_t>(out.weight.size() - 1);
    last = &o;
  }
  out.size = out.x.size();
  out.distinct_tokens = count_distinct(out.y);
  out.lowest_loss = *std::min_element(out.loss.begin(), out.loss.end());
  out.total_weight = std::accumulate(out.weight.begin(), out.weight.end(), 0.0);
  double loss_sum = 0;
  for (std::size_t i = 0; i < out.size; ++i) loss_sum += out.weight[i] * out.loss[i];
  out.mean_loss = loss_sum / out.total_weight;
  const double n0 = centre_parameters ? geometric_mean(out.x, out.size) : 1.0;
  const double d0 = centre_tokens ? geometric_mean(out.y, out.size) : 1.0;
  out.log_parameters_shift = std::log(n0);
  out.log_tokens_shift = std::log(d0);
  for (const double loss : out.loss) out.observed.push_back(residual == Residual::log ? 1 / loss : loss);
  const std::size_t full = padded(out.size);
  out.x.resize(full, n0);
  out.y.resize(full, d0);
  out.observed.resize(full, out.observed.front());
  out.weight.resize(full, 0.0);
  to_log_ratio(out.x, n0);
  to_log_ratio(out.y, d0);
  return out;
}

}  // namespace floplan::fit::detail
