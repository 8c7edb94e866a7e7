// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/core/csv.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/core/random.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;

using Cells = std::vector<std::vector<std::string>>;

Cells cells_of(const CsvTable& table) {
  Cells out;
  for (const CsvRow row : table.rows()) {
    out.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) out.back().emplace_back(row[i]);
  }
  return out;
}

Cells read(std::string_view text) { return cells_of(parse_csv(text, "a.csv")); }

std::string written(const Cells& rows, std::string_view line_end) {
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) out += (i == 0 ? "" : ",") + csv_cell(row[i]);
    out += line_end;
  }
  return out;
}

}  // namespace

TEST_CASE("plain rows, with and without a final line end") {
  const Cells expected{{"1", "2"}, {"3", "4"}};
  CHECK(read("x,y\n1,2\n3,4\n") == expected);
  CHECK(read("x,y\n1,2\n3,4") == expected);
  CHECK(read("x,y\r\n1,2\r\n3,4\r\n") == expected);
  CHECK(read("x,y\r1,2\r3,4\r") == expected);
  CHECK(parse_csv("x,y\n1,2\n", "a.csv").header() == std::vector<std::string>{"x", "y"});
}

TEST_CASE("a byte-order mark is not part of the first header") {
  const CsvTable table = parse_csv("\xEF\xBB\xBFloss,n\n1,2\n", "a.csv");
  CHECK(table.column("loss") == 0);
  CHECK(parse_csv("\xEF\xBB\xBF\"loss\",n\n1,2\n", "a.csv").column("loss") == 0);
}

TEST_CASE("quoted cells hold commas, doubled quotes and line breaks") {
  CHECK(read("x,y\n\"a,b\",\"c\"\"d\"\n") == Cells{{"a,b", "c\"d"}});
  CHECK(read("x,y\n\"two\nlines\",\"two\r\nlines\"\n") == Cells{{"two\nlines", "two\r\nlines"}});
  CHECK(read("x,y\n\"\",\"\"\"\"\n") == Cells{{"", "\""}});
  CHECK(read("x\n\"all quoted\"") == Cells{{"all quoted"}});
  CHECK(parse_csv("\"a,b\",\"c\"\n1,2\n", "a.csv").header() == std::vector<std::string>{"a,b", "c"});
}

TEST_CASE("blanks inside a cell are kept and those around a header name are not") {
  CHECK(read("x,y\n 1 ,\t2\n") == Cells{{" 1 ", "\t2"}});
  CHECK(parse_csv(" x ,\ty\n1,2\n", "a.csv").header() == std::vector<std::string>{"x", "y"});
}

TEST_CASE("a quote inside an unquoted cell is text") { CHECK(read("x,y\n6\" pipe,b\n") == Cells{{"6\" pipe", "b"}}); }

TEST_CASE("empty cells count, also after the last comma of a file") {
  CHECK(read("x,y,z\n,,\n1,,\n,2,") == Cells{{"", "", ""}, {"1", "", ""}, {"", "2", ""}});
}

TEST_CASE("blank lines are skipped and do not shift the line numbers") {
  const CsvTable table = parse_csv("\n  \nx,y\n\n1,2\n\t\n\r\n3,4\n\n", "a.csv");
  CHECK(cells_of(table) == Cells{{"1", "2"}, {"3", "4"}});
  CHECK(table.row(0).line() == 5);
  CHECK(table.row(1).line() == 8);
}

TEST_CASE("a row's line is the one it starts on, also after cells with line breaks") {
  const CsvTable table = parse_csv("x,y\n\"a\nb\r\nc\",1\nd,2\r\n\"\",3\n", "a.csv");
  REQUIRE(table.size() == 3);
  CHECK(table.row(0).line() == 2);
  CHECK(table.row(1).line() == 5);
  CHECK(table.row(2).line() == 6);
  CHECK(table.place(table.row(1), 1) == "a.csv:5:2");
}

TEST_CASE("ragged rows keep their own length and read as blank beyond it") {
  const CsvTable table = parse_csv("x,y,z\n1\n1,2,3,4\n", "a.csv");
  REQUIRE(table.size() == 2);
  CHECK(table.row(0).size() == 1);
  CHECK(table.row(0)[2].empty());
  CHECK(table.row(0)[200].empty());
  CHECK(table.row(1).size() == 4);
  CHECK(table.row(1)[3] == "4");
}

TEST_CASE("columns are found by name, and a missing one is an error that names it") {
  const CsvTable table = parse_csv("loss,n\n", "runs.csv");
  CHECK(table.size() == 0);
  CHECK(table.rows().empty());
  CHECK(table.column("n") == 1);
  CHECK(table.find_column("N") == std::nullopt);
  const Error error = thrown::by([&] { (void)table.column("tokens"); });
  CHECK(error.failure() == Failure::data);
  CHECK(error.where() == "runs.csv:1");
  CHECK(thrown::says(error, "tokens"));
  CHECK(table.header_line() == 1);
  const CsvTable later = parse_csv("\n\nloss,n\n1,2\n", "runs.csv");
  CHECK(later.header_line() == 3);
  CHECK(thrown::by([&] { (void)later.column("tokens"); }).where() == "runs.csv:3");
}

