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
// them may not run (shell_script.hpp), different values are an error, as which counts cannot be told.
//
// Errors: Error(data) at file:line for a value that hangs on a variable that the file does not set, or sets in different
// ways, or on $(...); 10,000 flags and values of 64 KiB at most.
// Pitfall: sourced files, functions and positional parameters are not followed; ${H:-4096} is 4096 whatever the environment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/architecture/shell_script.hpp"
#include "floplan/core/error.hpp"

namespace floplan::architecture {

class ArgumentList {
 public:
  [[nodiscard]] static ArgumentList read(std::string_view text, const std::string& name);

  [[nodiscard]] const std::vector<Argument>& all() const { return arguments_; }
  [[nodiscard]] std::string place(const Argument& a) const { return name_ + ":" + std::to_string(a.line); }
  [[nodiscard]] const std::string& name() const { return name_; }
  // Arrays and strings of flags that no command of the script uses, with their lines.
  [[nodiscard]] const std::vector<std::pair<std::string, std::size_t>>& unused() const { return unused_; }
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
    } else if (out && !out->hangs_on.empty()) {
      warnings.push_back({"conditional", out->name + " hangs on " + out->hangs_on + ", and is taken as set there"});
    }
    return out;
  }

  // What keeps a value from being a literal: "$LAYERS, which the file does not set". Empty for a literal.
  [[nodiscard]] static std::string unresolved(const std::string& value) {
    const std::size_t begin = value.find(detail::mark_begin);
    if (begin == std::string::npos) return {};
    const std::size_t end = value.find(detail::mark_end, begin);
    return value.substr(begin + 1, end == std::string::npos ? end : end - begin - 1);
  }

 private:
  // A value with its marks written out.
  [[nodiscard]] static std::string readable(std::string value) {
    value.erase(std::remove(value.begin(), value.end(), detail::mark_begin), value.end());
    value.erase(std::remove(value.begin(), value.end(), detail::mark_end), value.end());
    return value;
  }

  std::string name_;
  std::vector<Argument> arguments_;
  std::vector<std::pair<std::string, std::size_t>> unused_;
};

inline ArgumentList ArgumentList::read(std::string_view text, const std::string& name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  ArgumentList out;
  out.name_ = name;
  if (const std::size_t at = text.find_first_of("\x01\x02\x03\x04"); at != std::string_view::npos) {
    const auto before = text.substr(0, at);
    throw Error(Failure::data, "not_text",
                name + ":" + std::to_string(1 + std::count(before.begin(), before.end(), '\n')),
                "must be text, got a control character");
  }
  detail::ScriptReader reader(text, name);
  reader.read();
  out.arguments_ = std::move(reader.arguments());
  out.unused_ = reader.unused();
  return out;
}

}  // namespace floplan::architecture
