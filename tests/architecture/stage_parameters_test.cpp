// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/architecture/stage_parameters.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "architecture/memory_shapes.hpp"
#include "architecture/shapes.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "floplan/core/random.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::architecture;

// Of all accelerators of one replica: each tensor parallel rank's common part, and experts from all that hold them.
double over_all_ranks(const Transformer& t, const Layout& layout) {
  const PipelineStages stages(t, layout.pipeline, layout.interleave);
  const ParameterShards shards(t, layout);
  double total = 0;
  for (const PipelineStage& stage : stages.stages()) {
    const ParameterShare share = shards.of(stage).all();
    total += static_cast<double>(layout.tensor) * share.common +
             static_cast<double>(layout.expert * layout.expert_tensor_ranks()) * share.experts;
  }
  return total;
}

// What each tensor parallel rank holds whole, counted once, of all layers and around them.
double whole_on_each_rank(const Transformer& t) {
  const double d = static_cast<double>(t.width);
  const double norm = t.norm == Norm::none ? 0 : (t.norm == Norm::layer ? 2 : 1) * d;
  const auto feed_forward_bias = [&] { return t.biases.feed_forward ? d : 0; };
  double layer = static_cast<double>(t.norms_a_layer) * norm + (t.biases.attention_output ? d : 0);
  if (t.latent) {
    const double q = static_cast<double>(t.latent->query_rank);
    const double c = static_cast<double>(t.latent->kv_rank);
    const double r = static_cast<double>(t.latent->rotary_width);
    layer += d * (q + c + r) + q + c + (t.biases.queries_keys_values ? q + c + r : 0);
  } else if (t.query_key_norm == QueryKeyNorm::per_head) {
    layer += 2 * static_cast<double>(t.head_width);
  }
  double total = static_cast<double>(t.layers) * layer;
  total += static_cast<double>(t.dense_layers()) * feed_forward_bias();
  if (t.experts) {
    const double e = static_cast<double>(t.experts->count);
    double router = d * e + (t.experts->router_bias ? e : 0);
    if (t.experts->shared_width > 0) router += feed_forward_bias() + (t.experts->shared_gate ? d : 0);
    total += static_cast<double>(t.experts->layers.count()) * router;
  }
  return total + norm + (t.embedding_norm ? norm : 0) + static_cast<double>(t.learned_positions) * d;
}

}  // namespace

TEST_CASE("without tensor parallelism the stages' parameters are the model's, and a tied table's copy on the last") {
  RandomStream random(3);
  for (int i = 0; i < 500; ++i) {
    Layout layout{.pipeline = shapes::one_of(random, 1, 6)};
    if (layout.pipeline > 1) layout.interleave = shapes::one_of(random, 1, 3);
    const Transformer t = shapes::any(random, layout.pipeline * layout.interleave * shapes::one_of(random, 1, 3));
    if (t.experts) layout.expert = layout.data = std::int64_t{1} << random.below(4);
    const double copy = t.tied_embeddings && layout.pipeline > 1 ? vocabulary_table(t) : 0;
    CHECK(over_all_ranks(t, layout) == parameter_count(t).total.value + copy);
  }
}

