// SPDX-License-Identifier: BSD-3-Clause
//
// What floplan carries in data/: that every record can be used, says where it comes from, and can be told from the others.
#include "floplan/catalog/records.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "floplan/architecture/parameter_count.hpp"
#include "floplan/catalog/any_law.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/core/names.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"

namespace {

using namespace floplan;
using namespace floplan::catalog;

// Calls use(kind, records) for every catalog whose records have names.
template <class Use>
void for_each_kind(const Use& use) {
  const Catalog catalog;
  use("accelerators", catalog.accelerators());
  use("models", catalog.models());
  use("prices", catalog.prices());
  use("interruption windows", catalog.interruption_windows());
  use("runs", catalog.runs());
  use("laws", any_laws(catalog));
}

bool is_date(const std::string& text) {
  std::string shape = text;
  for (char& c : shape) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) c = '0';
  }
  return shape == "0000" || shape == "0000-00" || shape == "0000-00-00";
}

double quantity(const Accelerator& a, const std::string& name) {
  if (name == "bf16_dense") return a.bf16_dense.value().value;
  if (name == "fp8_dense") return a.fp8_dense.value().value;
  if (name == "fp4_dense") return a.fp4_dense.value().value;
  if (name == "bf16_gemm_measured") return a.bf16_gemm_measured.value().value;
  if (name == "scale_up") return a.scale_up.value().value;
  if (name == "memory") return a.memory.value().value;
  REQUIRE(name == "power");
  return a.power.value().value;
}

double quantity(const Run& r, const std::string& name) {
  if (name == "accelerator_hours") return r.accelerator_hours.value().value;
  if (name == "co2e_tonnes") return r.co2e_tonnes.value();
  if (name == "tokens") return r.tokens.value().value;
  REQUIRE(name == "energy_wh");
  return r.energy.value().value;
}

}  // namespace

TEST_CASE("every catalog reads and holds records") {
  for_each_kind([](const char* kind, const auto& records) {
    CAPTURE(std::string(kind));
    CHECK(records.size() >= 4);
  });
  const Catalog catalog;
  CHECK(catalog.interruption_categories("llama3-2024").size() == 18);
  CHECK(catalog.interruption_categories("kokolis-2024-rsc-1").empty());
}

TEST_CASE("every record has a source and a date") {
  const auto check = [](const std::string& name, const Provenance& provenance) {
    CAPTURE(name);
    CHECK_FALSE(provenance.source.empty());
    CAPTURE(provenance.date);
    CHECK(is_date(provenance.date));
  };
  for_each_kind([&check](const char*, const auto& records) {
    for (const auto& record : records) check(record.name, record.provenance);
  });
  for (const auto& c : Catalog().interruption_categories("llama3-2024")) check(c.component, c.provenance);
}

TEST_CASE("a record whose source is a memory, an estimate or a recollection is not marked as verified") {
  for_each_kind([](const char*, const auto& records) {
    for (const auto& record : records) {
      CAPTURE(record.name);
      const std::string source = lower_case(record.provenance.source);
      const bool own = source.starts_with("our estimate") || source.starts_with("our reading") ||
                       source.find("from memory") != std::string::npos || source.ends_with("as recalled");
      if (own) CHECK_FALSE(record.provenance.verified);
    }
  });
}

TEST_CASE("names are lower case, without blanks, and unique among names and aliases of their kind") {
  for_each_kind([](const char* kind, const auto& records) {
    std::map<std::string, std::string> owner;
    for (const auto& record : records) {
      INFO(std::string(kind) << ": " << record.name);
      std::vector<std::string> names = record.aliases;
      names.push_back(record.name);
      for (const std::string& name : names) {
        CAPTURE(name);
        CHECK_FALSE(name.empty());
        CHECK(name == lower_case(name));
        CHECK(name.find_first_of(" \t;,\"") == std::string::npos);
        CHECK(owner.emplace(name, record.name).second);
      }
    }
  });
}

