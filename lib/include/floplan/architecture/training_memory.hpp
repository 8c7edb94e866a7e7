// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes that each accelerator needs to train a transformer, by pipeline stage, and whether they fit.
//
//   total = weights + gathered + gradients + optimizer + activations
//
//   bytes a parameter, with n replicas:   none 2 + 4 + 12     zero1 2 + 4 + 12/n     zero2 2 + (4 + 12)/n     zero3 18/n
//   (a distributed optimizer is zero1; with gradients of 2 bytes, 4 + 12/n, 2 + 14/n, 16/n)
//   activations = sum over what waits of (layers x a layer's, embedding's, head's) + what one layer recomputes
//   gathered = with zero3 the weights of the layers that are whole at a time; without resharding all of the stage's
//
//   n = context x data replicas, of routed experts tensor x context x data / (EP ETP). stage_parameters.hpp counts parameters,
//   activation_memory.hpp a layer's activations, pipeline_stages.hpp what waits.
//
// Sources: Rajbhandari 2020 (arXiv 1910.02054, section 5); Korthikanti 2022 (2205.05198, section 4.2); Llama 3 (2407.21783,
// section 3.3.2: optimizer state and gradients cut, weights gathered once, that is zero2).
// Holds: mixed-precision Adam, its FP32 master weights and two moments. Shares of replicas are not rounded up.
// Pitfall: what runtime, communication buffers and fragmentation take is not in it: give fits() what is left of a device.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "floplan/architecture/activation_memory.hpp"
#include "floplan/architecture/layout.hpp"
#include "floplan/architecture/pipeline_stages.hpp"
#include "floplan/architecture/stage_parameters.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::architecture {

struct TrainingMemoryOptions {
  ActivationOptions activation{};
  std::int64_t microbatches = 1;  // of one pipeline in a step
  Sharding sharding = Sharding::zero1;
  double weight_bytes = 2;      // a parameter
  double gradient_bytes = 4;    // accumulated in FP32
  double optimizer_bytes = 12;  // FP32 master weights and two moments
  double gathered_layers = 2;   // with zero3: the one at work and the next
};

// Of one accelerator. Bytes, as everything that adds up here.
struct StageMemory {
  std::int64_t rank = 0;
  std::int64_t layers_held = 0;
  StageParameters parameters;
  Bytes weights, gathered, gradients, optimizer;
  WaitingPasses waiting;
  LayerActivations layers;  // of all that waits
  Bytes embedding_activations, head_activations;
  Bytes recomputed;  // what the backward pass of one layer computes again
  [[nodiscard]] Bytes activations() const {
    return Bytes(layers.total()) + embedding_activations + head_activations + recomputed;
  }
  // What does not depend on the batch.
  [[nodiscard]] Bytes state() const { return weights + gathered + gradients + optimizer; }
  [[nodiscard]] Bytes total() const { return state() + activations(); }
};

class TrainingMemory {
 public:
  // stages must be those of the same transformer. Costs no more for a deep model than for a shallow one.
  TrainingMemory(const Transformer& t, const Layout& layout, const PipelineStages& stages,
                 const TrainingMemoryOptions& options)
      : options_(checked(t, layout, stages, options)),
        stages_(&stages),
        parameters_(t, layout),
        activations_(t, layout, options.activation) {
    replicas_ = static_cast<double>(layout.context) * static_cast<double>(layout.data);
    expert_replicas_ = replicas_ * static_cast<double>(layout.tensor) /
                       (static_cast<double>(layout.expert) * static_cast<double>(layout.expert_tensor_ranks()));
    passes_ = {activations_.dense_layer().total(), activations_.expert_layer().total(), activations_.embedding(),
               activations_.head()};
  }
  // stages is kept by reference.
  TrainingMemory(const Transformer&, const Layout&, PipelineStages&&, const TrainingMemoryOptions&) = delete;

  [[nodiscard]] StageMemory stage(std::int64_t rank) const {
    const PipelineStage& stage = (*stages_)[rank];
    StageMemory out;
    out.rank = rank;
    out.layers_held = stage.layers();
    out.parameters = parameters_.of(stage);
    const ParameterShare held = out.parameters.all();
    const Sharding sharding = options_.sharding;
    out.weights = bytes(held, options_.weight_bytes, shards_weights(sharding));
    out.gradients = bytes(held, options_.gradient_bytes, sharding >= Sharding::zero2);
    out.optimizer = bytes(held, options_.optimizer_bytes, sharding != Sharding::none);
    if (shards_weights(sharding)) {
      const double largest = std::max(stage.dense_layers > 0 ? parameters_.dense_layer().total() : 0,
                                      stage.expert_layers > 0 ? parameters_.expert_layer().total() : 0);
      const double whole = std::min(options_.gathered_layers, static_cast<double>(stage.layers())) * largest;
      const double tables = std::max(out.parameters.embedding, out.parameters.head);
      const double gathered = sharding == Sharding::zero3_no_reshard ? held.total() : std::max(whole, tables);
      out.gathered = Bytes(gathered * options_.weight_bytes);
    }
    out.waiting = stages_->waiting(rank, options_.microbatches, passes_);
    out.layers.add(activations_.dense_layer(), out.waiting.dense_layers);
    out.layers.add(activations_.expert_layer(), out.waiting.expert_layers);
    out.embedding_activations = Bytes(out.waiting.embeddings * activations_.embedding());
    out.head_activations = Bytes(out.waiting.heads * activations_.head());
    out.recomputed = Bytes(std::max(stage.dense_layers > 0 ? activations_.dense_layer_recomputed() : 0,
                                    stage.expert_layers > 0 ? activations_.expert_layer_recomputed() : 0));
    return out;
  }

