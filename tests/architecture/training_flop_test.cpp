// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/architecture/training_flop.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "architecture/shapes.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using architecture::parameter_count;
using architecture::training_flop_per_token;
using architecture::TrainingFlopPerToken;
using architecture::Transformer;
using law::FlopConvention;

FlopConvention convention(const reference::Row& row) {
  const std::string text = row.text("convention");
  if (text == "six_n") return FlopConvention::six_n;
  if (text == "causal") return FlopConvention::causal;
  REQUIRE(text == "full");
  return FlopConvention::full;
}

}  // namespace

TEST_CASE("FLOP a token are the published ones under each convention") {
  for (const reference::Row& row : reference::rows("flop_per_token.csv")) {
    const auto flop = training_flop_per_token(shapes::of(row), Tokens(row.number("sequence_length")));
    reference::check(row, flop.by(convention(row)).value);
  }
}

TEST_CASE("one throughput is three utilisations, one a convention") {
  const reference::Row shape = reference::row("flop_per_token.csv", "7e9 parameters by 6N");
  CHECK(parameter_count(shapes::of(shape)).total == Parameters(7e9));
  const auto flop = training_flop_per_token(shapes::of(shape), Tokens(shape.number("sequence_length")));
  for (const reference::Row& row : reference::rows("mfu.csv")) {
    reference::check(row, flop.by(convention(row)).value * row.number("tokens_per_second") / row.number("peak"));
  }
}

TEST_CASE("attention adds the published share to 6N") {
  const reference::Row shape = reference::row("flop_per_token.csv", "405B by 6N");
  const auto flop = training_flop_per_token(shapes::of(shape), Tokens(shape.number("sequence_length")));
  for (const reference::Row& row : reference::rows("attention_share.csv")) {
    reference::check(row, flop.by(convention(row)) / flop.six_n - 1);
  }
}

TEST_CASE("full attention costs twice the causal half, and both grow with the sequence") {
  const Transformer t = shapes::named("Llama 3.1 405B");
  double last = 0;
  for (const double s : {1.0, 4096.0, 8192.0, 64000.5, 131072.0}) {
    CAPTURE(s);
    const TrainingFlopPerToken flop = training_flop_per_token(t, Tokens(s));
    CHECK(flop.six_n == FlopPerToken(6 * parameter_count(t).total.value));
    const double causal = (flop.causal - flop.six_n).value;
    const double full = (flop.full - flop.six_n).value;
    CHECK(full == near(2 * causal, 1e-12));
    CHECK(causal / s == near(6 * static_cast<double>(t.layers * t.heads * t.head_width), 1e-9));
    CHECK(causal > last);
    last = causal;
    CHECK(flop.by(FlopConvention::six_n) == flop.six_n);
    CHECK(flop.by(FlopConvention::causal) == flop.causal);
    CHECK(flop.by(FlopConvention::full) == flop.full);
  }
}

TEST_CASE("a sequence shorter than a token, nan or inf is refused") {
  const Transformer t = shapes::named("Llama 3 8B");
  for (const double bad : {0.0, 0.5, -8192.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    CAPTURE(bad);
    const Error error = thrown::by([&] { (void)training_flop_per_token(t, Tokens(bad)); });
    CHECK(error.failure() == Failure::usage);
    CHECK(thrown::says(error, "sequence length must be"));
  }
}

TEST_CASE("an impossible shape is refused before its FLOP are counted") {
  Transformer t = shapes::named("Llama 3 8B");
  t.kv_heads = 3;
  CHECK(thrown::by([&] { (void)training_flop_per_token(t, Tokens(8192)); }).failure() == Failure::usage);
}

TEST_CASE("a law that leaves out embeddings and counts full attention has DeepSeek LLM's M") {
  for (const reference::Row& row : reference::rows("law_flop_per_token.csv")) {
    CAPTURE(row.name());
    const auto whole = [&row](const char* column) { return static_cast<std::int64_t>(row.number(column)); };
    const Transformer t{.layers = whole("layers"),
                        .width = whole("width"),
                        .heads = whole("width") / 64,
                        .kv_heads = whole("width") / 64,
                        .head_width = 64,
                        .ffn_width = whole("ffn_width"),
                        .vocabulary = whole("vocabulary"),
                        .gated = row.number("gated") == 1};
    const Tokens sequence(row.number("sequence_length"));
    reference::check(
        row, training_flop_per_token(t, sequence, law::ParameterConvention::non_embedding, FlopConvention::full).value);
  }
}
