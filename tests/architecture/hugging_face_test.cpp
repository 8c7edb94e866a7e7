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
// A file with more keys.
std::string with(const std::string& name, const std::string& more) {
  return changed(name, R"("vocab_size")", more + R"(, "vocab_size")");
}
ModelFile read(const std::string& text) { return read_model_file(text, "config.json"); }
void accept(const std::string& text) { static_cast<void>(read(text)); }
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

TEST_CASE("a file that says everything is read without a warning") {
  for (const char* name : {"Qwen3 8B", "EXAONE 4.0 32B", "Seed-OSS 36B", "GLM-4 9B 0414", "DeepSeek V2", "gpt-oss 120B",
                           "Mistral NeMo 12B"}) {
    CAPTURE(name);
    const ModelFile file = named(name);
    CHECK(file.warnings.empty());
    CHECK(file.format == "Hugging Face");
  }
  CHECK(named("Llama 3.1 405B").longest_context == Tokens(131072));
  CHECK(named("GPT-2").longest_context == Tokens(1024));
  CHECK(named("Kimi K2").model_type == "kimi_k2");
}

TEST_CASE("all that a file leaves to its class is listed in one warning") {
  const auto only = [](const ModelFile& file) {
    REQUIRE(file.warnings.size() == 1);
    CHECK(file.warnings[0].code == "assumed");
    return file.warnings[0].message;
  };
  CHECK(only(named("Llama 2 7B")) ==
        "config.json does not give num_key_value_heads (32, one a head), head_dim (128, hidden_size over "
        "num_attention_heads), attention_bias (false), mlp_bias (false): taken as the class llama defines them");
  CHECK(only(named("GPT-2")) ==
        "config.json does not give tie_word_embeddings (true), head_dim (64, n_embd over n_head), n_inner (3072, four "
        "times n_embd): taken as the class gpt2 defines them");
  CHECK(warned(named("BLOOM 176B").warnings, "assumed", "intermediate_size (57344, four times n_embed)"));
  CHECK(warned(read(changed("Falcon 7B", R"("multi_query": true,)", "")).warnings, "assumed", "multi_query (true)"));
  CHECK(warned(read(changed("Falcon 7B", R"("bias": false,)", "")).warnings, "assumed", " bias (false)"));
  const ModelFile heads = read(changed("Qwen3 8B", "\"head_dim\": 128,", ""));
  CHECK(warned(heads.warnings, "assumed", "head_dim (128)"));
  CHECK(heads.shape == named("Qwen3 8B").shape);
  const ModelFile tied = read(changed("Llama 2 7B", R"("tie_word_embeddings": false)", R"("rms_norm_eps": 1e-5)"));
  CHECK(warned(tied.warnings, "assumed", "tie_word_embeddings (false)"));
  CHECK_FALSE(tied.shape.tied_embeddings);
  CHECK(warned(named("Gemma 3 27B").warnings, "assumed", "text_config.vocab_size (262208)"));
  const ModelFile moe = read(changed("Qwen3 30B A3B", "\"head_dim\": 128,", ""));
  CHECK(warned(moe.warnings, "assumed", "released models of this class have another"));
  CHECK(moe.shape.head_width == 64);
}

