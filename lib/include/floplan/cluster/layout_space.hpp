// SPDX-License-Identifier: BSD-3-Clause
//
// The layouts that are open to a search: which degrees divide what they cut.
//
//   LayoutChoice fixed{.tensor = 8, .sharding = Sharding::zero2};       what is not open
//   for (const AcceleratorSplit& s : accelerator_splits(request, Count(16384), fixed)) ...     TP x CP x PP x DP
//
//   TP divides the heads and the accelerators; CP, PP and DP what is left; in the order TP, CP, PP, smallest first
//   VP divides the layers of a stage, and is above 1 only where PP divides the microbatches of some microbatch size
//   EP divides the experts; a microbatch divides the sequences of a replica
//
// Splits that break a rule of check(StepRequest) or of the memory model are listed all the same: the search counts them by
// that rule, since a user wants to know which one stands in the way.
//
// Source: Narayanan 2021 (arXiv 2104.04473) for what each degree cuts. Cost: the splits of a count are some hundreds to
// thousands. Pitfall: a value that is fixed and divides nothing leaves nothing to try, which the search says.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/architecture/layout_words.hpp"
#include "floplan/cluster/step_request.hpp"

namespace floplan::cluster {

// What is fixed; a search tries every value of the rest.
struct LayoutChoice {
  std::optional<std::int64_t> tensor{}, context{}, pipeline{}, data{}, expert{}, expert_tensor{}, interleave{},
      microbatch{};
  std::optional<architecture::Sharding> sharding{};
  std::optional<architecture::Recompute> recompute{};

