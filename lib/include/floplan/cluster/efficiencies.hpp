// SPDX-License-Identifier: BSD-3-Clause
//
// The few numbers of the step-time model that were fitted to measured runs, and those that were held fixed.
//
//   Efficiencies e;                  the fit's values
//   e.network = 0.9;                 or a user's own
//   fitted_efficiencies()            each with its 90% interval, its prior, and whether the rows identify it
//
// Shares are of: the measured bf16 ceiling (gemm, attention), that ceiling times the ratio of the peaks (fp8, fp4), the
// link's nominal rate (memory, network, scale_up). Times are seconds.
//
// Source: fitted to 255 published step times and 1,440 of single nodes (Korthikanti 2022 table 5, Narayanan 2021 tables 1 and
// 2, BLOOM, Llama 3 table 4, vTrain, MosaicML llm-foundry, NVIDIA Megatron Bridge): log time, soft L1 of scale 0.05, publishers
// weighted by n^(-1/4), weak priors, rounded. In-sample mean error 6.6%; 7.7% with each publisher left out.
// Pitfall: memory, early attention and eager rest on few publishers, experts is not identified, and gemm trades with
// straggler: a value alone says little, the set is what was fitted.
#pragma once

#include <array>
#include <string_view>

namespace floplan::cluster {

// Bytes through memory, forward and backward, of the operations between matrix products.
struct TrafficBytes {
  double forward = 0;
  double backward = 0;
};

// Counted from what fused kernels read and write in 16 bits; not fitted.
struct ElementwiseTraffic {
  TrafficBytes residual{22, 32};     // a token and unit of width: norms, residuals, dropout
  TrafficBytes inner{4, 8};          // a token and unit of feed-forward width
  TrafficBytes gate{2, 2};           // the same, more of a gated one
  TrafficBytes projections{4, 6};    // a token and unit of query, key and value width
  TrafficBytes casts{4, 8};          // a token and input value of a product in 8 or 4 bits
  TrafficBytes routed{12, 24};       // a routed token and unit of width: permutation there and back
  TrafficBytes routed_inner{8, 16};  // a routed token and unit of expert width
  double logits = 22;                // a token and word: fp32 logits, softmax, loss, gradient; both passes
};

// T is double, or a type of dual numbers in a calibration.
template <class T>
struct BasicEfficiencies {
  T gemm{0.863};             // e_gemm
  T attention{0.60};         // e_attn, current kernels
  T attention_early{0.375};  // e_attn_old, on parts to 2021
  T memory{0.767};           // e_mem
  T network{0.745};          // e_nic
  T host_seconds{1.025e-3};  // t_host, a layer's forward pass on a slow host
  T fp8{0.687};              // e_fp8
  T fp4{0.514};              // e_fp4
  T experts{0.555};          // e_moe, of a grouped product beside a whole one
  T eager{1.88};             // k_eager, elementwise time of eager kernels over fused

  T scale_up{0.78};           // e_link: collectives reach 235 of 300 GB/s
  T straggler{0.01};          // sigma of one node's time
  T exposed_overlapped{0.2};  // x_tp, of tensor, context and pipeline communication that overlaps
  T exposed_overlapped_experts{0.7};
  T hides_data{0.6};                // o_dp, of a microbatch's time, that can hide data parallel communication
  T hidden_data_cost{0.4};          // x_fs, of hidden FSDP traffic, which takes processors and memory from the rest
  T attention_early_on_later{0.6};  // of attention_early, on parts after 2021
  T unfused_attention{0.75};        // of gemm, for heads of 128 and wider

  double kernel_seconds = 3e-6;       // t_ramp, of every kernel
  double fast_host = 0.3;             // of host_seconds
  double backward_host = 1.3;         // of a forward pass's host time
  double ring_hop_seconds = 4e-6;     // one step of a tensor parallel ring
  double collective_seconds = 20e-6;  // start of a collective; a level of a tree
  double send_seconds = 15e-6;        // start of a pipeline send
  double straggler_unit = 8;          // accelerators that share one draw of the straggler
  double optimizer_bytes = 38;        // a parameter that a rank updates
  double update_bytes = 6;            // a parameter that a rank holds: clearing and copying
  ElementwiseTraffic traffic{};
};
using Efficiencies = BasicEfficiencies<double>;

enum class Identified { strongly, moderately, weakly, by_one_publisher, not_at_all };

struct FittedEfficiency {
  std::string_view name;
  double BasicEfficiencies<double>::*member;
  double low, high;  // 90% of a bootstrap over cells (accelerator or model of a publisher)
  double prior_mean, prior_deviation;
  Identified identified;
};

[[nodiscard]] inline const std::array<FittedEfficiency, 10>& fitted_efficiencies() {
  using E = Efficiencies;
  static const std::array<FittedEfficiency, 10> all{{
      {"gemm", &E::gemm, 0.850, 0.895, 0.88, 0.08, Identified::strongly},
      {"attention", &E::attention, 0.49, 0.68, 0.62, 0.12, Identified::moderately},
      {"attention_early", &E::attention_early, 0.373, 0.382, 0.40, 0.08, Identified::by_one_publisher},
      {"memory", &E::memory, 0.71, 0.83, 0.75, 0.08, Identified::weakly},
      {"network", &E::network, 0.61, 0.83, 0.70, 0.15, Identified::moderately},
      {"host_seconds", &E::host_seconds, 0.51e-3, 1.04e-3, 0.5e-3, 0.3e-3, Identified::by_one_publisher},
      {"fp8", &E::fp8, 0.66, 0.73, 0.75, 0.10, Identified::strongly},
      {"fp4", &E::fp4, 0.46, 0.60, 0.60, 0.12, Identified::by_one_publisher},
      {"experts", &E::experts, 0.27, 0.67, 0.60, 0.15, Identified::not_at_all},
      {"eager", &E::eager, 1.56, 2.30, 1.5, 0.4, Identified::by_one_publisher},
  }};
  return all;
}

// The same numbers as another scalar, for a calibration to seed with derivatives: in the order of fitted_efficiencies().
template <class T>
[[nodiscard]] BasicEfficiencies<T> lift(const Efficiencies& e) {
  return {T(e.gemm),
          T(e.attention),
          T(e.attention_early),
          T(e.memory),
          T(e.network),
          T(e.host_seconds),
          T(e.fp8),
          T(e.fp4),
          T(e.experts),
          T(e.eager),
          T(e.scale_up),
          T(e.straggler),
          T(e.exposed_overlapped),
          T(e.exposed_overlapped_experts),
          T(e.hides_data),
          T(e.hidden_data_cost),
          T(e.attention_early_on_later),
          T(e.unfused_attention),
          e.kernel_seconds,
          e.fast_host,
          e.backward_host,
          e.ring_hop_seconds,
          e.collective_seconds,
          e.send_seconds,
          e.straggler_unit,
          e.optimizer_bytes,
          e.update_bytes,
          e.traffic};
}

template <class T>
[[nodiscard]] std::array<T*, 10> fitted_values(BasicEfficiencies<T>& e) {
  return {&e.gemm, &e.attention, &e.attention_early, &e.memory, &e.network, &e.host_seconds,
          &e.fp8,  &e.fp4,       &e.experts,         &e.eager};
}

}  // namespace floplan::cluster