TEST_CASE("every record is found by its name, by each alias, and in capitals") {
  const Catalog catalog;
  const auto shout = [](std::string text) {
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
  };
  const auto check = [&shout](const auto& records, const auto& find) {
    for (const auto& record : records) {
      CHECK(find(record.name).name == record.name);
      CHECK(find(shout(record.name)).name == record.name);
      for (const std::string& alias : record.aliases) {
        CHECK(find(alias).name == record.name);
        CHECK(find(shout(alias)).name == record.name);
      }
    }
  };
  check(catalog.accelerators(), [&](const std::string& name) { return catalog.accelerator(name); });
  check(catalog.models(), [&](const std::string& name) { return catalog.model(name); });
  check(catalog.prices(), [&](const std::string& name) { return catalog.price(name); });
  check(catalog.interruption_windows(), [&](const std::string& name) { return catalog.interruption_window(name); });
  check(catalog.runs(), [&](const std::string& name) { return catalog.run(name); });
  check(catalog.laws(), [&](const std::string& name) { return catalog.law(name); });
}

TEST_CASE("the names that scripts rely on are there") {
  const Catalog catalog;
  for (const char* name : {"hoffmann-2022", "hoffmann-2022-rounded", "besiroglu-2024", "besiroglu-2024-huber"}) {
    CHECK(catalog.law(name).name == name);
  }
  for (const char* name : {"h100-sxm", "h200-sxm", "a100-sxm-80gb", "b200", "gb200", "mi300x", "tpu-v5p"}) {
    CHECK(catalog.accelerator(name).name == name);
  }
  for (const char* name :
       {"llama-3.1-405b", "llama-2-70b", "mixtral-8x7b", "deepseek-v3", "qwen2.5-72b", "gpt-oss-120b", "olmo-2-32b"}) {
    CHECK(catalog.model(name).name == name);
  }
  CHECK(catalog.interruption_window("llama3-2024").name == "llama3-2024");
}

TEST_CASE("names of accelerators, models and windows in other files exist") {
  const Catalog catalog;
  const auto accelerator_exists = [accelerators = catalog.accelerators()](const std::string& name) {
    return std::any_of(accelerators.begin(), accelerators.end(), [&](const auto& a) { return a.name == name; });
  };
  for (const Price& price : catalog.prices()) {
    CAPTURE(price.name);
    CHECK(accelerator_exists(price.accelerator));
  }
  for (const InterruptionWindow& window : catalog.interruption_windows()) {
    CAPTURE(window.name);
    CHECK(accelerator_exists(window.accelerator));
  }
  for (const Run& run : catalog.runs()) {
    CAPTURE(run.name);
    CHECK(accelerator_exists(run.accelerator));
    if (!run.model.empty()) CHECK(catalog.model(run.model).name == run.model);
  }
}

TEST_CASE("the models of the family are the published checkpoints") {
  const Catalog catalog;
  std::size_t found = 0;
  for (const reference::Row& row : reference::rows("parameter_counts.csv")) {
    std::string name = lower_case(row.name().substr(0, row.name().find(" with tied embeddings")));
    std::replace(name.begin(), name.end(), ' ', '-');
    for (const Model& model : catalog.models()) {
      if (model.name != name) continue;
      ++found;
      reference::check(row, architecture::parameter_count(model.shape).total.value);
    }
  }
  CHECK(found >= 8);
}

TEST_CASE("accelerators carry dense peaks and the measured matrix product beside them") {
  const Catalog catalog;
  for (const reference::Row& row : reference::rows("accelerators.csv")) {
    reference::check(row, quantity(catalog.accelerator(row.text("accelerator")), row.text("quantity")));
  }
  const Accelerator h100 = catalog.accelerator("h100");
  CHECK(h100.dense_peak(Precision::bf16) == h100.bf16_dense);
  CHECK(h100.dense_peak(Precision::fp8) == h100.fp8_dense);
  CHECK(h100.dense_peak(Precision::fp4) == std::nullopt);
}

TEST_CASE("no accelerator is measured above its peak, and less precision is never slower") {
  for (const Accelerator& a : Catalog().accelerators()) {
    CAPTURE(a.name);
    if (a.bf16_gemm_measured && a.bf16_dense) CHECK(*a.bf16_gemm_measured < *a.bf16_dense);
    if (a.fp8_dense && a.bf16_dense) CHECK(*a.fp8_dense >= *a.bf16_dense);
    if (a.fp4_dense && a.fp8_dense) CHECK(*a.fp4_dense >= *a.fp8_dense);
    CHECK((a.bf16_dense || a.fp8_dense || a.fp4_dense));
    CHECK(a.memory.has_value());
  }
}

