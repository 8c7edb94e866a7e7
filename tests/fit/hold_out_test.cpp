// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "fit/fit_data.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/random.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/fit/hold_out.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"
#include "support/warned.hpp"

namespace {

using namespace floplan;
using Law = law::Chinchilla<double>;
using Rows = std::vector<runs::Observation>;
using fit_data::noisy;
using fit_data::truth;

fit::BootstrapOptions resamples(std::size_t count) {
  fit::BootstrapOptions out;
  out.resamples = count;
  return out;
}

std::size_t held_rows(const std::vector<bool>& mask) {
  return static_cast<std::size_t>(std::count(mask.begin(), mask.end(), true));
}

}  // namespace

TEST_CASE("the largest runs of Gadre 2024 are predicted from those under 500M parameters as SciPy predicts them") {
  const auto data = fit_data::table("gadre_rpj.csv");
  if (!data) return;
  const Rows rows = fit_data::rows(*data, "", "N", "D", "loss_c4_val");
  std::vector<std::string> names;
  std::vector<bool> held;
  for (const CsvRow row : data->rows()) names.emplace_back(row[data->column("name")]);
  for (const runs::Observation& row : rows) held.push_back(row.parameters >= 5e8);
  REQUIRE(held_rows(held) == 3);
  for (const std::string estimator : {"huber", "mse"}) {
    fit::ChinchillaOptions options;
    if (estimator == "mse") options.estimator.loss = fit::Loss::least_squares;
    const fit::HoldOutReport report = fit::hold_out(rows, held, options, resamples(1000));
    MESSAGE(estimator << ": " << report.describe());
    CHECK(report.rows.size() == 3);
    for (const reference::Row& row : reference::rows("hold_out_gadre.csv")) {
      if (row.text("estimator") != estimator) continue;
      const std::string what = row.name();
      if (what == "alpha") reference::check(row, report.fit.law.parameter_exponent);
      if (what == "beta") reference::check(row, report.fit.law.token_exponent);
      if (what == "objective") reference::check(row, report.fit.objective);
      if (what == "held_rms") reference::check(row, report.held.rms_error);
      if (what == "held_mean") reference::check(row, report.held.mean_error);
      if (what == "training_rms") reference::check(row, report.training_rms_error);
      for (const fit::HeldRow& one : report.rows) {
        if (names[one.row] == row.text("row")) reference::check(row, one.prediction.loss.value);
      }
    }
    for (const fit::HeldRow& one : report.rows) {
      MESSAGE(names[one.row] << ": observed " << one.observed.loss << ", curve " << one.prediction.loss.value << " ["
                             << one.prediction.loss.interval.low << ", " << one.prediction.loss.interval.high
                             << "], run [" << one.prediction.new_run.low << ", " << one.prediction.new_run.high << "], "
                             << one.prediction.extrapolation_decades << " decades out");
      // The law promises too little loss every time, and the intervals know that it may.
      CHECK(one.error < 0);
      CHECK(one.covered == true);
    }
    CHECK(report.held.coverage == 1);
  }
}

TEST_CASE("a planted law predicts held runs to rounding when runs have no noise") {
  const Rows rows = fit_data::planned(truth);
  const fit::HoldOutReport report = fit::hold_out(rows, fit::largest_runs(rows, 9), {}, resamples(20));
  CHECK(report.held.rows == 9);
  CHECK(std::abs(report.held.largest_error) < 1e-8);
  CHECK(report.training_rms_error < 1e-10);
  for (const fit::HeldRow& row : report.rows) CHECK(row.prediction.extrapolation_decades >= 0);
}

