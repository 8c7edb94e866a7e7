// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "architecture/config_files.hpp"
#include "floplan/architecture/kv_cache.hpp"
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
using architecture::Transformer;

ModelFile named(const std::string& name) { return read_model_file(config_files::all().at(name), "config.json"); }

// A file with one part put in the place of another.
std::string changed(const std::string& name, std::string_view part, std::string_view by) {
  std::string text = config_files::all().at(name);
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  return text.replace(at, part.size(), by);
}
ModelFile read(const std::string& text) { return read_model_file(text, "config.json"); }
Error refused(const std::string& text) {
  return thrown::by([&] { static_cast<void>(read(text)); });
}

}  // namespace

TEST_CASE("the count of a config.json is that of the model's checkpoint, to the last parameter") {
  CHECK(reference::rows("model_file_totals.csv").size() == config_files::all().size());
  for (const reference::Row& row : reference::rows("model_file_totals.csv"))
    reference::check(row, parameter_count(named(row.name()).shape).total.value);
}

TEST_CASE("what one token uses of a config.json's model is as counted from the checkpoint") {
  for (const reference::Row& row : reference::rows("model_file_active.csv"))
    reference::check(row, parameter_count(named(row.name()).shape).active.value);
  const auto oss = parameter_count(named("gpt-oss 120B").shape);
  CHECK(oss.active_without_input_embedding() < oss.active);
}

TEST_CASE("a file that says everything, or leaves out what its format defines, is read without a warning") {
  for (const char* name :
       {"Llama 3.1 405B", "GPT-2", "GPT-2 XL", "BLOOM 176B", "Gemma 2 9B", "Qwen3 8B", "Mixtral 8x7B", "Falcon 40B",
        "DeepSeek V2", "gpt-oss 120B", "Phi-4", "OLMo 2 32B", "DBRX", "MPT 7B"}) {
    CAPTURE(name);
    const ModelFile file = named(name);
    CHECK(file.warnings.empty());
    CHECK(file.format == "Hugging Face");
  }
  CHECK(named("Llama 3.1 405B").longest_context == Tokens(131072));
  CHECK(named("GPT-2").longest_context == Tokens(1024));
  CHECK(named("Kimi K2").model_type == "kimi_k2");
}

TEST_CASE("what a file leaves to its class is said when the count hangs on it") {
  const ModelFile heads = read(changed("Qwen3 8B", "\"head_dim\": 128,", ""));
  CHECK(warned(heads.warnings, "assumed", "head_dim is not in the file: 128 is taken"));
  CHECK(heads.shape == named("Qwen3 8B").shape);
  const ModelFile tied = read(changed("Llama 2 7B", R"("tie_word_embeddings": false)", R"("rms_norm_eps": 1e-5)"));
  CHECK(warned(tied.warnings, "assumed", "tie_word_embeddings"));
  CHECK_FALSE(tied.shape.tied_embeddings);
  const ModelFile keys = read(changed("Mistral 7B", R"("num_key_value_heads": 8,)", ""));
  CHECK(warned(keys.warnings, "assumed", "num_key_value_heads is not in the file: 8"));
  const ModelFile gemma = named("Gemma 3 27B");
  CHECK(warned(gemma.warnings, "assumed", "text_config.vocab_size is not in the file: 262208"));
  const ModelFile moe = read(changed("Qwen3 30B A3B", "\"head_dim\": 128,", ""));
  CHECK(warned(moe.warnings, "assumed", "head_dim"));
  CHECK(moe.shape.head_width == 64);
}

TEST_CASE("layers for further tokens and towers for images are left out of the count, which a warning says") {
  CHECK(warned(named("DeepSeek V3").warnings, "not_counted", "num_nextn_predict_layers is 1"));
  CHECK(warned(named("Llama 4 Scout").warnings, "not_counted", "only the text model"));
  CHECK(warned(named("Gemma 3 27B").warnings, "not_counted"));
  CHECK(named("Gemma 3 27B").model_type == "gemma3_text");
}

