// SPDX-License-Identifier: BSD-3-Clause
//
// The seconds of a training step, term by term: the kernel that predictions, searches and calibrations evaluate.
//
//   layer      = smooth_max(forward, host) + smooth_max(backward, 1.3 host) + recomputed,  power 2.5
//   stage      = layers / PP of them; (layers + 2) / PP where embedding and head take a layer's place each, the last one less
//   microbatch = slowest stage (the last has the head) + its sends + one layer's host time, forward and backward
//   bubble     = (PP - 1 + (VP - 1) max(0, PP - m)) / VP (average stage + sends)      1F1B, interleaved by VP
//              = (PP - 1) (average stage + sends - 2 weight gradients)                  zero bubble (ZB-H1)
//   step       = (m microbatch + bubble) (1 + sigma E max of n / 8 normal times) + exposed data parallel + optimizer
//
//   m = global batch / (DP microbatch); host the seconds that a layer keeps the host busy; n accelerators.
//   Tensor: 2 all-reduces a pass and layer; under sequence parallelism the backward pass gathers its inputs once more, partly
//   hidden. Context: keys and values of all ranks gathered before the attention, or passed around a ring while it works, of
//   which a hop is exposed as far as it outlasts the attention to one rank's keys; twice as much backward. Experts: 2
//   all-to-all a pass. Sends: 2 VP a microbatch. What overlaps is exposed to a share (efficiencies.hpp).
//   Interleaved stages wait for their next chunk where fewer than PP microbatches fill the round.
//
// Sources: Narayanan 2021 (2104.04473, bubble, interleaving, scatter-gather), Korthikanti 2022 (2205.05198), Qi 2023
// (2401.10241, zero bubble), Liu 2023 (2310.01889, ring attention).
// Holds: as efficiencies.hpp says. Throws nothing, and allocates nothing; r must have passed check().
// Pitfall: the terms are totals of the slowest stage and do not sum to the step: `waiting` is what remains, the host, the
// head on one stage, the difference of stages. A user's measured factor scales all of them alike.
#pragma once

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "floplan/cluster/collectives.hpp"
#include "floplan/cluster/data_parallel_time.hpp"
#include "floplan/cluster/layer_time.hpp"
#include "floplan/cluster/smooth.hpp"
#include "floplan/cluster/step_request.hpp"

namespace floplan::cluster {

template <class T>
struct BasicStepTerms {
  T products{0.0};
  T attention{0.0};
  T elementwise{0.0};
  T tensor{0.0};   // exposed communication of TP
  T context{0.0};  // of CP
  T expert{0.0};   // of EP
  T head{0.0};     // output head and loss, as the average over stages
  T sends{0.0};    // between stages
  T bubble{0.0};
  T data{0.0};  // exposed communication of DP
  T optimizer{0.0};
  T straggler{0.0};
  T step{0.0};
  T microbatch{0.0};  // one, on the slowest stage
  double microbatches = 0;

