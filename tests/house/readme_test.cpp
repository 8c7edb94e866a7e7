// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "cli/cli.hpp"
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

TEST_CASE("the README's plan is what the program prints, to the byte") {
  const auto blocks = fenced(floplan::read_text_file(cli::source_folder + "/README.md"));
  REQUIRE(blocks.size() >= 3);
  REQUIRE(blocks[2].find("wall-clock days") != std::string::npos);
  const cli::Result result = cli::run({"plan", cli::plan_405b, "--quiet"});
  CHECK(result.status == 0);
  INFO(result.out);
  CHECK(result.out.find("\n" + blocks[2] + "\n") != std::string::npos);
}

TEST_CASE("the program for this machine is built apart from the presets, whose release stays portable") {
  const std::string run = floplan::read_text_file(cli::source_folder + "/tools/run");
  CHECK(run.find("build=$root/build/run\n") != std::string::npos);
  const std::string presets = floplan::read_text_file(cli::source_folder + "/CMakePresets.json");
  CHECK(presets.find("\"name\": \"run\"") == std::string::npos);
  CHECK(presets.find("\"CMAKE_BUILD_TYPE\": \"Release\", \"FLOPLAN_NATIVE\": \"OFF\"") != std::string::npos);
  CHECK(presets.find("${sourceDir}/build/${presetName}") != std::string::npos);
}

TEST_CASE("the README's program and its output are the first example's, to the byte") {
  const std::string source = FLOPLAN_SOURCE_DIR;
  const auto blocks = fenced(floplan::read_text_file(source + "/README.md"));
  REQUIRE(blocks.size() >= 2);
  const std::string example = floplan::read_text_file(source + "/tests/examples/plan_by_size.cpp");
  CHECK(blocks[0] == example.substr(example.find('\n') + 1));
  CHECK(blocks[1] == floplan::read_text_file(source + "/tests/examples/plan_by_size.txt"));
}
