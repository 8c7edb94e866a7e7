// SPDX-License-Identifier: BSD-3-Clause
//
// What to buy: one question in, N and D out, with what it costs, what it saves and how sure it is, by any law.
//
//   Question q;  q.budget = Flop(5.76e23);  q.demand.output = Tokens(2e12);
//   const Purchase p = optimum::buy(catalog, fit::find_any_law("besiroglu-2024", "--law", catalog), q);
//
// A law of the loss answers from its surface: by its closed form where it has one, else numerically. A law of N*(C) or
// D*(C) splits a budget and knows no loss. A law that comes with replicates (a fit's file) gives the interval of N, D and
// the loss: the same question put to each. Its companions say what the loss means on their tasks.
//
// Errors: those of question.hpp, surface.hpp, choose.hpp; infeasible for a model that the machine cannot hold; no_answer
// for a law that cannot say, with why.
// Pitfall: laws of one form compare; laws of other conventions (parameters counted, loss unit) only in what they advise.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "floplan/catalog/any_law.hpp"
#include "floplan/catalog/records.hpp"
#include "floplan/core/distribution.hpp"
#include "floplan/core/error.hpp"
#include "floplan/core/quantity.hpp"
#include "floplan/fit/bootstrap.hpp"
#include "floplan/law/any_form.hpp"
#include "floplan/optimum/allocation_law.hpp"
#include "floplan/optimum/choose.hpp"
#include "floplan/optimum/purchase_cautions.hpp"
#include "floplan/optimum/question.hpp"
#include "floplan/optimum/repetition.hpp"
#include "floplan/optimum/surface.hpp"

