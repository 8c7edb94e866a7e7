// SPDX-License-Identifier: BSD-3-Clause
//
// The shape of a model, its layout and its batch from the arguments of Megatron-LM or Megatron-DeepSpeed.
//
//   const ModelFile file = read_megatron(ArgumentList::read(text, "train.sh"));
//
//   padded vocabulary = ceil(V / (m TP)) m TP        V --vocab-size, m --make-vocab-size-divisible-by (128 if absent)
//   feed-forward width, if absent: 4 h, or with --swiglu 8/3 h rounded down to a multiple of 64
//
// As Megatron builds it: LayerNorm, biases, learned positions and tied embeddings unless a flag says otherwise; heads are
// grouped only with --group-query-attention; --moe-layer-freq N gives experts to layers 0, N, 2N, ..., and
// Megatron-DeepSpeed's --expert-interval N to layers N-1, 2N-1, ...
//
// Source: megatron/training/arguments.py of Megatron-LM (core 0.8 to 0.14), as facts.
// Errors: Error(data) at file:line with the flag; a shape's flag that hangs on an unset variable is one. What else cannot
// be read (a batch of $BATCH) is left out with a warning.
// Pitfall: a flag that is nearly one of the shape's is an error, and one that only looks like it is warned about
// (megatron_spelling.hpp); none is guessed.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "floplan/architecture/argument_list.hpp"
#include "floplan/architecture/layer_pattern.hpp"
#include "floplan/architecture/layout.hpp"
#include "floplan/architecture/megatron_spelling.hpp"
#include "floplan/architecture/model_file_parts.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"

namespace floplan::architecture {

namespace detail {

class MegatronReader {
 public:
  MegatronReader(const ArgumentList& list, ModelFile& file) : list_(list), file_(file), t_(file.shape) {}

  void read() {
    check_flags(list_, file_.warnings);
    layers_ = required({"--num-layers", "--encoder-num-layers"}, most_layers);
    width_ = required({"--hidden-size"});
    heads_ = required({"--num-attention-heads"});
    t_.layers = layers_.value;
    t_.width = width_.value;
    t_.heads = heads_.value;
    t_.gated = given("--swiglu") || given("--geglu") || given("--quick-geglu") || find({"--glu-activation"});
    t_.embedding_norm = given("--embed-layernorm");
    t_.attention_sinks = one_of("--softmax-type", "vanilla", {"vanilla", "off-by-one", "learnable"}) == "learnable";
    t_.tied_embeddings = !given("--untie-embeddings-and-output-weights");
    t_.norm = one_of("--normalization", "LayerNorm", {"LayerNorm", "RMSNorm"}) == "RMSNorm" ? Norm::rms : Norm::layer;
    const bool linear = !given("--disable-bias-linear");
    const bool queries = given("--add-qkv-bias");
    t_.biases = {linear || queries, linear, linear, false};
    attention();
    experts();
    if (t_.dense_layers() > 0) t_.ffn_width = feed_forward_width();
    vocabulary();
    positions();
    training();
    remarks();
    check_shape(t_, list_.name() + ":1");
  }

 private:
  using Flags = std::initializer_list<const char*>;

  [[nodiscard]] std::optional<Argument> find(Flags flags) const {
    for (const char* flag : flags) {
      if (auto found = list_.find(flag, file_.warnings)) return found;
    }
    return std::nullopt;
  }
  [[nodiscard]] bool given(const char* flag) const {
    const auto found = find({flag});
    return found && says_true(list_, *found);
  }
  [[nodiscard]] Error fail(const Argument& a, const std::string& rule, const std::string& code = "bad_value") const {
    return {Failure::data, code, list_.place(a), a.name + " " + rule};
  }
  [[nodiscard]] FileNumber whole(const Argument& a, std::int64_t least, std::int64_t most) const {
    if (const std::string why = ArgumentList::unresolved(a.value); !why.empty())
      throw fail(a, "must be a literal, got " + shown(why, 120), "unresolved_variable");
    std::int64_t value = 0;
    std::string digits = a.value;
    // Python's int() takes 220_000.
    if (!digits.starts_with('_') && !digits.ends_with('_') && digits.find("__") == std::string::npos)
      digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, value);
    if (!a.has_value || error != std::errc() || stopped != end || value < least || value > most) {
      throw fail(a, "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most) + ", got " +
                        (a.has_value ? "\"" + shown(a.value) + "\"" : "none"));
    }
    return {value, list_.place(a), a.name};
  }
  [[nodiscard]] std::optional<FileNumber> number(Flags flags, std::int64_t least = 1) const {
    const auto found = find(flags);
    if (!found) return std::nullopt;
    return whole(*found, least, most_of_a_dimension);
  }
  [[nodiscard]] FileNumber required(Flags flags, std::int64_t most = most_of_a_dimension) const {
    if (const auto found = find(flags)) return whole(*found, 1, most);
    std::string all;
    for (const char* flag : flags) all += (all.empty() ? "" : " or ") + std::string(flag);
    throw Error(Failure::data, "missing_key", list_.name() + ":1", all + " must be given, got none");
  }
  [[nodiscard]] FileNumber number_or(Flags flags, std::int64_t otherwise, const std::string& why) const {
    if (const auto found = number(flags)) return *found;
    assume(file_.warnings, *flags.begin(), std::to_string(otherwise), why);
    return {otherwise, list_.name() + ":1", *flags.begin()};
  }
  [[nodiscard]] std::string one_of(const char* flag, const char* otherwise, Flags words) const {
    const auto found = find({flag});
    if (!found) return otherwise;
    std::string all;
    for (const char* word : words) {
      if (found->value == word) return word;
      all += (all.empty() ? "" : ", ") + std::string(word);
    }
    const std::string why = ArgumentList::unresolved(found->value);
    throw fail(*found, "must be one of " + all + ", got " + (why.empty() ? "\"" + shown(found->value) + "\"" : why));
  }

