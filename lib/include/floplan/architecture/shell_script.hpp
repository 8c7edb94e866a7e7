// SPDX-License-Identifier: BSD-3-Clause
//
// What flags a shell script sets, and under what conditions, without running it: the reader behind ArgumentList.
//
//   detail::ScriptReader reader(text, "train.sh");
//   reader.read();
//   reader.arguments()       in the script's order, with variables put in
//   reader.unused()          arrays and strings of flags that no command uses
//
// What may not run: branches (if, case, select, loops), what follows && and ||, bodies of functions. A variable that is set
// there is marked, and the mark stays with every value that is made of it; set there in another way than before, it is none.
//
// Errors: Error(data) at file:line. Limits: 10,000 flags, values of 64 KiB.
// Pitfall: bare braces always run, and count as the lines around them; (...) is a process of its own, whose variables do not
// come out of it.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/architecture/script_state.hpp"
#include "floplan/architecture/shell_arithmetic.hpp"
#include "floplan/core/error.hpp"

namespace floplan::architecture {

struct Argument {
  std::string name;  // "--num-layers"
  std::string value;
  std::vector<std::string> more;  // words after its value
  bool has_value = false;
  std::size_t line = 0;
  bool conditional = false;
  bool said = false;     // spelt "--name=value" or "--name: value", so that the value is its own
  std::string hangs_on;  // "$H, which line 3 sets in a branch"
};

namespace detail {

inline constexpr std::size_t most_arguments = 10'000;
inline constexpr std::size_t longest_value = 65'536;

class ScriptReader {
 public:
  ScriptReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}
  void read();

  [[nodiscard]] std::vector<Argument>& arguments() { return arguments_; }
  // Arrays and strings of flags that no command of the script uses, with their lines.
  [[nodiscard]] std::vector<std::pair<std::string, std::size_t>> unused() const { return uses_.unused(); }

 private:
  struct Variable {
    std::string value;
    std::size_t line = 0;
    bool conditional = false;
    bool holds_flags = false;
    std::string trouble;
  };

  [[nodiscard]] bool ended() const { return at_ >= text_.size(); }
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  char take() {
    const char c = text_[at_++];
    line_ += c == '\n' ? 1 : 0;
    return c;
  }
  [[nodiscard]] Error fail(std::size_t line, const std::string& rule) const {
    return {Failure::data, "bad_script", name_ + ":" + std::to_string(line), rule};
  }
  [[nodiscard]] static bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
  [[nodiscard]] static bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  [[nodiscard]] static std::string marked(const std::string& what) { return mark_begin + what + mark_end; }
  void close() { open_ = more_ = false; }

