// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of a stage that asks for a search: of all that fit in memory, the one with the shortest predicted step.
//
//   search_layouts(request);      every stage with `search` then has a layout that leaves nothing open
//
//   tried: TP, every divisor of the heads up to 64; PP, every number of stages that the layers, or the layers and two places,
//   fill evenly; VP, every divisor of a stage's layers; CP, powers of two up to 64; EP, divisors of the experts; microbatches,
//   powers of two up to 64 sequences; every sharding and recomputation; DP, what the others leave of the count
//
// Chunks are interleaved only where PP divides the microbatches, as schedules ask for.
//
// Steps are predicted for all, and memory is asked of the shortest first until one fits: so the answer is that of asking all.
// Of equal steps the first in the order of the loops counts (small TP, CP, PP, EP, VP and microbatch, little sharding).
//
// Source: cluster/step_terms.hpp, architecture/training_memory.hpp. Cost: about a microsecond a layout, 0.1 s for 405B on
// 16,384 accelerators. Errors: infeasible where no layout can be run, or none fits, with the leanest and what it lacks.
// Pitfall: the first few differ by less than the band of the step-time model; a remark says how many, a measurement decides.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/cluster/step_terms.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/plan/layout_model.hpp"
#include "floplan/plan/request.hpp"

namespace floplan::plan {

namespace detail {

struct Candidate {
  SettledLayout layout;
  double step = 0;
};

[[nodiscard]] inline std::vector<std::int64_t> divisors(std::int64_t n, std::int64_t most) {
  std::vector<std::int64_t> out;
  for (std::int64_t d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) out.push_back(d);
  }
  return out;
}

// Calls visit(layout) for the degrees, chunks and microbatches that divide, in the order of the loops.
template <class Visit>
void visit_layouts(const Request& r, const Stage& stage, Visit visit) {
  const architecture::Transformer& t = *r.shape;
  const auto count = static_cast<std::int64_t>(stage.accelerators.value);
  const auto batch = static_cast<std::int64_t>(stage.global_batch->value);
  const auto sequence = static_cast<std::int64_t>(stage.sequence_length.value);
  SettledLayout l;
  for (const std::int64_t tp : divisors(t.heads, 64)) {
    if (count % tp != 0 || (t.dense_layers() > 0 && t.ffn_width % tp != 0)) continue;
    for (std::int64_t cp = 1; cp <= 64 && sequence % cp == 0; cp *= 2) {
      for (std::int64_t pp = 1; pp <= t.layers && tp * cp * pp <= count; ++pp) {
        const std::int64_t places = t.layers % pp == 0 ? t.layers : t.layers + 2;
        const std::int64_t dp = count / (tp * cp * pp);
        if (places % pp != 0 || count % (tp * cp * pp) != 0 || batch % dp != 0) continue;
        for (const std::int64_t ep : divisors(t.experts ? t.experts->count : 1, 512)) {
          if (tp * cp * dp % ep != 0) continue;
          for (const std::int64_t vp : divisors(pp > 1 ? places / pp : 1, 512)) {
            for (std::int64_t b = 1; b <= 64 && batch / dp % b == 0; b *= 2) {
              if (vp > 1 && batch / dp / b % pp != 0) continue;
              l.degrees = {.tensor = tp, .context = cp, .pipeline = pp, .data = dp, .expert = ep, .interleave = vp};
              l.microbatch = b;
              visit(l);
            }
          }
        }
      }
    }
  }
}

// Of every layout that can be run, shortest step first.
[[nodiscard]] inline std::vector<Candidate> candidates(const Request& r, const Stage& stage) {
  std::vector<Candidate> out;
  cluster::StepRequest request = step_request(r, stage, {});
  visit_layouts(r, stage, [&](SettledLayout& l) {
    request.layout = l.degrees;
    request.microbatch = l.microbatch;
    request.sharding = Sharding::none;
    request.recompute = Recompute::none;
    try {
      cluster::check(request);
    } catch (const Error& error) {
      if (error.failure() != Failure::infeasible) throw;
      return;  // a rule that the loops do not know
    }
    for (const auto& sharding : architecture::sharding_words) {
      if (sharding.second != Sharding::none && l.degrees.data * l.degrees.context == 1) continue;
      for (const auto& recompute : architecture::recompute_words) {
        l.sharding = request.sharding = sharding.second;
        l.recompute = request.recompute = recompute.second;
        out.push_back({l, cluster::step_terms(request).step});
      }
    }
  });
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
  return out;
}

// Of the fullest stage; nothing where the stages cannot be cut so.
[[nodiscard]] inline std::optional<Bytes> needed_bytes(const Request& r, const Stage& stage, const SettledLayout& l) {
  try {
    return architecture::training_memory(*r.shape, l.degrees, memory_options(r, stage, l)).worst_stage().total();
  } catch (const Error& error) {
    if (error.failure() != Failure::infeasible) throw;
    return std::nullopt;
  }
}

// Whole nodes that can be laid out, one smaller and one larger, up to a quarter away: " (16128 and 16384 can)".
[[nodiscard]] inline std::string nearest_sizes(const Request& r, const Stage& stage) {
  const double node = r.accelerator.accelerators_per_node.value_or(Count(8)).value;
  const double nodes = stage.accelerators.value / node;
  std::string out;
  for (const double sign : {-1.0, 1.0}) {
    Stage other = stage;
    for (double n = sign < 0 ? std::ceil(nodes) - 1 : std::floor(nodes) + 1;
         n >= 1 && std::abs(n - nodes) <= nodes / 4 && n * node <= 1e6; n += sign) {
      bool any = false;
      other.accelerators = Count(n * node);
      visit_layouts(r, other, [&any](const SettledLayout&) { any = true; });
      if (!any) continue;
      out += (out.empty() ? " (" : " and ") + print_short(other.accelerators);
      break;
    }
  }
  return out.empty() ? "" : out + " can)";
}

[[nodiscard]] inline Error nothing_fits(const Request& r, const Stage& stage, const std::vector<Candidate>& all) {
  const auto refuse = [&](const char* code, const std::string& rule) {
    return Error(Failure::infeasible, code, "layout", rule);
  };
  const std::string on = print_short(stage.accelerators) + " " + r.accelerator.name;
  if (all.empty()) {
    return refuse("no_layout", "a layout of " + on + " must cut " + print(*stage.global_batch) + " sequences, " +
                                   std::to_string(r.shape->heads) + " heads and " + std::to_string(r.shape->layers) +
                                   " layers evenly, and none does" + nearest_sizes(r, stage));
  }
  const Candidate* leanest = nullptr;
  Bytes least;
  for (const Candidate& c : all) {
    if (c.layout.recompute != Recompute::full || c.layout.microbatch > 1 ||
        (c.layout.sharding != Sharding::zero3 && c.layout.degrees.data * c.layout.degrees.context > 1))
      continue;
    const auto needed = needed_bytes(r, stage, c.layout);
    if (!needed || (leanest != nullptr && *needed >= least)) continue;
    leanest = &c;
    least = *needed;
  }
  if (leanest == nullptr) return refuse("no_layout", "no layout of " + on + " can be cut into pipeline stages");
  return refuse("layout_does_not_fit", "a layout must fit in " + print_short(*r.accelerator.memory) + ", and none of " +
                                           std::to_string(all.size()) + " on " + on + " does: the leanest, " +
                                           leanest->layout.describe() + ", needs " + print_short(least, 4) + ", " +
                                           print_short(least - *r.accelerator.memory, 3) + " too much");
}

}  // namespace detail

