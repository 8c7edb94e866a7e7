// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "floplan/architecture/model_file.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"
#include "support/warned.hpp"

namespace {

using namespace floplan;
using architecture::LayerPattern;
using architecture::ModelFile;
using architecture::parameter_count;
using architecture::read_model_file;

ModelFile read(const std::string& text) { return read_model_file(text, "train.sh"); }
Error refused(const std::string& text) {
  return thrown::by([&] { static_cast<void>(read(text)); });
}
double total(const std::string& text) { return parameter_count(read(text).shape).total.value; }

// A small gated model with nothing left out.
const std::string small =
    "--num-layers 4 --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 4 --swiglu --normalization RMSNorm "
    "--disable-bias-linear --position-embedding-type rope --padded-vocab-size 512 ";

}  // namespace

TEST_CASE("the count of Megatron's arguments is that of the checkpoint, to the last parameter") {
  const std::string gpt2 =
      "python pretrain_gpt.py --num-layers 12 --hidden-size 768 --ffn-hidden-size 3072 --num-attention-heads 12 \\\n"
      "  --max-position-embeddings 1024 --padded-vocab-size 50257\n";
  reference::check(reference::row("model_file_totals.csv", "GPT-2"), total(gpt2));
  CHECK(read(gpt2).warnings.empty());
  const std::string llama =
      "#!/bin/bash\n"
      "GPT_MODEL_ARGS=(\n"
      "    --num-layers 126   # layers\n"
      "    --hidden-size 16384\n"
      "    --ffn-hidden-size=53248\n"
      "    --num-attention-heads 128 --group-query-attention --num-query-groups 8\n"
      "    --swiglu --normalization \"RMSNorm\" --disable-bias-linear\n"
      "    --untie-embeddings-and-output-weights --use-rotary-position-embeddings --no-position-embedding\n"
      "    --vocab-size 128256 --make-vocab-size-divisible-by 16\n"
      "    --seq-length 8192 --max-position-embeddings 8192\n"
      ")\n"
      "PARALLEL_ARGS=(--tensor-model-parallel-size 8 --pipeline-model-parallel-size 9 "
      "--num-layers-per-virtual-pipeline-stage 7 --context-parallel-size 1 --sequence-parallel "
      "--use-distributed-optimizer)\n"
      "torchrun pretrain_gpt.py ${GPT_MODEL_ARGS[@]} ${PARALLEL_ARGS[@]} --micro-batch-size 1 --global-batch-size 2048 "
      "--train-iters 1000000 --recompute-granularity selective\n";
  const ModelFile file = read(llama);
  reference::check(reference::row("model_file_totals.csv", "Llama 3.1 405B"), parameter_count(file.shape).total.value);
  CHECK(file.warnings.empty());
  CHECK(file.format == "Megatron-LM");
  CHECK(file.sequence_length == Tokens(8192));
  CHECK(file.microbatch == Count(1));
  CHECK(file.global_batch == Count(2048));
  CHECK(file.training_steps == Count(1e6));
  CHECK(file.sequence_parallel == true);
  CHECK(file.sharding == architecture::Sharding::zero1);
  CHECK(file.recompute == architecture::Recompute::selective);
  REQUIRE(file.layout);
  CHECK(file.layout->tensor == 8);
  CHECK(file.layout->pipeline == 9);
  CHECK(file.layout->interleave == 2);
}

TEST_CASE("latent attention, expert patterns and the router's bias make DeepSeek V3 of Megatron's arguments") {
  const std::string text =
      "MOE_FREQ=\"([0]*3+[1]*58)\"\n"
      "ARGS=\"--num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 \\\n"
      "      --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 \\\n"
      "      --qk-pos-emb-head-dim 64 --v-head-dim 128 --qk-layernorm --kv-channels 128\"\n"
      "ARGS=\"$ARGS --num-experts 256 --moe-router-topk 8 --moe-ffn-hidden-size 2048 \\\n"
      "      --moe-shared-expert-intermediate-size 2048 --moe-router-enable-expert-bias\"\n"
      "ARGS+=\" --swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope\"\n"
      "ARGS=\"${ARGS} --untie-embeddings-and-output-weights --padded-vocab-size 129280\"\n"
      "python pretrain_gpt.py $ARGS --moe-layer-freq $MOE_FREQ --expert-model-parallel-size 64\n";
  const ModelFile file = read(text);
  reference::check(reference::row("model_file_totals.csv", "DeepSeek V3"), parameter_count(file.shape).total.value);
  reference::check(reference::row("model_file_active.csv", "DeepSeek V3"), parameter_count(file.shape).active.value);
  CHECK(file.warnings.empty());
  CHECK(file.layout->expert == 64);
  CHECK(file.layout->expert_tensor == 0);
  CHECK(read(small + "--expert-tensor-parallel-size 2").layout->expert_tensor == 2);
  CHECK(read(small + "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 32 --moe-layer-freq '([0]*1+[1]*3)'")
            .shape.experts->layers == LayerPattern::from(1, 4));
  CHECK(read(small + "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 32 --moe-layer-freq 2")
            .shape.experts->layers == LayerPattern(std::vector<bool>{true, false, true, false}));
}

