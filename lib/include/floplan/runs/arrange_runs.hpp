// SPDX-License-Identifier: BSD-3-Clause
//
// What is done to runs once they are read: duplicates, the best run of each cell, groups, and a check of the units.
//
//   arrange(table, options);                                   // read() has called it
//   RunTable all = merge({read(a, "a.csv"), read(b, "b.csv")}, options);   // as if one file had held them
//
// A duplicate has N, D and loss of an earlier run, to the bit. A cell is one (N, D), or N and D within cell_tolerance
// of a neighbour, and one text in each of cell_columns; of equal losses the first is taken. Groups:
// runs/budget_groups.hpp, or the texts of a column in order of appearance. Units: 6ND/C over rows whose file gives all
// three should have a median within 0.5 and 2, N and D should not look like millions or billions, nor losses like
// perplexities.
//
// Both arrange() and merge() may be applied to what they made.
// Cost: n log n.
// Pitfall: the minimum over hyper-parameters is biased low when cells hold different numbers of runs; the note says how
// many.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/runs/budget_groups.hpp"
#include "floplan/runs/run_table.hpp"

namespace floplan::runs {

namespace detail {

template <class T>
void keep_marked(std::vector<T>& values, const std::vector<bool>& keep) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!keep[i]) continue;
    if (out != i) values[out] = std::move(values[i]);
    ++out;
  }
  values.resize(out);
}

inline void keep_marked_runs(RunTable& table, const std::vector<bool>& keep) {
  const std::size_t before = table.observations.size();
  keep_marked(table.observations, keep);
  keep_marked(table.flop, keep);
  keep_marked(table.origins, keep);
  for (auto& [title, cells] : table.kept) keep_marked(cells, keep);
  table.rows.dropped += before - table.observations.size();
}

[[nodiscard]] inline std::uint64_t hash_of(const Observation& o) {
  std::uint64_t hash = 0x9E3779B97F4A7C15ULL;
  for (const double value : {o.parameters, o.tokens, o.loss}) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 0xBF58476D1CE4E5B9ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

// Sorting by a hash first touches the runs themselves only where hashes tie; no input makes it worse than n log n.
inline void mark_duplicates(RunTable& table) {
  const auto& runs = table.observations;
  const auto key = [&runs](std::size_t i) { return std::tuple(runs[i].parameters, runs[i].tokens, runs[i].loss); };
  std::vector<std::pair<std::uint64_t, std::size_t>> order(runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) order[i] = {hash_of(runs[i]), i};
  std::sort(order.begin(), order.end(), [&key](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    const auto ka = key(a.second);
    const auto kb = key(b.second);
    return ka != kb ? ka < kb : a.second < b.second;
  });
  table.rows.duplicates = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool duplicate =
        i > 0 && order[i].first == order[i - 1].first && key(order[i].second) == key(order[i - 1].second);
    table.origins[order[i].second].duplicate = duplicate;
    table.rows.duplicates += duplicate ? 1 : 0;
  }
}

// Duplicates among runs of other quantities than N, D and loss: all of them alike, to the bit.
inline void count_repeated_quantities(RunTable& table) {
  table.rows.duplicates = 0;
  std::vector<std::size_t> order(table.quantities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return table.quantities[a] < table.quantities[b]; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (table.quantities[order[i]] != table.quantities[order[i - 1]]) continue;
    table.origins[order[i]].duplicate = true;
    ++table.rows.duplicates;
  }
  table.rows.used = table.observations.size();
  if (table.rows.duplicates == 0) return;
  table.warnings.push_back({"duplicates", std::to_string(table.rows.duplicates) +
                                              " rows repeat an earlier row: they are no independent runs, and must not "
                                              "shrink an interval"});
}

[[nodiscard]] inline std::vector<double> values_of(const RunTable& table, double Observation::*field) {
  std::vector<double> out;
  out.reserve(table.observations.size());
  for (const Observation& o : table.observations) out.push_back(o.*field);
  return out;
}

