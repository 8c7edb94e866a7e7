// SPDX-License-Identifier: BSD-3-Clause
//
// From the text of somebody's file to runs that an estimator can use.
//
//   const RunTable table = read(read_text_file(path), path.string(), options);   // commas, tabs, semicolons
//
// N, D and the loss must be positive and finite in a row, or the row is skipped with line, column and reason; so is a
// row that says its run failed or still runs (State, status), or that has more cells than titles. C may be blank. D is
// never recomputed from C where it is given: D = C/(6N) only where no column holds tokens, or where it is blank and
// derive_tokens is set; C = 6ND in the same way. Each such choice is a note.
// Order of the tests of a row: cells fit the header, `where`, state, N, D, C, loss, weight. With ReadOptions::quantities a row
// needs those instead, each within its range.
//
// Throws Error(usage) for a column or filter that names nothing, Error(data) for text that is no table, for a role that
// no title tells of, and when no row can be used (unless may_be_empty), naming the most common reason.
// Cost: linear in the text and n log n in the rows; a million rows of four columns take under a second.
//
// Pitfall: JSON needs runs/json_runs.hpp (read_any takes both), which costs two or three seconds to compile.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/runs/arrange_runs.hpp"
#include "floplan/runs/column_map.hpp"
#include "floplan/runs/reading_notes.hpp"
#include "floplan/runs/row_filter.hpp"
#include "floplan/runs/run_table.hpp"
#include "floplan/runs/sheet.hpp"
#include "floplan/runs/skipped_rows.hpp"

namespace floplan::runs {

namespace detail {

inline constexpr double flop_per_parameter_and_token = 6;

class Reader {
 public:
  Reader(const Sheet& sheet, const ReadOptions& options)
      : sheet_(sheet),
        options_(options),
        index_(sheet.titles()),
        mapping_(map_columns(index_, sheet.name(), options.columns, keys_of(options.quantities))) {
    for (const Role role : roles) {
      role_[static_cast<std::size_t>(role)] = find_role(mapping_, role);
    }
    if (options.quantities.empty()) {
      require_roles();
    } else {
      require_quantities();
    }
    filter_ = RowFilter(options.where, index_, mapping_);
    for (std::size_t i = 0; i < sheet.titles().size() && !options.keep_failed; ++i) {
      const std::string title = sheet.titles()[i].size() <= 12 ? lower_case(sheet.titles()[i]) : "";
      if (!state_ && (title == "state" || title == "status")) state_ = i;
    }
  }

  [[nodiscard]] RunTable read() {
    table_.files = {sheet_.name()};
    table_.rows.read = sheet_.size();
    for (const auto& title : kept_titles()) {
      const auto column = index_.find(title);
      if (!column) {
        throw Error(Failure::usage, "unknown_column", "columns",
                    sheet_.name() + " has no column \"" + shown(title) + "\"" + index_.nearest(title));
      }
      table_.kept[title];
    }
    for (const auto& [title, cells] : table_.kept) kept_columns_.push_back(*index_.find(title));
    table_.observations.reserve(sheet_.size());
    table_.flop.reserve(sheet_.size());
    table_.origins.reserve(sheet_.size());
    for (std::size_t row = 0; row < sheet_.size(); ++row) read_row(row);
    if (table_.observations.empty() && !options_.may_be_empty) throw skips_.nothing_usable();
    remark();
    arrange(table_, options_);
    return std::move(table_);
  }

 private:
  [[nodiscard]] const Mapping* role(Role r) const { return role_[static_cast<std::size_t>(r)]; }

  [[nodiscard]] static std::vector<std::string> keys_of(const std::vector<Quantity>& quantities) {
    std::vector<std::string> out;
    for (const Quantity& quantity : quantities) out.push_back(quantity.key);
    return out;
  }

  [[nodiscard]] std::vector<std::string> kept_titles() const {
    std::vector<std::string> out = options_.keep;
    out.insert(out.end(), options_.cell_columns.begin(), options_.cell_columns.end());
    if (options_.group_by == GroupBy::column) out.push_back(options_.group_column);
    return out;
  }