namespace floplan::optimum {

namespace detail {

[[nodiscard]] inline std::optional<Parameters> most_parameters(const Question& q) {
  if (!q.machine) return q.most_parameters;
  const Parameters fits = q.machine->most_parameters();
  return q.most_parameters ? std::min(fits, *q.most_parameters) : fits;
}

[[nodiscard]] inline Split answer(const Surface& s, const Question& q) {
  const std::optional<Parameters> most = most_parameters(q);
  if (q.budget && (q.parameters || q.tokens)) {
    const double product = q.budget->value / (6 * s.active_share);
    if (q.tokens) return {Parameters(product / q.tokens->value), *q.tokens};
    return {*q.parameters, Tokens(product / q.parameters->value)};
  }
  const bool serves = q.demand.equivalent_tokens() > 0;
  if (q.budget && !serves) return for_budget(s, *q.budget, most);
  const double loss = q.loss ? *q.loss : loss_of(s, for_budget(s, *q.budget));
  // Where a limit is in the way of the best model to serve, the budget is spent at the limit and the loss is given up.
  if (q.budget && most) {
    const Split best = for_loss(s, loss, q.demand);
    return best.parameters <= *most ? best : for_budget(s, *q.budget, most);
  }
  if (q.parameters) return {*q.parameters, tokens_for_loss(s, *q.parameters, loss)};
  if (q.tokens) return {parameters_for_loss(s, *q.tokens, loss), *q.tokens};
  return for_loss(s, loss, q.demand, most);
}

// The setting with the unique tokens, which are a field of the question.
[[nodiscard]] inline Setting setting_of(const Question& q) {
  Setting out = q.setting;
  if (q.unique_tokens) out.set(law::Input::unique_tokens, q.unique_tokens->value);
  return out;
}

inline void add_intervals(Purchase& out, const law::AnyLaw& law, const Question& q, double level) {
  if (law.replicates.empty()) return;
  const Setting setting = setting_of(q);
  std::vector<double> n, d, loss, flop;
  for (const law::AnyForm& form : law.replicates) {
    try {
      const Surface s = surface(law, form, setting);
      const Split split = answer(s, q);
      n.push_back(split.parameters.value);
      d.push_back(split.tokens.value);
      loss.push_back(loss_of(s, split));
      flop.push_back(split.training_flop().value * s.active_share);
    } catch (const Error&) {
      ++out.without_answer;
    }
  }
  if (law.replicates.size() < fit::fewest_replicates) n = d = loss = flop = {};
  out.parameters = fit::estimate_of_draws(std::move(n), out.split.parameters.value, level);
  out.tokens = fit::estimate_of_draws(std::move(d), out.split.tokens.value, level);
  if (!q.loss) out.loss_estimate = fit::estimate_of_draws(std::move(loss), *out.loss, level);
  // With a budget and no serving, every replicate spends the budget.
  if (q.loss || q.demand.equivalent_tokens() > 0)
    out.training_estimate = fit::estimate_of_draws(std::move(flop), out.training_flop().value, level);
}

// R_D* of a law of repeated data, Muennighoff's for any other.
[[nodiscard]] inline double token_decay(const law::AnyForm& form) {
  return std::visit(
      [](const auto& f) {
        if constexpr (requires { f.token_decay; }) {
          return f.token_decay;
        } else {
          return token_decay_of_muennighoff;
        }
      },
      form);
}

inline void add_repetition(Purchase& out, const law::AnyLaw& law, const Question& q, const Surface* s) {
  if (!q.unique_tokens) return;
  const Repetition r = repetition(out.split.tokens, *q.unique_tokens, token_decay(law.form));
  out.epochs = r.epochs;
  out.effective_tokens = r.effective;
  if (s != nullptr && r.epochs > 1 && !law::takes(law::inputs(law.form), law::Input::unique_tokens))
    out.repeated_loss = loss_of(*s, {out.split.parameters, r.effective});
}

inline void add_costs(Purchase& out, const Question& q) {
  const double share = out.active_share;
  const auto cost = [&](const Split& s) { return share * (q.demand.training_cost(s) + q.demand.serving_cost(s)); };
  out.serving_flop = q.demand.serving_flop(out.split) * share;
  out.total_cost = cost(out.split);
  out.training_only_cost = cost(out.training_only);
}

[[nodiscard]] inline Purchase buy_by_allocation(const law::AnyLaw& law, const law::AnyForm& form, const Question& q) {
  const auto refuse = [&law](const std::string& what) {
    return Error(Failure::no_answer, "no_loss", "optimum",
                 law.name + " splits a budget and knows no loss, so it cannot say " + what);
  };
  if (q.loss) throw refuse("what reaches one: ask for a budget");
  if (q.demand.equivalent_tokens() > 0) throw refuse("which smaller model would serve as well");
  Purchase out;
  out.method = Method::allocation_law;
  out.training_only = allocate(form, *q.budget);
  out.split = out.training_only;
  const std::optional<Parameters> most = most_parameters(q);
  if (q.parameters || (most && *most < out.split.parameters)) {
    const Parameters n = q.parameters ? *q.parameters : *most;
    out.split = {n, Tokens(q.budget->value / (6 * n.value))};
  } else if (q.tokens) {
    out.split = {Parameters(q.budget->value / (6 * q.tokens->value)), *q.tokens};
  }
  return out;
}

// The compute-optimal split for a loss; none for one so far off that no N and D that the search visits are best for it.
[[nodiscard]] inline std::optional<Split> best_for(const Surface& s, double loss) {
  try {
    return for_loss(s, loss);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Throws Error(infeasible) for an answer that is no run: less than one parameter or token, or more than 1e24.
inline void require_a_run(const Split& s, const std::string& law) {
  const auto possible = [](double x) { return x >= 1 && x <= 1e24; };
  if (possible(s.parameters.value) && possible(s.tokens.value)) return;
  throw Error(Failure::infeasible, "no_such_run", "optimum",
              law + " answers with N " + print_number(s.parameters.value, 4) + " and D " +
                  print_number(s.tokens.value, 4) + ", and both must be from 1 to 1e24");
}

[[nodiscard]] inline Purchase buy_by_surface(const law::AnyLaw& law, const Question& q, double level) {
  const std::vector<double> anywhere = input_values(law, setting_of(q), {Parameters(1e9), Tokens(1e10)});
  if (const std::string why = law::refusal(law.form, anywhere); !why.empty())
    throw Error(Failure::usage, "outside_law", "optimum", law.name + ": " + why);
  const Surface s = surface(law, setting_of(q));
  Purchase out;
  out.method = s.section ? Method::closed_form : Method::numeric;
  out.active_share = s.active_share;
  out.split = answer(s, q);
  out.loss = loss_of(s, out.split);
  // What the limits forbid is no alternative.
  const std::optional<Parameters> most = most_parameters(q);
  const std::optional<Split> best = best_for(s, *out.loss);
  if (best) out.overhead = out.split.training_flop() / best->training_flop() - 1;
  // A split that was given has a loss of its own; the alternative to it is the best one for that loss.
  const bool given = q.parameters || q.tokens;
  out.training_only = q.budget && !given ? for_budget(s, *q.budget, most)
                      : q.budget         ? best.value_or(out.split)
                                         : for_loss(s, *q.loss, {}, most);
  add_repetition(out, law, q, &s);
  add_intervals(out, law, q, level);
  return out;
}

}  // namespace detail

// allocation: splits the budget in the law's stead, where it cannot (allocation_of).
[[nodiscard]] inline Purchase buy(const law::AnyLaw& law, const Question& q, double level = 0.9,
                                  const law::AnyLaw* allocation = nullptr) {
  check(q);
  const law::AnyForm& form = allocation != nullptr ? allocation->form : law.form;
  Purchase out = is_allocation(form) ? detail::buy_by_allocation(law, form, q) : detail::buy_by_surface(law, q, level);
  detail::require_a_run(out.split, law.name);
  if (allocation != nullptr) out.allocation_law = allocation->name;
  if (!out.loss) detail::add_repetition(out, law, q, nullptr);
  detail::add_costs(out, q);
  out.most_parameters = detail::most_parameters(q);
  if (out.most_parameters && out.split.parameters == *out.most_parameters) {
    out.binds = q.most_parameters && *q.most_parameters == *out.most_parameters ? Limit::most_parameters
                                                                                : Limit::serving_memory;
  } else if (q.machine) {
    require_fit(*q.machine, out.split.parameters);
  }
  const law::AnyLaw& asked = allocation != nullptr ? *allocation : law;
  if (is_allocation(form)) {
    const std::array inputs = {law::Input::parameters, law::Input::tokens};
    const std::array values = {out.split.parameters.value, out.split.tokens.value};
    out.outside = law::outside(asked.range, inputs, values);
  } else {
    const std::vector<double> values = input_values(law, detail::setting_of(q), out.split);
    if (const std::string why = law::refusal(law.form, values); !why.empty())
      throw Error(Failure::usage, "outside_law", "optimum", law.name + ": " + why);
    out.outside = law::outside(law.range, law::inputs(law.form), values);
  }
  for (const law::Outside& o : out.outside) out.extrapolation_decades = std::max(out.extrapolation_decades, o.decades);
  detail::add_warnings(out, law, q);
  return out;
}

// With the catalog's companions: the law that splits a budget for one that cannot, and the tasks that follow from the loss.
[[nodiscard]] inline Purchase buy(const catalog::Catalog& catalog, const law::AnyLaw& law, const Question& q,
                                  double level = 0.9) {
  const std::optional<law::AnyLaw> allocation = allocation_of(catalog, law);
  Purchase out = buy(law, q, level, allocation ? &*allocation : nullptr);
  if (!out.loss) return out;
  out.tasks = forecast_tasks(catalog, law, *out.loss);
  for (const TaskForecast& task : out.tasks) {
    for (Warning& w : cautions(task, *out.loss)) out.warnings.push_back(std::move(w));
  }
  return out;
}

[[nodiscard]] inline Purchase buy(const catalog::Law& law, const Question& q, double level = 0.9) {
  return buy(catalog::widened(law), q, level);
}

}  // namespace floplan::optimum
