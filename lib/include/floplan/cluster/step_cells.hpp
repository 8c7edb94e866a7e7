// SPDX-License-Identifier: BSD-3-Clause
//
// The cells of one measured row, and behind each blank one what is known of its publisher's software.
//
//   StepCells cells(table, stacks);   cells.at(row);
//   cells.whole({"microbatch", "mbs"})             any of the titles; nullopt where blank
//   cells.yes_no({"overlap"}, otherwise)           the cell, else the stack's fact, else `otherwise`
//
// A row's stack is that of its group, else one whose words the row's source has, else what was usual in its year. A fact
// that the stack's record calls a judgement, or that comes from the year, is an assumption of the row.
//
// Source: data/catalog/stacks.csv. Errors name file, line, column, the rule and the text.
// Pitfall: a blank cell and a title that is not there are the same.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "floplan/catalog/stacks.hpp"
#include "floplan/cluster/software_stack.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"

namespace floplan::cluster::detail {

using Titles = std::initializer_list<std::string_view>;

[[nodiscard]] inline bool has(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

class StepCells {
 public:
  StepCells(const CsvTable& table, const std::vector<catalog::Stack>& stacks) : table_(table), stacks_(stacks) {}
  void at(const CsvRow& row) {
    row_ = row;
    stack_ = nullptr;
    stack_ = find_stack();
  }
  // Of the row's publisher or year, or nullptr.
  [[nodiscard]] const catalog::Stack* stack() const { return stack_; }
  // Whether the stack is the publisher's own.
  [[nodiscard]] bool known_publisher() const { return stack_ != nullptr && stack_->is_publishers(); }

  [[nodiscard]] std::optional<std::size_t> column(Titles titles) const {
    for (const std::string_view title : titles) {
      if (const auto found = table_.find_column(title)) return found;
    }
    return std::nullopt;
  }
  void require(Titles titles) const {
    if (!column(titles)) static_cast<void>(table_.column(*titles.begin()));
  }
  // In lower case, without spaces around; the first titled cell that is not blank.
  [[nodiscard]] std::string cell(Titles titles) const {
    for (const std::string_view title : titles) {
      const auto found = table_.find_column(title);
      std::string_view text = found ? row_[*found] : std::string_view();
      while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
      while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
      if (!text.empty()) return lower_case(text);
    }
    return {};
  }
  // The cell, or what the stack says.
  [[nodiscard]] std::string text(Titles titles) const {
    std::string out = cell(titles);
    if (!out.empty() || stack_ == nullptr) return out;
    return stack_->fact(std::string(*titles.begin()));
  }
  // Whether text() is a judgement and not published.
  [[nodiscard]] bool assumed(Titles titles) const {
    return cell(titles).empty() && stack_ != nullptr && stack_->assumes(*titles.begin());
  }
  [[nodiscard]] Error fail(Titles titles, const std::string& rule) const {
    return Error(Failure::data, "bad_cell", table_.place(row_, column(titles).value_or(table_.header().size())),
                 std::string(*titles.begin()) + " " + rule + ", got \"" + text(titles) + "\"");
  }
  [[nodiscard]] std::optional<double> number(Titles titles) const {
    const std::string text = this->text(titles);
    if (text.empty()) return std::nullopt;
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(value > 0) || !std::isfinite(value))
      throw fail(titles, "must be a positive number");
    return value;
  }
  [[nodiscard]] std::optional<std::int64_t> whole(Titles titles) const {
    const auto value = number(titles);
    if (!value) return std::nullopt;
    if (*value != std::floor(*value) || *value > 1e15) throw fail(titles, "must be a whole number");
    return static_cast<std::int64_t>(*value);
  }
  [[nodiscard]] std::int64_t required(Titles titles) const {
    if (const auto value = whole(titles)) return *value;
    throw fail(titles, "must be given");
  }
  template <class Value>
  [[nodiscard]] Fact<Value> fact(Titles titles, const Fact<Value>& otherwise, Words<Value> words) const {
    const std::string text = this->text(titles);
    if (text.empty()) return otherwise;
    std::string known;
    for (const auto& [word, value] : words) {
      if (text == word) return assumed(titles) ? Fact<Value>::assume(value) : Fact<Value>(value);
      known += (known.empty() ? "" : ", ") + std::string(word);
    }
    throw fail(titles, "must be one of " + known);
  }
  [[nodiscard]] Fact<bool> yes_no(Titles titles, const Fact<bool>& otherwise) const {
    return fact<bool>(titles, otherwise, yes_no_words);
  }
  [[nodiscard]] std::string place() const { return table_.place(row_, 0); }

 private:
  [[nodiscard]] const catalog::Stack* find_stack() const {
    const std::string group = cell({"group", "publisher"});
    for (const catalog::Stack& s : stacks_) {
      if (!group.empty() &&
          (s.name == group || std::find(s.aliases.begin(), s.aliases.end(), group) != s.aliases.end()))
        return &s;
    }
    const std::string source = cell({"source"});
    for (const catalog::Stack& s : stacks_) {
      if (!s.source_contains.empty() && has(source, lower_case(s.source_contains))) return &s;
    }
    const std::string cell_year = cell({"year", "date"});
    double year = 0;
    std::from_chars(cell_year.data(), cell_year.data() + std::min<std::size_t>(cell_year.size(), 4), year);
    if (!(year > 1990)) return nullptr;
    for (const catalog::Stack& s : stacks_) {
      if (!s.is_publishers() && year >= s.year_from.value_or(0) && year <= s.year_to.value_or(1e4)) return &s;
    }
    return nullptr;
  }

  const CsvTable& table_;
  const std::vector<catalog::Stack>& stacks_;
  const catalog::Stack* stack_ = nullptr;
  CsvRow row_{{}, 0};
};

// What a row or a record says of the software; sequence parallelism may stand with the recomputation ("selective + seq-par").
inline void read_stack(const StepCells& cells, SoftwareStack& s) {
  s.attention = cells.fact<AttentionKernel>({"attention"}, s.attention, attention_words);
  s.elementwise = cells.fact<Elementwise>({"elementwise"}, s.elementwise, elementwise_words);
  s.host = cells.fact<Host>({"host"}, s.host, host_words);
  s.data_parallel = cells.fact<DataParallelEngine>({"data_parallel"}, s.data_parallel, data_parallel_words);
  s.selective = cells.fact<SelectiveRecompute>({"selective"}, s.selective, selective_words);
  s.context_exchange = cells.fact<ContextExchange>({"context_exchange"}, s.context_exchange, context_exchange_words);
  s.schedule = cells.fact<PipelineSchedule>({"schedule"}, s.schedule, schedule_words);
  const std::string recompute = cells.cell({"recompute"});
  if (has(recompute, "selective-op") || has(recompute, "selective op")) s.selective = SelectiveRecompute::operators;
  if (cells.cell({"sequence_parallel"}).empty() && has(recompute, "seq-par")) {
    s.sequence_parallel = !has(recompute, "no seq-par");
  } else {
    s.sequence_parallel = cells.yes_no({"sequence_parallel"}, s.sequence_parallel);
  }
  s.overlap = cells.yes_no({"overlap"}, s.overlap);
  s.scatter_gather = cells.yes_no({"scatter_gather"}, s.scatter_gather);
  if (const auto bytes = cells.number({"gradient_bytes"}))
    s.gradient_bytes = cells.assumed({"gradient_bytes"}) ? Fact<double>::assume(*bytes) : Fact<double>(*bytes);
}

}  // namespace floplan::cluster::detail
