// SPDX-License-Identifier: BSD-3-Clause
//
// Does a column's title say that it holds this quantity of a law? For quantities that are no role (runs/title_meaning.hpp).
//
//   quantity_rank("unique_tokens", "unique_tokens") -> 0       quantity_rank("acc_hellaswag", "accuracy") -> 3
//   quantity_rank("U", "unique_tokens") -> 2                   quantity_rank("Accuracy stderr", "accuracy") -> nothing
//
// Rank 0 is the quantity's own key in any spelling, 1 another name that people give it, 2 the symbol that laws write, 3 a
// title with a word of accuracy or error among others. Lower is the better guess.
//
// Pitfall: a batch is in tokens for laws and in sequences in most files; a title that does not say tokens is not guessed.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "floplan/law/input.hpp"
#include "floplan/runs/title_meaning.hpp"

namespace floplan::runs {

namespace detail {

struct OtherName {
  std::string_view quantity, words;  // words without marks or capitals
};

inline constexpr std::array<OtherName, 63> other_names = {{
    {"active_parameters", "active params"},
    {"active_parameters", "activated parameters"},
    {"active_parameters", "activated params"},
    {"active_parameters", "n active"},
    {"unique_tokens", "unique"},
    {"unique_tokens", "unique data"},
    {"unique_tokens", "unique train tokens"},
    {"unique_tokens", "n unique tokens"},
    {"steps", "train steps"},
    {"steps", "training steps"},
    {"steps", "iterations"},
    {"steps", "iters"},
    {"steps", "updates"},
    {"steps", "n steps"},
    {"batch", "batch tokens"},
    {"batch", "batch size tokens"},
    {"batch", "batch size in tokens"},
    {"batch", "tokens per batch"},
    {"experts", "n experts"},
    {"experts", "num experts"},
    {"experts", "number of experts"},
    {"experts", "expert count"},
    {"activation_ratio", "active ratio"},
    {"activation_ratio", "active fraction"},
    {"activation_ratio", "activation rate"},
    {"shared_share", "shared expert ratio"},
    {"shared_share", "shared ratio"},
    {"shared_share", "shared fraction"},
    {"weight_bits", "w bits"},
    {"weight_bits", "wbits"},
    {"weight_bits", "bits w"},
    {"weight_bits", "weights bits"},
    {"weight_bits", "weight precision"},
    {"activation_bits", "a bits"},
    {"activation_bits", "abits"},
    {"activation_bits", "act bits"},
    {"activation_bits", "activations bits"},
    {"kv_bits", "kv cache bits"},
    {"kv_bits", "kvbits"},
    {"exponent_bits", "exp bits"},
    {"exponent_bits", "e bits"},
    {"mantissa_bits", "man bits"},
    {"mantissa_bits", "m bits"},
    {"vocabulary_parameters", "vocab parameters"},
    {"vocabulary_parameters", "vocab params"},
    {"vocabulary_parameters", "embedding parameters"},
    {"characters", "chars"},
    {"characters", "train characters"},
    {"characters", "n characters"},
    {"characters", "num characters"},
    {"accuracy", "acc"},
    {"error", "err"},
    {"error", "error rate"},
    {"error", "err rate"},
    {"learning_rate", "lr"},
    {"learning_rate", "peak lr"},
    {"learning_rate", "peak learning rate"},
    {"learning_rate", "max lr"},
    {"learning_rate", "learning rate max"},
    {"loss_increase", "delta loss"},
    {"loss_increase", "loss delta"},
    {"loss_increase", "degradation"},
    {"loss_increase", "loss degradation"},
}};

[[nodiscard]] inline std::string_view symbol_of(std::string_view quantity) {
  if (const auto input = law::find_input(quantity)) return law::info(*input).symbol;
  if (const auto output = law::find_output(quantity)) return law::info(*output).symbol;
  return {};
}

[[nodiscard]] inline std::string joined(const Words& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

}  // namespace detail

[[nodiscard]] inline std::optional<int> quantity_rank(std::string_view title, std::string_view quantity) {
  title = detail::trimmed(title);
  if (title.empty() || title.size() > 160) return std::nullopt;
  const detail::Words words = detail::sections_of(title).back();
  const std::string said = detail::joined(words);
  if (said.empty()) return std::nullopt;
  std::string own(quantity);
  std::replace(own.begin(), own.end(), '_', ' ');
  if (said == own) return 0;
  const auto& names = detail::other_names;
  if (std::any_of(names.begin(), names.end(),
                  [&](const detail::OtherName& n) { return n.quantity == quantity && n.words == said; }))
    return 1;
  if (title == detail::symbol_of(quantity)) return 2;
  const bool accuracy = quantity == "accuracy" && detail::any_in(words, {"acc", "accuracy"});
  const bool error = quantity == "error" && detail::any_in(words, {"err", "error"});
  if (!accuracy && !error) return std::nullopt;
  const bool about =
      detail::any_in(words, {"stderr", "std", "se", "sd", "ci", "low", "high", "delta", "norm", "count"});
  return about ? std::nullopt : std::optional<int>(3);
}

}  // namespace floplan::runs
