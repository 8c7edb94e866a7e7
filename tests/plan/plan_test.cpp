// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "floplan/plan/planner.hpp"
#include "plan/requests.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

using namespace floplan;
using plan::make_plan;
using plan::Plan;
using plan::Request;

namespace {

double named(const Plan& p, const std::string& name) {
  if (name == "ideal_accelerator_hours") return p.ideal_hours.value;
  if (name == "ideal_days") return in_days(p.ideal);
  if (name == "expected_accelerator_hours") return p.expected_hours.value;
  if (name == "expected_wall_clock_days") return in_days(p.expected_wall_clock);
  if (name == "expected_interruptions") return p.expected_interruptions;
  if (name == "ettr") return p.ettr;
  if (name == "mtbf_hours") return in_hours(p.main().conditions.mtbf);
  if (name == "interruptions_per_day") return p.request.reliability.rate.per_day(p.main().request.accelerators);
  if (name == "accelerator_hours_per_interruption")
    return p.request.reliability.rate.hours_between_events(p.main().request.accelerators).value;
  if (name == "checkpoint_interval_s") return p.main().conditions.interval.value;
  if (name == "training_flop_six_nd") return p.training_flop_six.value;
  if (name == "mfu") return p.main().mfu;
  if (name == "step_time_s") return p.main().step_time.value().value;
  FAIL("no such figure: " << name);
  return 0;
}

bool warns(const Plan& p, const std::string& code) {
  return std::any_of(p.warnings.begin(), p.warnings.end(), [&](const Warning& w) { return w.code == code; });
}

Request few_draws(Request r, std::size_t draws = 200) {
  r.draws = draws;
  r.threads = 1;
  return r;
}

double sum_of_shares(double ettr, const reliability::Waste& w) {
  return ettr + w.checkpoint + w.lost_work + w.restart + w.maintenance;
}

}  // namespace

TEST_CASE(
    "the plan of Llama 3.1 405B lands on what was published and on an event simulation, at its size and at 100,000") {
  const Plan at_its_size = make_plan(few_draws(requests::llama3_405b()));
  const Plan at_100k = make_plan(few_draws(requests::llama3_405b({{"stage[*].count", "100000"}})));
  for (const reference::Row& row : reference::rows("plan_405b.csv")) {
    reference::check(row, named(row.has("count") ? at_100k : at_its_size, row.name()));
  }
}

TEST_CASE("the draws of the 405B plan centre on the published hours") {
  const Plan p = make_plan(requests::llama3_405b());
  CHECK(p.accelerator_hours.p50 > 30.2e6);
  CHECK(p.accelerator_hours.p50 < 31.2e6);
  CHECK(p.accelerator_hours.p05 < 30.84e6);
  CHECK(p.accelerator_hours.p95 > 30.84e6);
}

TEST_CASE("every size of cluster has an interval of its own that no neighbour improves on") {
  for (const std::string count : {"1024", "16384", "100000"}) {
    INFO(count);
    const Plan best = make_plan(few_draws(requests::llama3_405b({{"stage[*].count", count}})));
    for (const double factor : {0.9, 1.1}) {
      const std::string interval = print(best.main().conditions.interval * factor);
      const Plan other =
          make_plan(few_draws(requests::llama3_405b({{"stage[*].count", count}, {"checkpoint.interval", interval}})));
      CHECK(other.expected_hours > best.expected_hours);
    }
  }
}

TEST_CASE("useful work and every kind of waste sum to one, in the whole and in each stage") {
  for (const std::string unexplained : {"0", "0.18"}) {
    const Plan p = make_plan(few_draws(requests::llama3_405b({{"reliability.unexplained_stops", unexplained}})));
    CHECK(sum_of_shares(p.ettr, p.waste) + p.unexplained == doctest::Approx(1).epsilon(1e-12));
    for (const plan::StagePlan& s : p.stages) {
      CHECK(sum_of_shares(s.completion.ettr, s.completion.waste) == doctest::Approx(1).epsilon(1e-12));
      CHECK(sum_of_shares(s.ettr, s.waste) + s.unexplained == doctest::Approx(1).epsilon(1e-12));
      CHECK(s.ettr == doctest::Approx(s.ideal / s.expected_wall_clock).epsilon(1e-12));
    }
  }
}