TEST_CASE("held rows are predicted by a fit of the others alone") {
  const Rows rows = noisy(0.01, 51);
  std::vector<bool> held(rows.size());
  held[3] = held[40] = held[71] = true;
  const fit::HoldOutReport report = fit::hold_out(rows, held, {}, resamples(200));
  Rows rest;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!held[i]) rest.push_back(rows[i]);
  }
  const fit::ChinchillaReport direct = fit::chinchilla(rest);
  CHECK(report.fit.law.token_coefficient == direct.law.token_coefficient);
  REQUIRE(report.rows.size() == 3);
  CHECK(report.rows[2].row == 71);
  double squares = 0;
  for (const fit::HeldRow& row : report.rows) {
    const double expected = direct.law.loss(row.observed.parameters, row.observed.tokens);
    CHECK(row.prediction.loss.value == expected);
    CHECK(row.error == near(std::log(expected / row.observed.loss), 1e-12));
    CHECK(row.covered.has_value());
    squares += row.error * row.error;
  }
  CHECK(report.held.rms_error == near(std::sqrt(squares / 3), 1e-12));
  CHECK(std::abs(report.held.largest_error) >= report.held.rms_error);
  // What a held row's loss was cannot change its prediction.
  Rows changed = rows;
  changed[40].loss *= 2;
  const fit::HoldOutReport again = fit::hold_out(changed, held, {}, resamples(200));
  CHECK(again.rows[1].prediction.loss.value == report.rows[1].prediction.loss.value);
  CHECK(again.rows[1].prediction.new_run.low == report.rows[1].prediction.new_run.low);
  CHECK(again.rows[1].covered == false);
  CHECK(again.held.largest_error == near(again.rows[1].error, 1e-15));
}

TEST_CASE("too few held runs inside their intervals are warned of, and a share that luck explains is not") {
  std::vector<runs::Observation> rows = fit_data::noisy(0.003, 4);
  const std::vector<bool> largest = fit::largest_runs(rows, 9);
  const auto doubted = [&] {
    fit::BootstrapOptions resampling;
    resampling.resamples = 100;
    const fit::HoldOutReport report = fit::hold_out(rows, largest, {}, resampling);
    CHECK(report.held.judged == 9);
    return warned(report.warnings, "held_out_coverage");
  };
  CHECK_FALSE(doubted());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].loss *= largest[i] ? 1.1 : 1;
  CHECK(doubted());
}

TEST_CASE("the chance of so few intervals that hold is binomial") {
  CHECK(fit::detail::at_most_inside(0, 1, 0.9) == doctest::Approx(0.1));
  CHECK(fit::detail::at_most_inside(1, 1, 0.9) == doctest::Approx(1));
  CHECK(fit::detail::at_most_inside(0, 3, 0.5) == doctest::Approx(0.125));
  CHECK(fit::detail::at_most_inside(1, 3, 0.5) == doctest::Approx(0.5));
  // Three of six at 90%: one in 63.
  CHECK(fit::detail::at_most_inside(3, 6, 0.9) == doctest::Approx(0.01585));
}

TEST_CASE("a held row of weight two is two held rows in the pooled figures") {
  Rows rows = noisy(0.01, 52);
  std::vector<bool> held(rows.size());
  held[10] = held[60] = true;
  Rows doubled = rows;
  doubled.push_back(rows[60]);
  std::vector<bool> held_twice = held;
  held_twice.push_back(true);
  rows[60].weight = 2;
  const fit::HoldOutReport a = fit::hold_out(rows, held, {}, resamples(50));
  const fit::HoldOutReport b = fit::hold_out(doubled, held_twice, {}, resamples(50));
  CHECK(a.held.rms_error == near(b.held.rms_error, 1e-12));
  CHECK(a.held.mean_error == near(b.held.mean_error, 1e-12));
  CHECK(a.held.coverage == b.held.coverage);
}

TEST_CASE("each budget left out is predicted, about as well as runs that were fitted and within the intervals") {
  const Rows rows = noisy(0.01, 53, 10, 8);
  const fit::GroupsHoldOutReport report = fit::leave_one_group_out(rows, {}, resamples(400));
  REQUIRE(report.groups.size() == 10);
  CHECK(report.without_answer == 0);
  CHECK(report.held.rows == rows.size());
  double squares = 0;
  for (const fit::GroupHoldOut& group : report.groups) {
    REQUIRE(group.report);
    CHECK(group.reason.empty());
    for (const fit::HeldRow& row : group.report->rows) CHECK(row.observed.group == group.group);
    squares += group.report->held.rms_error * group.report->held.rms_error * 8;
  }
  CHECK(report.held.rms_error == near(std::sqrt(squares / 80), 1e-12));
  CHECK(report.held.rms_error > report.training_rms_error);
  CHECK(report.held.rms_error < 1.5 * report.training_rms_error);
  CHECK(std::abs(report.held.mean_error) < 0.005);
  MESSAGE("coverage " << report.held.coverage);
  CHECK(report.held.coverage > 0.8);
  CHECK(report.held.coverage < 0.99);
}

