// SPDX-License-Identifier: BSD-3-Clause
//
// A law's form as a fit sees it: any form, of any number of inputs and coefficients, as one type.
//
//   const FormModel model = form_model("kaplan");
//   model.value(coefficients, inputs, gradient)      y, and dy / d coefficient by Ceres' Jets
//   model.form(coefficients)                         the law itself
//   power_model({Input::flop}, Output::loss)         y = offset + coefficient * C^flop_exponent
//
// Every form of law/any_form.hpp is there by its name; the form power by power_model, since each of its laws has inputs
// of its own. Coefficients have the names and the search of Form::coefficients(). Those of power are `offset` (from 0,
// and only of a loss, an accuracy or an error; 0 of any other output), `coefficient` (positive, for inputs in units of one)
// and `<input>_exponent`: the columns of data/laws/power.csv.
//
// Compiled once a form in lib/src/fit/form_model.cpp: part of floplan::fit.
// Errors: usage for a form that is not known, with the nearest names, and for a power of no input or more than six.
// Pitfall: value checks nothing; log(-1) is a nan, which a fit takes for an infinite objective.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "floplan/law/any_form.hpp"
#include "floplan/law/input.hpp"

namespace floplan::fit {

struct SearchedCoefficient {
  std::string name;
  double low = 0, high = 0;
  bool logarithmic = false;  // searched by its logarithm
};

struct FormModel {
  std::string name;
  std::string formula;
  std::vector<law::Input> inputs;
  law::Output output = law::Output::loss;
  std::vector<SearchedCoefficient> coefficients;
  // inputs: one value each, in order. gradient: room for one value a coefficient, or null.
  std::function<double(const double* coefficients, const double* inputs, double* gradient)> value;
  std::function<law::AnyForm(std::span<const double> coefficients)> form;
};

// The names that form_model takes, in the order of AnyForm.
[[nodiscard]] std::vector<std::string> form_names();

[[nodiscard]] FormModel form_model(std::string_view name, std::string_view where = "form");

[[nodiscard]] FormModel power_model(const std::vector<law::Input>& inputs, law::Output output);

}  // namespace floplan::fit
