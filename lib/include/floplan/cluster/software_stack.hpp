// SPDX-License-Identifier: BSD-3-Clause
//
// The facts about the training software that a step time depends on as much as on the accelerator.
//
//   SoftwareStack stack{.attention = AttentionKernel::early, .elementwise = Elementwise::eager};
//   assumptions(stack)      one remark for each of the others: what was taken, since it was not given
//
// Each fact has a default, which is what a current Megatron-style stack does, and remembers whether it was given; only
// overlap is not assumed, as a stack must be made to do it.
// What a wrong fact costs, mean error over published rows of the stack in question (percent, right -> wrong): fused current
// kernels assumed of an eager stack of 2023: 6 -> 21; a fast host assumed of a slow one on small models: 8 -> 33; no overlap
// assumed of an overlapping stack: 5 -> 11; no pipeline scatter-gather: 9 -> 13.
//
// Source: floplan's own comparison with the published step times that facts name by publisher (data/README.md).
// Pitfall: the year of a stack says more than the part it runs on: attention on an H100 of 2023 was 2.7 times slower than
// on the same H100 of 2025.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"

namespace floplan::cluster {

// A value that was given, or a default that was assumed.
template <class T>
struct Fact {
  T value{};
  bool assumed = false;

  constexpr Fact() = default;
  constexpr Fact(T given) : value(given) {}  // NOLINT(google-explicit-constructor): a given value is written as itself
  [[nodiscard]] static constexpr Fact assume(T otherwise) {
    Fact f(otherwise);
    f.assumed = true;
    return f;
  }
  friend constexpr bool operator==(const Fact&, const Fact&) = default;
};

// current: the fused kernel of the part's time (FlashAttention 2 on A100, cuDNN or 3 on Hopper and later); early: the first
// fused kernels (Triton, FlashAttention 1); unfused: scores, mask and softmax through memory.
enum class AttentionKernel { current, early, unfused };
// Norms, activations, residuals: compiled into few kernels, or one kernel an operation.
enum class Elementwise { fused, eager };
// How long a layer keeps the host busy: replayed graphs cost it nothing; eager fp16 with many small kernels most.
enum class Host { graphs, fast, slow };
// early: under ZeRO 3, collectives of all ranks of a node through one network card (DeepSpeed's of 2021).
enum class DataParallelEngine { current, early };
// What selective recomputation computes again: the attention core (nothing with a fused kernel), or every other product
// and the elementwise operations too.
enum class SelectiveRecompute { attention_core, operators };
// How context parallel ranks get each other's keys and values: all of them before the attention (Llama 3), or the next rank's
// while they attend to the last one's (ring attention, Liu 2023, arXiv 2310.01889).
enum class ContextExchange { all_gather, ring };
// one_forward_one_backward: 1F1B, interleaved where VP is above 1; zero_bubble: weight gradients fill the bubble (ZB-H1).
enum class PipelineSchedule { one_forward_one_backward, zero_bubble };

struct SoftwareStack {
  Fact<AttentionKernel> attention = Fact<AttentionKernel>::assume(AttentionKernel::current);
  Fact<Elementwise> elementwise = Fact<Elementwise>::assume(Elementwise::fused);
  Fact<Host> host = Fact<Host>::assume(Host::fast);
  Fact<bool> sequence_parallel = Fact<bool>::assume(true);
  Fact<bool> overlap = Fact<bool>::assume(false);         // of tensor, context, expert and pipeline communication
  Fact<bool> scatter_gather = Fact<bool>::assume(true);   // pipeline sends are cut over the tensor group
  Fact<double> gradient_bytes = Fact<double>::assume(4);  // of one gradient value in the reduction
  Fact<DataParallelEngine> data_parallel = Fact<DataParallelEngine>::assume(DataParallelEngine::current);
  Fact<SelectiveRecompute> selective = Fact<SelectiveRecompute>::assume(SelectiveRecompute::attention_core);
  Fact<ContextExchange> context_exchange = Fact<ContextExchange>::assume(ContextExchange::all_gather);
  Fact<PipelineSchedule> schedule = Fact<PipelineSchedule>::assume(PipelineSchedule::one_forward_one_backward);

