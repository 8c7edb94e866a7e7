// SPDX-License-Identifier: BSD-3-Clause
//
// `floplan model --realise N`: what is asked of the shapes, on the command line.
#pragma once

#include "command.hpp"
#include "layout_source.hpp"

namespace floplan::cli {

struct RealiseOptions {
  Text target, like, layers, width, heads, kv_heads, gqa, head_width, ffn, vocabulary, aspect, ffn_ratio, experts,
      active_experts, shared_experts, dense_layers, proposals;
  std::string count = "total";
  bool slots = false, plain = false, tied = false;

  // Whether anything but the target was given.
  [[nodiscard]] bool refined() const;
};

// `options` must outlive the program.
void add_realise(Subcommand& sub, RealiseOptions& options);

// layout: its degrees that shapes must come out even with (TP, PP, VP, EP).
[[nodiscard]] Answer answer_realise(const Session& session, const RealiseOptions& options, const LayoutOptions& layout);

}  // namespace floplan::cli
