// SPDX-License-Identifier: BSD-3-Clause
//
// How far would a law of any form move if the runs were drawn again? By resampling, and from the shape of the objective.
//
//   const auto boot = fit::bootstrap_form(rows, report, {.resamples = 1000, .seed = 1});
//   fit::estimate(boot, [&](const std::vector<double>& c) { return c[0]; }, .9)     value, standard error, interval
//   const auto cov = fit::covariance_form(rows, report);    sandwich and inverse Hessian
//
// The bootstrap draws distinct rows with replacement and refits each resample by Newton from the report's coefficients; one
// where that fails is searched anew, with fewer starts. Intervals are bias-corrected percentiles (bootstrap.hpp, which also
// says when there are none). Replicate b draws from RandomStream(seed, b): the same bits at any thread count.
// The covariance is that of covariance.hpp, in ln c of coefficients that are searched by logarithm and c of the others.
//
// rows and report: what fit_form was given and what it gave.
// Cost: 240 rows and 5 coefficients, 1 ms a resample.
// Pitfall: Newton goes to the bottom of the estimate's basin. Where rows have two, intervals are of the one that was chosen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/form_fit.hpp"

namespace floplan::fit {

struct FormBootstrapOptions {
  std::size_t resamples = 1000;
  std::uint64_t seed = 1;
  unsigned threads = 0;  // 0 all cores
  std::stop_token stop{};
};

// Fields as BootstrapReport's; a law is its coefficients, in the model's order.
struct FormBootstrap {
  bool available = false;
  std::vector<double> estimate;
  std::vector<std::vector<double>> laws;
  std::vector<std::size_t> replicates;
  std::size_t resamples = 0;
  std::size_t units = 0;
  std::size_t searched = 0;
  std::size_t failed = 0;
  std::size_t at_bound = 0;
  bool stopped = false;
  std::vector<Warning> warnings;
};

[[nodiscard]] FormBootstrap bootstrap_form(const std::vector<FormRow>& rows, const FormReport& report,
                                           const FormBootstrapOptions& options = {});

struct FormCovariance {
  bool available = false;
  std::string reason;           // empty where available
  std::vector<std::string> of;  // "ln A", "E"; rows and columns of coefficients fixed or at a bound are zero
  std::vector<std::vector<double>> inverse_hessian;
  std::vector<std::vector<double>> sandwich;
};

[[nodiscard]] FormCovariance covariance_form(const std::vector<FormRow>& rows, const FormReport& report);

// Coefficient k by a covariance: intervals symmetric in what the covariance is of. nan ends where it is not available.
[[nodiscard]] Estimate estimate(const FormReport& report, const FormCovariance& covariance,
                                const std::vector<std::vector<double>>& matrix, std::size_t k, double level = 0.9);

}  // namespace floplan::fit
