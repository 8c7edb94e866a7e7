// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/architecture/parameter_count.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "architecture/shapes.hpp"
#include "floplan/core/random.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using architecture::Norm;
using architecture::parameter_count;
using architecture::QueryKeyNorm;
using architecture::Transformer;

struct Counted {
  std::int64_t total = 0;
  std::int64_t active = 0;
  std::int64_t embedding = 0;
  std::int64_t input_embedding = 0;
};

// The same count matrix by matrix and vector by vector, in integers, as a checkpoint lists them.
class Ledger {
 public:
  explicit Ledger(const Transformer& t) : t_(t) {
    table(true);
    if (!t.tied_embeddings) table(false);
    positions();
    if (t.embedding_norm) norm();
    for (std::int64_t layer = 0; layer < t.layers; ++layer) {
      attention();
      for (std::int64_t i = 0; i < t.norms_a_layer; ++i) norm();
      if (t.experts && t.experts->layers[layer])
        experts();
      else
        block(t.ffn_width, true);
    }
    norm();
    if (t.biases.head) both(t.vocabulary);
  }
  [[nodiscard]] const Counted& counted() const { return out_; }

 private:
  void both(std::int64_t n) {
    out_.total += n;
    out_.active += n;
  }
  void matrix(std::int64_t rows, std::int64_t columns) { both(rows * columns); }
  void table(bool input) {
    matrix(t_.vocabulary, t_.width);
    out_.embedding += t_.vocabulary * t_.width;
    if (input && !t_.tied_embeddings) out_.input_embedding += t_.vocabulary * t_.width;
  }
  void positions() {
    matrix(t_.learned_positions, t_.width);
    out_.embedding += t_.learned_positions * t_.width;
    out_.input_embedding += t_.learned_positions * t_.width;
  }
  void norm() {
    if (t_.norm == Norm::none) return;
    both(t_.width);
    if (t_.norm == Norm::layer) both(t_.width);
  }
  void attention() {
    if (t_.latent) {
      latent();
    } else {
      for (std::int64_t head = 0; head < t_.heads; ++head) head_of(t_.query_key_norm == QueryKeyNorm::whole);
      for (std::int64_t head = 0; head < t_.kv_heads; ++head) {
        head_of(t_.query_key_norm == QueryKeyNorm::whole);
        head_of(false);
      }
      if (t_.query_key_norm == QueryKeyNorm::per_head) both(2 * t_.head_width);
      for (std::int64_t head = 0; head < t_.heads; ++head) matrix(t_.head_width, t_.width);
    }
    if (t_.biases.attention_output) both(t_.width);
    if (t_.relative_positions) matrix(t_.width, t_.width);
    for (std::int64_t head = 0; head < t_.heads; ++head)
      if (t_.attention_sinks) both(1);
  }
  // A head's projection from the width, with its bias and its part of a norm over all heads.
  void head_of(bool normed) {
    matrix(t_.width, t_.head_width);
    if (t_.biases.queries_keys_values) both(t_.head_width);
    if (normed) both(t_.head_width);
  }
  void latent() {
    const architecture::LatentAttention& l = *t_.latent;
    const std::int64_t query = l.plain_width + l.rotary_width;
    // The bias is that of the projections from the width: of compressed queries, or of the queries themselves.
    if (l.query_rank > 0) {
      matrix(t_.width, l.query_rank);
      if (t_.biases.queries_keys_values) both(l.query_rank);
      both(l.query_rank);
      for (std::int64_t head = 0; head < t_.heads; ++head) matrix(l.query_rank, query);
    } else {
      for (std::int64_t head = 0; head < t_.heads; ++head) {
        matrix(t_.width, query);
        if (t_.biases.queries_keys_values) both(query);
      }
    }
    matrix(t_.width, l.kv_rank + l.rotary_width);
    if (t_.biases.queries_keys_values) both(l.kv_rank + l.rotary_width);
    both(l.kv_rank);
    for (std::int64_t head = 0; head < t_.heads; ++head) {
      matrix(l.kv_rank, l.plain_width);
      matrix(l.kv_rank, l.value_width);
      matrix(l.value_width, t_.width);
    }
  }
  void block(std::int64_t ffn, bool used) {
    const Counted before = out_;
    if (t_.gated) {
      matrix(t_.width, ffn);
      if (t_.biases.feed_forward) both(ffn);
    }
    matrix(t_.width, ffn);
    if (t_.biases.feed_forward) both(ffn);
    matrix(ffn, t_.width);
    if (t_.biases.feed_forward) both(t_.width);
    if (!used) out_.active = before.active;
  }
  void experts() {
    const architecture::Experts& e = *t_.experts;
    for (std::int64_t i = 0; i < e.count; ++i) block(e.width, i < e.active);
    matrix(t_.width, e.count);
    if (e.router_bias) both(e.count);
    if (e.shared_width == 0) return;
    block(e.shared_width, true);
    if (e.shared_gate) both(t_.width);
  }

  const Transformer& t_;
  Counted out_;
};

