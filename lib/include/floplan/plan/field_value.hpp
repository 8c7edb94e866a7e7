// SPDX-License-Identifier: BSD-3-Clause
//
// One value of a plan request as text, with where it came from.
//
//   value.as([](auto text, auto where) { return parse<Seconds>(text, where); })      errors get this value's place and kind
//   throw value.refuse("must be a whole number")
//
// A value of a file is Error(data) at file:line:column when it is wrong, one of an option Error(usage) at the option's name.
// Pitfall: `failure` also says whose word it is: usage means an option's, which is the later one.
#pragma once

#include <string>
#include <string_view>

#include "floplan/core/error.hpp"

namespace floplan::plan {

// One value as text, with what an error about it should say.
struct Value {
  std::string text;
  std::string where;
  Failure failure = Failure::data;

  [[nodiscard]] Error refuse(const std::string& rule) const { return Error(failure, "bad_value", where, rule); }
  // Calls read(text, where) and turns its usage error into one of this value's kind, at this value's place.
  template <class Read>
  [[nodiscard]] auto as(Read read) const {
    try {
      return read(std::string_view(text), std::string_view(where));
    } catch (const Error& error) {
      if (error.failure() != Failure::usage) throw;
      const std::string what = error.what();
      const std::string prefix = error.where() + ": ";
      throw Error(failure, error.code(), where, what.starts_with(prefix) ? what.substr(prefix.size()) : what);
    }
  }
};

}  // namespace floplan::plan
