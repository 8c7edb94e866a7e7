// SPDX-License-Identifier: BSD-3-Clause
//
// What one layer's arithmetic and memory traffic take on one accelerator, forward and backward, before communication.
//
//   product (M x K by K x N)  smooth_max6(2 M N K pad / rate, (w M N + 2 N K + 2 M K) / memory) + 3 us
//     pad: M to 128 and N to 256; w = 2 bytes, 8 for a weight gradient (added to in fp32). Backward: (M, K, N) and (N, K, M)
//   fused attention           2 T s a / tp FLOP (the causal half) at its own rate; backward 2.5 times as much
//   unfused attention         the whole square, 0.75 of the product rate, less for heads narrower than 128; and 11 and 13
//                             bytes a score, forward and backward, for softmax, mask and dropout
//   elementwise               bytes of ElementwiseTraffic / memory rate; what tensor parallelism does not cut, sequence
//                             parallelism does
//   experts                   products of T/tp x EP x active / count rows, at the grouped product's share of the rate
//
//   T = microbatch x sequence / CP tokens, a = mean of key and value width of all heads. Layers of several kinds (experts,
//   local attention) enter as their average.
//
// Source: the terms of Korthikanti 2022 (2205.05198) and Narayanan 2021 (2104.04473) with rates fitted, efficiencies.hpp.
// Holds: 16-bit activations; low precision speeds up products of the layers alone and pays for its casts.
// Pitfall: a router's product and the copies of a dropless dispatcher are not counted; experts are rough (efficiencies.hpp).
#pragma once

#include <algorithm>
#include <cmath>

#include "floplan/architecture/stage_parameters.hpp"
#include "floplan/architecture/training_flop.hpp"
#include "floplan/cluster/efficiencies.hpp"
#include "floplan/cluster/smooth.hpp"
#include "floplan/cluster/step_request.hpp"