  // Whether its schedule can give a pipeline rank several chunks of layers.
  [[nodiscard]] constexpr bool interleaves() const { return schedule.value != PipelineSchedule::zero_bubble; }
};

// The words by which files and options name the values of a fact.
template <class T>
using Words = std::span<const std::pair<std::string_view, T>>;
inline constexpr std::array<std::pair<std::string_view, AttentionKernel>, 3> attention_words{
    {{"current", AttentionKernel::current}, {"early", AttentionKernel::early}, {"unfused", AttentionKernel::unfused}}};
inline constexpr std::array<std::pair<std::string_view, Elementwise>, 2> elementwise_words{
    {{"fused", Elementwise::fused}, {"eager", Elementwise::eager}}};
inline constexpr std::array<std::pair<std::string_view, Host>, 3> host_words{
    {{"graphs", Host::graphs}, {"fast", Host::fast}, {"slow", Host::slow}}};
inline constexpr std::array<std::pair<std::string_view, DataParallelEngine>, 2> data_parallel_words{
    {{"current", DataParallelEngine::current}, {"early", DataParallelEngine::early}}};
inline constexpr std::array<std::pair<std::string_view, SelectiveRecompute>, 2> selective_words{
    {{"attention_core", SelectiveRecompute::attention_core}, {"operators", SelectiveRecompute::operators}}};
inline constexpr std::array<std::pair<std::string_view, ContextExchange>, 2> context_exchange_words{
    {{"all_gather", ContextExchange::all_gather}, {"ring", ContextExchange::ring}}};
inline constexpr std::array<std::pair<std::string_view, PipelineSchedule>, 2> schedule_words{
    {{"1f1b", PipelineSchedule::one_forward_one_backward}, {"zero_bubble", PipelineSchedule::zero_bubble}}};
inline constexpr std::array<std::pair<std::string_view, bool>, 6> yes_no_words{
    {{"yes", true}, {"no", false}, {"1", true}, {"0", false}, {"true", true}, {"false", false}}};

inline constexpr std::array<std::pair<std::string_view, double>, 2> gradient_words{{{"2", 2.0}, {"4", 4.0}}};

template <class T>
[[nodiscard]] std::string word_of(T value, Words<T> words) {
  for (const auto& [word, meaning] : words) {
    if (meaning == value) return std::string(word);
  }
  return {};
}
[[nodiscard]] inline std::string to_text(AttentionKernel k) { return word_of<AttentionKernel>(k, attention_words); }
[[nodiscard]] inline std::string to_text(Elementwise e) { return word_of<Elementwise>(e, elementwise_words); }
[[nodiscard]] inline std::string to_text(Host h) { return word_of<Host>(h, host_words); }
[[nodiscard]] inline std::string to_text(DataParallelEngine e) {
  return word_of<DataParallelEngine>(e, data_parallel_words);
}

// Which of the facts bear on the layout at hand; the others are not worth a remark.
struct StackRelevance {
  bool tensor = true, pipeline = true, communication = true, data = true, selective = true, context = true;
};

// What was taken because it was not given.
[[nodiscard]] inline std::vector<Warning> assumptions(const SoftwareStack& s, const StackRelevance& relevant = {}) {
  std::vector<Warning> out;
  const auto add = [&out](bool is, const char* code, std::string text) {
    if (is) out.push_back({code, std::move(text)});
  };
  add(s.attention.assumed, "attention_kernel", to_text(s.attention.value) + " attention kernels are assumed");
  add(s.elementwise.assumed, "elementwise", to_text(s.elementwise.value) + " elementwise kernels are assumed");
  add(s.host.assumed, "host", "a host of the class \"" + to_text(s.host.value) + "\" is assumed");
  add(relevant.tensor && s.sequence_parallel.assumed, "sequence_parallel",
      std::string(s.sequence_parallel.value ? "sequence" : "no sequence") + " parallelism is assumed");
  add(relevant.communication && s.overlap.assumed, "overlap",
      std::string("tensor, context, expert and pipeline communication is assumed to be ") +
          (s.overlap.value ? "overlapped" : "exposed"));
  add(relevant.pipeline && s.scatter_gather.assumed, "scatter_gather",
      std::string("pipeline sends are assumed to be ") + (s.scatter_gather.value ? "" : "not ") +
          "cut over the tensor group");
  add(relevant.data && s.gradient_bytes.assumed, "gradient_bytes",
      std::string("gradients are assumed to be reduced in ") + (s.gradient_bytes.value > 2 ? "fp32" : "16 bits"));
  add(relevant.data && s.data_parallel.assumed, "data_parallel",
      "a data parallel engine of the class \"" + to_text(s.data_parallel.value) + "\" is assumed");
  add(relevant.selective && s.selective.assumed, "selective_recompute",
      std::string("selective recomputation is assumed to redo ") +
          (s.selective.value == SelectiveRecompute::attention_core ? "the attention core"
                                                                   : "every other product and what lies between"));
  add(relevant.context && s.context_exchange.assumed, "context_exchange",
      s.context_exchange.value == ContextExchange::all_gather
          ? "keys and values are assumed to be gathered from all context parallel ranks before the attention"
          : "keys and values are assumed to go around a ring of context parallel ranks");
  return out;
}

}  // namespace floplan::cluster
