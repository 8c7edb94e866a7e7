// SPDX-License-Identifier: BSD-3-Clause
//
// A rate that `floplan reliability fit LOG --out RATE.json` wrote, wherever a failure rate is asked for.
//
//   const RateFile file = read_rate_file(read_text_file(path), path);     file.rate, file.observed_on
//
// The file is the command's JSON, of which these are read, in "result" or at the top:
//   rate_per_node_day.value [1 / node-day], events, exposure.accelerators_per_node, exposure.accelerators (the log's size)
//
// Errors: data for a file that is none or holds an error; no_answer for a log without failures, which knows a bound only.
// Holds: for jobs whose causes all scale with the size; `--project` has the causes apart.
// Pitfall: the file knows the size that it was counted at: carry it far from there and scale_cautions() speaks.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "floplan/core/error.hpp"
#include "floplan/core/located_json.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/reliability/interruption_rate.hpp"

namespace floplan::reliability {

struct RateFile {
  InterruptionRate rate;
  Count observed_on;
};

[[nodiscard]] inline RateFile read_rate_file(std::string_view text, const std::string& name) {
  const LocatedJson document = LocatedJson::parse(text, name);
  const JsonValue top = document.root();
  if (const auto error = top.find("error")) throw error->fail("must not be: the file holds a refusal, no rate");
  const JsonValue result = top.find("result").value_or(top);
  const auto number = [&](const char* outer, const char* key, double least) {
    const auto within = *outer == '\0' ? std::optional(result) : result.find(outer);
    const auto found = within ? within->find(key) : std::nullopt;
    if (!found)
      throw Error(Failure::data, "missing_key", name,
                  std::string("a rate file needs the key ") + outer + (*outer == '\0' ? "" : ".") + key +
                      " (floplan reliability fit LOG --out RATE.json)");
    const std::string& digits = found->text();
    double value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (found->kind() != JsonValue::Kind::number || error != std::errc() || end != digits.data() + digits.size() ||
        !std::isfinite(value) || value < least)
      throw found->fail("must be a number, at least " + print_number(least));
    return value;
  };
  const double events = number("", "events", 0);
  const double per_node_day = number("rate_per_node_day", "value", 0);
  if (events == 0 || per_node_day == 0)
    throw Error(Failure::no_answer, "no_failures", name,
                "the log had no failure: it gives a bound of the rate, and no rate to plan with");
  RateFile out;
  out.rate = rate_from_node_days(per_node_day, Count(number("exposure", "accelerators_per_node", 1)));
  out.rate.events = events;
  out.observed_on = Count(number("exposure", "accelerators", 1e-9));
  return out;
}

}  // namespace floplan::reliability
