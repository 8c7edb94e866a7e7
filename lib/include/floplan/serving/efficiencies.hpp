// SPDX-License-Identifier: BSD-3-Clause
//
// The few numbers of the serving model that are fitted to measured throughputs, and those that are held fixed.
//
//   Efficiencies e;                  the fit's values
//   e.gemm = 0.7;                    or a user's own
//   serving_priors()                 each with its prior, its bounds, and what the fit said of it
//   ideal()                          every share 1 and every latency 0: a bound that nothing passes
//
// Shares are of a vendor's dense peak (gemm of the peak of the arithmetic; attention of the bf16 peak) or nominal bandwidth.
//
// Source: TensorRT-LLM 1.0's published throughputs (60 rows: Llama 3.1 8B, 3.3 70B, 3.1 405B, Qwen3-235B on H100 and H200 in
// FP8) by calibration.hpp: log throughput, Huber at 1.5 deviations of 0.10, log-normal priors; a test fits them again.
// Priors: NCCL's LL protocol for a collective's latency, shares as measured kernels reach, grouped products as in training
// steps (cluster/efficiencies.hpp). gemm_fp4 is the ratio of what FP4 and FP8 products reach there.
// Pitfall: gemm is of FP8 on Hopper, and memory is at its bound: what another part reaches is not known, and confidence.hpp
// says so. One mixture of experts was measured: experts and expert_layer_seconds are its own.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace floplan::serving {

// T is double, or a type of dual numbers in a calibration.
template <class T>
struct BasicEfficiencies {
  T gemm{0.628};                    // e_c
  T padded_rows{73.7};              // m0, rows that a product of few rows is charged beside its own
  T memory{0.94};                   // e_b
  T attention{0.368};               // e_a, of prompts
  T scale_up{0.69};                 // e_n
  T all_reduce_latency{3.96};       // a_l, times NCCL's own
  T step_seconds{0.894e-3};         // t_0, of the host
  T row_seconds{3.56e-6};           // t_r, of the host and the sampler, a row of logits
  T experts{0.301};                 // e_moe, of a grouped product beside a dense one
  T expert_layer_seconds{44.5e-6};  // t_moe

  double gemm_bf16 = 0.75;        // of 16-bit products, the output head's among them
  double gemm_fp4 = 0.75;         // of gemm, in 4-bit products
  double layer_seconds = 8e-6;    // t_l, kernels that are too short for their launch
  double elementwise = 0.5;       // c_act, of the traffic that separate kernels would cause
  double latent_attention = 0.8;  // of gemm_bf16 or gemm, products with the latent cache
  double roughness = 3;           // power of the mean in which a kernel's two bounds meet
};
using Efficiencies = BasicEfficiencies<double>;

[[nodiscard]] inline Efficiencies ideal() {
  Efficiencies e;
  e.gemm = e.memory = e.attention = e.scale_up = e.experts = 1;
  e.padded_rows = e.all_reduce_latency = e.step_seconds = e.row_seconds = e.expert_layer_seconds = 0;
  e.gemm_bf16 = e.gemm_fp4 = e.latent_attention = 1;
  e.layer_seconds = e.elementwise = 0;
  e.roughness = 200;
  return e;
}

inline constexpr std::size_t fitted_count = 10;

struct Prior {
  std::string_view name;
  double BasicEfficiencies<double>::*member;
  double centre;
  double deviation;  // of the logarithm
  double low, high;
};

[[nodiscard]] inline const std::array<Prior, fitted_count>& serving_priors() {
  using E = Efficiencies;
  static const std::array<Prior, fitted_count> all{{
      {"gemm", &E::gemm, 0.70, 0.15, 0.4, 0.95},
      {"padded_rows", &E::padded_rows, 64, 0.7, 4, 600},
      {"memory", &E::memory, 0.88, 0.08, 0.5, 0.94},
      {"attention", &E::attention, 0.40, 0.4, 0.05, 0.9},
      {"scale_up", &E::scale_up, 0.60, 0.35, 0.1, 1},
      {"all_reduce_latency", &E::all_reduce_latency, 1.5, 0.6, 0.5, 6},
      {"step_seconds", &E::step_seconds, 1.5e-3, 0.8, 0.1e-3, 20e-3},
      {"row_seconds", &E::row_seconds, 3e-6, 0.8, 0.1e-6, 30e-6},
      {"experts", &E::experts, 0.555, 0.4, 0.1, 1},
      {"expert_layer_seconds", &E::expert_layer_seconds, 50e-6, 1.0, 1e-6, 600e-6},
  }};
  return all;
}

// What the shipped fit leaves for a user's rows to start from: its values, each with what its curvature left of its prior's
// deviation.
[[nodiscard]] inline std::array<Prior, fitted_count> shipped_priors() {
  constexpr std::array<double, fitted_count> left{0.33, 0.42, 0.72, 0.51, 0.47, 0.39, 0.91, 0.60, 0.24, 0.83};
  std::array<Prior, fitted_count> out = serving_priors();
  const Efficiencies shipped;
  for (std::size_t i = 0; i < fitted_count; ++i) {
    out[i].centre = shipped.*out[i].member;
    out[i].deviation *= left[i];
  }
  return out;
}

template <class T>
[[nodiscard]] std::array<T*, fitted_count> fitted_values(BasicEfficiencies<T>& e) {
  return {&e.gemm,         &e.padded_rows, &e.memory,  &e.attention,           &e.scale_up, &e.all_reduce_latency,
          &e.step_seconds, &e.row_seconds, &e.experts, &e.expert_layer_seconds};
}

// The same numbers as another scalar, for a calibration to seed with derivatives.
template <class T>
[[nodiscard]] BasicEfficiencies<T> lift(const Efficiencies& e) {
  return {T(e.gemm),          T(e.padded_rows),
          T(e.memory),        T(e.attention),
          T(e.scale_up),      T(e.all_reduce_latency),
          T(e.step_seconds),  T(e.row_seconds),
          T(e.experts),       T(e.expert_layer_seconds),
          e.gemm_bf16,        e.gemm_fp4,
          e.layer_seconds,    e.elementwise,
          e.latent_attention, e.roughness};
}

}  // namespace floplan::serving
