// SPDX-License-Identifier: BSD-3-Clause
//
// What is asked of the serving model: a model on accelerators, requests of a length, a batch or the limits that set one.
//
//   ServingRequest r{.model = served_model(shape), .device = device_of(accelerator)};
//   r.cut.accelerators = 8;  r.formats = formats_of(catalog::Precision::fp8, r.device);  r.tokens = {1000, 1000};
//   const ServingReport answer = serve(r);                                          serving_report.hpp
//
// Three types of number are apart: that of the weights in memory (4 bits carry block scales: .5625 bytes), that of the cache
// (8 bits where the weights have 8 or 4, as engines set it), and that of the products; a part without 8-bit arithmetic
// multiplies 8-bit weights in 16 bits.
//
// Source: NVIDIA's NVFP4 has one FP8 scale for 16 values. Where it holds: one replica, tensor parallel or, for experts,
// attention data parallel. Errors: usage for what is out of range; infeasible for a cut that does not divide the heads or
// experts, for arithmetic that the part does not have, and for links that nobody knows.
// Pitfall: MLA and few key-value heads gain no memory for their cache from tensor parallelism.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/serving/serving_memory.hpp"
#include "floplan/serving/speculation.hpp"

namespace floplan::serving {

struct ServingRequest {
  ServedModel model{};
  Device device{};
  Cut cut{};
  NumberFormats formats{};
  RequestTokens tokens{1000, 1000};
  std::optional<double> batch{};          // requests at a time, of the replica; as many as the limits allow without it
  double most_sequences = 4096;           // at a time, of one rank
  MemoryOptions memory{};                 // with the most tokens a step
  std::optional<Seconds> longest_ttft{};  // of a prompt that finds a place, beside the batch
  std::optional<Seconds> longest_tpot{};
  double cached_share = 0;  // of each prompt's tokens, in a prefix cache
  std::optional<Speculation> speculation{};
  Efficiencies efficiencies{};

  [[nodiscard]] double cached_tokens() const { return cached_share * tokens.input; }
};

[[nodiscard]] constexpr double stored_bytes(catalog::Precision p) {
  return p == catalog::Precision::fp4 ? 0.5625 : catalog::bytes_per_value(p);
}

// As engines take one word for all: weights and products in it, the cache in 8 bits beside weights of 8 or 4.
[[nodiscard]] inline NumberFormats formats_of(catalog::Precision weights, const Device& d) {
  using catalog::Precision;
  NumberFormats f;
  f.weight_bytes = stored_bytes(weights);
  f.cache_bytes = weights == Precision::bf16 ? 2 : 1;
  f.arithmetic = weights;
  if (f.arithmetic == Precision::fp4 && !(d.fp4_peak > 0)) f.arithmetic = Precision::fp8;
  if (f.arithmetic == Precision::fp8 && !(d.fp8_peak > 0)) f.arithmetic = Precision::bf16;
  return f;
}

namespace detail {

inline void require_range(bool holds, const char* rule, double got) {
  if (!holds) throw Error(Failure::usage, "out_of_range", "serve", rule + (", got " + print_number(got, 9)));
}

inline void check_cut(const ServingRequest& r) {
  const double n = r.cut.accelerators;
  const auto refuse = [](const char* code, const std::string& rule) {
    return Error(Failure::infeasible, code, "serve", rule);
  };
  const auto text = [](double x) { return print_number(x, 12); };
  const ServedModel& m = r.model;
  if (r.cut.attention_data_parallel) {
    if (!m.has_experts())
      throw refuse("no_experts",
                   "attention data parallelism must have experts to spread: of a dense model, ask for one "
                   "accelerator and multiply");
    if (std::fmod(m.expert_count, n) != 0)
      throw refuse("does_not_divide", "EP must divide the experts, got " + text(n) + " and " + text(m.expert_count));
  } else {
    if (n > m.heads)
      throw refuse("beyond_heads", "TP must be at most the query heads, " + text(m.heads) + ", got " + text(n));
    if (std::fmod(m.heads, n) != 0)
      throw refuse("does_not_divide", "TP must divide the query heads, got " + text(n) + " and " + text(m.heads));
    if (!m.latent() && std::fmod(std::max(n, m.kv_heads), std::min(n, m.kv_heads)) != 0)
      throw refuse("does_not_divide", "TP must divide the key-value heads or be a multiple of them, got " + text(n) +
                                          " and " + text(m.kv_heads));
  }
  if (n > 1 && !(r.device.scale_up > 0))
    throw refuse("not_known", "the scale-up bandwidth of " + r.device.name + " must be known to cut a model over " +
                                  text(n) + ": the catalog has none");
  if (n > r.device.scale_up_domain) {
    if (!(r.device.network > 0))
      throw refuse("not_known", "the network bandwidth of " + r.device.name + " must be known beyond " +
                                    text(r.device.scale_up_domain) + " accelerators: the catalog has none");
    if (std::fmod(n, r.device.scale_up_domain) != 0)
      throw refuse("does_not_divide", "beyond one scale-up domain, whole domains of " + text(r.device.scale_up_domain) +
                                          " must be used, got " + text(n));
  }
  if (!(r.device.peak(r.formats.arithmetic) > 0))
    throw refuse("no_arithmetic",
                 "products in " + to_text(r.formats.arithmetic) + " must be possible on " + r.device.name);
}

}  // namespace detail

inline void check(const ServingRequest& r) {
  const auto whole = [](double x) { return x >= 1 && x <= 1e9 && x == std::floor(x); };
  using detail::require_range;
  require_range(whole(r.tokens.input), "input tokens must be a whole number from 1 to 1e9", r.tokens.input);
  require_range(whole(r.tokens.output),
                "output tokens must be a whole number from 1 to 1e9 (a request that writes none has no decoding)",
                r.tokens.output);
  require_range(whole(r.cut.accelerators), "accelerators of a replica must be a whole number from 1",
                r.cut.accelerators);
  if (r.batch) require_range(whole(*r.batch), "the batch must be a whole number from 1 to 1e9", *r.batch);
  require_range(whole(r.most_sequences), "the most sequences must be a whole number from 1", r.most_sequences);
  require_range(whole(r.memory.tokens_a_step), "tokens a step must be a whole number from 1", r.memory.tokens_a_step);
  require_range(r.memory.usable > 0 && r.memory.usable <= 1, "the usable share of memory must be above 0 and at most 1",
                r.memory.usable);
  require_range(r.cached_share >= 0 && r.cached_share < 1, "the cached share of prompts must be from 0 to below 1",
                r.cached_share);
  for (const auto& limit : {r.longest_ttft, r.longest_tpot}) {
    if (limit)
      require_range(limit->value > 0 && std::isfinite(limit->value), "a time limit must be positive and finite",
                    limit->value);
  }
  if (r.speculation) check(*r.speculation);
  detail::check_cut(r);
}

}  // namespace floplan::serving
