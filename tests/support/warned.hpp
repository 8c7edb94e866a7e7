// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a warning of this code is among those given, and holds these words.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "floplan/core/error.hpp"

[[nodiscard]] inline bool warned(const std::vector<floplan::Warning>& warnings, std::string_view code,
                                 std::string_view words = "") {
  return std::any_of(warnings.begin(), warnings.end(), [&](const floplan::Warning& w) {
    return w.code == code && w.message.find(words) != std::string_view::npos;
  });
}
