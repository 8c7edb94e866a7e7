// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/report/fit_json.hpp"
#include "floplan/law/cautions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "fit/fit_data.hpp"
#include "floplan/core/random.hpp"
#include "floplan/fit/fit_file.hpp"
#include "floplan/fit/study.hpp"
#include "floplan/law/cautions.hpp"
#include "floplan/report/fit_text.hpp"
#include "support/temporary_folder.hpp"
#include "support/thrown.hpp"
#include "support/warned.hpp"

namespace {

using namespace floplan;
using Json = report::Json;

const law::Chinchilla<double> truth{1.72, 480, 2100, 0.35, 0.37};

runs::RunTable sweep(double noise) {
  runs::RunTable out;
  out.observations = fit_data::planned(truth);
  RandomStream random(7);
  fit_data::add_noise(out.observations, noise, random);
  out.files = {"sweep.csv"};
  out.rows.read = out.rows.used = out.observations.size();
  out.count = runs::ParameterCount::non_embedding;
  return out;
}

fit::StudyOptions quick() {
  fit::StudyOptions out;
  out.bootstrap.resamples = 60;
  return out;
}

Json fitted(const fit::StudyOptions& options = quick()) {
  const runs::RunTable table = sweep(0.005);
  return report::fit_json(fit::study(table.observations, options), table);
}

}  // namespace

TEST_CASE("a fit that is written and read back is the same law to the last bit, with its replicates and its noise") {
  const runs::RunTable table = sweep(0.005);
  const fit::Study study = fit::study(table.observations, quick());
  const std::string text =
      report::json_text(report::envelope("fit", "0", Json::object(), report::fit_json(study, table), study.warnings));
  const catalog::Law law = fit::read_fit(text, "my.json");
  CHECK(law.name == "my.json");
  CHECK(law.parameter_convention == law::ParameterConvention::non_embedding);
  for (const law::NamedCoefficient& c : law::chinchilla_coefficients) {
    CHECK(law.form.*c.field == study.fit.law.*c.field);
    REQUIRE(law.replicates.size() == study.boot.laws.size());
    for (std::size_t i = 0; i < law.replicates.size(); ++i)
      CHECK(law.replicates[i].*c.field == study.boot.laws[i].*c.field);
  }
  CHECK(law.residuals == study.noise.log_residuals);
  CHECK(law.range.flop_high == study.fit.range.flop_high);
  CHECK(law.range.tokens_low == study.fit.range.tokens_low);
  // So its predictions are those of the fit.
  const auto before = fit::predict(study.boot, study.noise, study.fit.range, Parameters(1e10), Tokens(2e11));
  const auto after =
      fit::predict(fit::replicates_of(law), fit::noise_of(law), law.range, Parameters(1e10), Tokens(2e11));
  CHECK(before.loss.value == after.loss.value);
  CHECK(before.loss.interval.low == after.loss.interval.low);
  CHECK(before.new_run.high == after.new_run.high);
  CHECK(before.extrapolation_decades == after.extrapolation_decades);
}

TEST_CASE("the result alone, without its envelope, is read too, and a law without resamples has no interval") {
  fit::StudyOptions options = quick();
  options.bootstrap.resamples = 0;
  const catalog::Law law = fit::read_fit(report::json_text(fitted(options)), "bare.json");
  CHECK(law.replicates.empty());
  CHECK_FALSE(fit::replicates_of(law).available);
  CHECK(law.form.loss(1e9, 2e10) == doctest::Approx(truth.loss(1e9, 2e10)).epsilon(0.01));
}

TEST_CASE("a file that is no fit is refused with the key and what was there") {
  const auto refused = [](const std::string& text) { return thrown::by([&] { (void)fit::read_fit(text, "x.json"); }); };
  const auto edited = [&](const char* path, const Json& value) {
    Json json = {{"command", "fit"}, {"result", fitted()}};
    json[Json::json_pointer(path)] = value;
    return refused(json.dump());
  };
  CHECK(refused("{\n  \"a\": [1,\n}").where() == "x.json:3:1");
  CHECK(thrown::says(refused("[1, 2]"), "must be a fit"));
  CHECK(thrown::says(refused("{}"), "result.law"));
  CHECK(
      thrown::says(refused(R"({"command": "plan", "result": {}})"), "must be the answer of fit, got that of \"plan\""));
  CHECK(thrown::says(refused(R"({"command": "fit", "error": {"code": "x"}})"), "error"));
  CHECK(edited("/result/law", "kaplan").where() == "x.json: result.law");
  CHECK(edited("/result/parameters/alpha/value", "0.3").where() == "x.json: result.parameters.alpha.value");
  CHECK(thrown::says(edited("/result/parameters/alpha/value", -1), "must be positive, got -1"));
  CHECK(thrown::says(edited("/result/parameters/A/value", -2), "must not be negative, got -2"));
  CHECK(thrown::says(edited("/result/parameters/E/value", nullptr), "must be a number, got null"));
  CHECK(thrown::says(edited("/result/parameter_convention", "some"), "a count that floplan knows"));
  CHECK(edited("/result/replicates/rows/3", Json::array({1, 2})).where() == "x.json: result.replicates.rows[3]");
  CHECK(thrown::says(edited("/result/replicates/columns/0", "e"), "must be E, A, B, alpha and beta"));
  CHECK(edited("/result/fit_range/tokens/low", 0).where() == "x.json: result.fit_range.tokens.low");
  CHECK(edited("/result/log_residuals", 3).where() == "x.json: result.log_residuals");
  CHECK(refused("").failure() == Failure::data);
}

