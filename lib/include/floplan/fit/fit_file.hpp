// SPDX-License-Identifier: BSD-3-Clause
//
// A fit as a law: the file that `floplan fit --out FIT.json` wrote, wherever a law is asked for by name.
//
//   const catalog::Law law = fit::find_law("my_fit.json", "--law", catalog);    or a name of the catalog
//   fit::predict(fit::replicates_of(law), fit::noise_of(law), law.range, Parameters(70e9), Tokens(1.4e12))
//
// Read from the file's "result" (report/fit_json.hpp writes it): parameters.{E, A, B, alpha, beta}.value, fit_range,
// parameter_convention, loss_unit, and, where the fit had them, "replicates" {"columns", "rows"} and "log_residuals".
// Without those two the law is good for values and says nothing of its uncertainty.
//
// Errors: no_answer for a fit that its runs do not identify; data, with the file and the key or the line, for a file that
// is no fit, holds an error, or whose numbers are not finite and in range. A name that ends in .json is a file; anything
// else is looked up in the catalog.
// Pitfall: the file knows which count of parameters its runs had; a law of non-embedding counts asked with a total count
// answers about a smaller model (Pearce and Song 2024, arXiv 2406.12907).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/prediction.hpp"
#include "floplan/law/chinchilla.hpp"

namespace floplan::fit {

[[nodiscard]] inline BootstrapReport replicates_of(const catalog::Law& law) {
  BootstrapReport out;
  out.estimate = law.form;
  out.laws = law.replicates;
  out.resamples = law.replicates.size();
  out.available = law.replicates.size() >= fewest_replicates;
  return out;
}

[[nodiscard]] inline RunNoise noise_of(const catalog::Law& law) {
  RunNoise out;
  out.available = !law.residuals.empty();
  if (!out.available) out.reason = law.name + " comes without the residuals of its runs";
  out.log_residuals = law.residuals;
  return out;
}

// Whether a law's name means the file of a fit.
[[nodiscard]] inline bool names_fit_file(std::string_view name) { return name.ends_with(".json"); }

namespace detail {

class FitFileReader {
 public:
  using Json = nlohmann::ordered_json;

  FitFileReader(const Json& result, const std::string& place) : result_(result), place_(place) {}

  [[nodiscard]] catalog::Law read() const {
    catalog::Law out;
    out.name = place_;
    const std::string form = text(at(result_, "law"), "law");
    if (form != "chinchilla") throw fail("law", "must be the form chinchilla, got \"" + form + "\"");
    out.title = "Fit in " + place_;
    if (const auto found = result_.find("identifiable"); found != result_.end() && *found == false) {
      throw Error(Failure::no_answer, "not_identified", place_,
                  "the runs of this fit do not identify the law, so that it predicts nothing");
    }
    const Json& parameters = at(result_, "parameters");
    for (const law::NamedCoefficient& c : law::chinchilla_coefficients) {
      const std::string key = "parameters." + std::string(c.name);
      out.form.*c.field = coefficient(at(at(parameters, c.name, "parameters."), "value", key + "."), c, key + ".value");
    }
    if (result_.contains("parameter_convention")) {
      const std::string count = text(result_["parameter_convention"], "parameter_convention");
      using law::ParameterConvention;
      bool known = false;
      for (const ParameterConvention convention : law::parameter_conventions) {
        if (law::to_text(convention) != count) continue;
        out.parameter_convention = convention;
        known = true;
      }
      if (!known)
        throw fail("parameter_convention", "must be a count that floplan knows, as total, got \"" + count + "\"");
    }
    if (result_.contains("loss_unit")) out.loss_unit = text(result_["loss_unit"], "loss_unit");
    read_range(out.range);
    read_replicates(out);
    if (const auto found = result_.find("log_residuals"); found != result_.end() && !found->is_null()) {
      if (!found->is_array()) throw fail("log_residuals", "must be an array of numbers");
      for (const Json& r : *found) out.residuals.push_back(number(r, "log_residuals"));
      std::sort(out.residuals.begin(), out.residuals.end());
    }
    out.provenance.source = "fit in " + place_;
    out.provenance.verified = true;  // the reader's own numbers
    out.own_fit = true;
    return out;
  }

 private:
  [[nodiscard]] Error fail(const std::string& key, const std::string& rule) const {
    return Error(Failure::data, "bad_fit", place_ + ": result." + key, rule);
  }
  [[nodiscard]] const Json& at(const Json& object, const char* key, const std::string& before = "") const {
    if (!object.is_object() || !object.contains(key)) throw fail(before + key, "must be there, and is not");
    return object[key];
  }
  [[nodiscard]] std::string text(const Json& value, const std::string& key) const {
    if (!value.is_string()) throw fail(key, "must be a text, got " + value.dump());
    return value.get<std::string>();
  }
  [[nodiscard]] double number(const Json& value, const std::string& key) const {
    if (!value.is_number()) throw fail(key, "must be a number, got " + value.dump());
    const double x = value.get<double>();
    if (!std::isfinite(x)) throw fail(key, "must be finite, got " + print_number(x, 6));
    return x;
  }
  [[nodiscard]] double coefficient(const Json& value, const law::NamedCoefficient& c, const std::string& key) const {
    const double x = number(value, key);
    const bool exponent = std::string_view(c.name).size() > 1;
    if (exponent && x > 20) throw fail(key, "must be at most 20, got " + print_number(x, 6));
    if (exponent ? !(x > 0) : !(x >= 0))
      throw fail(key,
                 std::string(exponent ? "must be positive" : "must not be negative") + ", got " + print_number(x, 6));
    return x;
  }