TEST_CASE("local attention is where layer_types, windows and patterns put it") {
  const auto local = [](const char* name) { return *named(name).shape.local; };
  CHECK(local("Mistral 7B").layers == LayerPattern::all(32));
  CHECK(local("Mistral 7B").window == 4096);
  CHECK(local("Gemma 2 9B").layers == LayerPattern::every(2, 42).inverted());
  CHECK(local("Gemma 3 27B").layers == LayerPattern::every(6, 62).inverted());
  CHECK(local("Gemma 3 27B").window == 1024);
  CHECK(local("gpt-oss 120B").layers == LayerPattern::every(2, 36).inverted());
  CHECK(local("EXAONE 4.0 32B").layers == LayerPattern::every(4, 64).inverted());
  CHECK(local("Llama 4 Scout").layers == LayerPattern::every(4, 48).inverted());
  CHECK(local("Llama 4 Scout").chunked);
  CHECK(local("Llama 4 Scout").window == 8192);
  CHECK(local("GPT-Neo 125M").layers == LayerPattern::every(2, 12));
  for (const char* name : {"Mistral NeMo 12B", "Qwen2.5 7B", "Qwen3 8B", "Phi-4", "Llama 2 7B", "SmolLM3 3B"}) {
    CAPTURE(name);
    CHECK_FALSE(named(name).shape.local);
  }
  const auto upper = read(changed("Qwen2.5 7B", R"("use_sliding_window": false, "max_window_layers": 28)",
                                  R"("use_sliding_window": true, "max_window_layers": 21)"));
  REQUIRE(upper.shape.local);
  CHECK(upper.shape.local->layers == LayerPattern::from(21, 28));
  const auto typed = read(
      R"({"model_type": "gemma2", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3,
          "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 100, "sliding_window": 32,
          "layer_types": ["full_attention", "sliding_attention", "sliding_attention"]})");
  CHECK(typed.shape.local->layers == LayerPattern::from(1, 3));
}

TEST_CASE("experts are in the layers that each class gives them to") {
  CHECK(named("DeepSeek V3").shape.experts->layers == LayerPattern::from(3, 61));
  CHECK(named("Llama 4 Maverick").shape.experts->layers == LayerPattern::every(2, 48));
  CHECK(named("Mixtral 8x7B").shape.experts->layers == LayerPattern::all(32));
  const auto sparse = read(changed("Qwen3 30B A3B", R"("decoder_sparse_step": 1,
        "mlp_only_layers": [])",
                                   R"("decoder_sparse_step": 2, "mlp_only_layers": [1, 3])"));
  CHECK_FALSE(sparse.shape.has_experts(1));
  CHECK_FALSE(sparse.shape.has_experts(4));
  CHECK(sparse.shape.has_experts(5));
  CHECK(sparse.shape.experts->layers.count() == 22);
  CHECK(sparse.shape.ffn_width == 6144);
}

TEST_CASE("the cache of a config.json's model is as its configuration gives it") {
  for (const reference::Row& row : reference::rows("model_file_kv_bytes.csv"))
    reference::check(row, architecture::kv_bytes_per_token(named(row.name()).shape).value);
}

