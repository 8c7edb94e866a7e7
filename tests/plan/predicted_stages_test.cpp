// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/cluster/step_band.hpp"
#include "floplan/core/file.hpp"
#include "floplan/plan/planner.hpp"
#include "floplan/plan/request_file.hpp"
#include "plan/requests.hpp"
#include "support/reference.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using plan::make_plan;
using plan::Override;
using plan::Plan;
using plan::Request;

namespace {

const std::string top = "model = \"llama-3.1-70b\"\naccelerator = \"h100-sxm\"\n";
const std::string stage = "[[stage]]\ntokens = \"1T\"\ncount = 2048\nglobal_batch = 1024\n";
const std::string layout = "layout = { tp = 8, pp = 4, vp = 4, microbatch = 1, sharding = \"zero1\" }\n";

Request read(const std::string& text, const std::vector<Override>& overrides = {}) {
  Request r = plan::read_request(text, "p.toml", overrides, catalog::Catalog());
  r.draws = 400;
  r.threads = 1;
  return r;
}

Error refused(const std::string& text, const std::vector<Override>& overrides = {}) {
  const Error e = thrown::by([&] { (void)make_plan(read(text, overrides)); });
  INFO(std::string(e.what()));
  REQUIRE_FALSE(e.where().empty());
  return e;
}

bool warns(const std::vector<Warning>& all, const std::string& code, const std::string& words = "") {
  return std::any_of(all.begin(), all.end(),
                     [&](const Warning& w) { return w.code == code && w.message.find(words) != std::string::npos; });
}

cluster::StepRequest step_of_70b() {
  const catalog::Catalog catalog;
  cluster::StepRequest r;
  r.shape = catalog.model("llama-3.1-70b").shape;
  r.machine = cluster::machine_of(catalog.accelerator("h100-sxm"));
  r.layout = {.tensor = 8, .pipeline = 4, .data = 64, .interleave = 4};
  r.global_batch = 1024;
  r.sequence_length = 8192;
  return r;
}

}  // namespace

TEST_CASE("a layout without a rate is planned with the step-time model's step, and nothing else changes it") {
  const Plan p = make_plan(read(top + stage + layout));
  const cluster::StepReport step = cluster::step_time(step_of_70b());
  const plan::StagePlan& s = p.main();
  CHECK(s.request.predicted());
  CHECK(s.step_time->value == doctest::Approx(step.step.value).epsilon(1e-12));
  CHECK(s.tokens_per_second() == doctest::Approx(step.tokens_per_second).epsilon(1e-12));
  CHECK(s.mfu == doctest::Approx(step.mfu).epsilon(1e-12));
  CHECK(s.ideal.value == doctest::Approx(1e12 / step.tokens_per_second).epsilon(1e-12));
  CHECK(*s.model->fits);
  CHECK(s.model->memory->total() < *s.model->capacity);
  // The same rate, given, makes the same expected plan.
  const Plan given = make_plan(read(top + stage + layout, {{"stage[1].achieved", print(s.achieved), "--achieved"}}));
  CHECK(given.expected_hours.value == doctest::Approx(p.expected_hours.value).epsilon(1e-9));
  CHECK_FALSE(warns(given.warnings, "rate_disagrees"));
}

TEST_CASE("what a predicted step assumes is said once, and what is given is not assumed") {
  const Plan p = make_plan(read(top + stage + layout + stage + layout));
  CHECK(std::count_if(p.warnings.begin(), p.warnings.end(),
                      [](const Warning& w) { return w.code == "assumed_for_steps"; }) == 1);
  CHECK(warns(p.warnings, "assumed_for_steps", "nothing recomputed"));
  CHECK(warns(p.warnings, "assumed_for_steps", "communication is assumed to be exposed"));
  const std::string stack =
      "[stack]\nattention = \"current\"\nelementwise = \"fused\"\nhost = \"fast\"\nsequence_parallel = true\n"
      "overlap = \"yes\"\nscatter_gather = \"yes\"\ngradient_bytes = 4\ndata_parallel = \"current\"\n";
  const std::string recompute =
      "[[stage]]\ntokens = \"1T\"\ncount = 2048\nglobal_batch = 1024\nlayout = { tp = 8, pp = 4, "
      "vp = 4, microbatch = 1, sharding = \"zero1\", recompute = \"none\" }\n";
  const Plan known = make_plan(read(top + recompute + stack));
  CHECK_FALSE(warns(known.warnings, "assumed_for_steps"));
  CHECK(known.main().model->band.of == "dense, known part and stack");
  CHECK(known.main().step_time < p.main().step_time);
}

