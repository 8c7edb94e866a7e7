// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/serving/calibration.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "floplan/serving/serving_validation.hpp"
#include "serving/shared_rows.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::serving;

std::vector<const MeasuredRate*> pointers(const std::vector<MeasuredRate>& rows, bool experts_too) {
  std::vector<const MeasuredRate*> out;
  for (const MeasuredRate& row : rows) {
    if (experts_too || !row.shape.has_experts()) out.push_back(&row);
  }
  return out;
}

const ErrorsOf& group(const std::vector<ErrorsOf>& all, const std::string& name) {
  for (const ErrorsOf& one : all) {
    if (one.group == name) return one;
  }
  FAIL("no group " << name);
  return all.front();
}

// Rows whose rates the model itself made, over what identifies every efficiency.
std::vector<MeasuredRate> simulated(const Efficiencies& truth) {
  std::string text = "model,gpu,n_gpus,tp,precision,batch,input_len,output_len,output_tokens_per_s\n";
  for (const char* where : {"llama-3.1-8b,H100,1,1", "llama-3.1-8b,H200,2,2", "llama-3.3-70b,H100,4,4",
                            "llama-3.1-405b,H200,8,8", "qwen3-235b-a22b,H200,8,8", "gpt-oss-120b,H100,4,4"}) {
    for (const char* what : {"16,128,128", "8,128,2048", "32,2048,128", "max,1000,1000", "8,20000,200", "max,100,400"})
      text += std::string(where) + ",fp8," + what + ",1\n";
  }
  std::vector<MeasuredRate> rows = read_measured_serving(parse_csv(text, "simulated"), catalog::Catalog()).rows;
  for (MeasuredRate& row : rows) row.measured = rate_of(row, truth);
  return rows;
}

}  // namespace

TEST_CASE("planted efficiencies are recovered where the rows say more than the priors") {
  Efficiencies truth;
  truth.gemm = 0.55;
  truth.memory = 0.8;
  truth.padded_rows = 120;
  truth.all_reduce_latency = 2.5;
  truth.scale_up = 0.5;
  truth.experts = 0.4;
  truth.step_seconds = 3e-3;
  const std::vector<MeasuredRate> rows = simulated(truth);
  REQUIRE(rows.size() > 30);
  CalibrationOptions options;
  options.deviation = 1e-4;  // what noiseless rows deserve
  const Calibration c = calibrate(pointers(rows, true), options);
  CHECK(c.converged);
  for (std::size_t i = 0; i < fitted_count; ++i) {
    CAPTURE(c.values[i].name);
    CHECK(c.values[i].value == near(truth.*serving_priors()[i].member, 0.01));
    CHECK(c.values[i].said == Said::identified);
    CHECK(c.values[i].low <= c.values[i].value);
    CHECK(c.values[i].high >= c.values[i].value);
  }
}

TEST_CASE("what no row speaks of stays at its prior, and a value against its bound is said to be there") {
  Efficiencies truth;
  truth.memory = 0.99;
  std::vector<MeasuredRate> rows = simulated(truth);
  std::erase_if(rows, [](const MeasuredRate& row) { return row.cut.accelerators > 1; });
  CalibrationOptions options;
  options.deviation = 0.01;
  const Calibration c = calibrate(pointers(rows, true), options);
  for (const CalibratedValue& v : c.values) {
    CAPTURE(v.name);
    if (v.name == "scale_up" || v.name == "all_reduce_latency" || v.name == "experts") {
      CHECK(v.said == Said::at_prior);
      CHECK(v.value == near(v.prior, 1e-6));
    }
    if (v.name == "memory") {
      CHECK(v.said == Said::at_high_bound);
      CHECK(v.value == near(0.94, 1e-12));
    }
  }
  CHECK(thrown::by([] { (void)calibrate({}); }).failure() == Failure::usage);
}

TEST_CASE("the shipped efficiencies are the fit to the published rows, to their printed digits") {
  const auto measured = shared_rows::measured();
  if (!measured) return;
  const Calibration c = calibrate(pointers(measured->rows, true));
  CHECK(c.converged);
  const Efficiencies shipped;
  for (std::size_t i = 0; i < fitted_count; ++i) {
    CAPTURE(c.values[i].name);
    CHECK(shipped.*serving_priors()[i].member == near(c.values[i].value, 0.003));
    CHECK(std::abs(shipped_priors()[i].deviation / serving_priors()[i].deviation - c.values[i].prior_left) < 0.006);
  }
  for (const reference::Row& row : reference::rows("serving_said_cases.csv")) {
    for (const CalibratedValue& v : c.values) {
      if (v.name == row.name()) CHECK(to_text(v.said) == row.text("said"));
    }
  }
}

TEST_CASE(
    "errors by group, with models and with parts left out, are those that were printed of the trial on dense rows") {
  const auto measured = shared_rows::measured();
  if (!measured) return;
  const auto dense = pointers(measured->rows, false);
  const Efficiencies fit = calibrate(dense).efficiencies;
  const ErrorsOf in_sample =
      pooled(errors_by(dense, by_model, [&fit](const auto& row) { return log_error(row, fit); }));
  const auto model_out = left_out(dense, by_model);
  const auto part_out = left_out(dense, by_accelerator);
  for (const reference::Row& row : reference::rows("serving_errors.csv")) {
    const std::string kind = row.text("left_out");
    const std::string name = row.text("group");
    const auto& groups = kind == "model" ? model_out : part_out;
    const ErrorsOf e = kind == "none" ? in_sample : name == "all" ? pooled(groups) : group(groups, name);
    reference::check(row, row.text("quantity") == "mean" ? e.mean_absolute() : e.largest());
  }
}

TEST_CASE("without what tensor parallelism sends, a dense model left out of the fit is off by more than a quarter") {
  const auto measured = shared_rows::measured();
  if (!measured) return;
  std::vector<MeasuredRate> rows = measured->rows;
  for (MeasuredRate& row : rows) row.shape.reductions_a_layer = 0;
  CHECK(pooled(left_out(pointers(rows, false), by_model)).mean_absolute() > 0.25);
}

TEST_CASE("bands are earned where rows are left out, and a family of experts never seen stays within its own") {
  const auto measured = shared_rows::measured();
  if (!measured) return;
  const ServingValidation v = validate(measured->rows, true);
  CHECK(v.rows.size() == 60);
  for (const BandCoverage& c : v.coverage) CHECK(c.within == c.rows);
  std::vector<ErrorsOf> dense = v.part_out;
  for (const ErrorsOf& g : v.model_out) {
    if (g.group != "qwen3-235b-a22b") dense.push_back(g);
  }
  const ErrorsOf pool = pooled(dense);
  CHECK(std::exp(pool.quantile(0.90)) < 1.15);
  CHECK(std::exp(pool.quantile(0.98)) > 1.15);
  const ErrorsOf& experts = group(v.model_out, "qwen3-235b-a22b");
  CHECK(experts.mean_absolute() < 0.30);
  CHECK(experts.bias() == near(experts.mean_absolute(), 1e-12));
  for (const double error : experts.errors) CHECK(std::exp(error) < 2);
  CHECK(group(v.groups, "qwen3-235b-a22b on h200-sxm").mean_absolute() < 0.0905);
  CHECK(v.all.largest() < 0.30);
}
