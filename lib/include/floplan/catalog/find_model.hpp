// SPDX-License-Identifier: BSD-3-Clause
//
// A model by its name in the catalog, or from a file that describes one, wherever a model is asked for.
//
//   const FoundModel found = find_model("llama-3.1-405b", "--model", catalog);
//   const FoundModel mine = find_model("runs/config.json", "--model", catalog);     found.model.shape, found.warnings
//
// A name with a / or an ending of json, sh, bash, args or txt is a file, read by architecture/model_file.hpp; anything else
// is looked up in the catalog. A file's `warnings` say what it left open and what was taken for it.
//
// Errors: usage, with the nearest names, for an unknown name; data, with file, line and key, for a file that cannot be used.
// Pitfall: a configuration's longest context is not the length that its model was trained at; only below 8,192 tokens, which
// is taken otherwise, does it stand for it.
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
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
};

[[nodiscard]] inline bool names_model_file(std::string_view name) {
  if (name.find('/') != std::string_view::npos) return true;
  return std::ranges::any_of(std::array<std::string_view, 5>{".json", ".sh", ".bash", ".args", ".txt"},
                             [name](std::string_view ending) { return name.ends_with(ending); });
}

// A file's path is relative to `folder`; where: what asked for it, for the error of an unknown name.
[[nodiscard]] inline FoundModel find_model(std::string_view name, std::string_view where, const Catalog& catalog,
                                           const std::filesystem::path& folder = {}) {
  if (!names_model_file(name)) return {catalog.model(name, where), {}};
  const std::string path = (folder / std::filesystem::path(name)).string();
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
  return out;
}

}  // namespace floplan::catalog
