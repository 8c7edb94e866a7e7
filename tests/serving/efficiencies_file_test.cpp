// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/serving/efficiencies_file.hpp"

#include <doctest/doctest.h>

#include <string>

#include "floplan/report/serve_text.hpp"
#include "floplan/serving/calibration.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::serving;

std::string file_of(const std::string& values) { return "{\"result\": {\"efficiencies\": {" + values + "}}}"; }

}  // namespace

TEST_CASE("a calibration that was written is read to the last bit, and names that it lacks keep the shipped values") {
  Calibration c;
  for (std::size_t i = 0; i < fitted_count; ++i) {
    c.values[i].name = serving_priors()[i].name;
    c.values[i].value = serving_priors()[i].low * 0.3 + serving_priors()[i].high * 0.7;
  }
  const report::Json written{{"result", report::calibration_json(c)}};
  const Efficiencies read = read_efficiencies(written.dump(), "my.json");
  for (std::size_t i = 0; i < fitted_count; ++i) CHECK(read.*serving_priors()[i].member == c.values[i].value);
  const Efficiencies one = read_efficiencies(file_of("\"gemm\": {\"value\": 0.5}"), "my.json");
  CHECK(one.gemm == 0.5);
  CHECK(one.memory == Efficiencies{}.memory);
}

TEST_CASE("a file that is no calibration is refused with its place") {
  for (const auto& [given, words] : {std::pair<std::string, std::string>{"{}", "serve calibrate"},
                                     {"[1]", "serve calibrate"},
                                     {"{\"result\": {\"efficiencies\": 1}}", "serve calibrate"},
                                     {file_of("\"gem\": {\"value\": 0.5}"), "fitted efficiencies"},
                                     {file_of("\"gemm\": 0.5"), "number as its value"},
                                     {file_of("\"gemm\": {\"value\": \"0.5\"}"), "number as its value"},
                                     {file_of("\"gemm\": {\"value\": 1.5}"), "0.4 to 0.95"},
                                     {file_of("\"gemm\": {\"value\": 1e999}"), "my.json"},
                                     {"{", "my.json:1"}}) {
    const std::string& text = given;
    CAPTURE(text);
    const Error error = thrown::by([&text] { (void)read_efficiencies(text, "my.json"); });
    CHECK(error.failure() == Failure::data);
    CHECK(thrown::says(error, words));
    CHECK(thrown::says(error, "my.json"));
  }
}
