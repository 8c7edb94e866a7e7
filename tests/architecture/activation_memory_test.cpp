// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/architecture/activation_memory.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "architecture/memory_shapes.hpp"
#include "architecture/shapes.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::architecture;

double layer(const Transformer& t, std::int64_t tensor, const ActivationOptions& options, std::int64_t context = 1) {
  return ActivationMemory(t, {.tensor = tensor, .context = context}, options).dense_layer().total();
}

}  // namespace

TEST_CASE("a GPT's layer keeps what Korthikanti's closed forms say") {
  for (const std::int64_t heads : {16, 64}) {
    for (const std::int64_t tensor : {1, 2, 8}) {
      for (const std::int64_t batch : {1, 4}) {
        const Transformer model = shapes::gpt(4, 6144, heads, 51200, 2048);
        const double h = 6144, a = static_cast<double>(heads), t = static_cast<double>(tensor), s = 2048;
        const double sbh = s * static_cast<double>(batch) * h;
        ActivationOptions o{.sequence_length = 2048, .microbatch = batch, .sequence_parallel = false};
        o.attention = AttentionKernel::materialised;
        o.dropout = true;
        CHECK(layer(model, tensor, o) == near(sbh * (10 + 24 / t + 5 * a * s / (h * t)), 1e-14));
        if (tensor == 1) CHECK(layer(model, tensor, o) == near(sbh * (34 + 5 * a * s / h), 1e-14));
        o.sequence_parallel = true;
        CHECK(layer(model, tensor, o) == near(sbh * (34 + 5 * a * s / h) / t, 1e-14));
        o.recompute = Recompute::selective;
        CHECK(layer(model, tensor, o) == near(34 * sbh / t, 1e-14));
        const ActivationMemory selective(model, {.tensor = tensor}, o);
        CHECK(selective.dense_layer_recomputed() == near(5 * a * s / (h * t) * sbh, 1e-14));
        o.recompute = Recompute::none;
        o.attention = AttentionKernel::fused;
        CHECK(layer(model, tensor, o) == near(34 * sbh / t, 1e-14));
        o.recompute = Recompute::full;
        CHECK(layer(model, tensor, o) == near(2 * sbh / t, 1e-14));
        o.sequence_parallel = false;
        CHECK(layer(model, tensor, o) == near(2 * sbh, 1e-14));
      }
    }
  }
}

TEST_CASE("the embedding and the head keep a mask, two inputs and FP32 logits") {
  const Transformer model = shapes::gpt(4, 6144, 64, 51200, 2048);
  const double sb = 2048 * 4, h = 6144, v = 51200, t = 8;
  ActivationOptions o{.sequence_length = 2048, .microbatch = 4};
  const ActivationMemory without(model, {.tensor = 8}, o);
  CHECK(without.embedding() == 0);
  CHECK(without.head() == near(4 * sb * h / t * (1 + v / h), 1e-14));
  o.dropout = true;
  CHECK(ActivationMemory(model, {.tensor = 8}, o).embedding() == near(sb * h / t, 1e-14));
}

TEST_CASE("without dropout masks go, and of the scores only the softmax stays") {
  const Transformer model = shapes::gpt(4, 6144, 64, 51200, 2048);
  const double sbh = 2048.0 * 6144;
  ActivationOptions o{.sequence_length = 2048, .attention = AttentionKernel::materialised};
  CHECK(layer(model, 1, o) == near(sbh * (32 + 2 * 64 * 2048.0 / 6144), 1e-14));
}

TEST_CASE("a gated block keeps three inner values, and fewer key-value heads keep less, down to one a rank") {
  Transformer t = shapes::named("Llama 3 8B");
  const ActivationOptions o{.sequence_length = 8192};
  const double tokens = 8192;
  const auto expected = [&](double kv, double ranks) {
    return 2 * tokens * (4 * 4096 / ranks + 2 * 4096 / ranks + 2 * kv * 128 + 3 * 14336 / ranks);
  };
  CHECK(layer(t, 1, o) == near(expected(8, 1), 1e-14));
  CHECK(layer(t, 8, o) == near(expected(1, 8), 1e-14));
  CHECK(layer(t, 32, o) == near(expected(1, 32), 1e-14));
  const double gated = layer(t, 1, o);
  t.gated = false;
  CHECK(layer(t, 1, o) == near(gated - 2 * tokens * 14336, 1e-14));
}

TEST_CASE("context parallelism keeps its share of the sequence, and of the scores too") {
  const Transformer model = shapes::gpt(4, 6144, 64, 51200, 2048);
  ActivationOptions o{.sequence_length = 2048, .attention = AttentionKernel::materialised};
  for (const std::int64_t context : {2, 4, 16})
    CHECK(layer(model, 2, o, context) == near(layer(model, 2, o) / static_cast<double>(context), 1e-14));
}