TEST_CASE("totals are the sums over stages") {
  const Plan p = make_plan(few_draws(requests::llama3_405b()));
  double tokens = 0, flop = 0, ideal = 0, hours = 0, seconds = 0;
  for (const plan::StagePlan& s : p.stages) {
    tokens += s.request.tokens.value;
    flop += s.work.value;
    ideal += s.ideal_hours.value;
    hours += s.expected_hours.value;
    seconds += s.expected_wall_clock.value;
    CHECK(s.expected_hours.value ==
          doctest::Approx(s.request.accelerators.value * s.expected_wall_clock.value / 3600).epsilon(1e-12));
  }
  CHECK(p.tokens.value == doctest::Approx(tokens).epsilon(1e-14));
  CHECK(p.training_flop.value == doctest::Approx(flop).epsilon(1e-14));
  CHECK(p.ideal_hours.value == doctest::Approx(ideal).epsilon(1e-14));
  CHECK(p.expected_hours.value == doctest::Approx(hours).epsilon(1e-14));
  CHECK(p.expected_wall_clock.value == doctest::Approx(seconds).epsilon(1e-14));
}

TEST_CASE("energy follows from hours, watts and the grid on either basis, and the model card's tonnes come out") {
  const Plan p = make_plan(few_draws(requests::llama3_405b()));
  REQUIRE(p.energy.size() == 2);
  const plan::EnergyAccount& tdp = p.energy[0];
  const plan::EnergyAccount& node = p.energy[1];
  CHECK(tdp.basis == plan::EnergyBasis::tdp);
  CHECK(node.basis == plan::EnergyBasis::node);
  CHECK(p.headline_energy() == &tdp);
  const auto scaled = [&p](const reference::Row& row, double value) {
    return value * row.number("accelerator_hours") / p.expected_hours.value;
  };
  const reference::Row tonnes = reference::row("plan_energy.csv", "tdp_tonnes");
  reference::check(tonnes, scaled(tonnes, tdp.co2e_tonnes));
  const reference::Row tdp_energy = reference::row("plan_energy.csv", "tdp_gwh");
  reference::check(tdp_energy, scaled(tdp_energy, tdp.energy.value / 1e9));
  const reference::Row node_energy = reference::row("plan_energy.csv", "node_gwh");
  reference::check(node_energy, scaled(node_energy, node.energy.value / 1e9));
  // Node power holds the PUE already, so its tonnes are energy x grid.
  CHECK(node.co2e_tonnes == doctest::Approx(node.energy.value / 1e6 * 0.383).epsilon(1e-12));
  CHECK(tdp.co2e_tonnes == doctest::Approx(tdp.energy.value / 1e6 * 0.383 * 1.08).epsilon(1e-12));
  REQUIRE(p.peak_power.has_value());
  CHECK(p.peak_power->value == doctest::Approx(16384 * 970 * 1.08).epsilon(1e-12));
  const Plan other = make_plan(few_draws(requests::llama3_405b({{"power.basis", "node"}})));
  CHECK(other.headline_energy() == &other.energy[1]);
}

TEST_CASE("a plan without power has no energy, and one without a price no cost") {
  Request r = few_draws(requests::only_failures());
  const Plan p = make_plan(r);
  CHECK(p.energy.empty());
  CHECK(p.headline_energy() == nullptr);
  CHECK_FALSE(p.cost_usd.has_value());
  CHECK_FALSE(p.loss.has_value());
  r.price = plan::Price{DollarsPerHour(2), "given"};
  const Plan priced = make_plan(r);
  REQUIRE(priced.cost_usd.has_value());
  CHECK(priced.cost_usd->p50 == doctest::Approx(2 * p.accelerator_hours.p50).epsilon(1e-12));
}

