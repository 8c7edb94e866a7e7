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
// Source: fitted by `floplan step calibrate` to 255 published step times and 1,440 of single nodes (Korthikanti 2022 table 5,
// Narayanan 2021 tables 1 and 2, BLOOM, Llama 3 table 4, vTrain, MosaicML llm-foundry, NVIDIA Megatron Bridge), rounded;
// calibration.hpp says how, data/efficiencies/published.toml holds the report. Dense rows: mean error 5.4% in-sample, 6.6%
// with each publisher left out (90th percentile 12.7%); Korthikanti's eight, left out, 3.0% (most 6.9%).
// The fixed ones were chosen by left-out error: regather, host_tensor, host_sockets, host_microbatch, data_hop_seconds,
// block_casts and the straggler's exact maximum earned their place; a loss of rate in short products (K + 64 to 256 for K), a
// sharper knee between host and processor, and a host term growing with the ranks did not.
// Pitfall: memory, early attention and eager rest on few publishers, and gemm trades with straggler: a value alone says
// little, the set is what was fitted. experts rests on one publisher's rows of one model.
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
  T gemm{0.888};             // e_gemm
  T attention{0.625};        // e_attn, current kernels
  T attention_early{0.372};  // e_attn_old, on parts to 2021
  T memory{0.746};           // e_mem
  T network{0.770};          // e_nic
  T host_seconds{8.86e-4};   // t_host, a layer's forward pass on a slow host
  T fp8{0.715};              // e_fp8
  T fp4{0.570};              // e_fp4
  T experts{0.604};          // e_moe, of a grouped product beside a whole one
  T eager{1.795};            // k_eager, elementwise time of eager kernels over fused

  T scale_up{0.78};           // e_link: collectives reach 235 of 300 GB/s
  T straggler{0.02};          // sigma of one node's time
  T exposed_overlapped{0.2};  // x_tp, of tensor, context and pipeline communication that overlaps
  T exposed_overlapped_experts{0.7};
  T hides_data{0.6};                // o_dp, of a microbatch's time, that can hide data parallel communication
  T hidden_data_cost{0.4};          // x_fs, of hidden FSDP traffic, which takes processors and memory from the rest
  T attention_early_on_later{0.6};  // of attention_early, on parts after 2021
  T unfused_attention{0.75};        // of gemm, for heads of 128 and wider
  T regather{0.7};                  // exposed of the gathers that sequence parallelism repeats in a backward pass
  T host_tensor{0.1};               // of host_seconds, more where a layer starts tensor parallel collectives
  T host_sockets{0.3};              // of host_seconds, more where more than 4 ranks wait for each other on two sockets
  T host_microbatch{1};             // layer passes of host time that a microbatch costs beside its layers

  double kernel_seconds = 3e-6;       // t_ramp, of every kernel
  double fast_host = 0.3;             // of host_seconds
  double backward_host = 1.3;         // of a forward pass's host time
  double ring_hop_seconds = 4e-6;     // one step of a tensor parallel ring
  double collective_seconds = 20e-6;  // start of a collective; a level of a tree
  double data_hop_seconds = 8e-6;     // one step of a ring of FSDP
  double send_seconds = 15e-6;        // start of a pipeline send
  double straggler_unit = 8;          // accelerators that share one draw of the straggler
  double optimizer_bytes = 38;        // a parameter that a rank updates
  double update_bytes = 6;            // a parameter that a rank holds: clearing and copying
  double block_casts = 2;             // of the casts: scales of blocks need a copy for each direction of a matrix
  double measured_factor = 1;         // of the step, from a user's own runs (calibration.hpp)
  ElementwiseTraffic traffic{};
};
using Efficiencies = BasicEfficiencies<double>;

struct FittedEfficiency {
  std::string_view name;
  double BasicEfficiencies<double>::*member;
  double low, high;  // 90% of a bootstrap over cells (a model on a part of a publisher)
  double prior_mean, prior_deviation;
  double width_left;                  // of the prior's, that the rows' curvature leaves
  double lowest = 0.05, highest = 1;  // bounds of a fit

  // Whether the rows say more than the prior: below half of its width yes, below 0.8 weakly.
  [[nodiscard]] constexpr std::string_view identified() const {
    return width_left < 0.5 ? "yes" : width_left < 0.8 ? "weakly" : "no";
  }
};

[[nodiscard]] inline const std::array<FittedEfficiency, 10>& fitted_efficiencies() {
  using E = Efficiencies;
  static const std::array<FittedEfficiency, 10> all{{
      {"gemm", &E::gemm, 0.876, 0.905, 0.88, 0.08, 0.24},
      {"attention", &E::attention, 0.553, 0.658, 0.62, 0.12, 0.64},
      {"attention_early", &E::attention_early, 0.361, 0.381, 0.40, 0.08, 0.25},
      {"memory", &E::memory, 0.712, 0.777, 0.75, 0.08, 0.56},
      {"network", &E::network, 0.728, 0.797, 0.70, 0.15, 0.26},
      {"host_seconds", &E::host_seconds, 8.64e-4, 8.97e-4, 0.5e-3, 0.3e-3, 0.05, 1e-5, 5e-3},
      {"fp8", &E::fp8, 0.700, 0.741, 0.75, 0.10, 0.29},
      {"fp4", &E::fp4, 0.529, 0.612, 0.60, 0.12, 0.46},
      {"experts", &E::experts, 0.303, 0.653, 0.60, 0.15, 0.63},
      {"eager", &E::eager, 1.675, 1.916, 1.5, 0.4, 0.52, 1, 4},
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
          T(e.regather),
          T(e.host_tensor),
          T(e.host_sockets),
          T(e.host_microbatch),
          e.kernel_seconds,
          e.fast_host,
          e.backward_host,
          e.ring_hop_seconds,
          e.collective_seconds,
          e.data_hop_seconds,
          e.send_seconds,
          e.straggler_unit,
          e.optimizer_bytes,
          e.update_bytes,
          e.block_casts,
          e.measured_factor,
          e.traffic};
}

template <class T>
[[nodiscard]] std::array<T*, 10> fitted_values(BasicEfficiencies<T>& e) {
  return {&e.gemm, &e.attention, &e.attention_early, &e.memory, &e.network, &e.host_seconds,
          &e.fp8,  &e.fp4,       &e.experts,         &e.eager};
}

}  // namespace floplan::cluster
