// SPDX-License-Identifier: BSD-3-Clause
//
// Models' files of any bytes: a possible shape with a count, or an Error of data. tests/fuzz/sound.hpp has the commands.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "floplan/architecture/kv_cache.hpp"
#include "floplan/architecture/model_file.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "floplan/core/error.hpp"
#include "fuzz/sound.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace floplan;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const architecture::ModelFile file = architecture::read_model_file(text, "fuzz");
    const architecture::ParameterCount count = architecture::parameter_count(file.shape);
    fuzz::require(std::isfinite(count.total.value) && count.total.value > 0, "a count is positive and finite");
    fuzz::require(count.active.value <= count.total.value, "no more is active than there is");
    fuzz::require(architecture::kv_bytes(file.shape, Tokens(4096)).value > 0, "a cache is positive");
    fuzz::require(!file.format.empty(), "a format has a name");
  } catch (const Error& error) {
    fuzz::require(error.failure() == Failure::data, "errors are of data");
    fuzz::require(error.where().find("fuzz:") == 0, "errors say where in the file");
  }
  return 0;
}
