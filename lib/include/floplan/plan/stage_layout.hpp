// SPDX-License-Identifier: BSD-3-Clause
//
// How a stage of a plan is laid out: what was said of it, and that settled where nothing was said.
//
//   StageLayout l = Layout{.tensor = 8, .pipeline = 16, .data = 128};      l.sharding = Sharding::zero2;
//   const SettledLayout s = settle(l, shape);      s.assumed names what was filled in: "8 chunks of layers a stage", ...
//
// Where nothing is said: microbatches of one sequence, as many chunks of layers a stage as divide it up to 8 (interleaving),
// a distributed optimizer (zero1), nothing recomputed.
//
// frugal(): the same layout with whatever was left open chosen to need least memory; what does not fit even so, does not
// fit.
// Source: architecture/layout.hpp and layout_words.hpp.
// Pitfall: a published layout rarely says its chunks and its sharding, and both move its time and its memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "floplan/architecture/layout.hpp"
#include "floplan/architecture/layout_words.hpp"
#include "floplan/architecture/transformer.hpp"

namespace floplan::plan {

using architecture::Layout;
using architecture::Recompute;
using architecture::Sharding;

struct StageLayout {
  Layout degrees{};
  std::optional<std::int64_t> interleave{};  // chunks of layers a stage; 1 in `degrees` says nothing
  std::optional<std::int64_t> microbatch{};  // sequences
  std::optional<Sharding> sharding{};
  std::optional<Recompute> recompute{};

  StageLayout() = default;
  StageLayout(const Layout& l) : degrees(l) {  // NOLINT(google-explicit-constructor): degrees alone are a layout
    if (l.interleave != 1) interleave = l.interleave;
  }
  [[nodiscard]] bool leaves_open() const { return !interleave || !microbatch || !sharding || !recompute; }
  friend bool operator==(const StageLayout&, const StageLayout&) = default;
};

struct SettledLayout {
  Layout degrees{};
  std::int64_t microbatch = 1;
  Sharding sharding = Sharding::zero1;
  Recompute recompute = Recompute::none;
  std::vector<std::string> assumed{};  // what was filled in

  // "TP8 CP1 PP16 DP128 VP8, microbatches of 1, zero1, recomputation none".
  [[nodiscard]] std::string describe() const {
    return to_text(degrees) + ", microbatches of " + std::to_string(microbatch) + ", " + to_text(sharding) +
           ", recomputation " + to_text(recompute);
  }
};

// global_batch: sequences a step, where they are known: too few microbatches to fill the stages are not interleaved, and no
// stages are where the schedule cannot.
[[nodiscard]] inline SettledLayout settle(const StageLayout& l, const architecture::Transformer& shape,
                                          std::optional<Count> global_batch = {}, bool interleaves = true) {
  SettledLayout out;
  out.degrees = l.degrees;
  const double each = static_cast<double>(l.degrees.data) * static_cast<double>(l.microbatch.value_or(1));
  const bool fills =
      interleaves && (!global_batch || global_batch->value >= each * static_cast<double>(l.degrees.pipeline));
  out.degrees.interleave = l.interleave.value_or(fills ? architecture::usual_interleave(shape, l.degrees.pipeline) : 1);
  if (!l.interleave && out.degrees.interleave > 1)
    out.assumed.push_back(std::to_string(out.degrees.interleave) + " chunks of layers a stage");
  out.microbatch = l.microbatch.value_or(1);
  if (!l.microbatch) out.assumed.push_back("microbatches of one sequence");
  out.sharding = l.sharding.value_or(l.degrees.data * l.degrees.context > 1 ? Sharding::zero1 : Sharding::none);
  if (!l.sharding && out.sharding != Sharding::none) out.assumed.push_back("a distributed optimizer (zero1)");
  out.recompute = l.recompute.value_or(Recompute::none);
  if (!l.recompute) out.assumed.push_back("nothing recomputed");
  return out;
}

[[nodiscard]] inline SettledLayout frugal(const StageLayout& l, const architecture::Transformer& shape,
                                          std::optional<Count> global_batch = {}, bool interleaves = true) {
  SettledLayout out = settle(l, shape, global_batch, interleaves);
  if (!l.sharding && l.degrees.data * l.degrees.context > 1) out.sharding = Sharding::zero3;
  if (!l.recompute) out.recompute = Recompute::full;
  out.assumed.clear();
  return out;
}

}  // namespace floplan::plan
