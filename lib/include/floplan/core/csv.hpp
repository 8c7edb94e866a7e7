// SPDX-License-Identifier: BSD-3-Clause
//
// Reading RFC 4180 CSV with the place of every cell.
//
//   const CsvTable table = parse_csv(text, "runs.csv");
//   for (const CsvRow row : table.rows()) use(row[table.column("loss")]);
//
// Taken as people export it: quoted cells with commas, doubled quotes and line breaks inside, CRLF, a byte-order mark, no
// final newline, blank lines (skipped), spaces around header names. The first line is the header. A place is
// "name:line:column" where line is the line a row starts on and column the number of the cell in it, both from 1. A row
// may have more or fewer cells than the header: its reader decides (CsvRow::size).
//
// Cost: one pass; cells are views into one buffer that the table owns and shares with its copies.
// Pitfall: a quote that never closes swallows the rest of the file; it is an error at the place where it opened.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"

namespace floplan {

class CsvRow {
 public:
  CsvRow(std::span<const std::string_view> cells, std::size_t line) : cells_(cells), line_(line) {}
  [[nodiscard]] std::size_t size() const { return cells_.size(); }
  [[nodiscard]] std::size_t line() const { return line_; }
  // A cell the row does not have reads as blank.
  [[nodiscard]] std::string_view operator[](std::size_t i) const {
    return i < cells_.size() ? cells_[i] : std::string_view();
  }

 private:
  std::span<const std::string_view> cells_;
  std::size_t line_;
};

class CsvTable {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
  [[nodiscard]] std::size_t header_line() const { return header_line_; }
  [[nodiscard]] std::size_t size() const { return starts_.size(); }
  [[nodiscard]] CsvRow row(std::size_t i) const {
    const std::size_t end = i + 1 < starts_.size() ? starts_[i + 1] : cells_.size();
    return {std::span(cells_).subspan(starts_[i], end - starts_[i]), lines_[i]};
  }
  [[nodiscard]] std::vector<CsvRow> rows() const {
    std::vector<CsvRow> out;
    out.reserve(size());
    for (std::size_t i = 0; i < size(); ++i) out.push_back(row(i));
    return out;
  }
  [[nodiscard]] std::optional<std::size_t> find_column(std::string_view name) const {
    for (std::size_t i = 0; i < header_.size(); ++i) {
      if (header_[i] == name) return i;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::size_t column(std::string_view name) const {
    if (const auto found = find_column(name)) return *found;
    throw Error(Failure::data, "missing_column", name_ + ":" + std::to_string(header_line_),
                "needs a column \"" + std::string(name) + "\"");
  }
  // "name:line:column", both from 1.
  [[nodiscard]] std::string place(const CsvRow& row, std::size_t column_index) const {
    return name_ + ":" + std::to_string(row.line()) + ":" + std::to_string(column_index + 1);
  }

  friend CsvTable parse_csv(std::string_view text, std::string name);

 private:
  std::string name_;
  std::shared_ptr<const std::string> buffer_;
  std::vector<std::string> header_;
  std::size_t header_line_ = 1;
  std::vector<std::string_view> cells_;
  std::vector<std::size_t> starts_;
  std::vector<std::size_t> lines_;
};

// Throws Error(data) for an empty file, a quote that never closes, and text between a closing quote and the next comma.
[[nodiscard]] inline CsvTable parse_csv(std::string_view text, std::string name) {
  CsvTable table;
  table.name_ = std::move(name);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  // A cell is never longer than its text, so cells are unescaped into a buffer of the text's size that never moves.
  auto buffer = std::make_shared<std::string>(text.size(), '\0');
  char* out = buffer->data();
  std::size_t line = 1;
  std::size_t i = 0;
  std::vector<std::string_view> row;
  const auto fail = [&](std::size_t at_line, const std::string& rule) {
    return Error(Failure::data, "bad_csv",
                 table.name_ + ":" + std::to_string(at_line) + ":" + std::to_string(row.size() + 1), rule);
  };
  while (i < text.size()) {
    row.clear();
    const std::size_t row_line = line;
    bool row_ends = false;
    while (!row_ends) {
      char* const cell = out;
      if (i < text.size() && text[i] == '"') {
        const std::size_t quote_line = line;
        bool closed = false;
        for (++i; i < text.size();) {
          if (text[i] == '"') {
            if (i + 1 < text.size() && text[i + 1] == '"') {
              *out++ = '"';
              i += 2;
              continue;
            }
            ++i;
            closed = true;
            break;
          }
          if (text[i] == '\n') ++line;
          *out++ = text[i++];
        }
        if (!closed) throw fail(quote_line, "a quoted cell must close before the file ends");
        if (i < text.size() && text[i] != ',' && text[i] != '\n' && text[i] != '\r') {
          throw fail(line, "a closing quote must be followed by a comma or the end of the line, got \"" +
                               std::string(1, text[i]) + "\"");
        }
      } else {
        while (i < text.size() && text[i] != ',' && text[i] != '\n' && text[i] != '\r') *out++ = text[i++];
      }
      row.emplace_back(cell, static_cast<std::size_t>(out - cell));
      if (i >= text.size()) {
        row_ends = true;
      } else if (text[i] == ',') {
        ++i;
      } else {
        if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') ++i;
        ++i;
        ++line;
        row_ends = true;
      }
    }
    if (row.size() == 1 && row.front().find_first_not_of(" \t") == std::string_view::npos) continue;
    if (table.header_.empty()) {
      table.header_line_ = row_line;
      for (std::string_view title : row) {
        while (!title.empty() && (title.front() == ' ' || title.front() == '\t')) title.remove_prefix(1);
        while (!title.empty() && (title.back() == ' ' || title.back() == '\t')) title.remove_suffix(1);
        table.header_.emplace_back(title);
      }
      continue;
    }
    table.starts_.push_back(table.cells_.size());
    table.lines_.push_back(row_line);
    table.cells_.insert(table.cells_.end(), row.begin(), row.end());
  }
  if (table.header_.empty())
    throw Error(Failure::data, "empty_file", table.name_ + ":1:1", "needs a header line, got an empty file");
  table.buffer_ = std::move(buffer);
  return table;
}

// One cell as CSV text, quoted only where it must be.
[[nodiscard]] inline std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace floplan
