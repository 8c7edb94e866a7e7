// SPDX-License-Identifier: BSD-3-Clause
//
// What data parallel ranks spend on each other, and on their optimizer, in one step.
//
//   none      all-reduce of gradients after the backward pass                                       wholly exposed
//   zero1, 2  reduce-scatter of gradients, all-gather of weights, once a step, t = (DP-1)/DP P (g + 2) / B
//             exposed: max(0, t - 0.6 microbatch) + 0.05 t
//   zero3     at every microbatch two gathers (one without resharding) and one reduce-scatter in 16 bits, and 20 us log2(n)
//             + 8 us (n - 1) for each of a layer's, n = DP CP ranks
//             exposed: max(0.4 t, soft_excess(t - 0.6 microbatch)) + one layer's
//   optimizer 38 bytes a parameter that a rank updates, 6 a parameter that it holds
//
//   P parameters on a rank, g bytes of a gradient, B the rate that the group's links give (collectives.hpp).
//   Experts are held by fewer: TP x CP x DP / EP ranks share one; the rest of a stage is cut by TP and shared by DP x CP.
//
// Sources: Rajbhandari 2020 (1910.02054) for the volumes; the exposed shares fitted or chosen, efficiencies.hpp.
// Pitfall: FSDP sends at every microbatch, a distributed optimizer once a step; with many microbatches that decides. CP ranks
// hold the same weights, and so reduce and shard with the others.
#pragma once

#include <algorithm>
#include <cmath>

#include "floplan/architecture/parameter_count.hpp"
#include "floplan/cluster/collectives.hpp"
#include "floplan/cluster/layer_time.hpp"
#include "floplan/cluster/smooth.hpp"
#include "floplan/cluster/step_request.hpp"

namespace floplan::cluster {

// Matrices on one rank of an average stage, with the embedding or the head that the stage has.
struct RankParameters {
  double shared = 0;   // of attention, dense and shared blocks, vocabulary: held by DP x CP ranks
  double experts = 0;  // routed
};

[[nodiscard]] inline RankParameters rank_parameters(const StepRequest& r) {
  const architecture::Transformer& t = r.shape;
  const double d = static_cast<double>(t.width);
  const double tp = static_cast<double>(r.layout.tensor);
  const double stage = static_cast<double>(t.layers) / static_cast<double>(r.layout.pipeline);
  const double matrices = t.gated ? 3 : 2;
  const double with_experts = detail::expert_layer_share(t);
  architecture::LayerParameters layer;
  architecture::detail::add_attention(t, layer);
  double inner = (1 - with_experts) * static_cast<double>(t.ffn_width);
  RankParameters out;
  if (with_experts > 0) {
    inner += with_experts * static_cast<double>(t.experts->shared_width);
    out.experts = stage * with_experts * static_cast<double>(t.experts->count) * matrices * d *
                  static_cast<double>(t.experts->width) / static_cast<double>(r.layout.expert);
  }
  const double tables = r.layout.pipeline == 1 && !t.tied_embeddings ? 2 : 1;
  out.shared = stage * (layer.attention + matrices * d * inner) / tp + tables * architecture::vocabulary_table(t) / tp;
  return out;
}

namespace detail {

// Ranks that hold the same weights, and what their links give to a ring.
template <class T>
struct Replicas {
  double parameters;
  double ranks;
  T rate;
};

template <class T>
[[nodiscard]] Replicas<T> replicas(const StepRequest& r, const Rates<T>& rates, double parameters, double ranks,
                                   double stride) {
  const Group g = group_of(ranks, stride, r.machine.scale_up_domain.value);
  Rates<T> seen = rates;
  seen.network *= uplink_share(r.machine, g, stride);
  const bool one_card =
      r.stack.data_parallel.value == DataParallelEngine::early && architecture::shards_weights(r.sharding);
  return {parameters, ranks, one_card ? seen.network : bus_rate(seen, g)};
}

// Of one pass of a ring over the parameters in `bytes` each.
template <class T>
[[nodiscard]] T ring_time(const Replicas<T>& group, double bytes) {
  if (group.ranks <= 1) return T(0.0);
  return (group.ranks - 1) / group.ranks * group.parameters * bytes / group.rate;
}

}  // namespace detail

template <class T>
struct DataParallelTime {
  T exposed{0.0};
  T optimizer{0.0};
};

// microbatch: seconds of one on the slowest stage, with its sends; count: microbatches of the step.
template <class T>
[[nodiscard]] DataParallelTime<T> data_parallel_time(const StepRequest& r, const BasicEfficiencies<T>& e,
                                                     const Rates<T>& rates, const T& microbatch, double count) {
  using architecture::Sharding;
  const double dp = static_cast<double>(r.layout.data);
  const double cut = static_cast<double>(r.layout.tensor * r.layout.context);
  const double ep = static_cast<double>(r.layout.expert);
  const RankParameters held = rank_parameters(r);
  const auto shared = detail::replicas(r, rates, held.shared, dp * static_cast<double>(r.layout.context),
                                       static_cast<double>(r.layout.tensor));
  const auto experts = detail::replicas(r, rates, held.experts, std::max(1.0, cut * dp / ep), ep);
  const bool sharded = r.sharding != Sharding::none;
  const bool early = r.stack.data_parallel.value == DataParallelEngine::early;
  DataParallelTime<T> out;

  const auto both = [&](double bytes) { return T(ring_time(shared, bytes) + ring_time(experts, bytes)); };
  const double gradient = r.stack.gradient_bytes.value;
  if (shared.ranks <= 1 && experts.ranks <= 1) {
    out.exposed = T(0.0);
  } else if (r.sharding == Sharding::none) {
    out.exposed = both(2 * gradient);
  } else if (!architecture::shards_weights(r.sharding)) {
    const T all = both(gradient + 2);
    const T excess = all - e.hides_data * microbatch;
    out.exposed = 0.05 * all + (excess > 0.0 ? excess : T(0.0));
  } else {
    const double layers = static_cast<double>(r.shape.layers) / static_cast<double>(r.layout.pipeline);
    const bool kept = r.sharding == Sharding::zero3_no_reshard;
    const T all =
        both(kept ? 4 : 6) +
        3 * layers * (e.collective_seconds * std::log2(shared.ranks) + e.data_hop_seconds * (shared.ranks - 1));
    const T excess = soft_excess(T(all - e.hides_data * microbatch), T(0.02 * microbatch));
    const T cost = kept || early ? T(0.0) : T(e.hidden_data_cost * all);
    out.exposed = count * ((cost < excess ? excess : cost) + all / layers);
  }

  const T memory = e.memory * r.machine.memory_bandwidth.value;
  const auto update = [&](const detail::Replicas<T>& group) {
    const double ranks = sharded ? group.ranks : 1;
    return group.parameters * (e.optimizer_bytes / ranks + e.update_bytes / std::sqrt(ranks));
  };
  out.optimizer = (update(shared) + update(experts)) / memory;
  return out;
}

}  // namespace floplan::cluster
