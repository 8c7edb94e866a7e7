// SPDX-License-Identifier: BSD-3-Clause
//
// What does a column's title say that the column holds?
//
//   meaning_of("throughput/total_gflops") -> flop, factor 1e9      meaning_of("D/N") -> nothing (a ratio)
//   meaning_of("N_no_emb") -> parameters, non-embedding            meaning_of("val_bpb") -> loss in bits/byte
//
// A title is split into sections at / and . and into words at every other mark and at aB; the last section decides (all
// words do for a loss), and every word must be one that such a title may have, so params_wte, tokens_per_second and
// "smooth loss" mean nothing here. Lower rank is the better guess:
//   parameters  N; params_total; params, parameter_count, n_params; Model Size; active; non-embedding
//   tokens      D; train_tokens, tokens_trained; tokens; total_tokens, num_tokens
//   flop        C; Training FLOP, total_gflops; flops; budget, compute; C_6ND, Approx_C; non-embedding
//   loss        loss; val_loss, final_loss; macro_loss; val_bpb; one that names c4; any other; training loss; L
// Within a rank a field of a run's config or hyperparameters comes before one without a section, then before others.
// Units in titles: millions, billions, _M, _B, GFLOP ... YFLOP, PF-days. Lower-case n, d, c are the last resort.
//
// Source: the headers of ten families of public run files.
// Pitfall: TFLOPs alone is usually a rate, so a plural with G, T or P needs total, train or budget beside it; one that
// a user names is taken at its word (relaxed).
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/core/names.hpp"
#include "floplan/law/scaling_law.hpp"
#include "floplan/runs/cell_number.hpp"

namespace floplan::runs {

enum class Role { parameters, tokens, flop, loss, weight };
using ParameterCount = law::ParameterConvention;

[[nodiscard]] constexpr std::string_view name_of(Role role) {
  switch (role) {
    case Role::parameters: return "parameters";
    case Role::tokens: return "tokens";
    case Role::flop: return "flop";
    case Role::loss: return "loss";
    case Role::weight: return "weight";
  }
  return "";
}
// As people read it: "non-embedding"; law::to_text has the word of files.
[[nodiscard]] inline std::string name_of(ParameterCount count) {
  std::string out = law::to_text(count);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

struct TitleMeaning {
  Role role = Role::loss;
  int rank = 0;
  int section_rank = 1;  // 0 of a run's configuration, 1 no section, 2 any other section
  double factor = 1;     // times the cell is SI
  std::string unit;      // "GFLOP", "bits/byte", ...; empty for plain counts
  ParameterCount count = ParameterCount::total;

  [[nodiscard]] std::pair<int, int> order() const { return {rank, section_rank}; }
};

namespace detail {

using Words = std::vector<std::string>;
using WordList = std::initializer_list<std::string_view>;

[[nodiscard]] inline bool is_in(std::string_view word, WordList list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}
[[nodiscard]] inline bool all_in(const Words& words, WordList list) {
  return std::all_of(words.begin(), words.end(), [list](const std::string& w) { return is_in(w, list); });
}
[[nodiscard]] inline bool any_in(const Words& words, WordList list) {
  return std::any_of(words.begin(), words.end(), [list](const std::string& w) { return is_in(w, list); });
}
// Removes every word of the list; whether there was one.
inline bool take(Words& words, WordList list) {
  return std::erase_if(words, [list](const auto& w) { return is_in(w, list); }) > 0;
}

[[nodiscard]] inline std::vector<Words> sections_of(std::string_view title) {
  std::vector<Words> out(1);
  bool in_word = false;
  for (std::size_t i = 0; i < title.size(); ++i) {
    const auto c = static_cast<unsigned char>(title[i]);
    if (std::isalnum(c) != 0 || c >= 128) {
      const bool hump = in_word && std::isupper(c) != 0 && std::islower(static_cast<unsigned char>(title[i - 1])) != 0;
      if (!in_word || hump) out.back().emplace_back();
      out.back().back() += static_cast<char>(std::tolower(c));
      in_word = true;
    } else {
      // A point before a digit belongs to a number, as in v1.5.
      const bool point =
          c == '.' && i + 1 < title.size() && std::isdigit(static_cast<unsigned char>(title[i + 1])) == 0;
      if ((c == '/' || point) && !out.back().empty()) out.emplace_back();
      in_word = false;
    }
  }
  if (out.size() > 1 && out.back().empty()) out.pop_back();
  // {"params": {"value": 1}} is how some trackers write a setting.
  if (out.size() > 1 && out.back() == Words{"value"}) out.pop_back();
  return out;
}

// A unit of counts at the end of the words: its factor, or 1.
inline double take_count_unit(Words& words, std::string& unit) {
  if (words.size() < 2) return 1;
  const std::string last = words.back();
  double factor = 1;
  if (is_in(last, {"k", "thousand", "thousands"})) factor = 1e3;
  if (is_in(last, {"m", "mm", "million", "millions"})) factor = 1e6;
  if (is_in(last, {"b", "bn", "billion", "billions"})) factor = 1e9;
  if (is_in(last, {"t", "tn", "trillion", "trillions"})) factor = 1e12;
  if (factor == 1) return 1;
  words.pop_back();
  take(words, {"in"});
  unit = factor == 1e3 ? "thousands" : factor == 1e6 ? "millions" : factor == 1e9 ? "billions" : "trillions";
  return factor;
}

// "no_emb", "nonembedding", "without embeddings", ...
inline bool take_non_embedding(Words& words) {
  if (take(words, {"noemb", "noembed", "noembedding", "nonemb", "nonembed", "nonembedding", "nonembeddings"}))
    return true;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (is_in(words[i], {"no", "non", "not", "without", "wo", "excl", "excluding", "ex"}) &&
        is_in(words[i + 1], {"emb", "embed", "embd", "embedding", "embeddings"})) {
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i), words.begin() + static_cast<std::ptrdiff_t>(i) + 2);
      return true;
    }
  }
  return false;
}