TEST_CASE("over all tensor parallel ranks the model is there once, and vectors, routers, padding once a rank") {
  RandomStream random(4);
  for (int i = 0; i < 500; ++i) {
    Layout layout{.tensor = std::int64_t{1} << random.below(5), .pipeline = shapes::one_of(random, 1, 4)};
    layout.expert_tensor = 1;
    const Transformer t = shapes::any(random, layout.pipeline * shapes::one_of(random, 1, 3));
    if (t.experts) layout.expert = layout.data = std::int64_t{1} << random.below(4);
    const double ranks = static_cast<double>(layout.tensor);
    const double d = static_cast<double>(t.width);
    double expected = parameter_count(t).total.value + (ranks - 1) * whole_on_each_rank(t);
    const double padding = static_cast<double>((layout.tensor - t.vocabulary % layout.tensor) % layout.tensor);
    const bool two_tables = !t.tied_embeddings || layout.pipeline > 1;
    expected += padding * (d * (two_tables ? 2 : 1) + (t.biases.head ? 1 : 0));
    if (t.tied_embeddings && layout.pipeline > 1) expected += vocabulary_table(t);
    if (!t.latent && layout.tensor > t.kv_heads) {
      const double copies = ranks - static_cast<double>(t.kv_heads);
      double head = 2 * d * static_cast<double>(t.head_width);
      if (t.biases.queries_keys_values) head += 2 * static_cast<double>(t.head_width);
      if (t.query_key_norm == QueryKeyNorm::whole) head += static_cast<double>(t.head_width);
      expected += copies * head * static_cast<double>(t.layers);
    }
    CHECK(over_all_ranks(t, layout) == expected);
  }
}

TEST_CASE("a layout that cannot cut the model is refused with the rule and both numbers") {
  Transformer t = shapes::named("Llama 3 8B");
  const auto refused = [&t](const Layout& layout) { return thrown::by([&] { check_layout(t, layout); }); };
  CHECK(refused({.tensor = 0}).failure() == Failure::usage);
  CHECK(refused({.data = -1}).failure() == Failure::usage);
  CHECK(refused({.interleave = 0}).failure() == Failure::usage);
  CHECK(refused({.tensor = 3}).failure() == Failure::infeasible);
  CHECK(thrown::says(refused({.tensor = 3}), "layout: tensor must divide heads, got 3 and 32"));
  CHECK(thrown::says(refused({.expert = 2}), "expert must be 1 for a model without experts, got 2"));
  CHECK_NOTHROW(check_layout(t, {.tensor = 32}));
  t.kv_heads = 16;
  t.heads = 48;
  CHECK(thrown::says(refused({.tensor = 24}), "tensor must divide kv_heads or be a multiple of them, got 24 and 16"));
  t.ffn_width = 14344;
  CHECK(thrown::says(refused({.tensor = 16}), "tensor must divide ffn_width, got 16 and 14344"));
  t.experts = {.count = 12, .active = 2, .width = 512, .shared_width = 6, .layers = LayerPattern::all(t.layers)};
  t.ffn_width = 0;
  CHECK(thrown::says(refused({.tensor = 4}), "tensor must divide shared_width, got 4 and 6"));
  CHECK(thrown::says(refused({.data = 8, .expert = 8}), "expert must divide experts, got 8 and 12"));
  CHECK(thrown::says(refused({.tensor = 2, .data = 4, .expert = 3}),
                     "expert must divide tensor x context x data, got 3 and 2 x 1 x 4"));
  CHECK_NOTHROW(check_layout(t, {.tensor = 2, .context = 3, .data = 2, .expert = 12}));
}

TEST_CASE("tensor parallel ranks cut experts where none are spread, and leave them whole where they are") {
  Transformer t = shapes::named("Llama 3 8B");
  t.ffn_width = 0;
  t.experts = {.count = 8, .active = 2, .width = 14336, .layers = LayerPattern::all(t.layers)};
  const double experts = 8.0 * 3 * 4096 * 14336;
  const auto held = [&](const Layout& layout) { return ParameterShards(t, layout).expert_layer().experts; };
  CHECK(held({}) == experts);
  CHECK(held({.tensor = 8}) == experts / 8);
  CHECK(held({.tensor = 8, .expert = 8}) == experts / 8);
  CHECK(held({.tensor = 8, .data = 8, .expert = 8, .expert_tensor = 8}) == experts / 64);
  CHECK(held({.tensor = 8, .expert_tensor = 1}) == experts);
  const Error error = thrown::by([&] { check_layout(t, {.tensor = 8, .expert = 8, .expert_tensor = 8}); });
  CHECK(error.failure() == Failure::infeasible);
  CHECK(thrown::says(error, "expert x expert_tensor must divide tensor x context x data"));
}
