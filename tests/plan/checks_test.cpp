// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "floplan/plan/planner.hpp"
#include "plan/requests.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using plan::Request;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

void refused(Failure failure, const std::string& place, const std::function<void(Request&)>& spoil) {
  Request r = requests::only_failures();
  r.draws = 100;
  r.price = plan::Price{DollarsPerHour(2), "given"};
  r.power = plan::Power{Watts(700), Watts(970)};
  spoil(r);
  const Error e = thrown::by([&] { (void)plan::make_plan(r); });
  INFO(e.what());
  CHECK(e.failure() == failure);
  CHECK(e.where().find(place) != std::string::npos);
}

}  // namespace

TEST_CASE("a value out of its range is refused at the field's path, whatever kind of wrong it is") {
  for (const double wrong : {not_a_number, infinite, -infinite, -1.0, -0.5, 1e300}) {
    CAPTURE(wrong);
    const auto field = [&](const std::string& place, const std::function<void(Request&)>& spoil) {
      refused(Failure::usage, place, spoil);
    };
    field("stage[1].tokens", [&](Request& r) { r.stages[0].tokens = Tokens(wrong); });
    field("stage[1].count", [&](Request& r) { r.stages[0].accelerators = Count(wrong); });
    field("stage[1].sequence_length", [&](Request& r) { r.stages[0].sequence_length = Tokens(wrong); });
    field("stage[1].global_batch", [&](Request& r) { r.stages[0].global_batch = Count(wrong); });
    field("stage[1].achieved", [&](Request& r) { r.stages[0].achieved = FlopPerSecond(wrong); });
    field("parameters", [&](Request& r) { r.parameters = Parameters(wrong); });
    field("peak", [&](Request& r) { r.peak = FlopPerSecond(wrong); });
    field("achieved_spread", [&](Request& r) { r.achieved_spread = Fraction(wrong); });
    field("reliability", [&](Request& r) { r.reliability.rate.per_accelerator_hour = wrong; });
    field("reliability.restart", [&](Request& r) { r.reliability.restart = Seconds(wrong); });
    field("reliability.wait", [&](Request& r) { r.reliability.wait = Seconds(wrong); });
    field("reliability.manual_per_day", [&](Request& r) { r.reliability.manual_per_day = wrong; });
    field("reliability.manual_wait", [&](Request& r) { r.reliability.manual_wait = Seconds(wrong); });
    field("reliability.planned_per_day", [&](Request& r) { r.reliability.planned_per_day = wrong; });
    field("reliability.planned_duration", [&](Request& r) { r.reliability.planned_duration = Seconds(wrong); });
    field("reliability.unexplained_stops", [&](Request& r) { r.reliability.unexplained_stops = wrong; });
    field("checkpoint.stall", [&](Request& r) { r.checkpoint.stall = Seconds(wrong); });
    field("checkpoint.interval", [&](Request& r) { r.checkpoint.interval = Seconds(wrong); });
    field("price", [&](Request& r) { r.price->accelerator_hour = DollarsPerHour(wrong); });
    field("power.accelerator", [&](Request& r) { r.power->accelerator = Watts(wrong); });
    field("power.node", [&](Request& r) { r.power->node = Watts(wrong); });
    field("power.pue", [&](Request& r) { r.power->pue = wrong; });
    field("power.carbon", [&](Request& r) { r.power->grid = KilogramsPerKwh(wrong); });
    if (wrong < 1e300 || wrong == infinite || std::isnan(wrong))
      field("deadline", [&](Request& r) { r.deadline = Seconds(wrong); });
  }
}

TEST_CASE("counts are whole and at least one") {
  for (const double wrong : {0.0, 1.5, 16384.25}) {
    CAPTURE(wrong);
    refused(Failure::usage, "stage[1].count", [&](Request& r) { r.stages[0].accelerators = Count(wrong); });
    refused(Failure::usage, "stage[1].global_batch", [&](Request& r) { r.stages[0].global_batch = Count(wrong); });
  }
  refused(Failure::usage, "stage[1].layout", [](Request& r) { r.stages[0].layout = plan::Layout{8, 1, 0, 1024}; });
  refused(Failure::usage, "draws", [](Request& r) { r.draws = 0; });
}

