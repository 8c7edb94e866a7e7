// SPDX-License-Identifier: BSD-3-Clause
//
// What went wrong, in one exception family.
//
// Every error says where, the rule, and the value:
//   "compute_optimal: budget must be positive and finite, got nan FLOP"
//   "runs.csv:17:4: loss must be positive, got -1.2"
// `failure` is the kind of failure; its numeric value is the exit status of the command line, so that a script can tell
// a wrong request from an impossible one and from data that cannot be used. `code` is a short stable word for programs.
//
// Pitfall: not converging, or an interval that is not available, is a value in a Report and never an exception; bad
// input throws.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace floplan {

enum class Failure : int {
  internal = 1,    // a fault of floplan itself
  usage = 2,       // the request cannot be understood: wrong kind, unit, name, or range of an input
  infeasible = 3,  // understood, and impossible: does not fit, below the irreducible loss, does not divide
  data = 4,        // a file that cannot be used; the place is file:line:column
  no_answer = 5,   // computed, and not to be trusted: not identified, not converged, too few rows
};

class Error : public std::runtime_error {
 public:
  // where: the function, the option, or file:line:column; rule: what must hold, and what was found instead.
  Error(Failure failure, std::string code, std::string where, const std::string& rule)
      : std::runtime_error(where.empty() ? rule : where + ": " + rule),
        failure_(failure),
        code_(std::move(code)),
        where_(std::move(where)) {}

  [[nodiscard]] Failure failure() const noexcept { return failure_; }
  [[nodiscard]] int exit_status() const noexcept { return static_cast<int>(failure_); }
  [[nodiscard]] const std::string& code() const noexcept { return code_; }
  [[nodiscard]] const std::string& where() const noexcept { return where_; }

 private:
  Failure failure_;
  std::string code_;
  std::string where_;
};

// A text as an error may show it: short, and in one line.
[[nodiscard]] inline std::string shown(std::string_view text, std::size_t most = 60) {
  std::string out;
  for (const char c : text.substr(0, most)) out += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  return text.size() > most ? out + "..." : out;
}

// A remark an expert would make beside a result. It never changes the result.
struct Warning {
  std::string code;     // a short stable word: "extrapolation", "rounded_law", "sparse_peak", ...
  std::string message;  // one or two sentences with the numbers in them

  friend bool operator==(const Warning&, const Warning&) = default;
};

}  // namespace floplan