inline void take_minimum_per_cell(RunTable& table, const ReadOptions& options) {
  const std::size_t count = table.observations.size();
  const std::vector<int> n = group_by_budget(values_of(table, &Observation::parameters), options.cell_tolerance).of_row;
  const std::vector<int> d = group_by_budget(values_of(table, &Observation::tokens), options.cell_tolerance).of_row;
  std::vector<const std::vector<std::string>*> texts;
  for (const std::string& title : options.cell_columns) texts.push_back(&table.kept.at(title));
  const auto compare = [&](std::size_t a, std::size_t b) {
    if (n[a] != n[b]) return n[a] < n[b] ? -1 : 1;
    if (d[a] != d[b]) return d[a] < d[b] ? -1 : 1;
    for (const auto* column : texts) {
      if (const int order = (*column)[a].compare((*column)[b]); order != 0) return order;
    }
    return 0;
  };
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (const int cell = compare(a, b); cell != 0) return cell < 0;
    return std::pair(table.observations[a].loss, a) < std::pair(table.observations[b].loss, b);
  });
  std::vector<bool> keep(count, false);
  std::size_t cells = 0;
  std::size_t fewest = count;
  std::size_t most = 0;
  for (std::size_t begin = 0; begin < count;) {
    std::size_t end = begin + 1;
    while (end < count && compare(order[begin], order[end]) == 0) ++end;
    keep[order[begin]] = true;
    ++cells;
    fewest = std::min(fewest, end - begin);
    most = std::max(most, end - begin);
    begin = end;
  }
  keep_marked_runs(table, keep);
  if (cells < count) {
    table.notes.push_back("the lowest loss of each of " + std::to_string(cells) + " (N, D) cells is used, from " +
                          std::to_string(fewest) + " to " + std::to_string(most) + " runs a cell");
  }
}

inline void group_runs(RunTable& table, const ReadOptions& options) {
  table.budgets.clear();
  table.group_labels.clear();
  if (options.group_by == GroupBy::column) {
    std::map<std::string_view, int> ids;
    const std::vector<std::string>& labels = table.kept.at(options.group_column);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto [found, added] = ids.emplace(labels[i], static_cast<int>(ids.size()));
      if (added) table.group_labels.push_back(labels[i]);
      table.observations[i].group = found->second;
    }
  } else if (options.group_by == GroupBy::budget) {
    std::vector<double> flop;
    for (const auto& c : table.flop) {
      if (c) flop.push_back(*c);
    }
    BudgetGroups groups = group_by_budget(flop, options.budget_gap);
    table.budgets = std::move(groups.groups);
    std::size_t next = 0;
    for (std::size_t i = 0; i < table.flop.size(); ++i) {
      table.observations[i].group = table.flop[i] ? groups.of_row[next++] : static_cast<int>(table.budgets.size());
    }
  }
}

[[nodiscard]] inline double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

inline void check_units(RunTable& table) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < table.observations.size(); ++i) {
    if (!table.origins[i].tokens_given || !table.origins[i].flop_given || !table.flop[i]) continue;
    ratios.push_back(table.observations[i].parameters / *table.flop[i] * 6 * table.observations[i].tokens);
  }
  table.six_nd_over_c = {};
  if (!ratios.empty()) {
    const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
    table.six_nd_over_c = {ratios.size(), 0, *low, *high};
    const double median = table.six_nd_over_c.median = median_of(ratios);
    if (!(median >= 0.5 && median <= 2)) {
      table.warnings.push_back(
          {"suspect_units", "6ND/C has the median " + print_number(median, 4) +
                                " where about 1 is expected: N, D or C is in another unit, or C counts another N"});
    }
  }
  if (table.observations.empty()) return;
  // The loss of guessing among 162,755 tokens, and no trained model is worse.
  constexpr double largest_nats = 12;
  std::vector<double> losses = values_of(table, &Observation::loss);
  const double lowest = *std::min_element(losses.begin(), losses.end());
  if (lowest > largest_nats) {
    table.warnings.push_back({"loss_scale", "every loss is above " + print_number(largest_nats) + " (the lowest is " +
                                                print_number(lowest, 4) +
                                                "), which no loss in nats a token is: if they are perplexities, take "
                                                "their logarithms"});
  }
  struct Look {
    double Observation::*field;
    const char* name;
    double least;
  };
  for (const Look& look :
       {Look{&Observation::parameters, "parameters", 1e4}, Look{&Observation::tokens, "tokens", 1e5}}) {
    std::vector<double> values = values_of(table, look.field);
    const double median = median_of(values);
    if (median >= look.least) continue;
    table.warnings.push_back({"suspect_units", std::string("the median of ") + look.name + " is " +
                                                   print_number(median, 4) +
                                                   ": if the column is in millions or billions, say so with " +
                                                   look.name + "=TITLE*1e6 or *1e9"});
  }
}

}  // namespace detail

