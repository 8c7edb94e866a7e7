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
// Order of the tests of a row: cells fit the header, `where`, state, N, D, C, loss, weight.
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
#include "floplan/runs/arrange_runs.hpp"
#include "floplan/runs/column_map.hpp"
#include "floplan/runs/row_filter.hpp"
#include "floplan/runs/run_table.hpp"
#include "floplan/runs/sheet.hpp"

namespace floplan::runs {

namespace detail {

inline constexpr double flop_per_parameter_and_token = 6;

class Reader {
 public:
  Reader(const Sheet& sheet, const ReadOptions& options)
      : sheet_(sheet),
        options_(options),
        index_(sheet.titles()),
        mapping_(map_columns(index_, sheet.name(), options.columns)) {
    for (const Role role : roles) {
      role_[static_cast<std::size_t>(role)] = find_role(mapping_, role);
    }
    require_roles();
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
    if (table_.observations.empty() && !options_.may_be_empty) throw nothing_usable();
    remark();
    arrange(table_, options_);
    return std::move(table_);
  }

 private:
  enum class Fault { blank, text, range, sign, state, cells };
  struct Tally {
    std::size_t rows = 0;
    std::size_t first_row = 0;
    std::string reason;
  };

  [[nodiscard]] const Mapping* role(Role r) const { return role_[static_cast<std::size_t>(r)]; }

  [[nodiscard]] std::vector<std::string> kept_titles() const {
    std::vector<std::string> out = options_.keep;
    out.insert(out.end(), options_.cell_columns.begin(), options_.cell_columns.end());
    if (options_.group_by == GroupBy::column) out.push_back(options_.group_column);
    return out;
  }

  void require_roles() const {
    const auto missing = [this](const std::string& what, std::string_view role_name) {
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
    };
    if (role(Role::parameters) == nullptr) throw missing("parameters", "parameters");
    if (role(Role::tokens) == nullptr && role(Role::flop) == nullptr)
      throw missing("tokens (or of training FLOP)", "tokens");
    if (role(Role::loss) == nullptr) throw missing("the loss", "loss");
  }

  void skip(std::size_t row, std::optional<std::size_t> column, Fault fault, const std::string& rule,
            const std::string& value = "") {
    ++table_.rows.skipped_count;
    const std::string title = column ? shown(sheet_.titles()[*column]) : "";
    Tally& tally = tallies_[{column.value_or(sheet_.titles().size()), static_cast<int>(fault)}];
    if (tally.rows++ == 0) {
      tally.first_row = row;
      tally.reason = column ? title + " " + rule : "it " + rule;
    }
    if (table_.rows.skipped.size() >= options_.skipped_listed) return;
    const std::string reason =
        (column ? title : "the row") + " " + rule + (value.empty() ? "" : ", got \"" + shown(value) + "\"");
    table_.rows.skipped.push_back(
        {sheet_.name(), sheet_.line(row), column ? sheet_.column_number(*column) : 0, title, reason});
  }

  void skip(std::size_t row, const TermValue& value) {
    const std::string cell(trimmed(sheet_.cell(row, value.at)).substr(0, 80));
    switch (value.number.kind) {
      case CellKind::blank:
        if (cell.empty()) return skip(row, value.at, Fault::blank, "is blank");
        return skip(row, value.at, Fault::blank, "holds no number", cell);
      case CellKind::text: return skip(row, value.at, Fault::text, "must be a number", cell);
      case CellKind::out_of_range: return skip(row, value.at, Fault::range, "must be in the range of a double", cell);
      case CellKind::number: return skip(row, value.at, Fault::sign, "must be positive", cell);
    }
  }

