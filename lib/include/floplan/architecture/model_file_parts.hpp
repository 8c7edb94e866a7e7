// SPDX-License-Identifier: BSD-3-Clause
//
// What a model's file says, whichever family of files it is of, and how its keys are asked for.
//
//   const FileKeys keys(document.root(), file.warnings);
//   keys.dimension({"hidden_size", "n_embd"})                the first of them that is there, or an Error with all their names
//   keys.dimension_or({"num_key_value_heads"}, 8, "the class's default")     the same, or 8 with a warning
//
// A key whose value is null is as good as absent. Of two names for one thing, both may stand if they agree.
//
// Errors: Error(data) at file:line with the key as the file spells it; codes missing_key, bad_value, does_not_divide,
// disagrees. Pitfall: what a file leaves out is taken by its program's own default and said in a Warning "assumed", also
// where that default is what the format defines (n_inner of GPT-2 is four times its width).
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/architecture/layer_pattern.hpp"
#include "floplan/architecture/layout.hpp"
#include "floplan/architecture/transformer.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/located_json.hpp"
#include "floplan/core/quantity.hpp"

namespace floplan::architecture {

// A value that the file does not give is absent, never a default.
struct ModelFile {
  Transformer shape;
  std::string format;                     // "Hugging Face", "Megatron-LM", "calculon", "llm-analysis"
  std::string model_type;                 // as the file names it; empty where the format has none
  std::string name;                       // as the file names the model; empty where it does not
  std::optional<Tokens> sequence_length;  // of training
  std::optional<Tokens> longest_context;  // that the positions allow
  // Of training, from argument lists. The degree of data parallelism is no argument: it follows from the accelerators.
  std::optional<Layout> layout;
  std::optional<Count> microbatch, global_batch;  // sequences
  std::optional<Count> training_steps, training_sequences;
  std::optional<bool> sequence_parallel;
  std::optional<Sharding> sharding;
  std::optional<Recompute> recompute;
  std::vector<Warning> warnings;
};

namespace detail {

inline constexpr std::int64_t most_of_a_dimension = 2147483647;
inline constexpr std::int64_t most_layers = 100'000;
inline constexpr std::int64_t longest_sequence = 1'000'000'000;

// A number of a file with the place and the name that an error about it gives.
struct FileNumber {
  std::int64_t value = 0;
  std::string place;
  std::string name;

  [[nodiscard]] Error fail(const std::string& rule, const std::string& code = "bad_value") const {
    return {Failure::data, code, place, name + " " + rule + ", got " + std::to_string(value)};
  }
  void must_divide(const FileNumber& whole) const {
    if (value == 0 || whole.value % value != 0)
      throw fail("must divide " + whole.name + " (" + std::to_string(whole.value) + ")", "does_not_divide");
  }
  void must_be_at_most(const FileNumber& other) const {
    if (value > other.value) throw fail("must be at most " + other.name + " (" + std::to_string(other.value) + ")");
  }
};

inline void assume(std::vector<Warning>& warnings, const std::string& what, const std::string& value,
                   const std::string& why) {
  warnings.push_back({"assumed", what + " is not in the file: " + value + " is taken, " + why});
}

// A product that must still be a dimension, as the width of several shared experts.
[[nodiscard]] inline std::int64_t product(const FileNumber& a, const FileNumber& b) {
  if (b.value != 0 && a.value > most_of_a_dimension / b.value)
    throw a.fail("times " + b.name + " (" + std::to_string(b.value) + ") must be at most 2147483647");
  return a.value * b.value;
}

using Names = std::initializer_list<const char*>;

class FileKeys {
 public:
  // taken: where to note what is assumed, for a reader that says all of it in one warning.
  FileKeys(JsonValue object, std::vector<Warning>& warnings, std::vector<std::string>* taken = nullptr)
      : object_(object), warnings_(&warnings), taken_(taken) {}