  // " with TP 8, zero2"; empty where nothing is fixed.
  [[nodiscard]] std::string describe() const {
    std::string out;
    const auto add = [&out](const std::string& text) { out += (out.empty() ? " with " : ", ") + text; };
    for (const auto& [value, name] :
         {std::pair(&tensor, "TP"), std::pair(&context, "CP"), std::pair(&pipeline, "PP"), std::pair(&data, "DP"),
          std::pair(&expert, "EP"), std::pair(&expert_tensor, "ETP"), std::pair(&interleave, "VP"),
          std::pair(&microbatch, "microbatches of")}) {
      if (*value) add(std::string(name) + " " + std::to_string(**value));
    }
    if (sharding) add("sharding " + architecture::to_text(*sharding));
    if (recompute) add("recomputation " + architecture::to_text(*recompute));
    return out;
  }
};

struct AcceleratorSplit {
  std::int64_t tensor = 1, context = 1, pipeline = 1, data = 1;
};

namespace detail {

// Smallest first. Cost: the square root of n.
[[nodiscard]] inline std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> low, high;
  for (std::int64_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d != n / d) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

// All of them, or the fixed one.
template <class T>
[[nodiscard]] std::vector<T> open_values(std::vector<T> all, const std::optional<T>& fixed) {
  if (fixed) return {*fixed};
  return all;
}

[[nodiscard]] inline std::vector<std::int64_t> open_divisors(std::int64_t n, const std::optional<std::int64_t>& fixed) {
  if (fixed) return {*fixed};
  return divisors(n);
}

[[nodiscard]] inline std::int64_t whole_accelerators(Count accelerators) {
  const double n = accelerators.value;
  if (!(n >= 1) || n != std::floor(n) || n > 1e8) {
    throw Error(Failure::usage, "out_of_range", "layout",
                "accelerators must be whole, from 1 to 1e8, got " + print(accelerators));
  }
  return static_cast<std::int64_t>(n);
}

// Sequences of a step for each replica.
[[nodiscard]] inline std::int64_t replica_sequences(const StepRequest& r) {
  return r.global_batch % r.layout.data == 0 ? r.global_batch / r.layout.data : 0;
}

}  // namespace detail

// Throws Error(usage) for fixed values below 1, and Error(infeasible) where fixed degrees do not divide the accelerators.
[[nodiscard]] inline std::vector<AcceleratorSplit> accelerator_splits(const StepRequest& r, Count accelerators,
                                                                      const LayoutChoice& fixed) {
  const std::int64_t count = detail::whole_accelerators(accelerators);
  std::int64_t taken = 1;
  for (const auto& [degree, name] : {std::pair(&fixed.tensor, "TP"), std::pair(&fixed.context, "CP"),
                                     std::pair(&fixed.pipeline, "PP"), std::pair(&fixed.data, "DP")}) {
    if (!*degree) continue;
    detail::require_degree(**degree, name);
    if (count / taken % **degree != 0) {
      detail::infeasible("accelerators", "TP x CP x PP x DP must divide the " + print(accelerators) +
                                             " accelerators, which" + fixed.describe() + " it does not");
    }
    taken *= **degree;
  }
  for (const auto& [degree, name] : {std::pair(&fixed.expert, "EP"), std::pair(&fixed.expert_tensor, "ETP"),
                                     std::pair(&fixed.interleave, "VP"), std::pair(&fixed.microbatch, "microbatch")}) {
    if (*degree) detail::require_degree(**degree, name);
  }
  std::vector<AcceleratorSplit> out;
  for (const std::int64_t tensor : detail::open_divisors(std::gcd(count, r.shape.heads), fixed.tensor)) {
    for (const std::int64_t context : detail::open_divisors(count / tensor, fixed.context)) {
      if (count / tensor % context != 0) continue;
      for (const std::int64_t pipeline : detail::open_divisors(count / tensor / context, fixed.pipeline)) {
        if (count / tensor / context % pipeline != 0) continue;
        const std::int64_t data = count / tensor / context / pipeline;
        if (!fixed.data || *fixed.data == data) out.push_back({tensor, context, pipeline, data});
      }
    }
  }
  return out;
}

// Whether some layout of these accelerators can be run, memory aside: what every one of them must divide, it does.
[[nodiscard]] inline bool can_be_split(const StepRequest& r, Count accelerators, const LayoutChoice& fixed) {
  const architecture::Transformer& t = r.shape;
  for (const AcceleratorSplit& s : accelerator_splits(r, accelerators, fixed)) {
    if (r.global_batch % s.data == 0 && s.pipeline <= t.layers && architecture::layers_a_stage(t, s.pipeline) > 0 &&
        r.sequence_length % (s.context * s.tensor) == 0 && t.ffn_width % s.tensor == 0)
      return true;
  }
  return false;
}

// Whole domains that can be split, one smaller and one larger, up to a quarter away: " (99840 and 100352 can)".
[[nodiscard]] inline std::string nearest_sizes(const StepRequest& r, Count accelerators) {
  const double node = r.machine.scale_up_domain.value;
  const double nodes = accelerators / Count(node);
  std::string out;
  for (const double sign : {-1.0, 1.0}) {
    for (double n = sign < 0 ? std::ceil(nodes) - 1 : std::floor(nodes) + 1;
         n >= 1 && std::abs(n - nodes) <= nodes / 4 && n * node <= 1e6; n += sign) {
      if (!can_be_split(r, Count(n * node), {})) continue;
      out += (out.empty() ? " (" : " and ") + print_short(Count(n * node));
      break;
    }
  }
  return out.empty() ? "" : out + " can)";
}

[[nodiscard]] inline std::vector<std::int64_t> interleavings(const StepRequest& r, const LayoutChoice& fixed) {
  const std::int64_t stages = r.layout.pipeline;
  if (fixed.interleave) return {*fixed.interleave};
  if (stages == 1 || stages > r.shape.layers || !r.stack.interleaves()) return {1};
  const std::int64_t layers = architecture::layers_a_stage(r.shape, stages);
  return layers > 0 ? detail::divisors(layers) : std::vector<std::int64_t>{1};
}

[[nodiscard]] inline std::vector<std::int64_t> expert_degrees(const StepRequest& r, const LayoutChoice& fixed) {
  if (fixed.expert) return {*fixed.expert};
  if (!r.shape.experts) return {1};
  std::vector<std::int64_t> out;
  const std::int64_t ranks = r.layout.tensor * r.layout.context * r.layout.data;
  for (const std::int64_t degree : detail::divisors(std::gcd(r.shape.experts->count, ranks))) out.push_back(degree);
  return out;
}

// One value, which check() refuses, where the batch cannot be dealt out.
[[nodiscard]] inline std::vector<std::int64_t> microbatches_of(const StepRequest& r, const LayoutChoice& fixed) {
  const std::int64_t sequences = detail::replica_sequences(r);
  if (sequences == 0) return {fixed.microbatch.value_or(1)};
  std::vector<std::int64_t> out;
  for (const std::int64_t size : detail::open_divisors(sequences, fixed.microbatch)) {
    const bool dealt = sequences % size == 0;
    if (dealt && r.layout.interleave > 1 && !fixed.interleave && sequences / size % r.layout.pipeline != 0) continue;
    out.push_back(size);
  }
  return out;
}

// Selective recomputation redoes an attention core, of which a fused kernel stored nothing: it is then no choice of its own.
[[nodiscard]] inline std::vector<architecture::Recompute> recomputations(const StepRequest& r,
                                                                         const LayoutChoice& fixed) {
  using architecture::Recompute;
  if (fixed.recompute) return {*fixed.recompute};
  const bool differs = r.stack.attention.value == AttentionKernel::unfused;
  return differs ? std::vector{Recompute::none, Recompute::selective, Recompute::full}
                 : std::vector{Recompute::none, Recompute::full};
}

[[nodiscard]] inline std::vector<architecture::Sharding> shardings(const StepRequest& r, const LayoutChoice& fixed) {
  using architecture::Sharding;
  if (fixed.sharding) return {*fixed.sharding};
  if (r.layout.data * r.layout.context * (r.shape.experts ? r.layout.tensor : 1) == 1) return {Sharding::none};
  return {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3_no_reshard, Sharding::zero3};
}

// A rule without its numbers, so that splits can be counted by it.
[[nodiscard]] inline std::string rule_of_split(const Error& error) {
  std::string text = error.what();
  if (!error.where().empty()) text = text.substr(error.where().size() + 2);
  return text.substr(0, text.find(", got "));
}

}  // namespace floplan::cluster
