// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "floplan/architecture/realise.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using architecture::realise;
using architecture::RealiseRequest;
using law::ParameterConvention;

}  // namespace

TEST_CASE("a target below the embeddings is refused with how much is lacking") {
  RealiseRequest r{.target = Parameters(1e7)};
  r.given.vocabulary = 128256;
  r.given.width = 128;
  const Error error = thrown::by([&] { (void)realise(r); });
  CHECK(error.failure() == Failure::infeasible);
  CHECK(error.code() == "smaller_than_embeddings");
  const double tables = 2.0 * static_cast<double>(r.given.vocabulary * r.given.width);
  CHECK(thrown::says(error, print(Parameters(tables), 4)));
  CHECK(thrown::says(error, print(Parameters(tables - r.target.value), 4) + " too few"));
  r.count = ParameterConvention::non_embedding;
  CHECK(!realise(r).proposals.empty());
}

TEST_CASE("what cannot come out even is refused by name") {
  const auto refused = [](const RealiseRequest& r, Failure failure, const char* words) {
    const Error error = thrown::by([&] { (void)realise(r); });
    CAPTURE(error.what());
    CHECK(error.failure() == failure);
    CHECK(thrown::says(error, words));
  };
  const RealiseRequest base{.target = Parameters(8e9)};
  RealiseRequest r = base;
  r.given.heads = 52;
  r.layout.tensor = 8;
  refused(r, Failure::infeasible, "tensor parallelism must divide the heads, got 8 and 52");
  r = base;
  r.given.heads = 32;
  r.given.kv_heads = 5;
  refused(r, Failure::infeasible, "key-value heads must divide heads, got 5 and 32");
  r = base;
  r.given.heads = 32;
  r.given.kv_heads = 8;
  r.heads_per_kv = 8;
  refused(r, Failure::infeasible, "kv_heads must be heads / heads_per_kv, got 8 and 4");
  r = base;
  r.given.ffn_width = 11009;
  r.layout.tensor = 2;
  refused(r, Failure::infeasible, "must divide the feed-forward width");
  r = base;
  r.given.width = 4000;
  r.given.head_width = 128;
  refused(r, Failure::infeasible, "the width of a head must divide the width, got 128 and 4000");
  r = base;
  r.given.layers = 33;
  r.layout.pipeline = 4;
  refused(r, Failure::infeasible, "got 33; it is with 32 or 36");
  r = base;
  r.given.kv_heads = 6;
  r.given.heads = 24;
  r.layout.tensor = 4;
  refused(r, Failure::infeasible, "must divide the key-value heads or be a multiple of them, got 4 and 6");
  r = base;
  r.given.experts = architecture::Experts{.count = 60, .active = 4};
  r.layout.expert = 8;
  refused(r, Failure::infeasible, "expert parallelism must divide the experts, got EP 8 and 60");
  r = base;
  r.target = Parameters(1e8);
  r.layout.tensor = 64;
  refused(r, Failure::infeasible, "target must");
  r = base;
  r.expert_period = 3;
  r.given.experts = architecture::Experts{.count = 8, .active = 2};
  r.layout.pipeline = 3;
  r.embedding_and_head_slots = true;
  refused(r, Failure::infeasible, "no number of layers");
  for (const double bad : {0.0, -1.0, 1e16, std::nan(""), std::numeric_limits<double>::infinity()})
    refused({.target = Parameters(bad)}, Failure::usage, "target must be from");
  r = base;
  r.aspect = std::nan("");
  refused(r, Failure::usage, "aspect");
  r = base;
  r.layout.tensor = 0;
  refused(r, Failure::usage, "tensor (TP) must be");
  r = base;
  r.proposals = 0;
  refused(r, Failure::usage, "proposals must be");
  r = base;
  r.given.latent = architecture::LatentAttention{1536, 512, 128, 64, 128};
  refused(r, Failure::usage, "heads must be given with latent attention");
  r = base;
  r.shared_experts = 1;
  refused(r, Failure::usage, "must come with experts");
}
