// SPDX-License-Identifier: BSD-3-Clause
//
// Every law of data/laws, whatever its form: each has a published number to answer for, and each form keeps the rules.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/core/file.hpp"
#include "floplan/law/any_form.hpp"
#include "law/derivatives.hpp"
#include "support/near.hpp"
#include "support/reference.hpp"
#include "support/thrown.hpp"

namespace {

using namespace floplan;

std::vector<std::string> reference_files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(reference::folder())) {
    if (entry.path().extension() == ".csv") out.push_back(entry.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool has_columns(const std::string& file, std::initializer_list<const char*> columns) {
  const CsvTable table = parse_csv(read_text_file(reference::folder() / file), file);
  return std::all_of(columns.begin(), columns.end(),
                     [&table](const char* column) { return table.find_column(column).has_value(); });
}

// The two ends of where an input usually is.
std::array<double, 2> usual(law::Input input) {
  using law::Input;
  switch (input) {
    case Input::parameters: return {2e8, 4e11};
    case Input::active_parameters: return {1e8, 4e10};
    case Input::tokens: return {1e10, 2e13};
    case Input::unique_tokens: return {5e9, 1e12};
    case Input::flop: return {1e19, 4e25};
    case Input::steps: return {1e4, 1e6};
    case Input::batch: return {2e5, 1.6e7};
    case Input::loss: return {1.5, 4};
    case Input::experts: return {2, 32};
    case Input::granularity: return {2, 16};
    case Input::sparsity: return {0.25, 0.9};
    case Input::activation_ratio: return {0.02, 0.5};
    case Input::shared_share: return {0.1, 0.5};
    case Input::weight_bits:
    case Input::activation_bits:
    case Input::kv_bits: return {6, 12};
    case Input::exponent_bits: return {2, 5};
    case Input::mantissa_bits: return {1, 7};
    case Input::block_size: return {32, 512};
    case Input::group_size: return {32, 256};
    case Input::vocabulary_parameters: return {2e7, 1e9};
    case Input::characters: return {4e9, 8e13};
    case Input::weight_sparsity: return {0.25, 0.75};
  }
  return {1, 2};
}

// Two rows of inputs for a form: all at their low end, all at their high end.
std::array<std::vector<double>, 2> usual(const law::AnyForm& form) {
  std::array<std::vector<double>, 2> out;
  for (const law::Input input : law::inputs(form)) {
    for (std::size_t end = 0; end < 2; ++end) out[end].push_back(usual(input)[end]);
  }
  return out;
}

}  // namespace

TEST_CASE("every law gives the published numbers") {
  const std::vector<law::AnyLaw> laws = catalog::any_laws(catalog::Catalog());
  for (const std::string& file : reference_files()) {
    if (file.rfind("law_values", 0) != 0) continue;
    for (const reference::Row& row : reference::rows(file)) {
      const law::AnyLaw law = catalog::Catalog::find(laws, row.text("law"), file, "a law", "laws");
      std::vector<double> values;
      for (const law::Input input : law::inputs(law.form)) values.push_back(row.number(law::info(input).key));
      law::check(law.form, values, file);
      reference::check(row, law::evaluate(law.form, values));
    }
  }
}

TEST_CASE("every law of the catalog has a reference number") {
  std::set<std::string> checked;
  for (const std::string& file : reference_files()) {
    if (!has_columns(file, {"law", "value", "tolerance"})) continue;
    for (const reference::Row& row : reference::rows(file)) checked.insert(row.text("law"));
  }
  for (const law::AnyLaw& law : catalog::any_laws(catalog::Catalog())) {
    INFO("no row of tests/reference names the law " << law.name);
    CHECK(checked.count(law.name) == 1);
  }
}

TEST_CASE("every law says when to believe it, where it comes from, and is found by each of its names") {
  const std::vector<law::AnyLaw> laws = catalog::any_laws(catalog::Catalog());
  std::set<std::string> names;
  for (const law::AnyLaw& law : laws) {
    CAPTURE(law.name);
    CHECK(law.trust.size() > 20);
    CHECK((!law.trust.empty() && law.trust.back() == '.'));
    CHECK_FALSE(law.title.empty());
    CHECK_FALSE(law.provenance.source.empty());
    CHECK_FALSE(law.provenance.date.empty());
    CHECK(names.insert(law.name).second);
    for (const std::string& alias : law.aliases) {
      CAPTURE(alias);
      CHECK(names.insert(alias).second);
      CHECK(catalog::Catalog::find(laws, alias, "law", "a law", "laws").name == law.name);
    }
  }
}

TEST_CASE("every law answers a finite number over the usual range of its inputs, or says why not") {
  for (const law::AnyLaw& law : catalog::any_laws(catalog::Catalog())) {
    CAPTURE(law.name);
    for (const std::vector<double>& values : usual(law.form)) {
      if (law::refusal(law.form, values).empty()) CHECK(std::isfinite(law::evaluate(law.form, values)));
    }
  }
}

TEST_CASE("a form with a section in N and D is that section") {
  for (const law::AnyLaw& law : catalog::any_laws(catalog::Catalog())) {
    CAPTURE(law.name);
    for (const std::vector<double>& values : usual(law.form)) {
      const auto section = law::section(law.form, values);
      if (!section) continue;
      const std::span<const law::Input> inputs = law::inputs(law.form);
      double n = 0, d = 0;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] == law::Input::parameters || inputs[i] == law::Input::active_parameters) n = values[i];
        if (inputs[i] == law::Input::tokens) d = values[i];
      }
      REQUIRE((n > 0 && d > 0));
      CHECK(law::evaluate(law.form, values) == near(section->loss(n, d), 1e-13));
    }
  }
}

#if FLOPLAN_TEST_HAS_JET
TEST_CASE("every law differentiates by Jets, in its coefficients and in its inputs") {
  for (const law::AnyLaw& law : catalog::any_laws(catalog::Catalog())) {
    CAPTURE(law.name);
    for (const std::vector<double>& values : usual(law.form)) {
      if (!law::refusal(law.form, values).empty()) continue;
      std::visit([&values](const auto& form) { derivatives::check(form, values); }, law.form);
    }
  }
  derivatives::check(law::CriticalBatch<>{1e4, 2e6}, std::array{4e6});
}
#else
TEST_CASE("every law differentiates by Jets only where ceres/jet.h is installed") {
  MESSAGE("skipped: no ceres/jet.h");
}
#endif
