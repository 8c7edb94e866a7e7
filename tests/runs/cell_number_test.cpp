// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/runs/cell_number.hpp"

#include <doctest/doctest.h>

#include <string>

#include "support/reference.hpp"

using floplan::runs::CellKind;
using floplan::runs::read_number;

namespace {

std::string name_of(CellKind kind) {
  switch (kind) {
    case CellKind::number: return "number";
    case CellKind::blank: return "blank";
    case CellKind::text: return "text";
    case CellKind::out_of_range: return "out_of_range";
  }
  return "";
}

}  // namespace

TEST_CASE("a cell's number is read with its suffix, separators and unit, or not at all") {
  for (const auto& row : reference::rows("runs_numbers.csv")) {
    CAPTURE(row.place());
    CAPTURE(row.text("text"));
    const auto found = read_number(row.text("text"));
    CHECK(name_of(found.kind) == row.text("kind"));
    if (found.kind == CellKind::number) CHECK(found.value == row.number("value"));
  }
}

TEST_CASE("a comma is the decimal point only in files separated by semicolons, and thousands elsewhere") {
  CHECK(read_number("2,791").value == 2791);
  CHECK(read_number("2,791").grouped);
  CHECK(read_number("2,791", true).value == 2.791);
  CHECK(read_number("1e3", true).value == 1000);
  CHECK(read_number("2.5", true).value == 2.5);
  CHECK(read_number("1.234,5", true).kind == CellKind::text);
  CHECK(read_number("1,234,567", true).kind == CellKind::text);
}

TEST_CASE("a cell of a million digits is no number of ours and costs little") {
  CHECK(read_number(std::string(1000000, '9') + "M").kind == CellKind::text);
  CHECK(read_number(std::string(1000000, '9')).kind != CellKind::number);
  CHECK(read_number(std::string(1000000, ',')).kind == CellKind::text);
}