  [[nodiscard]] const JsonValue& object() const { return object_; }
  [[nodiscard]] std::vector<Warning>& warnings() const { return *warnings_; }
  void warn_assumed(const std::string& what, const std::string& value, const std::string& why) const {
    if (taken_ == nullptr) return assume(*warnings_, named(what), value, why);
    const std::string one = named(what) + " (" + value + (why.empty() ? "" : ", " + why) + ")";
    if (std::find(taken_->begin(), taken_->end(), one) == taken_->end()) taken_->push_back(one);
  }

  // The value of the first name that is there and not null.
  [[nodiscard]] std::optional<JsonValue> find(Names names) const {
    std::optional<JsonValue> out;
    for (const char* name : names) {
      const auto value = object_.find(name);
      if (!value || value->is_null()) continue;
      if (out && out->shown_value() != value->shown_value())
        throw value->fail("must equal " + std::string(out->key()) + " (" + out->shown_value() + ")", "disagrees");
      if (!out) out = value;
    }
    return out;
  }
  [[nodiscard]] JsonValue required(Names names, const std::string& why = "") const {
    if (auto value = find(names)) return *value;
    std::string all;
    for (const char* name : names) {
      if (const auto null = object_.find(name)) throw null->fail("must be given" + (why.empty() ? "" : ", " + why));
      all += (all.empty() ? "" : " or ") + named(name);
    }
    throw Error(Failure::data, "missing_key", object_.place(),
                all + " must be given" + (why.empty() ? "" : ", " + why) + ", got none");
  }

  [[nodiscard]] static FileNumber number(const JsonValue& value, std::int64_t least, std::int64_t most) {
    return {value.whole_number(least, most), value.place(), value.path()};
  }
  [[nodiscard]] FileNumber dimension(Names names, std::int64_t most = most_of_a_dimension) const {
    return number(required(names), 1, most);
  }
  [[nodiscard]] std::optional<FileNumber> optional_dimension(Names names, std::int64_t least = 1) const {
    const auto value = find(names);
    if (!value) return std::nullopt;
    return number(*value, least, most_of_a_dimension);
  }
  [[nodiscard]] FileNumber dimension_or(Names names, std::int64_t otherwise, const std::string& why) const {
    if (auto value = optional_dimension(names)) return *value;
    warn_assumed(*names.begin(), std::to_string(otherwise), why);
    return {otherwise, object_.place(), named(*names.begin())};
  }
  [[nodiscard]] bool flag(const char* name, bool otherwise) const {
    const auto value = find({name});
    return value ? value->boolean() : otherwise;
  }
  // The same, and what is taken for an absent one is said.
  [[nodiscard]] bool flag_or(const char* name, bool otherwise) const {
    if (!find({name})) warn_assumed(name, otherwise ? "true" : "false", "");
    return flag(name, otherwise);
  }
  // Whether the file has the key and says null.
  [[nodiscard]] bool says_null(const char* name) const {
    const auto value = object_.find(name);
    return value && value->is_null();
  }
  [[nodiscard]] std::string word(const char* name, const std::string& otherwise = "") const {
    const auto value = find({name});
    return value ? value->string() : otherwise;
  }
  // The keys of an object within.
  [[nodiscard]] FileKeys inside(const char* name) const {
    const JsonValue value = required({name});
    if (value.kind() != JsonValue::Kind::object) throw value.fail("must be an object");
    return {value, *warnings_, taken_};
  }
  // "text_config.head_dim"
  [[nodiscard]] std::string named(const std::string& key) const {
    const std::string path = object_.path();
    return path.empty() ? key : path + "." + key;
  }

 private:
  JsonValue object_;
  std::vector<Warning>* warnings_;
  std::vector<std::string>* taken_;
};

// What relations the readers did not name: the shape's own check, at the file.
inline void check_shape(const Transformer& t, const std::string& place) {
  try {
    check(t);
  } catch (const Error& error) {
    throw Error(Failure::data, "impossible_shape", place, std::string("must be a possible shape: ") + error.what());
  }
}

}  // namespace detail
}  // namespace floplan::architecture