  [[nodiscard]] Error missing(const std::string& what, std::string_view role_name) const {
    std::string titles;
    for (const std::string& title : sheet_.titles()) {
      if (titles.size() > 300) {
        titles += ", ...";
        break;
      }
      titles += (titles.empty() ? "" : ", ") + shown(title, 40);
    }
    return Error(Failure::data, "missing_column", sheet_.name() + ":1",
                 "needs a column of " + what + ", and no title says that it is one: name it with " +
                     std::string(role_name) + "=TITLE (columns: " + titles + ")");
  }

  // tokens and flop may come from each other and N, as they do for other runs.
  void require_quantities() {
    for (const Quantity& quantity : options_.quantities) {
      quantity_.push_back(find_quantity(mapping_, quantity.key));
      const bool derivable =
          role(Role::parameters) != nullptr && ((quantity.key == "tokens" && role(Role::flop) != nullptr) ||
                                                (quantity.key == "flop" && role(Role::tokens) != nullptr));
      if (quantity_.back() == nullptr && !derivable) throw missing(quantity.key, quantity.key);
    }
    // A column that the form does not ask for is not read, and said to be nothing.
    if (options_.minimum_per_cell || options_.group_by != GroupBy::nothing) {
      throw Error(Failure::usage, "not_supported", "runs",
                  "cells and budgets are of runs with N, D and a loss, and this law has other quantities");
    }
  }

  void require_roles() const {
    if (role(Role::parameters) == nullptr) throw missing("parameters", "parameters");
    if (role(Role::tokens) == nullptr && role(Role::flop) == nullptr)
      throw missing("tokens (or of training FLOP)", "tokens");
    if (role(Role::loss) == nullptr) throw missing("the loss", "loss");
  }

  void skip(std::size_t row, std::optional<std::size_t> column, Fault fault, const std::string& rule,
            const std::string& value = "") {
    skips_.skip(row, column, fault, rule, value);
  }
  void skip(std::size_t row, const TermValue& value) { skips_.skip(row, value); }

  [[nodiscard]] TermValue value_of(std::size_t row, const Mapping& m) {
    TermValue out = evaluate(m.columns, m.factor, sheet_, row);
    if (out.number.grouped && m.quantity.empty()) grouped_[static_cast<std::size_t>(m.role)] = true;
    return out;
  }
  [[nodiscard]] static bool positive(const TermValue& v) {
    return v.number.kind == CellKind::number && v.number.value > 0;
  }

  [[nodiscard]] bool failed(std::size_t row) {
    if (!state_) return false;
    const std::string_view cell = trimmed(sheet_.cell(row, *state_));
    if (cell.empty() || cell.size() > 12) return false;
    const std::string word = lower_case(cell);
    for (const std::string_view bad : {"failed", "crashed", "killed", "error", "aborted", "cancelled", "canceled",
                                       "preempted", "preempting", "timeout", "running", "pending", "queued"}) {
      if (word != bad) continue;
      skip(row, *state_, Fault::state, "says that the run did not finish", std::string(cell));
      return true;
    }
    return false;
  }

  void read_row(std::size_t row) {
    if (const auto problem = sheet_.problem(row)) return skip(row, std::nullopt, Fault::cells, *problem);
    if (!filter_.passes(sheet_, row)) {
      ++table_.rows.filtered;
      return;
    }
    if (failed(row)) return;
    Observation run;
    Origin origin;
    origin.line = sheet_.line(row);
    origin.row = row;
    if (!options_.quantities.empty()) return read_quantities(row, run, origin);

    const TermValue n = value_of(row, *role(Role::parameters));
    if (!positive(n)) return skip(row, n);
    run.parameters = n.number.value;

    std::optional<double> flop;
    TermValue c;
    if (const Mapping* m = role(Role::flop)) {
      c = value_of(row, *m);
      if (positive(c)) {
        flop = c.number.value;
        origin.flop_given = true;
      } else if (c.number.kind != CellKind::blank) {
        return skip(row, c);
      }
    }

    TermValue d;
    if (const Mapping* m = role(Role::tokens)) d = value_of(row, *m);
    if (positive(d)) {
      run.tokens = d.number.value;
    } else {
      const bool may_derive =
          role(Role::tokens) == nullptr || (options_.derive_tokens && d.number.kind == CellKind::blank);
      if (!may_derive) return skip(row, d);
      if (!flop) return skip(row, c);
      run.tokens = *flop / flop_per_parameter_and_token / run.parameters;
      origin.tokens_given = false;
      // Positive and finite N and C may still give a D that is neither.
      if (!(run.tokens > 0) || !std::isfinite(run.tokens)) {
        c.number.kind = CellKind::out_of_range;
        return skip(row, c);
      }
      ++derived_tokens_;
    }

    const TermValue loss = value_of(row, *role(Role::loss));
    if (!positive(loss)) return skip(row, loss);
    run.loss = loss.number.value;
    if (!read_weight(row, run)) return;
    if (!flop && (role(Role::flop) == nullptr || options_.derive_flop)) {
      flop = flop_per_parameter_and_token * run.parameters * run.tokens;
      if (!std::isfinite(*flop)) flop.reset();
      if (flop) ++derived_flop_;
    }
    if (!flop) ++without_flop_;
    keep(row, run, flop, origin);
  }

