// SPDX-License-Identifier: BSD-3-Clause
//
// What the reader of a shell script remembers while it goes: what hangs on a branch, what is used, and what may not run.
//
//   ScriptNotes       notes within values: "$H, which line 3 sets in a branch" goes wherever the value of $H goes
//   ScriptUses        which arrays and strings of flags a command uses, directly or through others
//   ScriptBranches    whether what stands here may not run: if, case, select, loops, after && and ||, bodies of functions
//
// Holds for scripts that open and close a block with a word of its own, as they are written by hand.
// Pitfall: a branch is not followed: both of its ways are read, and marked as what may not run.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace floplan::architecture::detail {

// Marks within a value: around what cannot be known, and around the number of a note.
inline constexpr char mark_begin = '\x01';
inline constexpr char mark_end = '\x02';
inline constexpr char note_begin = '\x03';
inline constexpr char note_end = '\x04';

class ScriptNotes {
 public:
  // The mark that stands for this text before a value.
  [[nodiscard]] std::string add(const std::string& text) {
    texts_.push_back(text);
    return note_begin + std::to_string(texts_.size() - 1) + note_end;
  }
  // Takes the marks out of a value, and gives them.
  static std::string take(std::string& value) {
    if (value.find(note_begin) == std::string::npos) return {};
    std::string notes;
    std::string plain;
    bool inside = false;
    for (const char c : value) {
      inside = inside || c == note_begin;
      (inside ? notes : plain) += c;
      inside = inside && c != note_end;
    }
    value = std::move(plain);
    return notes;
  }
  // What the first of these marks says; nothing for none.
  [[nodiscard]] std::string said(const std::string& notes) const {
    if (notes.empty()) return {};
    std::size_t number = 0;
    for (std::size_t i = 1; i < notes.size() && notes[i] != note_end; ++i)
      number = 10 * number + static_cast<std::size_t>(notes[i] - '0');
    return number < texts_.size() ? texts_[number] : std::string();
  }

 private:
  std::vector<std::string> texts_;
};

class ScriptUses {
 public:
  std::string assigning;  // the name whose value is being read; none in a command

  void note(const std::string& name) { (assigning.empty() ? used_ : uses_of_[assigning]).insert(name); }
  void hold(std::size_t line) {
    if (!assigning.empty()) holders_.emplace(assigning, line);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::size_t>> unused() const {
    std::set<std::string> reached;
    std::vector<std::string> open(used_.begin(), used_.end());
    while (!open.empty()) {
      const std::string name = open.back();
      open.pop_back();
      if (!reached.insert(name).second) continue;
      if (const auto within = uses_of_.find(name); within != uses_of_.end())
        open.insert(open.end(), within->second.begin(), within->second.end());
    }
    std::vector<std::pair<std::string, std::size_t>> out;
    for (const auto& [name, line] : holders_) {
      if (!reached.contains(name)) out.emplace_back(name, line);
    }
    return out;
  }

 private:
  std::map<std::string, std::size_t> holders_;            // names of flags, and where they are set
  std::map<std::string, std::set<std::string>> uses_of_;  // what the value of a name takes from others
  std::set<std::string> used_;                            // by commands
};

class ScriptBranches {
 public:
  [[nodiscard]] bool may_not_run() const { return branches_ > 0 || after_and_ || conditional_braces_ > 0; }
  void and_or() { after_and_ = pending_ = true; }
  void something_follows() { pending_ = false; }
  // A line that ends with && goes on in the next.
  void line_ends() { after_and_ = after_and_ && pending_; }

  // What a word of a command opens or closes. True for a brace, which is no argument.
  bool word(const std::string& text, bool begins) {
    if ((begins || function_) && text == "{") {
      open_brace(function_ || after_and_);
      function_ = false;
      return true;
    }
    if (begins && text == "}") {
      if (!braces_.empty()) {
        conditional_braces_ -= braces_.back() ? 1 : 0;
        braces_.pop_back();
      }
      return true;
    }
    if (begins && text.ends_with("(){")) open_brace(true);
    if (begins) function_ = text == "function" || text.ends_with("()");
    if (text == "()") function_ = true;
    if (!begins) return false;
    for (const char* opens : {"if", "case", "for", "while", "until", "select"}) branches_ += text == opens ? 1 : 0;
    if ((text == "fi" || text == "esac" || text == "done") && branches_ > 0) --branches_;
    return false;
  }

 private:
  void open_brace(bool conditional) {
    braces_.push_back(conditional);
    conditional_braces_ += conditional ? 1 : 0;
  }

  std::vector<bool> braces_;  // whether each that is open may not run
  int conditional_braces_ = 0;
  int branches_ = 0;
  bool after_and_ = false;
  bool pending_ = false;   // nothing has followed && yet
  bool function_ = false;  // its body may follow
};

}  // namespace floplan::architecture::detail
