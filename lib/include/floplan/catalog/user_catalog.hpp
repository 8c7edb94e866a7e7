// SPDX-License-Identifier: BSD-3-Clause
//
// Adding a user's own folder of CSV files to a catalog.
//
//   Catalog catalog;
//   add_folder(catalog, "my-catalog");     my-catalog/prices.csv, my-catalog/accelerators.csv, ...
//
// Files carry the names and columns of data/catalog and data/laws (data/README.md); only those present are read. A row adds an entry or replaces the whole entry of the same name.
//
// Pitfall: a folder with no such file, or with a CSV of another name, is an error: a mistyped name must not be ignored.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/catalog/stacks.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/file.hpp"
#include "floplan/law/any_form.hpp"

namespace floplan::catalog {

// Of the catalogs, and of the laws: one a form.
[[nodiscard]] inline std::vector<std::string> file_names() {
  std::vector<std::string> out = {
      "accelerators.csv", "models.csv", "prices.csv",    "interruption_windows.csv", "interruption_categories.csv",
      "runs.csv",         "stacks.csv", "whole_runs.csv"};
  for (const std::string_view form : law::form_names()) out.push_back(std::string(form) + ".csv");
  return out;
}

inline void add_folder(Catalog& catalog, const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw Error(Failure::data, "no_such_folder", folder.string(), "must be a folder with catalog files");
  }
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".csv") names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const std::vector<std::string> known = file_names();
  for (const std::string& name : names) {
    const std::filesystem::path path = folder / name;
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw Error(Failure::data, "unknown_catalog", path.string(),
                  "must be named as one of the catalogs" + nearest_names_text(name, known));
    }
    catalog.add(name, read_text_file(path), path.string());
  }
  if (names.empty())
    throw Error(Failure::data, "empty_catalog", folder.string(),
                "must hold at least one catalog file, such as prices.csv");
  // Read once now, so that a bad cell is reported where the folder is named and not in some later lookup.
  static_cast<void>(catalog.accelerators());
  static_cast<void>(catalog.models());
  static_cast<void>(catalog.prices());
  static_cast<void>(catalog.interruption_windows());
  static_cast<void>(catalog.interruption_categories(""));
  static_cast<void>(catalog.runs());
  static_cast<void>(stacks(catalog));
  static_cast<void>(any_laws(catalog));
}

}  // namespace floplan::catalog
