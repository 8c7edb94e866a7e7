// SPDX-License-Identifier: BSD-3-Clause
//
// Efficiencies as a TOML file: the published ones, and what `floplan step calibrate` makes of a user's rows.
//
//   const Efficiencies e = read_efficiencies(text, "my.toml");      what the file leaves out keeps its published value
//   write_file(path, efficiencies_toml(calibration, "what the rows were"));
//
//   measured_factor = 1.04                     of the step as a whole
//   [values.gemm]  value = 0.888               and for the reader: low, high, prior_mean, prior_deviation, width_left,
//                                              identified, at_bound
//
// Source: ours; data/efficiencies/published.toml is such a file.
// Pitfall: unknown names and values out of bounds are refused with their line: a mistyped efficiency must not be lost.
// Needs toml++ (a header that costs seconds to compile): not part of the umbrella header.
#pragma once

#include <toml++/toml.h>

#include <cmath>
#include <string>
#include <string_view>

#include "floplan/cluster/calibration.hpp"
#include "floplan/cluster/efficiencies.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::cluster {

// Throws Error(data) with path:line:column.
[[nodiscard]] inline Efficiencies read_efficiencies(std::string_view text, const std::string& path) {
  const auto place = [&path](const toml::source_region& region) {
    return path + ":" + std::to_string(region.begin.line) + ":" + std::to_string(region.begin.column);
  };
  toml::table document;
  try {
    document = toml::parse(text);
  } catch (const toml::parse_error& error) {
    throw Error(Failure::data, "bad_toml", place(error.source()), std::string(error.description()));
  }
  const auto number = [&](const toml::node& node, const std::string& name, double low, double high) {
    const auto value = node.value<double>();
    if (!value || !(*value > low) || !(*value < high)) {
      throw Error(Failure::data, "bad_efficiency", place(node.source()),
                  name + " must be a number above " + print_number(low, 6) + " and below " + print_number(high, 6) +
                      (value ? ", got " + print_number(*value, 6) : ""));
    }
    return *value;
  };
  Efficiencies out;
  bool any = false;
  for (auto&& [key, node] : document) {
    const std::string name(key.str());
    if (name == "rows" || name == "note" || name == "loss_scale") continue;
    if (name == "measured_factor") {
      out.measured_factor = number(node, name, 0.1, 10);
      any = true;
      continue;
    }
    if (name != "values" || !node.is_table()) {
      throw Error(Failure::data, "unknown_key", place(node.source()),
                  "must be values, measured_factor, rows, loss_scale or note, got \"" + name + "\"");
    }
    for (auto&& [value_key, value_node] : *node.as_table()) {
      const std::string value_name(value_key.str());
      const FittedEfficiency* found = nullptr;
      std::vector<std::string> names;
      for (const FittedEfficiency& f : fitted_efficiencies()) {
        names.emplace_back(f.name);
        if (f.name == value_name) found = &f;
      }
      if (found == nullptr) {
        throw Error(Failure::data, "unknown_key", place(value_node.source()),
                    "must be an efficiency, got \"" + value_name + "\"" + nearest_names_text(value_name, names));
      }
      const toml::node* value = value_node.is_table() ? value_node.as_table()->get("value") : &value_node;
      if (value == nullptr)
        throw Error(Failure::data, "missing_key", place(value_node.source()), value_name + " must have a value");
      out.*found->member = number(*value, value_name, found->lowest * (1 - 1e-12), found->highest * (1 + 1e-12));
      any = true;
    }
  }
  if (!any) throw Error(Failure::data, "empty_file", path + ":1:1", "must hold values or a measured_factor");
  return out;
}

// digits: of a value.
[[nodiscard]] inline std::string efficiencies_toml(const Calibration& fit, const std::string& note, int digits = 4) {
  std::string out = "note = \"" + note + "\"\nrows = " + std::to_string(fit.rows) +
                    "\nmeasured_factor = " + print_number(fit.efficiencies.measured_factor, 6) + "\n";
  for (const CalibratedValue& v : fit.values) {
    const auto line = [&out, digits](const char* key, double value, int figures = 0) {
      out += std::string(key) + " = " + print_number(value, figures > 0 ? figures : digits) + "\n";
    };
    out += "\n[values." + std::string(v.name) + "]\n";
    line("value", v.value);
    line("low", v.low);
    line("high", v.high);
    line("prior_mean", v.prior_mean);
    line("prior_deviation", v.prior_deviation);
    line("width_left", v.width_left, 2);
    out += "identified = \"" + std::string(v.identified()) + "\"\nat_bound = " + (v.at_bound ? "true" : "false") + "\n";
  }
  return out;
}

}  // namespace floplan::cluster
