// SPDX-License-Identifier: BSD-3-Clause
//
// Runs from one file, from several, or from a folder with a file a run.
//
//   const RunTable table = read_files({"exp_data/models"}, options);         // a folder: its files in the order of names
//   const RunTable table = read_files({"small.csv", "large.csv"}, options);
//
// A folder gives its *.json, *.jsonl and *.ndjson, or its *.csv and *.tsv; one with both kinds is refused, because a
// summary beside the runs that it was made from would count them twice. Folders inside it and hidden files are left alone.
//
// Each of several files is mapped by its own titles and all are merged (runs/arrange_runs.hpp), which warns where they
// mean different columns. A file among several without runs that can be read is skipped with its reason and counted in
// RunTable::skipped_files; so is one that lacks a column which options name, unless every file lacks it. A single file
// is read as read_any reads it, and what is wrong with it is an error.
//
// Throws Error(data) for a name that does not exist, a folder without files of runs, and when no row can be used;
// Error(usage) for a file that is named twice.
// Pitfall: JSON costs two or three seconds to compile; runs/read_runs.hpp alone reads tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/names.hpp"
#include "floplan/runs/arrange_runs.hpp"
#include "floplan/runs/json_runs.hpp"
#include "floplan/runs/run_table.hpp"

namespace floplan::runs {

// The files that a name means: the file itself, or those in the folder.
[[nodiscard]] inline std::vector<std::string> files_at(const std::string& name) {
  if (name.empty()) throw Error(Failure::usage, "no_file", "runs", "the name of a file of runs must not be empty");
  std::error_code error;
  if (!std::filesystem::exists(name, error))
    throw Error(Failure::data, "no_such_file", name, "the file must exist, and there is none of this name");
  if (!std::filesystem::is_directory(name, error)) return {name};
  std::vector<std::string> json, tables;
  for (const auto& entry : std::filesystem::directory_iterator(name, error)) {
    const std::string extension = lower_case(entry.path().extension().string());
    if (entry.is_directory(error) || entry.path().filename().string().starts_with(".")) continue;
    if (extension == ".json" || extension == ".jsonl" || extension == ".ndjson") json.push_back(entry.path().string());
    if (extension == ".csv" || extension == ".tsv") tables.push_back(entry.path().string());
  }
  if (error) throw Error(Failure::data, "unreadable_file", name, "the folder cannot be read: " + error.message());
  if (json.empty() && tables.empty()) {
    throw Error(Failure::data, "no_files", name, "the folder must hold files of runs (*.json, *.jsonl, *.csv, *.tsv)");
  }
  if (!json.empty() && !tables.empty()) {
    throw Error(Failure::data, "mixed_files", name,
                "the folder holds " + std::to_string(json.size()) + " of JSON and " + std::to_string(tables.size()) +
                    " tables, which may be the same runs: name the files that are meant");
  }
  std::vector<std::string>& out = json.empty() ? tables : json;
  std::sort(out.begin(), out.end());
  return std::move(out);
}

[[nodiscard]] inline RunTable read_files(const std::vector<std::string>& names, const ReadOptions& options = {}) {
  std::vector<std::string> files;
  std::vector<std::string> folders;
  for (const std::string& name : names) {
    std::vector<std::string> named = files_at(name);
    if (std::error_code error; std::filesystem::is_directory(name, error)) {
      folders.push_back("the folder " + name + " has " + std::to_string(named.size()) +
                        " files, read in the order of their names");
    }
    for (std::string& file : named) {
      if (std::find(files.begin(), files.end(), file) != files.end())
        throw Error(Failure::usage, "repeated_file", file, "must be given once, got it twice");
      files.push_back(std::move(file));
    }
  }
  if (files.empty()) throw Error(Failure::usage, "no_file", "runs", "needs a file of runs, got none");
  if (files.size() == 1) return read_any(read_text_file(files.front()), files.front(), options);
  ReadOptions each = options;
  each.may_be_empty = true;
  std::vector<RunTable> tables;
  std::vector<SkippedFile> skipped;
  std::optional<Error> refusal;
  for (const std::string& file : files) {
    try {
      tables.push_back(read_any(read_text_file(file), file, each));
    } catch (const Error& error) {
      if (error.failure() != Failure::data && error.failure() != Failure::usage) throw;
      // What the options ask in vain of every file is the caller's mistake, whatever else is wrong with some.
      if (!refusal || (refusal->failure() == Failure::data && error.failure() == Failure::usage)) refusal = error;
      skipped.push_back({file, error.what()});
    }
  }
  if (tables.empty()) {
    if (refusal->failure() == Failure::usage) throw *refusal;
    throw Error(Failure::data, "no_usable_files", refusal->where(),
                "none of " + std::to_string(files.size()) + " files can be used: " + skipped.front().reason);
  }
  RunTable out = merge(std::move(tables), options);
  if (out.observations.empty() && !options.may_be_empty) {
    std::string why =
        "none of " + std::to_string(out.rows.read) + " rows in " + std::to_string(files.size()) + " files";
    why += " can be used: ";
    if (out.rows.filtered > 0) why += std::to_string(out.rows.filtered) + " do not meet where " + options.where;
    if (out.rows.skipped_count > 0) {
      const SkippedRow& first = out.rows.skipped.front();
      why += (out.rows.filtered > 0 ? ", and " : "") + std::to_string(out.rows.skipped_count) + " are skipped, first " +
             first.place() + ": " + first.reason;
    }
    throw Error(Failure::data, "no_usable_rows", files.front(), why);
  }
  out.notes.insert(out.notes.begin(), folders.begin(), folders.end());
  out.skipped_files = std::move(skipped);
  return out;
}

}  // namespace floplan::runs