  bool skip_continuation() {
    if (peek() != '\\') return false;
    const std::size_t length = peek(1) == '\n' ? 2 : peek(1) == '\r' && peek(2) == '\n' ? 3 : 0;
    for (std::size_t i = 0; i < length; ++i) take();
    return length > 0;
  }
  void add(std::string& out, std::string_view more) const {
    if (out.size() + more.size() > longest_value) throw fail(line_, "a value must be at most 64 KiB long, got more");
    out += more;
  }
  // What stands between an opening character, already taken, and its partner.
  std::string until_closed(char open, char close) {
    std::string out;
    const std::size_t from = line_;
    for (int depth = 1; !ended();) {
      const char c = take();
      depth += c == open ? 1 : c == close ? -1 : 0;
      if (depth == 0) return out;
      if (out.size() < longest_value) out += c;
    }
    throw fail(from, std::string("what opens with ") + open + " must close, got the end of the file");
  }
  [[nodiscard]] std::string value_of(const std::string& name) {
    uses_.note(name);
    const auto found = variables_.find(name);
    if (found == variables_.end()) return marked("$" + name + ", which the file does not set");
    if (!found->second.trouble.empty()) return marked("$" + name + ", " + found->second.trouble);
    if (found->second.holds_flags) return {};
    if (!found->second.conditional) return found->second.value;
    return notes_.add("$" + name + ", which line " + std::to_string(found->second.line) + " sets in a branch") +
           found->second.value;
  }
  // After a '$'.
  std::string expansion() {
    if (peek() == '(') {
      take();
      const std::string inside = until_closed('(', ')');
      if (inside.starts_with('(') && inside.ends_with(')')) {
        std::string notes;
        const auto look_up = [this, &notes](const std::string& name) {
          std::string value = value_of(name);
          notes += ScriptNotes::take(value);
          return value;
        };
        const auto sum = shell_arithmetic(std::string_view(inside).substr(1, inside.size() - 2), look_up);
        if (sum) return notes + std::to_string(*sum);
      }
      return marked("$(" + shown(inside, 20) + "), which is not computed");
    }
    if (peek() == '{') {
      take();
      const std::string inside = until_closed('{', '}');
      std::size_t end = 0;
      while (end < inside.size() && in_name(inside[end])) ++end;
      const std::string name = inside.substr(0, end);
      const std::string rest = inside.substr(end);
      if (!name.empty()) uses_.note(name);
      if (rest == "[@]" || rest == "[*]") return {};  // its flags were read where the array is set
      if (name.empty() || !begins_name(name[0]))
        return marked("${" + shown(inside, 20) + "}, which the file does not set");
      if (rest.empty()) return value_of(name);
      const std::size_t sign = rest[0] == ':' ? 1 : 0;
      if (sign < rest.size() && (rest[sign] == '-' || rest[sign] == '=')) {
        const std::string otherwise = rest.substr(sign + 1);
        if (variables_.contains(name)) return value_of(name);
        return otherwise.find('$') == std::string::npos && !otherwise.empty()
                   ? otherwise
                   : marked("$" + name + ", which the file does not set");
      }
      return marked("${" + shown(inside, 20) + "}, which is not computed");
    }
    std::string name;
    if (begins_name(peek())) {
      while (!ended() && in_name(peek())) name += take();
      return value_of(name);
    }
    if (!ended() && (std::isdigit(static_cast<unsigned char>(peek())) || peek() == '@' || peek() == '#' ||
                     peek() == '*' || peek() == '?')) {
      return marked(std::string("$") + take() + ", which the file does not set");
    }
    return "$";
  }
  void quoted(std::string& out) {
    const std::size_t from = line_;
    const char quote = take();
    while (!ended()) {
      const char c = take();
      if (c == quote) return;
      if (quote == '"' && c == '$') {
        add(out, expansion());
      } else if (quote == '"' && c == '\\' && !ended()) {
        const char next = take();
        if (next != '"' && next != '\\' && next != '$' && next != '`' && next != '\n') add(out, "\\");
        add(out, std::string_view(&next, 1));
      } else {
        add(out, std::string_view(&c, 1));
      }
    }
    throw fail(from, "a quote must close, got the end of the file");
  }
  // A word; stops before what ends it.
  std::string word() {
    std::string out;
    for (int depth = 0; !ended();) {
      const char c = peek();
      if (skip_continuation()) continue;
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ';' || c == '|' || c == '&') break;
      if (c == ')' && depth == 0) break;
      if (c == '"' || c == '\'') {
        quoted(out);
        continue;
      }
      take();
      if (c == '$') {
        add(out, expansion());
      } else if (c == '`') {
        while (!ended() && take() != '`') continue;
        add(out, marked("`...`, which is not computed"));
      } else if (c == '\\') {
        if (ended()) break;
        const char next = take();
        add(out, std::string_view(&next, 1));
      } else if (c != mark_begin && c != mark_end) {
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        add(out, std::string_view(&c, 1));
      }
    }
    return out;
  }