TEST_CASE("a publisher's software is taken by name, and what stands beside it is the later word") {
  const std::string named = top + stage + layout + "[stack]\nname = \"llama3-2024\"\n";
  const Plan p = make_plan(read(named));
  CHECK(p.main().model->band.of == "dense, known part and stack");
  const Plan other = make_plan(read(named + "overlap = \"yes\"\n"));
  CHECK(other.main().step_time < p.main().step_time);
  CHECK(thrown::says(refused(top + stage + layout + "[stack]\nname = \"llama3\"\n"), "llama3-2024"));
}

TEST_CASE("a schedule without bubble is shorter than one that is not interleaved, and takes no chunks of layers") {
  const std::string open = "layout = { tp = 8, pp = 4, microbatch = 1, sharding = \"zero1\" }\n";
  const std::string whole = "layout = { tp = 8, pp = 4, vp = 1, microbatch = 1, sharding = \"zero1\" }\n";
  const std::string schedule = "[stack]\nschedule = \"zero_bubble\"\n";
  const Plan filled = make_plan(read(top + stage + open + schedule));
  CHECK(filled.main().model->layout.degrees.interleave == 1);
  CHECK(filled.main().step_time < make_plan(read(top + stage + whole)).main().step_time);
  CHECK(thrown::says(refused(top + stage + layout + schedule), "must have VP of 1"));
  CHECK(make_plan(read(top + stage + "layout = \"search\"\n" + schedule)).main().model->layout.degrees.interleave == 1);
}

TEST_CASE("the machine of a plan is the catalog's but for what the plan says of it") {
  const auto seconds = [](const std::string& tables, const std::string& head = "") {
    return make_plan(read(head + top + stage + layout + tables)).main().step_time->value;
  };
  const double plain = seconds("");
  CHECK(seconds("[machine]\nnetwork = \"25GB/s\"\n") > plain);
  CHECK(seconds("[machine]\nscale_up = \"900GB/s\"\n") < plain);
  CHECK(seconds("[machine]\nmemory_bandwidth = \"2TB/s\"\n") > plain);
  CHECK(seconds("[machine]\ngemm_ceiling = \"700TFLOP/s\"\n") > plain);
  CHECK(seconds("[machine]\nscale_up_domain = 4\n") > plain);
  CHECK(seconds("[machine]\npod = 512\noversubscription = 1\n") == plain);
  CHECK(seconds("[machine]\npod = 512\noversubscription = 64\n") > plain);

  const auto wrong = [](const std::string& tables, const std::string& place, const std::string& words) {
    const Error e = refused(top + stage + layout + tables);
    INFO(std::string(e.what()));
    CHECK(e.where().starts_with("p.toml:" + place));
    CHECK(thrown::says(e, words));
  };
  wrong("[machine]\noversubscription = 7\n", "9:", "needs pod");
  wrong("[machine]\npod = 512\noversubscription = 0.5\n", "10:", "from 1 to 1000");
  wrong("[machine]\nnetwrok = \"50GB/s\"\n", "9:1", "nearest: network");
  wrong("[machine]\ngemm_ceiling = \"1979TFLOP/s\"\n", "2:", "peak");
  CHECK(warns(read(top + stage + "mfu = 0.4\n[machine]\npod = 512\n").assumptions, "machine_unused"));
}

TEST_CASE("a plan takes the efficiencies of measured steps from a file beside it") {
  const TemporaryFolder folder;
  (void)folder.file("mine.toml", "measured_factor = 1.25\n");
  (void)folder.file("broken.toml", "measured_factor = -1\n");
  const auto plan_with = [&](const std::string& line) {
    return plan::read_request(line + top + stage + layout, (folder / "p.toml").string(), {}, catalog::Catalog());
  };
  const double plain = make_plan(plan_with("")).main().step_time->value;
  CHECK(make_plan(plan_with("efficiencies = \"mine.toml\"\n")).main().step_time->value ==
        doctest::Approx(1.25 * plain).epsilon(1e-12));
  CHECK(thrown::says(thrown::by([&] { (void)plan_with("efficiencies = \"broken.toml\"\n"); }), "measured_factor"));
  CHECK(thrown::says(thrown::by([&] { (void)plan_with("efficiencies = \"none.toml\"\n"); }), "none.toml"));
}

