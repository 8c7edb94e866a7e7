// SPDX-License-Identifier: BSD-3-Clause
//
// Flags of a Megatron script that would change its shape and that the reader does not read: none is passed over.
//
//   check_flags(list, warnings);      Error for what a shape cannot have, and for what is nearly a flag of the shape
//   says_true(list, argument)         --swiglu, --swiglu=true, "--swiglu: yes"; false for False, no, off and 0
//
// Nearly: two edits or less (one of short names), - for _, a beginning that argparse would take for the whole, and a
// negation or another prefix (--no-swiglu, --use-swiglu) of one that is known. Megatron refuses most of these itself; a fork
// that takes one means something by it that is not known here.
//
// Errors: Error(data) at file:line; unknown_flag with the nearest, unsupported_model_type with the reason.
// Pitfall: a flag that is far from all that are known and has no word of a shape in its name is passed over.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/architecture/argument_list.hpp"
#include "floplan/architecture/megatron_flags.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"

namespace floplan::architecture::detail {

[[nodiscard]] inline bool says_no(const std::string& value) {
  const std::string word = lower_case(value);
  return word == "false" || word == "no" || word == "off" || word == "0";
}
[[nodiscard]] inline bool says_true(const ArgumentList& list, const Argument& a) {
  const std::string word = lower_case(a.value);
  if (a.has_value && says_no(word)) return false;
  // A word after a flag that takes none is an argument of its own.
  if (!a.said) return true;
  for (const char* yes : {"true", "yes", "on", "1"}) {
    if (word == yes) return true;
  }
  const std::string why = ArgumentList::unresolved(a.value);
  throw Error(Failure::data, why.empty() ? "bad_value" : "unresolved_variable", list.place(a),
              a.name + " must be true or false, got " + (why.empty() ? "\"" + shown(a.value) + "\"" : shown(why, 120)));
}

// The words of a flag in the alphabet's order, without what forks and negations put before it.
[[nodiscard]] inline std::string stem(std::string_view flag) {
  for (const std::string_view prefix : {"--no-", "--not-", "--disable-", "--enable-", "--use-", "--add-", "--"}) {
    if (!flag.starts_with(prefix)) continue;
    flag.remove_prefix(prefix.size());
    break;
  }
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= flag.size();) {
    const std::size_t end = std::min(flag.find('-', at), flag.size());
    words.push_back(flag.substr(at, end - at));
    at = end + 1;
  }
  std::sort(words.begin(), words.end());
  std::string out;
  for (const std::string_view word : words) out += std::string(word) + "-";
  return out;
}

// The flag of the shape that this one, which is not known, nearly is; empty for none.
[[nodiscard]] inline std::string nearly(std::string_view name) {
  std::string plain = lower_case(name);
  std::replace(plain.begin(), plain.end(), '_', '-');
  if (plain.size() > 64) return {};
  const std::string words = stem(plain);
  for (const std::string_view known : megatron_flags) {
    if (words == stem(known)) return std::string(known);
  }
  for (const std::string_view known : megatron_flags) {
    if (plain.size() >= 10 && known.starts_with(plain)) return std::string(known);
    if (plain.size() > known.size() + 2 || known.size() > plain.size() + 2) continue;
    if (edit_distance(plain, known) <= (std::min(plain.size(), known.size()) < 8 ? 1U : 2U)) return std::string(known);
  }
  return {};
}

inline void refuse_flag(const ArgumentList& list, const Argument& a) {
  for (const char* start : {"--hybrid-", "--is-hybrid-model", "--mamba-", "--heterogeneous-layers-config",
                            "--linear-attention", "--dsa-", "--decoder-num-layers", "--decoder-seq-length"}) {
    if (a.name.starts_with(start)) {
      throw Error(Failure::data, "unsupported_model_type", list.place(a),
                  a.name +
                      " belongs to a model that is no stack of equal attention and feed-forward layers, which a shape "
                      "cannot have");
    }
  }
  const bool residual = a.name == "--mlp-type" && a.value == "residual";
  for (const char* name : {"--attention-output-gate", "--experimental-attention-variant", "--spec", "--moe-latent-size",
                           "--enable-hyper-connections", "--cross-attention", "--add-cross-attention"}) {
    if (a.name != name && !residual) continue;
    if (!a.has_value || (lower_case(a.value) != "none" && !says_no(a.value))) {
      throw Error(Failure::data, "unsupported_model_type", list.place(a),
                  a.name + (residual ? " residual" : "") + " changes the layers in a way that a shape cannot have");
    }
  }
}

inline void check_flags(const ArgumentList& list, std::vector<Warning>& warnings) {
  const auto known = [](const auto& flags, const std::string& name) {
    return std::find(flags.begin(), flags.end(), name) != flags.end();
  };
  std::vector<std::string> told;
  for (const Argument& a : list.all()) {
    refuse_flag(list, a);
    if (known(megatron_flags, a.name) || known(megatron_flags_beside, a.name) || known(told, a.name)) continue;
    if (const std::string near = nearly(a.name); !near.empty()) {
      throw Error(Failure::data, "unknown_flag", list.place(a),
                  shown(a.name) + " is not known, and would not be read (nearest: " + near + ")");
    }
    for (const char* word : {"hidden", "layers", "heads", "experts", "vocab", "mlp", "ffn"}) {
      if (told.size() >= 16 || a.name.find(word) == std::string::npos) continue;
      const std::vector<std::string> all(megatron_flags.begin(), megatron_flags.end());
      warnings.push_back({"unknown_flag", shown(a.name) + " (line " + std::to_string(a.line) +
                                              ") is not known and not read" + nearest_names_text(a.name, all)});
      told.push_back(a.name);
      break;
    }
  }
  std::string unused;
  for (const auto& [name, line] : list.unused())
    unused += (unused.empty() ? "" : ", ") + shown(name) + " (line " + std::to_string(line) + ")";
  if (!unused.empty())
    warnings.push_back(
        {"unused_flags", "no command in the file uses " + unused + ": these flags are taken all the same"});
}

// A script whose every flag stands in one function gets one warning for it, and not one a flag; what is said twice is said
// once.
[[nodiscard]] inline std::vector<Warning> joined(const std::vector<Warning>& warnings) {
  constexpr std::string_view one = " stands in a branch (line ";
  std::vector<Warning> out;
  std::vector<std::string> lines, names;
  for (const Warning& w : warnings) {
    const std::size_t at = w.message.find(one);
    if (w.code != "conditional" || at == std::string::npos) {
      if (std::find(out.begin(), out.end(), w) == out.end()) out.push_back(w);
      continue;
    }
    const std::string name = w.message.substr(0, at);
    const std::string line = w.message.substr(at + one.size(), w.message.find(')', at) - at - one.size());
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    names.push_back(name);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  const auto listed = [](const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& each : all) text += (text.empty() ? "" : ", ") + each;
    return text;
  };
  if (names.size() == 1)
    out.push_back({"conditional", names[0] + std::string(one) + lines[0] + ") and is taken as given"});
  if (names.size() > 1) {
    out.push_back(
        {"conditional", listed(names) + " stand in branches (line " + listed(lines) + ") and are taken as given"});
  }
  return out;
}

}  // namespace floplan::architecture::detail
