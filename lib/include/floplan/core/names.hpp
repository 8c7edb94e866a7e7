// SPDX-License-Identifier: BSD-3-Clause
//
// Finding what a user meant by a name that is not there.
//
//   nearest_names("h100", {"h100-sxm", "h100-pcie", "a100-sxm-80gb"}) -> {"h100-sxm", "h100-pcie"}
//
// Distance is Damerau-Levenshtein (optimal string alignment: insertion, deletion, substitution, transposition, each 1)
// on lower-cased text; a candidate that begins with or contains the text comes first. Cost: candidates x lengths.
//
// Pitfall: the answer is a suggestion for an error's text; nothing resolves a name by distance.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace floplan {

[[nodiscard]] inline std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// At most `most` candidates, nearest first; those further than half of the text's length are left out.
[[nodiscard]] inline std::vector<std::string> nearest_names(std::string_view text,
                                                            const std::vector<std::string>& candidates,
                                                            std::size_t most = 3) {
  const std::string wanted = lower_case(text).substr(0, 64);
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    const std::string name = lower_case(candidate);
    std::size_t rank = 10 * edit_distance(wanted, name);
    if (!wanted.empty() && name.starts_with(wanted)) {
      rank = 1;
    } else if (wanted.size() > 2 && name.find(wanted) != std::string::npos) {
      rank = 2;
    }
    if (rank <= 2 || rank <= 5 * std::max(wanted.size(), name.size())) ranked.emplace_back(rank, candidate);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) out.push_back(ranked[i].second);
  return out;
}

// " (nearest: a, b, c)", or "" when nothing is near.
[[nodiscard]] inline std::string nearest_names_text(std::string_view text, const std::vector<std::string>& candidates) {
  std::string out;
  for (const std::string& name : nearest_names(text, candidates)) out += (out.empty() ? " (nearest: " : ", ") + name;
  return out.empty() ? out : out + ")";
}

}  // namespace floplan