TEST_CASE("the band of a predicted step spreads the days, and one error is common to all stages") {
  const auto spread = [](const std::string& text) {
    Request r = read("draws = 20000\n" + top + text + "[reliability]\nrate_per_node_day = 1e-6\nrestart = \"1s\"\n");
    r.draws = 20000;
    return make_plan(r);
  };
  const Plan one = spread(stage + layout);
  const double low = one.wall_clock_days.p05 / one.wall_clock_days.p50;
  const double high = one.wall_clock_days.p95 / one.wall_clock_days.p50;
  const cluster::StepBand& band = one.main().model->band;
  CHECK(low == doctest::Approx(band.low).epsilon(0.02));
  CHECK(high == doctest::Approx(band.high).epsilon(0.02));
  // Two stages of half the tokens: were their errors independent, the spread would be smaller by the root of two.
  std::string half = stage;
  half.replace(half.find("1T"), 2, "500B");
  const Plan two = spread(half + layout + half + layout);
  CHECK(two.wall_clock_days.standard_deviation ==
        doctest::Approx(one.wall_clock_days.standard_deviation).epsilon(0.02));
  // A rate that is given spreads by its own 3%.
  const Plan given = spread(stage + "achieved = \"400TFLOP/s\"\n");
  CHECK(given.wall_clock_days.standard_deviation / given.wall_clock_days.mean == doctest::Approx(0.03).epsilon(0.05));
}

TEST_CASE("the band's two sides are drawn each with its own width") {
  Plan p = make_plan(read(top + stage + layout));
  plan::StagePlan& s = p.stages[0];
  s.model->band.low = 0.9;
  s.model->band.high = 1.6;
  CHECK(s.model->band.factor(0) == 1);
  CHECK(s.model->band.factor(-1.6448536269514722) == doctest::Approx(0.9).epsilon(1e-12));
  CHECK(s.model->band.factor(1.6448536269514722) == doctest::Approx(1.6).epsilon(1e-12));
  plan::detail::Scenario slow, fast;
  slow.step = 1;
  fast.step = -1;
  const double median = plan::detail::expected_wall_clock(p, {}).value;
  CHECK(plan::detail::expected_wall_clock(p, slow).value - median >
        2 * (median - plan::detail::expected_wall_clock(p, fast).value));
}

TEST_CASE("the sensitivity has a row for predicted steps and one for given rates, where there are such") {
  const auto rows = [](const Plan& p) {
    std::string out;
    for (const plan::Sensitivity& s : p.sensitivity) out += s.input + "\n";
    return out;
  };
  const std::string given = "achieved = \"400TFLOP/s\"\n";
  const Plan predicted = make_plan(read(top + stage + layout));
  CHECK(rows(predicted).find("predicted step") != std::string::npos);
  CHECK(rows(predicted).find("achieved rate") == std::string::npos);
  const Plan both = make_plan(read(top + stage + layout + stage + given));
  CHECK(rows(both).find("predicted step") != std::string::npos);
  CHECK(rows(both).find("achieved rate") != std::string::npos);
  CHECK(rows(make_plan(read(top + stage + given))).find("predicted step") == std::string::npos);
  CHECK(*predicted.sensitivity[0].low < *predicted.sensitivity[0].high);
}

TEST_CASE("a prediction leaves the draws of all other inputs as they are") {
  Request r = read(top + stage + layout);
  const Plan predicted = make_plan(r);
  r.stages[0].achieved = predicted.main().achieved;
  r.achieved_spread = Fraction(0);
  const Plan given = make_plan(r);
  Plan exact = predicted;
  exact.stages[0].model->band = {};
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(plan::detail::draw(exact, i).days == doctest::Approx(plan::detail::draw(given, i).days).epsilon(1e-12));
    CHECK(plan::detail::draw(exact, i).interruptions == plan::detail::draw(given, i).interruptions);
  }
}

