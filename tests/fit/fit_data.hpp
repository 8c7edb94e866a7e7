// SPDX-License-Identifier: BSD-3-Clause
//
// Data sets and reference numbers as the fit tests read them.
//
// The public data sets are not in the repository: they are read from the folder that FLOPLAN_DATA names (../shared/data
// beside the checkout by default), and a test without them says so and passes.
#pragma once

#include <doctest/doctest.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/core/csv.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/random.hpp"
#include "floplan/fit/chinchilla.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/runs/observation.hpp"

namespace fit_data {

inline double number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  REQUIRE(error == std::errc());
  REQUIRE(end == text.data() + text.size());
  return value;
}

inline std::filesystem::path folder() {
  const char* named = std::getenv("FLOPLAN_DATA");
  return named != nullptr ? std::filesystem::path(named)
                          : std::filesystem::path(FLOPLAN_SOURCE_DIR) / ".." / "shared" / "data";
}

inline std::optional<floplan::CsvTable> table(const std::string& file) {
  if (!std::filesystem::exists(folder() / file)) {
    MESSAGE("skipped: no " << file << " in " << folder().string() << " (see FLOPLAN_DATA in data/README.md)");
    return std::nullopt;
  }
  return floplan::parse_csv(floplan::read_text_file(folder() / file), file);
}

inline floplan::CsvTable reference(const std::string& file) {
  return floplan::parse_csv(
      floplan::read_text_file(std::filesystem::path(FLOPLAN_SOURCE_DIR) / "tests" / "reference" / file), file);
}

// where: "" or "column=text".
inline std::vector<floplan::runs::Observation> rows(const floplan::CsvTable& table, std::string_view where = "",
                                                    std::string_view parameters = "N", std::string_view tokens = "D",
                                                    std::string_view loss = "loss") {
  const std::size_t n = table.column(parameters);
  const std::size_t d = table.column(tokens);
  const std::size_t l = table.column(loss);
  const std::size_t equals = where.find('=');
  std::vector<floplan::runs::Observation> out;
  for (const floplan::CsvRow row : table.rows()) {
    if (!where.empty() && row[table.column(where.substr(0, equals))] != where.substr(equals + 1)) continue;
    out.push_back({number(row[n]), number(row[d]), number(row[l]), 1.0, 0});
  }
  return out;
}

// The 240 rows of the replication.
inline std::optional<std::vector<floplan::runs::Observation>> epoch() {
  const auto data = table("epoch_chinchilla.csv");
  if (!data) return std::nullopt;
  return rows(*data, "keep=1");
}

// Runs on a grid of budgets and sizes around 20 tokens a parameter, as a sweep
// would plan them.
inline std::vector<floplan::runs::Observation> planned(const floplan::law::Chinchilla<double>& law, int budgets = 8,
                                                       int sizes = 9) {
  std::vector<floplan::runs::Observation> out;
  for (int i = 0; i < budgets; ++i) {
    const double flop = 1e18 * std::pow(1600.0, static_cast<double>(i) / std::max(1, budgets - 1));
    for (int j = 0; j < sizes; ++j) {
      const double n = std::sqrt(flop / 120) * std::pow(6.0, -1 + 2.0 * j / std::max(1, sizes - 1));
      const double d = flop / (6 * n);
      out.push_back({n, d, law.loss(n, d), 1.0, i});
    }
  }
  return out;
}

// Multiplies every loss by exp(sd z), z standard normal (Box-Muller).
inline void add_noise(std::vector<floplan::runs::Observation>& rows, double sd, floplan::RandomStream& random) {
  for (floplan::runs::Observation& row : rows) {
    const double z = std::sqrt(-2 * std::log(random.uniform())) * std::cos(6.283185307179586 * random.uniform());
    row.loss *= std::exp(sd * z);
  }
}

// The law that tests plant, and a planned sweep of it with noise.
inline const floplan::law::Chinchilla<double> truth{1.72, 480, 2100, 0.35, 0.37};

inline std::vector<floplan::runs::Observation> noisy(double sd, std::uint64_t seed, int budgets = 8, int sizes = 9) {
  std::vector<floplan::runs::Observation> out = planned(truth, budgets, sizes);
  floplan::RandomStream random(seed);
  add_noise(out, sd, random);
  return out;
}

}  // namespace fit_data