inline void arrange(RunTable& table, const ReadOptions& options) {
  std::erase_if(table.warnings, [](const Warning& w) {
    return w.code == "suspect_units" || w.code == "loss_scale" || w.code == "duplicates" || w.code == "wide_budgets";
  });
  if (!options.quantities.empty()) return detail::count_repeated_quantities(table);
  detail::mark_duplicates(table);
  const std::size_t duplicates = table.rows.duplicates;
  if (duplicates > 0) {
    const bool drop = options.drop_duplicates;
    table.warnings.push_back(
        {"duplicates", std::to_string(duplicates) + " rows repeat the N, D and loss of an earlier row and are " +
                           (drop ? "dropped" : "kept: they are no independent runs, and must not shrink an interval")});
    if (drop) {
      std::vector<bool> keep(table.origins.size());
      for (std::size_t i = 0; i < keep.size(); ++i) keep[i] = !table.origins[i].duplicate;
      detail::keep_marked_runs(table, keep);
    }
  }
  if (options.minimum_per_cell && !table.observations.empty()) detail::take_minimum_per_cell(table, options);
  detail::group_runs(table, options);
  for (const Budget& budget : table.budgets) {
    if (!budget.wide()) continue;
    table.warnings.push_back(
        {"wide_budgets",
         "budgets from " + print(Flop(budget.low), 3) + " to " + print(Flop(budget.high), 3) +
             " run into one another and are one group: give a smaller budget gap, or a column of nominal budgets"});
    break;
  }
  detail::check_units(table);
  table.rows.used = table.observations.size();
}

namespace detail {

// What several files say alike is said once: "a.csv and 3 more: ..." or, of all, without a name.
class Remarks {
 public:
  explicit Remarks(std::size_t files) : files_(files) {}
  void add(const std::string& text, const std::string& file) {
    const auto [found, added] = index_.emplace(text, remarks_.size());
    if (added) remarks_.push_back({text, file, 0});
    ++remarks_[found->second].times;
  }
  template <class Use>
  void each(const Use& use) const {
    for (const Remark& r : remarks_) {
      const std::string more = r.times > 1 ? " and " + std::to_string(r.times - 1) + " more" : "";
      use(r.times == files_ ? r.text : r.first + more + ": " + r.text);
    }
  }

 private:
  struct Remark {
    std::string text;
    std::string first;
    std::size_t times = 0;
  };
  std::size_t files_;
  std::vector<Remark> remarks_;
  std::map<std::string, std::size_t> index_;
};

// Remarks by the code of their warning; of notes, none.
using RemarksByCode = std::map<std::string, Remarks>;

// Where a table means something else than the first one by N, D, C or the loss.
inline void compare_meanings(const RunTable& table, const RunTable& lead, RemarksByCode& said, std::size_t files) {
  const auto say = [&](const char* code, const std::string& text) {
    said.try_emplace(code, files).first->second.add(text, table.files.front());
  };
  if (table.count != lead.count) {
    say("parameter_convention", "counts " + name_of(table.count) + " parameters, where " + lead.files.front() +
                                    " counts " + name_of(lead.count) + " ones");
  }
  if (table.loss_unit != lead.loss_unit) {
    const auto unit = [](const std::string& u) { return u.empty() ? std::string("a unit that it does not state") : u; };
    say("loss_unit", "has its loss in " + unit(table.loss_unit) + ", where " + lead.files.front() + " has it in " +
                         unit(lead.loss_unit));
  }
  for (const Mapping& m : table.mapping) {
    const Mapping* first = find_quantity(lead.mapping, m.name());
    if (first == nullptr || first->title == m.title) continue;
    say("columns_differ", "takes " + m.name() + (m.derived() ? " = " : " from ") + m.title + ", where " +
                              lead.files.front() + " has it " + (first->derived() ? "= " : "from ") + first->title);
  }
}

}  // namespace detail