TEST_CASE("a layout that does not fit is infeasible: by how much, on which stage, and what would fit") {
  const std::string tight =
      top + "[[stage]]\ntokens = \"1T\"\ncount = 64\nglobal_batch = 64\nlayout = { tp = 4, pp = 2 }\n";
  const Error e = refused(tight);
  CHECK(e.failure() == Failure::infeasible);
  CHECK(e.code() == "layout_does_not_fit");
  CHECK(e.where().starts_with("p.toml:7:10"));
  for (const std::string words :
       {"does not fit in 80GB, by ", "stage 1 of 2 needs most", "would fit: ", "recompute full"})
    CHECK(thrown::says(e, words));
  const Error option = refused(top + stage + layout, {{"stage[*].layout.tp", "1", "--tp"}});
  CHECK(option.failure() == Failure::infeasible);
  CHECK(option.where() == "--tp");
  // An accelerator with more memory takes it.
  CHECK(*make_plan(read(tight, {{"accelerator", "b300", "--accelerator"}})).main().model->fits);
}

TEST_CASE("a layout that describes a given rate is refused only where nothing left open would make it fit") {
  const std::string rate = "achieved = \"400TFLOP/s\"\n";
  const std::string small = top + "[[stage]]\ntokens = \"1T\"\ncount = 64\nglobal_batch = 64\n" + rate;
  const Plan open = make_plan(read(small + "layout = { tp = 4, pp = 2 }\n"));
  CHECK(warns(open.warnings, "layout_may_not_fit", "does not fit in 80GB"));
  CHECK_FALSE(*open.main().model->fits);
  const Error e = refused(
      small + "layout = { tp = 4, pp = 2, vp = 5, microbatch = 1, sharding = \"zero1\", recompute = \"none\" }\n");
  CHECK(e.code() == "layout_does_not_fit");
  CHECK(e.failure() == Failure::infeasible);
  // 70B in 80 GB on one accelerator each, whatever is sharded: activations and the gathered layers alone are too much.
  CHECK(refused(top + "[[stage]]\ntokens = \"1T\"\ncount = 2\nglobal_batch = 64\n" + rate + "layout = { dp = 2 }\n")
            .code() == "layout_does_not_fit");
}

TEST_CASE("a given rate that the model contradicts by more than its band is remarked on, and stands") {
  const Plan p = make_plan(read(top + stage + "achieved = \"900TFLOP/s\"\n" + layout));
  CHECK(warns(p.warnings, "rate_disagrees", "900 TFLOP/s is given"));
  CHECK(p.main().achieved.value == 900e12);
  CHECK(warns(make_plan(read(top + stage + "mfu = 0.08\n" + layout)).warnings, "rate_disagrees"));
  CHECK_FALSE(warns(make_plan(read(top + stage + "mfu = 0.4\n" + layout)).warnings, "rate_disagrees"));
  CHECK_FALSE(warns(make_plan(requests::llama3_405b()).warnings, "rate_disagrees"));
}

TEST_CASE("a description that the models cannot take is a remark, and a prediction of it an error") {
  const std::string uneven = "layout = { tp = 8, pp = 32 }\n";  // 80 layers and 82 places
  CHECK(warns(make_plan(read(top + stage + "mfu = 0.4\n" + uneven)).warnings, "layout_not_checked", "pipeline 32"));
  const Error e = refused(top + stage + uneven);
  CHECK(e.failure() == Failure::infeasible);
  CHECK(e.where().starts_with("p.toml:7:2"));
  const Plan bare =
      make_plan(read("parameters = \"70B\"\naccelerator = \"h100-sxm\"\n" + stage + "mfu = 0.4\n" + layout));
  CHECK_FALSE(bare.main().model.has_value());
}