TEST_CASE("the probability to meet a deadline rises with it from nothing to certainty") {
  double last = 0;
  for (const std::string days : {"82.2d", "85d", "88d", "90d", "92d", "95d", "120d"}) {
    Request r = requests::llama3_405b({{"deadline", days}});
    r.draws = 2000;
    const Plan p = make_plan(r);
    REQUIRE(p.deadline.has_value());
    INFO(days << ": " << p.deadline->probability);
    CHECK(p.deadline->probability >= last);
    last = p.deadline->probability;
  }
  CHECK(last == 1);
  Request r = requests::llama3_405b({{"deadline", "82.2d"}});
  CHECK(make_plan(r).deadline->probability < 0.01);
}

TEST_CASE("a deadline before the failure-free end that no draw meets is infeasible by a number of days") {
  const Error e = thrown::by([] { (void)make_plan(few_draws(requests::llama3_405b({{"deadline", "75d"}}))); });
  CHECK(e.failure() == Failure::infeasible);
  CHECK(e.code() == "deadline_impossible");
  CHECK(thrown::says(e, "82.19 days"));
  CHECK(thrown::says(e, "7.19 too few"));
  CHECK(thrown::says(e, "none of 200 draws"));
}

TEST_CASE("a deadline that only a faster rate than the given one meets has the draws' probability, and a remark") {
  Request r = requests::llama3_405b({{"achieved_spread", "10%"}, {"deadline", "80d"}});
  const Plan p = make_plan(r);
  REQUIRE(p.deadline.has_value());
  REQUIRE(p.deadline->limit < p.ideal);
  // ln(90.2 d / 80 d) is 1.2 of the spread's standard deviations.
  CHECK(p.deadline->probability > 0.05);
  CHECK(p.deadline->probability < 0.2);
  CHECK(warns(p, "deadline_below_ideal"));
  r.achieved_spread = Fraction(0);
  CHECK(thrown::by([&] { (void)make_plan(r); }).code() == "deadline_impossible");
  CHECK_FALSE(warns(make_plan(few_draws(requests::llama3_405b({{"deadline", "95d"}}))), "deadline_below_ideal"));
}

TEST_CASE("expected interruptions are the failures and the planned stops") {
  const Plan p = make_plan(few_draws(requests::llama3_405b()));
  double failures = 0, planned = 0;
  for (const plan::StagePlan& s : p.stages) {
    failures += s.completion.failures;
    planned += s.completion.planned_stops;
  }
  CHECK(p.expected_failures == doctest::Approx(failures).epsilon(1e-12));
  CHECK(p.expected_planned_stops == doctest::Approx(planned).epsilon(1e-12));
  CHECK(p.expected_interruptions == p.expected_failures + p.expected_planned_stops);
  CHECK(p.expected_planned_stops > 1);
}

TEST_CASE("sizes that a run could hardly have are remarked on, and those of the published run are not") {
  const std::vector<std::string> codes = {"state_does_not_fit", "tp_beyond_kv_heads", "less_than_a_step", "few_tokens"};
  for (const std::string& code : codes) CHECK_FALSE(warns(make_plan(few_draws(requests::llama3_405b())), code));
  const auto warned = [](const std::vector<std::pair<std::string, std::string>>& set, const std::string& code) {
    INFO(code);
    CHECK(warns(make_plan(few_draws(requests::llama3_405b(set))), code));
  };
  // 405.85B x 16 bytes is 6.49 TB: 81 of 80 GB fall just short, 82 hold it.
  warned({{"stage[*].count", "81"}}, "state_does_not_fit");
  CHECK_FALSE(warns(make_plan(few_draws(requests::llama3_405b({{"stage[*].count", "82"}}))), "state_does_not_fit"));
  warned({{"stage[2].layout.tp", "16"}, {"stage[2].layout.dp", "64"}}, "tp_beyond_kv_heads");
  warned({{"stage[2].tokens", "16M"}}, "less_than_a_step");
  CHECK_FALSE(
      warns(make_plan(few_draws(requests::llama3_405b({{"stage[2].tokens", "16777216"}}))), "less_than_a_step"));
  warned({{"tokens", "40B"}}, "few_tokens");
  CHECK_FALSE(warns(make_plan(few_draws(requests::llama3_405b({{"tokens", "41B"}}))), "few_tokens"));
}

