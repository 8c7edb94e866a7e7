// SPDX-License-Identifier: BSD-3-Clause
//
// What a cluster is built of, as plain numbers: an accelerator, the links that join it to its neighbours, the network.
//
//   const Machine m = machine_of(catalog.accelerator("h100-sxm"));
//   const Machine mine = machine_of(catalog.accelerator("a100"), {.network = BytesPerSecond(12.5e9)});
//
// gemm_ceiling is the best matrix product that was measured on the part (bf16), not the vendor's peak; those of fp8 and fp4
// are it times the ratio of the peaks. Where nobody measured one it is a share of the peak, and `assumptions` says so: 0.80
// to 2023, 0.78 after, 0.73 in rack-scale domains (those measured lie at 0.73 to 0.87, AMD's at 0.51 to 0.63).
//
// A pod is what the network joins at full bandwidth; above it each accelerator has 1/oversubscription of its card.
// Sources: the catalog's; the shares: H100 794/989, B200 1745/2250, GB200 1822/2450. Llama 3 (arXiv 2407.21783): pods of
// 3,072 accelerators, 1:7 above.
// Pitfall: bandwidths are of one direction and of one accelerator. A node's total, or both directions together, are larger.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "floplan/catalog/records.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::cluster {

struct Machine {
  std::string accelerator{};
  double year = 0;               // of the part; 0: not known
  FlopPerSecond gemm_ceiling{};  // bf16, measured or assumed
  FlopPerSecond bf16_peak{};     // dense
  FlopPerSecond fp8_peak{};      // 0 where the part has none
  FlopPerSecond fp4_peak{};      // 0 where the part has none
  BytesPerSecond memory_bandwidth{};
  BytesPerSecond scale_up{};    // one direction, of one accelerator
  Count scale_up_domain{8};     // accelerators that those links join
  BytesPerSecond network{};     // one direction, of one accelerator
  Count pod{0};                 // accelerators at full bisection; 0: all of them
  double oversubscription = 1;  // above a pod
  std::vector<Warning> assumptions{};

  [[nodiscard]] FlopPerSecond peak(catalog::Precision p) const {
    return p == catalog::Precision::bf16 ? bf16_peak : p == catalog::Precision::fp8 ? fp8_peak : fp4_peak;
  }
  [[nodiscard]] FlopPerSecond ceiling(catalog::Precision p) const { return gemm_ceiling * (peak(p) / bf16_peak); }
};

// What a user knows better than the catalog.
struct MachineOptions {
  std::optional<FlopPerSecond> gemm_ceiling{};
  std::optional<BytesPerSecond> memory_bandwidth{};
  std::optional<BytesPerSecond> scale_up{};
  std::optional<Count> scale_up_domain{};
  std::optional<BytesPerSecond> network{};
  Count pod{0};
  double oversubscription = 1;
};