TEST_CASE("the vocabulary is padded as Megatron pads it, with a warning where the multiple is its default") {
  for (const reference::Row& row : reference::rows("megatron_padding.csv")) {
    const std::string head =
        "--num-layers 2 --hidden-size 64 --ffn-hidden-size 256 --num-attention-heads 4 --position-embedding-type rope "
        "--vocab-size " +
        row.text("vocabulary") + " --tensor-model-parallel-size " + row.text("tensor");
    reference::check(row, static_cast<double>(
                              read(head + " --make-vocab-size-divisible-by " + row.text("divisor")).shape.vocabulary));
    if (row.number("divisor") == 128) {
      const ModelFile file = read(head);
      reference::check(row, static_cast<double>(file.shape.vocabulary));
      CHECK(warned(file.warnings, "assumed", "padded to " + row.text("value")));
    }
  }
}

TEST_CASE("a feed-forward width that is not given is Megatron's own, with a warning") {
  for (const reference::Row& row : reference::rows("megatron_default_widths.csv")) {
    const ModelFile file = read("--num-layers 2 --hidden-size " + row.text("width") +
                                " --num-attention-heads 32 --position-embedding-type rope --padded-vocab-size 512" +
                                (row.number("gated") == 1 ? " --swiglu" : ""));
    reference::check(row, static_cast<double>(file.shape.ffn_width));
    CHECK(warned(file.warnings, "assumed", "--ffn-hidden-size is not in the file: " + row.text("value")));
  }
}

TEST_CASE("Megatron's defaults are LayerNorm, biases, learned positions and tied embeddings") {
  const ModelFile plain = read(
      "--num-layers 2 --hidden-size 64 --ffn-hidden-size 256 --num-attention-heads 4 --max-position-embeddings 128 "
      "--padded-vocab-size 512");
  CHECK(plain.shape.norm == architecture::Norm::layer);
  CHECK(plain.shape.biases == architecture::Biases{true, true, true, false});
  CHECK(plain.shape.learned_positions == 128);
  CHECK(plain.shape.tied_embeddings);
  CHECK_FALSE(plain.shape.gated);
  const ModelFile qkv = read(small + "--add-qkv-bias --qk-layernorm --kv-channels 32");
  CHECK(qkv.shape.biases == architecture::Biases{true, false, false, false});
  CHECK(qkv.shape.query_key_norm == architecture::QueryKeyNorm::per_head);
  CHECK(qkv.shape.head_width == 32);
}

TEST_CASE("query groups count only with group-query-attention, as in Megatron") {
  const ModelFile alone = read(small + "--num-query-groups 2");
  CHECK(alone.shape.kv_heads == 4);
  CHECK(warned(alone.warnings, "ignored", "--num-query-groups"));
  const ModelFile grouped = read(small + "--num-query-groups 2 --group-query-attention");
  CHECK(grouped.shape.kv_heads == 2);
  CHECK(grouped.warnings.empty());
  const ModelFile one = read(small + "--group-query-attention");
  CHECK(one.shape.kv_heads == 1);
  CHECK(warned(one.warnings, "assumed", "--num-query-groups is not in the file: 1"));
  CHECK(read(small + "--num-key-value-heads 2").shape.kv_heads == 2);
}

