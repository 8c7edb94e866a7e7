// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/architecture/transformer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "architecture/shapes.hpp"
#include "floplan/architecture/kv_cache.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using architecture::kv_bytes_per_token;
using architecture::parameter_count;
using architecture::Transformer;

}  // namespace

TEST_CASE("a dimension below 1 or beyond 2^31 is refused by its name") {
  struct Dimension {
    const char* name;
    std::int64_t Transformer::*field;
  };
  for (const Dimension& d :
       {Dimension{"layers", &Transformer::layers}, Dimension{"width", &Transformer::width},
        Dimension{"heads", &Transformer::heads}, Dimension{"kv_heads", &Transformer::kv_heads},
        Dimension{"head_width", &Transformer::head_width}, Dimension{"ffn_width", &Transformer::ffn_width},
        Dimension{"vocabulary", &Transformer::vocabulary}}) {
    for (const std::int64_t bad :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{2147483648}, std::numeric_limits<std::int64_t>::max(),
          std::numeric_limits<std::int64_t>::min()}) {
      Transformer t = shapes::named("Llama 3 8B");
      t.*d.field = bad;
      const Error error = thrown::by([&] { (void)parameter_count(t); });
      CHECK(error.failure() == Failure::usage);
      CHECK(thrown::says(error, std::string(d.name) + " must be"));
      CHECK(thrown::says(error, std::to_string(bad)));
      CHECK(thrown::by([&] { (void)kv_bytes_per_token(t); }).failure() == Failure::usage);
    }
  }
}

TEST_CASE("key-value heads that do not divide the heads are refused with both numbers") {
  Transformer t = shapes::named("Llama 3 8B");
  t.kv_heads = 7;
  const Error error = thrown::by([&] { (void)parameter_count(t); });
  CHECK(error.failure() == Failure::usage);
  CHECK(thrown::says(error, "kv_heads must divide heads"));
  CHECK(thrown::says(error, "7"));
  CHECK(thrown::says(error, "32"));
  t.kv_heads = 64;
  CHECK(thrown::by([&] { (void)parameter_count(t); }).code() == "does_not_divide");
}

// Each dimension may be up to 2^31 - 1; their products leave 64 bits and must be taken in doubles.

TEST_CASE("the largest shape that passes the check has finite positive sizes") {
  const std::int64_t most = 2147483647;
  const Transformer t{.layers = most,
                      .width = most,
                      .heads = most,
                      .kv_heads = most,
                      .head_width = most,
                      .ffn_width = most,
                      .vocabulary = most};
  const double count = parameter_count(t).total.value;
  CHECK(std::isfinite(count));
  CHECK(count > std::pow(2.0, 120));
  const double bytes = kv_bytes_per_token(t).value;
  CHECK(bytes == near(4 * std::pow(static_cast<double>(most), 3), 1e-14));
}
