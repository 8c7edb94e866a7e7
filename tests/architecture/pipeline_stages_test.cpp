// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/architecture/pipeline_stages.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "architecture/shapes.hpp"
#include "floplan/core/random.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using architecture::LayerPattern;
using architecture::PassWeights;
using architecture::PipelineStage;
using architecture::PipelineStages;
using architecture::Transformer;
using architecture::VocabularyPlaces;
using architecture::WaitingPasses;

Transformer deep(std::int64_t layers) {
  Transformer t = shapes::named("Llama 3 8B");
  t.layers = layers;
  return t;
}

Transformer with_experts(LayerPattern pattern) {
  Transformer t = deep(pattern.size());
  t.experts = {.count = 8, .active = 2, .width = 512, .layers = std::move(pattern)};
  return t;
}

// The most that ever waits on a rank, by the whole schedule written down as a list of passes.
double most_waiting(const PipelineStages& stages, std::int64_t rank, std::int64_t microbatches, const PassWeights& w) {
  const std::int64_t p = stages.pipeline(), v = stages.interleave();
  std::vector<std::int64_t> chunks;
  for (std::int64_t first = 0; first < microbatches; first += p) {
    for (std::int64_t chunk = 0; chunk < v; ++chunk) {
      for (std::int64_t i = first; i < std::min(first + p, microbatches); ++i) chunks.push_back(chunk);
    }
  }
  const std::int64_t before =
      std::min(v == 1 ? p - rank - 1 : 2 * (p - rank - 1) + (v - 1) * p, static_cast<std::int64_t>(chunks.size()));
  const PipelineStage& stage = stages[rank];
  const auto weight = [&](std::int64_t chunk) {
    const auto& c = stage.chunks[static_cast<std::size_t>(chunk)];
    return static_cast<double>(c.dense_layers) * w.dense_layer + static_cast<double>(c.expert_layers) * w.expert_layer +
           (stage.embedding && chunk == 0 ? w.embedding : 0) + (stage.head && chunk == v - 1 ? w.head : 0);
  };
  double now = 0, most = 0;
  for (std::size_t n = 0; n < chunks.size(); ++n) {
    now += weight(chunks[n]);
    most = std::max(most, now);
    if (static_cast<std::int64_t>(n) >= before) now -= weight(v - 1 - chunks[n - static_cast<std::size_t>(before)]);
  }
  return most;
}

}  // namespace

TEST_CASE("layers that divide are dealt out evenly, chunk by chunk in turn") {
  const PipelineStages stages(deep(96), 8, 3);
  CHECK_FALSE(stages.vocabulary_takes_places());
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    const PipelineStage& s = stages[rank];
    CHECK(s.layers() == 12);
    CHECK(s.embedding == (rank == 0));
    CHECK(s.head == (rank == 7));
    REQUIRE(s.chunks.size() == 3);
    for (std::int64_t v = 0; v < 3; ++v) {
      CHECK(s.chunks[static_cast<std::size_t>(v)].first_layer == 4 * (8 * v + rank));
      CHECK(s.chunks[static_cast<std::size_t>(v)].layers == 4);
    }
  }
}

TEST_CASE("Llama 3 405B's 126 layers with embedding and head are 8 places a rank, so the first and the last hold 7") {
  const Transformer t = shapes::named("Llama 3.1 405B");
  for (const std::int64_t interleave : {1, 2, 4, 8}) {
    const PipelineStages stages(t, 16, interleave);
    CHECK(stages.vocabulary_takes_places());
    for (std::int64_t rank = 0; rank < 16; ++rank) CHECK(stages[rank].layers() == (rank % 15 == 0 ? 7 : 8));
  }
  const PipelineStages stages(t, 16, 8);
  CHECK(stages[0].chunks.front().layers == 0);
  CHECK(stages[15].chunks.back().layers == 0);
  CHECK(stages[1].chunks[0].first_layer == 0);
}

TEST_CASE("each layer is on one rank, of its own kind") {
  RandomStream random(7);
  for (int i = 0; i < 300; ++i) {
    const std::int64_t p = 1 + random.below(12);
    const std::int64_t v = p == 1 ? 1 : 1 + random.below(4);
    const std::int64_t places = random.below(2);
    const std::int64_t size = 1 + random.below(4);
    const std::int64_t layers = p * v * size - 2 * places;
    if (layers < 1) continue;
    std::vector<bool> flags(static_cast<std::size_t>(layers));
    for (std::size_t l = 0; l < flags.size(); ++l) flags[l] = random.below(2) == 1;
    flags.back() = true;
    const Transformer t = with_experts(LayerPattern(flags));
    const PipelineStages stages(t, p, v, places ? VocabularyPlaces::always : VocabularyPlaces::never);
    std::vector<int> held(flags.size(), 0);
    std::int64_t dense = 0, expert = 0;
    for (const PipelineStage& s : stages.stages()) {
      dense += s.dense_layers;
      expert += s.expert_layers;
      for (const auto& chunk : s.chunks) {
        std::int64_t experts = 0;
        for (std::int64_t l = chunk.first_layer; l < chunk.first_layer + chunk.layers; ++l) {
          ++held[static_cast<std::size_t>(l)];
          experts += flags[static_cast<std::size_t>(l)];
        }
        CHECK(chunk.expert_layers == experts);
        CHECK(chunk.dense_layers == chunk.layers - experts);
      }
    }
    CHECK(std::all_of(held.begin(), held.end(), [](int n) { return n == 1; }));
    CHECK(dense == t.dense_layers());
    CHECK(dense + expert == layers);
  }
}