TEST_CASE("a rate counted on a much larger or smaller cluster is remarked on, and one nearby is not") {
  const auto at = [](const std::string& count) {
    return make_plan(few_draws(requests::llama3_405b({{"stage[*].count", count}})));
  };
  CHECK(warns(at("4095"), "rate_at_small_scale"));
  CHECK(warns(at("24577"), "rate_extrapolated"));
  for (const std::string count : {"4096", "16384", "24576"}) {
    INFO(count);
    CHECK_FALSE(warns(at(count), "rate_at_small_scale"));
    CHECK_FALSE(warns(at(count), "rate_extrapolated"));
  }
}

TEST_CASE("stops that cannot be are remarked on with what they come to") {
  const auto said = [](const std::string& field, const std::string& value, const std::string& code) -> std::string {
    for (const Warning& w : make_plan(few_draws(requests::llama3_405b({{"reliability." + field, value}}))).warnings) {
      if (w.code == code) return w.message;
    }
    return "";
  };
  // On the first stage's 8,192 accelerators, half of 7.76 failures a day.
  CHECK(said("manual_per_day", "4", "manual_above_failures").find("3.88 failures a day") != std::string::npos);
  CHECK(said("manual_per_day", "3.8", "manual_above_failures").empty());
  CHECK(said("unexplained_stops", "5", "unexplained_above_one").find("500%") != std::string::npos);
  CHECK(said("unexplained_stops", "5", "unexplained_above_one").find("0.05") != std::string::npos);
  CHECK(said("unexplained_stops", "1", "unexplained_above_one").empty());
  CHECK(said("planned_per_day", "80", "planned_above_half").find("0.556 days") != std::string::npos);
  CHECK(said("planned_per_day", "70", "planned_above_half").empty());
}

TEST_CASE("the same seed gives the same bits on 1, 2 and 3 threads, and another seed differs by sampling noise only") {
  Request r = requests::llama3_405b();
  r.draws = 3000;
  r.threads = 1;
  const Plan one = make_plan(r);
  for (const unsigned threads : {2U, 3U}) {
    r.threads = threads;
    const Plan more = make_plan(r);
    CHECK(more.wall_clock_days.mean == one.wall_clock_days.mean);
    CHECK(more.wall_clock_days.standard_deviation == one.wall_clock_days.standard_deviation);
    CHECK(more.accelerator_hours.p05 == one.accelerator_hours.p05);
    CHECK(more.interruptions.p95 == one.interruptions.p95);
    CHECK(more.cost_usd->p50 == one.cost_usd->p50);
  }
  r.seed = 2;
  const Plan other = make_plan(r);
  CHECK(other.wall_clock_days.mean != one.wall_clock_days.mean);
  const double error = one.wall_clock_days.standard_deviation * std::sqrt(2.0 / 3000);
  CHECK(std::abs(other.wall_clock_days.mean - one.wall_clock_days.mean) < 4 * error);
  CHECK(other.expected_wall_clock == one.expected_wall_clock);
}

TEST_CASE("draws agree with the expected values and the normal law when only failures vary") {
  Request r = requests::only_failures();
  r.draws = 20000;
  const Plan p = make_plan(r);
  const reliability::Completion& exact = p.stages[0].completion;
  const double mean = in_days(exact.wall_clock);
  const double sd = in_days(exact.standard_deviation);
  const double n = static_cast<double>(r.draws);
  CHECK(std::abs(p.wall_clock_days.mean - mean) < 4 * sd / std::sqrt(n));
  CHECK(p.wall_clock_days.standard_deviation == doctest::Approx(sd).epsilon(0.03));
  // The standard error of a quantile is sqrt(p (1 - p) / n) over the density there.
  const auto check_quantile = [&](double found, double z, double probability) {
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0)) / sd;
    const double error = std::sqrt(probability * (1 - probability) / n) / density;
    CAPTURE(probability);
    // Some 100 failures: the sum's skewness moves its quantiles by a few hundredths of a standard deviation.
    CHECK(std::abs(found - (mean + z * sd)) < 4 * error + 0.06 * sd);
  };
  check_quantile(p.wall_clock_days.p05, -1.6448536269514722, 0.05);
  check_quantile(p.wall_clock_days.p10, -1.2815515655446004, 0.1);
  check_quantile(p.wall_clock_days.p50, 0, 0.5);
  check_quantile(p.wall_clock_days.p90, 1.2815515655446004, 0.9);
  check_quantile(p.wall_clock_days.p95, 1.6448536269514722, 0.95);
  CHECK(p.interruptions.mean ==
        doctest::Approx(p.expected_interruptions).epsilon(4 / std::sqrt(n * p.expected_interruptions) + 0.002));
}

