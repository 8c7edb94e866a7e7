// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/serving/ideal_time.hpp"

#include <doctest/doctest.h>

#include "floplan/catalog/catalog.hpp"
#include "floplan/serving/engine_step.hpp"
#include "floplan/serving/serving_cost.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using namespace floplan::serving;

}  // namespace

TEST_CASE("critical batches are those of the data sheets") {
  const catalog::Catalog catalog;
  for (const reference::Row& row : reference::rows("serving_critical_batch.csv")) {
    const catalog::Accelerator a = catalog.accelerator(row.text("accelerator"));
    reference::check(row, critical_batch(*a.bf16_dense, *a.memory_bandwidth, row.number("weight_bytes"),
                                         row.number("experts") / row.number("active")));
  }
}

TEST_CASE("ideal decode and prompt times are the scaling book's and kipply's") {
  for (const reference::Row& row : reference::rows("serving_ideal_time.csv")) {
    const IdealMachine m{row.number("accelerators"), FlopPerSecond(row.number("peak")),
                         BytesPerSecond(row.number("bandwidth")), row.number("weight_bytes")};
    const Parameters n(row.number("parameters"));
    const Tokens tokens(row.number("tokens"));
    const Seconds decode = ideal_decode_time(m, n, row.number("batch"), tokens, Bytes(row.number("cache_bytes")));
    const std::string quantity = row.text("quantity");
    if (quantity == "decode_ms") reference::check(row, 1e3 * decode.value);
    if (quantity == "decode_rate") reference::check(row, row.number("batch") / decode.value);
    if (quantity == "prompt_s")
      reference::check(row, ideal_prompt_time(m, n, tokens, Fraction(row.number("utilisation"))).value);
  }
}

TEST_CASE("Pope's eight times and utilisations are one another's") {
  for (const reference::Row& row : reference::rows("serving_pope_mfu.csv")) {
    const IdealMachine m{row.number("chips"), *catalog::Catalog().accelerator("tpu-v4").bf16_dense, BytesPerSecond(1)};
    reference::check(row, serving_utilisation(m, Parameters(row.number("parameters")), Tokens(row.number("tokens")),
                                              Seconds(row.number("seconds"))));
  }
}

TEST_CASE("a draft of four tokens at a tenth of the cost is worth what Leviathan says") {
  for (const reference::Row& row : reference::rows("serving_speculation.csv")) {
    const Speculation s{row.number("acceptance"), row.number("drafted"), row.number("draft_cost")};
    check(s);
    reference::check(row, row.text("quantity") == "tokens" ? s.tokens() : s.speed_up());
  }
  CHECK(Speculation{.acceptance = 1, .drafted = 4}.tokens() == 5);
}

TEST_CASE("DeepSeek's day costs and earns what was published") {
  double all = 0;
  for (const reference::Row& row : reference::rows("serving_day.csv")) {
    const double usd = row.has("tokens") ? row.number("tokens") / 1e6 * row.number("usd_per_million") : all;
    if (row.has("tokens")) all += usd;
    reference::check(row, usd);
  }
  for (const reference::Row& row : reference::rows("serving_cost.csv")) {
    const DollarsPerHour price(row.number("price"));
    const Count accelerators(row.number("accelerators"));
    if (row.text("quantity") == "usd") {
      reference::check(row, cost(accelerator_hours(accelerators, hours(row.number("hours"))), price).value);
    } else {
      reference::check(row, usd_per_million(price, accelerators.value, row.number("tokens_a_second")));
    }
  }
}

// The same physics twice: the engine's step with every share 1 and every latency 0 is the scaling book's sum, but for the head
// that stays in 16 bits.
TEST_CASE("an ideal engine's decode step is the ideal decode time") {
  const catalog::Catalog catalog;
  const ServedModel m = served_model(catalog.model("llama-3.1-70b").shape);
  Device d = device_of(catalog.accelerator("h100-sxm"));
  d.scale_up = 1e30;
  const NumberFormats f{2, 2, catalog::Precision::bf16};
  for (const double batch : {1.0, 16.0, 256.0, 4096.0}) {
    const EngineStep<double> step = engine_step(m, d, Cut{8}, f, decode_load(batch, 4096, m), ideal());
    const IdealMachine ideal_machine{8, FlopPerSecond(d.bf16_peak), BytesPerSecond(d.memory_bandwidth), 2};
    const Seconds bound = ideal_decode_time(ideal_machine, Parameters(m.attention + m.feed_forward + m.head), batch,
                                            Tokens(4096), Bytes(cached_bytes(m, f, 1)));
    const double logits = 12 * batch * m.vocabulary / 8 / d.memory_bandwidth;
    CHECK(step.seconds() - logits == near(bound.value, 0.004));
    CHECK(step.attention == 0);
  }
}
