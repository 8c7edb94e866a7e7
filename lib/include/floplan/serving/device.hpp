// SPDX-License-Identifier: BSD-3-Clause
//
// An accelerator as an inference engine sees it, in plain numbers.
//
//   const Device d = device_of(catalog.accelerator("h100-sxm"));
//   const Device mine = device_of(catalog.accelerator("h100-sxm"), {.memory = Bytes(94e9)});
//
// Peaks are dense, bandwidths of one direction and one accelerator. `memory` is what software is shown: NVIDIA's labels are
// binary and the driver keeps half a percent ("80 GB" shows 79.6 GiB = 85.5e9 bytes, "141 GB" 140.4 GiB = 150.8e9); other
// vendors' labels are taken as they stand, in decimal.
//
// Sources: the catalog's. Shown memory: H100 and H200 under trtllm-bench 1.0.
// Pitfall: taking 80 GB for 80e9 bytes costs a seventh of the batch of a model that fills the memory.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "floplan/catalog/records.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::serving {

struct Device {
  std::string name{};
  std::string vendor{};
  double bf16_peak = 0, fp8_peak = 0, fp4_peak = 0;  // FLOP/s; 0 where it has none
  double memory = 0;                                 // bytes
  double memory_bandwidth = 0;                       // bytes/s
  double scale_up = 0;                               // bytes/s; 0 where it is not known
  double scale_up_domain = 8;
  double network = 0;  // bytes/s; 0 where it is not known
  double power = 0;    // W; 0 where it is not known

  [[nodiscard]] double peak(catalog::Precision p) const {
    return p == catalog::Precision::bf16 ? bf16_peak : p == catalog::Precision::fp8 ? fp8_peak : fp4_peak;
  }
};

// What a user knows better than the catalog.
struct DeviceOptions {
  std::optional<Bytes> memory{};
  std::optional<BytesPerSecond> memory_bandwidth{};
};

// Bytes that software is shown of a label.
[[nodiscard]] inline Bytes shown_memory(Bytes label, std::string_view vendor) {
  constexpr double gibibyte = 1073741824, gigabyte = 1e9, kept_by_driver = 0.005;
  return vendor == "NVIDIA" ? Bytes(label.value / gigabyte * gibibyte * (1 - kept_by_driver)) : label;
}

// Throws Error(usage) where the bf16 peak, the memory or its bandwidth is known to neither the record nor the options.
[[nodiscard]] inline Device device_of(const catalog::Accelerator& a, const DeviceOptions& options = {}) {
  const auto known = [&a](double value, const char* what) {
    if (value > 0 && std::isfinite(value)) return value;
    throw Error(Failure::usage, "not_known", "serving",
                std::string(what) + " of " + a.name + " must be given, positive and finite: the catalog has none");
  };
  const auto value_of = [](const auto& quantity) { return quantity ? quantity->value : 0.0; };
  Device d;
  d.name = a.name;
  d.vendor = a.vendor;
  d.bf16_peak = known(value_of(a.bf16_dense), "the bf16 peak");
  d.fp8_peak = value_of(a.fp8_dense);
  d.fp4_peak = value_of(a.fp4_dense);
  d.memory = known(options.memory ? options.memory->value
                   : a.memory     ? shown_memory(*a.memory, a.vendor).value
                                  : 0,
                   "memory");
  d.memory_bandwidth =
      known(value_of(options.memory_bandwidth ? options.memory_bandwidth : a.memory_bandwidth), "memory bandwidth");
  d.scale_up = value_of(a.scale_up);
  d.scale_up_domain = a.scale_up_domain ? a.scale_up_domain->value : 8;
  d.network = value_of(a.network);
  d.power = value_of(a.power);
  return d;
}

}  // namespace floplan::serving
