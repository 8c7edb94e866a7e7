// SPDX-License-Identifier: BSD-3-Clause
//
// Tables of any bytes under any options: the first byte chooses them, the rest is the file. tests/fuzz/sound.hpp has
// the commands.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "floplan/runs/read_runs.hpp"
#include "fuzz/sound.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned choice = data[0];
  floplan::runs::ReadOptions options;
  options.derive_tokens = (choice & 1) != 0;
  options.derive_flop = (choice & 2) != 0;
  options.drop_duplicates = (choice & 4) != 0;
  options.minimum_per_cell = (choice & 8) != 0;
  options.keep_failed = (choice & 16) != 0;
  if ((choice & 32) != 0) options.group_by = floplan::runs::GroupBy::budget;
  if ((choice & 64) != 0)
    options.columns = {{"parameters", "a"}, {"tokens", "b*c*2"}, {"loss", "loss"}, {"weight", "w"}};
  if ((choice & 128) != 0) options.keep = {"w"};
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  fuzz::read_or_refuse([&] { return floplan::runs::read(text, "fuzz.csv", options); });
  return 0;
}
