// SPDX-License-Identifier: BSD-3-Clause
//
// What a law is asked about, and what it answers: the quantities that the field's laws are written in.
//
//   for (const Input input : law::inputs(form)) info(input).symbol, .meaning, .low, .high
//
// `key` is the name of a quantity in files, in JSON and, with '-' for '_', on the command line. [low, high] is where it can
// have a value at all; where a law was fitted is the law's FitRange.
//
// Pitfall: two laws that both say N may count different parameters: see ParameterConvention (scaling_law.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace floplan::law {

enum class Input {
  parameters,
  active_parameters,
  tokens,
  unique_tokens,
  flop,
  steps,
  batch,
  loss,
  experts,
  granularity,
  sparsity,
  activation_ratio,
  shared_share,
  weight_bits,
  activation_bits,
  kv_bits,
  exponent_bits,
  mantissa_bits,
  block_size,
  group_size,
  vocabulary_parameters,
  characters,
  weight_sparsity
};

enum class Output {
  loss,
  loss_increase,
  parameters,
  tokens,
  flop,
  steps,
  batch,
  learning_rate,
  timescale,
  accuracy,
  error,
  leverage,
  flop_per_token
};

struct InputInfo {
  const char* key;
  const char* symbol;
  const char* meaning;  // with the unit
  double low, high;     // inclusive
};

inline constexpr std::array<InputInfo, 23> input_table = {{
    {"parameters", "N", "parameters", 1, 1e24},
    {"active_parameters", "Na", "parameters that one token uses", 1, 1e24},
    {"tokens", "D", "training tokens, repeats counted", 1, 1e24},
    {"unique_tokens", "U", "different training tokens", 1, 1e24},
    {"flop", "C", "training FLOP", 1, 1e36},
    {"steps", "S", "optimizer steps", 1, 1e12},
    {"batch", "B", "tokens a step", 1, 1e15},
    {"loss", "L", "loss in the law's unit", 1e-6, 1e3},
    {"experts", "E", "experts a layer", 1, 1e6},
    {"granularity", "G", "granularity: how many fine experts replace one, or how many are active", 1, 1e4},
    {"sparsity", "S", "share of the experts that a token does not use", 0, 0.999999},
    {"activation_ratio", "A", "active experts over all experts", 1e-6, 1},
    {"shared_share", "S", "shared experts over active experts", 0, 1},
    {"weight_bits", "Pw", "bits a weight", 0.1, 64},
    {"activation_bits", "Pa", "bits an activation", 0.1, 64},
    {"kv_bits", "Pkv", "bits a cached key or value", 0.1, 64},
    {"exponent_bits", "e", "exponent bits of a float", 0, 11},
    {"mantissa_bits", "m", "mantissa bits of a float", 0, 52},
    {"block_size", "B", "values that share a scale in training", 1, 1e9},
    {"group_size", "G", "values that share a scale in quantisation", 2, 1e9},
    {"vocabulary_parameters", "Nv", "parameters of the vocabulary", 1, 1e24},
    {"characters", "H", "training characters", 1, 1e24},
    {"weight_sparsity", "S", "share of the weights that are zero", 0, 0.999999},
}};

[[nodiscard]] constexpr const InputInfo& info(Input input) { return input_table[static_cast<std::size_t>(input)]; }

[[nodiscard]] constexpr std::optional<Input> find_input(std::string_view key) {
  for (std::size_t i = 0; i < input_table.size(); ++i) {
    if (input_table[i].key == key) return static_cast<Input>(i);
  }
  return std::nullopt;
}

[[nodiscard]] constexpr bool takes(std::span<const Input> inputs, Input wanted) {
  return std::find(inputs.begin(), inputs.end(), wanted) != inputs.end();
}

// Whether a law speaks of mixtures of experts, so that a token may use fewer parameters than there are.
[[nodiscard]] constexpr bool takes_experts(std::span<const Input> inputs) {
  return takes(inputs, Input::experts) || takes(inputs, Input::granularity) || takes(inputs, Input::sparsity) ||
         takes(inputs, Input::activation_ratio) || takes(inputs, Input::shared_share);
}

struct OutputInfo {
  const char* key;
  const char* symbol;
  const char* meaning;
};

inline constexpr std::array<OutputInfo, 13> output_table = {{
    {"loss", "L", "loss"},
    {"loss_increase", "delta L", "loss added by quantisation"},
    {"parameters", "N*", "compute-optimal parameters"},
    {"tokens", "D*", "compute-optimal tokens"},
    {"flop", "C", "training FLOP"},
    {"steps", "S", "optimizer steps"},
    {"batch", "B", "tokens a step"},
    {"learning_rate", "lr", "peak learning rate"},
    {"timescale", "tau", "weight-decay timescale, as a share of the run"},
    {"accuracy", "acc", "accuracy"},
    {"error", "err", "error rate"},
    {"leverage", "EL", "dense FLOP for the same loss over these FLOP"},
    {"flop_per_token", "M*", "compute-optimal training FLOP a token"},
}};

[[nodiscard]] constexpr const OutputInfo& info(Output output) { return output_table[static_cast<std::size_t>(output)]; }

// In a law's loss unit; a share of answers, from 0 to 1.
[[nodiscard]] constexpr bool is_loss(Output output) {
  return output == Output::loss || output == Output::loss_increase;
}
[[nodiscard]] constexpr bool is_share(Output output) { return output == Output::accuracy || output == Output::error; }

[[nodiscard]] constexpr std::optional<Output> find_output(std::string_view key) {
  for (std::size_t i = 0; i < output_table.size(); ++i) {
    if (output_table[i].key == key) return static_cast<Output>(i);
  }
  return std::nullopt;
}

}  // namespace floplan::law
