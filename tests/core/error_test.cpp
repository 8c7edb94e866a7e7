// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/core/error.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

namespace {
using namespace floplan;
}

TEST_CASE("an error's text is its place, a colon and the rule") {
  const Error error(Failure::usage, "out_of_range", "compute_optimal",
                    "budget must be positive and finite, got nan FLOP");
  CHECK(std::string(error.what()) == "compute_optimal: budget must be positive and finite, got nan FLOP");
  CHECK(error.where() == "compute_optimal");
  CHECK(error.code() == "out_of_range");
  CHECK(std::string(Error(Failure::usage, "x", "", "no place").what()) == "no place");
}

TEST_CASE("each kind of failure is the exit status that scripts rely on") {
  CHECK(Error(Failure::internal, "", "", "").exit_status() == 1);
  CHECK(Error(Failure::usage, "", "", "").exit_status() == 2);
  CHECK(Error(Failure::infeasible, "", "", "").exit_status() == 3);
  CHECK(Error(Failure::data, "", "", "").exit_status() == 4);
  CHECK(Error(Failure::no_answer, "", "", "").exit_status() == 5);
}

TEST_CASE("an error is caught as a std::runtime_error and keeps its text when copied") {
  try {
    throw Error(Failure::data, "bad_cell", "runs.csv:17:4", "loss must be positive, got -1.2");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()) == "runs.csv:17:4: loss must be positive, got -1.2");
    const Error copy = dynamic_cast<const Error&>(error);
    CHECK(copy.where() == "runs.csv:17:4");
  }
}
