// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/runs/row_filter.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "floplan/runs/column_map.hpp"
#include "floplan/runs/sheet.hpp"
#include "support/thrown.hpp"

using namespace floplan;

namespace {

constexpr std::string_view text =
    "name,keep,Model Size,D/N,State,outlier,date,D\n"
    "a,1,12.0M,20,finished,False,2024-05-01,1e9\n"
    "b,0,100M,0.5,failed,True,2024-06-01,2e9\n"
    "c,1,,200,finished,False,2025-01-01,\n"
    "\"d (x)\",0,1B,NaN,,True,2023-12-31,4e9\n";

// The names of the rows that pass.
std::string passing(std::string_view where) {
  const runs::Sheet sheet = runs::read_sheet(text, "runs.csv");
  const runs::TitleIndex index(sheet.titles());
  const auto mapping = runs::map_columns(index, "runs.csv", {});
  const runs::RowFilter filter(where, index, mapping);
  std::string out;
  for (std::size_t row = 0; row < sheet.size(); ++row) {
    if (filter.passes(sheet, row)) out += sheet.cell(row, 0).substr(0, 1);
  }
  return out;
}

std::string place_of(std::string_view where) {
  const Error error = thrown::by([where] { (void)passing(where); });
  CHECK(error.failure() == Failure::usage);
  return error.where();
}

}  // namespace

TEST_CASE("an empty filter lets every row through") {
  CHECK(passing("") == "abcd");
  CHECK(passing("  ") == "abcd");
}

TEST_CASE("numbers are compared as numbers, with the suffixes that cells may have") {
  CHECK(passing("keep==1") == "ac");
  CHECK(passing("keep = 1.0") == "ac");
  CHECK(passing("keep!=1") == "bd");
  CHECK(passing("`Model Size` < 500M") == "ab");
  CHECK(passing("\"Model Size\">=100e6") == "bd");
  CHECK(passing("D/N <= 20") == "ab");
}

TEST_CASE("a cell without a number equals none, differs from all, and is neither less nor greater") {
  CHECK(passing("`Model Size` == 0").empty());
  CHECK(passing("`Model Size` != 0") == "abcd");
  CHECK(passing("D/N < 1e9 || D/N >= 1e9") == "abc");
  CHECK(passing("!(D/N < 1e9)") == "d");
}

TEST_CASE("text is compared as it is written, and dates order") {
  CHECK(passing("State==finished") == "ac");
  CHECK(passing("State == 'finished'") == "ac");
  CHECK(passing("State==\"\"") == "d");
  CHECK(passing("State != finished") == "bd");
  CHECK(passing("name == 'd (x)'") == "d");
  CHECK(passing("date >= 2024-06-01") == "bc");
  CHECK(passing("keep == '1'") == "ac");
  CHECK(passing("keep == '1.0'").empty());
  CHECK(passing("State ~ fini") == "ac");
}

TEST_CASE("true and false are 1 and 0 in cells and in filters") {
  CHECK(passing("outlier==0") == "ac");
  CHECK(passing("outlier==false") == "ac");
  CHECK(passing("outlier==TRUE") == "bd");
  CHECK(passing("keep==true") == "ac");
}

TEST_CASE("and binds tighter than or, and parentheses and ! do what they say") {
  CHECK(passing("keep==1 || keep==0 && outlier==0") == "ac");
  CHECK(passing("(keep==1 || keep==0) && outlier==0") == "ac");
  CHECK(passing("name==a || name==b && keep==1") == "a");
  CHECK(passing("(name==a || name==b) && keep==0") == "b");
  CHECK(passing("!name==a") == "bcd");
  CHECK(passing("!!name==a") == "a");
  CHECK(passing("!(name==a || name==b)&&!(name==c)") == "d");
}

TEST_CASE("a role stands for its mapped column in SI where no column has its name") {
  CHECK(passing("parameters < 500e6") == "ab");
  CHECK(passing("tokens > 1.5B") == "bd");
  CHECK(place_of("loss > 1") == "where:1");
}

TEST_CASE("a bad filter is a usage error at its character") {
  CHECK(place_of("keep") == "where:5");
  CHECK(place_of("keep==") == "where:7");
  CHECK(place_of("keep==1 &&") == "where:11");
  CHECK(place_of("keep==1 & keep==0") == "where:9");
  CHECK(place_of("keep==1 keep==0") == "where:9");
  CHECK(place_of("(keep==1") == "where:9");
  CHECK(place_of("keep==1)") == "where:8");
  CHECK(place_of("keep==1 && kep==1") == "where:12");
  CHECK(place_of("`keep==1") == "where:1");
  CHECK(place_of("keep ~ ''") == "where:6");
  CHECK(place_of("==1") == "where:1");
  CHECK(place_of("keep<>1") == "where:6");
  CHECK(thrown::says(thrown::by([] { (void)passing("kep==1"); }), "nearest: keep"));
}

TEST_CASE("parentheses nest 64 deep and no deeper, and long chains are no deep ones") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '(') + "keep==1" + std::string(depth, ')'); };
  CHECK(passing(nested(64)) == "ac");
  CHECK(place_of(nested(65)) == "where:65");
  CHECK(place_of(std::string(100000, '(')) == "where:65");
  std::string chain = "keep==1";
  for (int i = 0; i < 10000; ++i) chain += " && keep==1";
  CHECK(passing(chain) == "ac");
  CHECK(passing(std::string(100001, '!') + "keep==1") == "bd");
}
