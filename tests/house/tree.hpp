// SPDX-License-Identifier: BSD-3-Clause
//
// The checkout as the house tests see it: its files, and their lines.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace house {

inline const std::filesystem::path root = FLOPLAN_SOURCE_DIR;

// Files under root/folder whose extension is one of `extensions`, sorted; none if there is no such folder.
inline std::vector<std::filesystem::path> files(std::string_view folder, const std::vector<std::string>& extensions) {
  std::vector<std::filesystem::path> found;
  if (!std::filesystem::is_directory(root / folder)) return found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
    const auto& path = entry.path();
    if (!entry.is_regular_file() || path.string().find(".ipynb_checkpoints") != std::string::npos) continue;
    if (std::find(extensions.begin(), extensions.end(), path.extension()) != extensions.end()) found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  return found;
}

inline std::string text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<std::string> lines(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> result;
  for (std::string line; std::getline(in, line);) result.push_back(line);
  return result;
}

inline std::string_view trimmed(std::string_view line) {
  const auto first = std::min(line.find_first_not_of(" \t\r\n"), line.size());
  return line.substr(first);
}

// Takes `prefix` and the blanks after it off the front of `rest`, if it is there.
inline bool take(std::string_view& rest, std::string_view prefix) {
  if (!rest.starts_with(prefix)) return false;
  rest = trimmed(rest.substr(prefix.size()));
  return true;
}

// "lib/include/floplan/core/error.hpp:12": what an editor can jump to.
inline std::string place(const std::filesystem::path& path, std::size_t line) {
  return path.lexically_relative(root).string() + ":" + std::to_string(line);
}

// Findings, one a line, for a failure message.
inline std::string joined(const std::vector<std::string>& findings) {
  std::string result;
  for (const auto& finding : findings) result += "\n  " + finding;
  return result;
}

}  // namespace house