// The runs of several files as one table, arranged again as options say. Throws Error(usage) if a column that options
// group or tell cells apart by was not kept in each.
[[nodiscard]] inline RunTable merge(std::vector<RunTable> tables, const ReadOptions& options = {}) {
  if (tables.empty()) throw Error(Failure::usage, "no_tables", "merge", "needs at least one table, got none");
  if (tables.size() == 1) return std::move(tables.front());
  const auto with_runs =
      std::find_if(tables.begin(), tables.end(), [](const RunTable& t) { return !t.observations.empty(); });
  const RunTable& lead = with_runs == tables.end() ? tables.front() : *with_runs;
  RunTable out;
  out.mapping = lead.mapping;
  out.count = lead.count;
  out.loss_unit = lead.loss_unit;
  for (const auto& [title, cells] : lead.kept) {
    if (std::all_of(tables.begin(), tables.end(),
                    [&title = title](const RunTable& t) { return t.kept.contains(title); }))
      out.kept[title];
  }
  std::vector<std::string> needed = options.minimum_per_cell ? options.cell_columns : std::vector<std::string>();
  if (options.group_by == GroupBy::column) needed.push_back(options.group_column);
  for (const std::string& title : needed) {
    if (!out.kept.contains(title))
      throw Error(Failure::usage, "unknown_column", "merge", "every table must have kept the column \"" + title + "\"");
  }
  const auto used = static_cast<std::size_t>(
      std::count_if(tables.begin(), tables.end(), [](const RunTable& t) { return !t.observations.empty(); }));
  detail::Remarks notes(used);
  detail::RemarksByCode warnings;
  for (const RunTable& table : tables) {
    if (table.observations.empty()) continue;
    detail::compare_meanings(table, lead, warnings, used);
    for (const std::string& note : table.notes) notes.add(note, table.files.front());
    for (const Warning& w : table.warnings)
      warnings.try_emplace(w.code, used).first->second.add(w.message, table.files.front());
  }
  notes.each([&](const std::string& note) { out.notes.push_back(note); });
  for (const auto& [code, remarks] : warnings) {
    remarks.each([&out, &code = code](const std::string& message) { out.warnings.push_back({code, message}); });
  }
  for (RunTable& table : tables) {
    const std::size_t first_file = out.files.size();
    out.files.insert(out.files.end(), table.files.begin(), table.files.end());
    out.observations.insert(out.observations.end(), table.observations.begin(), table.observations.end());
    out.quantities.insert(out.quantities.end(), table.quantities.begin(), table.quantities.end());
    out.flop.insert(out.flop.end(), table.flop.begin(), table.flop.end());
    for (Origin origin : table.origins) {
      origin.file += first_file;
      out.origins.push_back(origin);
    }
    for (auto& [title, cells] : out.kept) {
      const auto& more = table.kept.at(title);
      cells.insert(cells.end(), more.begin(), more.end());
    }
    out.rows.read += table.rows.read;
    out.rows.filtered += table.rows.filtered;
    out.rows.dropped += table.rows.dropped;
    out.rows.skipped_count += table.rows.skipped_count;
    for (SkippedRow& row : table.rows.skipped) {
      if (out.rows.skipped.size() < options.skipped_listed) out.rows.skipped.push_back(std::move(row));
    }
    for (SkippedFile& file : table.skipped_files) out.skipped_files.push_back(std::move(file));
  }
  arrange(out, options);
  return out;
}

}  // namespace floplan::runs
