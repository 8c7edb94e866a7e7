// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>

#include "architecture/shapes.hpp"
#include "floplan/architecture/training_flop.hpp"
#include "floplan/core/random.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using architecture::LayerPattern;
using architecture::LocalAttention;
using architecture::parameter_count;
using architecture::Recompute;
using architecture::recomputed_flop_per_token;
using architecture::training_flop_per_token;
using architecture::TrainingFlopPerToken;
using architecture::Transformer;
using law::FlopConvention;

// Narayanan 2021 (arXiv 2104.04473, section 5.1 and its appendix), for one token: 72 L h^2 (1 + s/6h + V/12hL), and 96 L h^2
// (1 + s/6h + V/16hL) with each layer's forward pass done again. The whole square of scores is counted.
double narayanan(const Transformer& t, double s, bool again) {
  const double layers = static_cast<double>(t.layers);
  const double h = static_cast<double>(t.width);
  const double v = static_cast<double>(t.vocabulary);
  return again ? 96 * layers * h * h * (1 + s / (6 * h) + v / (16 * h * layers))
               : 72 * layers * h * h * (1 + s / (6 * h) + v / (12 * h * layers));
}
// Korthikanti 2022 (arXiv 2205.05198, appendix A): what the hardware does with selective recomputation, by its own account.
double korthikanti(const Transformer& t, double s) {
  const double layers = static_cast<double>(t.layers);
  const double h = static_cast<double>(t.width);
  const double v = static_cast<double>(t.vocabulary);
  return 72 * layers * h * h * (1 + s / (3 * h) + v / (12 * h * layers));
}

// Matrix products alone with the whole square of scores: what Megatron-LM counted in 2021.
double model_flop(const Transformer& t, double s) {
  const TrainingFlopPerToken flop = training_flop_per_token(t, Tokens(s));
  return (flop.megatron + (flop.full - flop.causal)).value;
}

Transformer random_gpt(RandomStream& random) {
  const std::int64_t heads = 1 + random.below(128);
  return shapes::gpt(1 + random.below(128), heads * (1 + random.below(256)), heads, 1 + random.below(100000), 2048);
}

Transformer mixtral() {
  Transformer t = shapes::named("Mistral 7B");
  t.experts =
      architecture::Experts{.count = 8, .active = 2, .width = t.ffn_width, .layers = LayerPattern::all(t.layers)};
  return t;
}

double scores(const Transformer& t, double s, FlopConvention convention) {
  const TrainingFlopPerToken flop = training_flop_per_token(t, Tokens(s));
  return (flop.by(convention) - flop.six_n).value;
}

}  // namespace

TEST_CASE("a GPT's FLOP are those of Narayanan's formula, with and without full recomputation") {
  RandomStream random(2104);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const Transformer t = random_gpt(random);
    const double s = 1 + random.below(32768);
    CHECK(model_flop(t, s) == near(narayanan(t, s, false), 1e-12));
    const double again = recomputed_flop_per_token(t, Tokens(s), Recompute::full, FlopConvention::full).value;
    CHECK(model_flop(t, s) + again == near(narayanan(t, s, true), 1e-12));
  }
}

// Korthikanti's hardware FLOP with selective recomputation double the whole attention core, forward and backward. What is
// done again is its forward pass, a third of that; so by our count the hardware does less than they print.
TEST_CASE("selective recomputation adds one forward pass of the core, a third of what Korthikanti's formula adds") {
  RandomStream random(2205);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const Transformer t = random_gpt(random);
    const double s = 1 + random.below(32768);
    const double again = recomputed_flop_per_token(t, Tokens(s), Recompute::selective, FlopConvention::full).value;
    CHECK(model_flop(t, s) + 3 * again == near(korthikanti(t, s), 1e-12));
    CHECK(again == near(4 * static_cast<double>(t.layers * t.width) * s, 1e-12));
    CHECK(recomputed_flop_per_token(t, Tokens(s), Recompute::selective, FlopConvention::causal).value ==
          near(again / 2, 1e-12));
    CHECK(recomputed_flop_per_token(t, Tokens(s), Recompute::none, FlopConvention::full).value == 0);
  }
}

TEST_CASE("measured step times give the published utilisations of model and hardware") {
  for (const reference::Row& row : reference::rows("gpt_utilisation.csv")) {
    const Transformer t = shapes::gpt(row);
    const double s = row.number("sequence_length");
    const double rate = row.number("batch") * s / (row.number("seconds") * row.number("accelerators"));
    const double again = recomputed_flop_per_token(t, Tokens(s), Recompute::selective, FlopConvention::full).value;
    const bool hardware = row.text("flop") == "hardware";
    reference::check(row, (model_flop(t, s) + (hardware ? 3 * again : 0)) * rate / row.number("peak"));
  }
}

