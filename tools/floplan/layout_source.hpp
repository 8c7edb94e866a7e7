// SPDX-License-Identifier: BSD-3-Clause
//
// A parallel layout on the command line, and what its memory depends on: --tp, --pp, --microbatch, --sharding, ...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "floplan/architecture/training_memory.hpp"

namespace floplan::cli {

struct LayoutOptions {
  Text count, tp, cp, pp, dp, ep, vp, microbatch, global_batch;
  std::string sharding = "zero1";
  std::string recompute = "none";
  std::string attention = "fused";
  bool no_sequence_parallel = false;
  bool dropout = false;

  // Whether any degree or batch was given.
  [[nodiscard]] bool given() const;
};

// Degrees, batch, sharding and recomputation. `options` must outlive the program.
void add_layout(Subcommand& sub, LayoutOptions& options, const std::string& title);
// What activations depend on besides.
void add_activations(Subcommand& sub, LayoutOptions& options);

struct TrainingLayout {
  architecture::Layout layout;
  architecture::TrainingMemoryOptions memory;
};

// Data parallelism is what --count leaves, or --dp. Without a global batch, as many microbatches as fill the pipeline, which
// is said in a warning.
[[nodiscard]] TrainingLayout layout_of(const LayoutOptions& options, Tokens sequence, std::vector<Warning>& warnings);

}  // namespace floplan::cli
