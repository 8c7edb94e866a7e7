// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/serving/serving_report.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/serving/serving_cost.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::serving;
using catalog::Precision;

ServingRequest request(const std::string& model, const std::string& accelerator, double n, Precision p) {
  ServingRequest r;
  r.model = served_model(catalog::Catalog().model(model).shape);
  r.device = device_of(catalog::Catalog().accelerator(accelerator));
  r.cut.accelerators = n;
  r.formats = formats_of(p, r.device);
  return r;
}
ServingRequest llama_405b() { return request("llama-3.1-405b", "h100-sxm", 8, Precision::fp8); }

struct Refusal {
  const char* code;
  Failure failure;
  std::vector<const char*> numbers;
  std::function<void(ServingRequest&)> change;
};

}  // namespace

TEST_CASE("Llama 3.1 405B fits eight H100 in FP8 and not in BF16, and the refusal says by how much") {
  const ServingReport s = serve(llama_405b());
  CHECK(s.memory.fits());
  CHECK(s.limit == BatchLimit::memory);
  CHECK(s.batch == std::floor(s.memory.sequences));
  const Error error = thrown::by([] { (void)serve(request("llama-3.1-405b", "h100-sxm", 8, Precision::bf16)); });
  CHECK(error.failure() == Failure::infeasible);
  CHECK(error.code() == "does_not_fit");
  for (const char* number : {"8 x h100-sxm", "101.5 GB", "85.47 GB", "1.24 times"}) CHECK(thrown::says(error, number));
}

TEST_CASE("what is shown of a part's memory is what its driver shows") {
  for (const reference::Row& row : reference::rows("serving_shown_memory.csv")) {
    const Device d = device_of(catalog::Catalog().accelerator(row.text("accelerator")));
    reference::check(row, d.memory / 1073741824);
  }
  CHECK(device_of(catalog::Catalog().accelerator("mi300x")).memory == 192e9);
  CHECK(device_of(catalog::Catalog().accelerator("h100-sxm"), {.memory = Bytes(94e9)}).memory == 94e9);
}

TEST_CASE("a report's numbers belong together") {
  const ServingRequest r = llama_405b();
  const ServingReport s = serve(r);
  CHECK(s.output_tokens_per_second == near(s.batch / s.step.seconds(), 1e-12));
  CHECK(s.tpot.value == near(s.step.seconds(), 1e-12));
  CHECK(s.requests_per_second == near(s.output_tokens_per_second / 1000, 1e-12));
  CHECK(s.ttft < s.ttft_beside_batch);
  CHECK(s.decoding_share > 0);
  CHECK(s.decoding_share < 1);
  CHECK(s.bounds.memory + s.bounds.arithmetic + s.bounds.links + s.bounds.latency == near(1, 1e-9));
  CHECK(s.rate_low() < s.output_tokens_per_second);
  CHECK(s.rate_high() > s.output_tokens_per_second);
}

TEST_CASE("a limit of latency gives the largest batch that keeps it") {
  ServingRequest r = llama_405b();
  r.longest_tpot = Seconds(0.05);
  const ServingReport s = serve(r);
  CHECK(s.limit == BatchLimit::tpot);
  CHECK(s.tpot <= Seconds(0.05));
  r.longest_tpot.reset();
  r.batch = s.batch + 1;
  CHECK(serve(r).tpot > Seconds(0.05));

  ServingRequest by_ttft = llama_405b();
  by_ttft.longest_ttft = Seconds(0.2);
  const ServingReport t = serve(by_ttft);
  CHECK(t.limit == BatchLimit::ttft);
  CHECK(t.ttft_beside_batch <= Seconds(0.2));
  CHECK(t.batch < s.memory.sequences);
}

TEST_CASE("a larger batch has more tokens a second and each of them later") {
  ServingRequest r = llama_405b();
  double rate = 0, tpot = 0;
  for (double batch = 1; batch <= 256; batch *= 4) {
    r.batch = batch;
    const ServingReport s = serve(r);
    CHECK(s.output_tokens_per_second > rate);
    CHECK(s.tpot.value > tpot);
    rate = s.output_tokens_per_second;
    tpot = s.tpot.value;
  }
}

