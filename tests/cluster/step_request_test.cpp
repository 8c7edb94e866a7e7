// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/cluster/step_request.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "cluster/random_request.hpp"
#include "cluster/steps.hpp"
#include "floplan/cluster/step_time.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using cluster::step_time;
using cluster::StepRequest;

struct Impossible {
  const char* rule;
  std::vector<const char*> numbers;
  std::function<void(StepRequest&)> change;
};

bool warned(const StepRequest& r, const std::string& code) {
  for (const Warning& w : step_time(r).warnings) {
    if (w.code == code) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("an impossible layout is refused by its rule and its numbers") {
  const std::vector<Impossible> all{
      {"global batch / (DP x microbatch) must be whole",
       {"2000", "64", "31.25"},
       [](auto& r) { r.global_batch = 2000; }},
      {"PP must divide the layers",
       {"126", "5"},
       [](auto& r) {
         r.layout.pipeline = 5;
         r.layout.interleave = 1;
       }},
      {"PP must be at most the layers", {"126", "256"}, [](auto& r) { r.layout.pipeline = 256; }},
      {"VP must divide the layers of a stage", {"3", "8"}, [](auto& r) { r.layout.interleave = 3; }},
      {"interleaved schedule must have PP", {"1"}, [](auto& r) { r.layout.pipeline = 1; }},
      {"TP must divide the attention heads", {"256", "128"}, [](auto& r) { r.layout.tensor = 256; }},
      {"CP must divide the sequence", {"3", "8192"}, [](auto& r) { r.layout.context = 3; }},
      {"must be the 8192 accelerators",
       {"8 x 1 x 16 x 32", "4096"},
       [](auto& r) {
         r.accelerators = Count(8192);
         r.layout.data = 32;
       }},
      {"a zero-bubble schedule must have VP of 1",
       {"8"},
       [](auto& r) { r.stack.schedule = cluster::PipelineSchedule::zero_bubble; }},
      {"EP must be 1 in a dense model", {"8"}, [](auto& r) { r.layout.expert = 8; }},
      {"products in fp8 must be possible",
       {"h100"},
       [](auto& r) {
         r.machine.fp8_peak = FlopPerSecond(0);
         r.precision = catalog::Precision::fp8;
       }},
  };
  for (const Impossible& one : all) {
    const std::string rule = one.rule;
    CAPTURE(rule);
    StepRequest r = steps::named("llama3-t4-001").request;
    r.uneven_stages = false;
    CHECK_NOTHROW(check(r));
    r.accelerators.reset();
    one.change(r);
    const Error error = thrown::by([&] { (void)step_time(r); });
    const std::string text = error.what();
    CAPTURE(text);
    CHECK(error.failure() == Failure::infeasible);
    CHECK(thrown::says(error, one.rule));
    for (const char* number : one.numbers) CHECK(thrown::says(error, number));
  }
}

TEST_CASE("experts that EP does not divide are refused") {
  StepRequest r;
  for (std::uint64_t seed = 0; !r.shape.experts || r.layout.data < 4; ++seed) r = random_request::request(seed);
  r.layout.expert = 3;
  CHECK(thrown::says(thrown::by([&] { check(r); }), "EP must divide the experts, got 3 and 64"));
  r.layout = {};
  r.layout.expert = 64;
  CHECK(thrown::says(thrown::by([&] { check(r); }), "EP must divide TP x CP x DP, got 64 and 1"));
}

TEST_CASE("what is possible but slow is warned of") {
  StepRequest r = steps::named("llama3-t4-001").request;
  CHECK(warned(r, "uneven_stages"));
  CHECK_FALSE(warned(r, "tensor_beyond_domain"));
  r.layout.tensor = 16;
  r.accelerators.reset();
  CHECK(warned(r, "tensor_beyond_domain"));
  CHECK(warned(r, "kv_heads_copied"));
  r.global_batch = 64 * 8;
  CHECK(warned(r, "few_microbatches"));
  CHECK(warned(r, "interleaved_microbatches"));
}

TEST_CASE("a utilisation above one is flagged") {
  StepRequest r = steps::named("llama3-t4-001").request;
  r.efficiencies.gemm = 3;
  r.efficiencies.attention = 3;
  r.efficiencies.memory = 30;
  r.efficiencies.network = 30;
  r.efficiencies.scale_up = 30;
  CHECK(warned(r, "mfu_above_one"));
}

TEST_CASE("uneven stages are refused unless allowed, and cost what their average layer costs") {
  StepRequest r = steps::named("llama3-t4-001").request;
  r.layout.interleave = 1;
  r.layout.pipeline = 10;
  r.accelerators.reset();
  r.uneven_stages = false;
  CHECK(thrown::by([&] { check(r); }).code() == "does_not_divide");
  r.uneven_stages = true;
  CHECK_NOTHROW(check(r));
  CHECK(warned(r, "uneven_stages"));
}

TEST_CASE("degrees and batches below 1 or beyond 1e8 are refused by name") {
  const std::vector<std::pair<const char*, std::function<std::int64_t&(StepRequest&)>>> all{
      {"TP", [](StepRequest& r) -> std::int64_t& { return r.layout.tensor; }},
      {"CP", [](StepRequest& r) -> std::int64_t& { return r.layout.context; }},
      {"PP", [](StepRequest& r) -> std::int64_t& { return r.layout.pipeline; }},
      {"DP", [](StepRequest& r) -> std::int64_t& { return r.layout.data; }},
      {"EP", [](StepRequest& r) -> std::int64_t& { return r.layout.expert; }},
      {"VP", [](StepRequest& r) -> std::int64_t& { return r.layout.interleave; }},
      {"microbatch", [](StepRequest& r) -> std::int64_t& { return r.microbatch; }},
      {"global batch", [](StepRequest& r) -> std::int64_t& { return r.global_batch; }},
      {"sequence length", [](StepRequest& r) -> std::int64_t& { return r.sequence_length; }}};
  for (const auto& [name, field] : all) {
    for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-8}, std::numeric_limits<std::int64_t>::max()}) {
      StepRequest r = steps::named("llama3-t4-001").request;
      field(r) = bad;
      const Error error = thrown::by([&] { check(r); });
      CHECK(error.failure() == Failure::usage);
      CHECK(thrown::says(error, std::string(name) + " must be from 1 to 1e8, got " + std::to_string(bad)));
    }
  }
}

TEST_CASE("efficiencies and rates that are no positive numbers are refused by name") {
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    for (const cluster::FittedEfficiency& f : cluster::fitted_efficiencies()) {
      StepRequest r = steps::named("llama3-t4-001").request;
      r.efficiencies.*f.member = bad;
      CHECK(thrown::says(thrown::by([&] { check(r); }), "the efficiency \"" + std::string(f.name) + "\" must be"));
    }
    StepRequest fixed = steps::named("llama3-t4-001").request;
    fixed.efficiencies.scale_up = bad;
    CHECK(thrown::says(thrown::by([&] { check(fixed); }), "the efficiency \"scale_up\" must be positive"));
    fixed.efficiencies.scale_up = 1;
    fixed.efficiencies.straggler = bad;
    if (bad != 0) CHECK(thrown::says(thrown::by([&] { check(fixed); }), "the efficiency \"straggler\" must be from 0"));
    StepRequest r = steps::named("llama3-t4-001").request;
    r.machine.network = BytesPerSecond(bad);
    CHECK(thrown::says(thrown::by([&] { check(r); }), "network bandwidth"));
  }
}
