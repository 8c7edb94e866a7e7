// SPDX-License-Identifier: BSD-3-Clause
//
// Which layers each pipeline rank holds, and how many microbatches of them wait for their backward pass.
//
//   PipelineStages stages(transformer, 16, 8);   16 ranks of 8 chunks: chunk c of the model is on rank c mod 16
//
// Layers are cut into pipeline x interleave chunks of equal size. Where the layers do not divide, the embedding and the
// head may take a layer's place each (Llama 3 405B: 126 + 2 = 128 over 16 ranks: the first and the last hold 7, others 8).
//
//   waiting microbatches of rank r of p, of m in a step, at the peak:
//     one chunk a rank (1F1B)   min(p - r, m)
//     v chunks (interleaved)    min(2 (p - r - 1) + (v - 1) p + 1, m v) of a chunk: on rank 0 all layers of a rank
//                               p (1 + (p - 1) / (p v)) times
//
// Sources: Narayanan 2021 (arXiv 2104.04473, section 2.2); Korthikanti 2022 (2205.05198, section 4.2.3); the warm-up counts
// of Megatron-LM's schedules; Llama 3 (2407.21783, section 3.3.2).
// Holds: ranks that work one microbatch a chunk in groups of p, the last group what remains.
// Pitfall: fewer layers on the first rank help less than they seem to: it is also the one that waits for most microbatches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "floplan/architecture/transformer.hpp"
#include "floplan/core/error.hpp"

namespace floplan::architecture {

// Whether the embedding and the head count as a layer each when layers are dealt out.
enum class VocabularyPlaces { never, if_layers_do_not_divide, always };

struct LayerChunk {
  std::int64_t first_layer = 0;  // counted from 0
  std::int64_t layers = 0;
  std::int64_t dense_layers = 0;
  std::int64_t expert_layers = 0;
  friend bool operator==(const LayerChunk&, const LayerChunk&) = default;
};

struct PipelineStage {
  std::int64_t rank = 0;
  bool embedding = false;  // before its first chunk
  bool head = false;       // after its last
  std::int64_t dense_layers = 0;
  std::int64_t expert_layers = 0;
  bool chunks_alike = true;  // of one composition
  std::vector<LayerChunk> chunks;
  [[nodiscard]] std::int64_t layers() const { return dense_layers + expert_layers; }
};

// What one microbatch leaves behind, by where it passed: bytes, or any weight.
struct PassWeights {
  double dense_layer = 0;
  double expert_layer = 0;
  double embedding = 0;
  double head = 0;
};

// Passes that wait for their backward pass, each of one microbatch through one layer (the embedding, the head).
struct WaitingPasses {
  double chunks = 0;
  double dense_layers = 0;
  double expert_layers = 0;
  double embeddings = 0;
  double heads = 0;
  WaitingPasses& add(const WaitingPasses& other, double times) {
    chunks += times * other.chunks;
    dense_layers += times * other.dense_layers;
    expert_layers += times * other.expert_layers;
    embeddings += times * other.embeddings;
    heads += times * other.heads;
    return *this;
  }
  [[nodiscard]] double weighed(const PassWeights& w) const {
    return dense_layers * w.dense_layer + expert_layers * w.expert_layer + embeddings * w.embedding + heads * w.head;
  }
};

namespace detail {

// The chunks that an interleaved step passes, as runs: groups of `ranks` microbatches pass each chunk in turn, and the last
// group is what remains.
class ChunkRuns {
 public:
  ChunkRuns(std::int64_t ranks, std::int64_t chunks, std::int64_t microbatches)
      : ranks_(ranks), chunks_(chunks), microbatches_(microbatches), left_(std::min(ranks, microbatches)) {}
  [[nodiscard]] std::int64_t chunk() const { return chunk_; }
  [[nodiscard]] std::int64_t left() const { return left_; }  // of the run
  // By at most left().
  void advance(std::int64_t passes) {
    left_ -= passes;
    if (left_ > 0) return;
    if (++chunk_ == chunks_) {
      chunk_ = 0;
      microbatches_ -= std::min(ranks_, microbatches_);
    }
    left_ = std::min(ranks_, microbatches_);
  }