TEST_CASE("variables of the script are put in, and one that it does not set is named with its line") {
  CHECK(read("L=4\nexport H=64; N=\"--num-layers ${L} --hidden-size $H\"\n" + small.substr(small.find("--ffn")) +
             "$N --num-layers ${LAYERS:-4}")
            .shape.layers == 4);
  const Error unset = refused("A=1\npython x.py \\\n  --num-layers $LAYERS \\\n  --hidden-size 64\n");
  CHECK(unset.exit_status() == 4);
  CHECK(unset.code() == "unresolved_variable");
  CHECK(thrown::says(unset, "train.sh:3: --num-layers must be a literal, got $LAYERS, which the file does not set"));
  CHECK(thrown::says(refused("--num-layers $1 --hidden-size 64"), "got $1, which the file does not set"));
  CHECK(thrown::says(refused("--num-layers $(nproc) --hidden-size 64"), "got $(nproc), which is not computed"));
  CHECK(thrown::says(refused("--num-layers ${X%y} --hidden-size 64"), "${X%y}, which is not computed"));
  CHECK(thrown::says(refused("--num-layers $((2 * DENSE)) --hidden-size 64"),
                     "got $((2 * DENSE)), which is not computed"));
  const ModelFile sums = read("DENSE=1\nMOE=$(( 4 / 2 ))\n" + small +
                              "--num-layers $((DENSE + $MOE * (${MOE} - 1) + 1)) --train-samples 220_000 "
                              "--num-experts 2 --moe-router-topk 1 --moe-ffn-hidden-size 8 "
                              "--moe-layer-freq \"'([0]*$DENSE+[1]*3)'\"");
  CHECK(sums.shape.layers == 4);
  CHECK(sums.shape.experts->layers == LayerPattern::from(1, 4));
  CHECK(sums.training_sequences == Count(220000));
  for (const char* sum : {"1 +", "2 / 0", "X=3", "1 << 4", "(2", "2)", "9007199254740993", "4611686018427387904 * 4",
                          "((((((((((((((((((((((((((((((((((((((((1"}) {
    CAPTURE(sum);
    CHECK(refused("--num-layers $((" + std::string(sum) + ")) --hidden-size 64").exit_status() == 4);
  }
  const ModelFile batch = read(small + "--global-batch-size $BATCH --train-iters 100");
  CHECK_FALSE(batch.global_batch);
  CHECK(batch.training_steps == Count(100));
  CHECK(warned(batch.warnings, "not_read", "--global-batch-size is not read: it is $BATCH"));
}

TEST_CASE("of a flag given twice the last counts, and between branches nothing is guessed") {
  const ModelFile twice = read(small + "--num-layers 6");
  CHECK(twice.shape.layers == 6);
  CHECK(warned(twice.warnings, "given_twice", "as \"4\" and \"6\""));
  const std::string branches =
      "if [ $SIZE == big ]; then\n  L=8\nelse\n  L=4\nfi\nARGS=(--hidden-size 64 --num-layers $L)\n";
  CHECK(thrown::says(refused(branches), "$L, which lines 2 and 4 set in different ways"));
  const std::string flags = "if [ $SIZE == big ]; then\nA=\"--num-layers 8\"\nelse\nA=\"--num-layers 4\"\nfi\n";
  const Error error = refused(flags + "x.py $A --hidden-size 64");
  CHECK(error.code() == "ambiguous");
  CHECK(thrown::says(error, "train.sh:4: --num-layers is given on lines 2 and 4"));
  std::string gated = small;
  gated.erase(gated.find("--swiglu "), 9);
  const ModelFile branch = read("if [ -n \"$GATED\" ]; then\n  A=\"--swiglu\"\nfi\n" + gated);
  CHECK(branch.shape.gated);
  CHECK(warned(branch.warnings, "conditional", "--swiglu stands in a branch (line 2)"));
}

