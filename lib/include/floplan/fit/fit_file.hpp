// SPDX-License-Identifier: BSD-3-Clause
//
// A fit as a law: the file that `floplan fit --out FIT.json` wrote, wherever a law is asked for by name.
//
//   const catalog::Law law = fit::find_law("my_fit.json", "--law", catalog);    or a name of the catalog
//   fit::predict(fit::replicates_of(law), fit::noise_of(law), law.range, Parameters(70e9), Tokens(1.4e12))
//
// Read from the file's "result" (report/fit_json.hpp and form_json.hpp write it): "law", the form, parameters.{E, A, ...}.value,
// fit_range, parameter_convention, loss_unit, and, where the fit had them, "replicates" {"columns", "rows"} and
// "log_residuals"; of a power also "inputs" and "output". find_law takes the Chinchilla form, find_any_law every form.
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
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/catalog/catalog.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/file.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/fit/prediction.hpp"
#include "floplan/law/any_form.hpp"
#include "floplan/law/chinchilla.hpp"
#include "floplan/law/form.hpp"
#include "floplan/law/input.hpp"
#include "floplan/law/power.hpp"
#include "floplan/law/scaling_law.hpp"

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

  [[nodiscard]] std::string form() const { return text(at(result_, "law"), "law"); }

  [[nodiscard]] catalog::Law read() const {
    if (form() != "chinchilla") throw fail("law", "must be the form chinchilla, got \"" + form() + "\"");
    return read_as(law::Chinchilla<>());
  }

  // A law of the form named in the file.
  [[nodiscard]] law::AnyLaw read_any() const {
    const std::string name = form();
    if (name == law::Power<>::name) return read_as<law::AnyForm>(read_power());
    std::optional<law::AnyForm> shape;
    const auto attempt = [&]<class F>(std::type_identity<F>) {
      if constexpr (law::Form<F>) {
        if (F::name == name) shape = F();
      }
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (attempt(std::type_identity<std::variant_alternative_t<I, law::AnyForm>>()), ...);
    }
    (std::make_index_sequence<std::variant_size_v<law::AnyForm>>());
    if (!shape) throw fail("law", "must be a form that floplan knows, got \"" + name + "\"");
    return read_as(*std::move(shape));
  }

 private:
  // A name and where its value goes, of any form.
  struct Slot {
    std::string name;
    double* value;
    double low, high;  // where it is believed
  };

  template <class F>
  [[nodiscard]] static std::vector<Slot> slots(F& form) {
    std::vector<Slot> out;
    if constexpr (std::is_same_v<F, law::Power<>>) {
      constexpr double all = std::numeric_limits<double>::max();
      out = {{"offset", &form.offset, -all, all}, {"coefficient", &form.coefficient, 0, all}};
      for (std::size_t i = 0; i < form.arguments.size(); ++i) {
        out.push_back({std::string(law::info(form.arguments[i]).key) + "_exponent", &form.exponents[i], -20, 20});
      }
    } else {
      for (const auto& c : F::coefficients()) {
        // A term of the Chinchilla form may have vanished, and its fit searches exponents from zero.
        const bool own = std::is_same_v<F, law::Chinchilla<>>;
        const double all = 1e30;  // far above any fit's, and no overflow in a loss
        const bool exponent = std::string_view(c.name).size() > 1;
        out.push_back({c.name, &(form.*c.field), own ? (exponent ? std::numeric_limits<double>::min() : 0) : c.low,
                       own ? (exponent ? 20 : all) : c.high});
      }
    }
    return out;
  }
  [[nodiscard]] static std::vector<Slot> slots(law::AnyForm& form) {
    return std::visit([](auto& f) { return slots(f); }, form);
  }

  [[nodiscard]] law::Power<> read_power() const {
    law::Power<> out;
    const auto known = law::find_output(text(at(result_, "output"), "output"));
    if (!known) throw fail("output", "must be a quantity that laws answer, got " + result_["output"].dump());
    out.output = *known;
    const Json& names = at(result_, "inputs");
    if (!names.is_array() || names.empty()) throw fail("inputs", "must be an array of quantities, got " + names.dump());
    for (const Json& name : names) {
      const auto input = law::find_input(text(name, "inputs"));
      if (!input) throw fail("inputs", "must be quantities that laws ask for, got " + name.dump());
      out.arguments.push_back(*input);
    }
    out.exponents.resize(out.arguments.size());
    out.scales.assign(out.arguments.size(), 1.0);
    return out;
  }

  // shape: a form whose coefficients are to be read, or any form.
  template <class F>
  [[nodiscard]] law::LawRecord<F> read_as(F shape) const {
    law::LawRecord<F> out;
    out.form = std::move(shape);
    out.name = place_;
    out.title = "Fit in " + place_;
    if (const auto found = result_.find("identifiable"); found != result_.end() && *found == false) {
      throw Error(Failure::no_answer, "not_identified", place_,
                  "the runs of this fit do not identify the law, so that it predicts nothing");
    }
    const Json& parameters = at(result_, "parameters");
    for (const Slot& slot : slots(out.form)) {
      const std::string key = "parameters." + slot.name;
      *slot.value =
          coefficient(at(at(parameters, slot.name.c_str(), "parameters."), "value", key + "."), slot, key + ".value");
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
  [[nodiscard]] double coefficient(const Json& value, const Slot& slot, const std::string& key) const {
    const double x = number(value, key);
    if (x >= slot.low && x <= slot.high) return x;
    constexpr double least = std::numeric_limits<double>::min();
    const std::string got = ", got " + print_number(x, 6);
    if (x > slot.high) throw fail(key, "must be at most " + print_number(slot.high, 6) + got);
    if (slot.low == 0) throw fail(key, "must not be negative" + got);
    throw fail(key, (slot.low == least ? "must be positive" : "must be at least " + print_number(slot.low, 6)) + got);
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
    for (std::size_t i = 0; i < law::input_table.size(); ++i) {
      law::InputRange other{static_cast<law::Input>(i), {}, {}};
      if (other.input == law::Input::parameters || other.input == law::Input::tokens || other.input == law::Input::flop)
        continue;
      ends(law::info(other.input).key, other.low, other.high);
      if (other.low || other.high) range.others.push_back(other);
    }
  }

  template <class F>
  void read_replicates(law::LawRecord<F>& out) const {
    const auto found = result_.find("replicates");
    if (found == result_.end() || found->is_null()) return;
    F law = out.form;
    const std::vector<Slot> all = slots(law);
    std::string known;
    for (std::size_t k = 0; k < all.size(); ++k)
      known += (k == 0 ? "" : k + 1 == all.size() ? " and " : ", ") + all[k].name;
    std::vector<const Slot*> columns;
    const Json& names = at(*found, "columns", "replicates.");
    if (!names.is_array()) throw fail("replicates.columns", "must be an array, got " + names.dump());
    for (const Json& name : names) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const Slot& slot) { return name == slot.name; });
      if (same == all.end()) throw fail("replicates.columns", "must be " + known + ", got " + name.dump());
      columns.push_back(&*same);
    }
    if (columns.size() != all.size()) throw fail("replicates.columns", "must be " + known + ", got " + names.dump());
    const Json& rows = at(*found, "rows", "replicates.");
    if (!rows.is_array()) throw fail("replicates.rows", "must be an array of arrays, got " + rows.dump());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string key = "replicates.rows[" + std::to_string(i) + "]";
      if (!rows[i].is_array() || rows[i].size() != columns.size()) {
        throw fail(key, "must be an array of " + std::to_string(columns.size()) + " numbers, got " + rows[i].dump());
      }
      for (std::size_t k = 0; k < columns.size(); ++k) *columns[k]->value = coefficient(rows[i][k], *columns[k], key);
      out.replicates.push_back(law);
    }
  }

  const Json& result_;
  const std::string& place_;
};

