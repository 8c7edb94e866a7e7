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
  CHECK(codes == "gated interleave sharding recompute microbatch ");
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

TEST_CASE("what a row does not say of its software comes from its publisher's record, and else from its year") {
  const std::string more =
      "id,group,year,source,layers,d_model,heads,kv_heads,vocab,seq_len,accelerator,n_accel,tp,pp,dp,sharding,mbs,gbs_"
      "seqs,"
      "precision,recompute,step_s\n";
  const std::string shape = "32,4096,32,32,50368,2048,a100-sxm-80gb,8,2,1,4,none,1,64,bf16,";
  const MeasuredSteps rows = read(more + "a,mosaicml,2025,," + shape + "none,100\n" + "b,ours,2022,," + shape +
                                  "full,100\n" + "c,,2022,arXiv 2205.05198 Table 5," + shape +
                                  "selective + seq-par,100\n" + "d,ours,2026,," + shape + "none,100\n");
  REQUIRE(rows.skipped.empty());
  const auto stack = [&](std::size_t i) { return rows.steps[i].request.stack; };
  CHECK(rows.steps[0].known_stack);
  CHECK(stack(0).attention == cluster::Fact<cluster::AttentionKernel>(cluster::AttentionKernel::early));
  CHECK(stack(0).elementwise.assumed);  // a judgement in the record
  CHECK_FALSE(rows.steps[1].known_stack);
  CHECK(stack(1).attention == cluster::Fact<cluster::AttentionKernel>::assume(cluster::AttentionKernel::unfused));
  CHECK(rows.steps[2].known_stack);
  CHECK(rows.steps[2].group == "megatron-2022");
  CHECK(stack(2).sequence_parallel == cluster::Fact<bool>(true));
  CHECK(stack(3).attention.assumed);
  CHECK(stack(3).attention.value == cluster::AttentionKernel::current);
}

TEST_CASE("TFLOP/s give a time where their convention is named, and are refused where it is not") {
  const std::string more =
      "id,group,layers,d_model,ffn,heads,kv_heads,vocab,seq_len,accelerator,n_accel,tp,pp,dp,sharding,mbs,gbs_seqs,"
      "precision,"
      "recompute,tokens_per_s_per_accel,tflops_per_accel,tflops_kind\n";
  const std::string row = "a,b,32,4096,14336,32,8,128256,8192,h100,64,4,2,8,zero1,1,128,bf16,full,";
  const MeasuredSteps rows =
      read(more + row + ",400,model\n" + row + ",400,model (6N+12Lds full attention)\n" + row +
           ",400,hardware (incl. recompute)\n" + row + ",400,\n" + row + "7000,400,model\n" + row + "7008,400,model\n");
  REQUIRE(rows.steps.size() == 5);
  REQUIRE(rows.skipped.size() == 1);
  CHECK(rows.skipped.front().reason.find("tflops_kind") != std::string::npos);
  const auto flop = architecture::training_flop_per_token(rows.steps[0].request.shape, Tokens(8192));
  const double share = 128.0 * 8192 / 64 / 400e12;
  CHECK(rows.steps[0].measured.value == near(flop.causal.value * share, 1e-14));
  CHECK(rows.steps[1].measured.value == near(flop.full.value * share, 1e-14));
  // A forward pass of every layer again: the head is not done twice.
  const double head = 6.0 * 4096 * 128256;
  CHECK(rows.steps[2].measured.value == near((4.0 / 3 * (flop.full.value - 2 * head) + head) * share, 1e-3));
  // 7,000 is not a whole number of blocks of 16 tokens and so is as precise as it looks.
  CHECK(rows.steps[3].measured.value == near(128.0 * 8192 / 64 / 7000, 1e-14));
}

