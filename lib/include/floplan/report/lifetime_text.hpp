// SPDX-License-Identifier: BSD-3-Clause
//
// The model to buy for a lifetime of requests, as sentences, a table of sizes and JSON.
//
//   std::cout << lifetime_text(purchase, unserved);      Json j = lifetime_json(question, purchase, unserved);
//
// JSON: the keys of optimum (parameters, tokens, tokens_per_parameter, loss, training_flop, inference_flop, total_flop,
// cost_usd, training_only {parameters, tokens, total_flop, cost_usd}, saving_fraction) with training_usd, serving_usd,
// replica_accelerators, batch, and flat_regions [{within, parameters {low, high}}].
//
// Table: every third size of the grid within twice the least cost. training_only is the size that is best without serving, and
// what it would cost with it; null where no replica serves it.
// Pitfall: inference_flop is 2 N a token, as optimum counts it; the dollars are of accelerator time and not of these FLOP.
#pragma once

#include <optional>
#include <string>

#include "floplan/core/quantity_text.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/table.hpp"
#include "floplan/serving/lifetime_purchase.hpp"

namespace floplan::report {

namespace detail {

[[nodiscard]] inline double inference_flop(const serving::LifetimeQuestion& q, Parameters n) {
  return 2 * n.value * q.requests * (q.serving.tokens.input + q.samples * q.serving.tokens.output);
}

}  // namespace detail

// unserved: the size that is best without serving, with what its serving costs where it can be served.
[[nodiscard]] inline Json lifetime_json(const serving::LifetimeQuestion& q, const serving::LifetimePurchase& p,
                                        const optimum::Split& unserved,
                                        const std::optional<serving::LifetimePoint>& unserved_cost) {
  const serving::LifetimePoint& b = p.best;
  const double training = training_flop(b.parameters, b.tokens).value;
  Json flat = Json::array();
  for (const serving::FlatRegion& f : p.flat)
    flat.push_back({{"within", f.within}, {"parameters", {{"low", f.low.value}, {"high", f.high.value}}}});
  return {{"parameters", b.parameters.value},
          {"tokens", b.tokens.value},
          {"tokens_per_parameter", b.tokens.value / b.parameters.value},
          {"loss", q.loss},
          {"training_flop", training},
          {"inference_flop", detail::inference_flop(q, b.parameters)},
          {"total_flop", training + detail::inference_flop(q, b.parameters)},
          {"cost_usd", b.total().value},
          {"training_usd", b.training.value},
          {"serving_usd", b.serving.value},
          {"replica_accelerators", count_json(b.replica)},
          {"batch", count_json(b.batch)},
          {"flat_regions", std::move(flat)},
          {"training_only",
           {{"parameters", unserved.parameters.value},
            {"tokens", unserved.tokens.value},
            {"total_flop", unserved.training_flop().value + detail::inference_flop(q, unserved.parameters)},
            {"cost_usd", unserved_cost ? Json(unserved_cost->total().value) : Json()}}},
          {"saving_fraction", unserved_cost ? Json(1 - b.total() / unserved_cost->total()) : Json()}};
}

[[nodiscard]] inline Table lifetime_table(const serving::LifetimePurchase& p) {
  Table table({"parameters", "tokens", "training (USD)", "serving (USD)", "total (USD)", "replica", "batch"});
  for (std::size_t i = 0; i < p.grid.size(); i += 3) {
    const serving::LifetimePoint& at = p.grid[i];
    if (at.total() > p.best.total() * 2) continue;
    table.add({{at.parameters.value, 3},
               {at.tokens.value, 3},
               {at.training.value, 3},
               {at.serving.value, 3},
               {at.total().value, 4},
               {at.replica, 4},
               {at.batch, 5}});
  }
  return table;
}

[[nodiscard]] inline std::string lifetime_text(const serving::LifetimePurchase& p, const optimum::Split& unserved,
                                               const std::optional<serving::LifetimePoint>& unserved_cost) {
  const serving::LifetimePoint& b = p.best;
  std::string out = p.describe() + "\n" + print(b.training, 3) + " of training and " + print(b.serving, 3) +
                    " of serving, by replicas of " + print_number(b.replica, 4) + " at a batch of " +
                    print_number(b.batch, 6) + "\n";
  for (const serving::FlatRegion& f : p.flat)
    out += "within " + print_number(100 * f.within, 3) + "% of the least cost: " + print(f.low, 3) + " to " +
           print(f.high, 3) + " parameters\n";
  out += "best without serving: " + print(unserved.parameters, 3) + " parameters on " + print(unserved.tokens, 3) +
         " tokens, which " +
         (unserved_cost ? "would cost " + print(unserved_cost->total(), 3) : std::string("no replica serves")) + "\n";
  return out;
}

}  // namespace floplan::report
