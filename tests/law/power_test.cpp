// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/law/power.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/law/kaplan_steps.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;

law::Power<> power(const std::string& name) {
  return std::get<law::Power<>>(catalog::any_law(catalog::Catalog(), name).form);
}
double at(const std::string& name, double x) { return power(name)(std::span<const double>(std::array{x})); }

}  // namespace

TEST_CASE("a product of powers multiplies by the exponent's power when an input is multiplied") {
  const law::Power<> lr = power("step-law-2025-learning-rate");
  REQUIRE(lr.arguments.size() == 2);
  const auto value = [&lr](double n, double d) { return lr(std::span<const double>(std::array{n, d})); };
  CHECK(value(2e9, 1e11) == near(value(1e9, 1e11) * std::pow(2, lr.exponents[0]), 1e-14));
  CHECK(value(1e9, 3e11) == near(value(1e9, 1e11) * std::pow(3, lr.exponents[1]), 1e-14));
}

TEST_CASE("an offset is the limit of a falling power") {
  const law::Power<> law = power("cerebras-gpt-2023");
  REQUIRE(law.exponents[0] < 0);
  CHECK(law(std::span<const double>(std::array{1e300})) == near(law.offset, 1e-15));
  CHECK(at("cerebras-gpt-2023", 1e22) > at("cerebras-gpt-2023", 1e23));
  CHECK(at("cerebras-gpt-2023", 1e36) > law.offset);
}

TEST_CASE("an input counted in another unit is the same law") {
  const law::Power<> days = power("kaplan-2020-allocation");
  law::Power<> flop = days;
  flop.coefficient *= std::pow(days.scales[0], -days.exponents[0]);
  flop.scales[0] = 1;
  const std::array budget = {3.8e25};
  CHECK(flop(std::span<const double>(budget)) == near(days(std::span<const double>(budget)), 1e-13));
}

TEST_CASE("allocations of parameters and of tokens that belong together spend the budget") {
  struct Pair {
    const char* size;
    const char* tokens;
    double flop_a_parameter, tolerance;
  };
  // Each law's coefficients are fitted or rounded on their own: the product misses by that much.
  for (const Pair& pair :
       {Pair{"hoffmann-2022-approach1", "hoffmann-2022-approach1-tokens", 6, 0.02},
        Pair{"hoffmann-2022-approach2", "hoffmann-2022-approach2-tokens", 6, 0.02},
        Pair{"porian-2024", "porian-2024-tokens", 6, 1e-6}, Pair{"deepseek-2024", "deepseek-2024-tokens", 1, 2e-4}}) {
    CAPTURE(std::string(pair.size));
    for (const double flop : {1e19, 1e21, 1e23}) {
      CHECK(pair.flop_a_parameter * at(pair.size, flop) * at(pair.tokens, flop) == near(flop, pair.tolerance));
    }
  }
}

TEST_CASE("the lines of Hoffmann's first two approaches are the least-squares lines through the printed projections") {
  const std::vector<reference::Row> rows = reference::rows("hoffmann_projections_cases.csv");
  for (const int approach : {1, 2}) {
    for (const std::string quantity : {"parameters", "tokens"}) {
      double n = 0, x = 0, y = 0, xx = 0, xy = 0;
      for (const reference::Row& row : rows) {
        if (row.number("approach") != approach) continue;
        const double c = std::log(row.number("flop") / 1e22), q = std::log(row.number(quantity));
        n += 1, x += c, y += q, xx += c * c, xy += c * q;
      }
      REQUIRE(n == 9);
      const double slope = (n * xy - x * y) / (n * xx - x * x);
      const std::string name =
          "hoffmann-2022-approach" + std::to_string(approach) + (quantity == "tokens" ? "-tokens" : "");
      CAPTURE(name);
      CHECK(power(name).exponents[0] == near(slope, 1e-11));
      CHECK(at(name, 1e22) == near(std::exp((y - slope * x) / n), 1e-11));
    }
  }
}

// The exponents that the paper prints for approach 1 and 2, to their two digits.
TEST_CASE("the lines of Hoffmann's first two approaches have the printed exponents") {
  for (const reference::Row& row : reference::rows("hoffmann_exponents.csv"))
    reference::check(row, power(row.text("rule")).exponents[0]);
}

// Kaplan's chain of laws: what L(N, S) and Bcrit(L) leave of the compute is a power of it.
TEST_CASE("the exponent of the loss by compute follows from those of steps, batch and size") {
  const auto steps = std::get<law::KaplanSteps<>>(catalog::any_law(catalog::Catalog(), "kaplan-2020-steps").form);
  const double found = 1 / (1 / steps.step_exponent - power("kaplan-2020-batch").exponents[0] -
                            1 / power("kaplan-2020-parameters").exponents[0]);
  reference::check(reference::row("kaplan_exponents.csv", "loss by compute, derived"), found);
}

TEST_CASE("a law reads with its numbers and the units it is counted in") {
  CHECK(power("llama3-2024").text() == "0.299 C^0.537");
  CHECK(power("cerebras-gpt-2023").text() == "0.5066 + (C/5.984e22)^-0.0737");
}
