// SPDX-License-Identifier: BSD-3-Clause
//
// Flags of Megatron-LM that the reader of its arguments knows, so that it can warn about one that looks like them.
//
//   megatron_flags            those that it reads
//   megatron_flags_beside     those with "layers", "hidden", "vocab", ... in their name that change nothing in the shape
//
// Source: megatron/training/arguments.py of Megatron-LM (core 0.8 to 0.14), as facts.
// Pitfall: a flag that a fork adds is in neither list; if its name looks like a shape's it is warned about.
#pragma once

#include <array>

namespace floplan::architecture::detail {

inline constexpr std::array megatron_flags = {"--num-layers",
                                              "--encoder-num-layers",
                                              "--hidden-size",
                                              "--ffn-hidden-size",
                                              "--num-attention-heads",
                                              "--group-query-attention",
                                              "--num-query-groups",
                                              "--num-key-value-heads",
                                              "--kv-channels",
                                              "--swiglu",
                                              "--untie-embeddings-and-output-weights",
                                              "--disable-bias-linear",
                                              "--add-qkv-bias",
                                              "--normalization",
                                              "--qk-layernorm",
                                              "--position-embedding-type",
                                              "--use-rotary-position-embeddings",
                                              "--no-position-embedding",
                                              "--max-position-embeddings",
                                              "--vocab-size",
                                              "--padded-vocab-size",
                                              "--make-vocab-size-divisible-by",
                                              "--multi-latent-attention",
                                              "--q-lora-rank",
                                              "--kv-lora-rank",
                                              "--qk-head-dim",
                                              "--qk-pos-emb-head-dim",
                                              "--v-head-dim",
                                              "--num-experts",
                                              "--moe-router-topk",
                                              "--topk",
                                              "--expert-interval",
                                              "--mlp-type",
                                              "--embed-layernorm",
                                              "--softmax-type",
                                              "--geglu",
                                              "--quick-geglu",
                                              "--glu-activation",
                                              "--tensor-model-parallel-size",
                                              "--moe-ffn-hidden-size",
                                              "--moe-layer-freq",
                                              "--moe-shared-expert-intermediate-size",
                                              "--moe-shared-expert-gate",
                                              "--moe-router-enable-expert-bias",
                                              "--mtp-num-layers",
                                              "--num-layers-per-virtual-pipeline-stage"};

// Flags that have a word of the shape in their name and change nothing in it.
inline constexpr std::array megatron_flags_beside = {"--vocab-file",
                                                     "--vocab-extra-ids",
                                                     "--hidden-dropout",
                                                     "--recompute-num-layers",
                                                     "--checkpoint-num-layers",
                                                     "--decoder-first-pipeline-num-layers",
                                                     "--decoder-last-pipeline-num-layers",
                                                     "--num-layers-at-start-in-bf16",
                                                     "--num-layers-at-end-in-bf16",
                                                     "--cpu-offloading-num-layers",
                                                     "--moe-use-legacy-grouped-gemm",
                                                     "--distribute-checkpointed-activations",
                                                     "--ignore-unused-parameters",
                                                     "--fim-split-sample",
                                                     "--recompute-modules",
                                                     "--lora-rank",
                                                     "--top-k",
                                                     "--top_k"};

}  // namespace floplan::architecture::detail