// What `use` makes of the reader of a fit's text.
template <class Use>
[[nodiscard]] auto with_fit(std::string_view text, const std::string& place, const Use& use) {
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
  if (!document.contains("result")) return use(FitFileReader(document, place));
  const auto command = document.find("command");
  if (command != document.end() && *command != "fit")
    throw Error(Failure::data, "bad_fit", place, "must be the answer of fit, got that of " + command->dump());
  return use(FitFileReader(document["result"], place));
}

}  // namespace detail

// text: of a file that `floplan fit --json` wrote, or its "result" alone; place: its name, for errors.
[[nodiscard]] inline catalog::Law read_fit(std::string_view text, const std::string& place) {
  return detail::with_fit(text, place, [](const detail::FitFileReader& reader) { return reader.read(); });
}

// The same for a fit of any form.
[[nodiscard]] inline law::AnyLaw read_any_fit(std::string_view text, const std::string& place) {
  return detail::with_fit(text, place, [](const detail::FitFileReader& reader) { return reader.read_any(); });
}

namespace detail {

// A law of any form that is E + A/N^alpha + B/D^beta all the same (one exponent for both, say), as one of that form; absent for a name that the catalog does not know.
// Error(usage) for a law that is of another form.
[[nodiscard]] inline std::optional<catalog::Law> as_chinchilla(const catalog::Catalog& catalog, std::string_view name,
                                                               std::string_view where) {
  const std::string wanted = lower_case(name);
  for (const law::AnyLaw& law : catalog::any_laws(catalog)) {
    const bool found =
        law.name == wanted || std::find(law.aliases.begin(), law.aliases.end(), wanted) != law.aliases.end();
    if (!found) continue;
    const std::vector<double> ones(law::inputs(law.form).size(), 1.0);
    const auto form = ones.size() == 2 ? law::section(law.form, ones) : std::nullopt;
    if (!form) {
      throw Error(Failure::usage, "other_form", std::string(where),
                  "must be a law E + A/N^alpha + B/D^beta of N and D, and " + law.name + " is " +
                      law::formula_of(law.form) + ": predict and optimum take it");
    }
    catalog::Law out;
    out.name = law.name;
    out.aliases = law.aliases;
    out.title = law.title;
    out.form = *form;
    out.parameter_convention = law.parameter_convention;
    out.flop_convention = law.flop_convention;
    out.loss_unit = law.loss_unit;
    out.rounded = law.rounded;
    out.trust = law.trust;
    out.range = law.range;
    out.provenance = law.provenance;
    return out;
  }
  return std::nullopt;
}

}  // namespace detail

// name: an entry of the catalog, or a file of a fit (*.json), relative to `folder`. where: what asked for it, for errors.
[[nodiscard]] inline catalog::Law find_law(std::string_view name, std::string_view where,
                                           const catalog::Catalog& catalog, const std::filesystem::path& folder = {}) {
  if (!names_fit_file(name)) {
    if (auto known = detail::as_chinchilla(catalog, name, where)) return std::move(*known);
    return catalog.law(name, where);  // which says what names are near
  }
  const std::filesystem::path path = folder / std::filesystem::path(name);
  return read_fit(read_text_file(path), path.string());
}

// The same among laws of every form.
[[nodiscard]] inline law::AnyLaw find_any_law(std::string_view name, std::string_view where,
                                              const catalog::Catalog& catalog,
                                              const std::filesystem::path& folder = {}) {
  if (!names_fit_file(name)) return catalog::any_law(catalog, name, where);
  const std::filesystem::path path = folder / std::filesystem::path(name);
  return read_any_fit(read_text_file(path), path.string());
}

}  // namespace floplan::fit