TEST_CASE("an impossible or missing dimension is an error at its line with its own key") {
  const std::string base =
      "{\"model_type\": \"llama\",\n\"hidden_size\": 4096,\n\"intermediate_size\": 11008,\n"
      "\"num_hidden_layers\": 32,\n\"num_attention_heads\": 32,\n\"num_key_value_heads\": 8,\n"
      "\"vocab_size\": 32000,\n\"tie_word_embeddings\": false\n}";
  CHECK_NOTHROW(static_cast<void>(read(base)));
  struct Case {
    const char* part;
    const char* by;
    const char* says;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"\"hidden_size\": 4096", "\"hidden_size\": \"4096\"", "config.json:2: hidden_size must be a whole number"},
           {"\"hidden_size\": 4096", "\"hidden_size\": 4096.5", "config.json:2: hidden_size must be a whole number"},
           {"\"hidden_size\": 4096", "\"hidden_size\": 1e400", "config.json:2: hidden_size must be a number"},
           {"\"hidden_size\": 4096", "\"hidden_size\": -3", "config.json:2: hidden_size must be a whole number"},
           {"\"hidden_size\": 4096", "\"hidden_size\": null", "config.json:2: hidden_size must be given, got null"},
           {"\"hidden_size\": 4096", "\"hidden_size\": true", "got true"},
           {"\"hidden_size\": 4096", "\"hidden_size\": []", "got a list of 0"},
           {"\"hidden_size\": 4096", "\"hidden_size\": 99999999999", "got 99999999999"},
           {"\"hidden_size\": 4096,", "", "config.json:1: hidden_size or n_embd"},
           {"\"num_attention_heads\": 32", "\"num_attention_heads\": 0", "config.json:5: num_attention_heads"},
           {"\"num_attention_heads\": 32", "\"num_attention_heads\": 33",
            "config.json:6: num_key_value_heads must divide"},
           {"\"num_key_value_heads\": 8", "\"num_key_value_heads\": 7",
            "config.json:6: num_key_value_heads must divide num_attention_heads (32), got 7"},
           {"\"hidden_size\": 4096", "\"hidden_size\": 4097", "num_attention_heads must divide hidden_size (4097)"},
           {"\"intermediate_size\": 11008,", "", "intermediate_size"},
           {"\"vocab_size\": 32000", "\"vocab_size\": 0", "config.json:7: vocab_size"},
           {"\"num_hidden_layers\": 32", "\"num_hidden_layers\": 200000", "config.json:4: num_hidden_layers"},
           {"\"tie_word_embeddings\": false", "\"tie_word_embeddings\": 0",
            "config.json:8: tie_word_embeddings must be true"},
           {"\"vocab_size\": 32000", "\"hidden_size\": 4096", "hidden_size again (first on line 2)"},
           {"\"vocab_size\": 32000", "\"vocab_size\": 32000, \"n_embd\": 5000", "n_embd must equal hidden_size (4096)"},
           {"\"model_type\": \"llama\"", "\"model_type\": 7", "model_type must be a string"},
           {"\"model_type\": \"llama\",", "", "model_type must be given"}}) {
    std::string text = base;
    text.replace(text.find(c.part), std::string_view(c.part).size(), c.by);
    CAPTURE(text);
    const Error error = refused(text);
    CAPTURE(error.what());
    CHECK(error.exit_status() == 4);
    CHECK(thrown::says(error, c.says));
  }
  const Error experts = refused(changed("Mixtral 8x7B", R"("num_experts_per_tok": 2)", R"("num_experts_per_tok": 9)"));
  CHECK(thrown::says(experts, "num_experts_per_tok must be at most num_local_experts (8), got 9"));
  const Error nested = refused(changed("Llama 4 Scout", R"("num_key_value_heads": 8)", R"("num_key_value_heads": 3)"));
  CHECK(thrown::says(nested, "text_config.num_key_value_heads must divide text_config.num_attention_heads"));
  const Error shared = refused(changed("DeepSeek V3", R"("n_shared_experts": 1)", R"("n_shared_experts": 2147483647)"));
  CHECK(thrown::says(shared, "n_shared_experts times moe_intermediate_size"));
  const Error kinds =
      refused(changed("Llama 2 7B", R"("vocab_size")", R"("layer_types": ["linear_attention"], "vocab_size")"));
  CHECK(thrown::says(kinds, "layer_types must have an item a layer, 32"));
}

TEST_CASE("an unknown model_type is answered with the nearest, and one that is no such stack with the reason") {
  const Error typo = refused(changed("Llama 2 7B", R"("llama")", R"("lama")"));
  CHECK(typo.code() == "unknown_model_type");
  CHECK(thrown::says(typo, "got \"lama\" (nearest: llama"));
  CHECK(thrown::says(typo, "deepseek_v3"));
  for (const char* name : {"mamba", "jamba", "qwen3_next", "falcon_h1", "recurrent_gemma", "nemotron_h", "deepseek_v32",
                           "kimi_linear", "minimax", "bert", "gemma3n"}) {
    CAPTURE(name);
    const Error error = refused(std::string(R"({"model_type": ")") + name + R"("})");
    CHECK(error.code() == "unsupported_model_type");
    CHECK(error.exit_status() == 4);
    CHECK(thrown::says(error, name));
  }
  const Error indexer = refused(changed("DeepSeek V3", R"("q_lora_rank")", R"("index_topk": 2048, "q_lora_rank")"));
  CHECK(thrown::says(indexer, "index_topk"));
  const Error linear = refused(
      R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1,
          "num_attention_heads": 4, "vocab_size": 100, "layer_types": ["linear_attention"]})");
  CHECK(thrown::says(linear, "layer_types[0] must be full_attention"));
}
