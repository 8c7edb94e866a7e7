// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/core/names.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "floplan/core/random.hpp"

namespace {

using namespace floplan;

using Names = std::vector<std::string>;

const Names accelerators{"h100-sxm", "h100-pcie", "a100-sxm-80gb", "mi300x", "tpu-v5p"};

}  // namespace

TEST_CASE("names that begin with the text come first") {
  CHECK(nearest_names("h100", accelerators) == Names{"h100-sxm", "h100-pcie"});
  CHECK(nearest_names("H100", accelerators) == Names{"h100-sxm", "h100-pcie"});
  CHECK(nearest_names("80gb", accelerators).front() == "a100-sxm-80gb");
}

TEST_CASE("a slip of one letter finds the name") {
  for (const char* slip : {"mi30x", "mi3000x", "mi300y", "im300x", "MI300X "}) {
    CAPTURE(std::string(slip));
    REQUIRE_FALSE(nearest_names(slip, accelerators).empty());
    CHECK(nearest_names(slip, accelerators).front() == "mi300x");
  }
}

TEST_CASE("nothing is suggested for a text that is like no name") {
  CHECK(nearest_names("zzzzzzzzzz", accelerators).empty());
  CHECK(nearest_names("", accelerators).empty());
  CHECK(nearest_names("h100", {}).empty());
  CHECK(nearest_names_text("zzzzzzzzzz", accelerators).empty());
  CHECK(nearest_names(std::string(100000, 'q'), accelerators).empty());
}

TEST_CASE("at most as many names as asked for, the nearest first") {
  const Names many{"aaab", "aaaa", "aaabb", "aabbb", "abbbb"};
  CHECK(nearest_names("aaaa", many, 2).size() == 2);
  CHECK(nearest_names("aaaa", many, 2).front() == "aaaa");
  CHECK(nearest_names("aaaa", many).size() == 3);
}

TEST_CASE("the text for an error lists the names") {
  CHECK(nearest_names_text("h100", accelerators) == " (nearest: h100-sxm, h100-pcie)");
}

TEST_CASE("the distance counts insertions, deletions, changes and swaps of neighbours as one each") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("abc", "abc") == 0);
  CHECK(edit_distance("abc", "abxc") == 1);
  CHECK(edit_distance("abc", "ac") == 1);
  CHECK(edit_distance("abc", "axc") == 1);
  CHECK(edit_distance("abc", "acb") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("the distance is symmetric, zero only between equals, and obeys the bounds of lengths") {
  RandomStream random(31);
  const auto word = [&random] {
    std::string out;
    for (std::uint32_t k = random.below(7); k > 0; --k) out += static_cast<char>('a' + random.below(3));
    return out;
  };
  for (int i = 0; i < 2000; ++i) {
    const std::string a = word();
    const std::string b = word();
    const std::size_t d = edit_distance(a, b);
    CHECK(d == edit_distance(b, a));
    CHECK((d == 0) == (a == b));
    CHECK(d <= std::max(a.size(), b.size()));
    CHECK(d >= std::max(a.size(), b.size()) - std::min(a.size(), b.size()));
  }
}

TEST_CASE("lower case leaves digits, signs and other alphabets alone") {
  CHECK(lower_case("H100-SXM_80GB") == "h100-sxm_80gb");
  CHECK(lower_case("\xC3\x89") == "\xC3\x89");
}