[[nodiscard]] inline std::optional<TitleMeaning> parameters_meaning(Words words) {
  TitleMeaning out;
  out.role = Role::parameters;
  out.factor = take_count_unit(words, out.unit);
  const bool scaled = out.factor != 1;
  const bool non_embedding = take_non_embedding(words) || take(words, {"transformer"});
  const bool active = take(words, {"active", "activated"});
  const bool total = take(words, {"total"});
  const bool nominal = take(words, {"nominal"});
  const bool size = words == Words{"model", "size"};
  const bool letter = words == Words{"n"} && (scaled || non_embedding || active || total || nominal);
  const bool named = any_in(words, {"params", "param", "parameters", "parameter", "nparams", "nparameters"}) &&
                     all_in(words, {"params", "param", "parameters", "parameter", "nparams", "nparameters", "n", "num",
                                    "number", "of", "count", "model", "trainable", "all", "size"});
  if (!size && !letter && !named) return std::nullopt;
  out.rank = non_embedding ? 7 : active ? 5 : total ? 1 : (size || letter || nominal) ? 3 : 2;
  if (non_embedding) out.count = ParameterCount::non_embedding;
  if (active && !non_embedding) out.count = ParameterCount::active;
  return out;
}

[[nodiscard]] inline std::optional<TitleMeaning> tokens_meaning(Words words) {
  TitleMeaning out;
  out.role = Role::tokens;
  out.factor = take_count_unit(words, out.unit);
  if (words == Words{"d"} && out.factor != 1) {
    out.rank = 3;
    return out;
  }
  if (!any_in(words, {"tokens", "token", "ntokens"}) ||
      !all_in(words, {"tokens", "token", "ntokens", "train", "training", "trained", "total", "seen", "num", "number",
                      "of", "n", "d", "count", "consumed", "processed"})) {
    return std::nullopt;
  }
  const bool training = any_in(words, {"train", "training", "trained", "seen", "consumed", "processed"});
  out.rank = training ? 1 : words == Words{"tokens"} ? 2 : 3;
  return out;
}

