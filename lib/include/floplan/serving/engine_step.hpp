// SPDX-License-Identifier: BSD-3-Clause
//
// How long one step of an inference engine takes, term by term.
//
//   const EngineStep<double> s = engine_step(model, device, cut, number_bytes, load, Efficiencies{});    s.seconds()
//
//   products       P(2 (m + m0) A / (s F e_c), w A / (s W e_b))                 weights that every token uses
//   experts        P(2 (m_g k + m0 E touched) A_e L_m / (n F e_c e_moe), touched w E A_e L_m / (n W e_b))
//                  touched = 1 - (1 - k/E)^m_g: each expert's product pads its own rows
//   head           P(2 r V d / (s F16 e_16), 2 V d / (s W e_b)) + 12 r V / (s W e_b)
//   cache          K L b C / (g W e_b)                 g = min(n, kv heads); MLA at least its products with the latent
//   attention      2 (query + output width) L U / (s F16 e_a)
//   elementwise    (.5 m (20 d L + 12 (query + key width) L + 11 f) + m k L_m (12 d + 8 f_e)) / (W e_b), widths cut by s
//   communication  all-reduces x L (a_l (6.8 us + 1.2 us (n-1)) + 2 (n-1)/n 2 m d / (X e_n)), or of the experts
//   layers, host   L t_l + L_m t_moe;  t_0 + t_r r
//
//   P(x, y) = (x^3 + y^3)^(1/3). m tokens, C cached tokens read, U scores, r rows of logits (engine_load.hpp); n accelerators,
//   s = n under tensor parallelism and 1 under attention data parallelism, when m, C, r are of one rank and m_g = n m.
//
// Sources: rooflines as in Pope et al. 2022 (arXiv 2211.05102) and the scaling book; NCCL's latencies as in Epoch's model.
// Holds: nothing overlaps but a product's arithmetic and its weights. Cost: 0.2 microseconds, no allocation.
// Pitfall: an all-reduce needs both halves: without its latency or its bandwidth a model left out of the fit is off by a third.
#pragma once

#include <algorithm>
#include <cmath>

#include "floplan/serving/device.hpp"
#include "floplan/serving/efficiencies.hpp"
#include "floplan/serving/engine_load.hpp"
#include "floplan/serving/served_model.hpp"

namespace floplan::serving {

// How a replica is cut over its accelerators.
struct Cut {
  double accelerators = 1;
  // Each rank serves requests of its own with whole attention; experts are spread over all ranks.
  bool attention_data_parallel = false;

