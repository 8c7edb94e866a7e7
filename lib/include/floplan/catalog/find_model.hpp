// SPDX-License-Identifier: BSD-3-Clause
//
// A model by its name in the catalog, or from a file that describes one, wherever a model is asked for.
//
//   const FoundModel found = find_model("llama-3.1-405b", "--model", catalog);
//   const FoundModel mine = find_model("runs/config.json", "--model", catalog);     found.model.shape, found.warnings
//
// A name with a / or an ending of json, sh, bash, args or txt is a file, read by architecture/model_file.hpp, or a folder
// with a config.json; anything else is looked up in the catalog first. A file's `warnings` say what was taken for granted.
//
// Errors: usage, with the nearest names, for an unknown name; data, with file, line and key, for a file that cannot be used.
// Pitfall: a configuration's longest context is not the length that its model was trained at; only below 8,192 tokens, which
// is taken otherwise, does it stand for it.
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/architecture/model_file.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/catalog/records.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/file.hpp"

namespace floplan::catalog {

struct FoundModel {
  Model model;
  std::vector<Warning> warnings;
  // Where the model came from a file: what that says besides, of a layout and a batch (its shape has moved to `model`).
  std::optional<architecture::ModelFile> file{};
};

[[nodiscard]] inline bool names_model_file(std::string_view name) {
  if (name.find('/') != std::string_view::npos) return true;
  return std::ranges::any_of(std::array<std::string_view, 5>{".json", ".sh", ".bash", ".args", ".txt"},
                             [name](std::string_view ending) { return name.ends_with(ending); });
}

// A file's path is relative to `folder`; where: what asked for it, for the error of an unknown name.
[[nodiscard]] inline FoundModel find_model(std::string_view name, std::string_view where, const Catalog& catalog,
                                           const std::filesystem::path& folder = {}) {
  std::filesystem::path there = folder / std::filesystem::path(name);
  std::error_code ignored;
  if (!names_model_file(name)) {
    try {
      return {catalog.model(name, where), {}};
    } catch (const Error&) {
      // A file of that name is meant where there is no such model.
      if (!std::filesystem::exists(there, ignored)) throw;
    }
  }
  if (std::filesystem::is_directory(there, ignored)) there /= "config.json";
  const std::string path = there.string();
  architecture::ModelFile file = architecture::read_model_file(read_text_file(path), path);
  FoundModel out;
  out.model.name = path;
  out.model.title = file.name.empty() ? path : file.name;
  out.model.shape = std::move(file.shape);
  out.model.sequence_length = file.sequence_length;
  // One that is shorter than the usual length cannot have been trained at that.
  if (!file.sequence_length && file.longest_context && *file.longest_context < Tokens(8192))
    out.model.sequence_length = file.longest_context;
  out.model.provenance = {.source = path, .date = "", .verified = true, .note = ""};
  out.warnings = std::move(file.warnings);
  out.file = std::move(file);
  return out;
}

}  // namespace floplan::catalog