TEST_CASE("prices rise from low to typical to high") {
  for (const Price& price : Catalog().prices()) {
    CAPTURE(price.name);
    if (price.low && price.typical) CHECK(*price.low <= *price.typical);
    if (price.typical && price.high) CHECK(*price.typical <= *price.high);
    if (price.low && price.high) CHECK(*price.low <= *price.high);
  }
}

TEST_CASE("the latest quotation of an accelerator comes before an estimate, and none is not an error") {
  const Catalog catalog;
  const std::optional<Price> h100 = catalog.latest_price("h100-sxm");
  REQUIRE(h100.has_value());
  CHECK(h100->kind != "estimate");
  CHECK(h100->typical.has_value());
  for (const Price& price : catalog.prices()) {
    if (price.accelerator != "h100-sxm" || price.kind == "estimate" || !price.typical) continue;
    CHECK(price.provenance.date <= h100->provenance.date);
  }
  const std::optional<Price> gh200 = catalog.latest_price("gh200");  // an estimate is all there is
  REQUIRE(gh200.has_value());
  CHECK(gh200->kind == "estimate");
  CHECK(catalog.latest_price("tpu-8t") == std::nullopt);
}

TEST_CASE("Table 5 adds up by count, and its printed shares are kept with their erratum") {
  const Catalog catalog;
  const auto categories = catalog.interruption_categories("llama3-2024");
  double count = 0;
  double gpu = 0;
  double printed = 0;
  double gpu_printed = 0;
  double faulty = 0;
  double not_hardware = 0;
  for (const InterruptionCategory& c : categories) {
    CAPTURE(c.component);
    REQUIRE(c.printed_percent.has_value());
    count += c.count;
    printed += *c.printed_percent;
    if (c.category == "GPU") {
      gpu += c.count;
      gpu_printed += *c.printed_percent;
    }
    if (c.component == "Faulty GPU") faulty = c.count;
    if (c.category == "Dependency" || c.category == "Network") not_hardware += c.count;
  }
  for (const reference::Row& row : reference::rows("table5_shares.csv")) {
    const std::map<std::string, double> found{{"count", count},
                                              {"gpu_count", gpu},
                                              {"printed_percent", printed},
                                              {"gpu_percent", 100 * gpu / count},
                                              {"gpu_printed_percent", gpu_printed},
                                              {"faulty_gpu_percent", 100 * faulty / count},
                                              {"hardware_percent", 100 * (1 - not_hardware / count)}};
    reference::check(row, found.at(row.text("quantity")));
  }
  CHECK(catalog.interruption_window("llama3-2024").unexpected == count);
}

TEST_CASE("published runs have the published hours, tokens, energy and carbon") {
  const Catalog catalog;
  for (const reference::Row& row : reference::rows("published_runs.csv")) {
    reference::check(row, quantity(catalog.run(row.text("run")), row.text("quantity")));
  }
}

TEST_CASE("every run says what kind of figure its hours are, and its FLOP are of its stated convention") {
  const std::set<std::string> kinds{"occupancy", "computed", "more_than_the_run", "unknown"};
  for (const Run& run : Catalog().runs()) {
    CAPTURE(run.name);
    CHECK(kinds.count(run.hours_kind) == 1);
    if (run.flop_convention != "6N" || !run.training_flop || !run.active_parameters || !run.tokens) continue;
    // Four printed digits.
    CHECK(run.training_flop->value == near(training_flop(*run.active_parameters, *run.tokens).value, 1e-3));
  }
}

TEST_CASE("every law names its unit, and the range that it was fitted over is one") {
  const std::set<std::string> units{"nats/token", "nats/word", "bits/byte", "nats/token above unigram"};
  const auto in_order = [](std::optional<double> low, std::optional<double> high) {
    return !low || !high || *low < *high;
  };
  for (const law::AnyLaw& law : any_laws(Catalog())) {
    CAPTURE(law.name);
    CHECK(units.count(law.loss_unit) == 1);
    const law::FitRange& r = law.range;
    CHECK(in_order(r.parameters_low, r.parameters_high));
    CHECK(in_order(r.tokens_low, r.tokens_high));
    CHECK(in_order(r.flop_low, r.flop_high));
    for (const law::InputRange& other : r.others) CHECK(in_order(other.low, other.high));
  }
}

TEST_CASE("every law of the Chinchilla form whose coefficients were rounded says what that moves") {
  for (const Law& law : Catalog().laws()) {
    CAPTURE(law.name);
    if (law.rounded) CHECK(lower_case(law.provenance.note).find("round") != std::string::npos);
  }
}
