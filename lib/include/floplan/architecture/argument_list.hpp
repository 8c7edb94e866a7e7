// SPDX-License-Identifier: BSD-3-Clause
//
// The flags of a shell script or of a plain list of arguments, with their lines, without running anything.
//
//   const ArgumentList list = ArgumentList::read(text, "train.sh");
//   list.find("--num-layers")       its value and line, however the script spells it:
//
//   GPT_ARGS=( --num-layers 32      # arrays, comments, quotes, backslashes at line ends
//              --hidden-size=$H )   # --flag=value; $H, ${H}, ${H:-4096} where the file sets H to a literal
//   ARGS="$ARGS --swiglu"           # flags within strings; $((2 * H)) of what the file sets
//
// Flags count wherever they stand. Of a flag given several times the last counts, as for argparse, with a warning; if one of
// them stands in a branch (if, case, loops, && and ||), different values are an error, as which counts cannot be told.
//
// Errors: Error(data) at file:line for a value that hangs on a variable that the file does not set, or sets in different
// ways, or on $(...); 10,000 flags and values of 64 KiB at most.
// Pitfall: sourced files, functions and positional parameters are not followed; ${H:-4096} is 4096 whatever the environment.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/architecture/shell_arithmetic.hpp"
#include "floplan/core/error.hpp"

namespace floplan::architecture {

struct Argument {
  std::string name;  // "--num-layers"
  std::string value;
  bool has_value = false;
  std::size_t line = 0;
  bool conditional = false;
  bool colon = false;  // spelt "--name: value"
};

class ArgumentList {
 public:
  [[nodiscard]] static ArgumentList read(std::string_view text, const std::string& name);

  [[nodiscard]] const std::vector<Argument>& all() const { return arguments_; }
  [[nodiscard]] std::string place(const Argument& a) const { return name_ + ":" + std::to_string(a.line); }
  [[nodiscard]] const std::string& name() const { return name_; }
  // The one that counts; what it takes for granted is added to the warnings.
  [[nodiscard]] std::optional<Argument> find(std::string_view flag, std::vector<Warning>& warnings) const {
    std::optional<Argument> out;
    for (const Argument& a : arguments_) {
      if (a.name != flag) continue;
      if (out && out->value != a.value && out->has_value && a.has_value) {
        const std::string lines = a.name + " is given on lines " + std::to_string(out->line) + " and " +
                                  std::to_string(a.line) + ", as \"" + shown(readable(out->value)) + "\" and \"" +
                                  shown(readable(a.value)) + "\"";
        if (out->conditional || a.conditional)
          throw Error(Failure::data, "ambiguous", place(a),
                      lines + ": it must be given once, as a branch decides on it");
        warnings.push_back({"given_twice", lines + ": the last counts"});
      }
      out = a;
    }
    if (out && out->conditional) {
      warnings.push_back({"conditional", out->name + " stands in a branch (line " + std::to_string(out->line) +
                                             ") and is taken as given"});
    }
    return out;
  }

  // What keeps a value from being a literal: "$LAYERS, which the file does not set". Empty for a literal.
  [[nodiscard]] static std::string unresolved(const std::string& value) {
    const std::size_t begin = value.find(mark_begin);
    if (begin == std::string::npos) return {};
    const std::size_t end = value.find(mark_end, begin);
    return value.substr(begin + 1, end == std::string::npos ? end : end - begin - 1);
  }

 private:
  static constexpr char mark_begin = '\x01';
  static constexpr char mark_end = '\x02';
  static constexpr std::size_t most_arguments = 10'000;
  static constexpr std::size_t longest_value = 65'536;

  // A value with its marks written out.
  [[nodiscard]] static std::string readable(std::string value) {
    value.erase(std::remove(value.begin(), value.end(), mark_begin), value.end());
    value.erase(std::remove(value.begin(), value.end(), mark_end), value.end());
    return value;
  }

  struct Variable {
    std::string value;
    std::size_t line = 0;
    bool conditional = false;
    bool holds_flags = false;
    std::string trouble;
  };

  class Reader {
   public:
    Reader(std::string_view text, ArgumentList& list) : text_(text), list_(list) {}
    void read();

