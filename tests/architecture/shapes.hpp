// SPDX-License-Identifier: BSD-3-Clause
//
// Shapes for the architecture tests: from a reference row, and Llama 3 8B to start variations from.
#pragma once

#include <cstdint>
#include <string>

#include "floplan/architecture/transformer.hpp"
#include "support/reference.hpp"

namespace shapes {

inline floplan::architecture::Transformer of(const reference::Row& row) {
  const auto whole = [&row](const char* column) { return static_cast<std::int64_t>(row.number(column)); };
  return {whole("layers"),     whole("width"),     whole("heads"),      whole("kv_heads"),
          whole("head_width"), whole("ffn_width"), whole("vocabulary"), row.number("tied") == 1};
}

inline floplan::architecture::Transformer named(const std::string& name) {
  return of(reference::row("parameter_counts.csv", name));
}

}  // namespace shapes
