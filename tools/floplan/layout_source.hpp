// SPDX-License-Identifier: BSD-3-Clause
//
// A parallel layout on the command line, and what its memory depends on: --tp, --pp, --microbatch, --sharding, ...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "floplan/architecture/model_file_parts.hpp"
#include "floplan/architecture/training_memory.hpp"

namespace floplan::cli {

struct LayoutOptions {
  Text count, tp, cp, pp, dp, ep, etp, vp, microbatch, global_batch;
  std::string sharding, recompute, attention;  // empty: not given
  bool no_sequence_parallel = false;
  bool dropout = false;

  // The first option that was given, or nothing.
  [[nodiscard]] std::optional<std::string> given() const;
  // Takes what a file says of its training where no option says otherwise.
  void complete_from(const architecture::ModelFile& file);
};

// Degrees, batch, sharding and recomputation. `options` must outlive the program.
void add_layout(Subcommand& sub, LayoutOptions& options, const std::string& title);
// What activations depend on besides.
void add_activations(Subcommand& sub, LayoutOptions& options);

struct TrainingLayout {
  architecture::Layout layout;
  architecture::TrainingMemoryOptions memory;
};

// {"layout", "sharding", "recompute", "microbatch", ...}: all that the answer depends on.
[[nodiscard]] report::Json layout_inputs(const TrainingLayout& cut);
// "TP 8, PP 16, DP 128, zero2, 16 microbatches of 1 sequence".
[[nodiscard]] std::string layout_text(const TrainingLayout& cut);

// training_memory(), whose errors name the options.
[[nodiscard]] architecture::TrainingMemoryReport memory_of(const architecture::Transformer& t,
                                                           const TrainingLayout& cut);

// What would make it fit, one change at a time: "--sharding zero2 (70.7GB), --recompute full (24GB)"; empty where nothing does.
[[nodiscard]] std::string what_would_fit(const architecture::Transformer& t, const TrainingLayout& cut, Bytes capacity);

// Data parallelism is what --count leaves, or --dp. Without a global batch, as many microbatches as fill the pipeline, which
// is said in a warning.
[[nodiscard]] TrainingLayout layout_of(const LayoutOptions& options, Tokens sequence, std::vector<Warning>& warnings);

}  // namespace floplan::cli
