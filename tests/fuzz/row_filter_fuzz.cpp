// SPDX-License-Identifier: BSD-3-Clause
//
// Filters and column lists of any bytes on a small table: the first line is the list of columns, the rest the filter.
// tests/fuzz/sound.hpp has the commands.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "floplan/runs/read_runs.hpp"
#include "fuzz/sound.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const floplan::runs::Sheet sheet = floplan::runs::read_sheet(
      "a,b b,N,D,loss,State\n1,x,1e9,2e10,2.5,finished\n,True,2e9,NaN,2.4,\n-3,\"y,z\",12M,1B,2.3,failed\n",
      "fuzz.csv");
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = std::min(text.find('\n'), text.size());
  fuzz::read_or_refuse([&] {
    floplan::runs::ReadOptions options;
    if (line > 0) options.columns = floplan::runs::parse_column_names(text.substr(0, line));
    options.where = std::string(text.substr(std::min(line + 1, text.size())));
    return floplan::runs::read(sheet, options);
  });
  return 0;
}
