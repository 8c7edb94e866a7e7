// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/cluster/calibration.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/cluster/efficiencies_file.hpp"
#include "floplan/cluster/left_out.hpp"
#include "floplan/cluster/predictive_band.hpp"
#include "floplan/cluster/step_band.hpp"
#include "floplan/cluster/step_time.hpp"
#include "floplan/cluster/validation.hpp"
#include "floplan/core/file.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/shared_data.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using cluster::Calibration;
using cluster::CalibrationOptions;
using cluster::MeasuredStep;
using cluster::MeasuredSteps;
using cluster::step_terms;

double target(const std::string& name) { return reference::row("step_time_targets.csv", name).value(); }

// The shared tables as they are, with what the catalog knows of their publishers.
std::optional<MeasuredSteps> raw(const std::vector<std::string>& files) {
  MeasuredSteps out;
  for (const std::string& file : files) {
    const auto table = shared_data::table(file);
    if (!table) return std::nullopt;
    for (MeasuredStep& step : cluster::read_measured_steps(*table, catalog::Catalog()).steps)
      out.steps.push_back(std::move(step));
  }
  return out;
}

// Times that planted efficiencies give, in the place of the measured ones.
MeasuredSteps planted(const cluster::Efficiencies& e) {
  const std::string header =
      "id,group,layers,d_model,ffn,heads,kv_heads,vocab,seq_len,accelerator,n_accel,tp,pp,dp,sharding,mbs,gbs_seqs,"
      "precision,"
      "recompute,attention,elementwise,host,step_s\n";
  std::string text = header;
  int id = 0;
  for (const char* shape : {"32,4096,14336,32,8", "24,2048,8192,16,16", "80,8192,28672,64,8"}) {
    for (const char* layout : {"64,1,1,64,zero3", "64,8,2,4,zero1", "256,4,4,16,none"}) {
      for (const char* stack :
           {"bf16,none,current,fused,fast", "bf16,full,early,eager,slow", "fp8,none,unfused,fused,slow"}) {
        const std::string sequence = id % 2 == 0 ? "2048" : "16384";
        text += std::to_string(++id) + ",g," + shape + ",51200," + sequence + ",h100-sxm," + layout + ",1,512," +
                stack + ",1000\n";
      }
    }
  }
  MeasuredSteps out = cluster::read_measured_steps(parse_csv(text, "planted"), catalog::Catalog());
  REQUIRE(out.skipped.empty());
  for (MeasuredStep& step : out.steps) step.measured = Seconds(step_terms(step.request, e).step);
  return out;
}

std::vector<double> relative(const std::vector<double>& log_errors) {
  std::vector<double> out;
  for (const double e : log_errors) out.push_back(std::expm1(e));
  return out;
}

}  // namespace

TEST_CASE("a calibration recovers planted efficiencies where the rows identify them") {
  cluster::Efficiencies truth;
  truth.gemm = 0.8;
  truth.network = 0.6;
  truth.host_seconds = 5e-4;
  truth.fp8 = 0.6;
  const MeasuredSteps rows = planted(truth);
  CalibrationOptions options;
  options.loss_scale = 1e-4;  // noiseless rows count for far more than the priors
  const Calibration fit = cluster::calibrate(rows, options);
  CHECK(fit.converged);
  for (const cluster::CalibratedValue& v : fit.values) {
    CAPTURE(std::string(v.name));
    const auto& f = *std::find_if(cluster::fitted_efficiencies().begin(), cluster::fitted_efficiencies().end(),
                                  [&](const auto& e) { return e.name == v.name; });
    if (v.width_left < 0.01) CHECK(v.value == near(truth.*f.member, 0.01));
    CHECK((v.name == "fp4" || v.name == "experts") == (v.identified() == "no"));
  }
}

TEST_CASE("a calibration is the same at any number of threads and in any order of rows") {
  cluster::Efficiencies truth;
  truth.gemm = 0.8;
  MeasuredSteps rows = planted(truth);
  CalibrationOptions options;
  options.replicates = 4;
  options.threads = 1;
  Calibration one = cluster::calibrate(rows, options);
  cluster::bootstrap_cells(rows, options, one);
  options.threads = 3;
  Calibration three = cluster::calibrate(rows, options);
  cluster::bootstrap_cells(rows, options, three);
  std::reverse(rows.steps.begin(), rows.steps.end());
  const Calibration reversed = cluster::calibrate(rows, options);
  for (std::size_t i = 0; i < one.values.size(); ++i) {
    CHECK(one.values[i].value == three.values[i].value);
    CHECK(one.values[i].low == three.values[i].low);
    CHECK(one.values[i].high == three.values[i].high);
    CHECK(reversed.values[i].value == near(one.values[i].value, 1e-4));
  }
}