  void read_range(law::FitRange& range) const {
    const auto found = result_.find("fit_range");
    if (found == result_.end() || found->is_null()) return;
    const auto ends = [&](const char* what, std::optional<double>& low, std::optional<double>& high) {
      const auto pair = found->find(what);
      if (pair == found->end() || pair->is_null()) return;
      for (const auto& [key, end] : {std::pair("low", &low), std::pair("high", &high)}) {
        const auto value = pair->find(key);
        if (value == pair->end() || value->is_null()) continue;
        const std::string name = std::string("fit_range.") + what + "." + key;
        *end = number(*value, name);
        if (!(**end > 0)) throw fail(name, "must be positive, got " + print_number(**end, 6));
      }
    };
    ends("parameters", range.parameters_low, range.parameters_high);
    ends("tokens", range.tokens_low, range.tokens_high);
    ends("flop", range.flop_low, range.flop_high);
  }

  void read_replicates(catalog::Law& out) const {
    const auto found = result_.find("replicates");
    if (found == result_.end() || found->is_null()) return;
    std::vector<const law::NamedCoefficient*> columns;
    const Json& names = at(*found, "columns", "replicates.");
    if (!names.is_array()) throw fail("replicates.columns", "must be an array, got " + names.dump());
    for (const Json& name : names) {
      const auto same = std::find_if(law::chinchilla_coefficients.begin(), law::chinchilla_coefficients.end(),
                                     [&](const law::NamedCoefficient& c) { return name == c.name; });
      if (same == law::chinchilla_coefficients.end())
        throw fail("replicates.columns", "must be E, A, B, alpha and beta, got " + name.dump());
      columns.push_back(&*same);
    }
    if (columns.size() != law::chinchilla_coefficients.size())
      throw fail("replicates.columns", "must be E, A, B, alpha and beta, got " + names.dump());
    const Json& rows = at(*found, "rows", "replicates.");
    if (!rows.is_array()) throw fail("replicates.rows", "must be an array of arrays, got " + rows.dump());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string key = "replicates.rows[" + std::to_string(i) + "]";
      if (!rows[i].is_array() || rows[i].size() != columns.size())
        throw fail(key, "must be an array of five numbers, got " + rows[i].dump());
      law::Chinchilla<double> law;
      for (std::size_t k = 0; k < columns.size(); ++k)
        law.*columns[k]->field = coefficient(rows[i][k], *columns[k], key);
      out.replicates.push_back(law);
    }
  }

  const Json& result_;
  const std::string& place_;
};

}  // namespace detail

// text: of a file that `floplan fit --json` wrote, or its "result" alone; place: its name, for errors.
[[nodiscard]] inline catalog::Law read_fit(std::string_view text, const std::string& place) {
  using Json = nlohmann::ordered_json;
  Json document;
  try {
    document = Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t end = std::min(text.size(), error.byte > 0 ? error.byte - 1 : 0);
    const std::string_view before = text.substr(0, end);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t start = before.rfind('\n');
    const std::size_t column = end - (start == std::string_view::npos ? 0 : start + 1) + 1;
    throw Error(Failure::data, "bad_json", place + ":" + std::to_string(line) + ":" + std::to_string(column),
                "must be JSON, as floplan fit --json writes it");
  }
  if (!document.is_object())
    throw Error(Failure::data, "bad_fit", place, "must be a fit, as floplan fit --json writes it");
  if (document.contains("error"))
    throw Error(Failure::data, "bad_fit", place, "must hold a fit, and holds the error that the fit ended with");
  if (!document.contains("result")) return detail::FitFileReader(document, place).read();
  const auto command = document.find("command");
  if (command != document.end() && *command != "fit")
    throw Error(Failure::data, "bad_fit", place, "must be the answer of fit, got that of " + command->dump());
  return detail::FitFileReader(document["result"], place).read();
}

// name: an entry of the catalog, or a file of a fit (*.json), relative to `folder`. where: what asked for it, for errors.
[[nodiscard]] inline catalog::Law find_law(std::string_view name, std::string_view where,
                                           const catalog::Catalog& catalog, const std::filesystem::path& folder = {}) {
  if (!names_fit_file(name)) return catalog.law(name, where);
  const std::filesystem::path path = folder / std::filesystem::path(name);
  return read_fit(read_text_file(path), path.string());
}

// The same among laws of every form.
[[nodiscard]] inline law::AnyLaw find_any_law(std::string_view name, std::string_view where,
                                              const catalog::Catalog& catalog,
                                              const std::filesystem::path& folder = {}) {
  if (!names_fit_file(name)) return catalog::any_law(catalog, name, where);
  return catalog::widened(find_law(name, where, catalog, folder));
}

}  // namespace floplan::fit
