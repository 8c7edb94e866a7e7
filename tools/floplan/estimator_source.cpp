// SPDX-License-Identifier: BSD-3-Clause
#include "estimator_source.hpp"

#include <map>
#include <string_view>

#include "floplan/core/quantity_text.hpp"

namespace floplan::cli {
namespace {

// "E=1.69" or "alpha=0.2..0.5": which coefficient, and between which ends.
void bound(std::map<std::string, fit::Bounds>& bounds, const std::string& text, const char* option) {
  const auto equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const auto refuse = [&](const std::string& rule) { return Error(Failure::usage, "bad_bound", option, rule); };
  if (equals == std::string::npos) throw refuse("must be as E=1.69 or alpha=0.2..0.5, got \"" + text + "\"");
  const std::string value = text.substr(equals + 1);
  if ((value.find("..") != std::string::npos) != (std::string_view(option) == "--bound"))
    throw refuse("--fix takes one value (E=1.69) and --bound a range (alpha=0.2..0.5), got \"" + text + "\"");
  const auto dots = value.find("..");
  fit::Bounds of;
  of.low = parse_number(value.substr(0, dots), option);
  of.high = dots == std::string::npos ? of.low : parse_number(value.substr(dots + 2), option);
  if (!bounds.emplace(name, of).second)
    throw refuse(name + " is fixed or bounded twice, got \"" + text + "\" after another");
}

}  // namespace

void EstimatorOptions::add_to(Subcommand& sub) {
  sub.option("--residual", residual, "Of ln L or of L", {"log", "raw"});
  sub.option("--loss", loss, "What is summed over the rows", {"huber", "mse", "lad"});
  sub.option("--delta", delta, "Huber's threshold, or auto for 1.345 residual sd");
  sub.option("--fix", fixed, "A coefficient that is known, as E=1.69; may be repeated");
  sub.option("--bound", bounds, "A coefficient's range, as alpha=0.2..0.5; may be repeated");
}

std::map<std::string, fit::Bounds> EstimatorOptions::named_bounds() const {
  std::map<std::string, fit::Bounds> out;
  for (const std::string& text : fixed) bound(out, text, "--fix");
  for (const std::string& text : bounds) bound(out, text, "--bound");
  return out;
}

fit::FormOptions EstimatorOptions::read_form() const {
  const fit::ChinchillaOptions same = EstimatorOptions{residual, loss, delta, {}, {}}.read();
  fit::FormOptions out;
  out.estimator = same.estimator;
  out.automatic_delta = same.automatic_delta;
  out.bounds = named_bounds();
  return out;
}

fit::ChinchillaOptions EstimatorOptions::read() const {
  fit::ChinchillaOptions out;
  out.estimator.residual = residual == "raw" ? fit::Residual::raw : fit::Residual::log;
  out.estimator.loss = loss == "mse"   ? fit::Loss::least_squares
                       : loss == "lad" ? fit::Loss::least_absolute_deviations
                                       : fit::Loss::huber;
  out.automatic_delta = delta == "auto";
  if (!out.automatic_delta) out.estimator.delta = parse_number(delta, "--delta");
  for (const auto& [name, ends] : named_bounds()) {
    fit::Bounds* const of = name == "E"       ? &out.bounds.irreducible_loss
                            : name == "A"     ? &out.bounds.parameter_coefficient
                            : name == "B"     ? &out.bounds.token_coefficient
                            : name == "alpha" ? &out.bounds.parameter_exponent
                            : name == "beta"  ? &out.bounds.token_exponent
                                              : nullptr;
    if (of == nullptr) {
      throw Error(Failure::usage, "bad_bound", ends.low == ends.high ? "--fix" : "--bound",
                  "must name E, A, B, alpha or beta, got \"" + name + "\"");
    }
    *of = ends;
  }
  return out;
}

double level_of(const std::string& text) {
  const double level = parse<Fraction>(text, "--level").value;
  if (level > 0 && level < 1) return level;
  throw Error(Failure::usage, "out_of_range", "--level", "must be between 0 and 1, got " + text);
}

}  // namespace floplan::cli
