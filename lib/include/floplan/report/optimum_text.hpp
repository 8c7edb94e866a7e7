// SPDX-License-Identifier: BSD-3-Clause
//
// What to buy as people read it, and as the table that --csv prints.
//
//   optimum_text(asked, level)     one paragraph a law; of several a last line with the spread
//   optimum_table(asked)           one row a law
//
// Every count says what it counts: "34.1B non-embedding parameters".
// Pitfall: numbers are rounded for reading; --json and --csv carry every digit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "floplan/core/quantity_text.hpp"
#include "floplan/law/any_form.hpp"
#include "floplan/optimum/purchase.hpp"
#include "floplan/report/optimum_json.hpp"
#include "floplan/report/table.hpp"

namespace floplan::report {

namespace detail {

[[nodiscard]] inline std::string serving_text(const AskedLaw& asked) {
  const optimum::Purchase& p = asked.purchase;
  return ", serving " + print(p.serving_flop, 4) + ", in all " + print(p.total_flop(), 4) + " FLOP" +
         (asked.priced ? " or $" + grouped(p.total_cost, 4) : "") +
         "\n  for training alone: " + print(p.training_only.parameters, 4) + " on " + print(p.training_only.tokens, 4) +
         (p.saving_fraction() >= 0 ? "; this saves " + print_number(100 * p.saving_fraction(), 3) + "% of the whole"
                                   : "; this costs " + print_number(-100 * p.saving_fraction(), 3) + "% more");
}

[[nodiscard]] inline std::string purchase_text(const AskedLaw& asked, double level) {
  const optimum::Purchase& p = asked.purchase;
  std::string out = asked.law.title + "\n  " + print(p.split.parameters, 4) + " " +
                    optimum::counted_text(asked.law.parameter_convention) + " on " + print(p.split.tokens, 4) +
                    " tokens, " + print_number(p.split.tokens.value / p.split.parameters.value, 3) + " a parameter: " +
                    (p.loss ? "loss " + print_number(*p.loss, 5) + " " + asked.law.loss_unit : "no loss is known") +
                    "\n";
  if (!p.allocation_law.empty()) out += "  split by " + p.allocation_law + "\n";
  if (p.binds != optimum::Limit::none) {
    out += "  N is at its limit of " + print(*p.most_parameters, 4) + ", set by " +
           (p.binds == optimum::Limit::serving_memory ? "the memory of the serving machine" : "--max-params") + "\n";
  }
  if (p.active_share != 1) {
    out += "  a token uses " + print_number(100 * p.active_share, 3) + "% of the parameters, " +
           print(p.split.parameters * p.active_share, 4) + "\n";
  }
  if (p.epochs > 1) {
    out += "  " + print_number(p.epochs, 3) + " epochs, worth " + print(*p.effective_tokens, 4) + " fresh tokens" +
           (p.repeated_loss ? ": loss " + print_number(*p.repeated_loss, 5) + " with them" : "") + "\n";
  }
  std::string intervals;
  const auto add = [&intervals](const char* what, const std::optional<Estimate>& e, const auto& text) {
    if (!e || !(e->interval.low < e->interval.high)) return;  // what was given has no interval
    intervals += (intervals.empty() ? "" : ", ") + std::string(what) + " " + text(e->interval.low) + " to " +
                 text(e->interval.high);
  };
  const auto count = [](double x) { return print(Parameters(x), 4); };
  add("N", p.parameters, count);
  add("D", p.tokens, count);
  add("loss", p.loss_estimate, [](double x) { return print_number(x, 5); });
  add("training", p.training_estimate, [](double x) { return print(Flop(x), 4) + " FLOP"; });
  if (!intervals.empty()) out += "  " + print_number(100 * level) + "%: " + intervals + "\n";
  out += "  training " + print(p.training_flop(), 4) + " FLOP";
  if (p.serving_flop.value > 0) {
    out += serving_text(asked);
  } else if (asked.priced) {
    out += " or $" + grouped(p.total_cost, 4);
  }
  out += "\n";
  if (p.overhead && *p.overhead > 1e-6) {
    out += "  " + print_number(100 * *p.overhead, 3) +
           "% more training than the compute-optimal split for the same loss\n";
  }
  for (const optimum::TaskForecast& t : p.tasks) {
    out += "  " + t.by.law.title + ": " + info(law::output(t.by.law.form)).meaning + " " + print_number(t.by.value, 3) +
           " (" + print_number(t.low, 3) + " to " + print_number(t.high, 3) + " with the loss 19% off)\n";
  }
  return out;
}

}  // namespace detail

[[nodiscard]] inline std::string optimum_text(const std::vector<AskedLaw>& asked, double level) {
  std::string out;
  std::vector<optimum::Purchase> purchases;
  for (const AskedLaw& a : asked) {
    out += (out.empty() ? "" : "\n") + detail::purchase_text(a, level);
    purchases.push_back(a.purchase);
  }
  if (asked.size() < 2) return out;
  const optimum::Spread s = optimum::spread(purchases);
  Table table({"law", "N", "D", "D/N", "loss", "decades beyond its runs"});
  for (const AskedLaw& a : asked) {
    const optimum::Split& split = a.purchase.split;
    const bool known_range = law::knows_range(a.law.range, law::inputs(a.law.form));
    table.add({a.law.name,
               print(split.parameters, 4),
               print(split.tokens, 4),
               {split.tokens.value / split.parameters.value, 3},
               a.purchase.loss ? Cell(*a.purchase.loss, 5) : Cell(),
               known_range ? Cell(a.purchase.extrapolation_decades, 2) : Cell("not known")});
  }
  return out + "\n" + table.text() + "\nby these laws: N " + print(s.fewest_parameters, 4) + " to " +
         print(s.most_parameters, 4) + ", D " + print(s.fewest_tokens, 4) + " to " + print(s.most_tokens, 4) + "\n";
}

[[nodiscard]] inline Table optimum_table(const std::vector<AskedLaw>& asked) {
  Table out({"law", "N", "N low", "N high", "D", "D low", "D high", "D/N", "loss", "training FLOP", "serving FLOP",
             "cost (USD)", "saving (%)", "decades beyond", "N counts", "method"});
  const auto end = [](const std::optional<Estimate>& e, double Interval::*side) {
    return e ? known(e->interval.*side, 4) : Cell();
  };
  for (const AskedLaw& a : asked) {
    const optimum::Purchase& p = a.purchase;
    out.add({a.law.name,
             {p.split.parameters.value, 4},
             end(p.parameters, &Interval::low),
             end(p.parameters, &Interval::high),
             {p.split.tokens.value, 4},
             end(p.tokens, &Interval::low),
             end(p.tokens, &Interval::high),
             {p.split.tokens.value / p.split.parameters.value, 3},
             p.loss ? Cell(*p.loss, 5) : Cell(),
             {p.training_flop().value, 4},
             {p.serving_flop.value, 4},
             a.priced ? Cell(p.total_cost, 4) : Cell(),
             {100 * p.saving_fraction(), 3},
             {p.extrapolation_decades, 2},
             law::to_text(a.law.parameter_convention),
             to_text(p.method)});
  }
  return out;
}

}  // namespace floplan::report
