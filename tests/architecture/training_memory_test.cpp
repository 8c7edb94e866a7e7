// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/architecture/training_memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "architecture/memory_shapes.hpp"
#include "architecture/shapes.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/core/random.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::architecture;

constexpr double gib = 1073741824;

struct Case {
  Transformer transformer;
  Layout layout;
  TrainingMemoryOptions options;
};

Case korthikanti(const std::string& name) {
  const reference::Row row = reference::row("korthikanti_memory_cases.csv", name);
  const auto whole = [&row](const char* column) { return static_cast<std::int64_t>(row.number(column)); };
  Case out;
  out.transformer =
      shapes::gpt(whole("layers"), whole("width"), whole("heads"), whole("vocabulary"), whole("sequence_length"));
  out.layout = {.tensor = whole("tensor"), .pipeline = whole("pipeline"), .interleave = whole("interleave")};
  out.options.activation = {.sequence_length = whole("sequence_length"),
                            .microbatch = whole("microbatch"),
                            .attention = AttentionKernel::materialised,
                            .dropout = true};
  out.options.microbatches = whole("microbatches");
  out.options.sharding = Sharding::none;
  return out;
}

// Of the first stage's layers, as the paper's figures count.
double layer_activations(Case c, bool sequence_parallel, Recompute recompute) {
  c.options.activation.sequence_parallel = sequence_parallel;
  c.options.activation.recompute = recompute;
  return training_memory(c.transformer, c.layout, c.options).stages[0].layers.total();
}

double found(const Case& c, const std::string& quantity) {
  const double none = layer_activations(c, false, Recompute::none);
  if (quantity == "none") return none / gib;
  if (quantity == "sequence and selective") return layer_activations(c, true, Recompute::selective) / gib;
  if (quantity == "sequence share") return 100 * layer_activations(c, true, Recompute::none) / none;
  if (quantity == "selective share") return 100 * layer_activations(c, false, Recompute::selective) / none;
  if (quantity == "sequence and selective share") return 100 * layer_activations(c, true, Recompute::selective) / none;
  REQUIRE(quantity == "full share");
  return 100 * layer_activations(c, false, Recompute::full) / none;
}

double state_of_layers(const Case& c) {
  const auto report = training_memory(c.transformer, c.layout, c.options);
  const TrainingMemoryOptions& o = c.options;
  return (o.weight_bytes + o.gradient_bytes + o.optimizer_bytes) *
         report.stages[report.stages.size() / 2].parameters.layers.total();
}

TrainingMemoryOptions random_options(RandomStream& random) {
  TrainingMemoryOptions o;
  o.activation.sequence_length = 256 * shapes::one_of(random, 1, 8);
  o.activation.microbatch = shapes::one_of(random, 1, 4);
  o.activation.recompute = static_cast<Recompute>(random.below(3));
  o.activation.attention = static_cast<AttentionKernel>(random.below(2));
  o.activation.dropout = random.below(2) == 1;
  o.microbatches = shapes::one_of(random, 1, 40);
  o.sharding = static_cast<Sharding>(random.below(4));
  return o;
}

}  // namespace

TEST_CASE("activations of the published models are those of the figures, to the digits that can be read") {
  for (const reference::Row& row : reference::rows("korthikanti_memory.csv")) {
    const std::string quantity = row.text("quantity");
    if (quantity != "parameters and optimizer") reference::check(row, found(korthikanti(row.text("case")), quantity));
  }
}

TEST_CASE(
    "published parameters and optimizer state are those of a middle stage's matrices, and vectors add a thousandth") {
  for (const reference::Row& row : reference::rows("korthikanti_memory.csv")) {
    if (row.text("quantity") != "parameters and optimizer") continue;
    Case c = korthikanti(row.text("case"));
    const double with_vectors = state_of_layers(c);
    c.transformer.biases = {};
    c.transformer.norm = Norm::none;
    reference::check(row, state_of_layers(c) / gib);
    CHECK(with_vectors > state_of_layers(c));
    CHECK(with_vectors < 1.001 * state_of_layers(c));
  }
}

TEST_CASE("the embedding is on the first stage, which needs more than a middle one by its table and its masks") {
  const Case c = korthikanti("175B");
  const auto report = training_memory(c.transformer, c.layout, c.options);
  CHECK(report.worst == 0);
  const StageMemory& first = report.stages[0];
  const double table = (51200.0 / 8 + 2048) * 12288;
  CHECK(first.parameters.embedding == table);
  CHECK((first.state() - report.stages[3].state()).value == near(18 * table, 1e-12));
  CHECK(report.stages[7].parameters.head == 51200.0 / 8 * 12288 + 2 * 12288);  // a copy of the tied table
  CHECK(first.embedding_activations.value > 0);
  CHECK(first.head_activations == Bytes(0));
  CHECK(report.stages[7].head_activations.value > 0);
}