TEST_CASE("one row is a third believed, five five sevenths, and the median is not moved by an odd one") {
  CHECK(cluster::measured_factor({}) == 1);
  CHECK(std::log(cluster::measured_factor({0.3})) == near(0.1, 1e-14));
  CHECK(std::log(cluster::measured_factor({0.1, 0.1, 0.1, 0.1, 5.0})) == near(0.1 * 5 / 7, 1e-14));
}

TEST_CASE("a file of efficiencies reads back as it was written, and mistakes in it are refused with their place") {
  Calibration fit;
  fit.efficiencies.measured_factor = 1.04;
  for (const cluster::FittedEfficiency& f : cluster::fitted_efficiencies())
    fit.values.push_back({f.name, 0.5 * (f.low + f.high), f.low, f.high, f.prior_mean, f.prior_deviation});
  const cluster::Efficiencies back = cluster::read_efficiencies(cluster::efficiencies_toml(fit, "test", 17), "my.toml");
  CHECK(back.measured_factor == 1.04);
  for (std::size_t i = 0; i < fit.values.size(); ++i)
    CHECK(back.*cluster::fitted_efficiencies()[i].member == fit.values[i].value);
  const auto refused = [](const char* text) {
    return thrown::by([&] { (void)cluster::read_efficiencies(text, "my.toml"); });
  };
  CHECK(thrown::says(refused("[values]\ngem = 0.8\n"), "my.toml:2:"));
  CHECK(thrown::says(refused("[values.gemm]\nvalue = 1.5\n"), "gemm must be a number above"));
  CHECK(thrown::says(refused("[values.gemm]\nvalue = \"fast\"\n"), "gemm must be a number"));
  CHECK(thrown::says(refused("note = \"nothing\"\n"), "must hold values"));
  CHECK(refused("gemm = \n").code() == "bad_toml");
}

TEST_CASE("the defaults are those of the published file") {
  const std::string file = "data/efficiencies/published.toml";
  const cluster::Efficiencies published =
      cluster::read_efficiencies(read_text_file(std::filesystem::path(FLOPLAN_SOURCE_DIR) / file), file);
  CHECK(published.measured_factor == cluster::Efficiencies{}.measured_factor);
  for (const cluster::FittedEfficiency& f : cluster::fitted_efficiencies()) {
    CAPTURE(std::string(f.name));
    CHECK(published.*f.member == cluster::Efficiencies{}.*f.member);
  }
}

TEST_CASE("fitted to the published rows, the model reaches its targets on publishers that the fit has not seen") {
  const auto measured = raw({"measured_training_runs.csv", "vtrain_single_node.csv"});
  if (!measured) return;
  CalibrationOptions options;
  const Calibration fit = cluster::calibrate(*measured, options);
  CHECK(fit.converged);
  for (const cluster::CalibratedValue& v : fit.values) {
    CAPTURE(std::string(v.name));
    CHECK_FALSE(v.at_bound);
    const auto& f = *std::find_if(cluster::fitted_efficiencies().begin(), cluster::fitted_efficiencies().end(),
                                  [&](const auto& e) { return e.name == v.name; });
    CHECK(cluster::Efficiencies{}.*f.member == near(v.value, 2e-3));  // the shipped ones are rounded to three digits
  }
  options.start = fit.efficiencies;
  const cluster::LeftOut left = cluster::leave_out(*measured, options, cluster::publisher_of);
  const std::vector<double> errors = relative(left.log_errors);
  std::vector<double> all, dense, korthikanti, fp8, experts, single;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const MeasuredStep& s = measured->steps[i];
    if (s.group == "vtrain-2024-node") {
      single.push_back(std::expm1(cluster::detail::log_error(s, fit.efficiencies)));
      continue;
    }
    all.push_back(errors[i]);
    (s.request.shape.experts ? experts : dense).push_back(errors[i]);
    if (s.group == "korthikanti-t5" && s.request.layout.data == 1) korthikanti.push_back(errors[i]);
    if (s.group == "nvidia-mbridge" && !s.request.shape.experts && s.request.precision == catalog::Precision::fp8)
      fp8.push_back(errors[i]);
  }
  CHECK(all.size() == 255);
  CHECK(korthikanti.size() == 8);
  const auto of = [](const std::vector<double>& e) { return cluster::group_error("", e); };
  CHECK(of(all).mean_absolute <= target("all mean"));
  CHECK(of(all).percentile90 <= target("all p90"));
  CHECK(of(dense).mean_absolute <= target("dense mean"));
  CHECK(of(dense).percentile90 <= target("dense p90"));
  CHECK(of(korthikanti).mean_absolute <= target("korthikanti mean"));
  for (const double e : korthikanti) CHECK(std::abs(e) <= target("korthikanti most"));
  CHECK(of(fp8).mean_absolute <= target("fp8 dense"));
  CHECK(of(experts).mean_absolute <= target("deepseek-v3"));
  CHECK(of(single).mean_absolute <= target("single nodes in-sample"));
}