TEST_CASE("absent keys of mixtures and latent attention are the class's, and null says that there is none") {
  const ModelFile rank = read(changed("DeepSeek V3", R"("q_lora_rank": 1536, )", ""));
  CHECK(rank.shape == named("DeepSeek V3").shape);
  CHECK(warned(rank.warnings, "assumed", "q_lora_rank (1536, null for none)"));
  CHECK(named("DeepSeek V2 Lite").shape.latent->query_rank == 0);
  const ModelFile shared = read(changed("DeepSeek V3", R"("n_shared_experts": 1, )", ""));
  CHECK(shared.shape == named("DeepSeek V3").shape);
  CHECK(warned(shared.warnings, "assumed", "n_shared_experts (1)"));
  CHECK(read(changed("GLM-4.5", R"("n_shared_experts": 1, )", "")).shape == named("GLM-4.5").shape);
  CHECK(
      read(changed("GLM-4.5", R"("n_shared_experts": 1)", R"("n_shared_experts": null)")).shape.experts->shared_width ==
      0);
  CHECK(thrown::says(refused(changed("DeepSeek V2", R"("n_shared_experts": 2, )", "")),
                     "n_shared_experts must be given"));
  const ModelFile qwen = read(changed("Qwen1.5 MoE A2.7B", R"("shared_expert_intermediate_size": 5632,)", ""));
  CHECK(qwen.shape == named("Qwen1.5 MoE A2.7B").shape);
  CHECK(warned(qwen.warnings, "assumed", "shared_expert_intermediate_size (5632)"));
  const std::string& count = R"("n_routed_experts": 256, )";
  CHECK(refused(changed("DeepSeek V3", count, "")).code() == "missing_key");
  CHECK(thrown::says(refused(changed("DeepSeek V3", count, R"("n_routed_experts": null, )")),
                     "n_routed_experts must be given"));
  CHECK(read(changed("Mistral 7B", R"("num_key_value_heads": 8)", R"("num_key_value_heads": null)")).shape.kv_heads ==
        32);
  const ModelFile keys = read(changed("Mistral 7B", R"("num_key_value_heads": 8,)", ""));
  CHECK(warned(keys.warnings, "assumed", "num_key_value_heads (8)"));
  CHECK(keys.shape.kv_heads == 8);
  const ModelFile mpt = read(R"({"model_type": "mpt", "d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 100})");
  CHECK(mpt.shape.learned_positions == 0);
  CHECK(warned(mpt.warnings, "assumed", "attn_config (a key and value a head, alibi)"));
  CHECK(thrown::says(refused(changed("MPT 7B", "multihead_attention", "grouped_query_attention")),
                     "attn_config.kv_n_heads"));
}

TEST_CASE("a misspelled key is refused with the nearest that is known, and never ignored") {
  struct Case {
    const char* name;
    const char* right;
    const char* wrong;
  };
  for (const Case& c : std::initializer_list<Case>{{"DeepSeek V3", "n_routed_experts", "n_routed_expert"},
                                                   {"DeepSeek V3", "q_lora_rank", "q_lora_rnk"},
                                                   {"DeepSeek V3", "n_shared_experts", "n_share_experts"},
                                                   {"Llama 3.1 405B", "num_key_value_heads", "num_key_valu_heads"},
                                                   {"Llama 3.1 405B", "mlp_bias", "mpl_bias"},
                                                   {"Llama 3.1 405B", "tie_word_embeddings", "tie_words_embeddings"},
                                                   {"Llama 3.1 405B", "attention_bias", "attention-bias"},
                                                   {"Llama 3.2 1B", "head_dim", "head_dm"},
                                                   {"Llama 3.2 1B", "head_dim", "headDim"},
                                                   {"Qwen2.5 7B", "use_sliding_window", "use_slidng_window"},
                                                   {"StarCoder 15B", "n_inner", "n_iner"}}) {
    CAPTURE(c.wrong);
    const Error error =
        refused(changed(c.name, "\"" + std::string(c.right) + "\"", "\"" + std::string(c.wrong) + "\""));
    CAPTURE(error.what());
    CHECK(error.code() == "unknown_key");
    CHECK(error.exit_status() == 4);
    CHECK(thrown::says(error, c.wrong));
    CHECK(thrown::says(error, "(nearest: " + std::string(c.right) + ")"));
  }
  CHECK(thrown::says(refused(changed("Llama 4 Scout", "\"head_dim\"", "\"head_dims\"")), "text_config.head_dims"));
  CHECK(thrown::says(refused(changed("MPT 7B", "\"attn_type\"", "\"atn_type\"")), "attn_config.atn_type"));
  CHECK_NOTHROW(accept(changed("Llama 3.1 405B", R"("vocab_size")",
                               R"("num_labels": 2, "num_beams": 1, "torch_dtype": "bfloat16", "rope_theta": 5e5,
                                  "pretraining_tp": 1, "is_encoder_decoder": false, "head_dm": null, "vocab_size")")));
}

TEST_CASE("another family's name for what a file does not give otherwise is refused") {
  for (const char* name : {"n_kv_heads", "num_kv_head", "kv_heads", "num_query_groups", "num_key_value_head"}) {
    CAPTURE(name);
    const Error error = refused(changed("Llama 3.1 405B", "\"num_key_value_heads\"", "\"" + std::string(name) + "\""));
    CHECK(error.code() == "unknown_key");
    CHECK(error.where() == "config.json:2");
    CHECK(thrown::says(error, name));
    CHECK(thrown::says(error, "num_key_value_heads"));
  }
  CHECK(refused(with("Llama 2 7B", R"("head_size": 64)")).code() == "unknown_key");
  CHECK(refused(with("GPT-2", R"("d_ff": 64)")).code() == "unknown_key");
  CHECK(refused(with("GPT-2", R"("tie_embeddings": false)")).code() == "unknown_key");
  CHECK_NOTHROW(accept(with("Llama 3.1 405B", R"("n_kv_heads": 8)")));
  CHECK(thrown::says(refused(with("GPT-2", R"("num_key_value_heads": 4)")), "keys and values for every head"));
  CHECK(thrown::says(refused(with("GPT-2", R"("head_dim": 32)")), "n_embd over n_head"));
  CHECK(thrown::says(refused(with("BLOOM 176B", R"("intermediate_size": 4)")), "must be 57344"));
}

TEST_CASE("experts, latent attention and encoders in a class that has none are refused with the key") {
  for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts", "num_experts_per_tok", "kv_lora_rank",
                          "moe_intermediate_size", "moe_num_experts", "n_shared_experts", "q_lora_rank", "index_topk",
                          "index_n_heads", "encoder_layers"}) {
    CAPTURE(key);
    const std::string name = "\"" + std::string(key) + "\": ";
    const Error error = refused(with("Llama 3.1 405B", name + "8"));
    CHECK(error.code() == "unsupported_model_type");
    CHECK(thrown::says(error, key));
    CHECK_NOTHROW(accept(with("Llama 3.1 405B", name + "0")));
    CHECK_NOTHROW(accept(with("Llama 3.1 405B", name + "null")));
  }
  for (const char* key : {"is_encoder_decoder", "add_cross_attention", "use_qk_norm", "multi_query"}) {
    CAPTURE(key);
    const std::string name = "\"" + std::string(key) + "\": ";
    const Error error = refused(with("Llama 3.1 405B", name + "true"));
    CHECK(error.code() == "unsupported_model_type");
    CHECK(thrown::says(error, key));
    CHECK_NOTHROW(accept(with("Llama 3.1 405B", name + "false")));
  }
  CHECK_NOTHROW(accept(with("Llama 4 Scout", R"("use_qk_norm": true)")));
  CHECK(thrown::says(refused(with("Qwen3 30B A3B", R"("shared_expert_intermediate_size": 64)")), "shared_expert"));
  CHECK(thrown::says(refused(with("Mixtral 8x7B", R"("n_shared_experts": 1)")), "n_shared_experts"));
  CHECK(warned(read(with("Mistral 7B", R"("attention_bias": true)")).warnings, "not_read", "attention_bias is true"));
  const Error both = refused(with("DeepSeek V3", R"("index_topk": 2048, "index_n_heads": 64)"));
  CHECK(thrown::says(both, "index_topk is not supported: its attention chooses tokens by an indexer"));
}