TEST_CASE("a request without a model, a stage, a rate or a peak is refused") {
  refused(Failure::usage, "plan", [](Request& r) { r.parameters.reset(); });
  refused(Failure::usage, "plan", [](Request& r) { r.stages.clear(); });
  refused(Failure::usage, "stage[1].achieved", [](Request& r) { r.stages[0].achieved.reset(); });
  refused(Failure::usage, "stage[1].achieved", [](Request& r) { r.stages[0].mfu = Fraction(0.4); });
  refused(Failure::usage, "precision", [](Request& r) { r.precision = catalog::Precision::fp4; });
  refused(Failure::usage, "reliability", [](Request& r) { r.reliability.rate = {}; });
}

TEST_CASE("a checkpoint that stalls nothing needs an interval, and with one it is planned") {
  refused(Failure::usage, "checkpoint.stall", [](Request& r) { r.checkpoint.stall = Seconds(0); });
  Request r = requests::only_failures();
  r.draws = 100;
  r.checkpoint.stall = Seconds(0);
  r.checkpoint.interval = Seconds(600);
  CHECK(plan::make_plan(r).waste.checkpoint == 0);
}

TEST_CASE("what cannot be is infeasible: a rate above the dense peak, a layout or a batch that does not divide") {
  refused(Failure::infeasible, "stage[1].achieved", [](Request& r) { r.stages[0].achieved = FlopPerSecond(990e12); });
  refused(Failure::infeasible, "stage[1].mfu", [](Request& r) {
    r.stages[0].achieved.reset();
    r.stages[0].mfu = Fraction(1.01);
  });
  refused(Failure::infeasible, "stage[1].layout", [](Request& r) { r.stages[0].layout = plan::Layout{8, 1, 16, 63}; });
  refused(Failure::infeasible, "stage[1].global_batch", [](Request& r) {
    r.stages[0].layout = plan::Layout{8, 1, 16, 64};
    r.stages[0].global_batch = Count(100);
  });
}

TEST_CASE("weights that all accelerators together cannot hold are infeasible by how much") {
  const auto weights = [](Request& r) { r.stages[0].accelerators = Count(1); };
  refused(Failure::infeasible, "stage[1].count", weights);
  Request r = requests::only_failures();
  r.draws = 100;
  r.stages[0].accelerators = Count(1);
  Error e = thrown::by([&] { (void)plan::make_plan(r); });
  CHECK(e.code() == "weights_do_not_fit");
  CHECK(thrown::says(e, "80 GB on 1 of h100-sxm, got 140 GB of bf16 weights, 1.75 times it"));
  // FP8 weights take half of that.
  r.precision = catalog::Precision::fp8;
  CHECK(plan::make_plan(r).peak.value > 1e15);
  r.accelerator.memory.reset();
  r.precision = catalog::Precision::bf16;
  CHECK(plan::make_plan(r).ideal.value > 0);
}

TEST_CASE("tensor parallelism divides the heads, and a stage of the pipeline has a layer") {
  const auto with = [](std::int64_t tensor, std::int64_t pipeline) {
    return [=](Request& r) {
      r.shape = catalog::Catalog().model("llama-3.1-8b").shape;  // 32 heads, 32 layers
      r.stages[0].layout = plan::Layout{tensor, 1, pipeline, 8192 / tensor / pipeline};
      r.stages[0].accelerators = r.stages[0].layout->degrees.accelerators();
    };
  };
  refused(Failure::infeasible, "stage[1].layout", with(64, 1));
  refused(Failure::infeasible, "stage[1].layout", with(24, 1));
  refused(Failure::infeasible, "stage[1].layout", with(1, 64));
  Request r = requests::only_failures();
  r.draws = 100;
  with(8, 32)(r);
  CHECK(plan::make_plan(r).ideal.value > 0);
}

