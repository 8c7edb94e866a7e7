// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

#include "floplan/catalog/catalog.hpp"
#include "floplan/core/file.hpp"
#include "floplan/plan/planner.hpp"
#include "floplan/plan/request_file.hpp"

using namespace floplan;

namespace {

const std::filesystem::path plans = std::filesystem::path(FLOPLAN_SOURCE_DIR) / "data" / "plans";

// "stage[1].layout.tp" as the reference writes it: "stage.layout.tp".
std::string without_index(std::string path) {
  const auto open = path.find('[');
  return open == std::string::npos ? path : path.erase(open, path.find(']') + 1 - open);
}

// The names in the first column of the reference's tables, as in "| `reliability.restart` | ...".
std::set<std::string> described(const std::string& reference) {
  std::set<std::string> out;
  const std::string mark = "\n| `";
  for (auto at = reference.find(mark); at != std::string::npos; at = reference.find(mark, at + 1)) {
    const auto begin = at + mark.size();
    out.insert(reference.substr(begin, reference.find('`', begin) - begin));
  }
  return out;
}

std::string block(const std::string& reference, const std::string& language) {
  const auto begin = reference.find("```" + language + "\n") + language.size() + 4;
  return reference.substr(begin, reference.find("```", begin) - begin);
}

}  // namespace

TEST_CASE("the reference of plan files has every key that the reader asks for, and no other") {
  plan::Document document(read_text_file(plans / "llama3_405b.toml"), "llama3_405b.toml");
  const catalog::Catalog catalog;
  (void)plan::detail::RequestReader(document, catalog, plans).read();
  std::set<std::string> known;
  for (const auto& [section, keys] : document.asked()) {
    const std::string path = without_index(section);
    for (const std::string& key : keys) known.insert(path.empty() ? key : path + "." + key);
  }
  // Tables hold fields and are none themselves.
  for (const char* table : {"stage", "stack", "machine", "reliability", "reliability.log", "checkpoint",
                            "checkpoint.memory", "price", "power"})
    CHECK(known.erase(table) == 1);
  const std::set<std::string> listed = described(read_text_file(plans / "README.md"));
  CHECK(known.size() > 30);
  for (const std::string& key : known) CHECK_MESSAGE(listed.contains(key), key << " is not described");
  for (const std::string& key : listed) CHECK_MESSAGE(known.contains(key), key << " is no key of a plan");
}

TEST_CASE("the reference's smallest plan is one") {
  const std::string text = block(read_text_file(plans / "README.md"), "toml");
  plan::Request r = plan::read_request(text, "README.md", {}, catalog::Catalog());
  r.draws = 100;
  CHECK(plan::make_plan(r).stages.size() == 1);
}