TEST_CASE("plain lists, one flag or word a line, quoted values, carriage returns and colons are read alike") {
  const auto shape = read(small).shape;
  std::string lines = small;
  for (char& c : lines) c = c == ' ' ? '\n' : c;
  CHECK(read(lines).shape == shape);
  std::string equals = "--num-layers=4 --hidden-size='64' --ffn-hidden-size=\"128\" --num-attention-heads=4 --swiglu ";
  equals += "--normalization=RMSNorm --disable-bias-linear --position-embedding-type=rope --padded-vocab-size=512\r\n";
  CHECK(read(equals).shape == shape);
  CHECK(read("\xEF\xBB\xBF" + small).shape == shape);
  const std::string yaml =
      "MODEL_ARGS:\n  --num-layers: 4\n  --hidden-size: 64\n  --ffn-hidden-size: 128\n  --num-attention-heads: 4\n"
      "  --swiglu: true\n  --normalization: RMSNorm\n  --disable-bias-linear: true\n  --add-qkv-bias: false\n"
      "  --position-embedding-type: rope\n  --padded-vocab-size: 512\n";
  CHECK(read(yaml).shape == shape);
  CHECK(read("# --num-layers 99\n" + small + "# --num-layers 77").shape == shape);
  CHECK(read(small + "--swiglu\nTP=2\nx --tensor-model-parallel-size $TP").layout->tensor == 2);
}

TEST_CASE("flags that are not known are passed over, unless they look like the shape's") {
  const ModelFile file = read(small + "--lr 3e-4 --hidden-dropout 0 --vocab-file v.json --moe-num-experts 3");
  CHECK(file.shape == read(small).shape);
  CHECK(warned(file.warnings, "unknown_flag", "--moe-num-experts (line 1) is not known and not read (nearest: "));
  CHECK_FALSE(warned(file.warnings, "unknown_flag", "--lr"));
  CHECK_FALSE(warned(file.warnings, "unknown_flag", "--vocab-file"));
  CHECK(warned(read(small + "--mtp-num-layers 1").warnings, "not_counted", "--mtp-num-layers"));
}

TEST_CASE("a value that cannot be is an error at its line with its flag") {
  struct Case {
    const char* more;
    const char* says;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"--num-attention-heads 0", "--num-attention-heads must be a whole number from 1 to 2147483647, got \"0\""},
           {"--num-attention-heads 5", "--num-attention-heads must divide --hidden-size (64), got 5"},
           {"--num-layers 12.5", "--num-layers must be a whole number"},
           {"--num-layers 1e9", "got \"1e9\""},
           {"--hidden-size 99999999999", "--hidden-size must be a whole number"},
           {"--num-layers", "--num-layers must be a whole number from 1 to 100000, got none"},
           {"--group-query-attention --num-query-groups 3", "--num-query-groups must divide --num-attention-heads (4)"},
           {"--num-experts 4 --moe-router-topk 5", "--moe-router-topk must be at most --num-experts (4), got 5"},
           {"--num-experts 4 --moe-router-topk 2 --moe-layer-freq '[0]*3'",
            "--moe-layer-freq must have a flag for each of 4"},
           {"--num-experts 4 --moe-router-topk 2 --moe-layer-freq '[2]*3'", "must have 0 or 1 in its lists"},
           {"--normalization Batch", "--normalization must be one of LayerNorm, RMSNorm, got \"Batch\""},
           {"--num-layers-per-virtual-pipeline-stage 3", "must divide --num-layers (4), got 3"},
           {"--hybrid-attention-ratio 0.1", "belongs to a model that is no stack"},
           {"--micro-batch-size x", "--micro-batch-size must be a whole number"}}) {
    CAPTURE(c.more);
    const Error error = refused(small + "\n" + c.more);
    CAPTURE(error.what());
    CHECK(error.exit_status() == 4);
    CHECK(error.where() == "train.sh:2");
    CHECK(thrown::says(error, c.says));
  }
  CHECK(thrown::says(refused("--num-layers 2 --hidden-size 64 --num-attention-heads 4"),
                     "--vocab-size or --padded-vocab-size"));
  CHECK(thrown::says(refused("--num-layers 2 --hidden-size 64 --num-attention-heads 4 --vocab-size 9"),
                     "--max-position-embeddings must be given"));
  CHECK(thrown::says(refused("--hidden-size 64"), "--num-layers or --encoder-num-layers must be given"));
  CHECK(thrown::says(refused("--num-layers 2\n--x \"never closed"), "train.sh:2: a quote must close"));
}