  [[nodiscard]] const ActivationMemory& activations() const { return activations_; }
  [[nodiscard]] const ParameterShards& parameters() const { return parameters_; }

 private:
  [[nodiscard]] static const TrainingMemoryOptions& checked(const Transformer& t, const Layout& layout,
                                                            const PipelineStages& stages,
                                                            const TrainingMemoryOptions& o) {
    const auto fail = [](const std::string& rule) {
      throw Error(Failure::usage, "out_of_range", "training_memory", rule);
    };
    check_layout(t, layout);
    if (stages.layers() != t.layers || stages.pipeline() != layout.pipeline ||
        stages.interleave() != layout.interleave) {
      fail("stages must be those of the transformer and its layout, got " + std::to_string(stages.layers()) +
           " layers over " + std::to_string(stages.pipeline()) + " x " + std::to_string(stages.interleave()) + " for " +
           std::to_string(t.layers) + " over " + std::to_string(layout.pipeline) + " x " +
           std::to_string(layout.interleave));
    }
    if (o.microbatches < 1 || o.microbatches > 2147483647)
      fail("microbatches must be from 1 to 2147483647, got " + std::to_string(o.microbatches));
    for (const double size : {o.weight_bytes, o.gradient_bytes, o.optimizer_bytes, o.gathered_layers}) {
      if (!(size >= 0 && size <= 1e6)) {
        fail("bytes a parameter, and gathered layers, must be from 0 to 1e6, got " + std::to_string(size));
      }
    }
    return o;
  }

  [[nodiscard]] Bytes bytes(const ParameterShare& held, double size, bool shared) const {
    if (!shared) return Bytes(size * held.total());
    return Bytes(size * (held.common / replicas_ + held.experts / expert_replicas_));
  }

  TrainingMemoryOptions options_;
  const PipelineStages* stages_;
  ParameterShards parameters_;
  ActivationMemory activations_;
  double replicas_ = 1, expert_replicas_ = 1;
  PassWeights passes_;
};

struct MemoryFit {
  bool fits = false;
  std::int64_t rank = 0;  // of the stage that needs most
  Bytes spare;            // negative where it does not fit
  std::string text;
};

struct TrainingMemoryReport {
  std::vector<StageMemory> stages;  // by rank
  std::size_t worst = 0;            // needs most; the first of equals

  [[nodiscard]] const StageMemory& worst_stage() const { return stages[worst]; }

  [[nodiscard]] std::string describe() const {
    const StageMemory& s = worst_stage();
    std::string out = "stage " + std::to_string(s.rank + 1) + " of " + std::to_string(stages.size()) + " needs most, " +
                      print_short(s.total()) + ": weights " + print_short(s.weights);
    if (s.gathered > Bytes(0)) out += ", gathered " + print_short(s.gathered);
    return out + ", gradients " + print_short(s.gradients) + ", optimizer " + print_short(s.optimizer) +
           ", activations " + print_short(s.activations());
  }

  // capacity: of one accelerator, positive and finite.
  [[nodiscard]] MemoryFit fits(Bytes capacity) const {
    if (!(capacity.value > 0) || !std::isfinite(capacity.value)) {
      throw Error(Failure::usage, "out_of_range", "training_memory",
                  "capacity must be positive and finite, got " + print(capacity));
    }
    MemoryFit out;
    out.rank = worst_stage().rank;
    out.spare = capacity - worst_stage().total();
    out.fits = out.spare >= Bytes(0);
    out.text = out.fits
                   ? "fits in " + print_short(capacity) + " with " + print_short(out.spare) + " to spare: "
                   : "does not fit in " + print_short(capacity) + ", by " + print_short(Bytes(-out.spare.value)) + ": ";
    out.text += describe();
    return out;
  }
};

[[nodiscard]] inline TrainingMemoryReport training_memory(
    const Transformer& t, const Layout& layout, const TrainingMemoryOptions& options,
    VocabularyPlaces places = VocabularyPlaces::if_layers_do_not_divide) {
  const PipelineStages stages(t, layout.pipeline, layout.interleave, places);
  const TrainingMemory memory(t, layout, stages, options);
  TrainingMemoryReport out;
  for (std::int64_t rank = 0; rank < layout.pipeline; ++rank) {
    out.stages.push_back(memory.stage(rank));
    if (out.stages.back().total() > out.worst_stage().total()) out.worst = out.stages.size() - 1;
  }
  return out;
}

// A checkpoint: FP32 master weights and two moments are 12 bytes a parameter, with weights of 2 bytes beside them 14.
[[nodiscard]] inline Bytes checkpoint_bytes(Parameters n, double bytes_per_parameter = 14) {
  return Bytes(n.value * bytes_per_parameter);
}

}  // namespace floplan::architecture
