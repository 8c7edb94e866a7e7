// SPDX-License-Identifier: BSD-3-Clause
//
// Which layout of a cluster trains fastest, of all that can be run and fit in memory; and what memory buys in time.
//
//   LayoutSearch search{.step = request, .accelerators = Count(16384), .capacity = gigabytes(80)};
//   search.fixed.tensor = 8;                                  or any of the degrees, or none
//   const LayoutSearchReport found = search_layouts(search);  found.best, found.frontier, found.describe()
//
//   tried: every TP that divides the heads, CP that divides the sequence, PP that divides the layers (or the layers and a
//   place each for embedding and head), DP that remains of the accelerators and divides the batch; every EP that divides
//   the experts, VP that divides a stage's layers (where PP divides the microbatches, as interleaved schedules ask),
//   microbatch that divides the rest of the batch, sharding and recomputation
//
// Nothing is left out by a guess: each is timed by step_terms() and weighed by FullestStage. Only what cannot differ is
// skipped: sharding among one replica, and the selective recomputation of an attention core that no kernel has stored.
// best: shortest first. Ties go to less memory, then to smaller degrees in the order above. frontier: of all that can be
// run, whether they fit or not, those that no other beats in both time and memory, from the fastest to the leanest.
//
// Cost: 1-2 us a layout (MoE 3), in parallel; memory does not grow with their number; the same answer at any thread count.
// Sources: step_terms.hpp, architecture/training_memory.hpp. Errors: as check(StepRequest); infeasible where none can be run
// or none fits, with the reason and the leanest one's excess.
// Pitfall: the first few differ by less than the model's band: `alike` says how many; a measurement decides between them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "floplan/architecture/fullest_stage.hpp"
#include "floplan/architecture/layout_words.hpp"
#include "floplan/architecture/training_memory.hpp"
#include "floplan/cluster/layout_space.hpp"
#include "floplan/cluster/step_terms.hpp"
#include "floplan/core/parallel_for.hpp"

namespace floplan::cluster {

struct LayoutSearch {
  StepRequest step{};  // what is trained on what; its layout, microbatch, sharding and recompute are not read
  Count accelerators{1};
  std::optional<Bytes> capacity{};  // of one accelerator, less what is kept free; nothing: all fit
  LayoutChoice fixed{};
  std::size_t top = 10;
  unsigned threads = 0;  // 0: all
};

struct RankedLayout {
  architecture::Layout layout{};
  std::int64_t microbatch = 1;
  architecture::Sharding sharding = architecture::Sharding::none;
  architecture::Recompute recompute = architecture::Recompute::none;
  Seconds step{};
  Bytes memory{};  // of the fullest stage
  bool fits = true;

  [[nodiscard]] std::string describe() const {
    return architecture::to_text(layout) + ", microbatches of " + std::to_string(microbatch) + ", " +
           architecture::to_text(sharding) + ", recomputation " + architecture::to_text(recompute);
  }
};

struct LayoutSearchReport {
  std::vector<RankedLayout> best;      // that fit, shortest step first
  std::vector<RankedLayout> frontier;  // fastest first
  std::size_t evaluated = 0;
  std::size_t feasible = 0;  // of them, those that fit
  std::size_t alike = 0;     // of `best`, after the first, at most 5% slower
  // Ways to split the accelerators into TP x CP x PP x DP that cannot be run, by the rule that forbids them.
  std::map<std::string, std::size_t> refused;

  [[nodiscard]] std::string describe() const {
    return std::to_string(evaluated) + " layouts can be run and " + std::to_string(feasible) + " fit; the fastest, " +
           best.front().describe() + ", takes " + print(best.front().step, 4) + " a step and " +
           print_short(best.front().memory, 3);
  }
};

// The request of one layout found, for step_time().
[[nodiscard]] inline StepRequest request_of(const LayoutSearch& search, const RankedLayout& found) {
  StepRequest r = search.step;
  r.layout = found.layout;
  r.microbatch = found.microbatch;
  r.sharding = found.sharding;
  r.recompute = found.recompute;
  r.accelerators = search.accelerators;
  return r;
}

// What training_memory() needs to know of a step.
[[nodiscard]] inline architecture::TrainingMemoryOptions memory_options(const StepRequest& r) {
  architecture::TrainingMemoryOptions out;
  out.activation.sequence_length = r.sequence_length;
  out.activation.microbatch = r.microbatch;
  out.activation.sequence_parallel = r.stack.sequence_parallel.value;
  out.activation.recompute = r.recompute;
  out.activation.attention = r.stack.attention.value == AttentionKernel::unfused
                                 ? architecture::AttentionKernel::materialised
                                 : architecture::AttentionKernel::fused;
  out.sharding = r.sharding;
  out.microbatches = r.global_batch / (r.layout.data * r.microbatch);
  return out;
}

namespace detail {

[[nodiscard]] inline auto rank_of(const RankedLayout& l) {
  return std::tuple(l.step.value, l.memory.value, l.layout.tensor, l.layout.context, l.layout.pipeline, l.layout.expert,
                    l.layout.interleave, l.microbatch, l.sharding, l.recompute);
}
[[nodiscard]] inline bool better(const RankedLayout& a, const RankedLayout& b) { return rank_of(a) < rank_of(b); }

// Keeps the first `most` of what it is given.
inline void keep_best(std::vector<RankedLayout>& best, const RankedLayout& l, std::size_t most) {
  if (most == 0 || (best.size() == most && !better(l, best.back()))) return;
  best.insert(std::upper_bound(best.begin(), best.end(), l, better), l);
  if (best.size() > most) best.pop_back();
}

// Steps grow and memory falls along it.
inline void keep_unbeaten(std::vector<RankedLayout>& frontier, const RankedLayout& l) {
  const auto at = std::upper_bound(frontier.begin(), frontier.end(), l, better);
  if (at != frontier.begin() && std::prev(at)->memory <= l.memory) return;
  auto last = at;
  while (last != frontier.end() && last->memory >= l.memory) ++last;
  frontier.insert(frontier.erase(at, last), l);
}

struct SearchPart {
  std::vector<RankedLayout> best, frontier;
  std::size_t evaluated = 0, feasible = 0;
  std::string refused{};  // the rule, where nothing of the split can be run
};

class SplitSearch {
 public:
  SplitSearch(const LayoutSearch& search, const AcceleratorSplit& split) : search_(search), request_(search.step) {
    request_.accelerators = search.accelerators;
    request_.layout = {
        .tensor = split.tensor, .context = split.context, .pipeline = split.pipeline, .data = split.data};
  }

