// SPDX-License-Identifier: BSD-3-Clause
//
// Figures of serving, from the catalog alone: latency against throughput, dollars against the size of a model that is served
// for its lifetime, and the best size against how much it serves.
//
//   for (const Figure& f : serving_figures()) f.make(context).csv()
//
// The lifetime's case is Sardana's (2024, arXiv 2401.00448): the quality of 405.85B parameters on 15.6T tokens by the
// law hoffmann-2022, trained on H100 in BF16 at 40% of the peak, served on H100 in FP8, $2.50 an hour for both,
// requests of 1,000 tokens in and 250 out.
//
// Source: serving/. Predicted against measured rates: floplan serve --validate FILE --json, result.rows.
// Pitfall: points are of full engines; what is left blank cannot be served within the limit.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/optimum/surface.hpp"
#include "floplan/report/figure.hpp"
#include "floplan/report/table.hpp"
#include "floplan/serving/frontier.hpp"
#include "floplan/serving/lifetime_purchase.hpp"

namespace floplan::report {

namespace detail {

[[nodiscard]] inline Table frontier_figure(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  for (const char* model : {"llama-3.1-8b", "llama-3.3-70b", "llama-3.1-405b"}) {
    for (const char* accelerator : {"h100-sxm", "h200-sxm", "b200"}) {
      serving::ServingRequest r;
      r.model = serving::served_model(context.catalog.model(model).shape);
      r.device = serving::device_of(context.catalog.accelerator(accelerator));
      r.formats = serving::formats_of(catalog::Precision::fp8, r.device);
      for (const serving::FrontierPoint& p : serving::frontier(r, {1, 2, 4, 8})) {
        out.add({model,
                 accelerator,
                 {p.accelerators, 6},
                 {p.batch, 6},
                 {p.output_tokens_per_second_per_accelerator, 6},
                 {p.tpot.value, 6},
                 {p.ttft.value, 6},
                 p.best ? "yes" : "no"});
      }
    }
  }
  return out;
}

[[nodiscard]] inline serving::LifetimeQuestion lifetime_case(const FigureContext& context,
                                                             const optimum::Surface& surface) {
  serving::LifetimeQuestion q;
  q.loss = optimum::loss_of(surface, {Parameters(405.85e9), Tokens(15.6e12)});
  q.serving.device = serving::device_of(context.catalog.accelerator("h100-sxm"));
  q.serving.formats = serving::formats_of(catalog::Precision::fp8, q.serving.device);
  q.serving.tokens = {1000, 250};
  return q;
}

[[nodiscard]] inline optimum::Surface lifetime_surface(const FigureContext& context) {
  for (const law::AnyLaw& law : catalog::any_laws(context.catalog)) {
    if (law.name == "hoffmann-2022") return optimum::surface(law);
  }
  throw Error(Failure::no_answer, "unknown_name", "lifetime_cost", "the catalog must have hoffmann-2022");
}

inline constexpr double limits_of_tpot[] = {0, 0.05, 0.025};  // seconds; 0: none

inline void limit(serving::LifetimeQuestion& q, double tpot) {
  q.serving.longest_tpot = tpot > 0 ? std::optional(Seconds(tpot)) : std::nullopt;
}

[[nodiscard]] inline Cell blank_or(bool known, double value) { return known ? Cell(value, 6) : Cell(); }

[[nodiscard]] inline Table lifetime_cost_figure(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const optimum::Surface surface = lifetime_surface(context);
  serving::LifetimeQuestion q = lifetime_case(context, surface);
  for (const double requests : {1e9, 1e10, 1e11}) {
    q.requests = requests;
    for (const double tpot : limits_of_tpot) {
      limit(q, tpot);
      const serving::LifetimePurchase p = serving::buy_for_lifetime(surface, q);
      for (std::size_t i = 0; i < p.grid.size(); i += 4) {
        const serving::LifetimePoint& at = p.grid[i];
        if (at.total() > p.best.total() * 3) continue;
        out.add({{requests, 6},
                 blank_or(tpot > 0, tpot),
                 {at.parameters.value, 6},
                 {at.tokens.value, 6},
                 {at.training.value, 6},
                 {at.serving.value, 6},
                 {at.total().value, 6},
                 {at.replica, 6}});
      }
    }
  }
  return out;
}

[[nodiscard]] inline Table lifetime_optimum_figure(const Figure& figure, const FigureContext& context) {
  Table out(figure.header());
  const optimum::Surface surface = lifetime_surface(context);
  serving::LifetimeQuestion q = lifetime_case(context, surface);
  for (const double tpot : limits_of_tpot) {
    limit(q, tpot);
    for (int i = 0; i <= 12; ++i) {
      q.requests = std::pow(10, 8 + i / 3.0);
      const serving::LifetimePurchase p = serving::buy_for_lifetime(surface, q);
      out.add({blank_or(tpot > 0, tpot),
               {q.requests * (q.serving.tokens.input + q.serving.tokens.output), 6},
               {p.best.parameters.value, 6},
               {p.best.tokens.value, 6},
               {p.best.total().value, 6},
               {p.flat.front().low.value, 6},
               {p.flat.front().high.value, 6},
               {p.flat.back().low.value, 6},
               {p.flat.back().high.value, 6}});
    }
  }
  return out;
}

}  // namespace detail

[[nodiscard]] inline std::vector<Figure> serving_figures() {
  std::vector<Figure> out;
  const auto add = [&out](std::string name, std::string title, std::vector<FigureColumn> columns,
                          Table (*make)(const Figure&, const FigureContext&)) {
    out.push_back(make_figure(std::move(name), FigureInput::catalog, std::move(title), std::move(columns), make));
  };
  add("serving_frontier", "Latency against throughput by batch and tensor parallelism, FP8, 1,000 tokens in and out",
      {{"model", "name in the catalog"},
       {"accelerator", "name in the catalog"},
       {"accelerators", "of a replica, tensor parallel"},
       {"batch", "requests at a time, of the replica"},
       {"output_tokens_per_s_per_accelerator", "of a full engine in steady state"},
       {"tpot_s", "seconds between a request's tokens"},
       {"ttft_s", "seconds to the first token on an idle engine"},
       {"best", "yes where no other point of the model and accelerator is faster and cheaper"}},
      detail::frontier_figure);
  add("lifetime_cost", "What each size of equal quality costs to train and to serve for its lifetime",
      {{"requests", "of a lifetime"},
       {"tpot_limit_s", "longest time between tokens; blank for no limit"},
       {"parameters", "N"},
       {"tokens", "D, that reaches the loss of 405.85B on 15.6T"},
       {"training_usd", "dollars"},
       {"serving_usd", "dollars"},
       {"total_usd", "dollars; sizes beyond three times the least are left out"},
       {"replica_accelerators", "the cheapest of 1, 2, 4 and 8"}},
      detail::lifetime_cost_figure);
  add("lifetime_optimum", "The best size of equal quality against the tokens that it serves in its lifetime",
      {{"tpot_limit_s", "longest time between tokens; blank for no limit"},
       {"lifetime_tokens", "served, in and out"},
       {"parameters", "N that costs least"},
       {"tokens", "D, that reaches the loss of 405.85B on 15.6T"},
       {"total_usd", "dollars of training and serving"},
       {"parameters_low_1_percent", "smallest N within 1% of the least cost"},
       {"parameters_high_1_percent", "largest N within 1%"},
       {"parameters_low_5_percent", "smallest N within 5%"},
       {"parameters_high_5_percent", "largest N within 5%"}},
      detail::lifetime_optimum_figure);
  return out;
}

}  // namespace floplan::report
