// SPDX-License-Identifier: BSD-3-Clause
//
// Which rows count? A small language of comparisons on columns.
//
//   keep==1 && loss < 3.5        (State == finished || State == "") && !(`Model Size` > 1e9)        val_data ~ c4_val
//
// A comparison is COLUMN OP VALUE with OP one of == != < <= > >= and ~ (holds the text); = is ==. Join with && and ||
// (&& binds tighter), negate with !, group with ( ). A column is a bare word, or in backticks or double quotes; a value
// is a bare word, or in double or single quotes. parameters, tokens, flop and loss stand for the mapped columns in SI
// units where no column has that name.
//
// A bare value that reads as a number (500M, 1e-3, true and false as 1 and 0) is compared with the cell's number; a
// cell without one (blank, NaN, text) equals no number, differs from every number and is neither less nor greater. Any
// other value is compared as text, byte by byte, so dates as 2024-05-31 order; < and > take no other bare word, because
// "3.5nats" and "3,5" are numbers gone wrong. Quote a text that is meant to be ordered.
//
// Errors are of usage and say at which character, from 1. Pitfall: a bare value ends at a space, a parenthesis or an
// operator: quote text that holds one.
#pragma once

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"
#include "floplan/runs/column_map.hpp"
#include "floplan/runs/sheet.hpp"

namespace floplan::runs {

class RowFilter {
 public:
  RowFilter() = default;  // lets every row through
  // mapping: what parameters, tokens, flop and loss stand for.
  RowFilter(std::string_view text, const TitleIndex& index, const std::vector<Mapping>& mapping = {})
      : text_(text), index_(&index), mapping_(&mapping) {
    if (detail::trimmed(text).empty()) return;
    either(0);
    skip_spaces();
    if (at_ < text_.size()) throw refused(at_, "expected && or || or the end, got \"" + rest() + "\"");
    text_ = {};
    index_ = nullptr;
    mapping_ = nullptr;
  }

  [[nodiscard]] bool empty() const { return steps_.empty(); }

  [[nodiscard]] bool passes(const Sheet& sheet, std::size_t row) const {
    if (steps_.empty()) return true;
    std::vector<bool> stack;
    for (const Step& step : steps_) {
      if (step.kind == Kind::compare) {
        stack.push_back(holds(comparisons_[step.comparison], sheet, row));
      } else if (step.kind == Kind::negate) {
        stack.back() = !stack.back();
      } else {
        const bool right = stack.back();
        stack.pop_back();
        stack.back() = step.kind == Kind::both ? stack.back() && right : stack.back() || right;
      }
    }
    return stack.back();
  }

  // The columns that it looks at.
  [[nodiscard]] bool mentions(std::size_t column) const {
    for (const Comparison& comparison : comparisons_) {
      for (const std::size_t c : comparison.term.columns) {
        if (c == column) return true;
      }
    }
    return false;
  }

 private:
  enum class Operator { equal, different, less, less_or_equal, greater, greater_or_equal, contains };
  enum class Kind { compare, both, either, negate };
  struct Comparison {
    Term term;
    Operator op = Operator::equal;
    bool numeric = false;
    double number = 0;
    std::string text;
  };
  struct Step {  // in reverse Polish order
    Kind kind = Kind::compare;
    std::size_t comparison = 0;
  };

  template <class T>
  [[nodiscard]] static bool compare(const T& a, Operator op, const T& b) {
    switch (op) {
      case Operator::equal: return a == b;
      case Operator::different: return a != b;
      case Operator::less: return a < b;
      case Operator::less_or_equal: return a <= b;
      case Operator::greater: return a > b;
      case Operator::greater_or_equal: return a >= b;
      case Operator::contains: break;
    }
    return false;
  }

  // true and false are 1 and 0, in any case; both are words that spreadsheets and dataframes write.
  [[nodiscard]] static CellNumber number_in(std::string_view cell, bool decimal_comma) {
    cell = detail::trimmed(cell);
    if (cell.size() == 4 && lower_case(cell) == "true") return {1, CellKind::number, false};
    if (cell.size() == 5 && lower_case(cell) == "false") return {0, CellKind::number, false};
    return read_number(cell, decimal_comma);
  }

  [[nodiscard]] static bool holds(const Comparison& c, const Sheet& sheet, std::size_t row) {
    if (!c.numeric) {
      const std::string_view cell = detail::trimmed(sheet.cell(row, c.term.columns.front()));
      if (c.op == Operator::contains) return cell.find(c.text) != std::string_view::npos;
      return compare(cell, c.op, std::string_view(c.text));
    }
    CellNumber number;
    if (c.term.columns.size() == 1) {
      number = number_in(sheet.cell(row, c.term.columns.front()), sheet.decimal_comma());
      number.value *= c.term.factor;
    } else {
      number = evaluate(c.term.columns, c.term.factor, sheet, row).number;
    }
    if (number.kind != CellKind::number) return c.op == Operator::different;
    return compare(number.value, c.op, c.number);
  }