TEST_CASE("a law's name is a file where it ends in .json, and an entry of the catalog where it does not") {
  const TemporaryFolder folder;
  (void)folder.file("fit.json", report::json_text(fitted()));
  const catalog::Catalog catalog;
  CHECK(fit::find_law("fit.json", "--law", catalog, folder.path()).residuals.size() == 72);
  CHECK(fit::find_law("besiroglu-2024", "--law", catalog).name == "besiroglu-2024");
  CHECK(thrown::by([&] { (void)fit::find_law("none.json", "--law", catalog, folder.path()); }).failure() ==
        Failure::data);
  CHECK(thrown::by([&] { (void)fit::find_law("besirolu", "--law", catalog); }).failure() == Failure::usage);
}

TEST_CASE("a study sets the chosen estimator beside the usual ones, and each budget beside its optimum") {
  const runs::RunTable table = sweep(0.005);
  fit::StudyOptions options = quick();
  options.budgets = {Flop(1e21), Flop(1e24)};
  options.held_out = fit::largest_runs(table.observations, 5);
  options.leave_one_group_out = true;
  const fit::Study study = fit::study(table.observations, options);
  REQUIRE(study.estimators.size() == 4);
  CHECK(study.estimators[0].report->law.irreducible_loss == study.fit.law.irreducible_loss);
  CHECK(study.estimators[1].automatic_delta);
  CHECK(study.estimators[1].estimator.delta > 0.002);
  REQUIRE(study.optima.size() == 2);
  CHECK(study.optima[1].prediction.extrapolation_decades > study.optima[0].prediction.extrapolation_decades);
  const Json json = report::fit_json(study, table);
  CHECK(json["optimum"].size() == 2);
  CHECK(json["estimators"].size() == 4);
  CHECK(json["held_out"]["predictions"].size() == study.held_out->rows.size());
  CHECK(json["leave_one_budget_out"]["groups"].size() == 8);
  const std::string text = report::fit_text(study, table);
  for (const char* part : {"What it says to buy", "other estimators", "Runs held out", "Each budget predicted"})
    CHECK(text.find(part) != std::string::npos);
  CHECK(text.find("nan") == std::string::npos);
}

TEST_CASE("a fit's file says why it has no interval and where it does not know its range") {
  const auto remarks = [](const catalog::Law& law) {
    std::vector<Warning> out = law::cautions(law, std::vector<law::Outside>());
    if (const auto why = law::no_interval(law)) out.push_back(*why);
    return out;
  };
  fit::StudyOptions options;
  options.bootstrap.resamples = 60;
  report::Json result = fitted(options);
  CHECK(remarks(fit::read_fit(report::json_text(result), "my.json")).empty());
  options.bootstrap.resamples = 0;
  result = fitted(options);
  const std::vector<Warning> bare = remarks(fit::read_fit(report::json_text(result), "my.json"));
  REQUIRE(bare.size() == 1);
  CHECK(bare[0].code == "no_interval");
  CHECK(bare[0].message == "my.json is a fit without resamples (--bootstrap 0), so no interval can be given");
  result.erase("fit_range");
  const std::vector<Warning> both = remarks(fit::read_fit(report::json_text(result), "my.json"));
  CHECK(both.size() == 2);
  CHECK(warned(both, "unknown_fit_range"));
  CHECK(warned(both, "no_interval"));
  catalog::Law published;
  published.name = "somebody-2020";
  CHECK(warned(remarks(published), "no_interval", "published without a covariance"));
}

TEST_CASE("arrays of plain numbers stand on one line, and parse to the same") {
  const Json json = {
      {"a", {1, -2.5e-7, 3}}, {"b", {{1, 2}, {3, 4}}}, {"c", "[\n1\n]"}, {"d", Json::array()}, {"e", {"x"}}};
  const std::string text = report::json_text(json);
  CHECK(text.find("\"a\": [1, -2.5e-07, 3]") != std::string::npos);
  CHECK(text.find("[1, 2]") != std::string::npos);
  CHECK(Json::parse(text) == json);
}