  [[nodiscard]] TermValue value_of(std::size_t row, const Mapping& m) {
    TermValue out = evaluate(m.columns, m.factor, sheet_, row);
    if (out.number.grouped) grouped_[static_cast<std::size_t>(m.role)] = true;
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
    if (const Mapping* m = role(Role::weight)) {
      const TermValue weight = value_of(row, *m);
      if (!positive(weight) && !(weight.number.kind == CellKind::number && weight.number.value == 0))
        return skip(row, weight);
      run.weight = weight.number.value;
    }
    if (!flop && (role(Role::flop) == nullptr || options_.derive_flop)) {
      flop = flop_per_parameter_and_token * run.parameters * run.tokens;
      if (!std::isfinite(*flop)) flop.reset();
      if (flop) ++derived_flop_;
    }
    if (!flop) ++without_flop_;
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

  [[nodiscard]] Error nothing_usable() const {
    if (sheet_.size() == 0)
      return Error(Failure::data, "no_rows", sheet_.name() + ":1", "needs rows below the header, got none");
    const auto worst = std::max_element(tallies_.begin(), tallies_.end(),
                                        [](const auto& a, const auto& b) { return a.second.rows < b.second.rows; });
    const std::string rows = std::to_string(sheet_.size()) + (sheet_.size() == 1 ? " row" : " rows");
    const std::string filtered =
        std::to_string(table_.rows.filtered) + " do not meet where " + shown(options_.where, 100);
    if (worst == tallies_.end())
      return Error(Failure::data, "no_usable_rows", sheet_.name(), "none of " + rows + " can be used: " + filtered);
    const auto& [key, tally] = *worst;
    return Error(Failure::data, "no_usable_rows",
                 key.first < sheet_.titles().size()
                     ? sheet_.place(tally.first_row, key.first)
                     : sheet_.name() + ":" + std::to_string(sheet_.line(tally.first_row)),
                 "none of " + rows + " can be used: in " + std::to_string(tally.rows) + " " + tally.reason +
                     (table_.rows.filtered > 0 ? ", and " + filtered : ""));
  }

  void note(std::string text) { table_.notes.push_back(std::move(text)); }

  void remark() {
    const Mapping& n = *role(Role::parameters);
    table_.count = n.count;
    table_.loss_unit = role(Role::loss)->unit;
    if (sheet_.separator() == '\t') note("cells are separated by tabs");
    if (sheet_.separator() == ';') note("cells are separated by semicolons, and a comma is the decimal point");
    for (const Role r : roles) {
      if (grouped_[static_cast<std::size_t>(r)])
        note("commas in " + role(r)->title + " were read as separators of thousands");
    }
    const std::string count(name_of(n.count));
    if (n.count != ParameterCount::total) note("parameters are the " + count + " count, from " + n.title);
    for (const std::string& other : n.alternatives) {
      const auto meaning = meaning_of(other, true);
      if (meaning && meaning->count != n.count) {
        note("parameters are the " + count + " count from " + n.title + "; " + other + " has the " +
             std::string(name_of(meaning->count)) + " one");
        break;
      }
    }
    for (const Mapping& m : mapping_) {
      if (m.tied)
        note(m.title + " is taken for " + std::string(name_of(m.role)) + ", the first of several as likely: " +
             m.alternatives.front() + (m.alternatives.size() > 1 ? ", ..." : ""));
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
    note_unused_marks();
    table_.mapping = mapping_;
    const auto derived = [this](Role r, const char* formula, const char* why) {
      if (role(r) != nullptr) return;
      table_.mapping.push_back({r, formula, {}, 1, "", table_.count, why, {}, false});
    };
    derived(Role::tokens, "C/(6N)", "no column holds tokens");
    derived(Role::flop, "6ND", "no column holds training FLOP");
    std::stable_sort(table_.mapping.begin(), table_.mapping.end(),
                     [](const Mapping& a, const Mapping& b) { return a.role < b.role; });
    note_repeated_titles();
  }

  // A file often says itself which rows its author left out.
  void note_unused_marks() {
    for (std::size_t column = 0; column < sheet_.titles().size(); ++column) {
      const std::string& title = sheet_.titles()[column];
      if (title.size() > 12 || filter_.mentions(column)) continue;
      const std::string word = lower_case(title);
      const bool good = word == "keep" || word == "include";
      if (!good && word != "outlier" && word != "is_outlier" && word != "exclude" && word != "excluded") continue;
      std::size_t marked = 0;
      for (std::size_t row = 0; row < sheet_.size(); ++row) {
        const std::string cell = lower_case(trimmed(sheet_.cell(row, column)).substr(0, 8));
        const bool yes = cell == "1" || cell == "true" || cell == "yes" || cell == "1.0";
        marked += yes != good ? 1 : 0;
      }
      if (marked == 0) continue;
      note("column " + title + " marks " + std::to_string(marked) + " rows, which are used all the same; where " +
           title + (good ? "==1" : "==0") + " leaves them out");
    }
  }

  void note_repeated_titles() {
    for (const Mapping& m : table_.mapping) {
      for (const std::size_t column : m.columns) {
        const std::string& title = sheet_.titles()[column];
        const auto times = std::count(sheet_.titles().begin(), sheet_.titles().end(), title);
        if (times > 1)
          note("the title " + title + " stands over " + std::to_string(times) + " columns, of which the first is read");
      }
    }
  }

  const Sheet& sheet_;
  const ReadOptions& options_;
  TitleIndex index_;
  std::vector<Mapping> mapping_;
  const Mapping* role_[roles.size()] = {};
  bool grouped_[roles.size()] = {};
  RowFilter filter_;
  std::optional<std::size_t> state_;
  std::vector<std::size_t> kept_columns_;
  std::map<std::pair<std::size_t, int>, Tally> tallies_;
  std::size_t derived_tokens_ = 0;
  std::size_t derived_flop_ = 0;
  std::size_t without_flop_ = 0;
  std::optional<std::size_t> last_used_;
  bool several_losses_ = false;
  RunTable table_;
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
