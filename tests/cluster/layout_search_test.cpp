// SPDX-License-Identifier: BSD-3-Clause
//
// The layout search against loops that try everything one by one, and what must hold of any answer of it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "floplan/cluster/layout_search.hpp"
#include "floplan/cluster/step_time.hpp"
#include "floplan/core/random.hpp"

namespace {

using namespace floplan;
using architecture::Recompute;
using architecture::Sharding;
using cluster::LayoutSearch;
using cluster::LayoutSearchReport;
using cluster::RankedLayout;
using cluster::search_layouts;
using cluster::StepRequest;

cluster::Machine machine() {
  return {.accelerator = "part",
          .gemm_ceiling = FlopPerSecond(250e12),
          .bf16_peak = FlopPerSecond(312e12),
          .memory_bandwidth = BytesPerSecond(2e12),
          .scale_up = BytesPerSecond(300e9),
          .network = BytesPerSecond(25e9)};
}

LayoutSearch dense_search() {
  StepRequest r;
  r.shape = {
      .layers = 6, .width = 1024, .heads = 8, .kv_heads = 4, .head_width = 128, .ffn_width = 4096, .vocabulary = 32000};
  r.machine = machine();
  r.global_batch = 12;
  r.sequence_length = 1024;
  return {.step = r, .accelerators = Count(16), .capacity = Bytes(6e9), .top = 1000000, .threads = 1};
}

LayoutSearch expert_search() {
  LayoutSearch s = dense_search();
  s.step.shape.experts =
      architecture::Experts{.count = 8, .active = 2, .width = 2048, .layers = architecture::LayerPattern::from(1, 6)};
  s.step.global_batch = 16;
  return s;
}

auto key(const RankedLayout& l) {
  return std::tuple(l.layout.tensor, l.layout.context, l.layout.pipeline, l.layout.data, l.layout.expert,
                    l.layout.interleave, l.microbatch, l.sharding, l.recompute);
}

// Every number up to the accelerators for every degree, and what the models say of it.
std::vector<RankedLayout> all_layouts(const LayoutSearch& search) {
  std::vector<RankedLayout> out;
  const auto count = static_cast<std::int64_t>(search.accelerators.value);
  const auto visit = [&](RankedLayout l) {
    const StepRequest r = cluster::request_of(search, l);
    try {
      l.step = cluster::step_time(r).step;
      l.memory = architecture::training_memory(r.shape, r.layout, cluster::memory_options(r)).worst_stage().total();
    } catch (const Error& error) {
      REQUIRE(error.failure() == Failure::infeasible);
      return;
    }
    l.fits = l.memory <= *search.capacity;
    out.push_back(l);
  };
  for (std::int64_t tp = 1; tp <= count; ++tp) {
    for (std::int64_t cp = 1; tp * cp <= count; ++cp) {
      for (std::int64_t pp = 1; tp * cp * pp <= count; ++pp) {
        if (count % (tp * cp * pp) != 0) continue;
        const std::int64_t dp = count / (tp * cp * pp);
        for (std::int64_t ep = 1; ep <= 8; ++ep) {
          for (std::int64_t vp = 1; vp <= 8; ++vp) {
            for (std::int64_t b = 1; b <= search.step.global_batch; ++b) {
              if (vp > 1 && search.step.global_batch / (dp * b) % pp != 0) continue;
              for (const auto sharding :
                   {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3_no_reshard, Sharding::zero3}) {
                if (sharding != Sharding::none && dp * cp * (search.step.shape.experts ? tp : 1) == 1) continue;
                for (const auto recompute : {Recompute::none, Recompute::full}) {
                  visit({.layout =
                             {.tensor = tp, .context = cp, .pipeline = pp, .data = dp, .expert = ep, .interleave = vp},
                         .microbatch = b,
                         .sharding = sharding,
                         .recompute = recompute});
                }
              }
            }
          }
        }
      }
    }
  }
  return out;
}

void check_against_all(const LayoutSearch& search) {
  const LayoutSearchReport found = search_layouts(search);
  std::vector<RankedLayout> all = all_layouts(search);
  CHECK(found.evaluated == all.size());
  CHECK(found.feasible ==
        static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const auto& l) { return l.fits; })));
  std::sort(all.begin(), all.end(), cluster::detail::better);
  std::vector<RankedLayout> frontier, fitting;
  for (const RankedLayout& l : all) {
    if (l.fits) fitting.push_back(l);
    if (frontier.empty() || l.memory < frontier.back().memory) frontier.push_back(l);
  }
  const auto same = [](const std::vector<RankedLayout>& a, const std::vector<RankedLayout>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
      REQUIRE(std::tuple(key(a[i]), a[i].step, a[i].memory) == std::tuple(key(b[i]), b[i].step, b[i].memory));
  };
  same(found.best, fitting);
  same(found.frontier, frontier);
}