TEST_CASE("a prediction needs a model, a batch, a whole sequence and a machine whose links are known") {
  const auto wrong = [](const std::string& text, const std::string& place, const std::string& words,
                        Failure failure = Failure::data) {
    const Error e = refused(text);
    INFO(std::string(e.what()));
    CHECK(e.failure() == failure);
    CHECK(e.where().starts_with("p.toml:" + place));
    CHECK(thrown::says(e, words));
  };
  wrong("parameters = \"70B\"\naccelerator = \"h100-sxm\"\n" + stage + layout, "7:10", "needs a model");
  const std::string no_batch = "[[stage]]\ntokens = \"1T\"\ncount = 2048\n";
  wrong(top + no_batch + layout, "3:1", "needs global_batch");
  wrong(top + stage + "sequence_length = 8192.5\n" + layout, "7:19", "whole sequence length");
  wrong(top + stage + "layout = { tp = 8, pp = 4, ep = 4 }\n", "7:", "expert must be 1", Failure::infeasible);
  wrong(top + stage + "layout = { tp = 8, pp = 4, microbatch = 3 }\n", "6:16", "must be whole", Failure::infeasible);
  wrong(top + stage + "layout = { tp = 8, pp = 4, dp = 32 }\n", "7:10", "8 x 1 x 4 x 32 = 1024 for 2048",
        Failure::infeasible);
  wrong(top + stage + "layout = { tp = 8, pp = 4, recompute = \"some\" }\n", "7:", "none, selective, full");
  wrong(top + stage + layout + "[stack]\nhost = \"quick\"\n", "9:8", "graphs, fast, slow");
  wrong(top + stage + layout + "[stack]\nhots = \"fast\"\n", "9:1", "nearest: host");
}

TEST_CASE("how fast a stage goes is said in one way, and of a file and an option the option's") {
  const auto contradicts = [](const std::string& lines, const std::string& place) {
    const Error e = refused(top + stage + lines);
    CHECK(e.failure() == Failure::data);
    CHECK(e.where().starts_with("p.toml:" + place));
    CHECK(thrown::says(e, "contradicts p.toml:7:"));
  };
  contradicts("achieved = \"400TFLOP/s\"\nmfu = 0.4\n", "8:7");
  contradicts("mfu = 0.4\nlayout = \"search\"\n", "8:10");
  contradicts("achieved = \"400TFLOP/s\"\nlayout = \"search\"\n", "8:10");
  const Error other = refused(top + stage + "layout = \"fastest\"\n");
  CHECK(other.where().starts_with("p.toml:7:10"));
  CHECK(thrown::says(other, "\"search\", or a table of degrees"));
  CHECK(thrown::says(refused(top + stage), "layout whose step time is predicted"));
  CHECK(thrown::says(refused(top + stage + "achieved = \"predicted\"\n"), "needs a layout"));

  const std::string rate = "achieved = \"400TFLOP/s\"\n";
  const Request predicted = read(top + stage + rate + layout, {{"stage[*].achieved", "predicted", "--achieved"}});
  CHECK(predicted.stages[0].predicted());
  const Request search = read(top + stage + rate + layout, {{"stage[*].layout", "search", "--layout"}});
  CHECK(search.stages[0].search);
  CHECK_FALSE(search.stages[0].layout.has_value());
  CHECK_FALSE(search.stages[0].achieved.has_value());
  CHECK(warns(search.assumptions, "rate_replaced"));
  const Request given = read(top + stage + "layout = \"search\"\n", {{"stage[*].mfu", "40%", "--mfu"}});
  CHECK_FALSE(given.stages[0].search);
  CHECK(given.stages[0].mfu->value == 0.4);
  CHECK(warns(given.assumptions, "layout_dropped"));
  const Request degrees = read(top + stage + "layout = \"search\"\n",
                               {{"stage[*].layout.tp", "8", "--tp"}, {"stage[*].layout.pp", "4", "--pp"}});
  CHECK(degrees.stages[0].layout->degrees.data == 64);
  for (const bool word_first : {true, false}) {
    std::vector<Override> both{{"stage[*].layout", "search", "--layout"}, {"stage[*].layout.tp", "8", "--tp"}};
    if (!word_first) std::swap(both[0], both[1]);
    const Error e = refused(top + stage, both);
    CHECK(e.failure() == Failure::usage);
    CHECK(thrown::says(e, "--layout"));
    CHECK(thrown::says(e, "--tp"));
  }
}