  // False, and the row is skipped, for a weight that is none.
  [[nodiscard]] bool read_weight(std::size_t row, Observation& run) {
    const Mapping* m = role(Role::weight);
    if (m == nullptr) return true;
    const TermValue weight = value_of(row, *m);
    const bool zero = weight.number.kind == CellKind::number && weight.number.value == 0;
    if (positive(weight) || zero) {
      run.weight = weight.number.value;
      return true;
    }
    skip(row, weight);
    return false;
  }

  void read_quantities(std::size_t row, Observation run, Origin origin) {
    std::vector<double> values;
    for (std::size_t i = 0; i < options_.quantities.size(); ++i) {
      const Quantity& quantity = options_.quantities[i];
      if (quantity_[i] == nullptr) {
        const bool tokens = quantity.key == "tokens";
        const TermValue n = value_of(row, *role(Role::parameters));
        if (!positive(n)) return skip(row, n);
        const TermValue other = value_of(row, *role(tokens ? Role::flop : Role::tokens));
        if (!positive(other)) return skip(row, other);
        const double six_n = flop_per_parameter_and_token * n.number.value;
        values.push_back(tokens ? other.number.value / six_n : other.number.value * six_n);
        (tokens ? derived_tokens_ : derived_flop_) += 1;
        continue;
      }
      const TermValue v = value_of(row, *quantity_[i]);
      if (v.number.kind != CellKind::number) return skip(row, v);
      if (!(v.number.value >= quantity.low && v.number.value <= quantity.high)) {
        return skip(row, v.at, Fault::range,
                    "must be from " + print_number(quantity.low, 6) + " to " + print_number(quantity.high, 6) +
                        " to be " + quantity.key,
                    std::string(trimmed(sheet_.cell(row, v.at)).substr(0, 80)));
      }
      values.push_back(v.number.value);
    }
    if (!read_weight(row, run)) return;
    table_.quantities.push_back(std::move(values));
    keep(row, run, std::nullopt, origin);
  }

  void keep(std::size_t row, const Observation& run, const std::optional<double>& flop, const Origin& origin) {
    table_.observations.push_back(run);
    table_.flop.push_back(flop);
    table_.origins.push_back(origin);
    std::size_t k = 0;
    for (auto& [title, cells] : table_.kept) {
      cells.emplace_back(trimmed(sheet_.cell(row, kept_columns_[k++])));
      // Text that leaves its file must not depend on what a comma meant there.
      const std::size_t comma = sheet_.decimal_comma() ? cells.back().find(',') : std::string::npos;
      if (comma != std::string::npos && read_number(cells.back(), true).kind == CellKind::number)
        cells.back()[comma] = '.';
    }
    several_losses_ = several_losses_ || (last_used_ && sheet_.shares_parent(row, *last_used_));
    last_used_ = row;
  }

  void note(std::string text) { table_.notes.push_back(std::move(text)); }

