// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "floplan/core/error.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/random.hpp"
#include "floplan/runs/json_runs.hpp"
#include "run_text.hpp"

using namespace floplan;
using runs::read_any;

namespace {

// A table or an Error of data or usage, within a time that only more than linear work would exceed.
bool reads_or_refuses(std::string_view text, const runs::ReadOptions& options = {}) {
  const auto start = std::chrono::steady_clock::now();
  bool read = false;
  try {
    run_text::check_sound(read_any(text, "hostile", options));
    read = true;
  } catch (const Error& error) {
    CHECK((error.failure() == Failure::data || error.failure() == Failure::usage));
    CHECK(std::string_view(error.what()).size() < 4000);
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
  return read;
}

}  // namespace

TEST_CASE("random bytes are refused or read, and never more than that") {
  RandomStream random(20240601, 0);
  constexpr std::string_view likely = "N,D,loss\n\r\t;\"{}[]:0123456789eE+-.NaN#\\ `=!<>&|";
  for (int i = 0; i < 3000; ++i) {
    std::string text = i % 3 == 0 ? "N,D,loss\n" : i % 3 == 1 ? "[{" : "";
    const auto length = static_cast<int>(random.uniform() * 120);
    for (int k = 0; k < length; ++k) {
      text += random.uniform() < 0.9
                  ? likely[static_cast<std::size_t>(random.uniform() * static_cast<double>(likely.size()))]
                  : static_cast<char>(random.below(256));
    }
    reads_or_refuses(text);
    runs::ReadOptions options;
    options.where = text;
    reads_or_refuses("N,D,loss\n1e9,2e10,2.5\n", options);
  }
}

TEST_CASE("the inputs that the fuzzers start from are read or refused") {
  const auto folder = std::filesystem::path(FLOPLAN_SOURCE_DIR) / "tests" / "fuzz" / "corpus";
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    CAPTURE(entry.path().string());
    ++files;
    const std::string text = read_text_file(entry.path());
    reads_or_refuses(text);
    reads_or_refuses(text.substr(1));
  }
  CHECK(files > 5);
}

TEST_CASE("a file cut off anywhere is read or refused") {
  const std::string csv = "\"Name\",\"N\",\"D\",\"loss\"\r\n\"a,\"\"b\"\"\",\"1e9\",\"2e10\",\"2.5\"\r\n";
  for (std::size_t i = 0; i <= csv.size(); ++i) reads_or_refuses(csv.substr(0, i));
  const std::string json =
      R"({"hyperparameters": {"params": 1e9, "tokens": 2e10}, "results": [{"loss": 2.5, "x": ["é\n"]}]})";
  for (std::size_t i = 0; i <= json.size(); ++i) reads_or_refuses(json.substr(0, i));
}

TEST_CASE("huge lines, cells, headers and files of nothing cost linear time") {
  constexpr std::size_t size = 10000000;
  for (const char c : {'a', ',', '"', '\n', ';', '\t', '\r', '0', '[', '{', '\0', '\xFF', '`'}) {
    CAPTURE(c);
    CHECK_FALSE(reads_or_refuses(std::string(size, c)));
  }
  CHECK_FALSE(reads_or_refuses("N,D,loss\n" + std::string(size, '9')));
  CHECK(reads_or_refuses("N,D,loss\n1e9,2e10,2.5\n\"" + std::string(size, '9') + "\",1,1\n"));
  CHECK(reads_or_refuses("N,D,loss," + std::string(size, 'x') + "\n1e9,2e10,2.5\n"));
  CHECK_FALSE(reads_or_refuses("N,D,loss\n" + std::string(size / 2, ',') + "\n"));
}

TEST_CASE("a hundred thousand columns are read, and a name among them that is missing is refused") {
  std::string header = "N,D,loss";
  std::string row = "1e9,2e10,2.5";
  for (int i = 0; i < 100000; ++i) {
    header += ",val_loss_" + std::to_string(i);
    row += ",3";
  }
  const std::string text = header + "\n" + row + "\n";
  CHECK(reads_or_refuses(text));
  runs::ReadOptions options;
  options.columns["loss"] = "los";
  CHECK_FALSE(reads_or_refuses(text, options));
  std::string same = "N,D,loss";
  for (int i = 0; i < 100000; ++i) same += ",loss";
  CHECK(reads_or_refuses(same + "\n1e9,2e10,2.5\n"));
}

TEST_CASE("JSON with as many names as values, or a settings object around many results, costs no more than its size") {
  std::string names = "[";
  for (int i = 0; i < 100000; ++i) names += "{\"N\":1e9,\"D\":2e10,\"loss\":2.5,\"k" + std::to_string(i) + "\":1},";
  names.back() = ']';
  CHECK(reads_or_refuses(names));
  std::string wide = "{\"N\":1e9,\"D\":2e10,";
  for (int i = 0; i < 100000; ++i) wide += "\"k" + std::to_string(i) + "\":1,";
  wide += "\"results\":[";
  for (int i = 0; i < 100000; ++i) wide += "{\"loss\":2.5},";
  wide.back() = ']';
  CHECK(reads_or_refuses(wide + "}"));
}