TEST_CASE("data parallelism follows the count, and where it cannot the nearest counts are named") {
  const std::string dp = "layout = { tp = 8, pp = 4, dp = 64, vp = 4 }\n";
  const auto with_count = [&](const std::string& lines, const std::string& count) {
    return read(top + stage + lines + dp, {{"stage[*].count", count, "--count"}});
  };
  const Request twice = with_count("", "4096");
  CHECK(twice.stages[0].layout->degrees.data == 128);
  CHECK(warns(twice.assumptions, "layout_follows_count", "DP 128 instead of 64"));
  CHECK(make_plan(twice).main().achieved < make_plan(read(top + stage + dp)).main().achieved);

  // 100,000 / 32 = 3,125 is whole, and does not divide the batch; 100,001 / 32 is not whole.
  for (const std::string count : {"100000", "100001"}) {
    INFO(count);
    const Error e = refused(top + stage + dp, {{"stage[*].count", count, "--count"}});
    CHECK(e.failure() == Failure::infeasible);
    CHECK(e.where() == "--count");
    CHECK(thrown::says(e, "the nearest: 32768 (DP 1024)"));
    const Request described = with_count("mfu = 0.4\n", count);
    CHECK_FALSE(described.stages[0].layout.has_value());
    CHECK(warns(described.assumptions, "layout_dropped", "the nearest: 32768 (DP 1024)"));
  }
  CHECK(read(top + stage + dp, {{"stage[*].layout.pp", "8", "--pp"}, {"stage[*].layout.vp", "2", "--vp"}})
            .stages[0]
            .layout->degrees.data == 32);

  const Plan carried = make_plan(with_count("mfu = 0.4\n", "8192"));
  CHECK(warns(carried.warnings, "rate_carried_over"));
  CHECK(warns(carried.warnings, "rate_at_another_size", "given for 2048"));
  CHECK(carried.main().mfu == doctest::Approx(0.4));
}

TEST_CASE("the nearest counts are those that a look at every count finds") {
  for (const double batch : {0.0, 1.0, 96.0, 1000.0}) {
    for (const std::int64_t group : {1, 8, 12}) {
      for (const std::int64_t microbatch : {1, 2}) {
        for (const double count : {1.0, 17.0, 100.0, 1024.0, 5000.0}) {
          CAPTURE(batch);
          CAPTURE(group);
          CAPTURE(count);
          std::optional<std::int64_t> below, above;
          for (std::int64_t d = 1; d <= 6000; ++d) {
            if (batch > 0 && std::fmod(batch, static_cast<double>(d * microbatch)) != 0) continue;
            const double used = static_cast<double>(d * group);
            if (used <= count) below = d;
            if (used >= count && !above) above = d;
          }
          const auto found =
              plan::nearest_counts(count, group, batch > 0 ? std::optional(batch) : std::nullopt, microbatch);
          CHECK(found.below == below);
          CHECK(found.above == above);
        }
      }
    }
  }
}

TEST_CASE("chunks of layers are assumed only with as many microbatches as stages, and gain nothing with fewer") {
  const std::string few =
      top + "[[stage]]\ntokens = \"1T\"\ncount = 2048\nglobal_batch = 128\n";  // two a pipeline of four
  const Plan whole = make_plan(read(few + "layout = { tp = 8, pp = 4 }\n"));
  CHECK(whole.main().model->layout.degrees.interleave == 1);
  const Plan chunks = make_plan(read(few + layout));
  CHECK(warns(chunks.warnings, "few_microbatches"));
  CHECK(chunks.main().model->step->bubble_fraction > 0.4);
  CHECK(chunks.main().model->step->terms.bubble < whole.main().model->step->terms.bubble);
  CHECK(chunks.main().model->step->terms.bubble > 0.7 * whole.main().model->step->terms.bubble);
}

TEST_CASE("a plan's search takes the layout that a search of its cluster finds") {
  const std::string search = "[[stage]]\ntokens = \"1T\"\ncount = 64\nglobal_batch = 64\nlayout = \"search\"\n";
  const Request r = read("model = \"llama-3.1-8b\"\naccelerator = \"h100-sxm\"\n" + search);
  const cluster::LayoutSearchReport found = plan::best_layouts(r, r.stages[0]);
  const Plan p = make_plan(r);
  CHECK(p.main().model->step->step == found.best.front().step);
  CHECK(p.main().model->memory->total() == found.best.front().memory);
  CHECK(p.main().model->layout.degrees == found.best.front().layout);
  CHECK(*p.main().model->fits);
  CHECK(warns(p.warnings, "layout_searched", "shortest predicted step"));
  CHECK(p.main().request.search);
}

