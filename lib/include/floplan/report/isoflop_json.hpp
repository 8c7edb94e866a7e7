// SPDX-License-Identifier: BSD-3-Clause
//
// An isoFLOP study as JSON: what scripts rely on.
//
//   result = isoflop_json(study, table)
//
// "low" and "high" of a profile are of its N*; of a power law, of its exponent by the scatter of the minima about the
// line, or, where two minima leave none, by the noise of the runs. "noise" is the exponent's interval by that noise
// alone. What is not known is null.
//
// Needs nlohmann-json: not part of the umbrella header.
// Pitfall: "power_law_all_profiles" uses minima that quality control refuses; it is there to be compared with.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "floplan/fit/isoflop_study.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/runs_json.hpp"
#include "floplan/runs/run_table.hpp"

namespace floplan::report {

namespace detail {

[[nodiscard]] inline Json interval_json(const std::optional<Interval>& i) { return i ? to_json(*i) : Json(nullptr); }

[[nodiscard]] inline Json power_law_json(const fit::PowerLaw& law) {
  const std::optional<Interval>& ends = law.exponent_interval ? law.exponent_interval : law.noise_interval;
  return {{"exponent", law.exponent},
          {"coefficient", law.coefficient},
          {"low", ends ? Json(ends->low) : Json(nullptr)},
          {"high", ends ? Json(ends->high) : Json(nullptr)},
          {"level", law.level},
          {"noise", interval_json(law.noise_interval)}};
}

[[nodiscard]] inline Json optimum_json(const fit::IsoflopOptimum& at) {
  return {{"flop", at.flop.value},
          {"parameters", at.parameters.value},
          {"tokens", at.tokens.value},
          {"extrapolation_decades", at.extrapolation_decades},
          {"parameters_interval", interval_json(at.parameters_interval)},
          {"tokens_interval", interval_json(at.tokens_interval)}};
}

[[nodiscard]] inline Json profile_json(const fit::Profile& p) {
  Json out = {{"flop", p.flop},
              {"points", p.points},
              {"parameters_opt", p.parameters_opt},
              {"tokens_opt", p.tokens_opt},
              {"loss_min", p.loss_min}};
  out["low"] = p.parameters_interval ? Json(p.parameters_interval->low) : Json(nullptr);
  out["high"] = p.parameters_interval ? Json(p.parameters_interval->high) : Json(nullptr);
  out["tokens_interval"] = interval_json(p.tokens_interval);
  out["status"] = fit::to_text(p.status);
  out["reason"] = p.reason;
  out["used"] = p.used;
  if (p.bound) {
    out["bound"] = {{"at_most", p.bound->at_most}, {"parameters", p.bound->parameters}, {"tokens", p.bound->tokens}};
  }
  return out;
}

}  // namespace detail

[[nodiscard]] inline Json isoflop_json(const fit::IsoflopStudy& study, const runs::RunTable& table) {
  const fit::IsoflopReport& report = study.report;
  const std::optional<Flop>& at = study.options.at;
  Json profiles = Json::array();
  for (const fit::Profile& p : report.profiles) profiles.push_back(detail::profile_json(p));
  Json out = {
      {"profiles", std::move(profiles)},
      {"power_law",
       {{"parameters", detail::power_law_json(report.parameters)}, {"tokens", detail::power_law_json(report.tokens)}}},
      {"rows", rows_json(table)}};
  if (at) out["at"] = detail::optimum_json(report.at(*at));
  out["leave_one_out"] = Json::array();
  for (const fit::LeftOut& left : report.leave_one_out) {
    out["leave_one_out"].push_back({{"flop", left.flop},
                                    {"parameters_exponent", left.parameters_exponent},
                                    {"tokens_exponent", left.tokens_exponent}});
  }
  for (const fit::IsoflopBeside& other : study.beside) {
    Json entry = {{"parameters", detail::power_law_json(other.report.parameters)},
                  {"tokens", detail::power_law_json(other.report.tokens)},
                  {"profiles", other.report.profiles_used()}};
    if (at) entry["at"] = detail::optimum_json(other.report.at(*at));
    out["power_law_" + other.name] = std::move(entry);
    out[other.name == "all_profiles" ? std::string("difference") : "difference_" + other.name] =
        other.same() ? Json(nullptr) : Json(other.describe());
  }
  out["methods"] = Json::array();
  for (const fit::IsoflopReport& other : study.methods.reports) {
    out["methods"].push_back({{"method", fit::to_text(other.options.method)},
                              {"parameters", detail::power_law_json(other.parameters)},
                              {"tokens", detail::power_law_json(other.tokens)}});
  }
  if (study.bias) {
    out["bias"] = {{"flop", study.bias->flop.value},
                   {"parameters_error", study.bias->parameters_error},
                   {"tokens_error", study.bias->tokens_error},
                   {"tokens_exponent_error", study.bias->tokens_exponent_error}};
  }
  return out;
}

}  // namespace floplan::report