TEST_CASE("an exact price and no uncertainty leave cost, hours and days in fixed proportion") {
  Request r = few_draws(requests::only_failures());
  r.price = plan::Price{DollarsPerHour(2.5), "given"};
  const Plan p = make_plan(r);
  for (const auto field : {&Distribution::p05, &Distribution::p50, &Distribution::p95, &Distribution::mean}) {
    CHECK(p.accelerator_hours.*field == doctest::Approx(p.wall_clock_days.*field * 24 * 8192).epsilon(1e-12));
    CHECK((*p.cost_usd).*field == doctest::Approx(p.accelerator_hours.*field * 2.5).epsilon(1e-12));
  }
}

TEST_CASE("an input's range is the 10th and 90th percentile of the draws") {
  Request r = requests::only_failures();
  r.price = plan::Price{plan::Uncertain<DollarsPerHour>::range(DollarsPerHour(2), DollarsPerHour(3)), "given"};
  r.draws = 20000;
  const Plan p = make_plan(r);
  // Hours scatter by half a percent, so the cost's percentiles are the price's.
  CHECK(p.cost_usd->p10 / p.accelerator_hours.p50 == doctest::Approx(2).epsilon(0.02));
  CHECK(p.cost_usd->p50 / p.accelerator_hours.p50 == doctest::Approx(std::sqrt(6.0)).epsilon(0.02));
  CHECK(p.cost_usd->p90 / p.accelerator_hours.p50 == doctest::Approx(3).epsilon(0.02));
}

TEST_CASE("each uncertain input has a sensitivity with the better end on the expected side") {
  const Plan p = make_plan(few_draws(requests::llama3_405b({{"checkpoint.stall", "5s..20s"}})));
  const auto of = [&p](const std::string& input) {
    const auto found = std::find_if(p.sensitivity.begin(), p.sensitivity.end(),
                                    [&](const plan::Sensitivity& s) { return s.input.starts_with(input); });
    REQUIRE(found != p.sensitivity.end());
    return *found;
  };
  const double base = in_days(p.expected_wall_clock);
  CHECK(of("achieved rate").low.value() > base);
  CHECK(of("achieved rate").high.value() < base);
  for (const std::string input : {"failure rate", "restart", "wait", "checkpoint stall"}) {
    INFO(input);
    CHECK(of(input).low.value() < base);
    CHECK(of(input).high.value() > base);
  }
  // The interval is at its best: half and twice of it both cost.
  CHECK(of("checkpoint interval").low.value() > base);
  CHECK(of("checkpoint interval").high.value() > base);
}

TEST_CASE("a sensitivity whose far end would never finish says so by its absence, and the plan stands") {
  Request r = few_draws(requests::only_failures());
  r.checkpoint.interval = hours(80);
  const Plan p = make_plan(r);
  const plan::Sensitivity& interval = p.sensitivity.back();
  CHECK(interval.input == "checkpoint interval");
  CHECK(interval.low.has_value());
  CHECK_FALSE(interval.high.has_value());
}

TEST_CASE("unexplained stops lengthen the run by their mean share") {
  Request r = requests::only_failures();
  r.draws = 20000;
  const Plan without = make_plan(r);
  r.reliability.unexplained_stops = 0.2;
  const Plan with = make_plan(r);
  CHECK(with.expected_wall_clock / without.expected_wall_clock == doctest::Approx(1.2).epsilon(1e-12));
  CHECK(with.unexplained == doctest::Approx(0.2 / 1.2).epsilon(1e-12));
  CHECK(with.wall_clock_days.mean / without.wall_clock_days.mean == doctest::Approx(1.2).epsilon(0.005));
  CHECK(with.wall_clock_days.p05 > without.wall_clock_days.p05);
  CHECK(warns(without, "unexplained_stops"));
  CHECK_FALSE(warns(with, "unexplained_stops"));
}

