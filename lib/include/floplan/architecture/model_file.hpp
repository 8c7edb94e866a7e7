// SPDX-License-Identifier: BSD-3-Clause
//
// The shape of a model from a file that people have, whichever it is: told by its content, not by its name.
//
//   const ModelFile file = read_model_file(read_text_file(path), path);
//   parameter_count(file.shape).total           and file.warnings say what was taken for granted
//
//   Hugging Face     config.json: an object with model_type                            hugging_face.hpp
//   Megatron-LM      a script or a list of arguments with --num-layers, ...            megatron_arguments.hpp
//   calculon         an object with attn_heads and num_blocks                          simulator_models.hpp
//   llm-analysis     an object with n_head and hidden_dim                              simulator_models.hpp
//
// Errors: Error(data) at name:line, with the key or flag as the file spells it; unknown_format for anything else. Nothing
// that changes a count is assumed without a Warning.
// Pitfall: the count is of the text model alone, as the file describes it; a checkpoint may hold more (further heads for
// several tokens, a vision tower), and a warning says so where the file tells.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

#include "floplan/architecture/argument_list.hpp"
#include "floplan/architecture/hugging_face.hpp"
#include "floplan/architecture/megatron_arguments.hpp"
#include "floplan/architecture/model_file_parts.hpp"
#include "floplan/architecture/simulator_models.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/located_json.hpp"

namespace floplan::architecture {

namespace detail {

[[nodiscard]] inline Error unknown_format(const std::string& place, const std::string& found) {
  return {Failure::data, "unknown_format", place,
          "must be a model: config.json of Hugging Face (model_type), arguments of Megatron-LM (--num-layers), or a "
          "model of "
          "calculon (attn_heads, num_blocks) or llm-analysis (n_head, hidden_dim), got " +
              found};
}

// "[ -z $X ] && exit", "[[ $X == 1 ]]": a script that begins with a test, and not a list of JSON.
[[nodiscard]] inline bool is_test_of_shell(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  const std::size_t word = text.find_first_not_of("[ \t");
  if (word == 0 || word == std::string_view::npos || (word < text.size() && text[word - 1] == '[')) return false;
  const std::string_view first = text.substr(word, text.find_first_of(" \t\r", word) - word);
  if (std::isalpha(static_cast<unsigned char>(first[0])))
    return !first.starts_with("true") && !first.starts_with("false") && !first.starts_with("null");
  const bool option = first[0] == '-' && first.size() > 1 && std::isalpha(static_cast<unsigned char>(first[1]));
  const bool quoted = first[0] == '"' && first.find('$') != std::string_view::npos;
  return first[0] == '$' || first[0] == '!' || first[0] == '(' || option || quoted;
}

[[nodiscard]] inline ModelFile read_json_model(std::string_view text, const std::string& name) {
  const LocatedJson document = LocatedJson::parse(text, name);
  const JsonValue root = document.root();
  if (root.kind() != JsonValue::Kind::object) throw unknown_format(root.place(), root.shown_value());
  const auto has = [&root](const char* key) { return root.find(key).has_value(); };
  if ((has("n_head") || has("num_layers")) && has("hidden_dim")) return read_llm_analysis(document);
  if (!has("model_type") && (has("attn_heads") || has("num_blocks") || has("attn_size")))
    return read_calculon(document);
  if (has("model_type") || has("architectures") || has("hidden_size") || has("n_embd") || has("text_config"))
    return read_hugging_face(document);
  throw unknown_format(root.place(), "an object with none of these keys");
}

}  // namespace detail

// name: of the file, for errors.
[[nodiscard]] inline ModelFile read_model_file(std::string_view text, const std::string& name) {
  using namespace std::string_view_literals;
  if (text.starts_with("\xFF\xFE\0\0"sv) || text.starts_with("\0\0\xFE\xFF"sv))
    throw Error(Failure::data, "not_utf8", name + ":1", "must be UTF-8 text, got a byte order mark of UTF-32");
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    throw Error(Failure::data, "not_utf8", name + ":1", "must be UTF-8 text, got a byte order mark of UTF-16");
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    const auto before = text.substr(0, zero);
    throw Error(Failure::data, "not_text",
                name + ":" + std::to_string(1 + std::count(before.begin(), before.end(), '\n')),
                "must be UTF-8 text, got a byte of zero");
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) throw detail::unknown_format(name + ":1", "an empty file");
  if (text[first] == '{' || (text[first] == '[' && !detail::is_test_of_shell(text.substr(first))))
    return detail::read_json_model(text, name);
  if (text.find("--") == std::string_view::npos)
    throw detail::unknown_format(name + ":1", "\"" + shown(text.substr(first), 40) + "\"");
  const ArgumentList list = ArgumentList::read(text, name);
  const auto tells = [](const Argument& a) {
    return a.name == "--num-layers" || a.name == "--hidden-size" || a.name == "--num-attention-heads" ||
           a.name == "--encoder-num-layers";
  };
  if (std::none_of(list.all().begin(), list.all().end(), tells))
    throw detail::unknown_format(name + ":1", "text without --num-layers, --hidden-size or --num-attention-heads");
  return read_megatron(list);
}

}  // namespace floplan::architecture
