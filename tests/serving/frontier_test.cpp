// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/serving/frontier.hpp"

#include <doctest/doctest.h>

#include "floplan/catalog/catalog.hpp"

using namespace floplan;
using namespace floplan::serving;

TEST_CASE("the best points of a frontier are those that no other beats, and every point is a report") {
  ServingRequest r;
  r.model = served_model(catalog::Catalog().model("llama-3.3-70b").shape);
  r.device = device_of(catalog::Catalog().accelerator("h100-sxm"));
  r.formats = formats_of(catalog::Precision::fp8, r.device);
  const std::vector<FrontierPoint> points = frontier(r, {1, 2, 3, 4, 8});
  REQUIRE(points.size() > 20);
  bool any = false;
  for (const FrontierPoint& p : points) {
    CHECK(p.accelerators != 3);  // 64 heads
    r.cut.accelerators = p.accelerators;
    r.batch = p.batch;
    CHECK(serve(r).tpot == p.tpot);
    for (const FrontierPoint& q : points) {
      if (p.best)
        CHECK_FALSE((q.tpot < p.tpot &&
                     q.output_tokens_per_second_per_accelerator > p.output_tokens_per_second_per_accelerator));
    }
    any = any || p.best;
  }
  CHECK(any);
  CHECK(frontier(r, {3}).empty());
}
