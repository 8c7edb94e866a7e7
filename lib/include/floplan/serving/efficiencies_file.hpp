// SPDX-License-Identifier: BSD-3-Clause
//
// A calibration as a file: what `floplan serve calibrate ROWS.csv --out MY.json` wrote, for `floplan serve --efficiencies`.
//
//   const Efficiencies e = read_efficiencies(read_text_file(path), path);
//
// Read: result.efficiencies.NAME.value, one for each fitted name (efficiencies.hpp); a name that is not there keeps the shipped
// value, and a name that is none of them is refused.
//
// Source: report/serve_text.hpp writes it. Errors: Error(data) with file and line for text that is no such file and for values
// outside their bounds. Needs nlohmann-json: not part of the umbrella header.
// Pitfall: a file is of the rows that it was fitted to; the bands of confidence.hpp stay those of the published rows.
#pragma once

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <system_error>

#include "floplan/core/located_json.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/serving/efficiencies.hpp"

namespace floplan::serving {

[[nodiscard]] inline Efficiencies read_efficiencies(std::string_view text, const std::string& name) {
  const LocatedJson document = LocatedJson::parse(text, name);
  const auto result = document.root().find("result");
  const auto values = result ? result->find("efficiencies") : std::nullopt;
  if (!values || values->kind() != JsonValue::Kind::object)
    throw Error(Failure::data, "not_a_calibration", name,
                "must be what serve calibrate wrote, with result.efficiencies, and has none");
  Efficiencies out;
  for (const JsonValue& one : values->items()) {
    const Prior* prior = nullptr;
    for (const Prior& p : serving_priors()) {
      if (p.name == one.key()) prior = &p;
    }
    if (prior == nullptr) throw one.fail("must be one of the fitted efficiencies", "unknown_name");
    const auto value = one.find("value");
    if (!value || value->kind() != JsonValue::Kind::number) throw one.fail("must have a number as its value");
    double x = 0;
    const std::string& digits = value->text();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), x);
    // Bounds are exact numbers, and a value that rests on one is printed to the last digit.
    const double slack = 1e-12 * prior->high;
    if (error != std::errc() || end != digits.data() + digits.size() || !(x >= prior->low - slack) ||
        !(x <= prior->high + slack))
      throw value->fail("must be from " + print_number(prior->low, 6) + " to " + print_number(prior->high, 6),
                        "out_of_range");
    out.*prior->member = x;
  }
  return out;
}

}  // namespace floplan::serving
