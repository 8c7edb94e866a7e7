// SPDX-License-Identifier: BSD-3-Clause
//
// A training run to be planned, as plain data: what is trained, on what, how fast, how often it breaks, at what price.
//
//   Request r;
//   r.shape = catalog.model("llama-3.1-405b").shape;   r.accelerator = catalog.accelerator("h100-sxm");
//   r.stages.push_back({.name = "main", .tokens = Tokens(15.6e12), .accelerators = Count(16384), .achieved = FlopPerSecond(400e12)});
//   Plan p = make_plan(r);                             (planner.hpp)
//
// An input that is not known exactly is an Uncertain: a log-normal whose 10th and 90th percentiles are low and high. A
// file holds the same request as TOML (request_file.hpp).
//
// A stage says how fast it goes in exactly one of three ways: `achieved` or `mfu`; a layout without either, whose step time
// the cluster's model then predicts (layout_model.hpp); or `search`, which finds the layout first (layout_choice.hpp). A layout
// beside a rate is a description: it is checked, and the rate stands.
//
// Pitfall: `achieved` is the steady rate of one accelerator, counted by `flop_convention`; a rate measured under another
// convention (6N against causal attention) moves the days by the ratio of the two.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/architecture/training_flop.hpp"
#include "floplan/catalog/records.hpp"
#include "floplan/cluster/efficiencies.hpp"
#include "floplan/cluster/machine.hpp"
#include "floplan/cluster/software_stack.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/scaling_law.hpp"
#include "floplan/plan/stage_layout.hpp"
#include "floplan/reliability/interruption_rate.hpp"
#include "floplan/reliability/unexplained_loss.hpp"

namespace floplan::plan {

// What is planned with where a request does not say; request_reader.hpp names each that it fills in.
namespace defaults {
inline constexpr Fraction achieved_spread{0.03};
inline constexpr Tokens sequence_length{8192};
inline constexpr Seconds restart_low{300}, restart_high{600};
inline constexpr Seconds stall{30};
inline constexpr Fraction memory_share{0.9};
// An 8 x H100 node measured 76% of its rating under training, 0.97 kW a 700 W accelerator (arXiv 2506.14551).
inline constexpr double node_power_factor = 970.0 / 700.0;
inline constexpr double pue = 1.2;
inline constexpr KilogramsPerKwh grid{0.385};  // the US average, as LLaMA's card used it (arXiv 2302.13971)
inline constexpr std::size_t draws = 10000;
inline constexpr std::uint64_t seed = 1;
}  // namespace defaults

inline constexpr double normal_p90 = 1.2815515655446004;

template <class Q>
struct Uncertain {
  Q central;                   // the median
  std::optional<Q> low, high;  // 10th and 90th percentiles

  Uncertain() = default;
  Uncertain(Q exact) : central(exact) {}  // NOLINT(google-explicit-constructor): an exact value is an Uncertain
  [[nodiscard]] static Uncertain range(Q low, Q high) { return range(low, Q(std::sqrt(low.value * high.value)), high); }
  // Where the median is known too, each side is the half of a log-normal of its own width.
  [[nodiscard]] static Uncertain range(Q low, Q median, Q high) {
    Uncertain out(median);
    out.low = low;
    out.high = high;
    return out;
  }
  [[nodiscard]] bool spreads() const { return low && high && *low < *high; }
  // z: standard normal; 0 is the median.
  [[nodiscard]] Q at(double z) const {
    if (!spreads()) return central;
    return Q(central.value * std::pow((z < 0 ? *low : *high) / central, std::abs(z) / normal_p90));
  }
};

// "$2/h to $3/h (80%), median $2.45/h", or the one value.
template <class Q>
[[nodiscard]] std::string range_text(const Uncertain<Q>& u) {
  const std::string median = print_short(u.central, 3);
  return u.spreads() ? print_short(*u.low, 3) + " to " + print_short(*u.high, 3) + " (80%), median " + median : median;
}

// Every field has an initializer, so that {.tokens = ..., .accelerators = ...} compiles without a warning.
struct Stage {
  std::string name{};
  Tokens tokens{};
  Count accelerators{};
  Tokens sequence_length = defaults::sequence_length;  // an average where it changes within the stage
  std::optional<Count> global_batch{};                 // sequences a step
  std::optional<FlopPerSecond> achieved{};             // steady rate of one accelerator; or else
  std::optional<Fraction> mfu{};                       // the same as a share of the dense peak
  std::optional<StageLayout> layout{};
  bool search = false;  // for the layout with the shortest step
  // Where an option changed the accelerators under a rate that is given: those that it was given for.
  std::optional<Count> rate_of{};

