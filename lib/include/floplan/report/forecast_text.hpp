// SPDX-License-Identifier: BSD-3-Clause
//
// A law's forecast for people and for programs: what `floplan predict` prints.
//
//   forecast_json(law, values, forecast)     the command's "result": loss, terms, interval, extrapolation_decades, ...
//   forecast_text, forecast_table            the same to be read, and as one CSV row
//
// Keys: "output" says what "value" is; a law of a loss has "loss" too. "terms", "interval", "new_run_interval" are null where
// the law has none. "downstream": [{"law", "output", "value"}].
//
// Pitfall: a decade of extrapolation is nothing for a curve over many, and much for one over half of one: read the range.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/forecast.hpp"
#include "floplan/report/json.hpp"
#include "floplan/report/table.hpp"

namespace floplan::report {

namespace detail {

// " nats/token" or " tokens": what follows a value of the law.
[[nodiscard]] inline std::string unit_text(const law::AnyLaw& law) {
  switch (law::output(law.form)) {
    case law::Output::loss:
    case law::Output::loss_increase: return " " + law.loss_unit;
    case law::Output::batch:
    case law::Output::tokens: return " tokens";
    case law::Output::parameters: return " parameters (" + law::to_text(law.parameter_convention) + ")";
    case law::Output::flop: return " FLOP";
    default: return "";
  }
}

[[nodiscard]] inline std::string value_text(const law::AnyLaw& law, double value) {
  switch (law::output(law.form)) {
    case law::Output::batch:
    case law::Output::tokens:
    case law::Output::parameters: return print(Tokens(value), 4) + unit_text(law);
    default: return print_number(value, 5) + unit_text(law);
  }
}

// N and D, where both are among the inputs: the FLOP of such a run. Absent where N counts experts that a token does not use.
[[nodiscard]] inline std::optional<double> six_nd(const law::AnyLaw& law, std::span<const double> values) {
  std::optional<double> n, d;
  const auto inputs = law::inputs(law.form);
  const bool active =
      law.parameter_convention == law::ParameterConvention::active || law::takes(inputs, law::Input::active_parameters);
  if (law::takes_experts(inputs) && !active) return std::nullopt;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == law::Input::tokens) d = values[i];
    if (inputs[i] == law::Input::active_parameters || (inputs[i] == law::Input::parameters && !n)) n = values[i];
  }
  return n && d ? std::optional(6 * *n * *d) : std::nullopt;
}

}  // namespace detail

[[nodiscard]] inline Json forecast_json(const law::AnyLaw& law, std::span<const double> values,
                                        const fit::Forecast& forecast) {
  const law::OutputInfo& output = law::info(forecast.output);
  Json out = {{"output", output.key}, {"value", forecast.value}};
  if (forecast.output == law::Output::loss) out["loss"] = forecast.value;
  if (law::is_loss(forecast.output)) out["loss_unit"] = law.loss_unit;
  out["terms"] = forecast.terms ? to_json(*forecast.terms) : Json(nullptr);
  out["interval"] = forecast.estimate ? to_json(forecast.estimate->interval) : Json(nullptr);
  out["se"] = forecast.estimate ? Json(forecast.estimate->standard_error) : Json(nullptr);
  out["new_run_interval"] = forecast.new_run ? to_json(*forecast.new_run) : Json(nullptr);
  out["extrapolation_decades"] = forecast.range_known ? Json(forecast.extrapolation_decades()) : Json(nullptr);
  out["parameter_convention"] = law::to_text(law.parameter_convention);
  out["flop_convention"] = law::to_text(law.flop_convention);
  const auto flop = detail::six_nd(law, values);
  out["training_flop"] = flop ? Json(*flop) : Json(nullptr);
  out["downstream"] = Json::array();
  for (const fit::Downstream& d : forecast.downstream) {
    out["downstream"].push_back({{"law", d.law.name},
                                 {"output", law::info(law::output(d.law.form)).key},
                                 {"value", d.value},
                                 {"outside_fit_range", !d.outside.empty()}});
  }
  return out;
}

[[nodiscard]] inline Table forecast_table(const law::AnyLaw& law, std::span<const double> values,
                                          const fit::Forecast& forecast) {
  std::vector<std::string> titles = {"law"};
  std::vector<Cell> cells = {law.name};
  const auto inputs = law::inputs(law.form);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    titles.emplace_back(law::info(inputs[i]).key);
    cells.emplace_back(values[i], 4);
  }
  const std::string unit = law::is_loss(forecast.output) ? " (" + law.loss_unit + ")" : "";
  titles.push_back(std::string(law::info(forecast.output).key) + unit);
  cells.emplace_back(forecast.value, 5);
  if (forecast.terms) {
    titles.insert(titles.end(), {"irreducible", "parameter term", "token term"});
    cells.insert(cells.end(),
                 {{forecast.terms->irreducible, 5}, {forecast.terms->parameters, 4}, {forecast.terms->tokens, 4}});
  }
  const auto ends = [&](const std::string& what, const std::optional<Interval>& i) {
    titles.push_back(what + "low");
    titles.push_back(what + "high");
    cells.push_back(i && std::isfinite(i->low) ? Cell(i->low, 5) : Cell());
    cells.push_back(i && std::isfinite(i->high) ? Cell(i->high, 5) : Cell());
  };
  ends("", forecast.estimate ? std::optional(forecast.estimate->interval) : std::nullopt);
  ends("one run: ", forecast.new_run);
  titles.emplace_back("decades beyond the fit");
  cells.push_back(forecast.range_known ? Cell(forecast.extrapolation_decades(), 2) : Cell());
  Table out(titles);
  out.add(cells);
  return out;
}

[[nodiscard]] inline std::string forecast_text(const law::AnyLaw& law, std::span<const double> values,
                                               const fit::Forecast& forecast) {
  std::string out = law.title + "\n";
  const auto inputs = law::inputs(law.form);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const law::InputInfo& input = law::info(inputs[i]);
    const bool count = inputs[i] == law::Input::parameters;
    out += (i > 0 ? ", " : "") + std::string(input.symbol) + " " + law::input_text(inputs[i], values[i]) +
           (count ? " (" + law::to_text(law.parameter_convention) + ")" : "");
  }
  if (const auto flop = detail::six_nd(law, values)) out += ", " + print(Flop(*flop), 3) + " FLOP (6ND)";
  const auto line = [&out](std::string title, const std::string& value) {
    title.resize(std::max<std::size_t>(title.size() + 1, 16), ' ');
    out += title + value + "\n";
  };
  out += "\n\n";
  std::string title = law::info(forecast.output).meaning;
  line(title, detail::value_text(law, forecast.value));
  if (forecast.terms) {
    line("  irreducible", print_number(forecast.terms->irreducible, 5));
    line("  parameters", print_number(forecast.terms->parameters, 4));
    line("  tokens", print_number(forecast.terms->tokens, 4));
  }
  const auto interval = [](const Interval& i) { return print_number(i.low, 5) + " to " + print_number(i.high, 5); };
  if (forecast.estimate) {
    line(print_number(100 * forecast.estimate->interval.level, 6) + "% interval",
         interval(forecast.estimate->interval) + ", of the curve");
  }
  if (forecast.new_run) line("", interval(*forecast.new_run) + ", of one further run with its noise");
  for (const fit::Downstream& d : forecast.downstream)
    line(law::info(law::output(d.law.form)).meaning, print_number(d.value, 4) + " by " + d.law.name);
  return out;
}

}  // namespace floplan::report