  void argument(std::string text, std::size_t line) {
    const std::string notes = ScriptNotes::take(text);
    const bool flag = text.size() > 2 && text.starts_with("--") && begins_name(text[2]);
    if (!flag) {
      if (text.size() > 1 && text[0] == '-' && begins_name(text[1])) close();
      if (text.empty() || !(open_ || more_)) return;
      Argument& last = arguments_.back();
      if (!notes.empty()) last.hangs_on = notes_.said(notes);
      if (open_) {
        last.value = text;
        last.has_value = true;
      } else {
        last.more.push_back(text);
      }
      open_ = false;
      more_ = true;
      return;
    }
    if (arguments_.size() == most_arguments) throw fail(line, "must have at most 10000 flags, got more");
    uses_.hold(line);
    Argument a;
    a.line = line;
    a.conditional = branches_.may_not_run();
    a.hangs_on = notes_.said(notes);
    const std::size_t sign = text.find('=');
    a.name = text.substr(0, sign);
    if (sign != std::string::npos) {
      a.value = text.substr(sign + 1);
      a.has_value = a.said = true;
    } else if (a.name.ends_with(':')) {
      a.name.pop_back();
      a.said = true;
    }
    open_ = sign == std::string::npos;
    more_ = !open_;
    arguments_.push_back(std::move(a));
  }
  // The flags within a string that a script assigns.
  void arguments_within(std::string_view value, std::size_t line) {
    close();
    for (std::size_t at = 0; at < value.size();) {
      if (std::isspace(static_cast<unsigned char>(value[at]))) {
        line += value[at++] == '\n' ? 1 : 0;
        continue;
      }
      std::size_t end = at;
      for (bool mark = false; end < value.size(); ++end) {
        mark = value[end] == mark_begin || (mark && value[end] != mark_end);
        if (!mark && std::isspace(static_cast<unsigned char>(value[end]))) break;
      }
      std::string one(value.substr(at, end - at));
      if (one.size() > 1 && (one.front() == '"' || one.front() == '\'') && one.back() == one.front())
        one = one.substr(1, one.size() - 2);
      if (one != "\\") argument(one, line);
      at = end;
    }
    close();
  }
  void assign(const std::string& name, std::string value, bool append, std::size_t line) {
    Variable v;
    v.line = line;
    v.conditional = branches_.may_not_run();
    std::string plain = value;
    ScriptNotes::take(plain);
    v.holds_flags =
        plain.starts_with("--") || value.find(" --") != std::string::npos || value.find("\n--") != std::string::npos;
    if (v.holds_flags) arguments_within(value, line);
    const auto old = variables_.find(name);
    if (old != variables_.end()) {
      if (append) {
        v.holds_flags = v.holds_flags || old->second.holds_flags;
        if (old->second.value.size() + value.size() > longest_value)
          throw fail(line, "a value must be at most 64 KiB long, got more");
        value = old->second.value + value;
      }
      std::string before = old->second.value;
      std::string after = value;
      ScriptNotes::take(before);
      ScriptNotes::take(after);
      const bool unsure = v.conditional || old->second.conditional;
      if (!old->second.conditional && before == after) v.conditional = false;
      if (v.conditional) v.trouble = old->second.trouble;
      if (unsure && before != after && !v.holds_flags) {
        v.trouble = "which lines " + std::to_string(old->second.line) + " and " + std::to_string(line) +
                    " set in different ways";
      }
    }
    v.value = std::move(value);
    variables_[name] = std::move(v);
  }
  // NAME=, NAME+= or NAME=( at this place; takes it.
  bool assignment();
  std::string_view text_;
  std::string name_;
  std::vector<Argument> arguments_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::map<std::string, Variable> variables_;
  ScriptNotes notes_;
  ScriptUses uses_;
  ScriptBranches branches_;
  bool open_ = false;  // the last flag may still get its value
  bool more_ = false;  // it has one, and may get more
  bool in_array_ = false;
};

inline bool ScriptReader::assignment() {
  std::size_t end = at_;
  while (end < text_.size() && in_name(text_[end])) ++end;
  if (end == at_ || !begins_name(text_[at_])) return false;
  const bool append = end + 1 < text_.size() && text_[end] == '+' && text_[end + 1] == '=';
  if (!append && (end >= text_.size() || text_[end] != '=')) return false;
  const std::string name(text_.substr(at_, end - at_));
  const std::size_t line = line_;
  at_ = end + (append ? 2 : 1);
  if (peek() == '(') {
    take();
    in_array_ = true;
    uses_.assigning = name;
    close();
    return true;
  }
  const std::string outer = std::exchange(uses_.assigning, name);
  assign(name, word(), append, line);
  uses_.assigning = outer;
  return true;
}

inline void ScriptReader::read() {
  bool begins_statement = true;
  while (!ended()) {
    if (skip_continuation()) continue;
    const char c = peek();
    if (c == '#') {
      while (!ended() && peek() != '\n') take();
    } else if (c == '\n') {
      take();
      if (!in_array_) begins_statement = true;
      branches_.line_ends();
    } else if (c == ' ' || c == '\t' || c == '\r') {
      take();
    } else if (c == ';' || c == '&' || c == '|') {
      take();
      if ((c == '&' || c == '|') && peek() == c) branches_.and_or();
      close();
      begins_statement = true;
    } else if (c == ')') {
      take();
      begins_statement = begins_statement || !in_array_;  // after a pattern of case
      if (in_array_) uses_.assigning.clear();
      in_array_ = false;
      close();
    } else {
      branches_.something_follows();
      if (!in_array_ && (!open_ || begins_statement) && assignment()) continue;
      const std::size_t line = line_;
      const std::string one = word();
      if (!in_array_ && branches_.word(one, begins_statement)) {
        begins_statement = true;
        continue;
      }
      begins_statement = one == "then" || one == "do" || one == "else";
      argument(one, line);
    }
  }
}

}  // namespace detail
}  // namespace floplan::architecture
