// SPDX-License-Identifier: BSD-3-Clause
//
// What a rate of tokens costs in dollars and energy, and how many accelerators a demand needs.
//
//   usd_per_million(DollarsPerHour(2), 8, 22300)          0.199: eight accelerators at $2 that write 22,300 tokens/s
//   replicas_for({.requests_a_day = 1e6, .peak_over_mean = 2}, 3.5)          7 of 3.5 requests/s each
//
//   $ a million = 1e6 price n / (3600 tokens/s)      replicas = ceil(requests a day / 86400 x peak over mean / rate)
//   prompts and outputs apart: an engine's step without its prompts is what outputs cost, the rest is the prompts'
//
// Source: arithmetic; the split is ours. DeepSeek's published day (2025): 226.75 nodes of 8 at $2 are $87,072.
// Holds: accelerators that are paid for whether they serve or wait. Energy is at the part's rated power, which a decoding
// engine stays below. Pitfall: dollars an output token alone hide the prompts: at 8 tokens in for one out most of the cost
// is theirs; and a fleet sized for its peak pays for the mean's idle time too (usd_per_million of the mean).
#pragma once

#include <cmath>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/serving/serving_report.hpp"

namespace floplan::serving {

[[nodiscard]] constexpr double usd_per_million(DollarsPerHour price, double accelerators, double tokens_a_second) {
  return 1e6 * price.value * accelerators / (seconds_per_hour * tokens_a_second);
}

struct Demand {
  double requests_a_day = 0;
  double peak_over_mean = 1;  // requests a second at the busiest over the mean
};

// Of replicas that serve `requests_a_second` each.
[[nodiscard]] inline double replicas_for(const Demand& d, double requests_a_second) {
  const auto require = [](bool holds, const char* rule, double got) {
    if (!holds) throw Error(Failure::usage, "out_of_range", "serve", rule + (", got " + print_number(got, 6)));
  };
  require(d.requests_a_day > 0 && std::isfinite(d.requests_a_day), "requests a day must be positive and finite",
          d.requests_a_day);
  require(d.peak_over_mean >= 1 && std::isfinite(d.peak_over_mean), "peak over mean must be at least 1 and finite",
          d.peak_over_mean);
  require(requests_a_second > 0, "requests a second of a replica must be positive", requests_a_second);
  return std::ceil(d.requests_a_day / seconds_per_day * d.peak_over_mean / requests_a_second);
}

// Of a full engine. Without its prompts a step is shorter; that much of the price is the outputs', the rest the prompts'.
struct ServingCost {
  double usd_per_million_output = 0;  // everything, over output tokens
  double usd_per_million_input_alone = 0;
  double usd_per_million_output_alone = 0;
  double watt_hours_per_million_output = 0;  // at rated power; 0 where it is not known
};

[[nodiscard]] inline ServingCost serving_cost(const ServingRequest& r, const ServingReport& s, DollarsPerHour price) {
  ServingCost out;
  const double n = r.cut.accelerators;
  out.usd_per_million_output = usd_per_million(price, n, s.output_tokens_per_second);
  out.usd_per_million_output_alone = out.usd_per_million_output * s.decoding_share;
  out.usd_per_million_input_alone =
      out.usd_per_million_output * (1 - s.decoding_share) * r.tokens.output / r.tokens.input;
  out.watt_hours_per_million_output = 1e6 * n * r.device.power / s.output_tokens_per_second / seconds_per_hour;
  return out;
}

}  // namespace floplan::serving
