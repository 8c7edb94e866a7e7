// SPDX-License-Identifier: BSD-3-Clause
//
// The floplan::Error that a call throws, for tests that read its text, place and exit status.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "floplan/core/error.hpp"

namespace thrown {

template <class Call>
floplan::Error by(const Call& call) {
  try {
    call();
  } catch (const floplan::Error& error) {
    return error;
  }
  FAIL("expected a floplan::Error, and nothing was thrown");
  return {floplan::Failure::internal, "", "", ""};  // not reached: FAIL throws
}

inline bool says(const floplan::Error& error, std::string_view words) {
  return std::string_view(error.what()).find(words) != std::string_view::npos;
}

}  // namespace thrown
