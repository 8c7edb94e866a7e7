// SPDX-License-Identifier: BSD-3-Clause
//
// The shared table of measured inference as the library reads it, or nothing where it is absent.
#pragma once

#include <optional>

#include "floplan/catalog/catalog.hpp"
#include "floplan/serving/measured_serving.hpp"
#include "support/shared_data.hpp"

namespace shared_rows {

inline std::optional<floplan::serving::MeasuredServing> measured() {
  const auto table = shared_data::table("measured_inference.csv");
  if (!table) return std::nullopt;
  return floplan::serving::read_measured_serving(*table, floplan::catalog::Catalog());
}

}  // namespace shared_rows
