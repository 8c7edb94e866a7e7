// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/cluster/machine.hpp"

#include <doctest/doctest.h>

#include "floplan/catalog/catalog.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using cluster::Machine;
using cluster::machine_of;

}  // namespace

TEST_CASE("a machine has the catalog's rates, and the measured product as its ceiling") {
  const auto h100 = catalog::Catalog().accelerator("h100-sxm");
  const Machine m = machine_of(h100);
  CHECK(m.gemm_ceiling == *h100.bf16_gemm_measured);
  CHECK(m.ceiling(catalog::Precision::bf16) == m.gemm_ceiling);
  CHECK(m.ceiling(catalog::Precision::fp8).value ==
        near(h100.bf16_gemm_measured->value * (*h100.fp8_dense / *h100.bf16_dense), 1e-15));
  CHECK(m.network == *h100.network);
  CHECK(m.assumptions.empty());
}

TEST_CASE("where no product was measured the ceiling is a share of the peak, and says so") {
  auto part = catalog::Catalog().accelerator("h100-sxm");
  part.bf16_gemm_measured.reset();
  const Machine m = machine_of(part);
  CHECK(m.gemm_ceiling < m.bf16_peak);
  REQUIRE(m.assumptions.size() == 1);
  CHECK(m.assumptions.front().code == "gemm_ceiling");
  part.scale_up_domain.reset();
  CHECK(machine_of(part).assumptions.size() == 2);
}

TEST_CASE("a user's rate wins over the catalog's") {
  const auto a100 = catalog::Catalog().accelerator("a100-sxm-80gb");
  CHECK(machine_of(a100, {.network = BytesPerSecond(12.5e9)}).network == BytesPerSecond(12.5e9));
}

TEST_CASE("a rate that nobody knows is asked for, and a sparse peak is refused as one") {
  auto part = catalog::Catalog().accelerator("h100-sxm");
  const Error sparse = thrown::by([&] { (void)machine_of(part, {.gemm_ceiling = FlopPerSecond(1979e12)}); });
  CHECK(sparse.code() == "sparse_peak");
  CHECK(thrown::says(sparse, "989"));
  part.network.reset();
  const Error error = thrown::by([&] { (void)machine_of(part); });
  CHECK(error.failure() == Failure::usage);
  CHECK(thrown::says(error, "network bandwidth of h100-sxm must be given"));
}
