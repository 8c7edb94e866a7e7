// SPDX-License-Identifier: BSD-3-Clause
//
// A fit of any form as people read it.
//
//   form_text(study, table)       how the runs were read, the law with its intervals, how the search went
//   coefficient_table(study)      the table that --csv prints: one row a coefficient
//
// Pitfall: coefficients are often correlated to .999: rounded ones copied from here are another law. --json has every digit.
#pragma once

#include <cstddef>
#include <string>

#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/form_study.hpp"
#include "floplan/report/table.hpp"
#include "floplan/runs/run_table.hpp"

namespace floplan::report {

[[nodiscard]] inline Table coefficient_table(const fit::FormStudy& s) {
  Table out({"coefficient", "value", "standard error", "low", "high"});
  for (std::size_t k = 0; k < s.fit.coefficients.size(); ++k) {
    const Estimate e = fit::coefficient_of(s, k);
    out.add({s.fit.model.coefficients[k].name, known(e.value, 7), known(e.standard_error, 3), known(e.interval.low, 5),
             known(e.interval.high, 5)});
  }
  return out;
}

[[nodiscard]] inline std::string form_text(const fit::FormStudy& s, const runs::RunTable& table) {
  std::string out = table.describe() + "\n";
  for (const std::string& note : table.notes) out += "  " + note + "\n";
  out += std::string(law::info(s.fit.model.output).key) + " = " + law::formula_of(s.fit.form) + "\n" +
         s.fit.describe() + "\n\n" + coefficient_table(s).text();
  out += s.boot.available ? print_number(100 * s.level) + "% intervals from " + std::to_string(s.boot.laws.size()) +
                                " resamples, bias-corrected\n"
                          : "no interval is available\n";
  return out + "residual sd " + print_number(s.fit.residual_sd, 3) +
         (s.fit.options.estimator.residual == fit::Residual::log ? " of the logarithm\n" : "\n");
}

}  // namespace floplan::report
