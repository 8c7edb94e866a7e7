// SPDX-License-Identifier: BSD-3-Clause
//
// Every kind of quantity that text can name, for tests that go through all of them.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "floplan/core/quantity.hpp"
#include "floplan/core/quantity_text.hpp"

namespace kinds {

// Calls use.template operator()<Quantity>(name) for each.
template <class Use>
void for_each(const Use& use) {
  using namespace floplan;
  use.template operator()<Parameters>("Parameters");
  use.template operator()<Tokens>("Tokens");
  use.template operator()<Count>("Count");
  use.template operator()<Flop>("Flop");
  use.template operator()<FlopPerToken>("FlopPerToken");
  use.template operator()<FlopPerSecond>("FlopPerSecond");
  use.template operator()<Seconds>("Seconds");
  use.template operator()<Bytes>("Bytes");
  use.template operator()<BytesPerSecond>("BytesPerSecond");
  use.template operator()<Dollars>("Dollars");
  use.template operator()<DollarsPerHour>("DollarsPerHour");
  use.template operator()<Watts>("Watts");
  use.template operator()<WattHours>("WattHours");
  use.template operator()<AcceleratorHours>("AcceleratorHours");
  use.template operator()<Fraction>("Fraction");
  use.template operator()<KilogramsPerKwh>("KilogramsPerKwh");
}

inline double parse(std::string_view kind, std::string_view text, std::string_view where = "parse") {
  double value = 0;
  bool known = false;
  for_each([&]<class Q>(const char* name) {
    if (name != kind) return;
    known = true;
    value = floplan::parse<Q>(text, where).value;
  });
  REQUIRE_MESSAGE(known, std::string(kind));
  return value;
}

// digits 0: the exact text.
inline std::string print(std::string_view kind, double value, int digits) {
  std::string text;
  bool known = false;
  for_each([&]<class Q>(const char* name) {
    if (name != kind) return;
    known = true;
    text = digits > 0 ? floplan::print(Q(value), digits) : floplan::print(Q(value));
  });
  REQUIRE_MESSAGE(known, std::string(kind));
  return text;
}

}  // namespace kinds