// The factor of a word such as gflops, teraflop, flop; 0 for any other word.
[[nodiscard]] inline double flop_word(std::string_view word, bool& plural) {
  plural = word.ends_with("flops");
  if (!plural && !word.ends_with("flop")) return 0;
  const std::string_view prefix = word.substr(0, word.size() - (plural ? 5 : 4));
  if (prefix.empty()) return 1;
  if (is_in(prefix, {"m", "mega"})) return 1e6;
  if (is_in(prefix, {"g", "giga"})) return 1e9;
  if (is_in(prefix, {"t", "tera"})) return 1e12;
  if (is_in(prefix, {"p", "peta"})) return 1e15;
  if (is_in(prefix, {"e", "exa"})) return 1e18;
  if (is_in(prefix, {"z", "zetta"})) return 1e21;
  if (is_in(prefix, {"y", "yotta"})) return 1e24;
  return 0;
}

// "compute (PF-days)", "petaflop/s-days", "pfdays".
inline bool take_petaflop_days(Words& words) {
  if (take(words, {"pfdays", "pfsdays"})) return true;
  if (!any_in(words, {"day", "days"}) || !any_in(words, {"pf", "pfs", "pflop", "pflops", "petaflop", "petaflops"}))
    return false;
  return take(words, {"pf", "pfs", "pflop", "pflops", "petaflop", "petaflops", "s", "day", "days"});
}

[[nodiscard]] inline std::optional<TitleMeaning> flop_meaning(Words words, bool relaxed) {
  TitleMeaning out;
  out.role = Role::flop;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {  // ZettaFLOPs was split at its hump
    if (!is_in(words[i], {"mega", "giga", "tera", "peta", "exa", "zetta", "yotta"})) continue;
    words[i] += words[i + 1];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  const bool non_embedding = take_non_embedding(words);
  if (non_embedding) out.count = ParameterCount::non_embedding;
  const bool approximate = take(words, {"approx", "approximate", "6nd", "est", "estimated", "estimate"});
  const bool training = take(words, {"total", "train", "training", "cumulative", "used"});
  const bool budget = take(words, {"budget", "compute", "nominal"});
  const bool unit = take_petaflop_days(words);
  if (unit) {
    out.factor = 8.64e19;
    out.unit = "PF-days";
  }
  bool flops = unit;
  for (auto word = words.begin(); word != words.end() && !unit; ++word) {
    bool plural = false;
    const double factor = flop_word(*word, plural);
    if (factor == 0) continue;
    if (plural && factor > 1 && factor < 1e18 && !training && !budget && !relaxed) return std::nullopt;
    std::string prefix = word->substr(0, 1);
    prefix[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(prefix[0])));
    out.factor = factor;
    if (factor != 1) out.unit = prefix + "FLOP";
    words.erase(word);
    flops = true;
    break;
  }
  take(words, {"count", "num", "number", "n", "of", "in"});
  const bool letter = take(words, {"c"}) && (approximate || non_embedding || budget);
  if (!words.empty() || !(flops || budget || letter)) return std::nullopt;
  out.rank = non_embedding ? 7 : (approximate || letter) ? 4 : !flops ? 3 : budget ? 3 : training ? 1 : 2;
  return out;
}