  [[nodiscard]] T waiting() const {
    return step - (products + attention + elementwise + tensor + context + expert + head + sends + bubble + data +
                   optimizer + straggler);
  }
};
using StepTerms = BasicStepTerms<double>;

namespace detail {

// Exposed communication of one average layer.
template <class T>
struct LayerCommunication {
  T tensor{0.0};    // of one pass
  T regather{0.0};  // of a backward pass, beside that
  Passes<T> context;
  T expert{0.0};
};

// Exposed exchange of keys and values among context parallel ranks.
template <class T>
[[nodiscard]] Passes<T> context_exchange(const StepRequest& r, const BasicEfficiencies<T>& e, const Rates<T>& rates,
                                         const Passes<T>& attention) {
  const double cp = static_cast<double>(r.layout.context);
  if (cp <= 1) return {};
  const double bytes = 2 * microbatch_tokens(r) * keys_values_width(r);
  const Group group = group_of(cp, static_cast<double>(r.layout.tensor), r.machine.scale_up_domain.value);
  if (r.stack.context_exchange.value == ContextExchange::all_gather) {
    const T once = (r.stack.overlap.value ? e.exposed_overlapped : T(1.0)) *
                   collective_time(Collective::all_gather, cp * bytes, group, rates);
    return {once, 2 * once};
  }
  // All hops are of one length: that of the slowest link, which leaves the domain by one card.
  const T rate = group.ranks > group.per_domain ? rates.network : rates.scale_up;
  const auto exposed = [&](double sent, const T& attended) {
    const T hop = sent / rate + e.send_seconds;
    const T excess = hop - attended / cp;
    const T least = e.exposed_overlapped * hop;
    return T((cp - 1) * ((excess < least ? least : excess) + e.kernel_seconds));
  };
  return {exposed(bytes, attention.forward), exposed(2 * bytes, attention.backward)};
}

template <class T>
[[nodiscard]] LayerCommunication<T> layer_communication(const StepRequest& r, const BasicEfficiencies<T>& e,
                                                        const Rates<T>& rates, const LayerTime<T>& layer) {
  const architecture::Transformer& t = r.shape;
  const double domain = r.machine.scale_up_domain.value;
  const double tokens = microbatch_tokens(r);
  const double d = static_cast<double>(t.width);
  const double tp = static_cast<double>(r.layout.tensor);
  const double ep = static_cast<double>(r.layout.expert);
  const bool overlap = r.stack.overlap.value;
  const T exposed = overlap ? e.exposed_overlapped : T(1.0);
  LayerCommunication<T> out;
  if (tp > 1) {
    out.tensor = 2 * exposed *
                 collective_time(Collective::all_reduce, 2 * tokens * d, group_of(tp, 1, domain), rates,
                                 Algorithm::ring, e.ring_hop_seconds, e.collective_seconds);
    // What was gathered for a product is kept cut, and gathered again for its weights' gradient: half of the volume.
    if (r.stack.sequence_parallel.value) out.regather = 0.5 * e.regather * out.tensor;
  }
  out.context = context_exchange(r, e, rates, layer.attention);
  if (ep > 1) {
    // A token goes once to each remote domain, whose links pass it on; inside a domain once to each expert.
    const double active = static_cast<double>(t.experts->active);
    const double bytes = 2 * tokens / tp * d;
    const T inside = bytes * active * (ep - 1) / ep / rates.scale_up;
    const T outside = bytes * remote_domains(std::max(1.0, ep / domain), active) / rates.network;
    out.expert = 2 * expert_layer_share(t) * (overlap ? e.exposed_overlapped_experts : T(1.0)) *
                 (inside < outside ? outside : inside);
  }
  return out;
}

// Sends of one microbatch: forward and backward, for each chunk of the stage.
template <class T>
[[nodiscard]] T send_time(const StepRequest& r, const BasicEfficiencies<T>& e, const Rates<T>& rates) {
  if (r.layout.pipeline == 1) return T(0.0);
  const double tp = static_cast<double>(r.layout.tensor);
  const double stage_ranks = tp * static_cast<double>(r.layout.context) * static_cast<double>(r.layout.data);
  const bool cut = r.stack.scatter_gather.value || r.stack.sequence_parallel.value;
  const double bytes = 2 * microbatch_tokens(r) * static_cast<double>(r.shape.width) / (cut ? tp : 1);
  const double pod = r.machine.pod.value;
  const double uplinks = pod > 0 && stage_ranks * static_cast<double>(r.layout.pipeline) > pod
                             ? std::min(1.0, std::max(1.0, pod / stage_ranks) / r.machine.oversubscription)
                             : 1;
  const T rate = 2 * stage_ranks <= r.machine.scale_up_domain.value ? rates.scale_up : T(rates.network * uplinks);
  const T one = bytes / rate + e.send_seconds;
  return 2 * static_cast<double>(r.layout.interleave) * (r.stack.overlap.value ? e.exposed_overlapped : T(1.0)) * one;
}

// What recomputation adds to a layer, of each kind of time, and whole (with the host's part).
template <class T>
struct Recomputed {
  T products{0.0}, attention{0.0}, elementwise{0.0}, whole{0.0};
  double passes = 0;  // forward passes with their communication
};

template <class T>
[[nodiscard]] Recomputed<T> recomputed(const StepRequest& r, const LayerTime<T>& layer, const T& forward) {
  using architecture::Recompute;
  Recomputed<T> out;
  if (r.recompute == Recompute::full) {
    out = {layer.products.forward, layer.attention.forward, layer.elementwise.forward, forward, 1};
  } else if (r.recompute == Recompute::selective) {
    if (r.stack.selective.value == SelectiveRecompute::operators) {
      out.products = 0.5 * layer.products.forward;
      out.elementwise = layer.elementwise.forward;
    } else if (r.stack.attention.value == AttentionKernel::unfused) {
      out.attention = layer.attention.forward;
    }
    out.whole = out.products + out.attention + out.elementwise;
  }
  return out;
}

[[nodiscard]] inline double host_share(const StepRequest& r, double fast) {
  return r.stack.host.value == Host::graphs ? 0 : r.stack.host.value == Host::fast ? fast : 1;
}

// Of a layer's forward pass.
template <class T>
[[nodiscard]] T host_seconds(const StepRequest& r, const BasicEfficiencies<T>& e) {
  T share(1.0);
  if (r.layout.tensor > 1) share += e.host_tensor;
  if (r.layout.tensor > 4) share += e.host_sockets;
  return host_share(r, e.fast_host) * share * e.host_seconds;
}

// Of n independent standard normal times (Blom 1958: the quantile at (n - 3/8) / (n + 1/4), within 1% from n = 2).
[[nodiscard]] inline double expected_maximum(double n) {
  if (!(n > 1)) return 0;
  return boost::math::quantile(boost::math::normal(), (n - 0.375) / (n + 0.25));
}

}  // namespace detail

template <class T>
[[nodiscard]] BasicStepTerms<T> step_terms(const StepRequest& r, const BasicEfficiencies<T>& e) {
  const Rates<T> rates = effective_rates(r.machine, e);
  const LayerTime<T> layer = layer_time(r, e);
  const detail::LayerCommunication<T> links = detail::layer_communication(r, e, rates, layer);
  const T head = head_time(r, e);
  const T sends = detail::send_time(r, e, rates);

  const T busy_forward = layer.products.forward + layer.attention.forward + layer.elementwise.forward + links.tensor +
                         links.context.forward + links.expert;
  const T busy_backward = layer.products.backward + layer.attention.backward + layer.elementwise.backward +
                          links.tensor + links.regather + links.context.backward + links.expert;
  const T host = detail::host_seconds(r, e);
  const T forward = smooth_max(busy_forward, host, 2.5);
  const detail::Recomputed<T> again = detail::recomputed(r, layer, forward);
  const T whole_layer = forward + smooth_max(busy_backward, T(e.backward_host * host), 2.5) + again.whole;

  const double layers = static_cast<double>(r.shape.layers);
  const double stages = static_cast<double>(r.layout.pipeline);
  const bool even = r.shape.layers % r.layout.pipeline == 0;
  const double stage_layers = even ? layers / stages : (layers + 2) / stages;
  const T middle = stage_layers * whole_layer;
  const T last = (even ? stage_layers : stage_layers - 1) * whole_layer + head;
  const double m = microbatches(r);
  const T between = e.host_microbatch * (1 + e.backward_host) * detail::host_share(r, e.fast_host) * e.host_seconds;

  BasicStepTerms<T> out;
  out.microbatches = m;
  out.microbatch = (middle < last ? last : middle) + sends + between;
  const double times = m * stage_layers;
  out.products = times * (layer.products.forward + layer.products.backward + again.products);
  out.attention = times * (layer.attention.forward + layer.attention.backward + again.attention);
  out.elementwise = times * (layer.elementwise.forward + layer.elementwise.backward + again.elementwise);
  out.tensor = times * ((2 + again.passes) * links.tensor + links.regather);
  out.context = times * ((1 + again.passes) * links.context.forward + links.context.backward);
  out.expert = times * (2 + again.passes) * links.expert;
  out.head = m * head / stages;
  out.sends = m * sends;
  T idle = (layers * whole_layer + head) / stages + sends + between;
  // Weight gradients are half of the backward products.
  if (r.stack.schedule.value == PipelineSchedule::zero_bubble) idle -= layers / stages * layer.products.backward;
  const double chunks = static_cast<double>(r.layout.interleave);
  const double idle_chunks = stages - 1 + (chunks - 1) * std::max(0.0, stages - m);
  out.bubble = idle_chunks / chunks * (idle > 0.0 ? idle : T(0.0));
  const DataParallelTime<T> data = data_parallel_time(r, e, rates, out.microbatch, m);
  out.data = data.exposed;
  out.optimizer = data.optimizer;
  const T work = m * out.microbatch + out.bubble;
  const double units = std::max(1.0, r.layout.accelerators().value / e.straggler_unit);
  const double spread = detail::expected_maximum(units);
  out.straggler = e.straggler * spread * work;
  out.step = work + out.straggler + out.data + out.optimizer;
  if (e.measured_factor != 1) {
    for (T* part : {&out.products, &out.attention, &out.elementwise, &out.tensor, &out.context, &out.expert, &out.head,
                    &out.sends, &out.bubble, &out.data, &out.optimizer, &out.straggler, &out.step, &out.microbatch})
      *part *= e.measured_factor;
  }
  return out;
}

[[nodiscard]] inline StepTerms step_terms(const StepRequest& r) { return step_terms(r, r.efficiencies); }

}  // namespace floplan::cluster
