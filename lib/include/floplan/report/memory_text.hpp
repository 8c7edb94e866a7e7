// SPDX-License-Identifier: BSD-3-Clause
//
// Training memory by pipeline stage, as a table and as JSON.
//
//   Table t = memory_table(report);      Json j = memory_json(report, capacity);
//
// JSON: memory_bytes has the stage that needs most {weights, gathered, gradients, optimizer, activations, total, capacity,
// stage}; stages the same of each, counted from 1. Activations are those of layers (the papers' formulas), embedding, head,
// and of one layer that is recomputed; passes_waiting counts layers times microbatches. capacity is null where no
// accelerator was named, and so is fits.
//
// Pitfall: GB is 1e9 bytes. What the runtime and communication buffers take is not in it.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "floplan/architecture/training_memory.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/table.hpp"

namespace floplan::report {

[[nodiscard]] inline Table memory_table(const architecture::TrainingMemoryReport& memory) {
  Table t({"stage", "layers", "parameters", "weights (GB)", "gradients (GB)", "optimizer (GB)", "microbatches waiting",
           "activations (GB)", "total (GB)"});
  for (const architecture::StageMemory& s : memory.stages) {
    const auto gb = [](Bytes b) { return Cell(b.value / 1e9, 4); };
    const double layers = static_cast<double>(s.layers_held);
    const double waiting = (s.waiting.dense_layers + s.waiting.expert_layers) / layers;
    t.add({{static_cast<double>(s.rank + 1), 9},
           {layers, 9},
           {s.parameters.all().total(), 4},
           gb(s.weights + s.gathered),
           gb(s.gradients),
           gb(s.optimizer),
           {waiting, 4},
           gb(s.activations()),
           gb(s.total())});
  }
  return t;
}

[[nodiscard]] inline Json memory_json(const architecture::StageMemory& s) {
  return {{"stage", s.rank + 1},
          {"layers", s.layers_held},
          {"parameters_held", s.parameters.all().total()},
          {"passes_waiting", s.waiting.dense_layers + s.waiting.expert_layers},
          {"weights", s.weights.value},
          {"gathered", s.gathered.value},
          {"gradients", s.gradients.value},
          {"optimizer", s.optimizer.value},
          {"activations", s.activations().value},
          {"activations_layers", s.layers.total()},
          {"activations_embedding", s.embedding_activations.value},
          {"activations_head", s.head_activations.value},
          {"activations_recomputed", s.recomputed.value},
          {"total", s.total().value}};
}

// capacity: of one accelerator.
[[nodiscard]] inline Json memory_json(const architecture::TrainingMemoryReport& memory, std::optional<Bytes> capacity) {
  Json worst = memory_json(memory.worst_stage());
  worst["capacity"] = json(capacity);
  Json stages = Json::array();
  for (const architecture::StageMemory& s : memory.stages) stages.push_back(memory_json(s));
  return {{"memory_bytes", std::move(worst)},
          {"fits", capacity ? Json(memory.fits(*capacity).fits) : Json(nullptr)},
          {"stages", std::move(stages)}};
}

}  // namespace floplan::report