TEST_CASE("a flag that is nearly one of the shape's, or its negation, is refused with the nearest") {
  struct Case {
    const char* flag;
    const char* nearest;
  };
  for (const Case& c :
       std::initializer_list<Case>{{"--swigl", "--swiglu"},
                                   {"--swigluu", "--swiglu"},
                                   {"--no-swiglu", "--swiglu"},
                                   {"--use-swiglu", "--swiglu"},
                                   {"--num-query-group 2", "--num-query-groups"},
                                   {"--untie-embedding-and-output-weights", "--untie-embeddings-and-output-weights"},
                                   {"--untie-embeddings", "--untie-embeddings-and-output-weights"},
                                   {"--disable-linear-bias", "--disable-bias-linear"},
                                   {"--no-bias-linear", "--disable-bias-linear"},
                                   {"--moe-router-topkk 2", "--moe-router-topk"},
                                   {"--num-layer 9", "--num-layers"},
                                   {"--num_layers 9", "--num-layers"},
                                   {"--no-qk-layernorm", "--qk-layernorm"}}) {
    CAPTURE(c.flag);
    const Error error = refused(small + "\n" + c.flag);
    CAPTURE(error.what());
    CHECK(error.code() == "unknown_flag");
    CHECK(error.where() == "train.sh:2");
    CHECK(thrown::says(error, "(nearest: " + std::string(c.nearest) + ")"));
  }
  CHECK(read(small + "--top_k 5 --lora-rank 8 --attention-dropout 0 --num-workers 4 --no-bias-swiglu-fusion " +
             "--moe-router-pre-softmax --use-flash-attn --transformer-impl local")
            .warnings.empty());
}

TEST_CASE("a switch that is set to false, no, off or 0 is off") {
  const std::string plain = small.substr(0, small.find("--swiglu")) + small.substr(small.find("--normalization"));
  for (const char* off : {"--swiglu=False", "--swiglu=0", "--swiglu: no", "--swiglu: off", "--swiglu: 0",
                          "--swiglu: FALSE", "--swiglu false"}) {
    CAPTURE(off);
    CHECK_FALSE(read(plain + "\n" + off + "\n").shape.gated);
  }
  for (const char* on : {"--swiglu", "--swiglu=True", "--swiglu: yes", "--swiglu: on", "--swiglu train.py"}) {
    CAPTURE(on);
    CHECK(read(plain + "\n" + on + "\n").shape.gated);
  }
  CHECK(thrown::says(refused(plain + "--swiglu=maybe"), "--swiglu must be true or false, got \"maybe\""));
  CHECK(thrown::says(refused(plain + "--swiglu=$GATED"), "got $GATED, which the file does not set"));
}

TEST_CASE("mixtures of Megatron-DeepSpeed are read with its own flags and defaults") {
  const ModelFile file = read(small + "--num-experts 64 --topk 1 --expert-interval 2");
  REQUIRE(file.shape.experts);
  CHECK(file.shape.experts->count == 64);
  CHECK(file.shape.experts->active == 1);
  CHECK(file.shape.experts->layers == LayerPattern(std::vector<bool>{false, true, false, true}));
  for (const char* list :
       {"--num-experts 64 64 --topk 1 --expert-interval 2", "--topk 1 --expert-interval 2 --num-experts '64 64'"}) {
    CAPTURE(list);
    CHECK(read(small + list).shape == file.shape);
  }
  CHECK(read("E=\"64 64\"\n" + small + "--topk 1 --expert-interval 2 --num-experts $E").shape == file.shape);
  CHECK(thrown::says(refused(small + "--topk 1 --num-experts 64 128"),
                     "must be one number for all layers, got 64 and 128"));
  const ModelFile bare = read(small + "--num-experts 64 --mlp-type standard");
  CHECK(bare.shape == file.shape);
  CHECK(warned(bare.warnings, "assumed", "--topk is not in the file: 1"));
  CHECK(warned(bare.warnings, "assumed", "--expert-interval is not in the file: 2"));
  CHECK(read(small + "--num-experts 64 --moe-expert-parallel-size 8").shape == file.shape);
  CHECK(refused(small + "--num-experts 64 --mlp-type residual").code() == "unsupported_model_type");
  CHECK(thrown::says(refused(small + "--num-experts 64 --topk 1 --expert-interval 5"),
                     "--expert-interval must be at most"));
  CHECK(thrown::says(refused(small + "--num-experts 4 --moe-layer-freq 2 --expert-interval 2"),
                     "beside --moe-layer-freq"));
}