 private:
  std::int64_t ranks_, chunks_, microbatches_, chunk_ = 0, left_;
};

}  // namespace detail

class PipelineStages {
 public:
  // Throws Error(usage) for a degree below 1 and as check() does; Error(infeasible) where the layers do not divide.
  PipelineStages(const Transformer& t, std::int64_t pipeline, std::int64_t interleave = 1,
                 VocabularyPlaces places = VocabularyPlaces::if_layers_do_not_divide)
      : layers_(t.layers), pipeline_(pipeline), interleave_(interleave) {
    check(t);
    require_degrees();
    const std::int64_t chunks = pipeline * interleave;
    const bool even = t.layers % chunks == 0;
    places_ =
        places == VocabularyPlaces::always || (places == VocabularyPlaces::if_layers_do_not_divide && !even) ? 1 : 0;
    if ((t.layers + 2 * places_) % chunks != 0) throw uneven(places);
    const std::int64_t size = (t.layers + 2 * places_) / chunks;
    for (std::int64_t rank = 0; rank < pipeline; ++rank) stages_.push_back(stage_of(t, rank, size));
  }

  [[nodiscard]] std::int64_t layers() const { return layers_; }
  [[nodiscard]] std::int64_t pipeline() const { return pipeline_; }
  [[nodiscard]] std::int64_t interleave() const { return interleave_; }
  [[nodiscard]] bool vocabulary_takes_places() const { return places_ > 0; }
  [[nodiscard]] const PipelineStage& operator[](std::int64_t rank) const {
    return stages_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const std::vector<PipelineStage>& stages() const { return stages_; }

  // The passes that wait on a rank when they weigh most, of `microbatches` (at least 1) in a step.
  [[nodiscard]] WaitingPasses waiting(std::int64_t rank, std::int64_t microbatches, const PassWeights& weights) const;

 private:
  void require_degrees() const {
    const auto require = [](std::int64_t value, const char* what) {
      if (value >= 1 && value <= 100'000) return;
      throw Error(Failure::usage, "out_of_range", "pipeline_stages",
                  std::string(what) + " must be from 1 to 100000, got " + std::to_string(value));
    };
    require(pipeline_, "pipeline");
    require(interleave_, "interleave");
    if (pipeline_ == 1 && interleave_ > 1) {
      throw Error(
          Failure::infeasible, "does_not_divide", "pipeline_stages",
          "interleave must be 1 where the pipeline has one stage, got interleave " + std::to_string(interleave_));
    }
  }

  [[nodiscard]] Error uneven(VocabularyPlaces places) const {
    const bool may_be_even = places != VocabularyPlaces::always;
    const bool may_take_places = places != VocabularyPlaces::never;
    const auto divides = [&](std::int64_t chunks) {
      return (may_be_even && layers_ % chunks == 0) || (may_take_places && (layers_ + 2) % chunks == 0);
    };
    std::int64_t below = pipeline_ - 1;
    while (below > 1 && !divides(below * interleave_)) --below;
    std::int64_t above = pipeline_ + 1;
    while (above * interleave_ <= layers_ + 2 && !divides(above * interleave_)) ++above;
    std::string nearest;
    if (below >= 1 && divides(below * interleave_)) nearest = std::to_string(below);
    if (above * interleave_ <= layers_ + 2) nearest += (nearest.empty() ? "" : " and ") + std::to_string(above);
    const std::string rule = !may_take_places ? "the layers"
                             : !may_be_even   ? "the layers and 2 places, for embedding and head,"
                                              : "the layers, or the layers and 2 places for embedding and head,";
    return {Failure::infeasible, "does_not_divide", "pipeline_stages",
            rule + " must be a multiple of pipeline x interleave, got " + std::to_string(layers_) +
                " layers, pipeline " + std::to_string(pipeline_) + ", interleave " + std::to_string(interleave_) +
                (nearest.empty() ? "; no pipeline divides them with this interleave"
                                 : "; the nearest pipeline that divides them with this interleave: " + nearest)};
  }

  [[nodiscard]] PipelineStage stage_of(const Transformer& t, std::int64_t rank, std::int64_t size) const {
    PipelineStage out;
    out.rank = rank;
    out.embedding = rank == 0;
    out.head = rank == pipeline_ - 1;
    for (std::int64_t v = 0; v < interleave_; ++v) {
      const std::int64_t slot = (v * pipeline_ + rank) * size - places_;
      LayerChunk chunk;
      chunk.first_layer = std::max<std::int64_t>(slot, 0);
      chunk.layers = std::min(slot + size, layers_) - chunk.first_layer;
      for (std::int64_t i = 0; i < chunk.layers; ++i) chunk.expert_layers += t.has_experts(chunk.first_layer + i);
      chunk.dense_layers = chunk.layers - chunk.expert_layers;
      out.dense_layers += chunk.dense_layers;
      out.expert_layers += chunk.expert_layers;
      out.chunks.push_back(chunk);
      out.chunks_alike = out.chunks_alike && chunk.dense_layers == out.chunks[0].dense_layers &&
                         chunk.expert_layers == out.chunks[0].expert_layers;
    }
    return out;
  }

  [[nodiscard]] WaitingPasses of_chunk(const PipelineStage& stage, std::int64_t chunk) const {
    const LayerChunk& c = stage.chunks[static_cast<std::size_t>(chunk)];
    return {1, static_cast<double>(c.dense_layers), static_cast<double>(c.expert_layers),
            stage.embedding && chunk == 0 ? 1.0 : 0.0, stage.head && chunk == interleave_ - 1 ? 1.0 : 0.0};
  }

  std::int64_t layers_ = 0;
  std::int64_t pipeline_ = 1;
  std::int64_t interleave_ = 1;
  std::int64_t places_ = 0;
  std::vector<PipelineStage> stages_;
};

inline WaitingPasses PipelineStages::waiting(std::int64_t rank, std::int64_t microbatches,
                                             const PassWeights& weights) const {
  const PipelineStage& stage = (*this)[rank];
  const auto alike = [&stage](std::int64_t passes) {
    WaitingPasses out;
    out.chunks = static_cast<double>(passes);
    out.dense_layers = out.chunks * static_cast<double>(stage.chunks[0].dense_layers);
    out.expert_layers = out.chunks * static_cast<double>(stage.chunks[0].expert_layers);
    return out;
  };
  if (interleave_ == 1) {
    WaitingPasses out = alike(std::min(pipeline_ - rank, microbatches));
    out.embeddings = stage.embedding ? out.chunks : 0;
    out.heads = stage.head ? out.chunks : 0;
    return out;
  }
  const std::int64_t before =
      2 * (pipeline_ - rank - 1) + (interleave_ - 1) * pipeline_;  // forward passes of the warm-up
  const bool ends_weigh = (stage.embedding && weights.embedding > 0) || (stage.head && weights.head > 0);
  if (stage.chunks_alike && !ends_weigh) return alike(std::min(before + 1, microbatches * interleave_));

  // Chunks differ, so it matters which of them wait: follow the schedule, by runs of passes through one chunk forward and
  // one backward. Between the ends of a run the weight is linear. Whole groups repeat, so a step of a few groups more than
  // the warm-up shows all that a long one does.
  const std::int64_t groups = std::min(microbatches / pipeline_, before / (pipeline_ * interleave_) + 3);
  const std::int64_t followed = groups * pipeline_ + microbatches % pipeline_;
  const std::int64_t passes = followed * interleave_;
  detail::ChunkRuns forward(pipeline_, interleave_, followed), backward(pipeline_, interleave_, followed);
  WaitingPasses now, most;
  std::int64_t done = 0;
  while (done < std::min(before, passes)) {
    const std::int64_t run = std::min(forward.left(), before - done);
    now.add(of_chunk(stage, forward.chunk()), static_cast<double>(run));
    forward.advance(run);
    done += run;
  }
  most = now;
  double weight = most.weighed(weights);
  const auto compare = [&](const WaitingPasses& found) {
    if (const double w = found.weighed(weights); w > weight) {
      weight = w;
      most = found;
    }
  };
  while (done < passes) {
    const std::int64_t run = std::min(forward.left(), backward.left());
    const WaitingPasses in = of_chunk(stage, forward.chunk());
    const WaitingPasses out = of_chunk(stage, interleave_ - 1 - backward.chunk());
    now.add(in, 1);
    compare(now);
    now.add(in, static_cast<double>(run - 1)).add(out, static_cast<double>(1 - run));
    compare(now);
    now.add(out, -1);
    forward.advance(run);
    backward.advance(run);
    done += run;
  }
  return most;
}

}  // namespace floplan::architecture
