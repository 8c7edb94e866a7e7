// SPDX-License-Identifier: BSD-3-Clause
//
// What the catalogs hold: plain records with their provenance. A record knows no cost model.
//
//   Accelerator           peaks (dense only), the GEMM rate measured beside the peak, memory, links, power
//   Model                 a transformer shape and what it was trained on
//   Price                 dollars an accelerator-hour: who, what kind of contract, when
//   InterruptionWindow    failures counted on a cluster over a time, with their categories
//   Run                   a published whole run: hours, days, energy, and what kind of figure its hours are
//   Law                   a scaling law with what its numbers mean
//
// A value that is not known is absent, never zero. Sources stand in each record; data/README.md has the columns and units.
// Pitfall: vendors print sparse peaks, twice the dense ones, and training reaches neither: read bf16_gemm_measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/architecture/transformer.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/provenance.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::catalog {

enum class Precision { bf16, fp8, fp4 };

[[nodiscard]] inline std::string to_text(Precision p) {
  switch (p) {
    case Precision::fp8: return "fp8";
    case Precision::fp4: return "fp4";
    case Precision::bf16: break;
  }
  return "bf16";
}

// where: what asked for it, for the error of another word.
[[nodiscard]] inline Precision precision_named(std::string_view text, std::string_view where) {
  for (const Precision p : {Precision::bf16, Precision::fp8, Precision::fp4}) {
    if (text == to_text(p)) return p;
  }
  throw Error(Failure::usage, "bad_value", std::string(where),
              "must be bf16, fp8 or fp4, got \"" + std::string(text) + "\"");
}

[[nodiscard]] constexpr double bytes_per_value(Precision p) {
  return p == Precision::bf16 ? 2 : p == Precision::fp8 ? 1 : 0.5;
}

struct Accelerator {
  std::string name;
  std::vector<std::string> aliases;
  std::string title;
  std::string vendor;
  std::optional<double> year;
  std::optional<FlopPerSecond> bf16_dense, fp8_dense, fp4_dense;  // vendor's peak without sparsity
  std::optional<FlopPerSecond> bf16_gemm_measured;                // best matrix product that was measured
  std::optional<Bytes> memory;
  std::optional<BytesPerSecond> memory_bandwidth;
  std::optional<BytesPerSecond> scale_up;  // one direction, all links of one accelerator
  std::optional<Count> scale_up_domain;    // accelerators that the scale-up links join
  std::optional<BytesPerSecond> network;   // one direction, its share of the node's network cards
  std::optional<Watts> power;
  std::string power_term;  // what the vendor calls it: TDP, TBP, ...
  std::optional<Count> accelerators_per_node;
  Provenance provenance;

  [[nodiscard]] std::optional<FlopPerSecond> dense_peak(Precision p) const {
    return p == Precision::bf16 ? bf16_dense : p == Precision::fp8 ? fp8_dense : fp4_dense;
  }
};

struct Model {
  std::string name;
  std::vector<std::string> aliases;
  std::string title;
  architecture::Transformer shape;
  std::optional<Tokens> sequence_length;                                        // of the main pre-training stage
  std::optional<Parameters> published_parameters, published_active_parameters;  // as printed: exact, or rounded
  std::string difference;  // why a computed count is not the published one
  std::optional<Tokens> training_tokens;
  Provenance provenance;
};

struct Price {
  std::string name;
  std::vector<std::string> aliases;
  std::string accelerator;
  std::string kind;  // index, contract-1y, on-demand, list, assumption, estimate
  std::optional<DollarsPerHour> low, typical, high;
  Provenance provenance;
};

struct InterruptionCategory {
  std::string window;  // name of the InterruptionWindow
  std::string component;
  std::string category;
  double count = 0;
  std::optional<double> printed_percent;
  Provenance provenance;
};

struct InterruptionWindow {
  std::string name;
  std::vector<std::string> aliases;
  std::string title;
  std::string accelerator;
  std::optional<Count> accelerators;
  std::optional<Count> accelerators_per_node;
  std::optional<Seconds> duration;
  std::optional<double> unexpected;         // events
  std::optional<double> planned;            // events
  std::optional<double> manual;             // unexpected events that needed a person
  std::optional<double> rate_per_node_day;  // where only the rate is published
  Provenance provenance;
};

struct Run {
  std::string name;
  std::vector<std::string> aliases;
  std::string title;
  std::string model;
  std::optional<Parameters> parameters;
  std::optional<Parameters> active_parameters;
  std::optional<Tokens> tokens;
  std::string accelerator;
  std::optional<Count> accelerators;
  std::optional<AcceleratorHours> accelerator_hours;
  std::optional<Seconds> wall_clock;
  std::optional<FlopPerSecond> steady_rate;  // of one accelerator
  std::optional<Flop> training_flop;
  std::string flop_convention;
  std::string hours_kind;  // occupancy | computed | more_than_the_run | unknown
  std::optional<double> unexpected_interruptions, planned_interruptions;
  std::optional<WattHours> energy;
  std::optional<double> co2e_tonnes;
  Provenance provenance;
};

using Law = law::LawRecord<law::Chinchilla<>>;

}  // namespace floplan::catalog