  void remark() {
    drop_unasked();
    if (const Mapping* loss = role(Role::loss)) table_.loss_unit = loss->unit;
    if (sheet_.separator() == '\t') note("cells are separated by tabs");
    if (sheet_.separator() == ';') note("cells are separated by semicolons, and a comma is the decimal point");
    for (const Role r : roles) {
      if (grouped_[static_cast<std::size_t>(r)])
        note("commas in " + role(r)->title + " were read as separators of thousands");
    }
    if (role(Role::parameters) != nullptr) note_count(table_, *role(Role::parameters));
    for (const Mapping& m : mapping_) {
      if (m.tied)
        note(m.title + " is taken for " + m.name() + ", the first of several as likely: " + m.alternatives.front() +
             (m.alternatives.size() > 1 ? ", ..." : ""));
    }
    if (!table_.loss_unit.empty()) note("the loss is in " + table_.loss_unit);
    if (derived_tokens_ > 0)
      note("D = C/(6N) in " + std::to_string(derived_tokens_) + " rows, " +
           (role(Role::tokens) == nullptr ? "because no column holds tokens"
                                          : "where " + role(Role::tokens)->title + " is blank"));
    if (derived_flop_ > 0)
      note("C = 6ND in " + std::to_string(derived_flop_) + " rows, " +
           (role(Role::flop) == nullptr ? "because no column holds training FLOP"
                                        : "where " + role(Role::flop)->title + " is blank"));
    if (without_flop_ > 0) note("C is not known in " + std::to_string(without_flop_) + " rows that are used");
    if (several_losses_)
      note(
          "several rows share one run's settings, as when a run has a loss for each validation set: choose one with "
          "where");
    note_unused_marks(table_, sheet_, filter_);
    table_.mapping = mapping_;
    const auto derived = [this](Role r, const char* formula, const char* why) {
      if (role(r) != nullptr) return;
      table_.mapping.push_back({r, formula, {}, 1, "", table_.count, why, {}, false, {}});
    };
    const bool any = options_.quantities.empty();
    if (any || derived_tokens_ > 0) derived(Role::tokens, "C/(6N)", "no column holds tokens");
    if (any || derived_flop_ > 0) derived(Role::flop, "6ND", "no column holds training FLOP");
    std::stable_sort(table_.mapping.begin(), table_.mapping.end(),
                     [](const Mapping& a, const Mapping& b) { return a.role < b.role; });
    note_repeated_titles(table_, sheet_);
  }

  // Columns that were taken for something that the law does not ask for are not among what was read.
  void drop_unasked() {
    if (options_.quantities.empty()) return;
    const std::vector<std::string> asked = keys_of(options_.quantities);
    const auto is_asked = [&](std::string_view name) {
      return std::find(asked.begin(), asked.end(), name) != asked.end();
    };
    const bool tokens = derived_tokens_ > 0;
    const bool flop = derived_flop_ > 0;
    std::erase_if(mapping_, [&](const Mapping& m) {
      if (m.quantity.empty() && m.role == Role::parameters && (tokens || flop)) return false;
      if (m.quantity.empty() && m.role == Role::flop && tokens) return false;
      if (m.quantity.empty() && m.role == Role::tokens && flop) return false;
      return m.name() != name_of(Role::weight) && !is_asked(m.name());
    });
    quantity_.clear();
    for (const Role r : roles) role_[static_cast<std::size_t>(r)] = find_role(mapping_, r);
  }

  const Sheet& sheet_;
  const ReadOptions& options_;
  TitleIndex index_;
  std::vector<Mapping> mapping_;
  const Mapping* role_[roles.size()] = {};
  std::vector<const Mapping*> quantity_;  // of ReadOptions::quantities; null where it is derived
  bool grouped_[roles.size()] = {};
  RowFilter filter_;
  std::optional<std::size_t> state_;
  std::vector<std::size_t> kept_columns_;
  std::size_t derived_tokens_ = 0;
  std::size_t derived_flop_ = 0;
  std::size_t without_flop_ = 0;
  std::optional<std::size_t> last_used_;
  bool several_losses_ = false;
  RunTable table_;
  SkippedRows skips_{sheet_, options_, table_.rows};
};

}  // namespace detail

[[nodiscard]] inline RunTable read(const Sheet& sheet, const ReadOptions& options = {}) {
  return detail::Reader(sheet, options).read();
}

// name: what errors and notes call the file.
[[nodiscard]] inline RunTable read(std::string_view text, std::string name, const ReadOptions& options = {}) {
  const std::size_t first = text.find_first_not_of("\xEF\xBB\xBF \t\r\n");
  if (first != std::string_view::npos && (text[first] == '{' || text[first] == '[')) {
    throw Error(Failure::data, "is_json", name + ":1",
                "must be a table with a header, got JSON: runs/json_runs.hpp reads it");
  }
  return read(read_sheet(text, std::move(name)), options);
}

}  // namespace floplan::runs