TEST_CASE("norms on both sides add their inputs, parallel blocks share one, and normed queries and keys stay twice") {
  Transformer t = shapes::named("Llama 3 8B");
  const ActivationOptions o{.sequence_length = 4096};
  const double two = layer(t, 1, o), unit = 2 * 4096.0 * 4096;
  t.norms_a_layer = 4;
  CHECK(layer(t, 1, o) == near(two + 2 * unit, 1e-14));
  t.norms_a_layer = 1;
  CHECK(layer(t, 1, o) == near(two - 2 * unit, 1e-14));
  t.norms_a_layer = 2;
  t.query_key_norm = QueryKeyNorm::per_head;
  CHECK(layer(t, 1, o) == near(two + 2 * 4096.0 * (4096 + 1024), 1e-14));
}

TEST_CASE("latent attention keeps its latents whole and its heads cut") {
  Transformer t = shapes::named("Llama 3 8B");
  const ActivationOptions o{.sequence_length = 4096, .sequence_parallel = false};
  t.latent = {.query_rank = 1536, .kv_rank = 512, .plain_width = 128, .rotary_width = 64, .value_width = 128};
  for (const std::int64_t tensor : {1, 4}) {
    const double ranks = static_cast<double>(tensor);
    const ActivationMemory memory(t, {.tensor = tensor}, o);
    const double heads = 32 / ranks * (2 * 192 + 2 * 128);
    CHECK(memory.dense_layer().attention == near(2 * 4096 * (4096 + 2 * 1536 + 2 * 512 + 64 + heads), 1e-14));
  }
}

TEST_CASE("a single expert of a block's width keeps the block, its copies in and out and the router's probability") {
  Transformer t = shapes::named("Llama 3 8B");
  const ActivationOptions o{.sequence_length = 4096};
  const double dense = layer(t, 1, o);
  t.experts = {.count = 1, .active = 1, .width = t.ffn_width, .layers = LayerPattern::all(t.layers)};
  const ActivationMemory one(t, {}, o);
  CHECK(one.expert_layer().total() == near(dense + 4096.0 * (2 * 2 * 4096 + 4), 1e-14));
  t.experts->count = 64;
  t.experts->active = 8;
  const ActivationMemory eight(t, {}, o);
  CHECK(eight.expert_layer().routed == near(8 * one.expert_layer().routed, 1e-14));
  ActivationOptions uneven = o;
  uneven.expert_imbalance = 1.5;
  const ActivationMemory busiest(t, {}, uneven);
  CHECK(busiest.expert_layer().routed == near(1.5 * eight.expert_layer().routed, 1e-14));
  CHECK(busiest.expert_layer().feed_forward == eight.expert_layer().feed_forward);
  const ActivationMemory cut(t, {.tensor = 8}, o);
  CHECK(cut.expert_layer().routed == near(eight.expert_layer().routed / 8, 1e-14));
}

TEST_CASE("a microbatch below one, a sequence that cannot be cut and numbers out of range are refused") {
  Transformer t = shapes::named("Llama 3 8B");
  const auto refused = [&t](const ActivationOptions& o, const Layout& layout = {}) {
    return thrown::by([&] { (void)ActivationMemory(t, layout, o); });
  };
  CHECK(thrown::says(refused({.microbatch = 0}), "microbatch must be from 1 to 2147483647, got 0"));
  CHECK(refused({.microbatch = 0}).failure() == Failure::usage);
  CHECK(refused({.sequence_length = 0}).failure() == Failure::usage);
  CHECK(refused({.bytes_per_value = std::nan("")}).failure() == Failure::usage);
  CHECK(refused({.bytes_per_value = std::numeric_limits<double>::infinity()}).failure() == Failure::usage);
  CHECK(refused({.expert_imbalance = 0.9}).failure() == Failure::usage);
  CHECK(refused({.sequence_length = 100}, {.context = 8}).failure() == Failure::infeasible);
  CHECK(
      thrown::says(refused({.sequence_length = 100}, {.tensor = 8}), "must divide the sequence length, got 8 and 100"));
  CHECK_NOTHROW(ActivationMemory(t, {.tensor = 8}, {.sequence_length = 100, .sequence_parallel = false}));
  t.experts = {.count = 8, .active = 2, .width = 512, .layers = LayerPattern::all(t.layers)};
  CHECK(thrown::says(refused({.sequence_parallel = false}, {.tensor = 2}),
                     "must have sequence parallelism, got tensor 2"));
}