  [[nodiscard]] static Error refused(std::size_t at, const std::string& rule) {
    return Error(Failure::usage, "bad_filter", "where:" + std::to_string(at + 1), rule);
  }
  [[nodiscard]] std::string rest() const { return detail::shown(text_.substr(at_), 20); }

  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  [[nodiscard]] bool take(std::string_view mark) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(mark)) return false;
    at_ += mark.size();
    return true;
  }

  void either(int depth) {
    both(depth);
    while (take("||")) {
      both(depth);
      steps_.push_back({Kind::either, 0});
    }
  }
  void both(int depth) {
    unary(depth);
    while (take("&&")) {
      unary(depth);
      steps_.push_back({Kind::both, 0});
    }
  }
  void unary(int depth) {
    constexpr int deepest = 64;
    bool negated = false;
    while (take("!")) negated = !negated;
    if (take("(")) {
      if (depth == deepest)
        throw refused(at_ - 1, "parentheses may nest " + std::to_string(deepest) + " deep, got more");
      either(depth + 1);
      if (!take(")"))
        throw refused(at_, at_ < text_.size() ? "expected ), got \"" + rest() + "\"" : "expected ) before the end");
    } else {
      comparison();
    }
    if (negated) steps_.push_back({Kind::negate, 0});
  }

  void comparison() {
    Comparison out;
    skip_spaces();
    const std::size_t name_at = at_;
    const auto [name, name_quote] = word("`\"", "a column such as loss in loss < 3");
    out.term = term(name, name_at);
    skip_spaces();
    const std::size_t op_at = at_;
    out.op = comparison_operator();
    skip_spaces();
    const std::size_t value_at = at_;
    const auto [value, value_quote] = word("\"'", "a number or a text to compare with");
    const CellNumber number = number_in(value, false);
    out.numeric = value_quote == '\0' && number.kind == CellKind::number && out.op != Operator::contains;
    out.number = number.value;
    out.text = value;
    if (!out.numeric && (out.term.columns.size() != 1 || out.term.factor != 1))
      throw refused(value_at,
                    "\"" + detail::shown(name) + "\" is a number here, got the text \"" + detail::shown(value) + "\"");
    const bool orders = out.op != Operator::equal && out.op != Operator::different && out.op != Operator::contains;
    if (!out.numeric && orders && value_quote == '\0' && !looks_like_a_date(value)) {
      throw refused(value_at, "expected a number, a date, or a text in quotes, got \"" + detail::shown(value) + "\"");
    }
    if (out.op == Operator::contains && value.empty()) throw refused(op_at, "~ needs a text to look for, got none");
    comparisons_.push_back(std::move(out));
    steps_.push_back({Kind::compare, comparisons_.size() - 1});
  }

  // 2024-05-31, 2024/05, 2024-05-31T12:00: text that orders as it should.
  [[nodiscard]] static bool looks_like_a_date(std::string_view text) {
    const auto digit = [&](std::size_t i) { return std::isdigit(static_cast<unsigned char>(text[i])) != 0; };
    return text.size() >= 6 && digit(0) && digit(1) && digit(2) && digit(3) && (text[4] == '-' || text[4] == '/') &&
           digit(5);
  }

  [[nodiscard]] Operator comparison_operator() {
    if (take("==") || take("=")) return Operator::equal;
    if (take("!=")) return Operator::different;
    if (take("<=")) return Operator::less_or_equal;
    if (take(">=")) return Operator::greater_or_equal;
    if (take("<")) return Operator::less;
    if (take(">")) return Operator::greater;
    if (take("~")) return Operator::contains;
    throw refused(at_,
                  "expected one of == != < <= > >= ~, got " + (at_ < text_.size() ? "\"" + rest() + "\"" : "the end"));
  }

  // A word and the quote that it stood in, if any.
  [[nodiscard]] std::pair<std::string, char> word(std::string_view quotes, const std::string& expected) {
    if (at_ < text_.size() && quotes.find(text_[at_]) != std::string_view::npos) {
      const char quote = text_[at_];
      const std::size_t end = text_.find(quote, at_ + 1);
      if (end == std::string_view::npos) throw refused(at_, std::string("the quote ") + quote + " never closes");
      const std::string out(text_.substr(at_ + 1, end - at_ - 1));
      at_ = end + 1;
      return {out, quote};
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) == 0 &&
           std::string_view("()!=<>&|~`\"'").find(text_[at_]) == std::string_view::npos) {
      ++at_;
    }
    if (at_ == begin)
      throw refused(at_, "expected " + expected + ", got " + (at_ < text_.size() ? "\"" + rest() + "\"" : "the end"));
    return {std::string(text_.substr(begin, at_ - begin)), '\0'};
  }

  [[nodiscard]] Term term(const std::string& name, std::size_t at) const {
    if (const auto column = index_->find(name)) return {{*column}, 1};
    for (const Mapping& m : *mapping_) {
      if (m.name() == name && !m.derived()) return {m.columns, m.factor};
    }
    throw refused(at, "there is no column \"" + detail::shown(name) + "\"" + index_->nearest(name));
  }

  std::string_view text_;
  const TitleIndex* index_ = nullptr;
  const std::vector<Mapping>* mapping_ = nullptr;
  std::size_t at_ = 0;
  std::vector<Comparison> comparisons_;
  std::vector<Step> steps_;
};

}  // namespace floplan::runs
