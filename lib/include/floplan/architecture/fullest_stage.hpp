// SPDX-License-Identifier: BSD-3-Clause
//
// The memory of the pipeline stage that needs most, for many layouts in turn.
//
//   const PipelineStages stages(shape, 16, 8);
//   const FullestStage fullest(stages);
//   fullest.total(TrainingMemory(shape, layout, stages, options))      the same bytes as training_memory().worst_stage()
//
// Only ranks that differ are asked. Of ranks with the same layers in the same chunks, and both with or both without
// embedding and head, the first needs most: its warm-up is longer, so at each point of the schedule what waits on a later
// rank is a part of what waits on it; all else is equal. A dense model has three such ranks, however long the pipeline.
//
// Source: the schedules of pipeline_stages.hpp. Cost: some ten nanoseconds a rank that is asked.
// Pitfall: stages must be those that the TrainingMemory was made of.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "floplan/architecture/pipeline_stages.hpp"
#include "floplan/architecture/training_memory.hpp"
#include "floplan/core/quantity.hpp"

namespace floplan::architecture {

class FullestStage {
 public:
  explicit FullestStage(const PipelineStages& stages) {
    for (const PipelineStage& stage : stages.stages()) {
      const bool known = std::any_of(ranks_.begin(), ranks_.end(),
                                     [&](std::int64_t rank) { return needs_no_less(stages[rank], stage); });
      if (!known) ranks_.push_back(stage.rank);
    }
  }

  [[nodiscard]] Bytes total(const TrainingMemory& memory) const {
    Bytes most;
    for (const std::int64_t rank : ranks_) most = std::max(most, memory.stage(rank).total());
    return most;
  }
  [[nodiscard]] const std::vector<std::int64_t>& ranks() const { return ranks_; }

 private:
  // earlier comes before later.
  [[nodiscard]] static bool needs_no_less(const PipelineStage& earlier, const PipelineStage& later) {
    return earlier.embedding == later.embedding && earlier.head == later.head &&
           std::equal(earlier.chunks.begin(), earlier.chunks.end(), later.chunks.begin(), later.chunks.end(),
                      [](const LayerChunk& a, const LayerChunk& b) {
                        return a.dense_layers == b.dense_layers && a.expert_layers == b.expert_layers;
                      });
  }

  std::vector<std::int64_t> ranks_;
};

}  // namespace floplan::architecture
