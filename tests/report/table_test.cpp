// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "floplan/core/csv.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/core/random.hpp"
#include "floplan/report/table.hpp"

using namespace floplan;
using report::Cell;
using report::grouped;
using report::Table;

TEST_CASE("text columns align to the left, number columns to the right, under headers that keep their column") {
  Table t({"stage", "days", "accelerator-hours"});
  t.add({"a", {53.41, 3}, {27616537.6, 4}});
  t.add({"a longer name", {5.0, 3}, {12.0, 4}});
  CHECK(t.text() ==
        "stage          days  accelerator-hours\n"
        "a              53.4         27,620,000\n"
        "a longer name     5                 12\n");
}

TEST_CASE("a blank cell shows as a dash, a column of text and numbers as text, and no line ends in spaces") {
  Table t({"name", "value", "note"});
  t.add({"x", {}, "some"});
  t.add({"y", {1.5, 3}, ""});
  t.add({"z", {2.5, 3}});
  CHECK(t.text() ==
        "name  value  note\n"
        "x         -  some\n"
        "y       1.5  -\n"
        "z       2.5  -\n");
  Table mixed({"a"});
  mixed.add({"text"});
  mixed.add({Cell(1.0, 3)});
  CHECK(mixed.text() == "a\ntext\n1\n");
  CHECK(Table({"only", "a header"}).text() == "only  a header\n");
}

TEST_CASE("letters of other scripts count as one column each") {
  Table t({"name", "n"});
  t.add({"Größe", {1.0, 3}});
  t.add({"abcde", {22.0, 3}});
  CHECK(t.text() == "name    n\nGröße   1\nabcde  22\n");
}

TEST_CASE("control characters reach neither the terminal nor the alignment, and stay in CSV") {
  Table t({"name", "n"});
  t.add({"a\x1b[31mb\nc\td", {1.0, 3}});
  CHECK(t.text() == "name         n\na?[31mb?c?d  1\n");
  CHECK(t.csv() == "name,n\n\"a\x1b[31mb\nc\td\",1\n");
}

TEST_CASE("numbers for people are rounded and have their thousands marked") {
  CHECK(grouped(0, 3) == "0");
  CHECK(grouped(999, 3) == "999");
  CHECK(grouped(1000, 3) == "1,000");
  CHECK(grouped(30314533.8, 4) == "30,310,000");
  CHECK(grouped(30314533.8, 3) == "30,300,000");
  CHECK(grouped(405853388800, 15) == "405,853,388,800");
  CHECK(grouped(16384, 6) == "16,384");
  CHECK(grouped(-1234567, 7) == "-1,234,567");
  CHECK(grouped(1234.5, 6) == "1234.5");
  CHECK(grouped(0.0123456, 3) == "0.0123");
  CHECK(grouped(99999, 3) == "100,000");
  CHECK(grouped(999999999, 4) == "1,000,000,000");
  CHECK(grouped(1e14, 3) == "100,000,000,000,000");
  CHECK(grouped(1e300, 3) == "1e300");
}

TEST_CASE("a rounded number is within half a unit of its last shown digit") {
  RandomStream stream(3);
  for (int i = 0; i < 20000; ++i) {
    const double x = std::pow(10, -3 + 17 * stream.uniform());
    for (const int digits : {1, 2, 3, 4, 6}) {
      std::string text = grouped(x, digits);
      std::erase(text, ',');
      const double unit = std::pow(10, std::floor(std::log10(x)) + 1 - digits);
      CAPTURE(text);
      CAPTURE(x);
      CHECK(std::abs(std::stod(text) - x) <= 0.5000001 * unit);
    }
  }
}

TEST_CASE("CSV has every digit of a number, and quotes what must be quoted") {
  Table t({"name", "value, unit", "quote\"d"});
  t.add({"a,b", {0.1, 3}, {1.0 / 3, 3}});
  t.add({"say \"x\"", {27616537.604526326, 3}, {}});
  t.add({"two\nlines", {1e-300, 3}, {405853388800, 3}});
  const CsvTable back = parse_csv(t.csv(), "t.csv");
  CHECK(back.header() == std::vector<std::string>{"name", "value, unit", "quote\"d"});
  REQUIRE(back.size() == 3);
  CHECK(back.row(0)[0] == "a,b");
  CHECK(back.row(1)[0] == "say \"x\"");
  CHECK(back.row(2)[0] == "two\nlines");
  CHECK(std::stod(std::string(back.row(0)[1])) == 0.1);
  CHECK(std::stod(std::string(back.row(0)[2])) == 1.0 / 3);
  CHECK(std::stod(std::string(back.row(1)[1])) == 27616537.604526326);
  CHECK(back.row(1)[2].empty());
  CHECK(std::stod(std::string(back.row(2)[1])) == 1e-300);
}

TEST_CASE("a number's CSV text parses to the same bits, whatever the number") {
  RandomStream stream(5);
  Table t({"x"});
  std::vector<double> all;
  for (int i = 0; i < 5000; ++i) {
    all.push_back((i % 2 == 0 ? 1 : -1) * std::pow(10, -300 + 600 * stream.uniform()));
    t.add({Cell(all.back(), 3)});
  }
  const CsvTable back = parse_csv(t.csv(), "t.csv");
  REQUIRE(back.size() == all.size());
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(std::stod(std::string(back.row(i)[0])) == all[i]);
}

TEST_CASE("a row is as long as the header") {
  Table t({"a", "b"});
  t.add({"1"});
  t.add({"1", "2", "3"});
  CHECK(t.csv() == "a,b\n1,\n1,2\n");
  CHECK(t.size() == 2);
}

TEST_CASE("an optional number or quantity is a number or a blank") {
  CHECK(Cell(std::optional<double>(), 3).text() == "-");
  CHECK(Cell(std::optional<double>(2.5), 3).exact() == "2.5");
  CHECK(Cell(std::optional<Seconds>(Seconds(7)), 3).exact() == "7");
  CHECK(Cell(std::optional<Seconds>(), 3).exact().empty());
  CHECK_FALSE(Cell().number());
  CHECK(Cell(1.0, 1).number());
}