  [[nodiscard]] bool predicted() const { return !achieved && !mfu; }
};

// Where a stage's rate comes from.
[[nodiscard]] inline std::string rate_text(const Stage& s) {
  return s.search ? "searched" : s.predicted() ? "predicted" : "given";
}

struct Reliability {
  reliability::InterruptionRate rate;
  std::string rate_source;
  std::optional<Count> observed_on;  // the size of the cluster that the rate was counted on
  Uncertain<Seconds> restart;        // interruptible: load, rebuild, warm up
  Uncertain<Seconds> wait;           // uninterruptible: detect, diagnose, replace
  double manual_per_day = 0;         // of the failures, how many a day wait for a person (whatever the cluster's size)
  Seconds manual_wait;
  double planned_per_day = 0;  // planned stops
  Seconds planned_duration;
  // What no failure rate explains (people, data, bugs), by one of these; without either it is left out.
  std::optional<reliability::Team> team;  // a factor on the run time, log-normal: reliability/unexplained_loss.hpp
  double unexplained_stops = 0;           // or the mean of an extra share of the time, exponential
};

// A second, cheaper tier beside the store: checkpoints to memory or to local disks.
struct MemoryCheckpoint {
  Uncertain<Seconds> stall;
  Fraction share = defaults::memory_share;  // of the failures that are handled automatically, those that it mends
  Uncertain<Seconds> restart, wait;         // after those
  std::optional<Seconds> interval;          // given beside the store's, which is a whole number of these; or neither
};

struct Checkpoint {
  Uncertain<Seconds> stall;         // what one checkpoint stops the job for
  std::optional<Seconds> interval;  // useful time between two; absent: the exact optimum of each stage
  std::optional<MemoryCheckpoint> memory;
};

struct Price {
  Uncertain<DollarsPerHour> accelerator_hour;
  std::string source;
};

// tdp: accelerator power alone, as model cards count it. node: with the node's other parts and the building (PUE).
enum class EnergyBasis { tdp, node };

struct Power {
  Watts accelerator;                      // rated power of one accelerator
  Watts node;                             // of its share of a node, measured under training
  double pue = defaults::pue;             // power usage effectiveness of the building
  KilogramsPerKwh grid = defaults::grid;  // CO2e of the electricity
  EnergyBasis basis = EnergyBasis::node;  // which of the two the headline takes
};

struct Request {
  std::string title;
  std::string model;                               // name, for people
  std::optional<architecture::Transformer> shape;  // or else
  std::optional<Parameters> parameters;            // a bare count: attention FLOP cannot be counted then
  std::optional<Parameters> active_parameters;     // of them, what a token uses; absent: all
  law::FlopConvention flop_convention = law::FlopConvention::causal;
  std::optional<catalog::Law> law;
  std::optional<double> target_loss;  // the stages' tokens are shares then, of as many as the law asks for
  catalog::Accelerator accelerator;
  catalog::Precision precision = catalog::Precision::bf16;
  std::optional<FlopPerSecond> peak;  // instead of the accelerator's dense peak
  std::vector<Stage> stages;
  // Of predicted steps: the software, whether a publisher's record says all of it, the machine's links where they are not the
  // catalog's, and what the user's own runs say.
  cluster::SoftwareStack stack;
  bool known_stack = false;
  cluster::MachineOptions machine;
  cluster::Efficiencies efficiencies;
  // Standard deviation of ln(rate achieved / rate given), common to all stages whose rate is given.
  Fraction achieved_spread = defaults::achieved_spread;
  Reliability reliability;
  Checkpoint checkpoint;
  std::optional<Price> price;
  std::optional<Power> power;  // absent: no energy in the plan
  std::optional<Seconds> deadline;
  std::size_t draws = defaults::draws;
  std::uint64_t seed = defaults::seed;
  unsigned threads = 0;              // 0: all cores; results do not depend on it
  std::vector<Warning> assumptions;  // what was filled in because the request did not say
};

// Where a field came from, and the kind of failure that a wrong value of it is.
struct Place {
  std::string where;
  Failure failure = Failure::usage;
};
using PlaceOf = std::function<Place(std::string_view path)>;  // path as "reliability.restart" or "stage[2].count"

}  // namespace floplan::plan