TEST_CASE("what may not run is told from what does, in braces, functions, select, case and after a line's last &&") {
  const std::string use = small + "--kv-channels $K\n";
  for (const char* twice :
       {"[ -n \"$X\" ] && {\n  K=32\n}\n", "[ -n \"$X\" ] || {\nK=32; }\n", "set_k() {\n  K=32\n}\n",
        "set_k () {\n  K=32\n}\n", "function set_k {\n  K=32\n}\n", "set_k(){ K=32; }\n",
        "select x in a b; do\n  K=32\ndone\n", "test -n \"$X\" &&\n  K=32\n", "case $X in\n  big) K=32;;\nesac\n"}) {
    CAPTURE(twice);
    CHECK(thrown::says(refused("K=16\n" + std::string(twice) + use), "$K, which lines 1 and "));
    const ModelFile once = read(twice + use);
    CHECK(once.shape.head_width == 32);
    CHECK(warned(once.warnings, "conditional", "--kv-channels hangs on $K, which line "));
    const ModelFile sum = read(twice + std::string("L=$((K * 2))\n") + small + "--kv-channels ${L}");
    CHECK(warned(sum.warnings, "conditional", "--kv-channels hangs on $K"));
    CHECK(read("K=32\n" + std::string(twice) + use).warnings.empty());
  }
  CHECK(read("K=16\n{\n  K=32\n}\n" + use).shape.head_width == 32);
  CHECK(read("[ -n \"$X\" ] && echo x\nK=32\n" + use).warnings.empty());
  const ModelFile flags = read("f() {\n  A=\"--qk-layernorm\"\n}\nx.py $A " + small);
  CHECK(warned(flags.warnings, "conditional", "--qk-layernorm stands in a branch (line 2)"));
  const ModelFile whole = read("main() {\n  x.py " + small + "\n}\nmain\n");
  CHECK(whole.shape == read(small).shape);
  REQUIRE(whole.warnings.size() == 1);
  CHECK(warned(whole.warnings, "conditional", "--swiglu, "));
  CHECK(warned(whole.warnings, "conditional", " stand in branches (line 2) and are taken as given"));
}

TEST_CASE("flags that no command of a script uses are taken with a warning") {
  const std::string text = "MODEL=(\n" + small + "\n)\nEXTRA=\"--qk-layernorm\"\nALL=\"${MODEL[@]}\"\n";
  const ModelFile unused = read(text + "python x.py $ALL\n");
  CHECK(unused.shape.query_key_norm == architecture::QueryKeyNorm::per_head);
  CHECK(warned(unused.warnings, "unused_flags", "no command in the file uses EXTRA (line 4)"));
  CHECK_FALSE(warned(unused.warnings, "unused_flags", "MODEL"));
  CHECK(read(text + "python x.py $ALL \"$EXTRA\"\n").warnings.empty());
  CHECK(warned(read(text).warnings, "unused_flags", "MODEL (line 2)"));
}

TEST_CASE("embedding norms, attention sinks, gates and positions without weights are read, and other layers refused") {
  CHECK(read(small + "--embed-layernorm").shape.embedding_norm);
  CHECK(read(small + "--softmax-type learnable").shape.attention_sinks);
  CHECK_FALSE(read(small + "--softmax-type off-by-one").shape.attention_sinks);
  for (const char* type : {"alibi", "none", "rotary"})
    CHECK(read(small + "--position-embedding-type " + type).shape.learned_positions == 0);
  CHECK(thrown::says(refused(small + "--position-embedding-type relative"), "got \"relative\""));
  CHECK(
      read(small.substr(0, small.find("--swiglu")) + small.substr(small.find("--norm")) + "--quick-geglu").shape.gated);
  for (const char* flag : {"--attention-output-gate", "--experimental-attention-variant gated_delta_net",
                           "--spec my.layers get_spec", "--attention-output-gate=true"}) {
    CAPTURE(flag);
    const Error error = refused(small + "\n" + flag);
    CHECK(error.code() == "unsupported_model_type");
    CHECK(error.where() == "train.sh:2");
  }
  CHECK(read(small + "--attention-output-gate=false").shape == read(small).shape);
  CHECK(thrown::says(refused(small + "\n--seq-length 1000000001"),
                     "train.sh:2: --seq-length must be a whole number from 1"));
}
