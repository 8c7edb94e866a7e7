// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/architecture/inference_memory.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using architecture::accelerators_to_hold;
using architecture::weight_bytes;

}  // namespace

TEST_CASE("405B's weights in BF16 need more than eight accelerators of 80 GB, and in FP8 no more") {
  for (const reference::Row& row : reference::rows("serving_memory.csv")) {
    const bool fp8 = row.text("precision") == "fp8";
    const Parameters n(row.number("parameters"));
    reference::check(row, weight_bytes(n, fp8 ? 1 : 2).value / 1e9);
    const Count needed = accelerators_to_hold(n, fp8 ? 1 : 2, Bytes(80e9));
    CHECK((needed <= Count(8)) == fp8);
    CHECK(needed.value == std::ceil(weight_bytes(n, fp8 ? 1 : 2).value / 80e9));
  }
}

TEST_CASE("weights that just fill the devices need no more of them, and a usable share needs more") {
  CHECK(accelerators_to_hold(Parameters(80e9), 2, Bytes(80e9)) == Count(2));
  CHECK(accelerators_to_hold(Parameters(80e9 + 1), 2, Bytes(80e9)) == Count(3));
  CHECK(accelerators_to_hold(Parameters(1), 2, Bytes(80e9)) == Count(1));
  CHECK(accelerators_to_hold(Parameters(80e9), 2, Bytes(80e9), Fraction(0.5)) == Count(4));
}

TEST_CASE("sizes that are not positive and finite, and a share above one, are refused") {
  const auto refused = [](double n, double size, double capacity, double usable) {
    return thrown::by([&] { (void)accelerators_to_hold(Parameters(n), size, Bytes(capacity), Fraction(usable)); });
  };
  CHECK(thrown::says(refused(0, 2, 80e9, 1), "parameters must be positive and finite"));
  CHECK(thrown::says(refused(1, std::nan(""), 80e9, 1), "bytes a weight must be positive"));
  CHECK(thrown::says(refused(1, 2, -1, 1), "capacity must be positive"));
  CHECK(thrown::says(refused(1, 2, 80e9, 1.5), "usable share must be above 0 and at most 1"));
  CHECK(refused(1, 2, 80e9, 0).failure() == Failure::usage);
}