TEST_CASE("bytes a parameter are those of each stage of ZeRO") {
  Transformer t = shapes::named("Llama 3 8B");
  const double n = parameter_count(t).total.value;
  for (const std::int64_t data : {1, 8, 64}) {
    for (const std::int64_t context : {1, 4}) {
      const double d = static_cast<double>(data * context);
      TrainingMemoryOptions o;
      const auto state = [&](Sharding sharding) {
        o.sharding = sharding;
        const auto stage = training_memory(t, {.context = context, .data = data}, o).stages[0];
        return (stage.state() - stage.gathered).value / n;
      };
      CHECK(state(Sharding::none) == near(18, 1e-14));
      CHECK(state(Sharding::zero1) == near(6 + 12 / d, 1e-14));
      o.gradient_bytes = 2;
      CHECK(state(Sharding::none) == near(16, 1e-14));
      CHECK(state(Sharding::zero1) == near(4 + 12 / d, 1e-14));
      CHECK(state(Sharding::zero2) == near(2 + 14 / d, 1e-14));
      CHECK(state(Sharding::zero3) == near(16 / d, 1e-14));
    }
  }
}

TEST_CASE("with weights cut over replicas, two layers or the larger table are whole at a time") {
  const Transformer t = shapes::named("Llama 3.1 405B");
  TrainingMemoryOptions o;
  o.sharding = Sharding::zero3;
  const auto whole = [&] { return training_memory(t, {.tensor = 8, .data = 64}, o).stages[0].gathered.value; };
  const ParameterShards shards(t, {.tensor = 8});
  CHECK(whole() == near(2 * 2 * shards.dense_layer().total(), 1e-14));
  o.gathered_layers = 0;
  CHECK(whole() == near(2 * (128256.0 / 8 * 16384 + 16384), 1e-14));
  o.sharding = Sharding::zero3_no_reshard;
  const double all = training_memory(t, {.tensor = 8, .data = 64}, o).stages[0].parameters.all().total();
  CHECK(whole() == near(2 * all, 1e-14));
  o.sharding = Sharding::zero2;
  CHECK(whole() == 0);
}

TEST_CASE("experts are cut over their own replicas") {
  Transformer t = shapes::named("Llama 3 8B");
  t.experts = {.count = 64, .active = 8, .width = 1024, .layers = LayerPattern::all(t.layers)};
  const Layout layout{.tensor = 2, .context = 2, .data = 16, .expert = 16};
  TrainingMemoryOptions o;
  o.sharding = Sharding::zero1;
  const auto stage = training_memory(t, layout, o).stages[0];
  const ParameterShare held = stage.parameters.all();
  CHECK(held.experts == 32.0 * 4 * 3 * 4096 * 1024);
  CHECK(stage.optimizer.value == near(12 * (held.common / 32 + held.experts / 4), 1e-14));
  CHECK(stage.weights.value == 2 * held.total());
}

// Not where 32 microbatches go through 16 ranks of several chunks each: that schedule keeps more than 80 GB. Llama 3's own
// schedule, and tensors freed early (section 3.3.2), keep less than the one counted here.
TEST_CASE(
    "Llama 3 405B fits as published, without recomputation, with one chunk a rank or as many microbatches as ranks") {
  const Transformer t = shapes::named("Llama 3.1 405B");
  for (const reference::Row& row : reference::rows("llama3_layout_cases.csv")) {
    const auto whole = [&row](const char* column) { return static_cast<std::int64_t>(row.number(column)); };
    Layout layout{
        .tensor = whole("tensor"), .context = whole("context"), .pipeline = whole("pipeline"), .data = whole("data")};
    TrainingMemoryOptions o;
    o.activation.sequence_length = whole("sequence_length");
    o.microbatches = whole("microbatches");
    o.sharding = Sharding::zero2;
    for (const std::int64_t interleave : {1, 2, 4, 8}) {
      if (interleave > 1 && o.microbatches > layout.pipeline) continue;
      layout.interleave = interleave;
      const auto report = training_memory(t, layout, o);
      const MemoryFit fit = report.fits(Bytes(row.number("capacity")));
      INFO(row.name() << ", interleave " << interleave << ": " << fit.text);
      CHECK(fit.fits);
    }
  }
}

TEST_CASE("the answer names the stage, by how much, and of what") {
  const Transformer t = shapes::named("Llama 3.1 405B");
  TrainingMemoryOptions o;
  o.microbatches = 16;
  const auto report = training_memory(t, {.tensor = 8, .pipeline = 16, .data = 128}, o);
  const Bytes need = report.worst_stage().total();
  const MemoryFit tight = report.fits(need);
  CHECK(tight.fits);
  CHECK(tight.spare == Bytes(0));
  const MemoryFit short_of = report.fits(need - Bytes(2.5e9));
  CHECK_FALSE(short_of.fits);
  CHECK(short_of.rank == report.worst_stage().rank);
  CHECK(short_of.text.find("does not fit in ") == 0);
  INFO(short_of.text);
  CHECK(short_of.text.find(", by " + print_short(Bytes(2.5e9)) + ": stage 2 of 16 needs most, ") != std::string::npos);
  CHECK(short_of.text.find("weights ") != std::string::npos);
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK(thrown::by([&] { (void)report.fits(Bytes(bad)); }).failure() == Failure::usage);
}

