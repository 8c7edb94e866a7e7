// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tree.hpp"

namespace {

// Lines of the comment that a header opens with; the SPDX line, #pragma once and blank lines before it do not count.
std::size_t opening_comment(const std::vector<std::string>& lines) {
  std::size_t i = 0;
  while (i < lines.size() && (lines[i].empty() || lines[i] == "#pragma once" || lines[i].starts_with("// SPDX-"))) ++i;
  const auto first = i;
  while (i < lines.size() && lines[i].starts_with("//")) ++i;
  return i - first;
}

// Whether every `key` in the JSON text has a value that begins with `value`. A look at the text is enough: inside a
// string, the key's quotes would be escaped.
bool always(std::string_view text, std::string_view key, std::string_view value, std::string_view value_end = "") {
  for (auto at = text.find(key); at != text.npos; at = text.find(key, at)) {
    at += key.size();
    auto rest = house::trimmed(text.substr(at));
    if (!house::take(rest, ":") || !house::take(rest, value) || !rest.starts_with(value_end)) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every C++ file names its licence") {
  std::vector<std::string> wrong;
  for (const auto* folder : {"lib", "tools", "tests"}) {
    for (const auto& path : house::files(folder, {".hpp", ".cpp"})) {
      const auto lines = house::lines(path);
      if (lines.empty() || lines[0] != "// SPDX-License-Identifier: BSD-3-Clause") {
        wrong.push_back(house::place(path, 1) + ": must be \"// SPDX-License-Identifier: BSD-3-Clause\"");
      }
    }
  }
  CHECK_MESSAGE(wrong.empty(), house::joined(wrong));
}

TEST_CASE("a public header opens with 5 to 25 lines of comment and has at most 400 lines") {
  std::vector<std::string> wrong;
  for (const auto& path : house::files("lib/include", {".hpp"})) {
    const auto lines = house::lines(path);
    const auto comment = opening_comment(lines);
    if (comment < 5 || comment > 25) {
      wrong.push_back(house::place(path, 2) + ": opens with " + std::to_string(comment) + " lines of comment");
    }
    if (lines.size() > 400) wrong.push_back(house::place(path, 401) + ": more than 400 lines");
  }
  CHECK_MESSAGE(wrong.empty(), house::joined(wrong));
}

// Only notebooks without results can be read in a diff.
TEST_CASE("notebooks are kept without outputs") {
  std::vector<std::string> wrong;
  for (const auto& path : house::files("notebooks", {".ipynb"})) {
    const auto text = house::text(path);
    if (!always(text, "\"outputs\"", "[", "]")) wrong.push_back(house::place(path, 1) + ": has outputs");
    if (!always(text, "\"execution_count\"", "null"))
      wrong.push_back(house::place(path, 1) + ": has an execution count");
  }
  CHECK_MESSAGE(wrong.empty(), house::joined(wrong));
}
