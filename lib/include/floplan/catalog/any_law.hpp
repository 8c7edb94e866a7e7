// SPDX-License-Identifier: BSD-3-Clause
//
// The catalog's laws of every form: by name, by what they answer, all of them.
//
//   const law::AnyLaw law = any_law(catalog, "kaplan-2020");        a name or an alias, or Error(usage) with the nearest
//   for (const law::AnyLaw& law : any_laws(catalog)) ...            by form, in the order of AnyForm, then of the file
//   companion(catalog, law, "accuracy")                             what belongs to it: "bhagia-2024-piqa-accuracy"
//
// A source with several rules has several entries whose names begin alike: kaplan-2020, kaplan-2020-allocation,
// kaplan-2020-batch. What ends in -allocation, -batch, -learning-rate, -accuracy or -error is a companion.
//
// Cost: reads every file of data/laws, some 300 microseconds.
// Pitfall: Catalog::law looks among laws of the Chinchilla form only, which plans and closed forms need.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "floplan/catalog/catalog.hpp"
#include "floplan/catalog/read_laws.hpp"
#include "floplan/core/csv.hpp"
#include "floplan/law/any_form.hpp"

namespace floplan::catalog {

// A record of one form as one of any.
template <class F>
[[nodiscard]] law::AnyLaw widened(law::LawRecord<F> record) {
  law::AnyLaw out{std::move(record.name),
                  std::move(record.aliases),
                  std::move(record.title),
                  std::move(record.form),
                  record.parameter_convention,
                  record.flop_convention,
                  std::move(record.loss_unit),
                  record.rounded,
                  std::move(record.trust),
                  std::move(record.range),
                  {},
                  std::move(record.residuals),
                  std::move(record.provenance),
                  record.own_fit};
  for (F& form : record.replicates) out.replicates.emplace_back(std::move(form));
  return out;
}

namespace detail {

struct FormFile {
  std::string_view form;
  std::vector<law::AnyLaw> (*read)(const CsvTable&);
};

template <std::size_t... I>
[[nodiscard]] constexpr auto form_files(std::index_sequence<I...>) {
  return std::array{FormFile{std::variant_alternative_t<I, law::AnyForm>::name,
                             read_laws<std::variant_alternative_t<I, law::AnyForm>, law::AnyForm>}...};
}

}  // namespace detail

[[nodiscard]] inline std::vector<law::AnyLaw> any_laws(const Catalog& catalog) {
  std::vector<law::AnyLaw> out;
  for (const detail::FormFile& file :
       detail::form_files(std::make_index_sequence<std::variant_size_v<law::AnyForm>>())) {
    for (law::AnyLaw& law : catalog.read(std::string(file.form) + ".csv", file.read)) out.push_back(std::move(law));
  }
  return out;
}

[[nodiscard]] inline law::AnyLaw any_law(const Catalog& catalog, std::string_view name,
                                         std::string_view where = "law") {
  return Catalog::find(any_laws(catalog), name, where, "a law", "laws");
}

// laws: any_laws(catalog), for who asks more than once.
[[nodiscard]] inline std::optional<law::AnyLaw> companion(const std::vector<law::AnyLaw>& laws, const law::AnyLaw& law,
                                                          std::string_view kind) {
  const std::string wanted = law.name + "-" + std::string(kind);
  for (const law::AnyLaw& other : laws) {
    if (other.name == wanted) return other;
  }
  return std::nullopt;
}
[[nodiscard]] inline std::optional<law::AnyLaw> companion(const Catalog& catalog, const law::AnyLaw& law,
                                                          std::string_view kind) {
  return companion(any_laws(catalog), law, kind);
}

}  // namespace floplan::catalog