TEST_CASE("more tensor, context or data parallel ranks never need more, more sequences never less") {
  RandomStream random(21);
  for (int i = 0; i < 1000; ++i) {
    Layout layout{.tensor = std::int64_t{1} << random.below(4),
                  .context = std::int64_t{1} << random.below(3),
                  .pipeline = shapes::one_of(random, 1, 4),
                  .data = std::int64_t{8} << random.below(3)};
    if (layout.pipeline > 1) layout.interleave = shapes::one_of(random, 1, 3);
    const Transformer t = shapes::any(random, layout.pipeline * layout.interleave * shapes::one_of(random, 1, 3));
    // An expert that TP cuts is spared when EP spreads experts instead: that is another question.
    layout.expert_tensor = 1;
    if (t.experts) layout.expert = std::int64_t{1} << random.below(3);
    TrainingMemoryOptions o = random_options(random);
    const auto need = [&](const Layout& l, const TrainingMemoryOptions& with) {
      return training_memory(t, l, with).worst_stage().total().value;
    };
    const double now = need(layout, o);
    const double rounding = 1e-12 * now;
    CHECK(std::isfinite(now));
    CHECK(now > 0);
    Layout more = layout;
    more.tensor *= 2;
    CHECK(need(more, o) <= now + rounding);
    more = layout;
    more.context *= 2;
    CHECK(need(more, o) <= now + rounding);
    more = layout;
    more.data *= 2;
    CHECK(need(more, o) <= now + rounding);
    if (t.experts) {
      more = layout;
      more.expert *= 2;
      CHECK(need(more, o) <= now + rounding);
    }
    TrainingMemoryOptions other = o;
    ++other.activation.microbatch;
    CHECK(need(layout, other) >= now);
    other = o;
    // In whole groups: in a step shorter than the warm-up all forward passes come first, and all logits wait.
    other.microbatches = layout.pipeline * (1 + o.microbatches / layout.pipeline);
    const double whole_groups = need(layout, other);
    other.microbatches += layout.pipeline;
    CHECK(need(layout, other) >= whole_groups * (1 - 1e-12));
    other = o;
    other.activation.sequence_length *= 2;
    CHECK(need(layout, other) >= now);
    double last = std::numeric_limits<double>::infinity();
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
      other = o;
      other.activation.recompute = recompute;
      const double total = need(layout, other);
      CHECK(total <= last * (1 + 1e-12));
      last = total;
    }
    last = std::numeric_limits<double>::infinity();
    for (const Sharding sharding : {Sharding::none, Sharding::zero1, Sharding::zero2}) {
      other = o;
      other.sharding = sharding;
      CHECK(need(layout, other) <= last);
      last = need(layout, other);
    }
  }
}

TEST_CASE("parts add up on each stage, and the worst stage needs most") {
  RandomStream random(22);
  for (int i = 0; i < 300; ++i) {
    Layout layout{.tensor = std::int64_t{1} << random.below(4), .pipeline = shapes::one_of(random, 1, 6), .data = 8};
    const Transformer t = shapes::any(random, layout.pipeline * shapes::one_of(random, 1, 3));
    const auto report = training_memory(t, layout, random_options(random));
    REQUIRE(report.stages.size() == static_cast<std::size_t>(layout.pipeline));
    for (std::size_t r = 0; r < report.stages.size(); ++r) {
      const StageMemory& s = report.stages[r];
      CHECK(s.rank == static_cast<std::int64_t>(r));
      const double parts = s.weights.value + s.gathered.value + s.gradients.value + s.optimizer.value +
                           s.layers.total() + s.embedding_activations.value + s.head_activations.value +
                           s.recomputed.value;
      CHECK(s.total().value == near(parts, 1e-14));
      CHECK(s.total() <= report.worst_stage().total());
    }
  }
}

TEST_CASE("options out of range and stages of another model are refused") {
  const Transformer t = shapes::named("Llama 3 8B");
  TrainingMemoryOptions o;
  const auto refused = [&] { return thrown::by([&] { (void)training_memory(t, {}, o); }); };
  o.microbatches = 0;
  CHECK(thrown::says(refused(), "training_memory: microbatches must be from 1 to 2147483647, got 0"));
  CHECK(refused().failure() == Failure::usage);
  o = {};
  o.optimizer_bytes = std::nan("");
  CHECK(refused().failure() == Failure::usage);
  o.optimizer_bytes = -1;
  CHECK(refused().failure() == Failure::usage);
  const PipelineStages stages(t, 4);
  CHECK(thrown::says(thrown::by([&] { (void)TrainingMemory(t, {.pipeline = 8}, stages, {}); }),
                     "stages must be those of the transformer and its layout"));
}

TEST_CASE("a checkpoint of 405B is 12 to 14 bytes a parameter") {
  for (const reference::Row& row : reference::rows("checkpoint_bytes.csv")) {
    reference::check(
        row, checkpoint_bytes(Parameters(row.number("parameters")), row.number("bytes_per_parameter")).value / 1e12);
  }
}