  void attention() {
    if (given("--multi-latent-attention")) {
      LatentAttention a;
      const auto query_rank = number({"--q-lora-rank"});
      a.query_rank = query_rank ? query_rank->value : 0;
      a.kv_rank = required({"--kv-lora-rank"}).value;
      a.plain_width = number_or({"--qk-head-dim"}, 128, "Megatron's default").value;
      a.rotary_width = number_or({"--qk-pos-emb-head-dim"}, 64, "Megatron's default").value;
      a.value_width = number_or({"--v-head-dim"}, 128, "Megatron's default").value;
      t_.latent = a;
      if (!given("--qk-layernorm")) {
        file_.warnings.push_back(
            {"counted_more", "--qk-layernorm is not given: the norms of the ranks are counted here, " +
                                 std::to_string(a.query_rank + a.kv_rank) + " a layer, and Megatron has none"});
      }
      return;
    }
    const auto groups = find({"--num-query-groups", "--num-key-value-heads"});
    t_.kv_heads = t_.heads;
    if (given("--group-query-attention") || (groups && groups->name == "--num-key-value-heads")) {
      const FileNumber kv =
          groups ? whole(*groups, 1, most_of_a_dimension) : number_or({"--num-query-groups"}, 1, "Megatron's default");
      kv.must_divide(heads_);
      t_.kv_heads = kv.value;
    } else if (groups && groups->value != std::to_string(t_.heads)) {
      file_.warnings.push_back({"ignored",
                                "--num-query-groups is ignored, as Megatron does without "
                                "--group-query-attention: every head has keys and values of its own"});
    }
    if (const auto channels = number({"--kv-channels"})) {
      t_.head_width = channels->value;
    } else {
      heads_.must_divide(width_);
      t_.head_width = width_.value / heads_.value;
    }
    if (given("--qk-layernorm")) {
      t_.query_key_norm = QueryKeyNorm::per_head;
      if (t_.norm == Norm::layer) {
        file_.warnings.push_back({"counted_less", "--qk-layernorm with LayerNorm has biases, " +
                                                      std::to_string(2 * t_.head_width) +
                                                      " a layer, which are not counted"});
      }
    }
  }

  [[nodiscard]] std::int64_t feed_forward_width() const {
    if (const auto own = number({"--ffn-hidden-size"})) return own->value;
    const std::int64_t four = product(width_, {4, "", "four"});
    const bool swiglu = given("--swiglu");
    const std::int64_t otherwise = swiglu ? std::max<std::int64_t>(2 * four / 3 / 64 * 64, 64) : four;
    assume(file_.warnings, "--ffn-hidden-size", std::to_string(otherwise),
           swiglu ? "Megatron's default with --swiglu: 8/3 of --hidden-size, down to a multiple of 64"
                  : "Megatron's default: 4 times --hidden-size");
    return otherwise;
  }

