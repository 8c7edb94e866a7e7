// SPDX-License-Identifier: BSD-3-Clause
//
// JSON and JSONL of any bytes: the first byte chooses the options and the file's name, the rest is the file.
// tests/fuzz/sound.hpp has the commands.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "floplan/runs/json_runs.hpp"
#include "fuzz/sound.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned choice = data[0];
  floplan::runs::ReadOptions options;
  options.derive_tokens = (choice & 1) != 0;
  options.minimum_per_cell = (choice & 2) != 0;
  if ((choice & 4) != 0) options.columns = {{"loss", "a.b"}};
  if ((choice & 8) != 0) options.where = "loss < 3 || N > 1";
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  fuzz::read_or_refuse(
      [&] { return floplan::runs::read_json(text, (choice & 16) != 0 ? "fuzz.jsonl" : "fuzz.json", options); });
  return 0;
}
