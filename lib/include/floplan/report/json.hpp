// SPDX-License-Identifier: BSD-3-Clause
//
// The JSON that scripts rely on: the envelope of every command, and the small values.
//
//   {"command", "version", "inputs": {...}, "result": {...}, "warnings": [{"code", "message"}]}
//   {"command", "version", "error": {"code", "message", "where"}}                               on failure
//
// Numbers carry every digit; keys carry their unit (_s, _hours, _days, _flop, _tflops, _bytes, _usd, _mwh, _tonnes). A
// count that is whole has no decimal point, so that a program may take it as an integer. What is not known is null.
//
// Needs nlohmann-json: not part of the umbrella header.
// Pitfall: JSON has no nan; a non-finite number here is a fault of floplan and becomes null.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "floplan/architecture/layout.hpp"
#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::report {

using Json = nlohmann::ordered_json;

[[nodiscard]] inline Json to_json(const Interval& i) { return {{"low", i.low}, {"high", i.high}, {"level", i.level}}; }
[[nodiscard]] inline Json to_json(const Estimate& e) {
  return {{"value", e.value},
          {"se", e.standard_error},
          {"low", e.interval.low},
          {"high", e.interval.high},
          {"level", e.interval.level}};
}
[[nodiscard]] inline Json to_json(const Distribution& d) {
  return {
      {"mean", d.mean}, {"sd", d.standard_deviation}, {"p05", d.p05}, {"p10", d.p10}, {"p50", d.p50}, {"p90", d.p90},
      {"p95", d.p95}};
}
[[nodiscard]] inline Json to_json(const law::LossTerms<double>& t) {
  return {{"irreducible", t.irreducible}, {"parameters", t.parameters}, {"tokens", t.tokens}};
}

// A count (accelerators, parameters, tokens).
[[nodiscard]] inline Json count_json(double x) {
  return x == std::floor(x) && std::abs(x) <= 9007199254740992.0 ? Json(static_cast<std::int64_t>(x)) : Json(x);
}
template <class Kind>
[[nodiscard]] Json count_json(Quantity<Kind> q) {
  return count_json(q.value);
}
template <class Kind>
[[nodiscard]] Json count_json(const std::optional<Quantity<Kind>>& q) {
  return q ? count_json(q->value) : Json(nullptr);
}

// A number, or null. `unit` divides: json(bytes, 1e9) is in GB.
[[nodiscard]] inline Json json(const std::optional<double>& x) { return x ? Json(*x) : Json(nullptr); }
template <class Kind>
[[nodiscard]] Json json(const std::optional<Quantity<Kind>>& q, double unit = 1) {
  return q ? Json(q->value / unit) : Json(nullptr);
}

// Degrees of expert parallelism and of interleaving stand there where they are not 1.
[[nodiscard]] inline Json to_json(const architecture::Layout& l) {
  Json out = {{"tp", l.tensor}, {"cp", l.context}, {"pp", l.pipeline}, {"dp", l.data}};
  if (l.expert != 1) out["ep"] = l.expert;
  if (l.interleave != 1) out["vp"] = l.interleave;
  return out;
}

// Where a law was fitted: {"parameters": {"low", "high"}, "tokens", "flop"} and the other inputs whose range is known.
[[nodiscard]] inline Json range_json(const law::FitRange& r) {
  const auto ends = [](const std::optional<double>& low, const std::optional<double>& high) {
    return Json{{"low", json(low)}, {"high", json(high)}};
  };
  Json out = {{"parameters", ends(r.parameters_low, r.parameters_high)},
              {"tokens", ends(r.tokens_low, r.tokens_high)},
              {"flop", ends(r.flop_low, r.flop_high)}};
  for (const law::InputRange& other : r.others) out[law::info(other.input).key] = ends(other.low, other.high);
  return out;
}

[[nodiscard]] inline Json to_json(const std::vector<Warning>& warnings) {
  Json out = Json::array();
  for (const Warning& w : warnings) out.push_back({{"code", w.code}, {"message", w.message}});
  return out;
}

[[nodiscard]] inline Json envelope(std::string_view command, std::string_view version, Json inputs, Json result,
                                   const std::vector<Warning>& warnings) {
  return {{"command", command},
          {"version", version},
          {"inputs", std::move(inputs)},
          {"result", std::move(result)},
          {"warnings", to_json(warnings)}};
}
[[nodiscard]] inline Json envelope(std::string_view command, std::string_view version, std::string_view code,
                                   std::string_view message, std::string_view where) {
  return {
      {"command", command}, {"version", version}, {"error", {{"code", code}, {"message", message}, {"where", where}}}};
}

// The text of a document, an array of plain numbers on one line. Bytes that are not UTF-8 (a file's name may hold any)
// become U+FFFD.
[[nodiscard]] inline std::string json_text(const Json& json) {
  const std::string tall = json.dump(2, ' ', false, Json::error_handler_t::replace);
  std::string out;
  out.reserve(tall.size() + 1);
  // A line break inside a text is escaped, so "[" and a line break only ever begin an array.
  for (std::size_t i = 0; i < tall.size();) {
    const std::size_t end = tall.compare(i, 2, "[\n") == 0 ? tall.find_first_not_of("0123456789+-.eE, \n", i + 2) : 0;
    if (end != 0 && end != std::string::npos && tall[end] == ']') {
      for (std::size_t k = i; k <= end; ++k) {
        if (tall[k] == '\n' || tall[k] == ' ') continue;
        out += tall[k];
        if (tall[k] == ',') out += ' ';
      }
      i = end + 1;
    } else {
      out += tall[i++];
    }
  }
  return out + "\n";
}

}  // namespace floplan::report
