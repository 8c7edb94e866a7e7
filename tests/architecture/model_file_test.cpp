// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/architecture/model_file.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <string>

#include "architecture/config_files.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"
#include "support/warned.hpp"

namespace {

using namespace floplan;
using architecture::ModelFile;
using architecture::parameter_count;
using architecture::read_model_file;

ModelFile read(const std::string& text) { return read_model_file(text, "model"); }
Error refused(const std::string& text) {
  return thrown::by([&] { static_cast<void>(read(text)); });
}
void check_total(const char* name, const ModelFile& file) {
  reference::check(reference::row("simulator_totals.csv", name), parameter_count(file.shape).total.value);
}

const std::string llama =
    R"({"name": "a_llama", "num_layers": 32, "n_head": 32, "hidden_dim": 4096, "vocab_size": 32000, "max_seq_len": 4096,
        "num_key_value_heads": 32, "ffn_embed_dim": 16384, "model_type": "llama"})";

std::string with(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}

}  // namespace

TEST_CASE("a model of calculon is plain with biases, and its vocabulary is said to be calculon's") {
  const ModelFile file = read(
      R"({"hidden": 4096, "feedforward": 16384, "seq_size": 2048, "attn_heads": 32, "attn_size": 128, "num_blocks": 24})");
  CHECK(file.format == "calculon");
  check_total("Megatron 5B of calculon", file);
  CHECK(file.sequence_length == Tokens(2048));
  CHECK(warned(file.warnings, "assumed", "51200"));
  CHECK(thrown::says(refused("{\"hidden\": 4096,\n\"attn_heads\": 0, \"num_blocks\": 4, \"attn_size\": 4}"),
                     "model:2: attn_heads"));
}

TEST_CASE("a gated block of four times the width, which llm-analysis fills in, is warned about with both counts") {
  const ModelFile wrong = read(llama);
  CHECK(wrong.format == "llm-analysis");
  CHECK(wrong.name == "a_llama");
  check_total("Llama 2 7B with the file's feed-forward width", wrong);
  CHECK(warned(wrong.warnings, "wide_gated_block", "16384"));
  CHECK(warned(wrong.warnings, "wide_gated_block", "6.738"));
  const ModelFile right = read(with(llama, "16384", "11008"));
  check_total("Llama 2 7B with its own feed-forward width", right);
  CHECK_FALSE(warned(right.warnings, "wide_gated_block"));
  const ModelFile absent = read(with(llama, R"("ffn_embed_dim": 16384, )", ""));
  CHECK(warned(absent.warnings, "assumed", "ffn_embed_dim is not in the file: 16384"));
  CHECK(warned(absent.warnings, "wide_gated_block"));
}

TEST_CASE("what llm-analysis leaves out is that of the class that it names") {
  const ModelFile gpt2 = read(
      R"({"name": "gpt2", "num_layers": 12, "n_head": 12, "hidden_dim": 768, "vocab_size": 50257, "max_seq_len": 1024,
          "num_key_value_groups": 1.0, "expansion_ratio": 4.0, "model_type": "gpt2"})");
  check_total("GPT-2 of llm-analysis", gpt2);
  CHECK(warned(gpt2.warnings, "assumed", "those of the class gpt2"));
  const ModelFile gated = read(with(llama, R"("model_type": "llama")", R"("mlp_gated_linear_units": true)"));
  CHECK(gated.shape.gated);
  CHECK(warned(gated.warnings, "assumed", "model_type is not given"));
  const ModelFile experts =
      read(with(llama, R"("ffn_embed_dim": 16384)", R"("ffn_embed_dim": 14336, "moe_num_experts": 8, "moe_top_k": 2)"));
  CHECK(experts.shape.experts->count == 8);
  CHECK(experts.shape.experts->width == 14336);
  CHECK(read(with(llama, R"("num_key_value_heads": 32)", R"("num_key_value_groups": 8.0)")).shape.kv_heads == 4);
  CHECK(thrown::says(refused(with(llama, R"("num_key_value_heads": 32)", R"("num_key_value_groups": 5)")),
                     "num_key_value_groups must divide n_head (32), got 5"));
  CHECK(thrown::says(refused(with(llama, R"("num_key_value_heads": 32)", R"("num_key_value_heads": 5)")),
                     "num_key_value_heads must divide n_head (32), got 5"));
}

TEST_CASE("a wide gate is warned about in a mixture too, with both counts") {
  const ModelFile wide = read(with(llama, R"("ffn_embed_dim": 16384)", R"("moe_num_experts": 8, "moe_top_k": 2)"));
  CHECK(wide.shape.experts->width == 16384);
  CHECK(warned(wide.warnings, "wide_gated_block", "8/3 times the width (11008)"));
  CHECK_FALSE(warned(
      read(with(llama, R"("ffn_embed_dim": 16384)", R"("ffn_embed_dim": 14336, "moe_num_experts": 8, "moe_top_k": 2)"))
          .warnings,
      "wide_gated_block"));
}