   private:
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
      return {Failure::data, "bad_script", list_.name_ + ":" + std::to_string(line), rule};
    }
    [[nodiscard]] static bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
    [[nodiscard]] static bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
    [[nodiscard]] static std::string marked(const std::string& what) { return mark_begin + what + mark_end; }

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
    [[nodiscard]] std::string value_of(const std::string& name) const {
      const auto found = variables_.find(name);
      if (found == variables_.end()) return marked("$" + name + ", which the file does not set");
      if (!found->second.trouble.empty()) return marked("$" + name + ", " + found->second.trouble);
      return found->second.holds_flags ? std::string() : found->second.value;
    }
    // After a '$'.
    std::string expansion() {
      if (peek() == '(') {
        take();
        const std::string inside = until_closed('(', ')');
        if (inside.starts_with('(') && inside.ends_with(')')) {
          const auto look_up = [this](const std::string& name) { return value_of(name); };
          const auto sum = shell_arithmetic(std::string_view(inside).substr(1, inside.size() - 2), look_up);
          if (sum) return std::to_string(*sum);
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

    void argument(const std::string& text, std::size_t line) {
      const bool flag = text.size() > 2 && text.starts_with("--") && begins_name(text[2]);
      if (!flag) {
        if (text.size() > 1 && text[0] == '-' && begins_name(text[1])) open_ = false;
        if (!open_ || text.empty()) return;
        Argument& last = list_.arguments_.back();
        last.value = text;
        last.has_value = true;
        open_ = false;
        return;
      }
      if (list_.arguments_.size() == most_arguments) throw fail(line, "must have at most 10000 flags, got more");
      Argument a;
      a.line = line;
      a.conditional = branches_ > 0 || after_and_;
      const std::size_t sign = text.find('=');
      a.name = text.substr(0, sign);
      if (sign != std::string::npos) {
        a.value = text.substr(sign + 1);
        a.has_value = true;
      } else if (a.name.ends_with(':')) {
        a.name.pop_back();
        a.colon = true;
      }
      open_ = sign == std::string::npos;
      list_.arguments_.push_back(std::move(a));
    }
    // The flags within a string that a script assigns.
    void arguments_within(std::string_view value, std::size_t line) {
      open_ = false;
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
      open_ = false;
    }
    void assign(const std::string& name, std::string value, bool append, std::size_t line) {
      Variable v;
      v.line = line;
      v.conditional = branches_ > 0 || after_and_;
      v.holds_flags =
          value.starts_with("--") || value.find(" --") != std::string::npos || value.find("\n--") != std::string::npos;
      if (v.holds_flags) arguments_within(value, line);
      const auto old = variables_.find(name);
      if (old != variables_.end()) {
        if (append) {
          v.holds_flags = v.holds_flags || old->second.holds_flags;
          if (old->second.value.size() + value.size() > longest_value)
            throw fail(line, "a value must be at most 64 KiB long, got more");
          value = old->second.value + value;
        }
        if ((v.conditional || old->second.conditional) && old->second.value != value && !v.holds_flags) {
          v.trouble = "which lines " + std::to_string(old->second.line) + " and " + std::to_string(line) +
                      " set in different ways";
        }
      }
      v.value = std::move(value);
      variables_[name] = std::move(v);
    }
    // NAME=, NAME+= or NAME=( at this place; takes it.
    bool assignment();
    void statement_word(const std::string& text) {
      if (text == "if" || text == "case" || text == "for" || text == "while" || text == "until") ++branches_;
      if ((text == "fi" || text == "esac" || text == "done") && branches_ > 0) --branches_;
    }

    std::string_view text_;
    ArgumentList& list_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::map<std::string, Variable> variables_;
    bool open_ = false;  // the last flag may still get its value
    bool in_array_ = false;
    bool after_and_ = false;  // on a line after && or ||
    int branches_ = 0;
  };

  std::string name_;
  std::vector<Argument> arguments_;
};

inline bool ArgumentList::Reader::assignment() {
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
    open_ = false;
    return true;
  }
  assign(name, word(), append, line);
  return true;
}

inline void ArgumentList::Reader::read() {
  bool begins_statement = true;
  while (!ended()) {
    if (skip_continuation()) continue;
    const char c = peek();
    if (c == '#') {
      while (!ended() && peek() != '\n') take();
    } else if (c == '\n') {
      take();
      if (!in_array_) begins_statement = true;
      after_and_ = false;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == mark_begin || c == mark_end) {
      take();
    } else if (c == ';' || c == '&' || c == '|') {
      take();
      if ((c == '&' || c == '|') && peek() == c) after_and_ = true;
      open_ = false;
      begins_statement = true;
    } else if (c == ')') {
      take();
      in_array_ = false;
      open_ = false;
    } else if (in_array_ || (open_ && !begins_statement) || !assignment()) {
      const std::size_t line = line_;
      const std::string one = word();
      if (begins_statement && !in_array_) statement_word(one);
      begins_statement = one == "then" || one == "do" || one == "else";
      argument(one, line);
    }
  }
}

inline ArgumentList ArgumentList::read(std::string_view text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  ArgumentList out;
  out.name_ = name;
  Reader(text, out).read();
  return out;
}

}  // namespace floplan::architecture
