// SPDX-License-Identifier: BSD-3-Clause
//
// A table for people (aligned columns, rounded numbers) that is also a CSV for programs (every digit).
//
//   Table t({"stage", "days"});  t.add({"main", {53.41, 3}});
//   t.text()   aligned: names to the left, numbers to the right, units in the header
//   t.csv()    RFC 4180, numbers with the digits that parse to the same bits
//
// A cell is text, or a number with the significant digits that people see. A blank cell is "not known", shown as "-" and
// written as nothing.
//
// Pitfall: put the unit into the header ("days", "cost (USD)"), never into the cells, or the CSV stops being numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/csv.hpp"
#include "floplan/core/quantity_text.hpp"

namespace floplan::report {

// A number as people read it: rounded, with thousands marked where no digit after the point is shown.
[[nodiscard]] inline std::string grouped(double value, int digits) {
  const double size = std::abs(value);
  if (!std::isfinite(value) || size < 999.5 || size >= 1e15) return print_number(value, digits);
  // Digits before the point are all shown: 30314471 to three digits reads 30,300,000.
  const int whole = static_cast<int>(std::floor(std::log10(size))) + 1;
  const double unit = std::pow(10.0, std::max(0, whole - digits));
  if (digits > whole && value != std::round(value)) return print_number(value, digits);
  const std::string plain = std::to_string(std::llabs(std::llround(value / unit) * std::llround(unit)));
  std::string out;
  if (value < 0) out += '-';
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (i > 0 && (plain.size() - i) % 3 == 0) out += ',';
    out += plain[i];
  }
  return out;
}

// Text as a terminal may show it: control characters, which could move the cursor or break a line, become '?'.
[[nodiscard]] inline std::string printable(std::string text, bool keep_lines = false) {
  for (char& c : text) {
    const auto code = static_cast<unsigned char>(c);
    if ((code < 0x20 && !(keep_lines && c == '\n')) || code == 0x7f) c = '?';
  }
  return text;
}

class Cell {
 public:
  Cell() = default;
  Cell(std::string text)
      : text_(std::move(text)), exact_(text_) {}       // NOLINT(google-explicit-constructor): cells are written inline
  Cell(const char* text) : Cell(std::string(text)) {}  // NOLINT(google-explicit-constructor)
  Cell(double value, int digits) : text_(grouped(value, digits)), exact_(print_number(value)), number_(true) {}
  template <class T>
  Cell(const std::optional<T>& value, int digits) {
    if constexpr (requires { value->value; }) {
      if (value) *this = Cell(value->value, digits);
    } else {
      if (value) *this = Cell(*value, digits);
    }
  }

  [[nodiscard]] std::string text() const { return text_.empty() ? "-" : printable(text_); }
  [[nodiscard]] const std::string& exact() const { return exact_; }
  [[nodiscard]] bool number() const { return number_; }

 private:
  std::string text_;
  std::string exact_;
  bool number_ = false;
};

// A number that may be unknown: blank where it is not finite.
[[nodiscard]] inline Cell known(double x, int digits = 6) { return std::isfinite(x) ? Cell(x, digits) : Cell(); }

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}

  void add(std::vector<Cell> row) {
    row.resize(header_.size());
    rows_.push_back(std::move(row));
  }
  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
  [[nodiscard]] const std::vector<std::vector<Cell>>& rows() const { return rows_; }

  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths;
    std::vector<bool> right;
    for (std::size_t c = 0; c < header_.size(); ++c) {
      std::size_t width = columns_of(header_[c]);
      bool any = false, all = true;
      for (const auto& row : rows_) {
        width = std::max(width, columns_of(row[c].text()));
        any = any || row[c].number();
        all = all && (row[c].number() || row[c].exact().empty());
      }
      widths.push_back(width);
      right.push_back(any && all);
    }
    std::string out = line(widths, right, [this](std::size_t c) { return header_[c]; });
    for (const auto& row : rows_) out += line(widths, right, [&row](std::size_t c) { return row[c].text(); });
    return out;
  }

  [[nodiscard]] std::string csv() const {
    std::string out;
    // Appended piece by piece: g++ 12 takes "," + std::string at -O3 for an overlapping copy (GCC bug 105651).
    for (std::size_t c = 0; c < header_.size(); ++c) {
      if (c > 0) out += ',';
      out += csv_cell(header_[c]);
    }
    out += '\n';
    for (const auto& row : rows_) {
      for (std::size_t c = 0; c < row.size(); ++c) {
        if (c > 0) out += ',';
        out += csv_cell(row[c].exact());
      }
      out += '\n';
    }
    return out;
  }

 private:
  // Columns that UTF-8 text takes on a terminal, for the scripts that floplan prints.
  [[nodiscard]] static std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
  }
  template <class CellText>
  [[nodiscard]] static std::string line(const std::vector<std::size_t>& widths, const std::vector<bool>& right,
                                        CellText cell) {
    std::string out;
    for (std::size_t c = 0; c < widths.size(); ++c) {
      const std::string text = cell(c);
      const std::string pad(widths[c] - columns_of(text), ' ');
      if (c > 0) out += "  ";
      out += right[c] ? pad + text : text + pad;
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    return out + "\n";
  }

  std::vector<std::string> header_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace floplan::report