TEST_CASE("the printed bands are those that the published rows earn, and hold nine of ten rows of those left out") {
  const auto measured = raw({"measured_training_runs.csv", "vtrain_single_node.csv"});
  if (!measured) return;
  // The published rows as a user knows them who guesses their software; single nodes stay in every fit and in no band.
  MeasuredSteps guessed = cluster::read_measured_steps(*shared_data::table("measured_training_runs.csv"),
                                                       catalog::Catalog(), {.known_stacks = false});
  const std::size_t published = guessed.steps.size();
  std::copy(measured->steps.begin() + static_cast<std::ptrdiff_t>(published), measured->steps.end(),
            std::back_inserter(guessed.steps));
  std::vector<std::size_t> dense, experts;
  for (std::size_t i = 0; i < published; ++i) (measured->steps[i].request.shape.experts ? experts : dense).push_back(i);
  CalibrationOptions options;
  options.start = cluster::calibrate(*measured, options).efficiencies;
  const auto is = [](cluster::StepClass of, const cluster::EarnedBand& earned) {
    const cluster::StepBand printed = cluster::step_band(of);
    CAPTURE(printed.of);
    CHECK(printed.low == near(earned.low, 2e-3));
    CHECK(printed.high == near(earned.high, 2e-3));
    CHECK(printed.rows == earned.rows);
    CHECK(std::abs(printed.coverage - earned.coverage) <= 0.005);
    CHECK(earned.coverage >= 0.85);
    CHECK(earned.coverage <= 0.95);
  };
  const auto left = [&](const MeasuredSteps* errors_of) {
    return cluster::leave_out(*measured, options, cluster::publisher_of, errors_of);
  };
  is(cluster::StepClass::known, cluster::earn_band(*measured, options, left(nullptr), dense));
  is(cluster::StepClass::guessed, cluster::earn_band(*measured, options, left(&guessed), dense, 0.9, &guessed));
  is(cluster::StepClass::experts, cluster::predictive_band(*measured, options, experts, cluster::accelerator_of));
}

TEST_CASE("a band of few keys is Student's, and wider the fewer they are") {
  using Values = std::map<std::string, std::vector<double>>;
  const cluster::ScalePrior none{.deviation = 0, .weight = 0, .centre_weight = 0};
  // Of one row a key and no prior: the textbook's predictive interval, 0 +- t sd sqrt(1 + 1/3), its variance over n.
  const Values three = {{"a", {-1}}, {"b", {0}}, {"c", {1}}};
  const auto plain = cluster::detail::predictive_ends(three, none, 0.9);
  const double t = boost::math::quantile(boost::math::students_t(3), 0.95);
  CHECK(plain.second == near(t * std::sqrt(2.0 / 3 * (1 + 1.0 / 3)), 1e-12));
  CHECK(plain.first == near(-plain.second, 1e-12));
  const cluster::ScalePrior prior;
  double last = 1e9;
  Values values;
  for (int k = 1; k <= 40; ++k) {
    values["k" + std::to_string(k)] = {k % 2 == 0 ? 0.2 : -0.2};
    const auto ends = cluster::detail::predictive_ends(values, prior, 0.9);
    if (k % 2 != 0) continue;
    CHECK(ends.second - ends.first < last);
    last = ends.second - ends.first;
  }
  CHECK(last > 2 * 1.645 * 0.2);
}

TEST_CASE(
    "from Llama 3's row of 8,192 accelerators alone come the other two, whether it is believed a third or wholly") {
  const auto measured = raw({"measured_training_runs.csv"});
  if (!measured) return;
  MeasuredSteps llama;
  for (const MeasuredStep& s : measured->steps) {
    if (s.group == "llama3-t4") llama.steps.push_back(s);
  }
  REQUIRE(llama.steps.size() == 3);
  const MeasuredSteps first{{llama.steps.front()}, {}};
  cluster::Efficiencies whole;
  whole.measured_factor = first.steps.front().measured.value / step_terms(first.steps.front().request).step;
  for (const cluster::Efficiencies& e : {cluster::anchored(first), whole}) {
    const auto rate = [&](const MeasuredStep& s) {
      cluster::StepRequest request = s.request;
      request.efficiencies = e;
      return cluster::step_time(request).model_rate.value / 1e12;
    };
    for (const std::size_t row : {std::size_t{1}, std::size_t{2}}) {
      const reference::Row expected = reference::row("step_time_targets.csv", "llama row " + std::to_string(row + 1));
      CHECK(rate(llama.steps[row]) == near(expected.value(), expected.tolerance()));
    }
  }
}
