// SPDX-License-Identifier: BSD-3-Clause
//
// The options by which a command is told how to fit: residual, loss, delta, and coefficients that are known.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "command.hpp"
#include "floplan/fit/chinchilla_report.hpp"
#include "floplan/fit/form_fit.hpp"

namespace floplan::cli {

struct EstimatorOptions {
  std::string residual = "log";
  std::string loss = "huber";
  std::string delta = "1e-3";
  std::vector<std::string> fixed, bounds;  // E=1.69, alpha=0.2..0.5

  void add_to(Subcommand& sub);
  [[nodiscard]] fit::ChinchillaOptions read() const;
  [[nodiscard]] fit::FormOptions read_form() const;  // for a form with coefficients of any name
  [[nodiscard]] std::map<std::string, fit::Bounds> named_bounds() const;
};

// An option that is the level of intervals: between 0 and 1.
[[nodiscard]] double level_of(const std::string& text);

}  // namespace floplan::cli