TEST_CASE(
    "a simulator's model that contradicts itself, misspells a key or names layers it has no keys for is refused") {
  const std::string both = R"("num_key_value_heads": 32, "num_key_value_groups": )";
  const Error twice = refused(with(llama, R"("num_key_value_heads": 32)", both + "8"));
  CHECK(twice.code() == "disagrees");
  CHECK(thrown::says(twice, "num_key_value_groups must be n_head over num_key_value_heads (32 over 32), got 8"));
  CHECK(read(with(llama, R"("num_key_value_heads": 32)", both + "1.0")).shape.kv_heads == 32);
  CHECK(read(with(llama, R"("vocab_size")", R"("head_dim": 64, "vocab_size")")).shape.head_width == 64);
  CHECK(read(with(llama, R"("vocab_size")", R"("tie_word_embeddings": true, "vocab_size")")).shape.tied_embeddings);
  for (const char* type : {"deepseek_v3", "kimi_k2", "mamba", "glm4_moe", "llama4_text"}) {
    CAPTURE(type);
    const Error error =
        refused(with(llama, R"("model_type": "llama")", R"("model_type": ")" + std::string(type) + "\""));
    CHECK(error.code() == "unsupported_model_type");
    CHECK(thrown::says(error, type));
  }
  CHECK(thrown::says(refused(with(llama, R"("model_type": "llama")", R"("model_type": "mixtral")")),
                     "moe_num_experts must be given"));
  CHECK(refused(with(llama, "num_key_value_heads", "num_key_value_head")).code() == "unknown_key");
  CHECK(thrown::says(refused(with(llama, R"("max_seq_len": 4096)", R"("max_seq_len": 1000000001)")), "max_seq_len"));
  const std::string small =
      R"({"hidden": 4096, "feedforward": 16384, "seq_size": 2048, "attn_heads": 32, "attn_size": 128, "num_blocks": 24})";
  const ModelFile grouped = read(with(small, R"("seq_size")", R"("kv_heads": 8, "vocab_size": 32000, "seq_size")"));
  CHECK(grouped.shape.kv_heads == 8);
  CHECK(grouped.shape.vocabulary == 32000);
  CHECK_FALSE(warned(grouped.warnings, "assumed", "51200"));
  CHECK(thrown::says(refused(with(small, R"("seq_size")", R"("kv_heads": 5, "seq_size")")), "kv_heads must divide"));
  CHECK(
      thrown::says(refused(with(small, "2048", "1000000001")), "seq_size must be a whole number from 1 to 1000000000"));
  CHECK(refused(with(small, "\"seq_size\"", "\"vocab_sizes\": 9, \"seq_size\"")).code() == "unknown_key");
}

TEST_CASE("a script may begin with a test in brackets, and a list of JSON is not one") {
  const std::string flags =
      "--num-layers 4 --hidden-size 64 --ffn-hidden-size 128 --num-attention-heads 4 --padded-vocab-size 512 "
      "--position-embedding-type rope\n";
  for (const char* first : {"[ -z \"$1\" ] && exit 1\n", "[[ $X == 1 ]] || exit\n", "[ \"$#\" -lt 1 ] && exit\n",
                            "[ ! -f x ] && exit\n", "[ a = a ] && echo x\n"}) {
    CAPTURE(first);
    CHECK(read(first + flags).format == "Megatron-LM");
  }
  for (const char* list : {"[\"--num-layers\", 4]", "[ -1, \"--num-layers\"]", "[[1]]", "[ true ]"}) {
    CAPTURE(list);
    CHECK(refused(list).code() == "unknown_format");
  }
}

TEST_CASE("what is no model is refused with what is taken, in one line and at once") {
  const std::string junk(10'000'000, 'x');
  std::string noise;
  for (unsigned i = 0, state = 1; i < 10'000'000; ++i)
    noise += static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  std::string flags;
  while (flags.size() < 10'000'000) flags += "--a-flag 1 ";
  const std::string nested(10'000'000, '[');
  const std::string objects = [] {
    std::string out;
    while (out.size() < 10'000'000) out += "{\"a\":";
    return out;
  }();
  for (const std::string& text :
       {std::string(), std::string(" \n\n"), junk, noise, flags, "--num-layers " + junk,
        "{\"model_type\": \"" + junk + "\"}", nested, objects, "{\"" + junk, std::string("[1, 2]"), std::string("{}"),
        std::string("\x7f"
                    "ELF\0\1",
                    6),
        std::string("\xFF\xFE{\0}\0", 6), std::string("{\0\"\0", 4), std::string("hello"), std::string("-- --"),
        std::string("name,layers\nx,3\n"), std::string("{\"model_type\": \"llama\"")}) {
    CAPTURE(text.substr(0, 40));
    const Error error = refused(text);
    CHECK(error.exit_status() == 4);
    CHECK(error.where().starts_with("model:"));
    CHECK(std::string(error.what()).size() < 2500);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
  }
  CHECK(thrown::says(refused("\xFF\xFE{"), "byte order mark of UTF-16"));
  CHECK(thrown::says(refused("{}"), "must be a model: config.json of Hugging Face"));
  CHECK(thrown::says(refused(std::string("\xFF\xFE\0\0{\0\0\0", 8)), "byte order mark of UTF-32"));
  CHECK(thrown::says(refused(std::string("\0\0\xFE\xFF\0\0\0{", 8)), "byte order mark of UTF-32"));
  CHECK(refused("{\"hidden_size\": 4}").code() == "missing_key");
}

TEST_CASE("a file cut off anywhere is refused, never read as another model") {
  const std::string& whole = config_files::all().at("DeepSeek V3");
  const auto shape = read(whole).shape;
  CHECK(read("\xEF\xBB\xBF" + whole + "\n").shape == shape);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK(refused(whole.substr(0, length)).exit_status() == 4);
  }
}
