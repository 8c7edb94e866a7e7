// SPDX-License-Identifier: BSD-3-Clause
//
// A figure's table, read back from its CSV.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

#include "floplan/core/csv.hpp"
#include "floplan/report/figures.hpp"

namespace figure_table {

inline floplan::CsvTable of(const std::string& name, const floplan::report::FigureContext& context) {
  for (const floplan::report::Figure& figure : floplan::report::figures()) {
    if (figure.name != name) continue;
    floplan::CsvTable out = floplan::parse_csv(figure.make(context).csv(), name + ".csv");
    CHECK(out.header() == figure.header());
    return out;
  }
  FAIL("no figure " << name);
  return {};
}

inline std::string text(const floplan::CsvTable& t, std::size_t row, const std::string& column) {
  return std::string(t.row(row)[t.column(column)]);
}
inline double at(const floplan::CsvTable& t, std::size_t row, const std::string& column) {
  return std::stod(text(t, row, column));
}

}  // namespace figure_table