  [[nodiscard]] SearchPart run() {
    for (const std::int64_t interleave : interleavings(request_, search_.fixed)) {
      request_.layout.interleave = interleave;
      try {
        stages(architecture::PipelineStages(request_.shape, request_.layout.pipeline, interleave));
      } catch (const Error& error) {
        refuse(error);
      }
    }
    if (part_.evaluated > 0) part_.refused.clear();
    return std::move(part_);
  }

 private:
  void refuse(const Error& error) {
    if (error.failure() != Failure::infeasible) throw;
    if (part_.refused.empty()) part_.refused = rule_of_split(error);
  }

  void stages(const architecture::PipelineStages& stages) {
    const architecture::FullestStage fullest(stages);
    for (const std::int64_t expert : expert_degrees(request_, search_.fixed)) {
      request_.layout.expert = expert;
      request_.layout.expert_tensor = search_.fixed.expert_tensor.value_or(0);
      for (const std::int64_t microbatch : microbatches_of(request_, search_.fixed)) {
        request_.microbatch = microbatch;
        try {
          check(request_);
          shares(stages, fullest);
        } catch (const Error& error) {
          refuse(error);
        }
      }
    }
  }

  void shares(const architecture::PipelineStages& stages, const architecture::FullestStage& fullest) {
    for (const auto recompute : recomputations(request_, search_.fixed)) {
      request_.recompute = recompute;
      for (const auto sharding : shardings(request_, search_.fixed)) {
        request_.sharding = sharding;
        const architecture::TrainingMemory memory(request_.shape, request_.layout, stages, memory_options(request_));
        RankedLayout l{
            request_.layout,      request_.microbatch, sharding, recompute, Seconds(step_terms(request_).step),
            fullest.total(memory)};
        l.fits = !search_.capacity || l.memory <= *search_.capacity;
        ++part_.evaluated;
        part_.feasible += l.fits;
        if (l.fits) keep_best(part_.best, l, search_.top);
        keep_unbeaten(part_.frontier, l);
      }
    }
  }

  const LayoutSearch& search_;
  StepRequest request_;
  SearchPart part_;
};

[[nodiscard]] inline std::string on_what(const LayoutSearch& search) {
  return print_short(search.accelerators) + " " + search.step.machine.accelerator;
}

[[nodiscard]] inline Error none_can_be_run(const LayoutSearch& search, const LayoutSearchReport& report) {
  std::string rules;
  std::size_t splits = 0;
  for (const auto& [rule, count] : report.refused) {
    rules += (rules.empty() ? "" : "; ") + std::to_string(count) + " break the rule that " + rule;
    splits += count;
  }
  return {Failure::infeasible, "no_layout", "layout",
          "a layout of " + on_what(search) + " must be possible, and none is: of " + std::to_string(splits) +
              " ways to split them into TP x CP x PP x DP" + search.fixed.describe() +
              (splits == 0 ? ", not one divides the heads" : ", " + rules) +
              nearest_sizes(search.step, search.accelerators)};
}

[[nodiscard]] inline Error none_fits(const LayoutSearch& search, const LayoutSearchReport& report) {
  const RankedLayout& leanest = report.frontier.back();
  return {Failure::infeasible, "layout_does_not_fit", "layout",
          "a layout must fit in " + print_short(*search.capacity) + " an accelerator, and none of " +
              std::to_string(report.evaluated) + " on " + on_what(search) + search.fixed.describe() +
              " does: the leanest, " + leanest.describe() + ", needs " + print_short(leanest.memory, 4) + ", " +
              print_short(leanest.memory - *search.capacity, 3) + " too much"};
}

}  // namespace detail

[[nodiscard]] inline LayoutSearchReport search_layouts(const LayoutSearch& search) {
  architecture::check(search.step.shape);
  check(search.step.machine);
  const std::vector<AcceleratorSplit> splits = accelerator_splits(search.step, search.accelerators, search.fixed);
  std::vector<detail::SearchPart> parts(splits.size());
  parallel_for(splits.size(), search.threads,
               [&](std::size_t i) { parts[i] = detail::SplitSearch(search, splits[i]).run(); });
  LayoutSearchReport out;
  for (const detail::SearchPart& part : parts) {
    out.evaluated += part.evaluated;
    out.feasible += part.feasible;
    if (!part.refused.empty()) ++out.refused[part.refused];
    for (const RankedLayout& l : part.best) detail::keep_best(out.best, l, search.top);
    for (const RankedLayout& l : part.frontier) detail::keep_unbeaten(out.frontier, l);
  }
  if (out.evaluated == 0) throw detail::none_can_be_run(search, out);
  if (out.feasible == 0) throw detail::none_fits(search, out);
  for (const RankedLayout& l : out.best) out.alike += l.step <= 1.05 * out.best.front().step;
  if (out.alike > 0) --out.alike;
  return out;
}

}  // namespace floplan::cluster