TEST_CASE("a model of the catalog is found by its letters and digits") {
  const std::string more =
      "id,group,model,layers,seq_len,accelerator,n_accel,tp,pp,dp,ep,sharding,mbs,gbs_seqs,precision,step_s\n";
  const MeasuredSteps rows =
      read(more + "a,nvidia-mbridge,DeepSeekV3,,4096,gb200,256,1,4,64,64,DP+dist-opt,1,4096,MXFP8,15\n" +
           "b,nvidia-mbridge,DeepSeekV9,,4096,gb200,256,1,4,64,64,DP+dist-opt,1,4096,MXFP8,15\n");
  REQUIRE(rows.steps.size() == 1);
  CHECK(rows.steps.front().request.shape.experts.has_value());
  CHECK(rows.steps.front().request.block_scaled);
  REQUIRE(rows.skipped.size() == 1);
  CHECK(rows.skipped.front().reason.find("deepseekv9") != std::string::npos);
}

TEST_CASE("times that cannot be are skipped with what is wrong of them") {
  const std::string titles =
      "layers,d_model,ffn,heads,kv_heads,vocab,seq_len,accelerator,n_accel,tp,pp,dp,sharding,micro_batch_size,"
      "global_batch_size,precision,recompute,step_s,tokens_per_s_per_accel,arch,experts,active_experts,expert_width,"
      "ep\n";
  const std::string shape = "32,4096,14336,32,8,128256,8192,h100-sxm,64,1,1,64,zero3,1,512,bf16,none,";
  const MeasuredSteps rows =
      read(titles + shape + "8,8192,,,,,\n" + shape + "0.1,,,,,,\n" + shape + "8,800,,,,,\n" + shape + "8,,moe,,,,\n" +
           shape + "30,,moe,8,2,14336,8\n" + shape + "30,,moe,8,9,14336,8\n" + shape + "30,,moe,8,2,14336,\n");
  REQUIRE(rows.steps.size() == 2);
  CHECK_FALSE(rows.steps[0].guessed_layout);
  CHECK(rows.steps[1].request.shape.experts->count == 8);
  REQUIRE(rows.skipped.size() == 5);
  const char* reasons[] = {"MFU would be", "agree with tokens_per_s", "experts must be given", "at most the 8 experts",
                           "ep must be given"};
  for (std::size_t i = 0; i < 5; ++i) {
    CAPTURE(rows.skipped[i].reason);
    CHECK(rows.skipped[i].reason.find(reasons[i]) != std::string::npos);
    CHECK(rows.skipped[i].place.starts_with("rows.csv:"));
    CHECK(rows.skipped[i].reason.find("rows.csv:") == std::string::npos);
  }
}

TEST_CASE("what moves a step and stands neither in the row nor in its publisher's record makes its layout a guess") {
  const std::string titles =
      "group,layers,d_model,ffn,heads,kv_heads,vocab,seq_len,accelerator,n_accel,tp,pp,vp,dp,sharding,mbs,gbs_seqs,"
      "precision,recompute,step_s\n";
  const auto guessed = [&](const std::string& cells) {
    const MeasuredSteps rows = read(titles + cells + "\n");
    REQUIRE(rows.steps.size() == 1);
    return rows.steps[0].guessed_layout;
  };
  const std::string shape = ",32,4096,14336,32,8,128256,8192,h100-sxm,64,";
  CHECK_FALSE(guessed("ours" + shape + "2,2,4,16,zero1,1,512,bf16,none,30"));
  CHECK(guessed("ours" + shape + "2,2,,16,zero1,1,512,bf16,none,30"));
  CHECK(guessed("ours" + shape + "2,2,4,16,,1,512,bf16,none,30"));
  CHECK(guessed("ours" + shape + "2,2,4,16,zero1,,512,bf16,none,30"));
  CHECK(guessed("ours" + shape + "2,2,4,16,zero1,1,512,,none,30"));
  CHECK(guessed("ours" + shape + "2,2,4,16,zero1,1,512,bf16,,30"));
  CHECK_FALSE(guessed("llama3-2024" + shape + "2,2,,16,,1,512,,,30"));
}
