// SPDX-License-Identifier: BSD-3-Clause
//
// Layouts, sharding and recomputation in words.
//
//   to_text(Sharding::zero2)                     "zero2"
//   to_text(Layout{.tensor = 8, .pipeline = 16})  "TP8 CP1 PP16 DP1", with EP and VP where they are not 1
//   usual_interleave(shape, 16)                  chunks of layers a stage where nobody said: as many as divide them, up to 8
//
// The words are those of options and of plan files, and of the papers: zero1 is a distributed optimizer, zero3 is FSDP, and
// zero3_no_reshard FSDP's SHARD_GRAD_OP.
// Source: Llama 3 (arXiv 2407.21783, section 3.3.2) has 8 slots of layers a stage; Narayanan 2021 (2104.04473) 2 to 8 chunks.
// Pitfall: published layouts seldom print their chunks, and without them the bubble is that many times as long.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "floplan/architecture/layout.hpp"
#include "floplan/architecture/transformer.hpp"

namespace floplan::architecture {

inline constexpr std::array<std::pair<const char*, Sharding>, 5> sharding_words{
    {{"none", Sharding::none},
     {"zero1", Sharding::zero1},
     {"zero2", Sharding::zero2},
     {"zero3_no_reshard", Sharding::zero3_no_reshard},
     {"zero3", Sharding::zero3}}};
inline constexpr std::array<std::pair<const char*, Recompute>, 3> recompute_words{
    {{"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}}};

[[nodiscard]] inline std::string to_text(Sharding s) {
  return sharding_words[static_cast<std::size_t>(s)].first;  // in the order of the enumeration
}
[[nodiscard]] inline std::string to_text(Recompute r) { return recompute_words[static_cast<std::size_t>(r)].first; }

[[nodiscard]] inline std::string to_text(const Layout& l) {
  const auto degree = [](const char* name, std::int64_t n) { return name + std::to_string(n); };
  std::string out = degree("TP", l.tensor) + degree(" CP", l.context) + degree(" PP", l.pipeline);
  out += degree(" DP", l.data);
  if (l.expert != 1) out += degree(" EP", l.expert);
  if (l.interleave != 1) out += degree(" VP", l.interleave);
  return out;
}

// Layers of a pipeline stage, where embedding and head take a layer's place each if the layers alone do not divide; 0 where
// neither does.
[[nodiscard]] inline std::int64_t layers_a_stage(const Transformer& t, std::int64_t pipeline) {
  const std::int64_t places = t.layers % pipeline == 0 ? t.layers : t.layers + 2;
  return places % pipeline == 0 ? places / pipeline : 0;
}

[[nodiscard]] inline std::int64_t usual_interleave(const Transformer& t, std::int64_t pipeline) {
  if (pipeline <= 1) return 1;
  const std::int64_t layers = layers_a_stage(t, pipeline);
  for (std::int64_t chunks = 8; chunks > 1; --chunks) {
    if (layers > 0 && layers % chunks == 0) return chunks;
  }
  return 1;
}

}  // namespace floplan::architecture
