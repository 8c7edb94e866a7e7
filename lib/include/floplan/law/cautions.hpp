// SPDX-License-Identifier: BSD-3-Clause
//
// What an expert would remark on an answer because of the law that it rests on.
//
//   for (const Warning& w : law::cautions(record, decades)) ...      decades: extrapolation_decades of what was asked
//   law::no_interval(record)                                         why it has no interval, if it has none
//
// Codes: extrapolation, outside_fit (of an input that is not N, D or C), no_fit_range (nothing is known of where it was
// fitted, so extrapolation was not checked), rounded_law, unverified_law, no_interval. Every command that uses a law gives the same words.
//
// Pitfall: a remark never changes a number. Whether the law's form holds that far out, none of them can say.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::law {

// Whether any end of the range of N, D or C is known.
[[nodiscard]] inline bool has_range(const FitRange& r) {
  return r.parameters_low || r.parameters_high || r.tokens_low || r.tokens_high || r.flop_low || r.flop_high;
}

template <class Form>
[[nodiscard]] std::vector<Warning> cautions(const LawRecord<Form>& law, double decades) {
  std::vector<Warning> out;
  if (decades > 0.01) {
    out.push_back({"extrapolation", print_number(decades, 2) + " powers of ten outside what " + law.name +
                                        " was fitted on" + range_text(law.range)});
  }
  if (!has_range(law.range) && law.range.others.empty()) {
    out.push_back({"no_fit_range", law.name + (law.own_fit ? " has no fit_range" : " was published without a range") +
                                       ": how far this extrapolates was not checked"});
  }
  if (law.rounded) out.push_back({"rounded_law", law.name + " has rounded coefficients: " + law.provenance.note});
  if (!law.provenance.verified) {
    out.push_back({"unverified_law", law.name + "'s figures rest on " +
                                         (law.provenance.source.empty() ? "no named source" : law.provenance.source) +
                                         " and are not verified"});
  }
  return out;
}

// outsides: law::outside's answer (any_form.hpp), which knows the law's other inputs too.
template <class Form, class Outsides>
requires requires(const Outsides& o) { o.begin()->decades; }
[[nodiscard]] std::vector<Warning> cautions(const LawRecord<Form>& law, const Outsides& outsides) {
  double decades = 0;
  std::string others;
  for (const auto& o : outsides) {
    if (o.input == Input::parameters || o.input == Input::active_parameters || o.input == Input::tokens ||
        o.input == Input::flop) {
      decades = std::max(decades, o.decades);
      continue;
    }
    others += (others.empty() ? "" : ", ") + std::string(info(o.input).key) + " " + print_number(o.value, 4) + " (" +
              (o.low ? "from " + print_number(*o.low, 4) : "") + (o.low && o.high ? " " : "") +
              (o.high ? "to " + print_number(*o.high, 4) : "") + ")";
  }
  std::vector<Warning> out = cautions(law, decades);
  if (!others.empty()) out.push_back({"outside_fit", law.name + " was not fitted at " + others});
  return out;
}

// An interval needs replicates: a published law seldom has them, a fit has them where it was bootstrapped.
template <class Form>
[[nodiscard]] std::optional<Warning> no_interval(const LawRecord<Form>& law) {
  if (!law.replicates.empty()) return std::nullopt;
  if (law.own_fit) {
    return Warning{"no_interval",
                   law.name + " holds no resamples, so no interval can be given: fit with --bootstrap for one"};
  }
  return Warning{"no_interval", law.name +
                                    " was published without a covariance of its coefficients, so no interval can be "
                                    "given; the spread of several laws (--law a,b,c) says more than none"};
}

}  // namespace floplan::law