  void experts() {
    const auto count = expert_count();
    if (!count || count->value == 1) return;
    Experts e;
    e.count = count->value;
    const FileNumber active = deepspeed() ? number_or({"--topk"}, 1, "Megatron-DeepSpeed's default")
                                          : number_or({"--moe-router-topk"}, 2, "Megatron's default");
    active.must_be_at_most(*count);
    e.active = active.value;
    if (const auto own = number({"--moe-ffn-hidden-size"})) {
      e.width = own->value;
    } else {
      e.width = feed_forward_width();
      assume(file_.warnings, "--moe-ffn-hidden-size", std::to_string(e.width), "the width of the dense block");
    }
    const auto shared = number({"--moe-shared-expert-intermediate-size"});
    e.shared_width = shared ? shared->value : 0;
    e.shared_gate = shared && given("--moe-shared-expert-gate");
    e.router_bias = given("--moe-router-enable-expert-bias");
    e.layers = expert_layers();
    t_.experts = std::move(e);
  }

  // Megatron-DeepSpeed has mixtures of its own, with other flags and defaults.
  [[nodiscard]] bool deepspeed() const {
    return find({"--topk", "--expert-interval", "--mlp-type", "--moe-expert-parallel-size"}) &&
           !find({"--moe-router-topk", "--moe-layer-freq"});
  }
  // Megatron-DeepSpeed takes a list, one for each layer that has experts.
  [[nodiscard]] std::optional<FileNumber> expert_count() const {
    const auto found = find({"--num-experts"});
    if (!found) return std::nullopt;
    Argument each = *found;
    std::string words = found->value;
    for (const std::string& word : found->more) words += " " + word;
    std::optional<FileNumber> out;
    for (std::size_t at = 0; at <= words.size();) {
      const std::size_t end = std::min(words.find_first_of(" \t\n", at), words.size());
      each.value = words.substr(at, end - at);
      at = end + 1;
      if (each.value.empty() && words.size() > 0) continue;
      const FileNumber one = whole(each, 1, most_of_a_dimension);
      if (out && out->value != one.value)
        throw fail(each,
                   "must be one number for all layers, got " + std::to_string(out->value) + " and " +
                       std::to_string(one.value),
                   "unsupported_layer");
      out = one;
    }
    if (!out) throw fail(*found, "must be a whole number, got none");
    return out;
  }

  [[nodiscard]] LayerPattern expert_layers() const {
    const auto frequency = find({"--moe-layer-freq"});
    const auto interval = number({"--expert-interval"});
    if (frequency && interval) throw interval->fail("must not stand beside --moe-layer-freq");
    if (interval || deepspeed()) {
      const FileNumber every =
          number_or({"--expert-interval"}, 2, "Megatron-DeepSpeed's default: experts in each second layer");
      every.must_be_at_most(layers_);
      return LayerPattern::every(every.value, t_.layers);
    }
    if (!frequency) return LayerPattern::all(t_.layers);
    if (frequency->value.find('[') == std::string::npos) {
      const std::int64_t period = whole(*frequency, 1, most_layers).value;
      std::vector<bool> flags;
      for (std::int64_t i = 0; i < t_.layers; ++i) flags.push_back(i % period == 0);
      return LayerPattern(std::move(flags));
    }
    if (const std::string why = ArgumentList::unresolved(frequency->value); !why.empty())
      throw fail(*frequency, "must be a literal, got " + shown(why, 120), "unresolved_variable");
    try {
      // Scripts quote it once more for a shell in between: "'([1]*48)'".
      std::string text = frequency->value;
      if (text.size() > 1 && text.front() == '\'' && text.back() == '\'') text = text.substr(1, text.size() - 2);
      const LayerPattern pattern = LayerPattern::parse(text, frequency->name);
      if (pattern.size() == t_.layers && pattern.count() > 0) return pattern;
      throw fail(*frequency, "must have a flag for each of " + std::to_string(t_.layers) +
                                 " layers and one that is 1, got " + std::to_string(pattern.size()) + " with " +
                                 std::to_string(pattern.count()) + " of 1");
    } catch (const Error& error) {
      if (error.failure() == Failure::data) throw;
      throw Error(Failure::data, error.code(), list_.place(*frequency), error.what());
    }
  }

  void vocabulary() {
    if (const auto padded = number({"--padded-vocab-size"})) {
      t_.vocabulary = padded->value;
      return;
    }
    const FileNumber own = required({"--vocab-size", "--padded-vocab-size"});
    const auto divisor = number({"--make-vocab-size-divisible-by"});
    const auto tensor = number({"--tensor-model-parallel-size"});
    const FileNumber by = divisor ? *divisor : FileNumber{128, own.place, "--make-vocab-size-divisible-by"};
    const std::int64_t multiple = product(by, tensor ? *tensor : FileNumber{1, own.place, "tensor"});
    t_.vocabulary = (own.value + multiple - 1) / multiple * multiple;
    if (t_.vocabulary > most_of_a_dimension)
      throw own.fail("padded to a multiple of " + std::to_string(multiple) + " must be at most 2147483647");
    if (!divisor && t_.vocabulary != own.value) {
      assume(file_.warnings, "--make-vocab-size-divisible-by", "128",
             "Megatron's default: the vocabulary of " + std::to_string(own.value) + " is padded to " +
                 std::to_string(t_.vocabulary));
    }
  }