  // Over how many accelerators dense weights are cut.
  [[nodiscard]] double weights() const { return attention_data_parallel ? 1 : accelerators; }
  // Over how many the cache of one request is.
  [[nodiscard]] double cache(const ServedModel& m) const {
    return attention_data_parallel ? 1 : std::min(accelerators, m.kv_heads);
  }
  // Ranks that serve different requests.
  [[nodiscard]] double ranks() const { return attention_data_parallel ? accelerators : 1; }
};

// Bytes an element in memory and in the cache, and the type that products are computed in.
struct NumberFormats {
  double weight_bytes = 2;
  double cache_bytes = 2;
  catalog::Precision arithmetic = catalog::Precision::bf16;
};

template <class T>
struct EngineStep {
  T products{0.0}, experts{0.0}, head{0.0}, cache{0.0}, attention{0.0}, elementwise{0.0}, communication{0.0},
      layers{0.0}, host{0.0};
  [[nodiscard]] T seconds() const {
    return products + experts + head + cache + attention + elementwise + communication + layers + host;
  }
};

// Share of the experts of a layer that at least one of `tokens` tokens is sent to, drawn evenly.
[[nodiscard]] inline double touched_experts(double count, double active, double tokens) {
  if (count <= 0 || tokens <= 0) return 0;
  if (active >= count) return 1;
  return -std::expm1(tokens * std::log1p(-active / count));
}

namespace detail {

// Two bounds of one kernel together. cluster/smooth.hpp has the same for step times; serving stands before it.
template <class T>
[[nodiscard]] T either_bound(const T& x, const T& y, double power) {
  using std::pow;
  const bool first = !(x < y);
  const T& larger = first ? x : y;
  const T& smaller = first ? y : x;
  if (!(smaller > 0.0)) return larger;
  const T ratio = smaller / larger;
  return larger * pow(1.0 + (power == 3 ? ratio * ratio * ratio : pow(ratio, power)), 1 / power);
}

// Seconds a collective waits, as a multiple of NCCL's LL protocol.
[[nodiscard]] inline double collective_latency(double ranks, double domain) {
  const double nodes = std::ceil(ranks / domain);
  return 6.8e-6 + 2 * ((ranks / nodes - 1) * 0.6e-6 + 5e-6 * std::log2(nodes));
}

template <class T>
[[nodiscard]] T all_reduce_seconds(double bytes, const Cut& cut, const Device& d, const BasicEfficiencies<T>& e) {
  const double n = cut.accelerators;
  const double inside = std::min(n, d.scale_up_domain);
  const double outside = n / inside;
  T seconds = e.all_reduce_latency * collective_latency(n, d.scale_up_domain) +
              2 * (inside - 1) / inside * bytes / d.scale_up / e.scale_up;
  if (outside > 1) seconds = seconds + 2 * (outside - 1) / outside * bytes / inside / d.network / e.scale_up;
  return seconds;
}

// What a rank sends to experts elsewhere and receives back: an all-gather in 8 bits and a reduce-scatter in 16.
template <class T>
[[nodiscard]] T expert_exchange_seconds(double tokens, const ServedModel& m, const Cut& cut, const Device& d,
                                        const BasicEfficiencies<T>& e) {
  constexpr double bytes = 3;
  const double n = cut.accelerators;
  const T latency = e.all_reduce_latency * collective_latency(n, d.scale_up_domain);
  if (n <= d.scale_up_domain) return latency + (n - 1) / n * bytes * tokens * n * m.width / d.scale_up / e.scale_up;
  // Over the network a token is sent once to each other domain that holds one of its experts.
  const double domains = n / d.scale_up_domain;
  const double reached = domains * -std::expm1(m.expert_active * std::log1p(-1 / domains)) * (domains - 1) / domains;
  return latency + bytes * tokens * m.width * reached / d.network / e.scale_up;
}

template <class T>
[[nodiscard]] T share_of_peak(catalog::Precision p, const BasicEfficiencies<T>& e) {
  if (p == catalog::Precision::bf16) return T(e.gemm_bf16);
  return p == catalog::Precision::fp4 ? e.gemm * e.gemm_fp4 : e.gemm;
}

}  // namespace detail

template <class T>
[[nodiscard]] EngineStep<T> engine_step(const ServedModel& m, const Device& d, const Cut& cut,
                                        const NumberFormats& formats, const EngineLoad& load,
                                        const BasicEfficiencies<T>& e) {
  const double s = cut.weights();
  const double n = cut.accelerators;
  const double tokens = load.tokens();
  const double peak = d.peak(formats.arithmetic);
  const T rate = detail::share_of_peak(formats.arithmetic, e) * peak;
  const T bytes_a_second = e.memory * d.memory_bandwidth;
  const double rate16 = d.bf16_peak * e.gemm_bf16;
  EngineStep<T> out;

  const double dense = m.attention + m.feed_forward;
  out.products = detail::either_bound<T>(2 * dense / s * (tokens + e.padded_rows) / rate,
                                         formats.weight_bytes * dense / s / bytes_a_second, e.roughness);
  if (m.has_experts()) {
    const double all = tokens * cut.ranks();
    const double touched = touched_experts(m.expert_count, m.expert_active, all);
    out.experts = detail::either_bound<T>(2 * (all * m.expert_active + m.expert_count * touched * e.padded_rows) *
                                              m.expert_elements * m.expert_layers / n / (rate * e.experts),
                                          formats.weight_bytes * m.experts / n * touched / bytes_a_second, e.roughness);
  }
  out.head = detail::either_bound<T>(T(2 * load.logits * m.head / (s * rate16)), 2 * m.head / s / bytes_a_second,
                                     e.roughness) +
             12 * load.logits * m.vocabulary / s / bytes_a_second;

  const double read = m.global_layers * load.context + m.local_layers() * load.local_context;
  out.cache = m.cache_width * formats.cache_bytes * read / cut.cache(m) / bytes_a_second;
  if (m.latent()) {
    const T products = 2 * m.latent_width * read / (s * rate16 * e.latent_attention);
    if (out.cache < products) out.cache = products;
  }
  const double scores = m.global_layers * load.scores + m.local_layers() * load.local_scores;
  out.attention = 2 * m.score_width * scores / s / (e.attention * d.bf16_peak);

  const double routed = cut.attention_data_parallel ? tokens : tokens / n;
  const double values =
      tokens * (m.layers * (20 * m.width + 12 * m.projection_width / s) + m.inner_traffic * m.inner_width / s);
  const double routed_values = routed * m.expert_layers * m.expert_active * (12 * m.width + 8 * m.expert_width);
  out.elementwise = (e.elementwise * values + routed_values) / bytes_a_second;

  if (n > 1) {
    out.communication =
        cut.attention_data_parallel
            ? m.expert_layers * detail::expert_exchange_seconds(tokens, m, cut, d, e)
            : m.layers * m.reductions_a_layer * detail::all_reduce_seconds(2 * tokens * m.width, cut, d, e);
  }
  out.layers = m.layers * e.layer_seconds + m.expert_layers * e.expert_layer_seconds;
  out.host = e.step_seconds + e.row_seconds * load.logits;
  return out;
}

}  // namespace floplan::serving
