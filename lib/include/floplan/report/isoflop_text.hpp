// SPDX-License-Identifier: BSD-3-Clause
//
// An isoFLOP study as people read it: the profiles, the power laws, and what stands beside them.
//
//   isoflop_text(study, table)     everything that the study holds
//   profile_table(study)           the table that --csv prints: one row a budget
//
// Numbers are rounded to what a reader can use; --json and --csv carry every digit.
// Pitfall: a profile with a bound has no N* in the table; its status says why.
#pragma once

#include <cmath>
#include <optional>
#include <string>

#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/isoflop_study.hpp"
#include "floplan/report/table.hpp"
#include "floplan/runs/run_table.hpp"

namespace floplan::report {

namespace detail {

[[nodiscard]] inline std::string optimum_text(const fit::IsoflopOptimum& at) {
  std::string out = "at " + print(at.flop, 4) + " FLOP: N* " + print(at.parameters, 4) + ", D* " + print(at.tokens, 4);
  if (at.tokens_interval) {
    out += " (" + print(Tokens(at.tokens_interval->low), 3) + " to " + print(Tokens(at.tokens_interval->high), 3) +
           " at " + print_number(100 * at.tokens_interval->level, 4) + "%)";
  }
  return out + "\n";
}

[[nodiscard]] inline std::string leave_one_out_text(const fit::IsoflopReport& report) {
  const fit::LeftOut* most = nullptr;
  const auto moved = [&report](const fit::LeftOut& l) { return std::abs(l.tokens_exponent - report.tokens.exponent); };
  for (const fit::LeftOut& left : report.leave_one_out) {
    if (most == nullptr || moved(left) > moved(*most)) most = &left;
  }
  if (most == nullptr) return "";
  return "the profile that moves the exponents most is that at " + print(Flop(most->flop), 3) +
         " FLOP: without it N* grows as C^" + print_number(most->parameters_exponent, 5) + " and D* as C^" +
         print_number(most->tokens_exponent, 5) + "\n";
}

[[nodiscard]] inline std::string noise_text(const fit::IsoflopReport& report) {
  const auto& n = report.parameters.noise_interval;
  const auto& d = report.tokens.noise_interval;
  if (!n || !d) return "";
  const auto ends = [](const Interval& i) { return print_number(i.low, 4) + " to " + print_number(i.high, 4); };
  return "noise of " + print_number(report.options.noise_sd, 3) + " a loss alone has the exponent of N* at " +
         ends(*n) + " and that of D* at " + ends(*d) + " (" + print_number(100 * n->level, 4) + "%)\n";
}

}  // namespace detail

[[nodiscard]] inline Table profile_table(const fit::IsoflopStudy& study) {
  Table out({"budget (FLOP)", "runs", "N*", "low", "high", "D*", "loss", "status", "in the power law"});
  for (const fit::Profile& p : study.report.profiles) {
    out.add({{p.flop, 3},
             {static_cast<double>(p.points), 6},
             known(p.parameters_opt, 4),
             p.parameters_interval ? known(p.parameters_interval->low, 4) : Cell(),
             p.parameters_interval ? known(p.parameters_interval->high, 4) : Cell(),
             known(p.tokens_opt, 4),
             known(p.loss_min, 4),
             fit::to_text(p.status),
             p.used ? "yes" : "no"});
  }
  return out;
}

[[nodiscard]] inline std::string isoflop_text(const fit::IsoflopStudy& study, const runs::RunTable& table) {
  const fit::IsoflopReport& report = study.report;
  const std::optional<Flop>& at = study.options.at;
  std::string out = table.describe() + "\n" + study.groups.describe() + "\n\n" + profile_table(study).text() + "\n" +
                    report.describe() + "\n" + detail::noise_text(report);
  if (at) out += detail::optimum_text(report.at(*at));
  out += detail::leave_one_out_text(report);
  for (const fit::IsoflopBeside& other : study.beside) {
    out += "\nWith " + other.what;
    if (other.same()) {
      out += ": the same\n";
      continue;
    }
    out += "\n" + other.report.describe() + "\n";
    if (at) out += detail::optimum_text(other.report.at(*at));
    out += "why: " + other.describe() + "\n";
  }
  out += "\nThe methods side by side\n" + study.methods.describe() + "\n";
  if (study.bias) out += study.bias->describe() + "\n";
  return out;
}

}  // namespace floplan::report
