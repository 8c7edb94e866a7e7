// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/serving/engine_step.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "floplan/architecture/kv_cache.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/law/dual.hpp"
#include "floplan/serving/serving_memory.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using namespace floplan::serving;
const NumberFormats fp8{1, 1, catalog::Precision::fp8};

ServedModel model(const std::string& name) { return served_model(catalog::Catalog().model(name).shape); }
Device device(const std::string& name) { return device_of(catalog::Catalog().accelerator(name)); }

}  // namespace

TEST_CASE("a served model's elements add up to its parameters, for every model of the catalog") {
  for (const catalog::Model& one : catalog::Catalog().models()) {
    CAPTURE(one.name);
    const ServedModel m = served_model(one.shape);
    CHECK(m.total() == near(architecture::parameter_count(one.shape).total.value, 1e-12));
    CHECK(m.other >= 0);
    CHECK(m.other < 0.01 * m.total());
    CHECK(m.feed_forward >= 0);
  }
}

TEST_CASE("the cache that serving keeps is the table's, by kind of attention") {
  const catalog::Catalog catalog;
  for (const reference::Row& row : reference::rows("model_kv_bytes.csv")) {
    const ServedModel m = served_model(catalog.model(row.text("model")).shape);
    NumberFormats f;
    f.cache_bytes = row.number("bytes_per_value");
    reference::check(row, cached_bytes(m, f, row.number_or("context", 1)));
  }
}

TEST_CASE("a step is never longer on more bandwidth, more FLOP or faster links, nor shorter with more to do") {
  for (const auto& [known, n, spread] : {std::tuple{"llama-3.1-8b", 1.0, false},
                                         {"llama-3.1-405b", 8.0, false},
                                         {"qwen3-235b-a22b", 8.0, true},
                                         {"deepseek-v3", 16.0, true},
                                         {"gpt-oss-120b", 2.0, false},
                                         {"gemma-3-27b", 4.0, false}}) {
    const std::string name = known;
    CAPTURE(name);
    const ServedModel m = model(name);
    const Device d = device("h200-sxm");
    const Cut cut{n, spread};
    double last = 0;
    for (const double batch : {1.0, 8.0, 64.0, 512.0}) {
      const EngineLoad load = steady_load(batch, {1000, 500}, m);
      const double seconds = engine_step(m, d, cut, fp8, load, Efficiencies{}).seconds();
      CHECK(seconds > last);
      last = seconds;
      CHECK(engine_step(m, d, cut, fp8, load, ideal()).seconds() < seconds);
      CHECK(engine_step(m, d, cut, fp8, steady_load(batch, {2000, 500}, m), Efficiencies{}).seconds() > seconds);
      for (double Device::*member :
           {&Device::memory_bandwidth, &Device::bf16_peak, &Device::fp8_peak, &Device::scale_up, &Device::network}) {
        Device better = d;
        better.*member *= 2;
        CHECK(engine_step(m, better, cut, fp8, load, Efficiencies{}).seconds() <= seconds);
      }
    }
  }
}

TEST_CASE("one accelerator sends nothing, and a dense model touches no experts") {
  const ServedModel m = model("llama-3.1-8b");
  const EngineStep<double> s =
      engine_step(m, device("h100-sxm"), Cut{1}, fp8, steady_load(64, {1000, 1000}, m), Efficiencies{});
  CHECK(s.communication == 0);
  CHECK(s.experts == 0);
}

TEST_CASE("grouped queries shrink the cache's traffic and not the scores' FLOP") {
  architecture::Transformer shape = catalog::Catalog().model("llama-3.1-70b").shape;
  const ServedModel grouped = served_model(shape);
  shape.kv_heads = shape.heads;
  const ServedModel whole = served_model(shape);
  const EngineLoad load = steady_load(64, {4000, 500}, grouped);
  const EngineStep<double> a = engine_step(grouped, device("h100-sxm"), Cut{8}, fp8, load, Efficiencies{});
  const EngineStep<double> b = engine_step(whole, device("h100-sxm"), Cut{8}, fp8, load, Efficiencies{});
  CHECK(a.attention == b.attention);
  CHECK(b.cache == near(8 * a.cache, 1e-12));
}

TEST_CASE("one token touches k of E experts, many touch all, and memory holds all of them whatever is touched") {
  CHECK(touched_experts(128, 8, 1) == near(8.0 / 128, 1e-12));
  CHECK(touched_experts(128, 8, 1e6) == near(1, 1e-12));
  CHECK(touched_experts(8, 8, 1) == 1);
  CHECK(touched_experts(0, 0, 5) == 0);
  const ServedModel m = model("deepseek-v3");
  CHECK(8 * weight_bytes_of_one(m, Cut{8}, fp8).value > m.total());
}

TEST_CASE("a load of steady state is the mean of the decoding and prompt steps that it stands for") {
  const ServedModel m = model("gemma-3-27b");
  const RequestTokens r{3000, 500};
  const EngineLoad steady = steady_load(10, r, m);
  EngineLoad life;  // of one request: its prompt in two pieces, then its tokens one by one
  life += prompt_load(1000, 0, false, m);
  life += prompt_load(2000, 1000, true, m);
  CHECK(life.scores == near(3000.0 * 3000 / 2, 1e-12));
  double context = 0, local = 0;
  for (int i = 0; i < 500; ++i) {
    const EngineLoad one = decode_load(1, 3000 + i + 0.5, m);
    context += one.context;
    local += one.local_context;
  }
  CHECK(steady.scores == near(life.scores * 10 / 500, 1e-12));
  CHECK(steady.local_scores == near(life.local_scores * 10 / 500, 1e-12));
  CHECK(steady.context == near(context * 10 / 500, 1e-12));
  CHECK(steady.local_context == near(local * 10 / 500, 1e-12));
}

TEST_CASE("a step is differentiated exactly in any efficiency") {
  const ServedModel m = model("qwen3-235b-a22b");
  const EngineLoad load = steady_load(64, {1000, 1000}, m);
  const Device d = device("h200-sxm");
  const Cut cut{8, true};
  for (std::size_t i = 0; i < fitted_count; ++i) {
    CAPTURE(serving_priors()[i].name);
    BasicEfficiencies<law::Dual> e = lift<law::Dual>(Efficiencies{});
    fitted_values(e)[i]->first = 1;
    const law::Dual seconds = engine_step(m, d, cut, fp8, load, e).seconds();
    const auto at = [&](double factor) {
      Efficiencies moved;
      *fitted_values(moved)[i] *= factor;
      return engine_step(m, d, cut, fp8, load, moved).seconds();
    };
    CHECK(seconds.value == near(at(1), 1e-14));
    const double value = *fitted_values(e)[i] == law::Dual(0) ? 0 : fitted_values(e)[i]->value;
    const double step = 1e-5;
    CHECK(seconds.first == doctest::Approx((at(1 + step) - at(1 - step)) / (2 * step * value)).epsilon(1e-6));
  }
}
