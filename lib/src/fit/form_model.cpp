// SPDX-License-Identifier: BSD-3-Clause
#include "floplan/fit/form_model.hpp"

#include <ceres/jet.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/names.hpp"
#include "floplan/law/any_form.hpp"
#include "floplan/law/form.hpp"

namespace floplan::fit {

namespace {

template <class Scalar, class F, std::size_t... K>
law::Rebound<F, Scalar> with_coefficients(const double* values, std::index_sequence<K...>) {
  using Other = law::Rebound<F, Scalar>;
  const auto fields = Other::coefficients();
  Other out;
  const auto seed = [values]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    if constexpr (std::is_same_v<Scalar, double>) {
      return values[I];
    } else {
      return Scalar(values[I], static_cast<int>(I));
    }
  };
  ((out.*fields[K].field = seed(std::integral_constant<std::size_t, K>())), ...);
  return out;
}

// The only code that is compiled for each form.
template <class F>
double value_of(const double* coefficients, const double* inputs, double* gradient) {
  constexpr std::size_t size = F::coefficients().size();
  const std::span<const double> values(inputs, F::inputs.size());
  if (gradient == nullptr)
    return law::evaluate(with_coefficients<double, F>(coefficients, std::make_index_sequence<size>()), values);
  using Jet = ceres::Jet<double, static_cast<int>(size)>;
  const Jet y = law::evaluate(with_coefficients<Jet, F>(coefficients, std::make_index_sequence<size>()), values);
  std::copy(y.v.data(), y.v.data() + size, gradient);
  return y.a;
}

template <class F>
law::AnyForm form_of(std::span<const double> coefficients) {
  return with_coefficients<double, F>(coefficients.data(), std::make_index_sequence<F::coefficients().size()>());
}

template <class F>
FormModel model_of() {
  FormModel out;
  out.name = F::name;
  out.formula = F::formula;
  out.inputs.assign(F::inputs.begin(), F::inputs.end());
  out.output = F::output;
  for (const auto& c : F::coefficients()) out.coefficients.push_back({c.name, c.low, c.high, c.logarithmic()});
  out.value = value_of<F>;
  out.form = form_of<F>;
  return out;
}

using Maker = FormModel (*)();
using Entry = std::pair<std::string_view, Maker>;

template <std::size_t... I>
std::vector<Entry> makers(std::index_sequence<I...>) {
  std::vector<Entry> out;
  const auto add = [&out]<class F>(std::type_identity<F>) {
    if constexpr (law::Form<F>) out.emplace_back(F::name, model_of<F>);
  };
  (add(std::type_identity<std::variant_alternative_t<I, law::AnyForm>>()), ...);
  return out;
}

std::vector<Entry> makers() { return makers(std::make_index_sequence<std::variant_size_v<law::AnyForm>>()); }

constexpr std::size_t most_inputs = 6;

}  // namespace

std::vector<std::string> form_names() {
  std::vector<std::string> out;
  for (const Entry& entry : makers()) out.emplace_back(entry.first);
  return out;
}

FormModel form_model(std::string_view name, std::string_view where) {
  for (const auto& [known, make] : makers()) {
    if (known == name) return make();
  }
  std::vector<std::string> known = form_names();
  known.emplace_back(law::Power<>::name);
  throw Error(Failure::usage, "unknown_name", std::string(where),
              "must be a form of law, got \"" + std::string(name) + "\"" + nearest_names_text(name, known));
}

FormModel power_model(const std::vector<law::Input>& inputs, law::Output output) {
  if (inputs.empty() || inputs.size() > most_inputs) {
    throw Error(Failure::usage, "wrong_size", "power",
                "needs from 1 to " + std::to_string(most_inputs) + " inputs, got " + std::to_string(inputs.size()));
  }
  law::Power<> shape;
  shape.arguments = inputs;
  shape.scales.assign(inputs.size(), 1.0);
  shape.exponents.assign(inputs.size(), 0.0);
  shape.output = output;
  FormModel out;
  out.name = law::Power<>::name;
  out.formula = law::Power<>::formula;
  out.inputs = inputs;
  out.output = output;
  using law::Output;
  const bool floored = output == Output::loss || law::is_share(output);
  out.coefficients = {{"offset", 0, floored ? 1e3 : 0, false}, {"coefficient", 1e-60, 1e60, true}};
  for (const law::Input input : inputs)
    out.coefficients.push_back({std::string(law::info(input).key) + "_exponent", -5, 5, false});
  out.value = [shape](const double* coefficients, const double* values, double* gradient) {
    const std::size_t count = shape.arguments.size();
    double exponent = 0;
    for (std::size_t i = 0; i < count; ++i) exponent += coefficients[2 + i] * std::log(values[i]);
    const double product = std::exp(exponent);
    if (gradient != nullptr) {
      gradient[0] = 1;
      gradient[1] = product;
      for (std::size_t i = 0; i < count; ++i) gradient[2 + i] = coefficients[1] * product * std::log(values[i]);
    }
    return coefficients[0] + coefficients[1] * product;
  };
  out.form = [shape](std::span<const double> coefficients) {
    law::Power<> form = shape;
    form.offset = coefficients[0];
    form.coefficient = coefficients[1];
    form.exponents.assign(coefficients.begin() + 2, coefficients.end());
    return law::AnyForm(std::move(form));
  };
  return out;
}

}  // namespace floplan::fit
