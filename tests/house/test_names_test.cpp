// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tree.hpp"

namespace {

struct Named {
  std::size_t line;
  std::string name;
};

// The text of the literal that `rest` begins with, which it is then past; nothing if there is none.
std::optional<std::string> take_literal(std::string_view& rest) {
  if (!rest.starts_with('"')) return std::nullopt;
  std::size_t end = 1;
  while (end < rest.size() && rest[end] != '"') end += rest[end] == '\\' ? 2 : 1;
  end = std::min(end, rest.size() - 1);
  const std::string literal(rest.substr(1, end - 1));
  rest = house::trimmed(rest.substr(end + 1));
  return literal;
}

// The names of the cases in a test source; adjacent literals are joined as the compiler joins them.
std::vector<Named> case_names(std::string_view source) {
  std::vector<Named> names;
  for (std::size_t line = 1; !source.empty(); ++line) {
    auto rest = house::trimmed(source.substr(0, source.find('\n')));
    const bool is_case = rest.starts_with("TEST_CASE") && rest.find('(') != rest.npos;
    if (is_case) {
      rest = house::trimmed(source.substr(source.find('(') + 1));
      Named named{line, {}};
      while (const auto literal = take_literal(rest)) named.name += *literal;
      names.push_back(named);
    }
    source.remove_prefix(std::min(source.find('\n'), source.size() - 1) + 1);
  }
  return names;
}

}  // namespace

// doctest's discovery for CTest splits a name at ';' into tests that run no case and pass.
TEST_CASE("no test case has a semicolon in its name, and no two in one program share a name") {
  std::vector<std::string> wrong;
  std::map<std::string, std::string> seen;
  for (const auto& path : house::files("tests", {".cpp", ".hpp"})) {
    for (const auto& [line, name] : case_names(house::text(path))) {
      const auto place = house::place(path, line);
      if (name.empty()) wrong.push_back(place + ": a case without a name");
      if (name.find(';') != std::string::npos) wrong.push_back(place + ": ';' in \"" + name + "\"");
      const auto [first, added] = seen.emplace(path.parent_path().string() + "/" + name, place);
      if (!added) wrong.push_back(place + ": the name is taken by " + first->second);
    }
  }
  CHECK(seen.size() > 1);
  CHECK_MESSAGE(wrong.empty(), house::joined(wrong));
}