TEST_CASE("more failures, longer restarts and slower checkpoints never shorten the run") {
  const auto hours_of = [](const std::vector<std::pair<std::string, std::string>>& set) {
    return make_plan(few_draws(requests::llama3_405b(set))).expected_hours.value;
  };
  const double base = hours_of({});
  CHECK(hours_of({{"reliability.rate_per_node_day", "8e-3"}}) > base);
  CHECK(hours_of({{"reliability.restart", "20min"}}) > base);
  CHECK(hours_of({{"reliability.wait", "20min"}}) > base);
  CHECK(hours_of({{"checkpoint.stall", "60s"}}) > base);
  CHECK(hours_of({{"reliability.planned_per_day", "4"}}) > base);
  CHECK(hours_of({{"reliability.manual_wait", "12h"}}) > base);
  CHECK(hours_of({{"reliability.restart", "1min"}}) < base);
  CHECK(hours_of({{"stage[*].achieved", "420TFLOP/s"}}) < base);
}

TEST_CASE("units cancel: twice the accelerators at half the rate of failures each is the same run in half the time") {
  Request r = few_draws(requests::only_failures());
  const Plan one = make_plan(r);
  r.stages[0].accelerators = Count(2 * 8192);
  r.reliability.rate.per_accelerator_hour /= 2;
  r.stages[0].tokens = Tokens(4e12);
  const Plan two = make_plan(r);
  CHECK(two.expected_wall_clock.value == doctest::Approx(one.expected_wall_clock.value).epsilon(1e-12));
  CHECK(two.ettr == doctest::Approx(one.ettr).epsilon(1e-12));
}

TEST_CASE("420 TFLOP/s of an H100 is 42.5% of its dense peak, and a sparse peak is remarked on") {
  Request r = few_draws(requests::only_failures());
  r.stages[0].achieved = FlopPerSecond(420e12);
  const Plan dense = make_plan(r);
  reference::check(reference::row("plan_known_faults.csv", "K05 mfu"), dense.main().mfu);
  CHECK_FALSE(warns(dense, "sparse_peak"));
  r.peak = FlopPerSecond(1979e12);
  const Plan sparse = make_plan(r);
  CHECK(warns(sparse, "sparse_peak"));
  CHECK(sparse.main().mfu == doctest::Approx(420.0 / 1979).epsilon(1e-12));
}

TEST_CASE("a bare parameter count trains at 6ND, and says that attention is left out") {
  Request r = few_draws(requests::only_failures());
  r.accelerator = catalog::Catalog().accelerator("a100-sxm-80gb");
  r.stages[0] = {.name = "all", .tokens = Tokens(2e9), .accelerators = Count(64), .mfu = Fraction(0.243)};
  const Plan p = make_plan(r);
  reference::check(reference::row("plan_known_faults.csv", "K12 training flop"), p.training_flop.value);
  reference::check(reference::row("plan_known_faults.csv", "K12 ideal hours"), in_hours(p.ideal));
  CHECK(p.training_flop == p.training_flop_six);
  CHECK(warns(p, "attention_not_counted"));
  r.stages[0].mfu.reset();
  r.stages[0].achieved = FlopPerSecond(p.training_flop.value / (64 * 48 * 3600.0));
  reference::check(reference::row("plan_known_faults.csv", "K12 mfu"), make_plan(r).main().mfu);
}

TEST_CASE(
    "a mixture of experts trains with its active parameters, holds all of them, and no dense law speaks for its loss") {
  Request r = few_draws(requests::only_failures());
  r.parameters = Parameters(64e9);
  r.active_parameters = Parameters(8e9);
  r.stages[0].tokens = Tokens(2e12);
  r.law = catalog::Catalog().law("besiroglu-2024");
  const Plan p = make_plan(r);
  reference::check(reference::row("plan_known_faults.csv", "K06 training flop"), p.training_flop.value);
  CHECK(p.training_flop_six == p.training_flop);
  CHECK(p.parameters == Parameters(64e9));
  CHECK(p.active_parameters == Parameters(8e9));
  CHECK_FALSE(p.loss.has_value());
  CHECK(warns(p, "dense_law"));
  r.target_loss = 2.0;
  CHECK(thrown::by([&] { (void)make_plan(r); }).code() == "dense_law");
  r.target_loss.reset();
  r.law->parameter_convention = law::ParameterConvention::active;
  CHECK(make_plan(r).loss == law::predict(r.law->form, Parameters(8e9), Tokens(2e12)).total());
  r.active_parameters = Parameters(65e9);
  const Error e = thrown::by([&] { (void)make_plan(r); });
  CHECK(e.failure() == Failure::usage);
  CHECK(thrown::says(e, "65B"));
}

