// SPDX-License-Identifier: BSD-3-Clause
#include "run_source.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

#include "floplan/fit/hold_out.hpp"
#include "floplan/runs/column_map.hpp"
#include "floplan/runs/run_files.hpp"

namespace floplan::cli {

void RunOptions::add_to(Subcommand& sub) {
  sub.positional("runs", files, runs_help);
  add_options(sub);
}

void RunOptions::add_options(Subcommand& sub) {
  sub.option("--where", where, "Take only rows for which this holds, as 'keep==1 && loss<4'");
  sub.option("--columns", columns,
             "What is what, as parameters=N,tokens=D,loss=val_loss,flop=C, or the inputs of another law by their names "
             "(unique_tokens=U); guessed from titles if not given");
  sub.flag("--minimum-per-cell", minimum_per_cell, "Of the runs of one N and D take the one with the lowest loss");
  sub.flag("--derive-tokens", derive_tokens, "Where D is blank take C/(6N)");
}

runs::RunTable RunOptions::read(std::vector<Warning>& warnings, bool group_by_budget,
                                std::vector<runs::Quantity> quantities) const {
  runs::ReadOptions options;
  options.quantities = std::move(quantities);
  if (!columns.empty()) options.columns = runs::parse_column_names(columns, "--columns");
  options.where = where;
  options.minimum_per_cell = minimum_per_cell;
  options.derive_tokens = derive_tokens;
  if (group_by_budget) options.group_by = runs::GroupBy::budget;
  runs::RunTable table = runs::read_files(files, options);
  for (const Warning& w : table.warnings) warnings.push_back(w);
  if (!table.skipped_files.empty()) {
    const std::size_t all = table.files.size() + table.skipped_files.size();
    std::string text = std::to_string(table.skipped_files.size()) + " of " + std::to_string(all) + " files skipped: ";
    text += table.skipped_files.front().reason;
    warnings.push_back({"skipped_files", text + (table.skipped_files.size() > 1 ? "; ..." : "")});
  }
  if (table.rows.skipped_count > 0) {
    const std::string text = skipped_text(table);
    warnings.push_back({"skipped_rows", text.substr(2, text.size() - 3)});
  }
  if (table.count != runs::ParameterCount::total) {
    warnings.push_back({"parameter_convention",
                        "parameters are counted " + runs::name_of(table.count) + ": the law will count them so too"});
  }
  return table;
}

report::Json RunOptions::inputs() const {
  return {{"runs", files.size() == 1 ? report::Json(files.front()) : report::Json(files)},
          {"where", where},
          {"columns", columns},
          {"minimum_per_cell", minimum_per_cell}};
}

std::string RunOptions::name() const {
  if (files.empty()) return "";
  return files.front() + (files.size() > 1 ? " and " + std::to_string(files.size() - 1) + " more" : "");
}

std::vector<double> budgets_of(const runs::RunTable& table) {
  std::vector<double> out;
  for (std::size_t i = 0; i < table.observations.size(); ++i) {
    const runs::Observation& row = table.observations[i];
    out.push_back(table.flop[i].value_or(training_flop(Parameters(row.parameters), Tokens(row.tokens)).value));
  }
  return out;
}

std::string skipped_text(const runs::RunTable& table) {
  if (table.rows.skipped_count == 0) return "";
  std::string out =
      " (" + std::to_string(table.rows.skipped_count) + " of " + std::to_string(table.rows.read) + " rows skipped: ";
  const std::size_t shown = std::min<std::size_t>(3, table.rows.skipped.size());
  for (std::size_t i = 0; i < shown; ++i) {
    out += (i > 0 ? "; " : "") + table.rows.skipped[i].place() + ": " + table.rows.skipped[i].reason;
  }
  return out + (table.rows.skipped_count > shown ? "; ..." : "") + ")";
}

std::string with_places(const std::string& text, const runs::RunTable& table) {
  constexpr std::string_view word = "row ";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool begins = i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0;
    std::size_t row = 0;
    const char* const from = text.data() + std::min(i + word.size(), text.size());
    if (begins && text.compare(i, word.size(), word) == 0) {
      const auto [end, error] = std::from_chars(from, text.data() + text.size(), row);
      if (error == std::errc() && row > 0 && row <= table.origins.size()) {
        const runs::Origin& at = table.origins[row - 1];
        out += table.files[at.file] + ":" + std::to_string(at.line);
        i = static_cast<std::size_t>(end - text.data());
        continue;
      }
    }
    out += text[i++];
  }
  return out;
}

void name_places(std::vector<Warning>& warnings, const runs::RunTable& table) {
  for (Warning& w : warnings) w.message = with_places(w.message, table);
}

std::vector<bool> RunOptions::held_out(const runs::RunTable& table, const std::string& text) const {
  constexpr std::string_view largest = "largest=";
  if (text.starts_with(largest)) {
    const auto count = whole_option<std::size_t>(text.substr(largest.size()), "--hold-out", 1e9);
    return fit::largest_runs(table.observations, count);
  }
  // The rows are read again through both filters; a run is known by its file and its row there.
  RunOptions narrower = *this;
  narrower.where = where.empty() ? text : "(" + where + ") && (" + text + ")";
  std::vector<Warning> said_before;
  std::vector<bool> out(table.observations.size());
  const runs::RunTable held = narrower.read(said_before, false);
  const auto place = [](const runs::RunTable& of, const runs::Origin& at) {
    return std::pair(of.files[at.file], at.row);
  };
  std::set<std::pair<std::string, std::size_t>> places;
  for (const runs::Origin& at : held.origins) places.insert(place(held, at));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = places.contains(place(table, table.origins[i]));
  return out;
}

}  // namespace floplan::cli