// Throws Error(usage) unless rates are positive and finite and counts are whole.
inline void check(const Machine& m) {
  const auto positive = [&m](double value, const char* what) {
    if (!(value > 0) || !std::isfinite(value)) {
      throw Error(Failure::usage, "out_of_range", "machine",
                  std::string(what) + " of " + (m.accelerator.empty() ? "the accelerator" : m.accelerator) +
                      " must be positive and finite, got " + print_number(value, 6));
    }
  };
  positive(m.gemm_ceiling.value, "the best matrix product");
  positive(m.bf16_peak.value, "the bf16 peak");
  if (m.gemm_ceiling > m.bf16_peak) {
    throw Error(Failure::usage, "sparse_peak", "machine",
                "the best matrix product must be at most the dense bf16 peak of " + print(m.bf16_peak) + ", got " +
                    print(m.gemm_ceiling) + " (a vendor's peak with sparsity is twice the dense one)");
  }
  positive(m.memory_bandwidth.value, "memory bandwidth");
  positive(m.scale_up.value, "scale-up bandwidth");
  positive(m.network.value, "network bandwidth");
  positive(m.scale_up_domain.value, "the scale-up domain");
  if (m.scale_up_domain.value != std::floor(m.scale_up_domain.value) || m.scale_up_domain.value > 1e9) {
    throw Error(Failure::usage, "out_of_range", "machine",
                "the scale-up domain must be whole and at most 1e9, got " + print(m.scale_up_domain));
  }
  if (!(m.fp8_peak.value >= 0) || !(m.fp4_peak.value >= 0) || !std::isfinite(m.fp8_peak.value + m.fp4_peak.value)) {
    throw Error(
        Failure::usage, "out_of_range", "machine",
        "fp8 and fp4 peaks must be finite and at least 0, got " + print(m.fp8_peak) + " and " + print(m.fp4_peak));
  }
  if (!(m.pod.value >= 0) || !(m.oversubscription >= 1) || !std::isfinite(m.pod.value + m.oversubscription)) {
    throw Error(Failure::usage, "out_of_range", "machine",
                "a pod must have at least 0 accelerators and oversubscription must be at least 1, got " + print(m.pod) +
                    " and " + print_number(m.oversubscription, 6));
  }
}

namespace detail {

template <class Q>
[[nodiscard]] Q known(const std::optional<Q>& given, const std::optional<Q>& listed, const std::string& accelerator,
                      const char* what) {
  if (given) return *given;
  if (listed) return *listed;
  throw Error(Failure::usage, "not_known", "machine",
              std::string(what) + " of " + accelerator + " must be given: the catalog has none");
}

[[nodiscard]] inline double assumed_share_of_peak(const catalog::Accelerator& a, Count domain) {
  if (a.year.value_or(0) < 2024) return 0.80;
  return domain.value > 8 ? 0.73 : 0.78;
}

}  // namespace detail

// Throws Error(usage) where a rate is in neither the record nor the options.
[[nodiscard]] inline Machine machine_of(const catalog::Accelerator& a, const MachineOptions& options = {}) {
  using detail::known;
  Machine m;
  m.accelerator = a.name;
  m.year = a.year.value_or(0);
  m.bf16_peak = known<FlopPerSecond>({}, a.bf16_dense, a.name, "the bf16 peak");
  m.fp8_peak = a.fp8_dense.value_or(FlopPerSecond(0));
  m.fp4_peak = a.fp4_dense.value_or(FlopPerSecond(0));
  m.memory_bandwidth = known(options.memory_bandwidth, a.memory_bandwidth, a.name, "memory bandwidth");
  m.scale_up = known(options.scale_up, a.scale_up, a.name, "scale-up bandwidth");
  m.network = known(options.network, a.network, a.name, "network bandwidth");
  m.pod = options.pod;
  m.oversubscription = options.oversubscription;
  if (options.scale_up_domain || a.scale_up_domain) {
    m.scale_up_domain = options.scale_up_domain ? *options.scale_up_domain : *a.scale_up_domain;
  } else {
    m.assumptions.push_back({"scale_up_domain",
                             "8 accelerators are taken to share scale-up links; the catalog does not "
                             "say how many of " +
                                 a.name + " do"});
  }
  if (options.gemm_ceiling || a.bf16_gemm_measured) {
    m.gemm_ceiling = options.gemm_ceiling ? *options.gemm_ceiling : *a.bf16_gemm_measured;
  } else {
    const double share = detail::assumed_share_of_peak(a, m.scale_up_domain);
    m.gemm_ceiling = m.bf16_peak * share;
    m.assumptions.push_back(
        {"gemm_ceiling", "the best matrix product of " + a.name + " is taken as " + print_number(100 * share, 3) +
                             "% of its peak, " + print(m.gemm_ceiling, 4) +
                             ": none was measured, and an error in it passes into the answer one for one"});
  }
  check(m);
  return m;
}

}  // namespace floplan::cluster