TEST_CASE("a quote that never closes is an error where it opened") {
  const Error error = thrown::by([] { (void)parse_csv("x,y\n1,2\n3,\"4\n5,6\n7,8\n", "runs.csv"); });
  CHECK(error.failure() == Failure::data);
  CHECK(error.exit_status() == 4);
  CHECK(error.where() == "runs.csv:3:2");
  CHECK(thrown::says(error, "close"));
  CHECK(thrown::by([] { (void)parse_csv("x\n\"", "runs.csv"); }).where() == "runs.csv:2:1");
  CHECK(thrown::by([] { (void)parse_csv("x\n\"a\"\"", "runs.csv"); }).where() == "runs.csv:2:1");
}

TEST_CASE("text after a closing quote is an error at its cell") {
  const Error error = thrown::by([] { (void)parse_csv("x,y,z\n1,2,3\n1,\"2\"3,4\n", "runs.csv"); });
  CHECK(error.failure() == Failure::data);
  CHECK(error.where() == "runs.csv:3:2");
  CHECK(thrown::says(error, "\"3\""));
  CHECK(thrown::by([] { (void)parse_csv("x\n\"a\" \n", "runs.csv"); }).where() == "runs.csv:2:1");
}

TEST_CASE("a file without a header is refused") {
  for (const char* text : {"", "\n\n", "  \n\t\n", "\xEF\xBB\xBF"}) {
    const Error error = thrown::by([text] { (void)parse_csv(text, "empty.csv"); });
    CHECK(error.failure() == Failure::data);
    CHECK(thrown::says(error, "empty.csv:1:1"));
  }
}

TEST_CASE("a table outlives the text it was read from, and so do its copies") {
  std::optional<CsvTable> copy;
  {
    std::string text = "x,y\n\"a\"\"b\",c\n";
    const CsvTable table = parse_csv(text, "a.csv");
    text.assign(text.size(), '#');
    copy = table;
  }
  CHECK(cells_of(*copy) == Cells{{"a\"b", "c"}});
}

TEST_CASE("any cells written by csv_cell are read back") {
  constexpr std::string_view alphabet = "abc ,\"\r\n\t;\xC3\xA9";
  RandomStream random(21);
  for (int repeat = 0; repeat < 500; ++repeat) {
    Cells rows{{"one", "two", "three"}};
    const std::uint32_t count = random.below(6);
    for (std::uint32_t r = 0; r < count; ++r) {
      rows.emplace_back();
      for (int c = 0; c < 3; ++c) {
        std::string cell;
        for (std::uint32_t k = random.below(6); k > 0; --k) {
          cell += alphabet[random.below(static_cast<std::uint32_t>(alphabet.size()))];
        }
        rows.back().push_back(cell);
      }
    }
    const Cells body(rows.begin() + 1, rows.end());
    const std::string text = written(rows, repeat % 2 == 0 ? "\n" : "\r\n");
    CAPTURE(text);
    CHECK(read(text) == body);
  }
  CHECK(csv_cell("plain") == "plain");
  CHECK(csv_cell("a,b") == "\"a,b\"");
  CHECK(csv_cell("a\"b") == "\"a\"\"b\"");
}

TEST_CASE("any bytes at all are a table or an error of the data") {
  constexpr std::string_view alphabet = "\"\"\",,\n\r\na1 \xEF\xBB\xBF";
  RandomStream random(22);
  std::size_t tables = 0;
  std::size_t errors = 0;
  for (int repeat = 0; repeat < 20000; ++repeat) {
    std::string text;
    for (std::uint32_t k = random.below(24); k > 0; --k) {
      text += random.below(8) == 0 ? static_cast<char>(random.below(256))
                                   : alphabet[random.below(static_cast<std::uint32_t>(alphabet.size()))];
    }
    try {
      const CsvTable table = parse_csv(text, "fuzz.csv");
      ++tables;
      std::size_t size = 0;
      for (const CsvRow row : table.rows()) {
        for (std::size_t i = 0; i < row.size(); ++i) size += row[i].size();
      }
      if (size > text.size()) FAIL_CHECK("cells longer than their text: " << text);
    } catch (const Error& error) {
      ++errors;
      if (error.failure() != Failure::data) FAIL_CHECK("wrong kind of error: " << error.what());
    }
  }
  CHECK(tables > 1000);
  CHECK(errors > 1000);
}

TEST_CASE("a million cells are read in well under a second") {
  std::string text = "a,b,c,d,e,f,g,h,i,j\n";
  for (int row = 0; row < 100000; ++row) text += "1.5,2,\"x,y\",4,,6,7e19,8,9,10\n";
  const auto start = std::chrono::steady_clock::now();
  const CsvTable table = parse_csv(text, "big.csv");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  REQUIRE(table.size() == 100000);
  CHECK(table.row(99999).line() == 100001);
  CHECK(table.row(99999)[2] == "x,y");
  MESSAGE("a million cells took " << took.count() << " s");
  CHECK(took.count() < 3.0);  // an order of magnitude above a loaded machine; quadratic time would be minutes
}
