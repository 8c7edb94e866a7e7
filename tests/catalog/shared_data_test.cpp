// SPDX-License-Identifier: BSD-3-Clause
//
// The embedded records against the collections that they were taken from, where those are at hand.
#include <doctest/doctest.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "catalog/printed.hpp"
#include "floplan/architecture/kv_cache.hpp"
#include "floplan/architecture/parameter_count.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/core/names.hpp"
#include "support/near.hpp"
#include "support/shared_data.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;
using namespace floplan::catalog;

std::optional<double> number(std::string_view cell) {
  if (cell.empty()) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  REQUIRE(error == std::errc());
  REQUIRE(end == cell.data() + cell.size());
  return value;
}

// "GB200 (per GPU)" and "Rubin-SXM (per GPU, VR NVL72)" are gb200 and rubin-sxm.
std::string plain_name(std::string_view name) {
  std::string out = lower_case(name.substr(0, name.find(" (")));
  std::replace(out.begin(), out.end(), ' ', '-');
  return out;
}

// "DeepSeek-V3/R1 (main)" is deepseek-v3.
std::string model_name(std::string_view name) { return plain_name(name.substr(0, name.find('/'))); }

// Shapes that a Transformer does not describe, or that are not known; data/README.md has the reasons.
const std::set<std::string> left_out{"deepseek-v4-pro", "deepseek-v4-flash", "kimi-k3",         "glm-5",
                                     "minimax-m3",      "nemotron-3-ultra",  "nemotron-3-super"};

// By the collection's name, or by that without the memory at its end.
Accelerator find(const Catalog& catalog, const std::string& name) {
  try {
    return catalog.accelerator(name);
  } catch (const Error&) {
    return catalog.accelerator(name.substr(0, name.rfind('-')));
  }
}

template <class Q>
void check_same(const std::optional<Q>& ours, std::optional<double> theirs, double unit) {
  CHECK(ours.has_value() == theirs.has_value());
  if (ours && theirs) CHECK(ours->value == near(*theirs * unit, 1e-12));
}

}  // namespace

TEST_CASE("every accelerator of the shared collection is in the catalog with the same dense figures") {
  const auto table = shared_data::table("accelerators.csv");
  if (!table) return;
  const Catalog catalog;
  for (const CsvRow row : table->rows()) {
    const std::string name(row[table->column("name")]);
    CAPTURE(name);
    const auto cell = [&](const char* column) { return number(row[table->column(column)]); };
    const Accelerator a = find(catalog, plain_name(name));
    check_same(a.bf16_dense, cell("bf16_dense_tflops"), 1e12);
    check_same(a.fp8_dense, cell("fp8_dense_tflops"), 1e12);
    check_same(a.fp4_dense, cell("fp4_dense_tflops"), 1e12);
    check_same(a.bf16_gemm_measured, cell("mamf_bf16_tflops_measured"), 1e12);
    check_same(a.memory, cell("hbm_gb"), 1e9);
    check_same(a.memory_bandwidth, cell("hbm_tbps"), 1e12);
    check_same(a.scale_up, cell("scaleup_link_GBps_unidir_per_accel"), 1e9);
    check_same(a.network, cell("typical_nic_GBps_unidir_per_accel"), 1e9);
    check_same(a.power, cell("tdp_w"), 1);
  }
}

TEST_CASE("every model of the shared collection has the same counts, tokens and bytes of cache, or is left out") {
  const auto table = shared_data::table("models.csv");
  if (!table) return;
  const Catalog catalog;
  for (const CsvRow row : table->rows()) {
    const std::string name = model_name(row[table->column("model")]);
    CAPTURE(name);
    if (left_out.contains(name)) {
      CHECK(thrown::by([&] { (void)catalog.model(name); }).failure() == Failure::usage);
      continue;
    }
    const auto cell = [&](const char* column) { return number(row[table->column(column)]); };
    const Model model = catalog.model(name);
    const architecture::ParameterCount count = architecture::parameter_count(model.shape);
    const auto same = [&](Parameters ours, double theirs) {
      // A rounded figure of theirs is the published one, which a row that differs from it explains.
      return printed::agrees(ours.value, theirs) || (printed::unit(theirs) > 1 && !model.difference.empty());
    };
    CHECK(same(count.total, cell("n_total").value()));
    const double active = cell("n_active").value();
    CHECK((same(count.active, active) || same(count.active_without_input_embedding(), active)));
    if (const auto bytes = cell("kv_bytes_per_token_bf16"))
      CHECK(architecture::kv_bytes_per_token(model.shape).value == bytes);
    // Theirs of OPT are the corpus; it went through about 300 billion.
    const auto tokens = cell("tokens_trained");
    if (tokens && model.training_tokens && model.name != "opt-175b")
      CHECK(printed::agrees(model.training_tokens->value, *tokens));
  }
}

TEST_CASE("Table 5 is the shared transcription row by row") {
  const auto table = shared_data::table("llama3_interruptions.csv");
  if (!table) return;
  const auto ours = Catalog().interruption_categories("llama3-2024");
  REQUIRE(ours.size() == table->size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const CsvRow row = table->row(i);
    CAPTURE(ours[i].component);
    CHECK(ours[i].component == row[table->column("component")]);
    CHECK(ours[i].category == row[table->column("category")]);
    CHECK(ours[i].count == number(row[table->column("count")]));
    CHECK(ours[i].printed_percent == number(row[table->column("printed_pct")]));
  }
}