TEST_CASE("an impossible request is refused by its rule and its numbers") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Refusal> all{
      {"out_of_range", Failure::usage, {"output tokens", "0"}, [](auto& r) { r.tokens.output = 0; }},
      {"out_of_range", Failure::usage, {"input tokens", "0.5"}, [](auto& r) { r.tokens.input = 0.5; }},
      {"out_of_range", Failure::usage, {"batch", "nan"}, [=](auto& r) { r.batch = nan; }},
      {"out_of_range", Failure::usage, {"limit", "-1"}, [](auto& r) { r.longest_tpot = Seconds(-1); }},
      {"out_of_range", Failure::usage, {"cached", "1"}, [](auto& r) { r.cached_share = 1; }},
      {"out_of_range", Failure::usage, {"accelerators", "0"}, [](auto& r) { r.cut.accelerators = 0; }},
      {"does_not_divide", Failure::infeasible, {"query heads", "3", "128"}, [](auto& r) { r.cut.accelerators = 3; }},
      {"beyond_heads", Failure::infeasible, {"128", "256"}, [](auto& r) { r.cut.accelerators = 256; }},
      {"batch_does_not_fit", Failure::infeasible, {"at most", "5000"}, [](auto& r) { r.batch = 5000; }},
      {"beyond_tokens_a_step",
       Failure::infeasible,
       {"at most 16", "100"},
       [](auto& r) {
         r.tokens = {5000, 10};
         r.batch = 100;
       }},
      {"too_slow", Failure::infeasible, {"TPOT", "0.001 s", "times"}, [](auto& r) { r.longest_tpot = Seconds(1e-3); }},
      {"too_slow", Failure::infeasible, {"TTFT", "0.01 s"}, [](auto& r) { r.longest_ttft = Seconds(1e-2); }},
      {"no_experts", Failure::infeasible, {"dense"}, [](auto& r) { r.cut.attention_data_parallel = true; }},
      {"no_arithmetic", Failure::infeasible, {"fp4", "h100"}, [](auto& r) { r.formats.arithmetic = Precision::fp4; }},
      {"not_known", Failure::infeasible, {"scale-up"}, [](auto& r) { r.device.scale_up = 0; }},
      {"does_not_fit", Failure::infeasible, {"times over"}, [](auto& r) { r.tokens.input = 1e9; }},
  };
  for (const Refusal& one : all) {
    ServingRequest r = llama_405b();
    one.change(r);
    CAPTURE(one.numbers.front());
    const Error error = thrown::by([&r] { (void)serve(r); });
    INFO(std::string(error.what()));
    CHECK(error.code() == std::string(one.code));
    CHECK(error.failure() == one.failure);
    for (const char* number : one.numbers) CHECK(thrown::says(error, number));
  }
}

TEST_CASE("beyond the key-value heads the cache is copied, which is said") {
  ServingRequest r = request("llama-3.3-70b", "h100-sxm", 8, Precision::fp8);
  const Bytes eight = serve(r).memory.a_token;
  r.cut.accelerators = 16;
  const ServingReport s = serve(r);
  CHECK(s.memory.a_token == eight);
  REQUIRE(s.warnings.size() == 2);
  CHECK(s.warnings[0].code == "copied_cache");
  CHECK(s.warnings[1].code == "beyond_scale_up");
}

TEST_CASE("cached prefixes shorten prompts and keep their memory") {
  ServingRequest r = llama_405b();
  const ServingReport without = serve(r);
  r.cached_share = 0.5;
  const ServingReport with = serve(r);
  CHECK(with.memory.sequences == without.memory.sequences);
  CHECK(with.output_tokens_per_second > without.output_tokens_per_second);
  CHECK(with.ttft < without.ttft);
}

TEST_CASE("speculation is worth its formula while weights decide, and less at a full batch") {
  ServingRequest r = request("llama-3.3-70b", "h200-sxm", 1, Precision::fp8);
  r.efficiencies = ideal();
  r.tokens = {1, 100};
  r.batch = 1;
  const double plain = serve(r).output_tokens_per_second;
  r.speculation = Speculation{.acceptance = 0.8, .drafted = 4, .draft_cost = 0.1};
  CHECK(serve(r).output_tokens_per_second / plain == near(r.speculation->speed_up(), 0.01));
  r.batch = 1024;
  const double many = serve(r).output_tokens_per_second;
  r.speculation.reset();
  CHECK(many / serve(r).output_tokens_per_second < 1.5);
}

TEST_CASE("costs of prompts and outputs add up to the whole") {
  const ServingRequest r = llama_405b();
  const ServingReport s = serve(r);
  const ServingCost c = serving_cost(r, s, DollarsPerHour(2.5));
  CHECK(c.usd_per_million_output == near(2.5 * 8 / (3600 * s.output_tokens_per_second) * 1e6, 1e-12));
  CHECK(c.usd_per_million_output ==
        near(c.usd_per_million_output_alone + c.usd_per_million_input_alone * r.tokens.input / r.tokens.output, 1e-12));
  CHECK(c.watt_hours_per_million_output == near(8 * 700 / 3600.0 * 1e6 / s.output_tokens_per_second, 1e-12));
  CHECK(replicas_for({1e6, 2}, 3.5) == 7);
  CHECK(thrown::by([] { (void)replicas_for({0, 1}, 1); }).failure() == Failure::usage);
  CHECK(thrown::by([] { (void)replicas_for({10, 0.5}, 1); }).failure() == Failure::usage);
}