  void positions() {
    const auto most = number({"--max-position-embeddings"});
    if (most) file_.longest_context = Tokens(static_cast<double>(most->value));
    const std::string type =
        one_of("--position-embedding-type", "learned_absolute",
               {"learned_absolute", "absolute", "rope", "rotary", "mrope", "yarn", "alibi", "none"});
    if ((type != "learned_absolute" && type != "absolute") || given("--use-rotary-position-embeddings") ||
        given("--no-position-embedding"))
      return;
    t_.learned_positions = required({"--max-position-embeddings"}).value;
  }

  // A number of the run that the shape does not hang on: absent, with a warning, when it is no literal.
  [[nodiscard]] std::optional<Count> of_run(const char* flag, std::int64_t most = std::int64_t{1} << 53) const {
    const auto found = find({flag});
    if (!found) return std::nullopt;
    if (const std::string why = ArgumentList::unresolved(found->value); !why.empty()) {
      file_.warnings.push_back({"not_read", found->name + " is not read: it is " + shown(why, 120)});
      return std::nullopt;
    }
    return Count(static_cast<double>(whole(*found, 1, most).value));
  }
  void training() {
    if (const auto sequence = of_run("--seq-length", longest_sequence)) file_.sequence_length = Tokens(sequence->value);
    file_.microbatch = of_run("--micro-batch-size");
    file_.global_batch = of_run("--global-batch-size");
    file_.training_steps = of_run("--train-iters");
    file_.training_sequences = of_run("--train-samples");
    if (find({"--sequence-parallel"})) file_.sequence_parallel = given("--sequence-parallel");
    if (given("--use-distributed-optimizer")) file_.sharding = Sharding::zero1;
    if (given("--recompute-activations")) file_.recompute = Recompute::selective;
    if (find({"--recompute-granularity"})) {
      file_.recompute = one_of("--recompute-granularity", "", {"full", "selective"}) == "full" ? Recompute::full
                                                                                               : Recompute::selective;
    }
    layout();
  }
  void layout() {
    Layout cut;
    bool any = false;
    const auto degree = [&](const char* flag, std::int64_t& into) {
      const auto found = of_run(flag);
      if (!found) return;
      if (found->value > static_cast<double>(most_of_a_dimension))
        throw fail(*find({flag}), "must be at most 2147483647");
      into = static_cast<std::int64_t>(found->value);
      any = true;
    };
    degree("--tensor-model-parallel-size", cut.tensor);
    degree("--pipeline-model-parallel-size", cut.pipeline);
    degree("--context-parallel-size", cut.context);
    degree("--expert-model-parallel-size", cut.expert);
    degree("--expert-tensor-parallel-size", cut.expert_tensor);
    std::int64_t chunk = 0;
    degree("--num-layers-per-virtual-pipeline-stage", chunk);
    degree("--num-virtual-stages-per-pipeline-rank", cut.interleave);
    if (chunk > 0) {
      const Argument flag = *find({"--num-layers-per-virtual-pipeline-stage"});
      if (cut.pipeline * chunk > t_.layers || t_.layers % (cut.pipeline * chunk) != 0) {
        throw fail(flag,
                   "times " + std::to_string(cut.pipeline) + " stages must divide --num-layers (" +
                       std::to_string(t_.layers) + "), got " + std::to_string(chunk),
                   "does_not_divide");
      }
      cut.interleave = t_.layers / (cut.pipeline * chunk);
    }
    if (any) file_.layout = cut;
  }

  void remarks() const {
    if (const auto later = of_run("--mtp-num-layers")) {
      file_.warnings.push_back(
          {"not_counted", "--mtp-num-layers: the layers that predict further tokens are not counted"});
    }
    if (find({"--window-size"}))
      file_.warnings.push_back({"not_read", "--window-size is not read: every layer is taken to attend to all tokens"});
  }

  const ArgumentList& list_;
  ModelFile& file_;
  Transformer& t_;
  FileNumber layers_, width_, heads_;
};

}  // namespace detail

[[nodiscard]] inline ModelFile read_megatron(const ArgumentList& list) {
  ModelFile out;
  out.format = "Megatron-LM";
  detail::MegatronReader(list, out).read();
  out.warnings = detail::joined(out.warnings);
  return out;
}

}  // namespace floplan::architecture
