// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/cluster/step_time.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "cluster/random_request.hpp"
#include "cluster/steps.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using architecture::Recompute;
using cluster::step_terms;
using cluster::step_time;
using cluster::StepReport;
using cluster::StepRequest;
using cluster::StepTerms;

constexpr std::uint64_t requests = 2000;

}  // namespace

TEST_CASE("a possible step takes a positive and finite time, and so do its parts") {
  for (std::uint64_t seed = 0; seed < requests; ++seed) {
    CAPTURE(seed);
    const StepRequest r = random_request::request(seed);
    const StepReport s = step_time(r);
    CHECK(std::isfinite(s.step.value));
    CHECK(s.step.value > 0);
    CHECK(s.mfu > 0);
    CHECK(s.mfu < 1);
    CHECK(s.hfu >= s.mfu);
    CHECK(s.bubble_fraction >= 0);
    CHECK(s.bubble_fraction < 1);
    const StepTerms& t = s.terms;
    for (const double part : {t.products, t.attention, t.elementwise, t.tensor, t.context, t.expert, t.head, t.sends,
                              t.bubble, t.data, t.optimizer, t.straggler})
      CHECK(part >= 0);
    CHECK(t.waiting() >= -1e-12 * t.step);
  }
}

TEST_CASE("more bandwidth, and any better efficiency, is never slower") {
  for (std::uint64_t seed = 0; seed < requests; ++seed) {
    CAPTURE(seed);
    const StepRequest r = random_request::request(seed);
    const double before = step_terms(r).step;
    const auto never_slower = [&](const char* what, auto change) {
      CAPTURE(what);
      StepRequest better = r;
      change(better);
      CHECK(step_terms(better).step <= before * (1 + 1e-12));
    };
    never_slower("memory", [](StepRequest& b) { b.machine.memory_bandwidth = b.machine.memory_bandwidth * 1.5; });
    never_slower("scale-up", [](StepRequest& b) { b.machine.scale_up = b.machine.scale_up * 1.5; });
    never_slower("network", [](StepRequest& b) { b.machine.network = b.machine.network * 1.5; });
    never_slower("no oversubscription", [](StepRequest& b) { b.machine.oversubscription = 1; });
    for (const cluster::FittedEfficiency& f : cluster::fitted_efficiencies()) {
      const bool less_is_better = f.name == "host_seconds" || f.name == "eager";
      never_slower(f.name.data(), [&](StepRequest& b) { b.efficiencies.*f.member *= less_is_better ? 0.8 : 1.25; });
    }
  }
}

TEST_CASE("one accelerator has no communication, no bubble and no sends") {
  for (std::uint64_t seed = 0; seed < requests; ++seed) {
    StepRequest r = random_request::request(seed);
    r.layout = {};
    r.global_batch = r.microbatch;
    const StepTerms t = step_time(r).terms;
    for (const double part : {t.tensor, t.context, t.expert, t.sends, t.bubble, t.data, t.straggler}) CHECK(part == 0);
  }
}

TEST_CASE("twice the batch on one layout has a smaller share of bubble") {
  for (std::uint64_t seed = 0; seed < requests; ++seed) {
    StepRequest r = random_request::request(seed);
    const StepReport once = step_time(r);
    r.global_batch *= 2;
    const StepReport twice = step_time(r);
    if (r.layout.pipeline > 1) {
      CHECK(twice.bubble_fraction < once.bubble_fraction);
    } else {
      CHECK(twice.bubble_fraction == 0);
    }
    // Of interleaved stages that one batch does not fill, the longer wait goes too.
    if (r.layout.interleave == 1 || once.terms.microbatches >= static_cast<double>(r.layout.pipeline)) {
      CHECK(twice.terms.bubble == once.terms.bubble);
    } else {
      CHECK(twice.terms.bubble < once.terms.bubble);
    }
    CHECK(twice.tokens_per_second > once.tokens_per_second * (1 - 1e-12));
  }
}

TEST_CASE("replicas that bring their own batch keep the microbatches and all that one of them does") {
  for (std::uint64_t seed = 0; seed < requests; ++seed) {
    StepRequest r = random_request::request(seed);
    if (r.layout.expert > 1) continue;
    const StepTerms before = step_terms(r);
    r.layout.data *= 2;
    r.global_batch *= 2;
    const StepTerms after = step_terms(r);
    CHECK(after.microbatches == before.microbatches);
    CHECK(after.products == before.products);
    CHECK(after.attention == before.attention);
    CHECK(after.tensor == before.tensor);
  }
}

