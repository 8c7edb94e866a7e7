// SPDX-License-Identifier: BSD-3-Clause
//
// What a published TFLOP/s counts, so that a step time can be had from it.
//
//   flop_per_token(request, "model (6N+12Lds full attention)")      FLOP a token, or nullopt where the words say nothing
//   step = FLOP a token x tokens / (accelerators x TFLOP/s)
//
// Words, looked for in this order: "hardware" (recomputed FLOP count: full attention, Narayanan 2021 eq. 3; "x4/3" the same
// times 4/3 of the model's), "full" (6 N + 12 L d s), "halved" (6 (N - V d) + 6 L d s: NVIDIA's), "model" or "causal"
// (6 N + 6 L d s: Llama 3's).
//
// Source: checked against rows that have a time too: NVIDIA's within 0.2%, MosaicML's within 0.3%.
// Pitfall: at 64K tokens the same run differs by 1.77 between conventions.
#pragma once

#include <optional>
#include <string_view>

#include "floplan/architecture/training_flop.hpp"
#include "floplan/cluster/step_request.hpp"
#include "floplan/core/quantity.hpp"

namespace floplan::cluster {

// kind: in lower case.
[[nodiscard]] inline std::optional<FlopPerToken> flop_per_token(const StepRequest& r, std::string_view kind) {
  const auto says = [kind](std::string_view word) { return kind.find(word) != std::string_view::npos; };
  const Tokens sequence(static_cast<double>(r.sequence_length));
  const architecture::TrainingFlopPerToken flop = architecture::training_flop_per_token(r.shape, sequence);
  if (says("hardware")) {
    const double layers =
        flop.full.value - 6 * architecture::vocabulary_table(r.shape) * (r.shape.tied_embeddings ? 1 : 2);
    const double head = 6 * architecture::vocabulary_table(r.shape);
    if (says("4/3")) return FlopPerToken((layers + head) * 4 / 3);
    return FlopPerToken(layers * (r.recompute == architecture::Recompute::full ? 4.0 / 3 : 1) + head);
  }
  if (says("full")) return flop.full;
  if (says("halved")) return flop.megatron;
  if (says("model") || says("causal")) return flop.causal;
  return std::nullopt;
}

}  // namespace floplan::cluster