TEST_CASE("tying changes no matrix product, and takes a table from 6N") {
  for (const char* name : {"Llama 3 8B", "Llama 3.2 1B with tied embeddings", "Llama 2 70B"}) {
    Transformer tied = shapes::named(name);
    tied.tied_embeddings = true;
    Transformer untied = tied;
    untied.tied_embeddings = false;
    for (const double s : {1.0, 4096.0, 131072.0}) {
      const TrainingFlopPerToken with = training_flop_per_token(tied, Tokens(s));
      const TrainingFlopPerToken without = training_flop_per_token(untied, Tokens(s));
      CHECK(with.megatron == without.megatron);
      CHECK(without.six_n - with.six_n == FlopPerToken(6 * static_cast<double>(tied.vocabulary * tied.width)));
      CHECK(scores(tied, s, FlopConvention::full) == near(scores(untied, s, FlopConvention::full), 1e-9));
      CHECK(recomputed_flop_per_token(tied, Tokens(s), Recompute::full, FlopConvention::full) ==
            recomputed_flop_per_token(untied, Tokens(s), Recompute::full, FlopConvention::full));
    }
  }
}

TEST_CASE("fewer key-value heads change no FLOP of the scores, only those of their projections") {
  const Transformer own = shapes::named("Llama 2 7B");
  const double s = 8192;
  for (const std::int64_t kv_heads : {1, 2, 4, 8, 16}) {
    CAPTURE(kv_heads);
    Transformer t = own;
    t.kv_heads = kv_heads;
    for (const FlopConvention convention : {FlopConvention::causal, FlopConvention::full})
      CHECK(scores(t, s, convention) == near(scores(own, s, convention), 1e-9));
    const double projections =
        6.0 * 2 * static_cast<double>((own.kv_heads - kv_heads) * t.head_width * t.width * t.layers);
    CHECK((training_flop_per_token(own, Tokens(s)).megatron - training_flop_per_token(t, Tokens(s)).megatron).value ==
          near(projections, 1e-9));
    CHECK(recomputed_flop_per_token(t, Tokens(s), Recompute::selective, FlopConvention::full) ==
          recomputed_flop_per_token(own, Tokens(s), Recompute::selective, FlopConvention::full));
  }
}

TEST_CASE("a window or chunk of the sequence or more is global attention") {
  RandomStream random(4096);
  for (int i = 0; i < 200; ++i) {
    const Transformer global = shapes::named(i % 2 == 0 ? "Llama 3 8B" : "Llama 3.1 405B");
    const std::int64_t s = 1 + random.below(131072);
    Transformer t = global;
    t.local = LocalAttention{s + random.below(1000), random.below(2) == 1,
                             LayerPattern::every(1 + random.below(6), t.layers)};
    const auto tokens = Tokens(static_cast<double>(s));
    const TrainingFlopPerToken local = training_flop_per_token(t, tokens);
    const TrainingFlopPerToken whole = training_flop_per_token(global, tokens);
    CHECK(local.six_n == whole.six_n);
    CHECK(local.causal.value == near(whole.causal.value, 1e-14));
    CHECK(local.full.value == near(whole.full.value, 1e-14));
    CHECK(local.megatron.value == near(whole.megatron.value, 1e-14));
  }
}

// Token i sees i - 1/2 tokens of a causal sequence on average, the diagonal counted half, and never more than the window.
TEST_CASE("a causal sliding window costs what its tokens see one by one, and a chunk half of its length") {
  Transformer t = shapes::named("Llama 3 8B");
  for (const std::int64_t window : {1, 7, 512, 1000}) {
    for (const std::int64_t s : {1000, 1024, 5000}) {
      CAPTURE(window);
      CAPTURE(s);
      const double w = static_cast<double>(window);
      double sliding = 0;
      double chunked = 0;
      for (std::int64_t i = 0; i < s; ++i) {
        sliding += std::min(static_cast<double>(i) + 0.5, w);
        chunked += static_cast<double>(i % window) + 0.5;
      }
      const double n = static_cast<double>(s);
      const double unit = 12 * static_cast<double>(t.layers * t.heads * t.head_width);  // of one token seen
      t.local = LocalAttention{window, false, LayerPattern::all(t.layers)};
      CHECK(scores(t, n, FlopConvention::causal) == near(unit * sliding / n, 1e-6));
      CHECK(scores(t, n, FlopConvention::full) == near(unit * w, 1e-6));
      t.local->chunked = true;
      if (s % window == 0) CHECK(scores(t, n, FlopConvention::causal) == near(unit * chunked / n, 1e-6));
    }
  }
}