TEST_CASE("a modelling class of another family than model_type names is refused") {
  const auto of = [](const char* name, const std::string& architecture) {
    return with(name, R"("architectures": [")" + architecture + "\"]");
  };
  for (const char* other : {"MixtralForCausalLM", "MambaForCausalLM", "GPT2LMHeadModel", "T5ForConditionalGeneration",
                            "Qwen2MoeForCausalLM", "BertModel"}) {
    CAPTURE(other);
    const Error error = refused(of("Llama 3.1 405B", other));
    CHECK(error.code() == "unsupported_model_type");
    CHECK(thrown::says(error, other));
  }
  for (const char* own :
       {"LlamaForCausalLM", "LlamaForSequenceClassification", "LlamaModel", "GraniteForCausalLM", "OrionForCausalLM"})
    CHECK_NOTHROW(accept(of("Llama 3.1 405B", own)));
  CHECK_NOTHROW(accept(of("Kimi K2", "DeepseekV3ForCausalLM")));
  CHECK_NOTHROW(accept(of("gpt-oss 20B", "GptOssForCausalLM")));
  CHECK_NOTHROW(accept(of("StarCoder 15B", "GPTBigCodeForCausalLM")));
  CHECK_NOTHROW(accept(changed("Gemma 3 27B", R"("model_type": "gemma3",)",
                               R"("model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"],)")));
  const Error around = refused(changed("Gemma 3 27B", R"("model_type": "gemma3",)", R"("model_type": "t5",)"));
  CHECK(around.code() == "unsupported_model_type");
  CHECK(thrown::says(around, "got \"t5\""));
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
