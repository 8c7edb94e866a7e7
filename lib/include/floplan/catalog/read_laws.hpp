// SPDX-License-Identifier: BSD-3-Clause
//
// Turning data/laws/<form>.csv into laws of that form: one file a form, one row a law.
//
//   const std::vector<law::LawRecord<law::Kaplan<>>> laws = read_laws<law::Kaplan<>>(parse_csv(text, "kaplan.csv"));
//
// Columns are those of data/README.md: a law's name, title and conventions, its form's coefficients, the range it was
// fitted in (<input>_low, <input>_high), its provenance, and `trust`, a sentence on when to believe it. A coefficient X
// stands plain in the column X or as its natural logarithm in log_X, whichever its source printed, so that no digit is
// lost. The form power has columns of its own: output, offset, coefficient, and <input>_exponent, <input>_scale.
//
// Errors: Error(data) at file:line:column for an unknown column, a cell that is no number, a coefficient outside the range
// of its form, both or neither of X and log_X, or a name given twice.
// Pitfall: `rounding` says whether the digits are all that the fit had, not whether they are few: alpha .34 was .3392.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/catalog/read_records.hpp"
#include "floplan/catalog/record_reader.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/law/form.hpp"
#include "floplan/law/power.hpp"
#include "floplan/law/scaling_law.hpp"

namespace floplan::catalog {

namespace detail {

// Here and below, what needs no form's type is in functions of its own, which a program then holds once and not once a form.
inline void add_coefficient_columns(std::vector<std::string>& out, const char* coefficient) {
  out.emplace_back(coefficient);
  out.push_back("log_" + std::string(coefficient));
}

[[nodiscard]] inline std::vector<std::string> common_law_columns() {
  std::vector<std::string> out = {"name",      "aliases",  "title", "parameter_convention", "flop_convention",
                                  "loss_unit", "rounding", "trust"};
  for (const law::InputInfo& input : law::input_table) {
    out.push_back(std::string(input.key) + "_low");
    out.push_back(std::string(input.key) + "_high");
  }
  return out;
}

template <class F>
[[nodiscard]] std::vector<std::string> law_columns() {
  std::vector<std::string> out = common_law_columns();
  if constexpr (law::Form<F>) {
    for (const auto& c : F::coefficients()) add_coefficient_columns(out, c.name);
  } else {
    out.insert(out.end(), {"output", "offset", "coefficient"});
    for (const law::InputInfo& input : law::input_table) {
      out.push_back(std::string(input.key) + "_exponent");
      out.push_back(std::string(input.key) + "_scale");
    }
  }
  return out;
}

[[nodiscard]] inline double read_coefficient(const RecordReader& r, const std::string& name, double low, double high) {
  const auto plain = r.number(name);
  const auto logarithm = r.number("log_" + name);
  if (plain.has_value() == logarithm.has_value())
    throw r.fail(name, "must be given, or log_" + name + ", and not both");
  const double value = plain ? *plain : std::exp(*logarithm);
  if (!(value >= low && value <= high)) {
    throw r.fail(plain ? name : "log_" + name, "must make " + name + " from " + print_number(low, 6) + " to " +
                                                   print_number(high, 6) + ", got " + print_number(value, 6));
  }
  return value;
}

template <law::Form F>
void read_form(const RecordReader& r, F& form) {
  for (const auto& c : F::coefficients()) form.*c.field = read_coefficient(r, c.name, c.low, c.high);
}

inline void read_form(const RecordReader& r, law::Power<>& form) {
  const std::string key = r.required_text("output");
  const auto output = law::find_output(key);
  if (!output) throw r.fail("output", "must be a quantity that laws answer, got \"" + key + "\"");
  form.output = *output;
  form.offset = r.number("offset").value_or(0);
  form.coefficient = r.positive("coefficient").value_or(1);
  for (std::size_t i = 0; i < law::input_table.size(); ++i) {
    const std::string name = law::input_table[i].key;
    const auto exponent = r.number(name + "_exponent");
    const auto scale = r.positive(name + "_scale");
    if (scale && !exponent) throw r.fail(name + "_scale", "needs " + name + "_exponent");
    if (!exponent) continue;
    form.arguments.push_back(static_cast<law::Input>(i));
    form.exponents.push_back(*exponent);
    form.scales.push_back(scale.value_or(1));
  }
  if (form.arguments.empty()) throw r.fail("name", "needs the exponent of at least one quantity");
}

// T: the form, or a type that can hold it.
template <class F, class T>
[[nodiscard]] T form_of_row(const RecordReader& r) {
  F form;
  read_form(r, form);
  return form;
}

inline void read_range(const RecordReader& r, law::FitRange& range) {
  for (std::size_t i = 0; i < law::input_table.size(); ++i) {
    const std::string name = law::input_table[i].key;
    const auto low = r.number(name + "_low");
    const auto high = r.number(name + "_high");
    if (low && high && *low > *high) throw r.fail(name + "_high", "must not be below " + name + "_low");
    switch (static_cast<law::Input>(i)) {
      case law::Input::parameters: range.parameters_low = low, range.parameters_high = high; break;
      case law::Input::tokens: range.tokens_low = low, range.tokens_high = high; break;
      case law::Input::flop: range.flop_low = low, range.flop_high = high; break;
      default:
        if (low || high) range.others.push_back({static_cast<law::Input>(i), low, high});
    }
  }
}

template <class T>
[[nodiscard]] std::vector<law::LawRecord<T>> read_law_rows(const CsvTable& table, std::vector<std::string> columns,
                                                           T (*read)(const RecordReader&)) {
  return read_rows(table, std::move(columns), [read](const RecordReader& r) {
    law::LawRecord<T> out;
    out.aliases = r.list("aliases");
    out.title = r.text("title");
    out.form = read(r);
    using law::FlopConvention;
    using law::ParameterConvention;
    out.parameter_convention = r.one_of<ParameterConvention>(
        "parameter_convention", {{"total", ParameterConvention::total},
                                 {"active", ParameterConvention::active},
                                 {"non_embedding", ParameterConvention::non_embedding},
                                 {"without_input_embedding", ParameterConvention::without_input_embedding}});
    out.flop_convention = r.one_of<FlopConvention>(
        "flop_convention",
        {{"6N", FlopConvention::six_n}, {"6N+causal", FlopConvention::causal}, {"6N+full", FlopConvention::full}});
    out.loss_unit = r.required_text("loss_unit");
    out.rounded = r.one_of<bool>("rounding", {{"full", false}, {"rounded", true}});
    out.trust = r.text("trust");
    read_range(r, out.range);
    out.provenance = r.provenance();
    return out;
  });
}

}  // namespace detail

// As laws of a type T that can hold the form, such as law::AnyForm, or of the form itself.
template <class F, class T = F>
[[nodiscard]] std::vector<law::LawRecord<T>> read_laws(const CsvTable& table) {
  return detail::read_law_rows<T>(table, detail::law_columns<F>(), detail::form_of_row<F, T>);
}

}  // namespace floplan::catalog