TEST_CASE("windows cap what a longer sequence costs, in their layers and no others") {
  const Transformer global = shapes::named("Llama 3 8B");
  Transformer t = global;
  const double unit = 12 * static_cast<double>(t.layers * t.heads * t.head_width);
  t.local = LocalAttention{1024, false, LayerPattern::all(t.layers)};
  double last = 0;
  for (double s = 512; s < 2e7; s *= 2) {
    CAPTURE(s);
    const double now = scores(t, s, FlopConvention::causal);
    CHECK(now > last);
    CHECK(now <= unit * 1024 * (1 + 1e-9));
    CHECK(now <= scores(global, s, FlopConvention::causal) * (1 + 1e-9));
    CHECK(scores(t, s, FlopConvention::full) <= unit * 1024 * (1 + 1e-9));
    last = now;
  }
  // Every fourth of the layers, so three quarters of the global scores remain.
  t.local->layers = LayerPattern::every(4, t.layers);
  const double s = 65536;
  Transformer all = t;
  all.local->layers = LayerPattern::all(t.layers);
  CHECK(scores(t, s, FlopConvention::causal) ==
        near(0.75 * scores(global, s, FlopConvention::causal) + 0.25 * scores(all, s, FlopConvention::causal), 1e-9));
}

TEST_CASE("a mixture of experts spends FLOP on what a token uses, whatever else there is") {
  const Transformer t = mixtral();
  const auto count = parameter_count(t);
  CHECK(count.total == Parameters(reference::row("realise_experts.csv", "Mixtral 8x7B").value()));
  const Tokens s(8192);
  const TrainingFlopPerToken flop = training_flop_per_token(t, s);
  CHECK(flop.six_n.value == 6 * count.active.value);
  CHECK(flop.six_n.value < 6 * count.total.value / 3);
  for (const std::int64_t experts : {2, 16, 128}) {
    CAPTURE(experts);
    Transformer other = t;
    other.experts->count = experts;
    const TrainingFlopPerToken found = training_flop_per_token(other, s);
    CHECK(found.megatron == flop.megatron);
    // A longer router is all that a token sees of more experts.
    const double routers = static_cast<double>((experts - t.experts->count) * t.width * t.layers);
    CHECK((found.six_n - flop.six_n).value == 6 * routers);
    CHECK(scores(other, 8192, FlopConvention::full) == near(scores(t, 8192, FlopConvention::full), 1e-9));
  }
  Transformer wider = t;
  wider.experts->active = 4;
  const double two_more = 6.0 * 2 * 3 * static_cast<double>(t.width * t.ffn_width * t.layers);
  CHECK((training_flop_per_token(wider, s).megatron - flop.megatron).value == near(two_more, 1e-12));
}

TEST_CASE("conventions are in order, and full recomputation adds less than a third of the whole") {
  RandomStream random(32768);
  for (int i = 0; i < 200; ++i) {
    const Transformer t = i % 2 == 0 ? mixtral() : random_gpt(random);
    const Tokens s(1 + random.below(131072));
    const TrainingFlopPerToken flop = training_flop_per_token(t, s);
    CHECK(flop.six_n < flop.causal);
    CHECK(flop.causal < flop.full);
    CHECK(flop.megatron < flop.causal);
    const double selective = recomputed_flop_per_token(t, s, Recompute::selective, FlopConvention::full).value;
    const double full = recomputed_flop_per_token(t, s, Recompute::full, FlopConvention::full).value;
    CHECK(selective < full);
    CHECK(full < flop.full.value / 3);
  }
}

TEST_CASE("a law's FLOP follow from what a token uses, by each count and convention") {
  using law::ParameterConvention;
  for (const Transformer& t : {mixtral(), shapes::named("Llama 3 8B")}) {
    const architecture::ParameterCount count = parameter_count(t);
    const Tokens sequence(8192);
    const TrainingFlopPerToken flop = training_flop_per_token(t, sequence);
    CHECK(count.used(ParameterConvention::total) == count.active);
    CHECK(count.used(ParameterConvention::active) == count.active);
    CHECK(count.used(ParameterConvention::non_embedding) == count.active - count.embedding);
    CHECK(count.used(ParameterConvention::without_input_embedding) == count.active_without_input_embedding());
    for (const auto counted : law::parameter_conventions) {
      CHECK(training_flop_per_token(t, sequence, counted, FlopConvention::six_n).value ==
            6 * count.used(counted).value);
      const FlopPerToken full = training_flop_per_token(t, sequence, counted, FlopConvention::full);
      const FlopPerToken causal = training_flop_per_token(t, sequence, counted, FlopConvention::causal);
      CHECK((full - causal).value == near((flop.full - flop.causal).value, 1e-9));
    }
    CHECK(training_flop_per_token(t, sequence, ParameterConvention::total, FlopConvention::full) == flop.full);
    CHECK(training_flop_per_token(t, sequence, ParameterConvention::active, FlopConvention::causal) == flop.causal);
  }
}