TEST_CASE("full recomputation adds one forward pass of every layer, with its collectives") {
  for (std::uint64_t seed = 0; seed < requests; ++seed) {
    CAPTURE(seed);
    StepRequest r = random_request::request(seed);
    r.efficiencies.regather = 0;  // the backward pass gathers its inputs once, recomputed or not
    r.recompute = Recompute::none;
    const StepTerms without = step_terms(r);
    r.recompute = Recompute::full;
    const StepTerms with = step_terms(r);
    const double layers =
        without.microbatches * static_cast<double>(r.shape.layers) / static_cast<double>(r.layout.pipeline);
    const auto layer = cluster::layer_time(r, r.efficiencies);
    CHECK(with.products - without.products == near(layers * layer.products.forward, 1e-9));
    CHECK(with.attention - without.attention == near(layers * layer.attention.forward, 1e-9));
    CHECK(with.tensor == near(1.5 * without.tensor, 1e-12));
    CHECK(with.expert == near(1.5 * without.expert, 1e-12));
    if (r.stack.context_exchange.value == cluster::ContextExchange::all_gather) {
      CHECK(with.context == near(without.context * 4 / 3, 1e-12));
    } else {
      CHECK(with.context >= without.context);
      CHECK(with.context <= 2 * without.context);
    }
  }
}

TEST_CASE("8 and 4 bits speed up the layers' products and leave attention and head as they are") {
  for (std::uint64_t seed = 0; seed < requests; ++seed) {
    StepRequest r = random_request::request(seed);
    r.precision = catalog::Precision::bf16;
    const StepTerms wide = step_terms(r);
    r.precision = catalog::Precision::fp8;
    const StepTerms narrow = step_terms(r);
    CHECK(narrow.products < wide.products);
    CHECK(narrow.attention == wide.attention);
    CHECK(narrow.head == wide.head);
    CHECK(narrow.elementwise > wide.elementwise);
    CHECK(narrow.tensor == wide.tensor);
  }
}

// Seconds follow from rates: all rates and the model's own seconds scaled, the step scales.
TEST_CASE("a clock that runs twice as fast halves every term") {
  for (std::uint64_t seed = 0; seed < requests; ++seed) {
    CAPTURE(seed);
    StepRequest r = random_request::request(seed);
    const StepTerms before = step_terms(r);
    for (FlopPerSecond* rate :
         {&r.machine.gemm_ceiling, &r.machine.bf16_peak, &r.machine.fp8_peak, &r.machine.fp4_peak})
      *rate = *rate * 2;
    for (BytesPerSecond* rate : {&r.machine.memory_bandwidth, &r.machine.scale_up, &r.machine.network})
      *rate = *rate * 2;
    cluster::Efficiencies& e = r.efficiencies;
    for (double* seconds : {&e.host_seconds, &e.kernel_seconds, &e.ring_hop_seconds, &e.collective_seconds,
                            &e.data_hop_seconds, &e.send_seconds})
      *seconds /= 2;
    const StepTerms after = step_terms(r);
    CHECK(after.step == near(before.step / 2, 1e-12));
    CHECK(after.products == near(before.products / 2, 1e-12));
    CHECK(after.bubble == near(before.bubble / 2, 1e-12));
  }
}

TEST_CASE("interleaving divides the bubble and multiplies the sends") {
  StepRequest r = steps::named("llama3-t4-001").request;
  const StepTerms eight = step_terms(r);
  r.layout.interleave = 1;
  const StepTerms one = step_terms(r);
  CHECK(one.sends == near(eight.sends / 8, 1e-12));
  CHECK(one.bubble > 7 * eight.bubble);
  CHECK(one.bubble < 8 * eight.bubble);
}

TEST_CASE("one microbatch goes through interleaved stages in no less time than through whole ones") {
  for (std::uint64_t seed = 0; seed < requests; ++seed) {
    CAPTURE(seed);
    StepRequest r = random_request::request(seed);
    if (r.layout.interleave == 1) continue;
    r.global_batch = r.layout.data * r.microbatch;
    r.efficiencies.send_seconds = 0;
    r.machine.network = r.machine.scale_up = BytesPerSecond(1e30);  // each chunk sends once more
    const StepTerms chunks = step_terms(r);
    r.layout.interleave = 1;
    CHECK(chunks.bubble == near(step_terms(r).bubble, 1e-12));
  }
}

