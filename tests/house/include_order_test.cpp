// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "tree.hpp"

namespace {

// The only direction in which an include may run: a module includes itself and those before it.
constexpr std::array<std::string_view, 12> modules{"core",    "law",         "architecture", "catalog",
                                                   "runs",    "fit",         "optimum",      "serving",
                                                   "cluster", "reliability", "plan",         "report"};

std::size_t rank(std::string_view module) {
  return static_cast<std::size_t>(std::find(modules.begin(), modules.end(), module) - modules.begin());
}

// The name that an include directive includes, after the mark that opens it: '<' or '"'. Empty for any other line.
std::string_view included(std::string_view line) {
  auto rest = house::trimmed(line);
  if (!house::take(rest, "#") || !house::take(rest, "include") || rest.empty()) return {};
  return rest.substr(0, rest.find_first_of(">\"", 1));
}

// Every include in the files of root/folder/<module>/ that points forward, names no module, or is relative.
std::vector<std::string> wrong_includes(const std::string& folder) {
  std::vector<std::string> wrong;
  for (const auto& path : house::files(folder, {".hpp", ".cpp"})) {
    const auto below = path.lexically_relative(house::root / folder);
    if (below.begin() == --below.end()) continue;  // the umbrella header is in no module
    const auto module = below.begin()->string();
    if (rank(module) == modules.size()) {
      wrong.push_back(house::place(path, 1) + ": there is no module named " + module);
      continue;
    }
    const auto lines = house::lines(path);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      auto name = included(lines[i]);
      if (name.empty()) continue;
      const bool quoted = name.starts_with('"');
      name.remove_prefix(1);
      std::string problem;
      const std::string_view own = "floplan/";
      if (name == "floplan/floplan.hpp") {
        problem = "a module may not include the umbrella header";
      } else if (name.starts_with(own)) {
        const auto slash = name.find('/', own.size());
        const auto other = name.substr(own.size(), slash - own.size());
        if (slash == name.npos) continue;  // floplan/version.hpp
        if (rank(other) == modules.size()) {
          problem = "no module is named " + std::string(other);
        } else if (rank(other) > rank(module)) {
          problem = module + " may not include " + std::string(other) + ", which comes later";
        }
      } else if (quoted && path.extension() == ".hpp") {
        problem = "include it by its full name, floplan/...";
      }
      if (!problem.empty()) wrong.push_back(house::place(path, i + 1) + ": " + problem);
    }
  }
  return wrong;
}

}  // namespace

TEST_CASE("a header includes only its own and earlier modules") {
  REQUIRE_FALSE(house::files("lib/include/floplan", {".hpp"}).empty());
  const auto wrong = wrong_includes("lib/include/floplan");
  CHECK_MESSAGE(wrong.empty(), house::joined(wrong));
}

TEST_CASE("a library source includes only its own and earlier modules") {
  const auto wrong = wrong_includes("lib/src");
  CHECK_MESSAGE(wrong.empty(), house::joined(wrong));
}
