// SPDX-License-Identifier: BSD-3-Clause
//
// A rate that `floplan reliability fit LOG --out RATE.json` wrote, wherever a failure rate is asked for.
//
//   const RateFile file = read_rate_file(read_text_file(path), path);     file.rate(Count(100000)), file.observed_on
//
// The file is the command's JSON, of which these are read, in "result" or at the top:
//   rate_per_node_day.value [1 / node-day], events, exposure.accelerators_per_node, exposure.accelerators (the log's size),
//   exposure.accelerator_hours and exposure.hours, by_category (events, scales_with), dispersion (overdispersed, index)
// Without by_category every cause is taken to scale with the size; with it the run's own are a rate an hour of job.
//
// Errors: data for a file that is none or holds an error; no_answer for a log without failures, which knows a bound only.
// Source: rate_projection.hpp. Pitfall: the file knows the size that it was counted at: carry it far from there and
// scale_cautions() speaks.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/located_json.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/reliability/interruption_rate.hpp"
#include "floplan/reliability/rate_projection.hpp"

namespace floplan::reliability {

struct RateFile {
  std::vector<CategoryCount> categories;
  double accelerator_hours = 0;
  double job_hours = 0;
  Count accelerators_per_node{8};
  double dispersion = 1;
  Count observed_on;

  [[nodiscard]] InterruptionRate rate(Count accelerators) const {
    return planning_rate(categories, accelerator_hours, job_hours, accelerators_per_node, accelerators, dispersion);
  }
};

// Whether a text is such a file, and no failure log in JSON.
[[nodiscard]] inline bool is_rate_file(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' &&
         (text.find("\"rate_per_node_day\"") != std::string_view::npos ||
          text.find("\"error\"") != std::string_view::npos);
}

[[nodiscard]] inline RateFile read_rate_file(std::string_view text, const std::string& name) {
  const LocatedJson document = LocatedJson::parse(text, name);
  const JsonValue top = document.root();
  if (const auto error = top.find("error")) throw error->fail("must not be: the file holds a refusal, no rate");
  const JsonValue result = top.find("result").value_or(top);
  const auto read = [](const JsonValue& found, double least) {
    const std::string& digits = found.text();
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (found.kind() != JsonValue::Kind::number || error != std::errc() || end != digits.data() + digits.size() ||
        !std::isfinite(value) || value < least)
      throw found.fail("must be a number, at least " + print_number(least));
    return value;
  };
  const auto number = [&](const char* outer, const char* key, double least) {
    const auto within = *outer == '\0' ? std::optional(result) : result.find(outer);
    const auto found = within ? within->find(key) : std::nullopt;
    if (!found)
      throw Error(Failure::data, "missing_key", name,
                  std::string("a rate file needs the key ") + outer + (*outer == '\0' ? "" : ".") + key +
                      " (floplan reliability fit LOG --out RATE.json)");
    return read(*found, least);
  };
  const double events = number("", "events", 0);
  const double per_node_day = number("rate_per_node_day", "value", 0);
  if (events == 0 || per_node_day == 0)
    throw Error(Failure::no_answer, "no_failures", name,
                "the log had no failure: it gives a bound of the rate, and no rate to plan with");
  RateFile out;
  out.accelerators_per_node = Count(number("exposure", "accelerators_per_node", 1));
  out.observed_on = Count(number("exposure", "accelerators", 1e-9));
  out.accelerator_hours = 24 * out.accelerators_per_node.value * events / per_node_day;
  out.job_hours = out.accelerator_hours / out.observed_on.value;
  if (const auto dispersion = result.find("dispersion")) {
    const auto over = dispersion->find("overdispersed");
    const auto index = dispersion->find("index");
    if (over && over->text() == "true" && index) out.dispersion = read(*index, 1);
  }
  double counted = 0;
  if (const auto categories = result.find("by_category"); categories && categories->kind() == JsonValue::Kind::array) {
    for (const JsonValue& c : categories->items()) {
      const auto of = c.find("events");
      const auto with = c.find("scales_with");
      if (!of || !with) throw c.fail("a category needs events and scales_with");
      const bool own = with->text() == to_text(ScalesWith::run);
      out.categories.push_back({"", read(*of, 0), own ? ScalesWith::run : ScalesWith::nodes});
      counted += out.categories.back().events;
    }
  }
  if (out.categories.empty()) {
    out.categories.push_back({"", events, ScalesWith::nodes});
  } else if (std::abs(counted - events) > 1e-6 * events) {
    throw Error(
        Failure::data, "bad_value", name,
        "by_category must add up to the events, got " + print_number(counted, 9) + " of " + print_number(events, 9));
  }
  return out;
}

}  // namespace floplan::reliability
