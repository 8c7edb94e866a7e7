// SPDX-License-Identifier: BSD-3-Clause
//
// What published runs lose beyond any failure model: hangs found next morning, data loaders, bugs, divergences, holidays.
//
//   run time = (what the failures make of it) x f,   ln f normal with the 10th and 90th percentiles of the team's kind
//
//   practised   automatic restarts, spares, a stack that ran before     0.97 to 1.10
//   usual       not known which                                         0.95 to 1.43   median 1.17
//   first_run   of a team, or on a cluster                              1.00 to 1.45
//
// It is a term of its own and no failure rate: predictive_factor() gives such a band from the residuals of runs, published
// over predicted: exp(mean +- t sd sqrt(1 + 1/n)), Student's t of n - 1 degrees, so that few runs make a wide band. The
// usual band is that of the eight public runs which can test it (whole_run.hpp); the other two are its two classes.
// Source: data/catalog/whole_runs.csv. Holds: a measured steady rate; without one the step time's own band comes on top.
// Pitfall: the scatter of failures alone is 0.7% for Llama 3.1 405B and covers none of the eight runs: a plan that shows
// only that is wrong by construction.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>

#include "floplan/core/distribution.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::reliability {

enum class Team { practised, usual, first_run };

[[nodiscard]] constexpr std::string_view to_text(Team team) {
  return team == Team::practised ? "practised" : team == Team::first_run ? "first_run" : "usual";
}

[[nodiscard]] inline Team team_of(std::string_view name, std::string_view where = "team") {
  if (name == "practised") return Team::practised;
  if (name == "usual") return Team::usual;
  if (name == "first_run") return Team::first_run;
  throw Error(Failure::usage, "unknown_name", std::string(where),
              "must be practised, usual or first_run, got \"" + shown(name) + "\"");
}

// A factor on the run time, log-normal.
struct UnexplainedLoss {
  double median = 1;
  double log_deviation = 0;

  [[nodiscard]] double quantile(double p) const {
    return log_deviation > 0 ? median * std::exp(log_deviation * boost::math::quantile(boost::math::normal(), p))
                             : median;
  }
  [[nodiscard]] double mean() const { return median * std::exp(log_deviation * log_deviation / 2); }
  // "0.95 to 1.43", the 10th and 90th percentiles.
  [[nodiscard]] std::string range_text() const {
    return print_number(quantile(0.1), 3) + " to " + print_number(quantile(0.9), 3);
  }
  // z: a standard normal draw.
  [[nodiscard]] double at(double z) const { return median * std::exp(log_deviation * z); }
};

// low, high: 10th and 90th percentiles.
[[nodiscard]] inline UnexplainedLoss loss_of_band(double low, double high) {
  if (!(low > 0) || !(high >= low) || !std::isfinite(high)) {
    throw Error(
        Failure::usage, "out_of_range", "unexplained loss",
        "band must be two positive factors in order, got " + print_number(low, 4) + " to " + print_number(high, 4));
  }
  return {std::sqrt(low * high), std::log(high / low) / 2 / boost::math::quantile(boost::math::normal(), 0.9)};
}

[[nodiscard]] inline UnexplainedLoss unexplained_loss(Team team) {
  switch (team) {
    case Team::practised: return loss_of_band(0.97, 1.10);
    case Team::first_run: return loss_of_band(1.00, 1.45);
    case Team::usual: break;
  }
  return loss_of_band(0.95, 1.43);
}

struct PredictiveFactor {
  double median = 1;
  Interval interval;
};

// Where the next run's factor lies with chance `level`, from the factors of runs that are over.
[[nodiscard]] inline PredictiveFactor predictive_factor(const std::vector<double>& factors, double level = 0.8) {
  if (factors.size() < 3) {
    throw Error(Failure::no_answer, "too_few_rows", "unexplained loss",
                "needs at least three runs, got " + std::to_string(factors.size()));
  }
  const double n = static_cast<double>(factors.size());
  double mean = 0;
  for (const double f : factors) mean += std::log(f) / n;
  double squares = 0;
  for (const double f : factors) squares += (std::log(f) - mean) * (std::log(f) - mean);
  const double t = boost::math::quantile(boost::math::students_t(n - 1), 0.5 + level / 2);
  const double half = t * std::sqrt(squares / (n - 1) * (1 + 1 / n));
  return {std::exp(mean), {std::exp(mean - half), std::exp(mean + half), level}};
}

}  // namespace floplan::reliability