TEST_CASE("no layout of Llama's own size and kind is faster than the one that a search finds") {
  Request r = requests::llama3_405b({{"stage[*].achieved", "predicted"}, {"stage[1].count", "16384"}});
  r.draws = 100;
  const Plan own = make_plan(r);
  for (plan::Stage& s : r.stages) {
    s.search = true;
    s.layout.reset();
  }
  const Plan found = make_plan(r);
  for (std::size_t i = 0; i < own.stages.size(); ++i) CHECK(*found.stages[i].step_time <= *own.stages[i].step_time);
}

TEST_CASE("a search that finds nothing says what is lacking, and what could be laid out") {
  const auto search = [](const std::string& count, const std::string& batch) {
    return refused("model = \"llama-3.1-405b\"\naccelerator = \"h100-sxm\"\n[[stage]]\ntokens = \"1T\"\ncount = " +
                   count + "\nglobal_batch = " + batch + "\nlayout = \"search\"\n");
  };
  const Error small = search("16", "16");
  CHECK(small.failure() == Failure::infeasible);
  CHECK(small.where() == "plan: stage[1].layout");
  CHECK(thrown::says(small, "too much"));
  CHECK(thrown::says(small, "none of "));
  const Error odd = search("100000", "2048");
  CHECK(odd.failure() == Failure::infeasible);
  CHECK(thrown::says(odd, " can)"));
  const Error no_model = thrown::by(
      [] { (void)read("parameters = \"70B\"\naccelerator = \"h100-sxm\"\n" + stage + "layout = \"search\"\n"); });
  CHECK(no_model.where().starts_with("p.toml:7:10"));
  CHECK(thrown::says(no_model, "needs a model"));
}

TEST_CASE("recomputation is work of the hardware and none of the model's") {
  const auto with = [&](const char* recompute) {
    return make_plan(read(top + stage + layout, {{"stage[1].layout.recompute", recompute, "--recompute"}}));
  };
  const Plan none = with("none"), full = with("full");
  CHECK(full.main().mfu < none.main().mfu);
  CHECK(full.main().model->step->hfu > full.main().mfu);
  CHECK(none.main().model->step->hfu == none.main().mfu);
  CHECK(full.training_flop == none.training_flop);
}

TEST_CASE("a mixture of experts is predicted roughly, from its active parameters, and holds all of them") {
  const Plan p =
      make_plan(read("model = \"mixtral-8x7b\"\naccelerator = \"h100-sxm\"\n[[stage]]\ntokens = \"1T\"\ncount = "
                     "256\nglobal_batch = 1024\nlayout = { tp = 2, pp = 4, ep = 8 }\n"));
  CHECK(p.main().model->band.of == "mixture of experts");
  CHECK(warns(p.warnings, "experts_are_rough"));
  CHECK(p.main().flop_per_token.value < 6 * 0.35 * p.parameters.value);
  CHECK(p.active_parameters < p.parameters);
}

TEST_CASE("facts that bear on nothing are said to: software without a layout, a spread without a given rate") {
  CHECK(warns(read(top + stage + "mfu = 0.4\n[stack]\nhost = \"slow\"\n").assumptions, "stack_unused"));
  CHECK_FALSE(warns(read(top + stage + layout + "[stack]\nhost = \"slow\"\n").assumptions, "stack_unused"));
  CHECK(warns(read("achieved_spread = \"5%\"\n" + top + stage + layout).assumptions, "spread_unused"));
  CHECK_FALSE(warns(read(top + stage + layout).assumptions, "assumed", "spread of the achieved rate"));
}

TEST_CASE("the predicted plan of Llama 3.1 405B has the published hours within its band, before any rate is given") {
  const std::filesystem::path path =
      std::filesystem::path(FLOPLAN_SOURCE_DIR) / "data" / "plans" / "llama3_405b_predicted.toml";
  Request r = plan::read_request(read_text_file(path), "llama3_405b_predicted.toml", {}, catalog::Catalog());
  r.draws = 4000;
  const Plan p = make_plan(r);
  const reference::Row published = reference::row("published_runs.csv", "Llama 3.1 405B hours");
  CHECK(p.accelerator_hours.p10 < published.value());
  CHECK(p.accelerator_hours.p90 > published.value());
  for (const plan::StagePlan& s : p.stages) {
    CHECK(s.request.predicted());
    CHECK(*s.model->fits);
  }
}
