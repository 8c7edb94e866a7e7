// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "floplan/core/file.hpp"

namespace {

// The text between ``` fences, in order.
std::vector<std::string> fenced(const std::string& markdown) {
  std::vector<std::string> out;
  std::size_t at = 0;
  while ((at = markdown.find("\n```", at)) != std::string::npos) {
    const std::size_t begin = markdown.find('\n', at + 1) + 1;
    const std::size_t end = markdown.find("\n```", begin - 1);
    if (end == std::string::npos) break;
    out.push_back(markdown.substr(begin, end + 1 - begin));
    at = end + 4;
  }
  return out;
}

}  // namespace

TEST_CASE("the README's program and its output are the first example's, to the byte") {
  const std::string source = FLOPLAN_SOURCE_DIR;
  const auto blocks = fenced(floplan::read_text_file(source + "/README.md"));
  REQUIRE(blocks.size() >= 2);
  const std::string example = floplan::read_text_file(source + "/tests/examples/plan_by_size.cpp");
  CHECK(blocks[0] == example.substr(example.find('\n') + 1));
  CHECK(blocks[1] == floplan::read_text_file(source + "/tests/examples/plan_by_size.txt"));
}
