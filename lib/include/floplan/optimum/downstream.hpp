// SPDX-License-Identifier: BSD-3-Clause
//
// What a loss means on a task, and how little that is to be trusted.
//
//   for (const TaskForecast& f : forecast_tasks(catalog, law, loss)) ...      by the law's companions -accuracy and -error
//
//   value             accuracy or error rate at the loss
//   at_high_loss      the curve's end for a model that knows nothing: it should be the task's chance
//   at_low_loss       its end for a perfect one: beyond 0 or 1 is impossible
//   low, high         with the loss 19% off either way: how far published ladders missed
//
// Source: Bhagia et al. 2024 (arXiv 2412.04403): forecasts of 13B models by ladders of 190M to 1.3B missed the bits per
// byte by 9% on ARC-C, 16% on ARC-E and 18% on CSQA. Gadre et al. 2024 (arXiv 2403.08540), equation 5, for errors.
// Pitfall: the upper end of a sigmoid that was fitted on weak models is not seen by the fit but set by its bound.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "floplan/core/error.hpp"
#include "floplan/core/quantity_text.hpp"
#include "floplan/fit/forecast.hpp"
#include "floplan/law/any_form.hpp"
#include "floplan/law/cautions.hpp"

namespace floplan::optimum {

// By how much published forecasts of a task's loss missed at worst, as a share of it.
inline constexpr double worst_published_miss = 0.19;

struct TaskForecast {
  fit::Downstream by;
  double at_high_loss = 0, at_low_loss = 0;
  double low = 0, high = 0;
};

// follows: what the companions said of that loss (fit::downstream).
[[nodiscard]] inline std::vector<TaskForecast> forecast_tasks(std::vector<fit::Downstream> follows, double loss) {
  std::vector<TaskForecast> out;
  for (fit::Downstream& by : follows) {
    TaskForecast task{std::move(by)};
    const auto at = [&task](double l) {
      const std::array values = {l};
      return law::evaluate(task.by.law.form, values);
    };
    task.at_high_loss = at(info(law::Input::loss).high);
    task.at_low_loss = at(info(law::Input::loss).low);
    std::tie(task.low, task.high) =
        std::minmax({at(loss * (1 - worst_published_miss)), at(loss * (1 + worst_published_miss))});
    out.push_back(std::move(task));
  }
  return out;
}
[[nodiscard]] inline std::vector<TaskForecast> forecast_tasks(const catalog::Catalog& catalog, const law::AnyLaw& law,
                                                              double loss) {
  return forecast_tasks(fit::downstream(catalog, law, loss), loss);
}

[[nodiscard]] inline std::vector<Warning> cautions(const TaskForecast& task, double loss) {
  const law::AnyLaw& law = task.by.law;
  const std::string what = info(law::output(law.form)).key;
  std::vector<Warning> out = law::outside_cautions(law, task.by.outside);
  if (!(task.by.value >= 0 && task.by.value <= 1)) {
    out.push_back({"downstream_impossible", law.name + " gives the " + what + " " + print_number(task.by.value, 4) +
                                                " at a loss of " + print_number(loss, 4) +
                                                ", which is none: the curve is used beyond where it holds"});
  } else if (task.at_low_loss < 0 || task.at_low_loss > 1 || task.at_high_loss < 0 || task.at_high_loss > 1) {
    out.push_back({"downstream_asymptote", law.name + " runs from " + print_number(task.at_high_loss, 4) +
                                               " at high loss to " + print_number(task.at_low_loss, 4) +
                                               " at low loss, and only 0 to 1 are possible"});
  }
  out.push_back({"downstream_error",
                 "forecasts of a task's loss by published ladders missed by up to 16 to 19%: then the " + what +
                     " of " + print_number(task.by.value, 4) + " is anything from " + print_number(task.low, 4) +
                     " to " + print_number(task.high, 4) + "; the curve's ends are " +
                     print_number(task.at_high_loss, 3) + " (chance) and " + print_number(task.at_low_loss, 3)});
  return out;
}

}  // namespace floplan::optimum