std::string refusal(const LayoutSearch& search, const std::string& code) {
  try {
    (void)search_layouts(search);
  } catch (const Error& error) {
    CHECK(error.failure() == Failure::infeasible);
    CHECK(error.code() == code);
    return error.what();
  }
  FAIL("was not refused");
  return "";
}

}  // namespace

TEST_CASE("a search finds what trying every degree finds, in the same order") {
  check_against_all(dense_search());
  check_against_all(expert_search());
}

TEST_CASE("a search gives the same bits at any thread count") {
  LayoutSearch search = dense_search();
  search.top = 20;
  const LayoutSearchReport one = search_layouts(search);
  for (const unsigned threads : {2U, 3U, 8U}) {
    search.threads = threads;
    const LayoutSearchReport many = search_layouts(search);
    REQUIRE(many.best.size() == one.best.size());
    REQUIRE(many.frontier.size() == one.frontier.size());
    for (std::size_t i = 0; i < one.best.size(); ++i)
      CHECK(cluster::detail::rank_of(one.best[i]) == cluster::detail::rank_of(many.best[i]));
    for (std::size_t i = 0; i < one.frontier.size(); ++i)
      CHECK(cluster::detail::rank_of(one.frontier[i]) == cluster::detail::rank_of(many.frontier[i]));
    CHECK(many.evaluated == one.evaluated);
  }
}

TEST_CASE("more memory never makes the best layout slower, and a fixed degree never makes it faster") {
  LayoutSearch search = dense_search();
  search.top = 1;
  Seconds last(1e9);
  for (double bytes = 2e9; bytes < 40e9; bytes *= 1.5) {
    search.capacity = Bytes(bytes);
    const Seconds best = search_layouts(search).best.front().step;
    CHECK(best <= last);
    last = best;
  }
  search.capacity = Bytes(6e9);
  const Seconds open = search_layouts(search).best.front().step;
  for (const std::int64_t tensor : {1, 2, 4, 8}) {
    search.fixed.tensor = tensor;
    const LayoutSearchReport found = search_layouts(search);
    CHECK(found.best.front().step >= open);
    CHECK(found.best.front().layout.tensor == tensor);
  }
}

TEST_CASE("fewer and the first are kept of the best") {
  LayoutSearch search = dense_search();
  const LayoutSearchReport all = search_layouts(search);
  search.top = 7;
  const LayoutSearchReport few = search_layouts(search);
  REQUIRE(few.best.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) CHECK(key(few.best[i]) == key(all.best[i]));
  CHECK(few.feasible == all.feasible);
}

TEST_CASE("the fullest stage is that of all stages") {
  RandomStream random(11);
  for (int i = 0; i < 300; ++i) {
    architecture::Transformer t = dense_search().step.shape;
    t.layers = std::int64_t{12} * (1 + random.below(3));
    if (random.below(2) == 0) {
      t.experts = architecture::Experts{.count = 8, .active = 2, .width = 512};
      t.experts->layers = architecture::LayerPattern::from(random.below(4), t.layers);
    }
    t.embedding_norm = random.below(2) == 0;
    const std::int64_t pipelines[] = {1, 2, 3, 4, 6};
    const std::int64_t pipeline = pipelines[random.below(5)];
    const std::int64_t interleave = pipeline == 1 || t.layers % (2 * pipeline) != 0 ? 1 : 1 + random.below(2);
    architecture::TrainingMemoryOptions options;
    options.activation.sequence_length = 512;
    options.activation.dropout = random.below(2) == 0;
    options.activation.recompute = Recompute(random.below(3));
    options.sharding = Sharding(random.below(4));
    options.microbatches = pipeline * (1 + random.below(6));
    const architecture::Layout layout{.tensor = 2, .pipeline = pipeline, .data = 4, .interleave = interleave};
    const architecture::PipelineStages stages(t, pipeline, interleave);
    const architecture::FullestStage fullest(stages);
    CHECK(fullest.ranks().size() <= stages.stages().size());
    CHECK(fullest.total(architecture::TrainingMemory(t, layout, stages, options)) ==
          architecture::training_memory(t, layout, options).worst_stage().total());
  }
}

TEST_CASE("a search that finds nothing says which rule forbids it, or what the leanest layout lacks") {
  LayoutSearch search = dense_search();
  search.capacity = Bytes(1e8);
  const std::string lacks = refusal(search, "layout_does_not_fit");
  CHECK(lacks.find("the leanest") != std::string::npos);
  CHECK(lacks.find("too much") != std::string::npos);
  search = dense_search();
  search.step.global_batch = 1;
  search.accelerators = Count(5);
  CHECK(refusal(search, "no_layout").find("global batch / (DP x microbatch) must be whole") != std::string::npos);
  search = dense_search();
  search.fixed.tensor = 3;
  CHECK(refusal(search, "accelerators").find("TP 3") != std::string::npos);
  search = dense_search();
  search.accelerators = Count(48);
  search.fixed.tensor = 3;
  CHECK(refusal(search, "no_layout").find("must divide") != std::string::npos);
}
