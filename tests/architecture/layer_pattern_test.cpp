// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/architecture/layer_pattern.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "floplan/core/random.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using architecture::LayerPattern;

LayerPattern parsed(const std::string& text) { return LayerPattern::parse(text, "pattern"); }

}  // namespace

TEST_CASE("Megatron's notation is read: lists, sums, repetitions and parentheses") {
  CHECK(parsed("[0]*3+[1]*58") == LayerPattern::from(3, 61));
  CHECK(parsed(" ( [0] * 3 + [1] * 58 ) ") == LayerPattern::from(3, 61));
  CHECK(parsed("([0]+[1])*24") == LayerPattern::every(2, 48));
  CHECK(parsed("[0,1,1,0]") == LayerPattern({false, true, true, false}));
  CHECK(parsed("([1]*5+[0]*1)*2+[1]").count() == 11);
  CHECK(parsed("[1]*4") == LayerPattern::all(4));
  CHECK(parsed("[0,1]*2*2") == LayerPattern::every(2, 8));
}

TEST_CASE("a layer beyond the flags is not of the kind, and the inverse has the others") {
  const LayerPattern p = parsed("[0]*3+[1]*2");
  CHECK_FALSE(p[2]);
  CHECK(p[3]);
  CHECK_FALSE(p[5]);
  CHECK_FALSE(p[-1]);
  CHECK(p.inverted() == parsed("[1]*3+[0]*2"));
}

TEST_CASE("what is written reads back the same") {
  CHECK(LayerPattern::from(3, 61).text() == "[0]*3+[1]*58");
  CHECK(LayerPattern::every(2, 48).text() == "([0]*1+[1]*1)*24");
  CHECK(parsed("([1]*5+[0]*1)*10+[1]*2").text() == "([1]*5+[0]*1)*10+[1]*2");
  RandomStream random(7);
  for (int i = 0; i < 500; ++i) {
    std::vector<bool> flags;
    const auto size = 1 + random.below(60);
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(size); ++k) flags.push_back(random.below(2) == 1);
    const LayerPattern p(flags);
    CHECK(parsed(p.text()) == p);
  }
}

TEST_CASE("a pattern that cannot be read is refused with its place and its limit") {
  for (const char* bad : {"", "[", "[]", "[2]", "[0]*", "([0]", "[0]]", "[0]+", "0*3", "[0]*100001", "[0,1]*60000",
                          "[0] [1]", "([0]*3+[1]*58", "[0]*-1", "[0]*99999999999999999999"}) {
    CAPTURE(bad);
    const Error error = thrown::by([&] { (void)parsed(bad); });
    CHECK(error.failure() == Failure::usage);
    CHECK(error.code() == "bad_pattern");
    CHECK(thrown::says(error, "at its character"));
  }
  CHECK(thrown::says(thrown::by([&] { (void)parsed(std::string(20, '(') + "[1]" + std::string(20, ')')); }),
                     "nest deeper"));
}
