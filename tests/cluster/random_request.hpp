// SPDX-License-Identifier: BSD-3-Clause
//
// Requests drawn at random among those that are possible, for properties that hold for all of them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "floplan/cluster/step_request.hpp"
#include "floplan/core/random.hpp"

namespace random_request {

using namespace floplan;

template <class Value>
Value one_of(RandomStream& random, std::initializer_list<Value> values) {
  const double at = random.uniform() * static_cast<double>(values.size());
  return *(values.begin() + static_cast<std::ptrdiff_t>(at));
}

inline cluster::Machine machine(RandomStream& random) {
  cluster::Machine m;
  m.accelerator = "a part";
  m.year = one_of(random, {2020.0, 2023.0});
  m.bf16_peak = FlopPerSecond(1e14 * (1 + 30 * random.uniform()));
  m.gemm_ceiling = m.bf16_peak * (0.5 + 0.4 * random.uniform());
  m.fp8_peak = m.bf16_peak * 2;
  m.fp4_peak = m.bf16_peak * 4;
  m.memory_bandwidth = BytesPerSecond(1e12 * (1 + 10 * random.uniform()));
  m.scale_up = BytesPerSecond(1e11 * (1 + 10 * random.uniform()));
  m.scale_up_domain = Count(one_of(random, {1.0, 4.0, 8.0, 72.0}));
  m.network = BytesPerSecond(1e9 * (1 + 100 * random.uniform()));
  if (random.uniform() < 0.3) {
    m.pod = Count(one_of(random, {64.0, 512.0}));
    m.oversubscription = 1 + 10 * random.uniform();
  }
  return m;
}

inline architecture::Transformer shape(RandomStream& random, std::int64_t stages) {
  architecture::Transformer t;
  t.layers = stages * one_of<std::int64_t>(random, {4, 8, 12});
  t.heads = one_of<std::int64_t>(random, {32, 64, 128});
  t.head_width = one_of<std::int64_t>(random, {64, 128});
  t.width = t.heads * t.head_width;
  t.kv_heads = one_of<std::int64_t>(random, {8, 32});
  t.ffn_width = 4 * t.width;
  t.vocabulary = 128256;
  t.gated = random.uniform() < 0.5;
  t.tied_embeddings = random.uniform() < 0.5;
  if (random.uniform() < 0.2)
    t.local =
        architecture::LocalAttention{1024, random.uniform() < 0.5, architecture::LayerPattern::every(2, t.layers)};
  if (random.uniform() < 0.3) {
    architecture::Experts e;
    e.count = 64;
    e.active = one_of<std::int64_t>(random, {2, 8});
    e.width = 2048;
    e.shared_width = one_of<std::int64_t>(random, {0, 2048});
    e.layers = architecture::LayerPattern::from(1, t.layers);
    t.experts = e;
  }
  return t;
}

inline cluster::SoftwareStack stack(RandomStream& random) {
  using namespace cluster;
  SoftwareStack s;
  s.attention = one_of(random, {AttentionKernel::current, AttentionKernel::early, AttentionKernel::unfused});
  s.elementwise = one_of(random, {Elementwise::fused, Elementwise::eager});
  s.host = one_of(random, {Host::graphs, Host::fast, Host::slow});
  s.sequence_parallel = random.uniform() < 0.5;
  s.overlap = random.uniform() < 0.5;
  s.scatter_gather = random.uniform() < 0.5;
  s.gradient_bytes = one_of(random, {2.0, 4.0});
  s.selective = one_of(random, {SelectiveRecompute::attention_core, SelectiveRecompute::operators});
  s.context_exchange = one_of(random, {ContextExchange::all_gather, ContextExchange::ring});
  return s;
}

// Possible by construction; check() is for the test to call.
inline cluster::StepRequest request(std::uint64_t seed) {
  using architecture::Recompute;
  using architecture::Sharding;
  RandomStream random(seed);
  cluster::StepRequest r;
  r.layout.tensor = one_of<std::int64_t>(random, {1, 2, 4, 8});
  r.layout.context = one_of<std::int64_t>(random, {1, 1, 2, 4});
  r.layout.pipeline = one_of<std::int64_t>(random, {1, 2, 4, 8});
  r.layout.data = one_of<std::int64_t>(random, {1, 4, 32, 256});
  r.layout.interleave = r.layout.pipeline > 1 ? one_of<std::int64_t>(random, {1, 2, 4}) : 1;
  r.shape = shape(random, r.layout.pipeline);
  if (r.shape.experts && r.layout.tensor * r.layout.context * r.layout.data >= 4)
    r.layout.expert = one_of<std::int64_t>(random, {1, 4});
  r.machine = machine(random);
  r.microbatch = one_of<std::int64_t>(random, {1, 2, 4});
  r.global_batch = r.layout.data * r.microbatch * one_of<std::int64_t>(random, {1, 8, 64});
  r.sequence_length = one_of<std::int64_t>(random, {2048, 8192, 65536});
  r.precision = one_of(random, {catalog::Precision::bf16, catalog::Precision::fp8, catalog::Precision::fp4});
  r.sharding =
      one_of(random, {Sharding::none, Sharding::zero1, Sharding::zero2, Sharding::zero3_no_reshard, Sharding::zero3});
  r.recompute = one_of(random, {Recompute::none, Recompute::selective, Recompute::full});
  r.stack = stack(random);
  return r;
}

}  // namespace random_request