TEST_CASE("a stage has the tokens of one sequence at least") {
  refused(Failure::usage, "stage[1].tokens", [](Request& r) { r.stages[0].tokens = Tokens(8191); });
  refused(Failure::usage, "stage[1].tokens", [](Request& r) { r.stages[0].tokens = Tokens(15.6); });
}

TEST_CASE("a share above one is answered with how its percentage is written") {
  Request r = requests::only_failures();
  r.stages[0].achieved.reset();
  r.stages[0].mfu = Fraction(40);
  CHECK(thrown::says(thrown::by([&] { (void)plan::make_plan(r); }), "written 40%"));
  r = requests::only_failures();
  r.achieved_spread = Fraction(3);
  CHECK(thrown::says(thrown::by([&] { (void)plan::make_plan(r); }), "written 3%"));
}

TEST_CASE("a layout of a billion in each degree is counted without overflow") {
  const plan::Layout huge{1000000000, 1000000000, 1000000000, 1000000000};
  CHECK(huge.accelerators().value == doctest::Approx(1e36));
  refused(Failure::infeasible, "stage[1].layout", [&](Request& r) { r.stages[0].layout = huge; });
}

TEST_CASE("a range is ordered, positive and not absurdly wide") {
  const auto range = [](double low, double high) {
    return plan::Uncertain<Seconds>::range(Seconds(low), Seconds(high));
  };
  refused(Failure::usage, "reliability.restart", [&](Request& r) { r.reliability.restart = range(600, 300); });
  refused(Failure::usage, "reliability.restart", [&](Request& r) { r.reliability.restart = range(0, 300); });
  refused(Failure::usage, "reliability.wait", [&](Request& r) { r.reliability.wait = range(1e-6, 300); });
  refused(Failure::usage, "checkpoint.stall", [&](Request& r) { r.checkpoint.stall = range(not_a_number, 300); });
  refused(Failure::usage, "reliability.restart", [&](Request& r) {
    r.reliability.restart = Seconds(300);
    r.reliability.restart.low = Seconds(200);
  });
}

TEST_CASE("an uncertain value is log-normal through its two percentiles") {
  const auto u = plan::Uncertain<Seconds>::range(Seconds(100), Seconds(400));
  CHECK(u.spreads());
  CHECK(u.central.value == doctest::Approx(200));
  CHECK(u.at(0).value == doctest::Approx(200));
  CHECK(u.at(plan::normal_p90).value == doctest::Approx(400));
  CHECK(u.at(-plan::normal_p90).value == doctest::Approx(100));
  CHECK_FALSE(plan::Uncertain<Seconds>(Seconds(5)).spreads());
  CHECK(plan::Uncertain<Seconds>(Seconds(5)).at(3).value == 5);
  CHECK_FALSE(plan::Uncertain<Seconds>::range(Seconds(5), Seconds(5)).spreads());
}

TEST_CASE("an uncertain value with a median of its own keeps both percentiles") {
  const auto u = plan::Uncertain<DollarsPerHour>::range(DollarsPerHour(1.7), DollarsPerHour(2.5), DollarsPerHour(5));
  CHECK(u.at(0).value == 2.5);
  CHECK(u.at(plan::normal_p90).value == doctest::Approx(5).epsilon(1e-14));
  CHECK(u.at(-plan::normal_p90).value == doctest::Approx(1.7).epsilon(1e-14));
  CHECK(plan::range_text(u) == "$1.7/h to $5/h (80%), median $2.5/h");
  CHECK(plan::range_text(plan::Uncertain<DollarsPerHour>(DollarsPerHour(2.123))) == "$2.123/h");
  refused(Failure::usage, "price", [](Request& r) {
    r.price->accelerator_hour =
        plan::Uncertain<DollarsPerHour>::range(DollarsPerHour(2), DollarsPerHour(6), DollarsPerHour(5));
  });
}
