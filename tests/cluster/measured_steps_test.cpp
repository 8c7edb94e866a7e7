// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/cluster/measured_steps.hpp"

#include <doctest/doctest.h>

#include <string>

#include "floplan/cluster/validation.hpp"
#include "support/near.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using cluster::MeasuredSteps;

MeasuredSteps read(const std::string& text) {
  return cluster::read_measured_steps(parse_csv(text, "rows.csv"), catalog::Catalog());
}

const std::string header =
    "id,group,layers,d_model,ffn,heads,kv_heads,vocab,seq_len,accelerator,n_accel,tp,pp,dp,sharding,mbs,gbs_seqs,"
    "precision,"
    "recompute,iter_time_s,tokens_per_s_per_accel\n";

}  // namespace

TEST_CASE("a row of a public table is read, and what it does not say is assumed and said") {
  const MeasuredSteps rows = read(header + "a,b,32,4096,14336,32,8,128256,8192,h100,64,4,2,8,,,128,bf16,,2.5,\n");
  REQUIRE(rows.skipped.empty());
  REQUIRE(rows.steps.size() == 1);
  const cluster::MeasuredStep& step = rows.steps.front();
  CHECK(step.request.shape.gated);
  CHECK_FALSE(step.request.shape.tied_embeddings);
  CHECK(step.measured == Seconds(2.5));
  CHECK(step.request.layout.accelerators() == Count(64));
  std::string codes;
  for (const Warning& w : step.assumptions) codes += w.code + " ";
  CHECK(codes == "gated interleave microbatch sharding recompute ");
  CHECK(step.request.stack.attention.assumed);
}

TEST_CASE("a throughput gives the time of a step") {
  const MeasuredSteps rows =
      read(header + "a,b,32,4096,16384,32,32,50432,2048,h100,8,1,1,8,none,1,64,bf16,none,,1024\n");
  REQUIRE(rows.steps.size() == 1);
  CHECK(rows.steps.front().measured.value == near(64.0 * 2048 / (8 * 1024), 1e-15));
  CHECK_FALSE(rows.steps.front().request.shape.gated);
}

TEST_CASE("a row that cannot be asked is skipped with its place and the reason") {
  const MeasuredSteps rows = read(header +
                                  "a,b,32,4096,14336,32,8,128256,8192,h100,64,4,2,9,,,128,bf16,,2.5,\n"
                                  "a,b,32,4096,14336,32,8,128256,8192,h100,64,4,2,8,,,100,bf16,,2.5,\n"
                                  "a,b,32,4096,14336,32,8,128256,8192,h100,64,4,2,8,odd,,128,bf16,,2.5,\n"
                                  "a,b,32,4096,14336,32,8,128256,8192,h1000,64,4,2,8,,,128,bf16,,2.5,\n"
                                  "a,b,32,4096,14336,32,8,128256,8192,h100,64,4,2,8,,,128,bf16,,,\n");
  CHECK(rows.steps.empty());
  REQUIRE(rows.skipped.size() == 5);
  CHECK(rows.skipped[0].place == "rows.csv:2:1");
  const char* reasons[] = {"TP x CP x PP x DP must be", "must be whole", "sharding must be", "h1000", "step_s"};
  for (std::size_t i = 0; i < 5; ++i) CHECK(rows.skipped[i].reason.find(reasons[i]) != std::string::npos);
}

TEST_CASE("a table without batches is refused as a whole") {
  const Error error = thrown::by([] { (void)read("accelerator,n_accel,seq\nh100,8,2048\n"); });
  CHECK(error.failure() == Failure::data);
  CHECK(thrown::says(error, "global_batch"));
}

TEST_CASE("errors of a group are their mean size, their 90th percentile and their mean") {
  const cluster::GroupError g = cluster::group_error("g", {0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8, 0.9, -1.0, 1.1});
  CHECK(g.rows == 11);
  CHECK(g.mean_absolute == near(0.6, 1e-14));
  CHECK(g.percentile90 == near(1.0, 1e-14));
  CHECK(g.bias == near(0.6 / 11, 1e-12));
  CHECK(cluster::group_error("none", {}).mean_absolute == 0);
}
