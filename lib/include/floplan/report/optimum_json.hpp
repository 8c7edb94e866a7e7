// SPDX-License-Identifier: BSD-3-Clause
//
// What to buy as JSON: what scripts rely on.
//
//   result = optimum_json(asked)         the first law's answer; of several laws "laws" with each, and "spread"
//   inputs = question_json(question)
//
// Keys beyond the interface's table: "method" (closed form, numeric, allocation law), "parameter_convention" (what N
// counts), "active_share", "limit" (the most parameters allowed, and which limit binds), "effective_tokens" (fresh tokens
// that repeated ones are worth), "downstream" (tasks that follow from the loss). A law that knows no loss has null there.
//
// Needs nlohmann-json: not part of the umbrella header.
// Pitfall: N of two laws of different conventions count different parameters: compare only where these agree.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "floplan/law/any_form.hpp"
#include "floplan/optimum/purchase.hpp"
#include "floplan/report/json.hpp"

namespace floplan::report {

// A law and what it says to buy; priced: total_cost is in USD.
struct AskedLaw {
  law::AnyLaw law;
  optimum::Purchase purchase;
  bool priced = false;
};

namespace detail {

[[nodiscard]] inline Json split_json(const optimum::Split& s) {
  return {{"parameters", count_json(s.parameters)}, {"tokens", count_json(s.tokens)}};
}

[[nodiscard]] inline Json tasks_json(const std::vector<optimum::TaskForecast>& tasks) {
  Json out = Json::array();
  for (const optimum::TaskForecast& t : tasks) {
    out.push_back({{"law", t.by.law.name},
                   {"quantity", info(law::output(t.by.law.form)).key},
                   {"value", t.by.value},
                   {"if_loss_misses_by_19_percent", {{"low", t.low}, {"high", t.high}}},
                   {"at_high_loss", t.at_high_loss},
                   {"at_low_loss", t.at_low_loss}});
  }
  return out;
}

[[nodiscard]] inline Json outside_json(const std::vector<law::Outside>& outside) {
  Json out = Json::array();
  for (const law::Outside& o : outside) {
    out.push_back({{"input", info(o.input).key},
                   {"value", o.value},
                   {"low", json(o.low)},
                   {"high", json(o.high)},
                   {"decades", o.decades}});
  }
  return out;
}

}  // namespace detail

[[nodiscard]] inline Json purchase_json(const AskedLaw& asked) {
  const optimum::Purchase& p = asked.purchase;
  const law::AnyLaw& law = asked.law;
  Json out = detail::split_json(p.split);
  const auto usd = [&asked](double cost) { return asked.priced ? Json(cost) : Json(nullptr); };
  out.update({{"law", law.name},
              {"tokens_per_parameter", p.split.tokens.value / p.split.parameters.value},
              {"loss", json(p.loss)},
              {"loss_unit", law.loss_unit},
              {"training_flop", p.training_flop().value},
              {"inference_flop", p.serving_flop.value},
              {"total_flop", p.total_flop().value},
              {"cost_usd", usd(p.total_cost)},
              {"epochs", p.epochs},
              {"effective_tokens", count_json(p.effective_tokens)},
              {"loss_with_repetition", json(p.repeated_loss)},
              {"overhead", json(p.overhead)},
              {"extrapolation_decades",
               law::knows_range(law.range, law::inputs(law.form)) ? Json(p.extrapolation_decades) : Json(nullptr)},
              {"outside_fit", detail::outside_json(p.outside)}});
  const auto interval = [](const std::optional<Estimate>& e) { return e ? to_json(e->interval) : Json(nullptr); };
  out["interval"] = {{"parameters", interval(p.parameters)},
                     {"tokens", interval(p.tokens)},
                     {"training_flop", interval(p.training_estimate)}};
  out["loss_estimate"] = p.loss_estimate ? to_json(*p.loss_estimate) : Json(nullptr);
  out["training_only"] = detail::split_json(p.training_only);
  const double flop = p.training_only.training_flop().value * p.active_share;
  out["training_only"]["training_flop"] = flop;
  out["training_only"]["total_flop"] = flop + p.serving_flop.value * (p.training_only.parameters / p.split.parameters);
  out["training_only"]["cost_usd"] = usd(p.training_only_cost);
  out["saving_fraction"] = p.saving_fraction();
  out["parameter_convention"] = law::to_text(law.parameter_convention);
  out["flop_convention"] = "6N";
  out["active_share"] = p.active_share;
  out["method"] = to_text(p.method);
  out["allocation_law"] = p.allocation_law.empty() ? Json(nullptr) : Json(p.allocation_law);
  out["limit"] = {{"max_parameters", count_json(p.most_parameters)}, {"binds", to_text(p.binds)}};
  out["downstream"] = detail::tasks_json(p.tasks);
  return out;
}

// asked: not empty.
[[nodiscard]] inline Json optimum_json(const std::vector<AskedLaw>& asked) {
  Json out = purchase_json(asked.front());
  if (asked.size() < 2) return out;
  out["laws"] = Json::array();
  for (const AskedLaw& a : asked) out["laws"].push_back(purchase_json(a));
  std::vector<optimum::Purchase> purchases;
  for (const AskedLaw& a : asked) purchases.push_back(a.purchase);
  const optimum::Spread spread = optimum::spread(purchases);
  out["spread"] = {
      {"parameters", {{"low", count_json(spread.fewest_parameters)}, {"high", count_json(spread.most_parameters)}}},
      {"tokens", {{"low", count_json(spread.fewest_tokens)}, {"high", count_json(spread.most_tokens)}}}};
  return out;
}

[[nodiscard]] inline Json question_json(const optimum::Question& q) {
  Json out = {{"flop", json(q.budget)},
              {"loss", json(q.loss)},
              {"parameters", count_json(q.parameters)},
              {"max_parameters", count_json(q.most_parameters)},
              {"tokens", count_json(q.tokens)},
              {"unique_tokens", count_json(q.unique_tokens)},
              {"input_tokens", count_json(q.demand.input)},
              {"output_tokens", count_json(q.demand.output)}};
  for (const auto& [input, value] : q.setting.values) out[info(input).key] = count_json(value);
  if (q.setting.active_share) out["active_share"] = *q.setting.active_share;
  if (const auto& m = q.machine) {
    out["serving_machine"] = {
        {"accelerator", m->accelerator},      {"count", count_json(m->accelerators)},
        {"precision", to_text(m->precision)}, {"usable_memory", m->usable.value},
        {"usable_bytes", m->room().value},    {"max_parameters", count_json(m->most_parameters())}};
  }
  return out;
}

[[nodiscard]] inline Json deadline_json(const optimum::Deadline& d) {
  return {{"count", count_json(d.accelerators)},
          {"dense_peak_tflops", d.peak.value / 1e12},
          {"mfu", d.mfu.value},
          {"deadline_days", in_days(d.duration)},
          {"flop", d.budget().value}};
}

}  // namespace floplan::report