TEST_CASE("layers that do not divide are refused with the nearest pipelines that do") {
  const Error error = thrown::by([] { (void)PipelineStages(deep(126), 15, 1); });
  CHECK(error.failure() == Failure::infeasible);
  CHECK(thrown::says(error, "got 126 layers, pipeline 15, interleave 1"));
  CHECK(thrown::says(error, "this interleave: 14 and 16"));
  CHECK(thrown::says(thrown::by([] { (void)PipelineStages(deep(126), 16, 1, VocabularyPlaces::never); }),
                     "the layers must be a multiple of pipeline x interleave"));
  CHECK(thrown::says(thrown::by([] { (void)PipelineStages(deep(126), 16, 1, VocabularyPlaces::never); }),
                     "this interleave: 14 and 18"));
  CHECK(thrown::says(thrown::by([] { (void)PipelineStages(deep(128), 16, 1, VocabularyPlaces::always); }),
                     "this interleave: 13 and 26"));
  CHECK(thrown::says(thrown::by([] { (void)PipelineStages(deep(4), 2, 90); }), "no pipeline divides them"));
  CHECK(thrown::by([] { (void)PipelineStages(deep(4), 1, 2); }).failure() == Failure::infeasible);
  CHECK(thrown::by([] { (void)PipelineStages(deep(4), 0, 1); }).failure() == Failure::usage);
  CHECK(thrown::by([] { (void)PipelineStages(deep(4), 4, -1); }).failure() == Failure::usage);
}

TEST_CASE("microbatches of one chunk wait as 1F1B has them") {
  for (const std::int64_t p : {1, 2, 7, 16}) {
    const PipelineStages stages(deep(p * 3), p);
    for (std::int64_t rank = 0; rank < p; ++rank) {
      for (const std::int64_t m : {1, 2, 5, 16, 100}) {
        const WaitingPasses w = stages.waiting(rank, m, {1, 1, 1, 1});
        CHECK(w.chunks == static_cast<double>(std::min(p - rank, m)));
        CHECK(w.dense_layers == 3 * w.chunks);
        CHECK(w.embeddings == (rank == 0 ? w.chunks : 0));
        CHECK(w.heads == (rank == p - 1 ? w.chunks : 0));
      }
    }
  }
}

TEST_CASE("interleaving keeps 1 + (p - 1) / (p v) of the layers of p microbatches on the first rank") {
  for (const std::int64_t p : {2, 8, 35}) {
    for (const std::int64_t v : {2, 3, 8}) {
      const PipelineStages stages(deep(p * v * 2), p, v);
      const double pipeline = static_cast<double>(p);
      const double factor = 1 + (pipeline - 1) / (pipeline * static_cast<double>(v));
      const double layers = static_cast<double>(stages[0].layers()) * pipeline * factor;
      CHECK(stages.waiting(0, 8 * p, {1, 1, 0, 0}).dense_layers == near(layers, 1e-14));
      CHECK(stages.waiting(0, 8 * p, {1, 1, 0.5, 1}).dense_layers == near(layers, 1e-14));
    }
  }
}

TEST_CASE("what waits is the peak of the schedule written out, for any chunks, rank and number of microbatches") {
  RandomStream random(11);
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t p = 1 + random.below(9);
    const std::int64_t v = p == 1 ? 1 : 1 + random.below(5);
    const std::int64_t places = random.below(2);
    const std::int64_t layers = p * v * (1 + random.below(3)) - 2 * places;
    if (layers < 1) continue;
    std::vector<bool> flags(static_cast<std::size_t>(layers));
    for (std::size_t l = 0; l < flags.size(); ++l) flags[l] = random.below(3) > 0;
    flags.back() = true;
    const PipelineStages stages(with_experts(LayerPattern(flags)), p, v,
                                places ? VocabularyPlaces::always : VocabularyPlaces::never);
    const std::int64_t m = 1 + random.below(i % 2 == 0 ? 200 : 20);
    const std::int64_t rank = random.below(static_cast<std::uint32_t>(p));
    const PassWeights w{random.uniform(), 3 * random.uniform(), random.below(2) * random.uniform(),
                        random.below(2) * 5 * random.uniform()};
    CAPTURE(p);
    CAPTURE(v);
    CAPTURE(m);
    CAPTURE(rank);
    CHECK(stages.waiting(rank, m, w).weighed(w) == near(most_waiting(stages, rank, m, w), 1e-12));
  }
}