TEST_CASE("a group without which there is no answer is recorded with its reason") {
  // All but the last group have the same D.
  Rows rows;
  RandomStream random(54);
  for (int i = 0; i < 12; ++i) {
    const double n = 1e8 * std::pow(1.5, i);
    rows.push_back({n, 1e10, truth.loss(n, 1e10), 1.0, i / 4});
    for (const double d : {3e9, 3e10, 9e10}) rows.push_back({n, d, truth.loss(n, d), 1.0, 7});
  }
  fit_data::add_noise(rows, 0.003, random);
  const fit::GroupsHoldOutReport report = fit::leave_one_group_out(rows, {}, resamples(100));
  REQUIRE(report.groups.size() == 4);
  CHECK(report.without_answer == 1);
  CHECK(report.groups[3].group == 7);
  CHECK_FALSE(report.groups[3].report);
  CHECK(report.groups[3].reason.find("tokens") != std::string::npos);
  CHECK(report.held.rows == 12);
  CHECK(std::isfinite(report.held.rms_error));
  CHECK(std::isfinite(report.training_rms_error));
}

TEST_CASE("without degrees of freedom held rows have errors and no intervals") {
  Rows rows = noisy(0.001, 55);
  rows = {rows[0], rows[8], rows[30], rows[63], rows[71], rows[40]};
  std::vector<bool> held(6);
  held[5] = true;
  const fit::HoldOutReport report = fit::hold_out(rows, held);
  CHECK(std::isfinite(report.rows[0].error));
  CHECK_FALSE(report.rows[0].covered);
  CHECK(std::isnan(report.held.coverage));
  CHECK(report.describe().find("no intervals") != std::string::npos);
}

TEST_CASE("the largest runs are those of most FLOP, and ties come along or stay behind together") {
  const Rows rows = fit_data::planned(truth, 4, 5);
  const std::vector<bool> budget = fit::largest_runs(rows, 5);
  CHECK(held_rows(budget) == 5);
  for (std::size_t i = 0; i < rows.size(); ++i) CHECK(budget[i] == (rows[i].group == 3));
  // Each budget is one tie up to rounding.
  CHECK(fit::largest_runs(rows, 1) == budget);
  CHECK(held_rows(fit::largest_runs(rows, 6)) == 10);
  Rows reversed(rows.rbegin(), rows.rend());
  std::vector<bool> back = fit::largest_runs(reversed, 1);
  std::reverse(back.begin(), back.end());
  CHECK(back == budget);
  Rows weightless = rows;
  weightless[19].weight = 0;
  CHECK_FALSE(fit::largest_runs(weightless, 4)[19]);
  CHECK(held_rows(fit::largest_runs(weightless, 4)) == 4);
}

TEST_CASE("holding out says what it cannot do") {
  const Rows rows = noisy(0.01, 56, 4, 5);
  CHECK(thrown::by([&] { (void)fit::largest_runs(rows, 0); }).failure() == Failure::usage);
  CHECK(thrown::by([&] { (void)fit::largest_runs(rows, 20); }).failure() == Failure::usage);
  const Error size = thrown::by([&] { (void)fit::hold_out(rows, std::vector<bool>(3)); });
  CHECK(size.failure() == Failure::usage);
  CHECK(thrown::says(size, "got 3"));
  CHECK(thrown::by([&] { (void)fit::hold_out(rows, std::vector<bool>(20)); }).code() == "nothing_held");
  const Error all = thrown::by([&] { (void)fit::hold_out(rows, std::vector<bool>(20, true)); });
  CHECK(all.failure() == Failure::no_answer);
  Rows one = rows;
  for (runs::Observation& row : one) row.group = 1;
  CHECK(thrown::by([&] { (void)fit::leave_one_group_out(one); }).code() == "too_few_groups");
  Rows bad = rows;
  bad[2].loss = -1;
  CHECK(thrown::by([&] { (void)fit::leave_one_group_out(bad); }).failure() == Failure::data);
  fit::BootstrapOptions given;
  given.multiplicities.emplace_back(20, 1.0);
  CHECK(thrown::by([&] { (void)fit::leave_one_group_out(rows, {}, given); }).failure() == Failure::usage);
}