struct FoundLayout {
  SettledLayout layout;
  std::size_t tried = 0;
  std::size_t alike = 0;  // others with a step within 5% of it, whether they fit or not
};

// Throws as layout_model() does for a prediction; `where` is the stage's field.
[[nodiscard]] inline FoundLayout best_layout(const Request& r, const Stage& stage) {
  detail::require_predictable(r, stage);
  const std::vector<detail::Candidate> all = detail::candidates(r, stage);
  for (const detail::Candidate& c : all) {
    const auto needed = detail::needed_bytes(r, stage, c.layout);
    if (!needed || (r.accelerator.memory && *needed > *r.accelerator.memory)) continue;
    const auto alike = std::count_if(all.begin(), all.end(), [&c](const detail::Candidate& other) {
      return other.step >= c.step && other.step <= 1.05 * c.step;
    });
    return {c.layout, all.size(), static_cast<std::size_t>(alike - 1)};
  }
  throw detail::nothing_fits(r, stage, all);
}

inline void search_layouts(Request& r) {
  for (std::size_t i = 0; i < r.stages.size(); ++i) {
    Stage& stage = r.stages[i];
    if (!stage.search || stage.layout) continue;
    try {
      const FoundLayout found = best_layout(r, stage);
      stage.layout = StageLayout(found.layout.degrees);
      stage.layout->interleave = found.layout.degrees.interleave;
      stage.layout->microbatch = found.layout.microbatch;
      stage.layout->sharding = found.layout.sharding;
      stage.layout->recompute = found.layout.recompute;
      r.assumptions.push_back(
          {"layout_searched", "stage \"" + stage.name + "\": of " + std::to_string(found.tried) + " layouts, " +
                                  found.layout.describe() + " has the shortest predicted step of those that fit; " +
                                  std::to_string(found.alike) +
                                  " others take at most 5% longer, less than the model can tell apart"});
    } catch (const Error& error) {
      const bool of_plan = error.where() == "precision" || error.where() == "accelerator" || error.where() == "machine";
      const std::string path = of_plan ? "accelerator" : "stage[" + std::to_string(i + 1) + "]." + error.where();
      throw Error(error.failure(), error.code(), "plan: " + path,
                  "stage \"" + stage.name + "\": " + detail::rule_of(error));
    }
  }
}

}  // namespace floplan::plan
