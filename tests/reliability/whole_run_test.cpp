// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/reliability/whole_run.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::reliability;

std::vector<WholeRun> runs_that_can_test() {
  std::vector<WholeRun> out;
  for (const WholeRun& r : whole_runs(catalog::Catalog())) {
    if (r.can_test()) out.push_back(r);
  }
  return out;
}

std::vector<double> residuals_of(const std::string& team) {
  std::vector<double> out;
  for (const WholeRun& r : whole_runs(catalog::Catalog())) {
    if ((r.can_test() || r.hours_kind == "part") && r.team == team) out.push_back(back_test(r).residual);
  }
  return out;
}

}  // namespace

TEST_CASE("each published run takes what an independent evaluation of its facts says") {
  const catalog::Catalog catalog;
  for (const reference::Row& row : reference::rows("whole_runs.csv")) {
    const auto runs = whole_runs(catalog);
    const auto found =
        std::find_if(runs.begin(), runs.end(), [&row](const WholeRun& r) { return r.name == row.text("run"); });
    REQUIRE(found != runs.end());
    reference::check(row, back_test(*found).residual);
  }
}

TEST_CASE(
    "the usual band covers at least seven of the eight runs that can test it, and so do bands that left each out") {
  const std::vector<WholeRun> runs = runs_that_can_test();
  CHECK(runs.size() == 8);
  std::vector<double> residuals;
  int covered = 0;
  for (const WholeRun& r : runs) {
    const BackTest t = back_test(r);
    residuals.push_back(t.residual);
    covered += t.covered(r.published) ? 1 : 0;
    CHECK(t.band.low == near(0.95 * t.predicted, 1e-12));
    CHECK(t.band.high == near(1.43 * t.predicted, 1e-12));
  }
  CHECK(covered >= 7);
  int left_out = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    std::vector<double> others = residuals;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    const Interval band = predictive_factor(others).interval;
    left_out += residuals[i] >= band.low && residuals[i] <= band.high ? 1 : 0;
  }
  CHECK(left_out >= 7);
  // The typed band is that of these residuals, to a hundredth and a half.
  const PredictiveFactor f = predictive_factor(residuals);
  const UnexplainedLoss usual = unexplained_loss(Team::usual);
  CHECK(std::abs(f.interval.low - usual.quantile(0.1)) < 0.015);
  CHECK(std::abs(f.interval.high - usual.quantile(0.9)) < 0.015);
  CHECK(std::abs(f.median - usual.median) < 0.015);
}

TEST_CASE("a class's band covers its runs, and the practised one is centred within three percent of them") {
  for (const char* team : {"practised", "first_run"}) {
    CAPTURE(std::string(team));
    const UnexplainedLoss band = unexplained_loss(team_of(team));
    const std::vector<double> residuals = residuals_of(team);
    CHECK(residuals.size() >= 4);
    double mean = 0;
    for (const double r : residuals) {
      CHECK(r >= band.quantile(0.1));
      CHECK(r <= band.quantile(0.9));
      mean += std::log(r) / static_cast<double>(residuals.size());
    }
    if (std::string(team) == "practised") {
      CHECK(std::abs(std::exp(mean) / band.median - 1) < 0.03);
      double error = 0;
      for (const double r : residuals) error += std::abs(r - 1) / static_cast<double>(residuals.size());
      CHECK(error < 0.03);
    }
  }
}

TEST_CASE("a run whose hours cannot test a run time is refused by its kind") {
  int refused = 0;
  for (const WholeRun& r : whole_runs(catalog::Catalog())) {
    if (r.can_test() || r.hours_kind == "part") continue;
    ++refused;
    const Error e = thrown::by([&r] { (void)back_test(r); });
    CHECK(e.failure() == Failure::no_answer);
    CHECK(thrown::says(e, "measured occupancy"));
    CHECK(thrown::says(e, r.hours_kind));
  }
  CHECK(refused >= 5);
}

TEST_CASE("bands are log-normal, and too few runs or senseless bands are refused") {
  for (const Team team : {Team::practised, Team::usual, Team::first_run}) {
    const UnexplainedLoss loss = unexplained_loss(team);
    CHECK(loss.quantile(0.1) * loss.quantile(0.9) == near(loss.median * loss.median, 1e-12));
    CHECK(loss.at(0) == loss.median);
    CHECK(loss.mean() > loss.median);
  }
  CHECK(loss_of_band(1, 1).quantile(0.9) == 1);
  CHECK(thrown::by([] { (void)loss_of_band(1.2, 1.1); }).failure() == Failure::usage);
  CHECK(thrown::by([] { (void)predictive_factor({1, 1.1}); }).failure() == Failure::no_answer);
  CHECK(thrown::by([] { (void)team_of("good"); }).failure() == Failure::usage);
}

TEST_CASE("a table of whole runs with a wrong cell is refused at its place") {
  const auto refused = [](const std::string& row, const char* rule) {
    const std::string text = "name,hours_kind,unit,ideal,published\n" + row + "\n";
    const Error e = thrown::by([&] { (void)read_whole_runs(parse_csv(text, "w.csv")); });
    CHECK(e.failure() == Failure::data);
    CHECK(thrown::says(e, rule));
  };
  refused("a,guess,days,1,2", "w.csv:2:2");
  refused("a,occupancy,weeks,1,2", "w.csv:2:3");
  refused("a,occupancy,days,-1,2", "w.csv:2:4");
  refused("a,occupancy,days,1,", "must not be blank");
}