namespace floplan::cluster {

// Forward and backward, seconds.
template <class T>
struct Passes {
  T forward{0.0};
  T backward{0.0};
  Passes& operator+=(const Passes& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
  Passes& add(const Passes& other, double times) {
    forward += times * other.forward;
    backward += times * other.backward;
    return *this;
  }
};

template <class T>
struct LayerTime {
  Passes<T> products;
  Passes<T> attention;  // scores, softmax and their product with values
  Passes<T> elementwise;
};

// Effective rates of one accelerator at one request.
template <class T>
struct ComputeRates {
  T product16;  // FLOP/s
  T product;    // of the layers, in their precision
  T ceiling;    // the measured bf16 one
  T memory;     // bytes a second
  double kernel_seconds;
};

template <class T>
[[nodiscard]] ComputeRates<T> compute_rates(const StepRequest& r, const BasicEfficiencies<T>& e) {
  const T ceiling(r.machine.gemm_ceiling.value);
  const T product16 = e.gemm * ceiling;
  const double low = r.machine.ceiling(r.precision).value;
  return {product16,
          r.precision == catalog::Precision::bf16  ? product16
          : r.precision == catalog::Precision::fp8 ? T(e.fp8 * low)
                                                   : T(e.fp4 * low),
          ceiling, e.memory * r.machine.memory_bandwidth.value, e.kernel_seconds};
}

namespace detail {

// Tokens of a microbatch on one rank.
[[nodiscard]] inline double microbatch_tokens(const StepRequest& r) {
  return static_cast<double>(r.microbatch) * static_cast<double>(r.sequence_length) /
         static_cast<double>(r.layout.context);
}

// Of keys and values, for one token on one tensor parallel rank.
[[nodiscard]] inline double keys_values_width(const StepRequest& r) {
  const architecture::Transformer& t = r.shape;
  if (!t.latent) return 2 * architecture::kv_heads_per_rank(t, r.layout.tensor) * static_cast<double>(t.head_width);
  const std::int64_t head = t.latent->plain_width + t.latent->rotary_width + t.latent->value_width;
  return static_cast<double>(t.heads * head) / static_cast<double>(r.layout.tensor);
}

template <class T>
[[nodiscard]] T product_time(double m, double n, double k, const T& rate, const T& memory, double output_bytes) {
  const double padded = std::ceil(m / 128) * 128 * std::ceil(n / 256) * 256;
  return smooth_max6(T(2 * padded * k / rate), T((output_bytes * m * n + 2 * n * k + 2 * m * k) / memory));
}

// A weight matrix from k to n, applied to m tokens; `times` of them in one kernel.
template <class T>
[[nodiscard]] Passes<T> product(double m, double n, double k, const T& rate, const ComputeRates<T>& c,
                                double times = 1) {
  return {times * product_time(m, n, k, rate, c.memory, 2) + c.kernel_seconds,
          times * (product_time(m, k, n, rate, c.memory, 2) + product_time(n, k, m, rate, c.memory, 8)) +
              2 * c.kernel_seconds};
}

template <class T>
[[nodiscard]] Passes<T> attention_products(const StepRequest& r, const ComputeRates<T>& c, double tokens) {
  const architecture::Transformer& t = r.shape;
  const double d = static_cast<double>(t.width);
  const double tp = static_cast<double>(r.layout.tensor);
  const double queries = static_cast<double>(t.query_width());
  const double output = static_cast<double>(t.output_width());
  Passes<T> out = product(tokens, d, output / tp, c.product, c);
  if (!t.latent) {
    out += product(tokens, queries / tp + keys_values_width(r), d, c.product, c);
    return out;
  }
  // What is compressed is whole on every tensor parallel rank.
  const double kv_rank = static_cast<double>(t.latent->kv_rank);
  const double query_rank = static_cast<double>(t.latent->query_rank);
  const double down = kv_rank + static_cast<double>(t.latent->rotary_width);
  const double expanded = static_cast<double>(t.heads * (t.latent->plain_width + t.latent->value_width));
  out += product(tokens, down + query_rank, d, c.product, c);
  out += product(tokens, queries / tp, query_rank > 0 ? query_rank : d, c.product, c);
  out += product(tokens, expanded / tp, kv_rank, c.product, c);
  return out;
}

// A feed-forward block of `width`, `times` of them in one kernel.
template <class T>
[[nodiscard]] Passes<T> block_products(const StepRequest& r, const ComputeRates<T>& c, double tokens, double width,
                                       const T& rate, double times = 1) {
  const double d = static_cast<double>(r.shape.width);
  Passes<T> out = product(tokens, (r.shape.gated ? 2 : 1) * width, d, rate, c, times);
  out += product(tokens, d, width, rate, c, times);
  return out;
}

[[nodiscard]] inline double expert_layer_share(const architecture::Transformer& t) {
  return static_cast<double>(t.layers - t.dense_layers()) / static_cast<double>(t.layers);
}

template <class T>
[[nodiscard]] Passes<T> layer_products(const StepRequest& r, const BasicEfficiencies<T>& e, const ComputeRates<T>& c,
                                       double with_experts) {
  const double tokens = microbatch_tokens(r);
  const double tp = static_cast<double>(r.layout.tensor);
  Passes<T> out = attention_products(r, c, tokens);
  if (with_experts < 1)
    out.add(block_products(r, c, tokens, static_cast<double>(r.shape.ffn_width) / tp, c.product), 1 - with_experts);
  if (with_experts > 0) {
    const architecture::Experts& x = *r.shape.experts;
    const double ep = static_cast<double>(r.layout.expert);
    const double rows = tokens / tp * ep * static_cast<double>(x.active) / static_cast<double>(x.count);
    out.add(block_products(r, c, rows, static_cast<double>(x.width), T(e.experts * c.product),
                           static_cast<double>(x.count) / ep),
            with_experts);
    if (x.shared_width > 0)
      out.add(block_products(r, c, tokens, static_cast<double>(x.shared_width) / tp, c.product), with_experts);
  }
  return out;
}

template <class T>
[[nodiscard]] Passes<T> attention_core(const StepRequest& r, const BasicEfficiencies<T>& e, const ComputeRates<T>& c) {
  const architecture::Transformer& t = r.shape;
  const double tokens = microbatch_tokens(r);
  const double tp = static_cast<double>(r.layout.tensor);
  const double sequence = static_cast<double>(r.sequence_length);
  const double both_widths = static_cast<double>(t.query_width() + t.output_width());
  if (r.stack.attention.value != AttentionKernel::unfused) {
    const double flop =
        tokens * architecture::detail::forward_scores(t, sequence).causal / static_cast<double>(t.layers) / tp;
    const bool early = r.stack.attention.value == AttentionKernel::early;
    T share = early ? e.attention_early : e.attention;
    if (early && r.machine.year > 2021) share *= e.attention_early_on_later;
    const T seconds = flop / (share * c.ceiling);
    return {seconds + c.kernel_seconds, 2.5 * seconds + c.kernel_seconds};
  }
  const double head_width = both_widths / (2 * static_cast<double>(t.heads));
  const double narrow = head_width < 128 ? std::pow(head_width / 128, 0.35) : 1;
  const T seconds = 2 * tokens * sequence * both_widths / tp / (e.unfused_attention * c.product16 * narrow);
  const double scores = tokens * sequence * static_cast<double>(t.heads) / tp;
  return {seconds + 11 * scores / c.memory + 4 * c.kernel_seconds,
          2 * seconds + 13 * scores / c.memory + 5 * c.kernel_seconds};
}

struct LayerBytes {
  double operators = 0;  // which eager kernels multiply
  double casts = 0;
};

// Of one average layer in one pass; pick takes the pass's column of the traffic.
template <class Pick>
[[nodiscard]] LayerBytes elementwise_bytes(const StepRequest& r, const ElementwiseTraffic& traffic, double block_casts,
                                           double with_experts, Pick pick) {
  const architecture::Transformer& t = r.shape;
  const double d = static_cast<double>(t.width);
  const double tp = static_cast<double>(r.layout.tensor);
  const double output = static_cast<double>(t.output_width());
  const double projected = static_cast<double>(t.query_width()) + tp * keys_values_width(r);
  double inner = (1 - with_experts) * static_cast<double>(t.ffn_width);  // of blocks that every token goes through
  double cast_inner = inner;
  double routed = 0;
  if (with_experts > 0) {
    const architecture::Experts& x = *t.experts;
    const double active = static_cast<double>(x.active);
    const double width = static_cast<double>(x.width);
    inner += with_experts * static_cast<double>(x.shared_width);
    cast_inner += with_experts * (static_cast<double>(x.shared_width) + active * width);
    routed = with_experts * active * (pick(traffic.routed) * d + pick(traffic.routed_inner) * width);
  }
  const double uncut = r.stack.sequence_parallel.value ? tp : 1;
  const double operators =
      pick(traffic.residual) * d / uncut + ((pick(traffic.inner) + (t.gated ? pick(traffic.gate) : 0)) * inner +
                                            pick(traffic.projections) * projected + routed) /
                                               tp;
  const bool low = r.precision != catalog::Precision::bf16;
  const double casts =
      low ? (r.block_scaled ? block_casts : 1) * pick(traffic.casts) * (d + (output + cast_inner + d) / tp) : 0;
  const double tokens = microbatch_tokens(r);
  return {operators * tokens, casts * tokens};
}

}  // namespace detail

// r must have passed check(); e may be of dual numbers and then speaks for r.efficiencies.
template <class T>
[[nodiscard]] LayerTime<T> layer_time(const StepRequest& r, const BasicEfficiencies<T>& e) {
  const ComputeRates<T> c = compute_rates(r, e);
  LayerTime<T> out;
  const double with_experts = detail::expert_layer_share(r.shape);
  out.products = detail::layer_products(r, e, c, with_experts);
  out.attention = detail::attention_core(r, e, c);
  const T eager = r.stack.elementwise.value == Elementwise::eager ? e.eager : T(1.0);
  const auto seconds = [&](const detail::LayerBytes& b) { return T((eager * b.operators + b.casts) / c.memory); };
  out.elementwise = {seconds(detail::elementwise_bytes(r, e.traffic, e.block_casts, with_experts,
                                                       [](const TrafficBytes& b) { return b.forward; })),
                     seconds(detail::elementwise_bytes(r, e.traffic, e.block_casts, with_experts,
                                                       [](const TrafficBytes& b) { return b.backward; }))};
  return out;
}

// The output head and its loss, of one microbatch on the last stage.
template <class T>
[[nodiscard]] T head_time(const StepRequest& r, const BasicEfficiencies<T>& e) {
  const ComputeRates<T> c = compute_rates(r, e);
  const double tokens = detail::microbatch_tokens(r);
  const double words = static_cast<double>(r.shape.vocabulary) / static_cast<double>(r.layout.tensor);
  const Passes<T> p = detail::product(tokens, words, static_cast<double>(r.shape.width), c.product16, c);
  return p.forward + p.backward + e.traffic.logits * tokens * words / c.memory;
}

}  // namespace floplan::cluster