// Any shape that check() takes, of a size that integers count without overflow.
Transformer random_shape(RandomStream& random) {
  const auto up_to = [&random](std::uint32_t most) { return static_cast<std::int64_t>(1 + random.below(most)); };
  const auto coin = [&random] { return random.below(2) == 1; };
  Transformer t{.layers = up_to(60),
                .width = up_to(20000),
                .heads = 0,
                .kv_heads = up_to(16),
                .head_width = up_to(256),
                .ffn_width = up_to(60000),
                .vocabulary = up_to(300000)};
  t.heads = t.kv_heads * up_to(8);
  t.tied_embeddings = coin();
  t.gated = coin();
  t.norm = std::array{Norm::rms, Norm::layer, Norm::layer_without_bias, Norm::none}[random.below(4)];
  t.norms_a_layer = static_cast<std::int64_t>(random.below(5));
  t.embedding_norm = coin();
  t.query_key_norm = std::array{QueryKeyNorm::none, QueryKeyNorm::per_head, QueryKeyNorm::whole}[random.below(3)];
  t.biases = {coin(), coin(), coin(), coin()};
  t.attention_sinks = coin();
  if (coin()) t.learned_positions = up_to(8192);
  t.relative_positions = random.below(4) == 0;
  if (random.below(3) == 0) {
    t.latent = architecture::LatentAttention{coin() ? up_to(2000) : 0, up_to(600), up_to(200), up_to(100), up_to(200)};
    t.query_key_norm = QueryKeyNorm::none;
  }
  if (coin()) {
    std::vector<bool> flags(static_cast<std::size_t>(t.layers));
    for (std::size_t i = 0; i < flags.size(); ++i) flags[i] = coin();
    flags[0] = true;
    architecture::Experts e{.count = up_to(64), .active = 0, .width = up_to(4000)};
    e.active = up_to(static_cast<std::uint32_t>(e.count));
    if (coin()) e.shared_width = up_to(8000);
    e.layers = architecture::LayerPattern(flags);
    e.router_bias = coin();
    e.shared_gate = coin();
    t.experts = e;
  }
  if (coin()) t.local = architecture::LocalAttention{up_to(4096), coin(), architecture::LayerPattern::all(t.layers)};
  return t;
}

}  // namespace

TEST_CASE("counts are those of the stored checkpoints, to the last parameter") {
  for (const reference::Row& row : reference::rows("parameter_counts.csv")) {
    reference::check(row, parameter_count(shapes::of(row)).total.value);
  }
}

TEST_CASE("GPTs from 1.7B to 1T have the published counts") {
  for (const reference::Row& row : reference::rows("gpt_counts.csv"))
    reference::check(row, parameter_count(shapes::gpt(row)).total.value);
}

TEST_CASE("embeddings are counted once if tied and twice if not, and the rest is what remains") {
  for (const reference::Row& row : reference::rows("embedding_parameters.csv")) {
    Transformer t = shapes::named("Llama 3 8B");
    t.width = static_cast<std::int64_t>(row.number("width"));
    t.vocabulary = static_cast<std::int64_t>(row.number("vocabulary"));
    t.tied_embeddings = row.number("tied") == 1;
    const auto count = parameter_count(t);
    reference::check(row, count.embedding.value);
    CHECK(count.embedding + count.non_embedding == count.total);
    CHECK(count.active == count.total);
  }
}

TEST_CASE("the count is that of its matrices one by one, for any shape") {
  RandomStream random(51);
  for (int i = 0; i < 1500; ++i) {
    CAPTURE(i);
    const Transformer t = random_shape(random);
    const Counted counted = Ledger(t).counted();
    const auto is = [](Parameters found, std::int64_t expected) {
      return found == Parameters(static_cast<double>(expected));
    };
    const auto count = parameter_count(t);
    CHECK(is(count.total, counted.total));
    CHECK(is(count.active, counted.active));
    CHECK(is(count.embedding, counted.embedding));
    CHECK(is(count.non_embedding, counted.total - counted.embedding));
    CHECK(is(count.input_embedding, counted.input_embedding));
    CHECK(is(count.active_without_input_embedding(), counted.active - counted.input_embedding));
    CHECK(is(count.as(law::ParameterConvention::without_input_embedding), counted.total - counted.input_embedding));
  }
}

TEST_CASE("with all experts active nothing is idle, and one expert is a dense block and its router") {
  RandomStream random(52);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    Transformer t = random_shape(random);
    if (!t.experts) continue;
    t.experts->active = t.experts->count;
    CHECK(parameter_count(t).active == parameter_count(t).total);

    Transformer one = t;
    one.experts = architecture::Experts{
        .count = 1, .active = 1, .width = t.ffn_width, .layers = architecture::LayerPattern::all(t.layers)};
    Transformer dense = t;
    dense.experts.reset();
    const double router = static_cast<double>(t.layers * t.width);
    CHECK(parameter_count(one).total == parameter_count(dense).total + Parameters(router));
  }
}

TEST_CASE("where a layer attends changes no count") {
  RandomStream random(53);
  for (int i = 0; i < 200; ++i) {
    Transformer t = random_shape(random);
    const auto count = parameter_count(t);
    t.local = architecture::LocalAttention{1024, i % 2 == 0, architecture::LayerPattern::every(1, t.layers)};
    CHECK(parameter_count(t).total == count.total);
    CHECK(parameter_count(t).active == count.active);
  }
}

TEST_CASE("layers cost the same each, and tying saves one vocabulary of vectors") {
  Transformer t = shapes::named("Llama 3 8B");
  const double base = parameter_count(t).total.value;
  t.layers += 1;
  const double layer = parameter_count(t).total.value - base;
  t.layers += 1;
  CHECK(parameter_count(t).total.value - base == 2 * layer);
  t.layers -= 2;
  t.tied_embeddings = true;
  CHECK(base - parameter_count(t).total.value == static_cast<double>(t.vocabulary * t.width));
  CHECK(parameter_count(t).non_embedding == parameter_count(shapes::named("Llama 3 8B")).non_embedding);
}