TEST_CASE("a law that counts other parameters than the request gives is refused") {
  Request r = few_draws(requests::only_failures());
  r.law = catalog::Catalog().law("besiroglu-2024");
  r.law->parameter_convention = law::ParameterConvention::non_embedding;
  const Error e = thrown::by([&] { (void)make_plan(r); });
  CHECK(e.failure() == Failure::usage);
  CHECK(e.code() == "parameter_convention");
  r.shape = catalog::Catalog().model("llama-3.1-8b").shape;
  const architecture::ParameterCount count = architecture::parameter_count(*r.shape);
  const Plan p = make_plan(r);
  CHECK(*p.loss == law::predict(r.law->form, count.non_embedding, p.tokens).total());
}

TEST_CASE("an interrupted plan keeps the draws it has and says so, and one stopped before the first is no answer") {
  Request r = requests::only_failures();
  std::stop_source stop;
  stop.request_stop();
  CHECK(thrown::by([&] { (void)make_plan(r, stop.get_token()); }).failure() == Failure::no_answer);
}

TEST_CASE("a stage that would never end is infeasible by name, whichever of its times is too long") {
  const auto refused = [](const Request& r) {
    const Error e = thrown::by([&] { (void)make_plan(r); });
    INFO(e.what());
    CHECK(e.failure() == Failure::infeasible);
    CHECK(e.code() == "never_ends");
    CHECK(thrown::says(e, "stage[1]"));
    CHECK_FALSE(thrown::says(e, "nan"));
    CHECK_FALSE(thrown::says(e, "inf "));
  };
  Request r = few_draws(requests::only_failures());
  r.reliability.restart = hours(300);
  refused(r);
  r = few_draws(requests::only_failures());
  r.checkpoint.interval = hours(6000);
  refused(r);
  r = few_draws(requests::only_failures());
  r.reliability.rate.per_accelerator_hour = 1e5;
  refused(r);
  r = few_draws(requests::only_failures());
  r.stages[0].tokens = Tokens(1e24);
  refused(r);
}

TEST_CASE("draws that never end are no answer rather than left out") {
  Request r = requests::only_failures();
  r.reliability.restart = plan::Uncertain<Seconds>::range(Seconds(60), hours(200));
  r.draws = 1000;
  const Error e = thrown::by([&] { (void)make_plan(r); });
  INFO(e.what());
  CHECK(e.failure() == Failure::no_answer);
  CHECK(e.code() == "never_ends");
  CHECK(thrown::says(e, "of 1000"));
}

TEST_CASE("a run shorter than an interval, and one accelerator, are planned too") {
  Request r = few_draws(requests::only_failures());
  r.stages[0].tokens = Tokens(8192);
  const Plan tiny = make_plan(r);
  CHECK(tiny.expected_wall_clock >= tiny.ideal);
  r = few_draws(requests::only_failures());
  r.stages[0].accelerators = Count(1);
  r.parameters = Parameters(7e9);
  const Plan one = make_plan(r);
  CHECK(one.ettr > 0.99);
  CHECK(one.wall_clock_days.p05 >= in_days(one.ideal));
}

TEST_CASE("a thousand stages add up") {
  Request r = few_draws(requests::only_failures());
  const Plan one = make_plan(r);
  const plan::Stage stage = r.stages[0];
  r.stages.assign(1000, stage);
  const Plan thousand = make_plan(r);
  CHECK(thousand.expected_hours.value == doctest::Approx(1000 * one.expected_hours.value).epsilon(1e-10));
  CHECK(thousand.ettr == doctest::Approx(one.ettr).epsilon(1e-10));
}