[[nodiscard]] inline std::optional<TitleMeaning> loss_meaning(const Words& words) {
  TitleMeaning out;
  out.role = Role::loss;
  const bool entropy = any_in(words, {"cross"}) && any_in(words, {"entropy"});
  const bool bits = any_in(words, {"bpb"}) || (any_in(words, {"bits"}) && any_in(words, {"byte"}));
  if (!bits && !entropy && !any_in(words, {"loss", "nll", "xent", "crossentropy"})) return std::nullopt;
  // A bound, a smoothed curve, a part of the objective, or a property of the loss is not the loss.
  if (any_in(words,
             {"smooth",   "smoothed",  "ema",   "goal",   "target", "lower",    "upper",    "std",       "stderr",
              "se",       "sd",        "var",   "scale",  "aux",    "balance",  "router",   "z",         "delta",
              "diff",     "weight",    "star",  "logstd", "init",   "initial",  "pred",     "predicted", "ratio",
              "error",    "id",        "name",  "grad",   "time",   "step",     "steps",    "ppl",       "perplexity",
              "count",    "min",       "max",   "unit",   "type",   "fn",       "function", "auxiliary", "balancing",
              "variance", "threshold", "spike", "spikes", "tokens", "residual", "rank"}) ||
      (!bits && any_in(words, {"per"}))) {
    return std::nullopt;
  }
  if (bits) out.unit = "bits/byte";
  const WordList usual = {"loss",    "nll",        "xent",  "crossentropy", "cross",  "entropy", "final",
                          "val",     "validation", "valid", "eval",         "test",   "dev",     "evaluation",
                          "heldout", "held",       "out",   "holdout",      "lm",     "bpb",     "bits",
                          "per",     "byte",       "avg",   "mean",         "average"};
  if (any_in(words, {"train", "training", "trainer"})) {
    out.rank = 6;
  } else if (words == Words{"loss"}) {
    out.rank = 0;
  } else if (all_in(words, usual)) {
    out.rank = bits ? 3 : 1;
  } else {
    out.rank = any_in(words, {"macro"}) ? 2 : any_in(words, {"c4"}) ? 4 : 5;
  }
  return out;
}

}  // namespace detail

// relaxed: the user named the column, so a unit in its title is believed where a guess would not be.
[[nodiscard]] inline std::optional<TitleMeaning> meaning_of(std::string_view title, bool relaxed = false) {
  constexpr std::size_t longest_title = 160;
  title = detail::trimmed(title);
  if (title.empty() || title.size() > longest_title) return std::nullopt;
  const auto letter = [](Role role, int rank) { return TitleMeaning{role, rank, 1, 1, "", ParameterCount::total}; };
  if (title == "N") return letter(Role::parameters, 0);
  if (title == "D") return letter(Role::tokens, 0);
  if (title == "C") return letter(Role::flop, 0);
  if (title == "L") return letter(Role::loss, 8);
  if (title == "n") return letter(Role::parameters, 9);
  if (title == "d") return letter(Role::tokens, 9);
  if (title == "c") return letter(Role::flop, 9);
  if (title == "Na") return TitleMeaning{Role::parameters, 6, 1, 1, "", ParameterCount::active};

  // "D/N", "tokens/param", "FLOP/token": a quantity over another is neither. A day's denominator (PF/s-days) is a unit.
  const std::size_t slash = title.rfind('/');
  if (slash != std::string_view::npos && slash > 0 && lower_case(title).find("day") == std::string::npos) {
    const std::string below = lower_case(detail::trimmed(title.substr(slash + 1)));
    if ((detail::is_in(below, {"s", "sec", "second", "step", "gpu"}) || meaning_of(below, true)) &&
        meaning_of(title.substr(0, slash), true)) {
      return std::nullopt;
    }
  }

  std::vector<detail::Words> sections = detail::sections_of(title);
  if (sections.back().empty()) return std::nullopt;
  detail::Words all;
  for (const detail::Words& section : sections) all.insert(all.end(), section.begin(), section.end());
  const bool evaluation = sections.size() > 1 && detail::any_in(all, {"eval", "val", "valid", "validation", "test"});
  std::optional<TitleMeaning> out = detail::parameters_meaning(sections.back());
  if (!out && !evaluation) out = detail::tokens_meaning(sections.back());
  // PF/s-days has a slash of its own.
  if (!out) out = detail::flop_meaning(detail::any_in(all, {"days"}) ? all : sections.back(), relaxed);
  if (!out) out = detail::loss_meaning(all);
  if (!out) return std::nullopt;
  if (sections.size() > 1 && out->role != Role::loss) {
    const bool configuration =
        detail::any_in(sections[sections.size() - 2], {"config", "hyperparameters", "hparams", "args", "hyperparams"});
    out->section_rank = configuration ? 0 : 2;
  }
  return out;
}

}  // namespace floplan::runs