TEST_CASE("a hop of a ring is exposed as far as it outlasts the attention to one rank's keys") {
  std::size_t hidden = 0, exposed = 0;
  for (std::uint64_t seed = 0; seed < requests; ++seed) {
    CAPTURE(seed);
    StepRequest r = random_request::request(seed);
    if (r.layout.context == 1) continue;
    r.stack.context_exchange = cluster::ContextExchange::ring;
    r.recompute = Recompute::none;
    r.efficiencies.exposed_overlapped = 0.25;
    const StepTerms terms = step_terms(r);
    const cluster::Efficiencies& e = r.efficiencies;
    const double cp = static_cast<double>(r.layout.context);
    const double tp = static_cast<double>(r.layout.tensor);
    const double ranks_of_domain = std::floor(r.machine.scale_up_domain.value / tp);
    const auto rates = cluster::effective_rates(r.machine, e);
    const double rate = cp > std::max(1.0, ranks_of_domain) ? rates.network : rates.scale_up;
    const double bytes = 2 * cluster::detail::microbatch_tokens(r) * cluster::detail::keys_values_width(r);
    const auto layer = cluster::layer_time(r, e);
    const auto wait = [&](double passes, double attention) {
      const double hop = passes * bytes / rate + e.send_seconds;
      (hop > attention / cp ? exposed : hidden) += 1;
      return (cp - 1) * (std::max(0.25 * hop, hop - attention / cp) + e.kernel_seconds);
    };
    const double times =
        terms.microbatches * static_cast<double>(r.shape.layers) / static_cast<double>(r.layout.pipeline);
    CHECK(terms.context == near(times * (wait(1, layer.attention.forward) + wait(2, layer.attention.backward)), 1e-12));
  }
  CHECK(hidden > 100);
  CHECK(exposed > 100);
}

TEST_CASE("a zero-bubble schedule takes two weight gradients out of the bubble and changes nothing else") {
  for (std::uint64_t seed = 0; seed < requests; ++seed) {
    StepRequest r = random_request::request(seed);
    r.layout.interleave = 1;
    r.recompute = Recompute::none;
    const StepTerms plain = step_terms(r);
    r.stack.schedule = cluster::PipelineSchedule::zero_bubble;
    CHECK_NOTHROW(check(r));
    const StepTerms filled = step_terms(r);
    const double stages = static_cast<double>(r.layout.pipeline);
    const double gradients =
        static_cast<double>(r.shape.layers) / stages * cluster::layer_time(r, r.efficiencies).products.backward;
    CHECK(filled.bubble == near(plain.bubble - (stages - 1) * gradients, 1e-9));
    CHECK(filled.microbatch == plain.microbatch);
    CHECK(filled.products == plain.products);
  }
}

TEST_CASE("Llama 3's throughputs are met, and one of them carries to twice the accelerators") {
  const auto rate = [](const reference::Row& row) {
    return step_time(steps::named(row.text("case")).request).model_rate.value / 1e12;
  };
  for (const reference::Row& row : reference::rows("llama3_throughput.csv")) {
    double predicted = rate(row);
    if (row.has("anchor")) {
      const reference::Row anchor = reference::row("llama3_throughput.csv", row.text("anchor"));
      predicted *= anchor.value() / rate(anchor);
    }
    CAPTURE(row.name());
    CHECK(predicted == near(row.value(), row.number("within")));
  }
}

TEST_CASE("rates, MFU and HFU follow from the step and the named convention") {
  StepRequest r = steps::named("korthikanti-t5-001").request;
  r.convention = law::FlopConvention::full;
  const StepReport s = step_time(r);
  const auto flop = architecture::training_flop_per_token(r.shape, Tokens(2048));
  CHECK(s.model_flop_per_token == flop.full);
  CHECK(s.tokens_per_second == near(static_cast<double>(r.global_batch * r.sequence_length) / s.step.value, 1e-15));
  CHECK(s.model_rate.value == near(flop.full.value * s.tokens_per_second / s.accelerators.value, 1e-14));
  CHECK(s.mfu == near(s.model_rate / r.machine.bf16_peak, 1e-14));
  // A forward pass of the layers again: a third of the layers' share.
  CHECK(s.hfu / s.mfu > 1.3);
  CHECK(s.hfu / s.mfu < 4.0 / 3);
  CHECK(s.describe().find("6N + full attention") != std::string::npos);
}

TEST_CASE("a fused kernel has no scores for selective recomputation to redo") {
  StepRequest r = steps::named("llama3-t4-001").request;
  const StepTerms none = step_terms(r);
  r.recompute = Recompute::selective;
  CHECK(step_terms(r).step == none.step);
  CHECK(step_time(r).hfu == step_time(r).mfu);
  r.stack.attention = cluster::AttentionKernel::unfused;
  CHECK(step_time(r).hfu > step_time(r).mfu);
}

TEST_CASE("facts that were not given are assumptions of the report, and given ones are not") {
  StepRequest r = steps::named("llama3-t4-001").request;
  CHECK(step_time(r).assumptions.empty());
  r.stack = {};
  const auto assumed = step_time(r).assumptions;
  CHECK(assumed.size() == 8);
  r.accelerators.reset();
  r.layout = {};
  r.global_batch = 1;
  CHECK(step_time(r).assumptions.size() == 3);
}
